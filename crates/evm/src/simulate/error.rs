//! Why a simulated call gives no result, in go-ethereum's words and codes
//! (internal/ethapi/errors.go).

use super::revert_reason;
use crate::tx_error::TxError;
use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_primitives::StateError;
use std::time::Duration;

/// JSON-RPC code of a revert.
const REVERT_CODE: i32 = 3;
/// JSON-RPC code of every other failed call.
const SERVER_CODE: i32 = -32_000;

/// A call that cannot be made, or failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// Old and new fee fields at once.
    #[error("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified")]
    BothFeeStyles,
    /// Another chain's id.
    #[error("chainId does not match node's (have={have}, want={want})")]
    ChainId {
        /// The call's.
        have: U256,
        /// This chain's.
        want: u64,
    },
    /// An override that go-ethereum takes in `eth_simulateV1` alone.
    #[error("block override \"{0}\" is not supported for this RPC method")]
    BlockOverride(&'static str),
    /// A block override that does not fit.
    #[error("block override \"{field}\" is too large: {value}")]
    BlockOverrideRange {
        /// Name of the field.
        field: &'static str,
        /// What was given.
        value: U256,
    },
    /// Storage replaced and changed at once.
    #[error("account {0} has both 'state' and 'stateDiff'")]
    StateAndDiff(Address),
    /// Only precompiled contracts can be moved.
    #[error("account {0} is not a precompile")]
    NotPrecompile(Address),
    /// Target of a move that is overridden itself.
    #[error("account {0} is already overridden")]
    AlreadyOverridden(Address),
    /// An override of the target of a move.
    #[error("account {0} has already been overridden by a precompile")]
    OverriddenByPrecompile(Address),
    /// The call is not valid.
    #[error("err: {source} (supplied gas {gas})")]
    Invalid {
        /// Why.
        source: TxError,
        /// Gas limit of the call.
        gas: u64,
    },
    /// The call is not valid while its gas is estimated.
    #[error("failed with {gas} gas: {source}")]
    EstimateInvalid {
        /// Why.
        source: TxError,
        /// Gas limit tried.
        gas: u64,
    },
    /// The sender's balance does not cover value or blobs.
    #[error("{0}")]
    EstimateFunds(&'static str),
    /// `REVERT`.
    #[error("execution reverted{}", revert_reason(data).map(|reason| format!(": {reason}")).unwrap_or_default())]
    Reverted {
        /// What it gave back.
        data: Bytes,
    },
    /// The call failed.
    #[error("{0}")]
    Halted(String),
    /// The call is not valid while its access list is made.
    #[error("failed to apply transaction: {hash} err: {source}")]
    AccessList {
        /// Hash of the call as a transaction without a signature.
        hash: B256,
        /// Why.
        source: TxError,
    },
    /// Fees that a transaction cannot have, where fees are filled in.
    #[error("{0}")]
    Fees(String),
    /// More authorizations than the gas pays for.
    #[error("insufficient gas to process all authorizations")]
    AuthorizationGas,
    /// Not enough gas, whatever is allowed.
    #[error("gas required exceeds allowance ({0})")]
    GasAllowance(u64),
    /// It took too long or was given up.
    #[error("execution aborted (timeout = {})", go_duration(.0.unwrap_or_default()))]
    Aborted(Option<Duration>),
    /// State could not be read.
    #[error(transparent)]
    State(#[from] StateError),
}

/// A duration as Go prints it (time/time.go: Duration.String).
pub(super) fn go_duration(duration: Duration) -> String {
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    if seconds == 0 {
        return match nanos {
            0 => "0s".to_owned(),
            1..1_000 => format!("{nanos}ns"),
            1_000..1_000_000 => format!("{}µs", f64::from(nanos) / 1e3),
            _ => format!("{}ms", f64::from(nanos) / 1e6),
        };
    }
    let rest = format!("{}.{nanos:09}", seconds % 60);
    let rest = rest.trim_end_matches('0').trim_end_matches('.');
    match (seconds / 3_600, seconds / 60 % 60) {
        (0, 0) => format!("{rest}s"),
        (0, minutes) => format!("{minutes}m{rest}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{rest}s"),
    }
}

impl CallError {
    /// The JSON-RPC error code.
    pub fn code(&self) -> i32 {
        match self {
            Self::Reverted { .. } => REVERT_CODE,
            _ => SERVER_CODE,
        }
    }

    /// The JSON-RPC error's data: what a revert gave back.
    pub fn data(&self) -> Option<&Bytes> {
        match self {
            Self::Reverted { data } => Some(data),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_printed_as_go_prints_them() {
        for (millis, text) in [
            (0, "0s"),
            (50, "50ms"),
            (5_000, "5s"),
            (1_500, "1.5s"),
            (60_000, "1m0s"),
            (90_050, "1m30.05s"),
            (3_600_000, "1h0m0s"),
        ] {
            assert_eq!(go_duration(Duration::from_millis(millis)), text);
        }
        assert_eq!(go_duration(Duration::from_micros(1)), "1µs");
        assert_eq!(go_duration(Duration::from_nanos(999)), "999ns");
    }
}
