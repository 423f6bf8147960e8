//! Runs one script over a transaction, in the form that its fields need; alone or as one of several
//! tracers.

use crate::fields::Fields;
use crate::lean::{LEAN_FIELDS, StepOnlyTracer};
use crate::tracer::{Phase, ScriptTracer};
use hearth_recorder::StateReads;
use hearth_recorder::engine::{Engine, Replay, record_limited};
use hearth_recorder::error::TraceError;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::limits::Limits;
use hearth_recorder::tracing::{Observed, Tracing, TxContext, TxEnd};
use hearth_recorder::{ScriptPlan, ScriptVerdict};

impl Observed for ScriptTracer {
    fn size_bytes(&self) -> usize {
        self.recorded_bytes()
    }

    fn failure(&self) -> Option<TraceError> {
        self.why_none()
    }
}

impl Tracing for ScriptTracer {
    fn open(&mut self, limits: &Limits, blocking: bool) -> Result<bool, TraceError> {
        self.connect(limits, blocking)
    }

    fn begin(&mut self, tx: &TxContext) {
        self.start(tx);
    }

    fn finish(&mut self, end: &TxEnd<'_>) {
        self.record_end(end);
    }

    fn after_transaction(&mut self, state: &mut dyn StateReads) {
        self.answer(state);
    }

    fn needs_rerun(&self) -> bool {
        self.is_rerun()
    }

    fn abort(&mut self, error: &TraceError) {
        let late = matches!(error, TraceError::ExecutionTimeout | TraceError::CallTimeout) || self.is_late();
        self.abandon(if late { ScriptVerdict::Late } else { ScriptVerdict::Unwanted });
    }

    fn render(&mut self, json: &mut JsonWriter<'_>) {
        if let Phase::Answered(bytes) = &self.phase {
            json.raw(bytes);
        }
    }
}

/// A single script tracer, outside of muxTracer.
pub struct SingleScript(ScriptTracer);

impl SingleScript {
    /// A script that is the only tracer of its execution.
    pub fn new(plan: &ScriptPlan, no_host: fn() -> TraceError) -> Self {
        Self(ScriptTracer::new(plan, no_host))
    }

    /// Executes the transaction under the script; the error is why there is no result of it.
    fn watch<R: Replay>(&mut self, replay: &mut R, limits: &Limits) -> Result<(), TraceError> {
        let fields = self.0.fields;
        match (fields.is_within(LEAN_FIELDS) && fields.has(Fields::STEP), fields.has(Fields::OP)) {
            (true, false) => execute(replay, &mut StepOnlyTracer::<false>(&mut self.0), limits),
            (true, true) => execute(replay, &mut StepOnlyTracer::<true>(&mut self.0), limits),
            (false, _) => execute(replay, &mut self.0, limits),
        }
    }
}

/// What a form of the tracer does when the transaction has ended.
trait Form: Observed {
    fn tracer(&mut self) -> &mut ScriptTracer;
}

impl Form for ScriptTracer {
    fn tracer(&mut self) -> &mut ScriptTracer {
        self
    }
}

impl<const OP: bool> Form for StepOnlyTracer<'_, OP> {
    fn tracer(&mut self) -> &mut ScriptTracer {
        self.0
    }
}

fn execute<R: Replay, F: Form>(replay: &mut R, form: &mut F, limits: &Limits) -> Result<(), TraceError> {
    let end = record_limited(replay, form, limits)?;
    form.tracer().record_end(&end);
    Ok(())
}

impl Engine for SingleScript {
    fn open(&mut self, limits: &Limits, blocking: bool) -> Result<bool, TraceError> {
        self.0.connect(limits, blocking)
    }

    fn run<R: Replay>(
        &mut self,
        replay: &mut R,
        tx: &TxContext,
        limits: &Limits,
        json: &mut JsonWriter<'_>,
    ) -> Result<(), TraceError> {
        loop {
            self.0.start(tx);
            if let Some(failure) = self.0.why_none() {
                self.0.abort(&failure);
                return Err(failure);
            }
            match self.watch(replay, limits) {
                Ok(()) => break,
                Err(_) if self.0.is_rerun() => {}
                Err(error) => {
                    self.0.abort(&error);
                    return Err(error);
                }
            }
        }
        self.0.answer(replay.state());
        if let Some(failure) = self.0.why_none() {
            return Err(failure);
        }
        self.0.render(json);
        Ok(())
    }
}
