//! Tracers whose result is made of call frames alone: one recording, and a view of it for each.

use hearth_recorder::delegate_hooks;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::recorder::{Recorder, RecorderOptions};
use hearth_recorder::tracing::{Observed, Tracing, TxContext, TxEnd};

/// How a recording of frames becomes a result.
pub trait FrameView {
    /// What the recording must contain. It may contain more: a view skips the rest.
    fn options(&self) -> RecorderOptions;

    /// Writes the result: one JSON value.
    fn render(&self, recording: &Recorder, tx: &TxContext, json: &mut JsonWriter<'_>);
}

/// A view over a recording of its own.
#[derive(Debug, Default)]
pub struct FrameTracer<V> {
    frames: Frames,
    view: V,
}

impl<V: FrameView> FrameTracer<V> {
    /// A tracer with this view.
    pub fn new(view: V) -> Self {
        Self { frames: Frames::default(), view }
    }
}

delegate_hooks!([V: FrameView] FrameTracer<V>, frames.recorder);

impl<V: FrameView> Observed for FrameTracer<V> {
    fn size_bytes(&self) -> usize {
        self.frames.recorder.size_bytes()
    }
}

impl<V: FrameView> Tracing for FrameTracer<V> {
    fn begin(&mut self, tx: &TxContext) {
        self.frames.begin(self.view.options(), tx);
    }

    fn finish(&mut self, end: &TxEnd<'_>) {
        self.frames.recorder.finish(end.gas_limit, end.gas_used);
    }

    fn render(&mut self, json: &mut JsonWriter<'_>) {
        self.frames.render(&self.view, json);
    }
}

/// A recording, and the transaction that it is of.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    pub(crate) recorder: Recorder,
    tx: Option<TxContext>,
}

impl Frames {
    /// Forgets the last transaction and gets ready for the next.
    pub(crate) fn begin(&mut self, options: RecorderOptions, tx: &TxContext) {
        self.recorder.begin(options, tx.log_base);
        self.tx = Some(tx.clone());
    }

    /// Writes what a view makes of the recording; `null` before any transaction.
    pub(crate) fn render(&self, view: &dyn FrameView, json: &mut JsonWriter<'_>) {
        match &self.tx {
            Some(tx) => view.render(&self.recorder, tx, json),
            None => json.raw(b"null"),
        }
    }
}
