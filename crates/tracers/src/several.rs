//! Several results of one execution, each with a sink of its own.

use crate::config::TracePlan;
use crate::drive::Replay;
use crate::error::TraceError;
use crate::json::JsonWriter;
use crate::limits::Limits;
use crate::mux_tracer::MuxTracer;
use crate::sink::{Sink, SinkClosed};
use crate::tracer_options::recording;
use crate::tracing::Tracing as _;
use crate::watch::Watched;
use std::time::Duration;

/// Tracers that watch the same execution and are rendered one by one.
pub struct Several {
    tracers: MuxTracer,
    timeout: Duration,
}

impl Several {
    /// Whether a plan's result can be rendered after the execution: the struct logger writes while it runs.
    pub fn takes(plan: &TracePlan) -> bool {
        recording(&plan.tracer).is_some()
    }

    /// The tracers of these plans; those that [`Self::takes`] refuses are left out. The longest timeout counts.
    pub fn new(plans: &[TracePlan]) -> Self {
        let tracers =
            plans.iter().filter_map(|plan| Some((String::new(), recording(&plan.tracer)?))).collect();
        let timeout = plans.iter().map(|plan| plan.timeout).max().unwrap_or_default();
        Self { tracers: MuxTracer::new(tracers), timeout }
    }

    /// Executes a transaction under all tracers.
    ///
    /// # Errors
    /// As [`crate::trace_transaction`].
    pub fn record<R: Replay>(
        &mut self,
        replay: &mut R,
        index: usize,
        limits: &Limits,
    ) -> Result<(), TraceError> {
        let count = replay.count();
        if index >= count {
            return Err(TraceError::IndexOutOfRange { index, count });
        }
        let tx = replay.seek(index, &|| limits.cancel.is_cancelled())?;
        self.tracers.begin(&tx);
        let limits = Limits { timeout: self.timeout, ..limits.clone() };
        let mut watched = Watched::new(&mut self.tracers, limits);
        let outcome = replay.record(&mut watched);
        if let Some(reason) = watched.aborted() {
            return Err(reason);
        }
        self.tracers.finish(&outcome?);
        Ok(())
    }

    /// Writes the result of one of the tracers, by its position, for the transaction that was recorded last.
    ///
    /// # Errors
    /// The sink wants no more.
    pub fn render(&mut self, position: usize, sink: &mut dyn Sink) -> Result<u64, SinkClosed> {
        let mut json = JsonWriter::new(sink);
        self.tracers.render_one(position, &mut json);
        json.finish()
    }
}
