//! Stops a transaction that takes too long, records too much, or that nobody wants any more.
//!
//! Looking at the clock costs more than an instruction, so instructions are weighed: a look comes after every
//! [`WEIGHT_BETWEEN_LOOKS`], and instructions that may take long by themselves weigh as much.

use crate::error::TraceError;
use crate::limits::Limits;
use crate::tracing::Observed;
use alloy_primitives::{Address, Log, U256};
use hearth_evm::EvmContext;
use revm::Inspector;
use revm::bytecode::opcode as op;
use revm::context_interface::ContextTr;
use revm::context_interface::context::ContextError;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::Jumps;
use revm::interpreter::{CallInputs, CallOutcome, CreateInputs, CreateOutcome, Interpreter};
use std::time::{Duration, Instant};

/// Weight of the instructions between two looks at clock, size and cancel flag.
const WEIGHT_BETWEEN_LOOKS: u32 = 4096;

/// Weights: a plain instruction is 1; one that may read a disk, copy much, or hash much weighs more.
const WEIGHTS: [u32; 256] = {
    let mut table = [1; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = match i as u8 {
            op::KECCAK256 | op::CREATE | op::CREATE2 => WEIGHT_BETWEEN_LOOKS,
            op::CALL | op::CALLCODE | op::DELEGATECALL | op::STATICCALL => WEIGHT_BETWEEN_LOOKS,
            op::LOG0..=op::LOG4 => WEIGHT_BETWEEN_LOOKS,
            op::CALLDATACOPY | op::CODECOPY | op::EXTCODECOPY | op::RETURNDATACOPY | op::MCOPY => 512,
            op::SLOAD | op::SSTORE | op::BALANCE | op::EXTCODESIZE | op::EXTCODEHASH | op::SELFDESTRUCT => {
                128
            }
            op::EXP => 32,
            _ => 1,
        };
        i += 1;
    }
    table
};

/// A tracer with the watch over it: the inspector that the executor gets.
pub struct Watched<'t, T: ?Sized> {
    tracer: &'t mut T,
    limits: Limits,
    started: Instant,
    weight_left: u32,
    abort: Option<TraceError>,
}

impl<'t, T: Observed + ?Sized> Watched<'t, T> {
    /// Starts the clock.
    pub(crate) fn new(tracer: &'t mut T, limits: Limits) -> Self {
        let weight_left = if limits.timeout.is_zero() { 1 } else { WEIGHT_BETWEEN_LOOKS };
        Self { tracer, limits, started: Instant::now(), weight_left, abort: None }
    }

    /// Why the transaction was stopped, if it was, or why there is no result of it.
    pub(crate) fn aborted(self) -> Option<TraceError> {
        let Self { tracer, limits, abort, .. } = self;
        abort.or_else(|| tracer.failure()).or_else(|| too_many_steps(tracer, &limits))
    }

    #[cold]
    #[inline(never)]
    fn look<CTX: ContextTr>(&mut self, interpreter: &mut Interpreter<EthInterpreter>, context: &mut CTX) {
        self.weight_left = WEIGHT_BETWEEN_LOOKS;
        if self.abort.is_none() {
            self.abort = self.reason();
        }
        if self.abort.is_some() {
            self.weight_left = 1;
            halt(interpreter, context);
        }
    }

    fn reason(&self) -> Option<TraceError> {
        let limits = &self.limits;
        if limits.cancel.is_cancelled() || self.tracer.is_closed() {
            return Some(TraceError::Cancelled);
        }
        if limits.call_is_over() {
            return Some(TraceError::CallTimeout);
        }
        if self.running() >= limits.timeout {
            return Some(TraceError::ExecutionTimeout);
        }
        if let Some(failure) = self.tracer.failure() {
            return Some(failure);
        }
        if let Some(failure) = too_many_steps(self.tracer, limits) {
            return Some(failure);
        }
        let limit_bytes = limits.recording_bytes;
        (self.tracer.size_bytes() > limit_bytes).then_some(TraceError::TooLarge { limit_bytes })
    }

    fn running(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.tracer.waited())
    }
}

/// The failure of a transaction whose struct logs are larger than allowed.
fn too_many_steps<T: Observed + ?Sized>(tracer: &T, limits: &Limits) -> Option<TraceError> {
    let limit_bytes = limits.struct_log_bytes;
    let is_over = limit_bytes != 0 && tracer.step_bytes() > limit_bytes;
    is_over.then_some(TraceError::StructLogsTooLarge { limit_bytes })
}

/// Stops a transaction that no tracer watches.
pub(crate) struct StopWatch<'s> {
    should_stop: &'s dyn Fn() -> bool,
    weight_left: u32,
    pub(crate) stopped: bool,
}

impl<'s> StopWatch<'s> {
    pub(crate) fn new(should_stop: &'s dyn Fn() -> bool) -> Self {
        Self { should_stop, weight_left: WEIGHT_BETWEEN_LOOKS, stopped: false }
    }
}

impl<'a> Inspector<EvmContext<'a>> for StopWatch<'_> {
    #[inline]
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        let weight = WEIGHTS[usize::from(interpreter.bytecode.opcode())];
        self.weight_left = self.weight_left.saturating_sub(weight);
        if self.weight_left == 0 {
            self.weight_left = WEIGHT_BETWEEN_LOOKS;
            self.stopped |= (self.should_stop)();
        }
        if self.stopped {
            halt(interpreter, context);
        }
    }
}

/// Unwinds the whole transaction by a fatal error, so that nothing of it reaches the state.
fn halt<CTX: ContextTr>(interpreter: &mut Interpreter<EthInterpreter>, context: &mut CTX) {
    *context.error() = Err(ContextError::Custom("trace aborted".to_owned()));
    interpreter.halt_fatal();
}

impl<'a, T: Observed + ?Sized> Inspector<EvmContext<'a>> for Watched<'_, T> {
    fn initialize_interp(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        self.tracer.initialize_interp(interpreter, context);
    }

    #[inline]
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        self.weight_left =
            self.weight_left.saturating_sub(WEIGHTS[usize::from(interpreter.bytecode.opcode())]);
        if self.weight_left == 0 {
            self.look(interpreter, context);
            if self.abort.is_some() {
                return;
            }
        }
        self.tracer.step(interpreter, context);
    }

    #[inline]
    fn step_end(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        if self.abort.is_none() {
            self.tracer.step_end(interpreter, context);
        }
    }

    fn log(&mut self, context: &mut EvmContext<'a>, log: Log) {
        self.tracer.log(context, log);
    }

    fn log_full(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>, log: Log) {
        self.tracer.log_full(interpreter, context, log);
    }

    fn call(&mut self, context: &mut EvmContext<'a>, inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.tracer.call(context, inputs)
    }

    fn call_end(&mut self, context: &mut EvmContext<'a>, inputs: &CallInputs, outcome: &mut CallOutcome) {
        self.tracer.call_end(context, inputs, outcome);
    }

    fn create(&mut self, context: &mut EvmContext<'a>, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.tracer.create(context, inputs)
    }

    fn create_end(
        &mut self,
        context: &mut EvmContext<'a>,
        inputs: &CreateInputs,
        outcome: &mut CreateOutcome,
    ) {
        self.tracer.create_end(context, inputs, outcome);
    }

    fn selfdestruct(&mut self, contract: Address, target: Address, value: U256) {
        self.tracer.selfdestruct(contract, target, value);
    }
}
