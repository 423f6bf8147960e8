//! muxTracer: several tracers over one execution.

use crate::ensemble::{Ensemble, Member, View};
use hearth_recorder::StateReads;
use hearth_recorder::delegate_hooks;
use hearth_recorder::error::TraceError;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::limits::Limits;
use hearth_recorder::tracing::{Observed, Tracing, TxContext, TxEnd};
use std::time::Duration;

/// Tracers that watch the same execution; the result has one member for each.
pub(crate) struct MuxTracer<P> {
    tracers: Ensemble<'static, P>,
    view: View,
}

impl<P: Member> MuxTracer<P> {
    /// A tracer of these plans, by the names of their results.
    pub(crate) fn new(plans: &[(String, P)]) -> Self {
        let mut tracers = Ensemble::new(false);
        let view = tracers.add_mux(plans);
        Self { tracers, view }
    }
}

delegate_hooks!([P: Member] MuxTracer<P>, tracers);

impl<P: Member> Observed for MuxTracer<P> {
    fn size_bytes(&self) -> usize {
        self.tracers.size_bytes()
    }

    fn waited(&self) -> Duration {
        self.tracers.waited()
    }

    fn is_closed(&self) -> bool {
        self.tracers.is_closed()
    }

    fn failure(&self) -> Option<TraceError> {
        self.tracers.failure()
    }
}

impl<P: Member> Tracing for MuxTracer<P> {
    fn open(&mut self, limits: &Limits, blocking: bool) -> Result<bool, TraceError> {
        self.tracers.open(limits, blocking)
    }

    fn begin(&mut self, tx: &TxContext) {
        self.tracers.begin(tx);
    }

    fn finish(&mut self, end: &TxEnd<'_>) {
        self.tracers.finish(end);
    }

    fn after_transaction(&mut self, state: &mut dyn StateReads) {
        self.tracers.after_transaction(state);
    }

    fn needs_rerun(&self) -> bool {
        self.tracers.needs_rerun()
    }

    fn abort(&mut self, error: &TraceError) {
        self.tracers.abort(error);
    }

    fn render(&mut self, json: &mut JsonWriter<'_>) {
        self.tracers.render_view(&self.view, json);
    }
}
