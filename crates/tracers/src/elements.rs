//! The elements of a block trace, one after the other, under several plans from one execution.

use crate::drive::{Replay, record, stand_before};
use crate::ensemble::{Ensemble, View};
use crate::error::TraceError;
use crate::json::JsonWriter;
use crate::limits::Limits;
use crate::plan::TracePlan;
use crate::sink::Sink;
use crate::tracing::Tracing as _;
use alloy_primitives::B256;

/// Takes the elements of one block trace apart: for each transaction `begin`, then the bytes of its result through
/// [`Sink::write`] or the text of its error, then `end`.
pub trait ElementSink: Sink {
    /// The next transaction.
    fn begin(&mut self, tx: &B256);

    /// The transaction has no result: this is what stands in its place, as text.
    fn fail(&mut self, error: &str);

    /// The transaction's element is whole.
    fn end(&mut self);
}

/// Executes the transactions of a block once and hands each one's result under every plan to that plan's sink. What
/// the sinks get is what [`crate::trace_block`] writes under each plan alone. The longest timeout counts for all.
///
/// # Errors
/// The first error that another run might not meet: a timeout, a cancelled trace, a state that cannot be read; also a
/// recording that is too large, where there are several plans, since each alone might not be. What the sinks have got is of
/// no use then. All other failures of a transaction are its element.
pub fn trace_elements<R: Replay>(
    replay: &mut R,
    plans: &[TracePlan],
    limits: &Limits,
    sinks: &mut [&mut dyn ElementSink],
) -> Result<(), TraceError> {
    let mut tracers = Ensemble::default();
    let views: Vec<View> = plans.iter().map(|plan| tracers.add(&plan.tracer)).collect();
    let timeout = plans.iter().map(|plan| plan.timeout).max().unwrap_or_default();
    let limits = Limits { timeout, ..limits.clone() };
    tracers.open(&limits, true)?;
    for index in 0..replay.count() {
        let hash = replay.hash(index);
        sinks.iter_mut().for_each(|sink| sink.begin(&hash));
        match one(replay, index, &mut tracers, &limits) {
            Ok(()) => {
                for (view, sink) in views.iter().zip(sinks.iter_mut()) {
                    let mut json = JsonWriter::new(&mut **sink);
                    tracers.render_view(view, &mut json);
                    json.finish()?;
                }
            }
            Err(error) if is_final(&error, plans.len()) => {
                let text = error.to_string();
                sinks.iter_mut().for_each(|sink| sink.fail(&text));
            }
            Err(error) => return Err(error),
        }
        sinks.iter_mut().for_each(|sink| sink.end());
    }
    Ok(())
}

/// Whether every run of these plans, and each of them alone, would end in this error.
fn is_final(error: &TraceError, plans: usize) -> bool {
    match error {
        TraceError::Execution(_) => true,
        TraceError::TooLarge { .. } => plans == 1,
        _ => false,
    }
}

/// Executes a transaction under the watch of all tracers.
fn one<R: Replay>(
    replay: &mut R,
    index: usize,
    tracers: &mut Ensemble<'_>,
    limits: &Limits,
) -> Result<(), TraceError> {
    let tx = stand_before(replay, index, limits)?;
    record(replay, tracers, &tx, limits)
}
