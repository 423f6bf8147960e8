//! JavaScript tracers: what a script can see of a transaction is recorded in packed chunks and replayed elsewhere, while the
//! execution goes on.
//!
//! - [`ScriptPlan`] is what a request names: source, or one of go-ethereum's scripts, and its configuration.
//! - [`ScriptHost`] gives sessions with whatever runs scripts, [`ScriptSession`] is the channel to it. Nothing in here knows
//!   a process or JavaScript.
//! - [`ScriptTracer`] is the inspector. It records only the [`Fields`] that the script can reach; where the script reaches
//!   for more, the transaction is executed once more with those too.

mod chunk;
mod engine;
mod fields;
mod frames;
mod hooks;
mod host;
mod journal;
mod lean;
mod link;
mod memory;
mod message;
mod plan;
mod stack;
mod state;
mod tracer;

pub(crate) use engine::Alone;
pub use fields::Fields;
pub use host::{ScriptGone, ScriptHost, ScriptLimits, ScriptSession, ScriptVerdict};
pub use plan::{SCRIPTS, ScriptPlan};
pub use state::StateReads;
pub use tracer::ScriptTracer;
