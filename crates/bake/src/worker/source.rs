//! What the worker needs of the node: which blocks there are, which are baked, and baking one.

use crate::{BakedTracer, BlockKey};
use hearth_primitives::Height;
use hearth_tracers::Cancel;

/// A block that was baked and stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Baked {
    /// Bytes that its answers take in the cache.
    pub bytes: u64,
    /// Gas of the block.
    pub gas: u64,
}

/// Why a block was not baked. Nothing of it is stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BakeFailure {
    /// The worker has to stop.
    #[error("stopped")]
    Stopped,
    /// The disk has no room.
    #[error("{reason}")]
    DiskFull {
        /// What the store said.
        reason: String,
    },
    /// Something that may be different the next time: a timeout, a state that is not there.
    #[error("{reason}")]
    Transient {
        /// What went wrong.
        reason: String,
    },
    /// Something that is wrong with the block, the state or the cache.
    #[error("{reason}")]
    Failed {
        /// What went wrong.
        reason: String,
    },
}

/// The operations of the chain and of the trace cache that the bake worker needs. Every method may
/// be called from any thread.
pub trait BakeSource: Send + Sync + 'static {
    /// Height of the head.
    fn head(&self) -> Height;

    /// Lowest height whose block can be executed again.
    fn first_block(&self) -> Height;

    /// The canonical block at a height; `None` where there is none or it cannot be read.
    fn canonical(&self, height: Height) -> Option<BlockKey>;

    /// Whether the cache has a block under a tracer.
    fn has(&self, key: &BlockKey, tracer: BakedTracer) -> bool;

    /// Executes a block once, for all the tracers, and stores their answers. It looks at `stop`
    /// often enough to end within a second.
    ///
    /// # Errors
    /// See [`BakeFailure`]; answers of a block with a transient failure in any element are not
    /// stored.
    fn bake(&self, key: &BlockKey, tracers: &[BakedTracer], stop: &Cancel) -> Result<Baked, BakeFailure>;

    /// Makes durable what was stored.
    ///
    /// # Errors
    /// What the store said.
    fn flush(&self) -> Result<(), BakeFailure>;

    /// Heights of which a row was found to be damaged and dropped; they are baked again.
    fn damaged(&self) -> Vec<Height>;

    /// Forgets the blocks below a height.
    ///
    /// # Errors
    /// What the store said.
    fn prune_below(&self, height: Height) -> Result<(), BakeFailure>;
}
