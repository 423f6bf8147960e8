//! The drivers of the tracers over the replay of a block, as functions without type parameters.
//!
//! The drivers of `hearth_tracers` are generic: each crate that calls them compiles the EVM once
//! for each type of tracer. Crates above call these functions, so that only this crate has that
//! code.

use hearth_tracers::{BlockReplay, BlockStats, Limits, Sink, TraceError, TracePlan};

/// As [`hearth_tracers::trace_block`].
///
/// # Errors
/// The same.
pub fn trace_block(
    replay: &mut BlockReplay<'_>,
    plan: &TracePlan,
    limits: &Limits,
    sink: &mut dyn Sink,
) -> Result<BlockStats, TraceError> {
    hearth_tracers::trace_block(replay, plan, limits, sink)
}

/// As [`hearth_tracers::trace_transaction`].
///
/// # Errors
/// The same.
pub fn trace_transaction(
    replay: &mut BlockReplay<'_>,
    index: usize,
    plan: &TracePlan,
    limits: &Limits,
    sink: &mut dyn Sink,
) -> Result<u64, TraceError> {
    hearth_tracers::trace_transaction(replay, index, plan, limits, sink)
}

/// As [`hearth_tracers::trace_block_under_several`].
///
/// # Errors
/// The same.
pub fn trace_block_under_several(
    replay: &mut BlockReplay<'_>,
    plans: &[TracePlan],
    limits: &Limits,
    sinks: Vec<&mut dyn Sink>,
) -> Result<(), TraceError> {
    hearth_tracers::trace_block_under_several(replay, plans, limits, sinks)
}

/// As [`hearth_tracers::trace_transaction_under_several`].
///
/// # Errors
/// The same.
pub fn trace_transaction_under_several(
    replay: &mut BlockReplay<'_>,
    index: usize,
    plans: &[TracePlan],
    limits: &Limits,
    sinks: Vec<&mut dyn Sink>,
) -> Result<(), TraceError> {
    hearth_tracers::trace_transaction_under_several(replay, index, plans, limits, sinks)
}
