//! JavaScript tracers: the part of a transaction that a script can observe is recorded in packed
//! chunks and replayed in another process, while the execution continues.
//!
//! - [`ScriptPlan`] is the script of a request, its own source or one of go-ethereum's, with its
//!   configuration.
//! - [`ScriptHost`] opens sessions with the component that runs scripts, [`ScriptSession`] is the
//!   channel to it. Nothing in here depends on a process or on JavaScript.
//! - [`ScriptTracer`] is the inspector. It records only the [`Fields`] that the script can reach;
//!   if the script reads others, the transaction is executed once more with those too.

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

pub(crate) use engine::SingleScript;
pub use fields::Fields;
pub use host::{ScriptGone, ScriptHost, ScriptLimits, ScriptSession, ScriptVerdict};
pub use plan::{SCRIPTS, ScriptPlan};
pub use state::StateReads;
pub use tracer::ScriptTracer;
