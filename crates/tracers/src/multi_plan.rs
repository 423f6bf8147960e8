//! Several results of one execution, each with a sink of its own.

use crate::block::{BlockOutput, each_transaction};
use crate::ensemble::{Ensemble, Member as _, View};
use crate::parity::Elements;
use crate::plan::TracePlan;
use crate::table::TracerPlan;
use alloy_primitives::B256;
use hearth_recorder::engine::{Replay, record, seek_to};
use hearth_recorder::error::TraceError;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::limits::Limits;
use hearth_recorder::sink::Sink;
use hearth_recorder::tracing::Tracing as _;

/// Writes the document of [`crate::trace_block`] for each of the plans, each to its sink, from one
/// execution. The longest timeout counts for all; a transaction that fails has its error in every
/// result.
///
/// # Errors
/// Those of [`crate::trace_block`]; the output is useless then.
pub fn trace_block_under_several<R: Replay>(
    replay: &mut R,
    plans: &[TracePlan],
    limits: &Limits,
    sinks: Vec<&mut dyn Sink>,
) -> Result<(), TraceError> {
    let mut several = MultiPlan::new(plans, limits, sinks);
    several.open()?;
    several.each(|json| json.raw(b"["));
    each_transaction(replay, &mut several)?;
    several.each(|json| json.raw(b"]"));
    several.finish()
}

impl BlockOutput for MultiPlan<'_> {
    fn open(&mut self, index: usize, hash: &B256) {
        self.each(|json| Elements::Named.open(json, index, hash));
    }

    fn run<R: Replay>(&mut self, replay: &mut R, index: usize) -> Result<(), TraceError> {
        self.one(replay, index)
    }

    fn fail(&mut self, error: &TraceError) -> Result<(), TraceError> {
        self.each(|json| Elements::Named.fail(json, error));
        Ok(())
    }

    fn close(&mut self) {
        self.each(|json| Elements::Named.close(json));
    }

    fn is_closed(&mut self) -> bool {
        self.is_any_closed()
    }
}

/// Writes the document of [`crate::trace_transaction`] for each of the plans, each to its sink,
/// from one execution. The longest timeout counts for all.
///
/// # Errors
/// Those of [`crate::trace_transaction`], for every sink, whether or not a part was written to it.
pub fn trace_transaction_under_several<R: Replay>(
    replay: &mut R,
    index: usize,
    plans: &[TracePlan],
    limits: &Limits,
    sinks: Vec<&mut dyn Sink>,
) -> Result<(), TraceError> {
    let mut several = MultiPlan::new(plans, limits, sinks);
    several.open()?;
    several.each(JsonWriter::mark);
    let outcome = several.one(replay, index);
    if outcome.is_err() {
        several.each(|json| {
            json.rewind();
        });
    }
    several.finish()?;
    outcome
}

/// Where the result of a plan comes from and goes to.
enum PlanOutput<'s> {
    /// It is made after the execution.
    Rendered(View, JsonWriter<'s>),
    /// The struct logger at this position writes it while the execution runs.
    Steps(usize),
}

/// Several trace plans that share one execution of the block.
struct MultiPlan<'s> {
    tracers: Ensemble<'s, TracerPlan>,
    lanes: Vec<PlanOutput<'s>>,
    limits: Limits,
}

impl<'s> MultiPlan<'s> {
    fn new(plans: &[TracePlan], limits: &Limits, sinks: Vec<&'s mut dyn Sink>) -> Self {
        let streams = plans.iter().any(|plan| matches!(plan.tracer, TracerPlan::StructLog(_)));
        let mut tracers = Ensemble::new(streams);
        let mut lanes = Vec::with_capacity(plans.len());
        for (plan, sink) in plans.iter().zip(sinks) {
            let json = JsonWriter::new(sink);
            lanes.push(match &plan.tracer {
                TracerPlan::StructLog(config) => PlanOutput::Steps(tracers.add_streaming(*config, json)),
                plan => PlanOutput::Rendered(plan.add_to(&mut tracers), json),
            });
        }
        let timeout = plans.iter().map(|plan| plan.timeout).max().unwrap_or_default();
        Self { tracers, lanes, limits: Limits { timeout, ..limits.clone() } }
    }

    /// Gets what the tracers need before anything is written.
    fn open(&mut self) -> Result<(), TraceError> {
        self.tracers.open(&self.limits, true).map(drop)
    }

    /// Does something with the writer of each lane.
    fn each(&mut self, mut act: impl FnMut(&mut JsonWriter<'s>)) {
        for lane in &mut self.lanes {
            match lane {
                PlanOutput::Rendered(_, json) => act(json),
                PlanOutput::Steps(position) => {
                    if let Some(steps) = self.tracers.streaming(*position) {
                        act(&mut steps.json);
                    }
                }
            }
        }
    }

    fn is_any_closed(&mut self) -> bool {
        let mut closed = false;
        self.each(|json| closed |= json.is_closed());
        closed
    }

    /// Executes a transaction and writes its results. After an error each lane has a complete JSON
    /// value that ends early.
    fn one<R: Replay>(&mut self, replay: &mut R, index: usize) -> Result<(), TraceError> {
        let tx = seek_to(replay, index, &self.limits)?;
        if let Err(error) = record(replay, &mut self.tracers, &tx, &self.limits) {
            self.tracers.cut_short();
            return Err(error);
        }
        for lane in &mut self.lanes {
            if let PlanOutput::Rendered(view, json) = lane {
                self.tracers.render_view(view, json);
            }
        }
        Ok(())
    }

    /// Hands the rest to the sinks.
    fn finish(self) -> Result<(), TraceError> {
        for lane in self.lanes {
            if let PlanOutput::Rendered(_, json) = lane {
                json.finish()?;
            }
        }
        self.tracers.end_streams()?;
        Ok(())
    }
}
