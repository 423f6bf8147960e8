//! JavaScript tracers: the part of a transaction that a script can observe is recorded in packed
//! chunks and replayed in another process, while the execution continues.
//!
//! - [`ScriptPlan`] is the script of a request, its own source or one of go-ethereum's, with its
//!   configuration.
//! - [`ScriptHost`] opens sessions with the component that runs scripts, [`ScriptSession`] is the
//!   channel to it. Nothing in here depends on a process or on JavaScript.
//! - [`ScriptTracer`] is the inspector. It records only the [`Fields`] that the script can reach;
//!   if the script reads others, the transaction is executed once more with those too.
//!
//! [`ScriptPlan`]: hearth_recorder::ScriptPlan
//! [`ScriptHost`]: hearth_recorder::ScriptHost
//! [`ScriptSession`]: hearth_recorder::ScriptSession

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod chunk;
mod engine;
mod fields;
mod frames;
mod hooks;
mod journal;
mod lean;
mod link;
mod memory;
mod message;
mod stack;
mod tracer;

pub use engine::SingleScript;
pub use fields::Fields;
pub use tracer::ScriptTracer;
