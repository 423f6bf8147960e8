//! Traces of an open home: the requests, the state on which a block is executed again, shared
//! execution, the trace cache and its bake worker, JavaScript tracers.
//!
//! Nothing in here depends on HTTP, JSON-RPC envelopes or defaults of settings.

mod bake;
mod baked;
mod capsules;
mod js_tracers;
mod ops;
pub mod replayed;
mod request;
mod resolvers;
mod shared_traces;
mod step_indexes;
mod steps_request;
mod table;
mod trace;
mod trace_source;
mod traces;

pub use bake::{BakeService, RangeRequest, checked_range, start_range_worker};
pub use baked::{CachedAnswer, CachedTraceKey, Envelope, NamedTrace, Ready, SharedAnswer, TraceOf};
pub use js_tracers::{Caller, HookLink, JsTracers, ScriptNeed, Threads, hook_link, lease_for, not_available};
pub use ops::call_site::CallSite;
pub use ops::search::time_is_over;
pub use request::{CallBundle, TraceCall, TraceCallMany, TraceRequest, TraceSubject};
pub use resolvers::TraceJob;
pub use table::tracer_table;
pub use trace::{Counted, check_traceable, timed_out, trace_error};
pub use traces::Traces;
