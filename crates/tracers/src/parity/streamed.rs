//! parityTracer with `vmTrace`, written while the transaction runs: the text of its instructions
//! leaves as it is made, and the other members of the result follow it.

use super::options::ParityConfig;
use super::{ParityTracer, VmRecorder};
use hearth_evm::EvmContext;
use hearth_recorder::delegate_frame_hooks;
use hearth_recorder::engine::{Engine, Replay, record_limited};
use hearth_recorder::error::TraceError;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::limits::Limits;
use hearth_recorder::tracing::{Observed, Tracing, TxContext};
use revm::Inspector;
use revm::interpreter::Interpreter;
use std::time::Duration;

/// Bytes of text that are collected before they are handed on.
const HANDED_ON_BYTES: usize = 16 * 1024;

/// parityTracer over a block, each result written while its transaction runs.
pub(crate) struct Streamed(ParityTracer);

impl Streamed {
    /// A tracer with these options, of which `vmTrace` is one.
    pub(crate) fn new(config: ParityConfig) -> Self {
        Self(ParityTracer::new(config))
    }
}

impl Engine for Streamed {
    fn run<R: Replay>(
        &mut self,
        replay: &mut R,
        tx: &TxContext,
        limits: &Limits,
        json: &mut JsonWriter<'_>,
    ) -> Result<(), TraceError> {
        let Self(tracer) = self;
        tracer.begin(tx);
        json.raw(b"{\"vmTrace\":");
        let waited_before = json.waited();
        let mut writing = StreamedWriter { tracer, json, waited_before };
        let ended = record_limited(replay, &mut writing, limits);
        if ended.is_err()
            && let Some(vm) = &mut tracer.vm
        {
            vm.cut_short();
        }
        hand_on(&mut tracer.vm, 0, json);
        if let Ok(end) = &ended {
            tracer.finish(end);
            json.raw(b",");
            tracer.render_parts(tx, json);
        }
        json.raw(b"}");
        ended.map(|_| ())
    }
}

#[inline(always)]
fn hand_on(vm: &mut Option<VmRecorder>, least: usize, json: &mut JsonWriter<'_>) {
    if let Some(vm) = vm {
        vm.drain(least, json);
    }
}

/// The tracer of the running transaction, and where it writes.
struct StreamedWriter<'t, 'w> {
    tracer: &'t mut ParityTracer,
    json: &'t mut JsonWriter<'w>,
    /// What was waited before.
    waited_before: Duration,
}

impl Observed for StreamedWriter<'_, '_> {
    fn size_bytes(&self) -> usize {
        self.tracer.size_bytes()
    }

    fn waited(&self) -> Duration {
        self.json.waited().saturating_sub(self.waited_before)
    }

    fn is_closed(&self) -> bool {
        self.json.is_closed()
    }
}

impl<'a> Inspector<EvmContext<'a>> for StreamedWriter<'_, '_> {
    delegate_frame_hooks!('a, tracer);

    #[inline]
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        self.tracer.step(interpreter, context);
    }

    #[inline]
    fn step_end(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        self.tracer.step_end(interpreter, context);
        hand_on(&mut self.tracer.vm, HANDED_ON_BYTES, self.json);
    }
}
