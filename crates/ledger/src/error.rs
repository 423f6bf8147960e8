//! What can go wrong in the ledger.

use alloy_primitives::B256;
use hearth_littable::LittError;
use hearth_primitives::StateError;

/// Errors of [`crate::Ledger`].
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A table failed, refused or holds damaged bytes.
    #[error(transparent)]
    Table(#[from] LittError),
    /// The state store, which keeps the indexes, failed.
    #[error(transparent)]
    Index(#[from] StateError),
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
    /// The canonical index names a block that the tables do not hold.
    #[error("block {0} is named by an index but missing from the ledger")]
    MissingBlock(B256),
}
