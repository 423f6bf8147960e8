//! The elements of a block trace, one after the other, under several plans from one execution.

use crate::block::{BlockOutput, each_transaction};
use crate::ensemble::{Ensemble, Member as _, View};
use crate::plan::TracePlan;
use crate::table::TracerPlan;
use alloy_primitives::B256;
use hearth_recorder::engine::{Replay, record, seek_to};
use hearth_recorder::error::TraceError;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::limits::Limits;
use hearth_recorder::sink::Sink;
use hearth_recorder::tracing::Tracing as _;

/// Receives the elements of one block trace: for each transaction `begin`, then the bytes of its
/// result through [`Sink::write`] or the text of its error, then `end`.
pub trait ElementSink: Sink {
    /// The next transaction.
    fn begin(&mut self, tx: &B256);

    /// The transaction has no result: this is what stands in its place, as text.
    fn fail(&mut self, error: &str);

    /// The transaction's element is whole.
    fn end(&mut self);
}

/// Executes the transactions of a block once and passes the result of each under every plan to the
/// sink of that plan. Each sink receives what [`crate::trace_block`] would write under its plan.
/// The longest timeout counts for all.
///
/// # Errors
/// The first error that another run might not meet: a timeout, a cancelled trace, a failed read of
/// the state. With several plans also a recording that is too large, since that of a single plan
/// might not be. The sinks' content is useless then. Any other failure of a transaction is its
/// element.
pub fn trace_elements<R: Replay>(
    replay: &mut R,
    plans: &[TracePlan],
    limits: &Limits,
    sinks: &mut [&mut dyn ElementSink],
) -> Result<(), TraceError> {
    let mut tracers = Ensemble::new(false);
    let views: Vec<View> = plans.iter().map(|plan| plan.tracer.add_to(&mut tracers)).collect();
    let timeout = plans.iter().map(|plan| plan.timeout).max().unwrap_or_default();
    let limits = Limits { timeout, ..limits.clone() };
    tracers.open(&limits, true)?;
    each_transaction(replay, &mut Elementwise { tracers, views, limits, sinks }).map(drop)
}

/// Results that are handed out one by one.
struct Elementwise<'a, 's> {
    tracers: Ensemble<'static, TracerPlan>,
    /// How each plan's result comes from the tracers.
    views: Vec<View>,
    limits: Limits,
    sinks: &'a mut [&'s mut dyn ElementSink],
}

impl BlockOutput for Elementwise<'_, '_> {
    fn open(&mut self, _index: usize, hash: &B256) {
        self.sinks.iter_mut().for_each(|sink| sink.begin(hash));
    }

    fn run<R: Replay>(&mut self, replay: &mut R, index: usize) -> Result<(), TraceError> {
        let tx = seek_to(replay, index, &self.limits)?;
        record(replay, &mut self.tracers, &tx, &self.limits)?;
        for (view, sink) in self.views.iter().zip(self.sinks.iter_mut()) {
            let mut json = JsonWriter::new(&mut **sink);
            self.tracers.render_view(view, &mut json);
            json.finish()?;
        }
        Ok(())
    }

    fn fail(&mut self, error: &TraceError) -> Result<(), TraceError> {
        if !is_final(error, self.views.len()) {
            return Err(error.clone());
        }
        let text = error.to_string();
        self.sinks.iter_mut().for_each(|sink| sink.fail(&text));
        Ok(())
    }

    fn close(&mut self) {
        self.sinks.iter_mut().for_each(|sink| sink.end());
    }
}

/// Whether every run of these plans, and each of them alone, would end in this error.
fn is_final(error: &TraceError, plans: usize) -> bool {
    match error {
        TraceError::Execution(_) => true,
        TraceError::TooLarge { .. } => plans == 1,
        _ => false,
    }
}
