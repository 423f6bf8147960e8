//! Records an execution once and renders it as JSON bytes.
//!
//! Three parts that do not depend on each other:
//! - [`TraceConfig`] is the second parameter of `debug_traceTransaction`; [`TracePlan`] is its
//!   checked form.
//! - A tracer ([`Tracing`]) observes the execution. Several tracers share the [`Recorder`], a revm
//!   inspector with a neutral arena of call frames, logs and bytes, reused from transaction to
//!   transaction.
//! - Rendering turns a recording into the bytes for the client, through a bounded buffer into a
//!   [`Sink`].
//!
//! [`trace_block`] and [`trace_transaction`] drive them over any implementation of [`Replay`],
//! which runs the transactions of a block; [`BlockReplay`] does so with the block executor. Nothing
//! in here reads a disk, uses HTTP, or writes state.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod block;
mod call_tracer;
mod classify;
mod config;
mod decode;
mod directory;
mod drive;
mod duration;
mod elements;
mod ensemble;
mod erc7562_render;
mod erc7562_tracer;
mod error;
mod failed_gas;
mod fault;
mod flat_call_tracer;
mod four_byte_tracer;
mod frame_tracer;
mod hooks;
mod json;
mod keccak_tracer;
mod kept_text;
mod limits;
mod memory;
mod multi_plan;
mod mux_tracer;
mod opcode;
mod parallel;
mod parity;
mod plan;
mod precompile;
mod precompile_bls;
mod precompile_kzg;
mod prestate_render;
mod prestate_tracer;
mod recorder;
mod recorder_hooks;
mod replay;
mod script;
mod sink;
mod step_lines;
mod step_text;
mod steps;
mod struct_logger;
mod table;
#[cfg(any(test, feature = "toy-tracer"))]
mod toy_tracer;
mod tracer_options;
mod tracing;
mod watch;

pub use call_tracer::{CallTracer, CallTracerConfig};
pub use config::{LoggerConfig, TraceConfig};
pub use directory::Named;
pub use drive::{BlockStats, Replay, trace_block, trace_block_in_parallel, trace_transaction};
pub use duration::{DurationError, parse_go_duration};
pub use elements::{ElementSink, trace_elements};
pub use ensemble::MUX_STEPS_BYTES;
pub use erc7562_tracer::{Erc7562Tracer, Erc7562TracerConfig};
pub use error::{ConfigError, TraceError};
pub use fault::{Fault, GasRefusal};
pub use flat_call_tracer::{FlatCallTracer, FlatCallTracerConfig};
pub use four_byte_tracer::{FourByte, FourByteTracer, NoopTracer};
pub use frame_tracer::{FrameTracer, FrameView};
pub use json::{HELD_BACK_BYTES, JsonWriter};
pub use keccak_tracer::Keccak256PreimageTracer;
pub use limits::{
    Cancel, DEFAULT_CALL_TIMEOUT, DEFAULT_RECORDING_LIMIT_BYTES, DEFAULT_TRACE_TIMEOUT, Limits,
};
pub use multi_plan::{trace_block_under_several, trace_transaction_under_several};
pub use mux_tracer::MuxTracer;
pub use parallel::{FINISHED_BYTES, KEPT_RESULT_BYTES};
pub use parity::{
    Elements, FrameFilter, ParityConfig, ParityForm, ParityTracer, creation_of, reward_traces,
    transactions_with, write_filtered,
};
pub use plan::TracePlan;
pub use prestate_tracer::{PrestateTracer, PrestateTracerConfig};
pub use recorder::{Frame, FrameKind, LogRecord, Recorder, RecorderOptions, Span};
pub use replay::BlockReplay;
pub use script::{
    Fields, SCRIPTS, ScriptGone, ScriptHost, ScriptLimits, ScriptPlan, ScriptSession, ScriptTracer,
    ScriptVerdict, StateReads,
};
pub use sink::{Sink, SinkClosed};
pub use steps::{
    GasBy, GasMarks, PageRequest, ProfileRequest, SearchFilter, SearchRequest, StepsError, StepsPlan,
    profile_block,
};
pub use struct_logger::StructLogConfig;
pub use table::{TRACERS, TracerPlan, TracerRow};
#[cfg(any(test, feature = "toy-tracer"))]
pub use toy_tracer::ToyTracer;
pub use tracer_options::{MAX_MUX_DEPTH, MAX_MUX_TRACERS, NoOptions};
pub use tracing::{Observed, Tracing, TxContext, TxEnd};
pub use watch::LimitedInspector;
