//! The tracers: requests for a trace, one file a tracer, and the drivers of blocks.
//!
//! - [`TraceConfig`] is the second parameter of `debug_traceTransaction`; [`TracePlan`] is its
//!   checked form. One table ([`TRACERS`]) has every tracer.
//! - A tracer ([`Tracing`]) observes the execution and turns what it recorded into the bytes for
//!   the client. Recorder, contract, limits and JSON are in [`hearth_recorder`], JavaScript tracers
//!   in [`hearth_script_tracer`].
//! - [`trace_block`] and [`trace_transaction`] drive them over any implementation of [`Replay`],
//!   which runs the transactions of a block.
//!
//! Nothing in here reads a disk, uses HTTP, or writes state.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod block;
mod call_tracer;
mod config;
mod decode;
mod directory;
mod drive;
mod element;
mod elements;
mod ensemble;
mod erc7562_render;
mod erc7562_tracer;
mod flat_call_tracer;
mod four_byte_tracer;
mod frame_tracer;
mod keccak_tracer;
mod kept_text;
mod multi_plan;
mod mux_tracer;
mod page_lines;
mod parallel;
mod parity;
mod plan;
mod prestate_render;
mod prestate_tracer;
mod step_lines;
mod step_text;
mod steps;
mod struct_log_config;
mod struct_logger;
mod table;
#[cfg(any(test, feature = "toy-tracer"))]
mod toy_tracer;
mod tracer_options;

pub use block::BlockStats;
pub use call_tracer::{CallTracer, CallTracerConfig};
pub use config::{LoggerConfig, TraceConfig};
pub use directory::{MAX_MUX_DEPTH, MAX_MUX_TRACERS, Named};
pub use drive::{profile_block, trace_block, trace_block_in_parallel, trace_transaction};
pub use elements::{ElementSink, trace_elements};
pub use ensemble::MUX_STEPS_BYTES;
pub use erc7562_tracer::{Erc7562Tracer, Erc7562TracerConfig};
pub use flat_call_tracer::{FlatCallTracer, FlatCallTracerConfig};
pub use four_byte_tracer::{FourByte, FourByteTracer, NoopTracer};
pub use frame_tracer::{FrameTracer, FrameView};
pub use hearth_recorder::{
    BlockReplay, Cancel, ConfigError, DEFAULT_CALL_TIMEOUT, DEFAULT_RECORDING_LIMIT_BYTES,
    DEFAULT_TRACE_TIMEOUT, DeadlineAlarm, DurationError, Fault, Frame, FrameKind, GasRefusal,
    HELD_BACK_BYTES, JsonWriter, LimitedInspector, Limits, LogRecord, Observed, Recorder, RecorderOptions,
    Replay, SCRIPTS, ScriptGone, ScriptHost, ScriptLimits, ScriptPlan, ScriptSession, ScriptVerdict, Sink,
    SinkClosed, Span, StateReads, TraceError, Tracing, TxContext, TxEnd, observe_failure, parse_go_duration,
};
pub use hearth_script_tracer::{Fields, ScriptTracer};
pub use keccak_tracer::Keccak256PreimageTracer;
pub use multi_plan::{trace_block_under_several, trace_transaction_under_several};
pub use parallel::{FINISHED_BYTES, KEPT_RESULT_BYTES};
pub use parity::{
    Elements, FrameFilter, ParityConfig, ParityForm, ParityTracer, creation_of, reward_traces,
    transactions_with, write_filtered,
};
pub use plan::TracePlan;
pub use prestate_tracer::{PrestateTracer, PrestateTracerConfig};
pub use steps::{
    GasBy, GasMarks, PageRequest, ProfileRequest, SearchFilter, SearchRequest, StepsError, StepsPlan,
};
pub use struct_log_config::StructLogConfig;
pub use table::{TRACERS, TracerPlan, TracerRow};
#[cfg(any(test, feature = "toy-tracer"))]
pub use toy_tracer::ToyTracer;
pub use tracer_options::NoOptions;
