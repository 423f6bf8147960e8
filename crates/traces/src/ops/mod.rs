//! Traces with a way of their own: of calls, of what a transaction read and wrote, and of where its time went.

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
