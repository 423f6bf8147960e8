//! The outcome of one transaction.

use crate::{machine::MachineError, overlay::ReadError, tx_error::TxError};
use alloy_primitives::{Address, Bytes};
use hearth_primitives::Failure;
use revm::context_interface::result::{EVMError, HaltReason, InvalidTransaction};

/// How a transaction ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxStatus {
    /// It ran to its end.
    Success,
    /// `REVERT`; the output is the reason.
    Revert,
    /// It failed and used up its gas.
    Halt(HaltReason),
}

/// What one transaction did.
#[derive(Clone, Debug)]
pub struct TxOutcome {
    /// How it ended.
    pub status: TxStatus,
    /// Gas used, refunds deducted.
    pub gas_used: u64,
    /// Gas refunded.
    pub gas_refunded: u64,
    /// Return data, or the reason of a revert.
    pub output: Bytes,
    /// Address of the contract that it made.
    pub created: Option<Address>,
}

/// Why [`crate::BlockExecutor::transact`] gave no outcome.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ExecuteError {
    /// The transaction cannot be part of this block.
    #[error(transparent)]
    Invalid(#[from] TxError),
    /// State could not be read.
    #[error(transparent)]
    State(#[from] hearth_primitives::StateError),
}

impl From<TxError> for Failure {
    fn from(error: TxError) -> Self {
        Self::open(error)
    }
}

impl From<ExecuteError> for Failure {
    fn from(error: ExecuteError) -> Self {
        match error {
            ExecuteError::Invalid(error) => Self::open(error),
            ExecuteError::State(error) => error.into(),
        }
    }
}

/// Our error for the interpreter's.
pub(crate) fn execute_error(error: MachineError) -> ExecuteError {
    match error {
        EVMError::Database(ReadError(error)) => ExecuteError::State(error),
        EVMError::Transaction(error) => ExecuteError::Invalid(invalid(error)),
        EVMError::Header(error) => ExecuteError::Invalid(TxError::Other(error.to_string())),
        other => ExecuteError::Invalid(TxError::Other(other.to_string())),
    }
}

/// Our error for a transaction that the interpreter refuses.
pub(crate) fn invalid(error: InvalidTransaction) -> TxError {
    match error {
        InvalidTransaction::CallGasCostMoreThanGasLimit { initial_gas, gas_limit } => {
            TxError::IntrinsicGas { have: gas_limit, want: initial_gas }
        }
        InvalidTransaction::GasFloorMoreThanGasLimit { gas_floor, gas_limit } => {
            TxError::FloorDataGas { have: gas_limit, want: gas_floor }
        }
        other => TxError::Other(other.to_string()),
    }
}
