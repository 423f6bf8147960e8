//! Traces that are not plain traces of a block or transaction: of calls, of the state that a
//! transaction read and wrote, and of the time that it took.

pub(crate) mod call_site;
pub(crate) mod filter;
pub(crate) mod parity;
pub(crate) mod profile;
pub(crate) mod search;
pub(crate) mod state_access;
pub(crate) mod steps;
mod timed_state;
pub(crate) mod trace_call;

use hearth_home::NodeError;

/// The JSON bytes of a result.
type Answer = Result<Vec<u8>, NodeError>;
