//! Opens a home, wires the rooms below and answers typed requests with ready JSON bytes.
//!
//! Nothing in here knows HTTP, JSON-RPC, JavaScript or the environment.

mod bake;
mod baked;
mod capsules;
mod config;
pub mod db;
mod error;
mod events;
mod fork;
mod historical;
mod home;
mod inbox;
pub mod jobs;
mod js_tracers;
pub mod json;
mod memory;
mod node;
mod ops;
mod pending;
mod reading;
mod replay;
mod request;
mod resolve;
pub mod scripts;
mod shared_nodes;
mod shared_traces;
mod sink;
mod stream;
mod trace;
mod trace_source;
mod workers;

pub use baked::{BakedAsk, CachedAnswer, Envelope, Ready, TraceOf};
pub use config::{
    Asking, BakeConfig, DevConfig, FlatkvConfig, ForkConfig, FsyncPolicy, LittableConfig, MiningOrder, Mode,
    NodeConfig, OriginBlock, RpcLimits, ScriptChildren, ScriptsConfig, ScriptsUnavailable, TraceSource,
    WorkerConfig, Workers,
};
pub use error::NodeError;
pub use fork::Fetch;
pub use hearth_chain::{
    dev::{AccountsError, DevAccount, dev_accounts, dev_accounts_of},
    pool::{PoolError, PoolLimits},
};
pub use hearth_sandbox::{Layers, confine};
pub use home::HomeStatus;
pub(crate) use home::OpenHome;
pub use js_tracers::{Asker, HookLink};
pub use node::{Node, metrics_catalog};
pub use ops::PayloadAttributes;
pub use reading::Reading;
pub use replay::Replay;
pub use request::{
    BlockNumber, BlockRef, CallBundle, LogFilter, MAX_FILTER_ALTERNATIVES, MAX_TOPIC_POSITIONS, Request,
    TraceCall, TraceCallMany, TraceRequest,
};
pub use shared_nodes::NodeLease;
pub use stream::{ByteSender, ByteStream, CHUNK_BYTES, CHUNKS_WAITING, Cancelled, NextChunk, STALL_LIMIT};
pub use trace_source::TraceOrigin;
