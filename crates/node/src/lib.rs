//! A node: opens a home, wires its components, runs requests on its thread pools, and closes
//! everything in order.
//!
//! Nothing in here depends on HTTP, JSON-RPC, JavaScript or the environment.

mod memory;
mod node;
mod shared_nodes;
mod socket;
mod watchdog;

pub use hearth_admin::{Replay, jobs};
pub use hearth_cosmos::genesis::staking_account_json;
pub use hearth_dev_chain::{AccountsError, DevAccount, dev_accounts, dev_accounts_of};
pub use hearth_home::{
    BakeConfig, BlockNumber, BlockRef, ByteSender, ByteStream, CHUNK_BYTES, CHUNKS_WAITING, Cancelled,
    DevConfig, Fetch, ForkConfig, FsyncPolicy, HomeStatus, MiningOrder, Mode, NextChunk, NodeConfig,
    NodeError, OriginBlock, OriginFetcher, RpcLimits, STALL_LIMIT, ScriptChildren, ScriptsConfig,
    ScriptsUnavailable, TraceSource, TraceSourceKind, WorkerConfig, Workers, init_follower, proves_account,
};
pub use hearth_littable_host as scripts;
pub use hearth_pool::{PoolError, PoolLimits};
pub use hearth_rpc::{LogFilter, MAX_FILTER_ALTERNATIVES, MAX_TOPIC_POSITIONS, Reading, Request};
pub use hearth_sandbox::{Layers, confine};
pub use hearth_traces::{
    CallBundle, Caller, Envelope, HookLink, NamedTrace, Ready, SharedAnswer, TraceCall, TraceCallMany,
    TraceOf, TraceRequest, TraceSubject, tracer_table,
};
pub use node::{Node, metrics_catalog};
pub use shared_nodes::NodeLease;
pub use socket::{limit_unsent, send_now};
pub use watchdog::{WATCHDOG_CELLS, start_watchdog};
