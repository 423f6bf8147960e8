//! Which block a baked answer is of.

use alloy_primitives::B256;
use hearth_primitives::Height;

/// A block of one chain. Every row carries all of it, so that a reorg, a rollback or another
/// chain's home can never serve what is not of the requested block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockKey {
    /// The chain's id (EIP-155).
    pub chain_id: u64,
    /// Height of the block.
    pub number: Height,
    /// Hash of the block.
    pub hash: B256,
}
