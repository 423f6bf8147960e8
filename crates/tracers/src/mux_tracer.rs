//! muxTracer: several tracers over one execution.

use crate::json::JsonWriter;
use crate::tracing::{Observed, Tracing, TxContext, TxEnd};
use alloy_primitives::{Address, Log, U256};
use hearth_evm::EvmContext;
use revm::Inspector;
use revm::interpreter::{CallInputs, CallOutcome, CreateInputs, CreateOutcome, Interpreter};

/// Tracers that watch the same execution; the result has one member for each.
#[derive(Default)]
pub struct MuxTracer {
    tracers: Vec<(String, Box<dyn Tracing>)>,
}

impl MuxTracer {
    /// A tracer of these, by the names of their results.
    pub(crate) fn new(tracers: Vec<(String, Box<dyn Tracing>)>) -> Self {
        Self { tracers }
    }

    /// Writes the result of one tracer alone, by its position.
    pub(crate) fn render_one(&mut self, position: usize, json: &mut JsonWriter<'_>) {
        if let Some((_, tracer)) = self.tracers.get_mut(position) {
            tracer.render(json);
        }
    }

    fn each(&mut self) -> impl Iterator<Item = &mut Box<dyn Tracing>> {
        self.tracers.iter_mut().map(|(_, tracer)| tracer)
    }
}

impl<'a> Inspector<EvmContext<'a>> for MuxTracer {
    fn initialize_interp(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        self.each().for_each(|tracer| tracer.initialize_interp(interpreter, context));
    }

    #[inline]
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        self.each().for_each(|tracer| tracer.step(interpreter, context));
    }

    #[inline]
    fn step_end(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        self.each().for_each(|tracer| tracer.step_end(interpreter, context));
    }

    fn log(&mut self, context: &mut EvmContext<'a>, log: Log) {
        self.each().for_each(|tracer| tracer.log(context, log.clone()));
    }

    fn log_full(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>, log: Log) {
        self.each().for_each(|tracer| tracer.log_full(interpreter, context, log.clone()));
    }

    // A tracer only watches: none of them answers a call itself.
    fn call(&mut self, context: &mut EvmContext<'a>, inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.each().fold(None, |answer, tracer| answer.or(tracer.call(context, inputs)))
    }

    fn call_end(&mut self, context: &mut EvmContext<'a>, inputs: &CallInputs, outcome: &mut CallOutcome) {
        self.each().for_each(|tracer| tracer.call_end(context, inputs, outcome));
    }

    fn create(&mut self, context: &mut EvmContext<'a>, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.each().fold(None, |answer, tracer| answer.or(tracer.create(context, inputs)))
    }

    fn create_end(
        &mut self,
        context: &mut EvmContext<'a>,
        inputs: &CreateInputs,
        outcome: &mut CreateOutcome,
    ) {
        self.each().for_each(|tracer| tracer.create_end(context, inputs, outcome));
    }

    fn selfdestruct(&mut self, contract: Address, target: Address, value: U256) {
        self.each().for_each(|tracer| tracer.selfdestruct(contract, target, value));
    }
}

impl Observed for MuxTracer {
    fn size_bytes(&self) -> usize {
        self.tracers.iter().map(|(_, tracer)| tracer.size_bytes()).sum()
    }
}

impl Tracing for MuxTracer {
    fn begin(&mut self, tx: &TxContext) {
        self.each().for_each(|tracer| tracer.begin(tx));
    }

    fn finish(&mut self, end: &TxEnd<'_>) {
        self.each().for_each(|tracer| tracer.finish(end));
    }

    fn render(&mut self, json: &mut JsonWriter<'_>) {
        json.raw(b"{");
        for (i, (name, tracer)) in self.tracers.iter_mut().enumerate() {
            json.raw(if i > 0 { b"," } else { b"" });
            json.string(name);
            json.raw(b":");
            tracer.render(json);
        }
        json.raw(b"}");
    }
}
