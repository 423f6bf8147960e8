//! What can go wrong in the ledger.

use alloy_primitives::B256;
use hearth_littable::LittError;
use hearth_primitives::{Height, StateError};

/// Errors of [`crate::Ledger`].
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A table failed, refused or holds damaged bytes.
    #[error(transparent)]
    Table(#[from] LittError),
    /// A table does not open: the head of a segment is damaged or the segment is missing. No repair
    /// replaces a segment.
    #[error(
        "{0}, without which the table does not open, and no command repairs that: restore a backup, or import the chain into a new data directory"
    )]
    Unopenable(LittError),
    /// The state store, which keeps the indexes, failed.
    #[error(transparent)]
    Index(#[from] StateError),
    /// The stored record of a block fails its checksum.
    #[error("the {what} of block {hash}: {source}")]
    Damaged {
        /// `record`, `receipts` or `capsule`.
        what: &'static str,
        /// Hash of the block.
        hash: B256,
        /// What the table says.
        source: Box<LittError>,
    },
    /// A row's checksum is right but it does not decode.
    #[error("{what} of block {hash} does not decode: {why}")]
    Undecodable {
        /// `block` or `receipts`.
        what: &'static str,
        /// Hash of the block.
        hash: B256,
        /// What is wrong.
        why: String,
    },
    /// An index row does not have the form that it must have.
    #[error("index row {0} does not decode")]
    BadIndexRow(&'static str),
    /// Blocks are not indexed by account.
    #[error("this node has no address index: evm.address_index is false")]
    NoAddressIndex,
    /// The rows of a height are not kept any more.
    #[error("the address index has blocks from {first} on, not block {height}")]
    IndexPruned {
        /// The requested height.
        height: Height,
        /// Lowest height that is kept.
        first: Height,
    },
    /// A block below the floor of the table of blocks.
    #[error("block {height} was pruned: blocks are kept from block {floor} on")]
    BlockPruned {
        /// Its height.
        height: Height,
        /// Lowest height that is kept.
        floor: Height,
    },
    /// The canonical index names a block that the tables do not hold.
    #[error("block {0} is named by an index but missing from the ledger")]
    MissingBlock(B256),
}

impl LedgerError {
    /// This error as that of a read of state; one that began as a [`StateError`] is that again.
    pub fn into_state(self) -> StateError {
        match self {
            Self::Index(error) => error,
            other => StateError::failed("the ledger", other),
        }
    }

    /// What opening a table says.
    pub(crate) fn of_opening(source: LittError) -> Self {
        if matches!(source, LittError::Corrupt { .. }) {
            Self::Unopenable(source)
        } else {
            Self::Table(source)
        }
    }

    /// Whether bytes are damaged, so that a repair may help.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. }
            | Self::Undecodable { .. }
            | Self::BadIndexRow(_)
            | Self::MissingBlock(_)
            | Self::Unopenable(_) => true,
            Self::Table(error) => matches!(error, LittError::Corrupt { .. }),
            Self::Index(error) => error.is_damage(),
            Self::NoAddressIndex | Self::IndexPruned { .. } | Self::BlockPruned { .. } => false,
        }
    }

    /// Whether the record lies below the floor of its table.
    pub fn is_pruned(&self) -> bool {
        matches!(self, Self::Table(LittError::Pruned { .. }) | Self::BlockPruned { .. })
    }

    /// What a table says of the record of a block.
    pub(crate) fn of_record(what: &'static str, hash: &B256) -> impl FnOnce(LittError) -> Self {
        let hash = *hash;
        move |source| match source {
            LittError::Corrupt { .. } => Self::Damaged { what, hash, source: Box::new(source) },
            other => Self::Table(other),
        }
    }
}
