//! Stopping a run that takes too long or is not wanted any more.

use crate::machine::EvmContext;
use hearth_primitives::OriginWaits;
use revm::{
    Inspector,
    interpreter::{
        CallInputs, CallOutcome, InstructionResult, Interpreter, interpreter::EthInterpreter,
        interpreter_types::LoopControl as _,
    },
};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

/// Steps between two looks at the clock.
const STEPS_PER_LOOK: u32 = 4_096;

/// When to stop a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunLimits<'w> {
    /// Time at which it ends, later by what it waits for the origin of a fork.
    pub deadline: Option<Instant>,
    /// What its thread had waited for an origin before.
    pub waited_before: Duration,
    /// Set from outside to end it.
    pub cancel: Option<&'w AtomicBool>,
}

impl RunLimits<'_> {
    /// Whether the run has to stop.
    pub fn expired(&self) -> bool {
        self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed))
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline + self.waited())
    }

    /// How long the run has waited for an origin: a run stays on the thread that it begins on.
    fn waited(&self) -> Duration {
        OriginWaits::waited().saturating_sub(self.waited_before)
    }
}

/// Looks at the watch every few thousand steps, for runs whose gas alone does not bound them.
pub(crate) struct LimitInspector<'w> {
    watch: RunLimits<'w>,
    steps: u32,
    /// The run was stopped: its result means nothing.
    pub stopped: bool,
}

impl<'w> LimitInspector<'w> {
    pub fn new(watch: RunLimits<'w>) -> Self {
        Self { watch, steps: 0, stopped: false }
    }
}

impl<'a> Inspector<EvmContext<'a>> for LimitInspector<'_> {
    fn step(&mut self, interpreter: &mut Interpreter<EthInterpreter>, _context: &mut EvmContext<'a>) {
        self.steps = self.steps.wrapping_add(1);
        if !self.stopped && self.steps.is_multiple_of(STEPS_PER_LOOK) {
            self.stopped = self.watch.expired();
        }
        if self.stopped && interpreter.bytecode.action().is_none() {
            interpreter.halt(InstructionResult::OutOfGas);
        }
    }

    fn call(&mut self, _context: &mut EvmContext<'a>, _inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.stopped |= self.watch.expired();
        None
    }
}
