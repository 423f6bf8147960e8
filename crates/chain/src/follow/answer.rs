//! What is said of a block to be followed, and what became of it.

use alloy_primitives::{Address, B256};
use hearth_evm::{BlockError, Field};
use hearth_primitives::{Block, Height};
use hearth_witness::{BlockForm, Wanted, WitnessError};
use serde::{Deserialize, Serialize};

/// A block with its hash and the senders of its transactions.
#[derive(Clone, Debug)]
pub struct FollowedBlock {
    /// The block.
    pub block: Block,
    /// Its hash.
    pub hash: B256,
    /// One a transaction.
    pub senders: Vec<Address>,
}

/// Where the state that a block reads comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FollowSource {
    /// A witness.
    Witness,
    /// Proofs of the keys that the block touches.
    Proof,
    /// Values that the upstream claims; the state root is not checked.
    Prestate,
    /// Nowhere: the block is kept as a hole.
    None,
}

/// What is said of a block that is given.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FollowMeta {
    /// The hash under which it was requested.
    pub hash: B256,
    /// How it is written.
    pub form: BlockForm,
    /// Where its state comes from.
    pub source: FollowSource,
    /// Most blocks that may leave the chain for it.
    pub reorg_blocks: u64,
}

/// How well a block was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verified {
    /// Up to the state root.
    Proven,
    /// Up to the receipts: the state that it read was claimed.
    Executed,
}

/// What became of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum FollowAnswer {
    /// It is the head.
    Followed {
        /// Its number.
        number: Height,
        /// Its hash.
        hash: B256,
        /// How well it was checked.
        verified: Verified,
        /// Blocks that left the chain for it.
        removed: u64,
        /// Whether something completed its witness, as a number.
        fill_rounds: u32,
    },
    /// It is canonical already.
    Known,
    /// Its parent is not canonical here.
    UnknownParent {
        /// Hash of the parent.
        parent: B256,
    },
    /// Its execution reads what was not given.
    Wanted {
        /// The block whose state is read.
        parent: B256,
        /// What is missing.
        #[serde(flatten)]
        wanted: Wanted,
    },
    /// It cannot be executed: it is the head, and has neither receipts nor a capsule.
    Hole {
        /// Why.
        reason: String,
    },
    /// It is not stored.
    Refused {
        /// Which field or part is wrong, one word.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

impl FollowAnswer {
    pub(super) fn refused(field: &'static str, reason: String) -> Self {
        Self::Refused { field, reason }
    }

    /// The answer for something that is not in its form.
    pub(super) fn unreadable(error: &WitnessError) -> Self {
        let field = match error {
            WitnessError::TooLarge { .. } => "too_large",
            error if error.is_of_block() => "body",
            _ => "witness",
        };
        Self::refused(field, error.to_string())
    }
}

/// The answer for a block that the rules refuse.
pub(super) fn refused_by(error: &BlockError) -> FollowAnswer {
    let field = match error {
        BlockError::Mismatch { field, .. } => word(*field),
        _ => "execution",
    };
    FollowAnswer::refused(field, error.to_string())
}

/// A field in one word: the fields of a header that no execution determines are `header` together.
fn word(field: Field) -> &'static str {
    match field {
        Field::StateRoot => "stateRoot",
        Field::ReceiptsRoot => "receiptsRoot",
        Field::LogsBloom => "logsBloom",
        Field::GasUsed | Field::BlobGasUsed => "gasUsed",
        Field::RequestsHash => "requestsHash",
        Field::TransactionsRoot => "transactionsRoot",
        Field::OmmersHash | Field::Ommer | Field::WithdrawalsRoot | Field::Withdrawals | Field::BlockSize => {
            "body"
        }
        _ => "header",
    }
}

/// A block by number and hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FollowedTo {
    /// Its number.
    pub number: Height,
    /// Its hash.
    pub hash: B256,
}

/// What a home that follows holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FollowedState {
    /// The chain's id.
    pub chain_id: u64,
    /// Hash of the genesis block.
    pub genesis_hash: B256,
    /// The head.
    pub head: FollowedTo,
    /// The block below the first one that is held whole.
    pub base: FollowedTo,
    /// Canonical blocks without receipts and capsule.
    pub holes: u64,
    /// The other canonical blocks.
    pub verified: VerifiedBlocks,
    /// The newest safe block.
    pub safe: Option<FollowedTo>,
    /// The newest finalized block.
    pub finalized: Option<FollowedTo>,
}

/// Canonical blocks by how well they were checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct VerifiedBlocks {
    /// Up to the state root.
    pub proven: u64,
    /// Up to the receipts.
    pub executed: u64,
}
