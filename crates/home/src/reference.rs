//! How requests name blocks.

use alloy_eips::{BlockId, BlockNumberOrTag};

/// A block by tag (`"latest"`), number (`"0x1b"`), hash (32 bytes), `{"blockNumber":…}` or
/// `{"blockHash":…,"requireCanonical":…}` (EIP-1898).
pub type BlockRef = BlockId;

/// A block by tag or number alone.
pub type BlockNumber = BlockNumberOrTag;
