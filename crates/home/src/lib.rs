//! An open home and what the components of a node share: configuration, errors, the stores, events,
//! the origin of a fork, worker pools, bounded byte streams, and the resolution of blocks and
//! states.
//!
//! Nothing in here depends on HTTP, JSON-RPC, JavaScript or the environment.

mod config;
mod cosmos;
mod error;
mod events;
mod follow;
mod fork;
mod historical;
mod home;
mod json_writer;
mod open;
mod parent_state;
mod pending;
mod reference;
mod resolve;
pub mod stream;
mod tip_oracle;
mod trace_origin;
mod unused_memory;
pub mod workers;

pub use config::{
    BakeConfig, ConsensusConfig, DevConfig, ForkConfig, FsyncPolicy, MiningOrder, Mode, NodeConfig,
    OriginBlock, OriginFetcher, RpcLimits, ScriptChildren, ScriptsConfig, ScriptsUnavailable, TraceSource,
    Verification, WorkerConfig, Workers,
};
pub use cosmos::{CosmosCache, CosmosView, QueryAnswer};
pub use error::{EngineError, NodeError, who};
pub use follow::init_follower;
pub use fork::{Fetch, proves_account};
pub use historical::LookbackPolicy;
pub use home::{Home, HomeStatus};
pub use json_writer::{JsonWriter, write_withdrawals};
pub use open::{chain_error, chain_options, init_home};
pub use pending::{PendingBlock, Site, TARGET_GAS_LIMIT};
pub use reference::{BlockNumber, BlockRef};
pub use stream::{ByteSender, ByteStream, CHUNK_BYTES, CHUNKS_WAITING, Cancelled, NextChunk, STALL_LIMIT};
pub use trace_origin::TraceSourceKind;
pub use unused_memory::{return_unused_memory, share_arenas};
