//! Why a simulation gives no blocks, in go-ethereum's words (internal/ethapi/errors.go,
//! simulate.go).

use super::{MAX_SIMULATED_BYTES, MAX_SIMULATED_CALLS};
use crate::{
    error::BlockError,
    simulate::{CallError, error::go_duration},
    tx_error::TxError,
};
use hearth_primitives::{Height, StateError};
use std::time::Duration;

/// A simulation that cannot be made.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SimulateError {
    /// The request has no blocks.
    #[error("empty input")]
    Empty,
    /// More blocks than a simulation may have.
    #[error("too many blocks")]
    TooManyBlocks,
    /// More calls than a simulation may have.
    #[error("too many calls: {count}, at most {MAX_SIMULATED_CALLS} are allowed")]
    TooManyCalls {
        /// How many there are.
        count: usize,
    },
    /// Return data, logs and call data have grown too large.
    #[error("the result of the simulation is larger than {MAX_SIMULATED_BYTES} bytes")]
    TooLarge,
    /// A block's number does not follow the one before it.
    #[error("block numbers must be in order: {number} <= {previous}")]
    NumberOrder {
        /// The block's number.
        number: Height,
        /// Number of the block before it.
        previous: Height,
    },
    /// A block's time does not follow that of the one before it.
    #[error("block timestamps must be in order: {timestamp} <= {previous}")]
    TimestampOrder {
        /// The block's time in seconds.
        timestamp: u64,
        /// Time of the block before it in seconds.
        previous: u64,
    },
    /// Withdrawals of a block before the Merge.
    #[error("ethash does not support withdrawals")]
    WithdrawalsBeforeMerge,
    /// Withdrawals of a block before Shanghai (EIP-4895).
    #[error("withdrawals set before Shanghai activation")]
    WithdrawalsBeforeShanghai,
    /// A call requests more gas than its block has left.
    #[error("block gas limit reached: {used} >= {limit}")]
    BlockGasLimit {
        /// Gas that the calls before it used.
        used: u64,
        /// The block's limit.
        limit: u64,
    },
    /// A call is not valid.
    #[error("err: {source} (supplied gas {gas})")]
    Invalid {
        /// Why.
        source: TxError,
        /// Gas limit of the call.
        gas: u64,
    },
    /// Overrides or a call's fields contradict each other.
    #[error(transparent)]
    Call(CallError),
    /// A block cannot be ended: its system contracts fail.
    #[error(transparent)]
    Block(BlockError),
    /// It took too long or was given up.
    #[error("execution aborted (timeout = {})", go_duration(.0.unwrap_or_default()))]
    Aborted(Option<Duration>),
    /// State could not be read.
    #[error(transparent)]
    State(#[from] StateError),
}

impl SimulateError {
    /// The failed read of state in it, if that is why there are no blocks.
    pub fn state(&self) -> Option<&StateError> {
        match self {
            Self::State(error)
            | Self::Call(CallError::State(error))
            | Self::Block(BlockError::State(error)) => Some(error),
            _ => None,
        }
    }
}

impl From<CallError> for SimulateError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Invalid { source, gas } => Self::Invalid { source, gas },
            CallError::State(error) => Self::State(error),
            other => Self::Call(other),
        }
    }
}

impl From<BlockError> for SimulateError {
    fn from(error: BlockError) -> Self {
        match error {
            BlockError::State(error) => Self::State(error),
            other => Self::Block(other),
        }
    }
}

impl SimulateError {
    /// A stable machine name of the kind, for the table of JSON-RPC errors.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Empty => "invalid_params",
            Self::TooManyBlocks | Self::TooManyCalls { .. } | Self::TooLarge => "client_limit",
            Self::NumberOrder { .. } => "block_number_order",
            Self::TimestampOrder { .. } => "block_timestamp_order",
            Self::BlockGasLimit { .. } => "block_gas_limit",
            Self::Invalid { source, .. } => invalid_kind(source),
            Self::Aborted(_) => "call_invalid",
            Self::Call(_)
            | Self::Block(_)
            | Self::WithdrawalsBeforeMerge
            | Self::WithdrawalsBeforeShanghai
            | Self::State(_) => "execution_failed",
        }
    }
}

fn invalid_kind(error: &TxError) -> &'static str {
    match error {
        TxError::NonceTooLow { .. } => "nonce_too_low",
        TxError::NonceTooHigh { .. } => "nonce_too_high",
        TxError::FeeCapTooLow { .. } => "fee_cap_too_low",
        TxError::IntrinsicGas { .. } => "intrinsic_gas_too_low",
        TxError::InsufficientFunds { .. }
        | TxError::FundsOverflow { .. }
        | TxError::InsufficientFundsForTransfer { .. } => "insufficient_funds",
        TxError::InitCodeTooLong { .. } => "init_code_too_long",
        TxError::TipAboveFeeCap { .. } => "invalid_params",
        _ => "call_invalid",
    }
}
