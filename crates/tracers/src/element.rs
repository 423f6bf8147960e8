//! One element of a block's results: the transaction's own trace, and the text around it.

use crate::parity::Elements;
use crate::plan::TracePlan;
use alloy_primitives::B256;
use hearth_recorder::engine::{Engine, Replay, seek_to};
use hearth_recorder::error::TraceError;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::limits::Limits;

/// Writes what follows the last transaction of a block.
pub(crate) fn end_block(json: &mut JsonWriter<'_>, plan: &TracePlan, count: usize) {
    let rewards = plan.rewards();
    json.raw(if count > 0 && !rewards.is_empty() { b"," } else { b"" });
    json.raw(rewards.as_bytes());
    json.raw(b"]");
}

impl Elements {
    /// Begins the element of a transaction, without the bracket of the list.
    pub(crate) fn open(self, json: &mut JsonWriter<'_>, index: usize, hash: &B256) {
        json.raw(if index > 0 { b"," } else { b"" });
        if self == Self::Named {
            json.raw(b"{\"txHash\":");
            json.hex_bytes(hash.as_slice());
        }
        json.mark();
        if self == Self::Named {
            json.raw(b",\"result\":");
        }
    }

    /// Writes an error in place of the result; beside it where some of the result has left.
    pub(crate) fn fail(self, json: &mut JsonWriter<'_>, error: &TraceError) {
        match self {
            Self::Named => write_error(json, error),
            Self::Plain | Self::Joined => {
                let rewound = json.rewind();
                json.raw(if rewound { b"{\"error\":" } else { b",{\"error\":" });
                json.string(&error.to_string());
                json.raw(b"}");
            }
        }
    }

    /// Ends the element.
    pub(crate) fn close(self, json: &mut JsonWriter<'_>) {
        json.raw(if self == Self::Named { b"}" } else { b"" });
    }
}

/// Writes the error of one element: in place of the result if nothing of that was sent, otherwise
/// next to it.
pub(crate) fn write_error(json: &mut JsonWriter<'_>, error: &TraceError) {
    if json.rewind() {
        json.raw(b",\"error\":");
        json.string(&error.to_string());
    } else {
        json.raw(b",\"error\":{\"code\":-32000,\"message\":");
        json.string(&error.to_string());
        json.raw(b"}");
    }
}

/// Executes one transaction and writes its result.
pub(crate) fn one<R: Replay, E: Engine>(
    replay: &mut R,
    index: usize,
    plan: &TracePlan,
    limits: &Limits,
    engine: &mut E,
    json: &mut JsonWriter<'_>,
) -> Result<(), TraceError> {
    let limits = timed(plan, limits);
    let tx = seek_to(replay, index, &limits)?;
    engine.run(replay, &tx, &limits, json)
}

/// The limits with the time that the plan gives a transaction.
pub(crate) fn timed(plan: &TracePlan, limits: &Limits) -> Limits {
    Limits { timeout: plan.timeout, ..limits.clone() }
}
