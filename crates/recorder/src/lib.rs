//! What every tracer stands on: one recording of an execution, the contract of a tracer, the bounds
//! of a trace, and the bytes of its result.
//!
//! - [`Recorder`] is a revm inspector with a neutral arena of call frames, logs and bytes, reused
//!   from transaction to transaction. [`Fault`] says why a frame failed, in go-ethereum's words:
//!   [`classify`] finds it from the state before an instruction, [`precompile`] from the input of a
//!   precompiled contract.
//! - [`Tracing`] and [`Observed`] are the contract of a tracer, [`Limits`] the bounds, which
//!   [`LimitedInspector`] enforces.
//! - [`Replay`] runs the transactions of a block, [`BlockReplay`] with the block executor;
//!   [`engine`] takes one transaction from a replay to JSON.
//! - [`JsonWriter`] is a bounded buffer in front of a [`Sink`].
//! - [`ScriptHost`] and [`StateReads`] are what scripts need of the component that runs them.
//!
//! Must not be in here: a tracer, names of tracers.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod classify;
pub mod duration;
pub mod engine;
pub mod error;
pub mod failed_gas;
pub mod fault;
mod hooks;
pub mod json;
pub mod limits;
pub mod memory;
mod named_run;
pub mod opcode;
pub mod precompile;
mod precompile_bls;
mod precompile_kzg;
pub mod recorder;
pub mod recorder_hooks;
pub mod refund;
mod replay;
mod script_host;
mod script_plan;
pub mod sink;
mod state_reads;
pub mod tracing;
pub mod watch;

pub use duration::{DurationError, parse_go_duration};
pub use engine::Replay;
pub use error::{ConfigError, TraceError};
pub use fault::{Fault, GasRefusal};
pub use json::{HELD_BACK_BYTES, JsonWriter};
pub use limits::{
    Cancel, DEFAULT_CALL_TIMEOUT, DEFAULT_RECORDING_LIMIT_BYTES, DEFAULT_TRACE_TIMEOUT, DeadlineAlarm, Limits,
};
pub use named_run::observe_failure;
pub use recorder::{Frame, FrameKind, LogRecord, Recorder, RecorderOptions, Span};
pub use replay::BlockReplay;
pub use script_host::{ScriptGone, ScriptHost, ScriptLimits, ScriptSession, ScriptVerdict};
pub use script_plan::{SCRIPTS, ScriptPlan};
pub use sink::{Sink, SinkClosed};
pub use state_reads::StateReads;
pub use tracing::{Observed, Tracing, TxContext, TxEnd};
pub use watch::LimitedInspector;
