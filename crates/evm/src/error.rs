//! Why a chain specification, a block or a transaction is refused.

use crate::tx_error::TxError;
use alloy_primitives::{Address, B256};
use hearth_primitives::{Failure, Height, StateError};
use std::fmt;

/// A genesis file or `config` object that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The document is no JSON, or not an object where one is needed.
    #[error("{field}: no JSON object at line {line}, column {column}: {message}")]
    Json {
        /// Path of the field.
        field: String,
        /// Line within the field's text, from 1.
        line: usize,
        /// Column within that line, from 1.
        column: usize,
        /// The parser's words.
        message: String,
    },
    /// A field that must be there is not.
    #[error("{field} is missing: expected {expected}")]
    Missing {
        /// Path of the field.
        field: String,
        /// What would be right.
        expected: String,
    },
    /// A field holds a value that cannot be used.
    #[error("{field} is {got}: expected {expected}")]
    Invalid {
        /// Path of the field.
        field: String,
        /// The value that was found.
        got: String,
        /// What would be right.
        expected: String,
    },
    /// Two forks are out of order.
    #[error("{second} is {before}, but {first}, which comes first, is {at}: forks must ascend")]
    Order {
        /// Path of the fork that must be first.
        first: String,
        /// Where it begins.
        at: u64,
        /// Path of the fork that follows.
        second: String,
        /// Where that begins.
        before: u64,
    },
    /// A fork that this node does not know.
    #[error("{field} is not supported: {reason}")]
    Unsupported {
        /// Path of the field.
        field: String,
        /// Why.
        reason: &'static str,
    },
}

impl SpecError {
    pub(crate) fn missing(field: &str, expected: &str) -> Self {
        Self::Missing { field: field.to_string(), expected: expected.to_string() }
    }

    pub(crate) fn invalid(field: &str, got: &str, expected: &str) -> Self {
        Self::Invalid { field: field.to_string(), got: got.to_string(), expected: expected.to_string() }
    }
}

/// A field of a block that is checked. `Display` gives its name in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// Hash of the block.
    Hash,
    /// Number of the block.
    Number,
    /// Hash of the parent.
    ParentHash,
    /// Time in seconds.
    Timestamp,
    /// Difficulty (proof of work), zero afterwards.
    Difficulty,
    /// Gas limit.
    GasLimit,
    /// Gas used by all transactions.
    GasUsed,
    /// Extra data.
    ExtraData,
    /// Base fee per gas (EIP-1559).
    BaseFee,
    /// Nonce of the seal.
    Nonce,
    /// Mix hash of the seal.
    MixHash,
    /// Hash of the list of ommers.
    OmmersHash,
    /// An ommer.
    Ommer,
    /// Root of the transactions.
    TransactionsRoot,
    /// Root of the receipts.
    ReceiptsRoot,
    /// Root of the state.
    StateRoot,
    /// Root of the withdrawals (EIP-4895).
    WithdrawalsRoot,
    /// Withdrawals of the body (EIP-4895).
    Withdrawals,
    /// Bloom filter of the logs.
    LogsBloom,
    /// Blob gas used (EIP-4844).
    BlobGasUsed,
    /// Excess blob gas (EIP-4844).
    ExcessBlobGas,
    /// Root of the parent beacon block (EIP-4788).
    ParentBeaconRoot,
    /// Hash of the requests (EIP-7685).
    RequestsHash,
    /// Length of the block in RLP, in bytes (EIP-7934).
    BlockSize,
    /// Total difficulty (merge).
    TotalDifficulty,
}

impl Field {
    /// The field's name in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hash => "block hash",
            Self::Number => "block number",
            Self::ParentHash => "parent hash",
            Self::Timestamp => "timestamp",
            Self::Difficulty => "difficulty",
            Self::GasLimit => "gas limit",
            Self::GasUsed => "gas used",
            Self::ExtraData => "extra data",
            Self::BaseFee => "base fee",
            Self::Nonce => "nonce",
            Self::MixHash => "mix hash",
            Self::OmmersHash => "ommers hash",
            Self::Ommer => "ommer",
            Self::TransactionsRoot => "transactions root",
            Self::ReceiptsRoot => "receipts root",
            Self::StateRoot => "state root",
            Self::WithdrawalsRoot => "withdrawals root",
            Self::Withdrawals => "withdrawals",
            Self::LogsBloom => "logs bloom",
            Self::BlobGasUsed => "blob gas used",
            Self::ExcessBlobGas => "excess blob gas",
            Self::ParentBeaconRoot => "parent beacon block root",
            Self::RequestsHash => "requests hash",
            Self::BlockSize => "block size",
            Self::TotalDifficulty => "total difficulty",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A block that is refused.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BlockError {
    /// A field does not hold what the rules or the execution give.
    #[error("{field}: expected {expected}, got {got}")]
    Mismatch {
        /// Which field.
        field: Field,
        /// What is right.
        expected: String,
        /// What the block says.
        got: String,
    },
    /// A transaction cannot be executed.
    #[error("transaction {index} ({hash}): {source}")]
    InvalidTransaction {
        /// Position in the block, from 0.
        index: usize,
        /// Hash of the transaction.
        hash: B256,
        /// Why.
        source: Box<TxError>,
    },
    /// A system contract that the fork needs has no code, or its call failed (EIP-7002, EIP-7251).
    #[error("system contract {address} ({eip}): {reason}")]
    SystemContract {
        /// Address of the contract.
        address: Address,
        /// The proposal that defines it.
        eip: &'static str,
        /// What went wrong.
        reason: String,
    },
    /// A deposit log that does not follow EIP-6110.
    #[error("requests hash: deposit log of transaction {index} is malformed: {reason}")]
    DepositLog {
        /// Position of the transaction, from 0.
        index: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// An ancestor that the checks need is not there.
    #[error("ancestor {number} ({hash}) is not known")]
    UnknownAncestor {
        /// Number of the ancestor.
        number: Height,
        /// Its hash.
        hash: B256,
    },
    /// State could not be read.
    #[error(transparent)]
    State(#[from] StateError),
}

impl From<BlockError> for Failure {
    fn from(error: BlockError) -> Self {
        match error {
            BlockError::State(error) => error.into(),
            other => Self::open(other),
        }
    }
}

impl BlockError {
    pub(crate) fn mismatch(field: Field, expected: impl fmt::Display, got: impl fmt::Display) -> Self {
        Self::Mismatch { field, expected: expected.to_string(), got: got.to_string() }
    }

    /// The field that is named, where one is.
    pub fn field(&self) -> Option<Field> {
        match self {
            Self::Mismatch { field, .. } => Some(*field),
            Self::DepositLog { .. } => Some(Field::RequestsHash),
            _ => None,
        }
    }
}

/// Fails with a mismatch of `field` unless both values are equal.
pub(crate) fn expect_eq<T: PartialEq + fmt::Display>(
    field: Field,
    expected: T,
    got: T,
) -> Result<(), BlockError> {
    if expected == got { Ok(()) } else { Err(BlockError::mismatch(field, expected, got)) }
}
