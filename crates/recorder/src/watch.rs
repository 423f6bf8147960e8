//! Stops a transaction that takes too long, records too much, or was cancelled.
//!
//! Reading the clock costs more than an instruction, so instructions have weights: the limits are
//! checked after every [`WEIGHT_BETWEEN_LOOKS`], which is some ten microseconds of plain
//! instructions. Instructions that may take long weigh more, and those whose time depends on the
//! bytes that they read are weighed by these. Text that a step writes weighs as well: with memory
//! a step may be megabytes.

use crate::delegate_frame_hooks;
use crate::error::TraceError;
use crate::limits::Limits;
use crate::tracing::Observed;
use alloy_primitives::U256;
use hearth_evm::EvmContext;
use revm::Inspector;
use revm::bytecode::opcode as op;
use revm::context_interface::ContextTr;
use revm::context_interface::context::ContextError;
use revm::interpreter::Interpreter;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::Jumps;
use std::time::{Duration, Instant};

/// Weight of the instructions between two looks at clock, size and cancel flag.
const WEIGHT_BETWEEN_LOOKS: u32 = 4096;

/// Stands for a weight that depends on the number of bytes; see [`weight_by_size`].
const BY_SIZE: u32 = u32::MAX;

/// Stands for a weight that depends on who is called; see [`weight_of_call`].
const BY_TARGET: u32 = u32::MAX - 1;

/// Addresses below this one may be precompiled contracts, which take long without an instruction.
const PRECOMPILED_BELOW: U256 = U256::from_limbs([0x400, 0, 0, 0]);

/// Weights: a plain instruction is 1; one that may read a disk, copy much, or run a precompiled
/// contract weighs more.
const WEIGHTS: [u32; 256] = {
    let mut table = [1; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = match i as u8 {
            op::KECCAK256 | op::LOG0..=op::LOG4 => BY_SIZE,
            op::CREATE | op::CREATE2 => WEIGHT_BETWEEN_LOOKS,
            op::CALL | op::CALLCODE | op::DELEGATECALL | op::STATICCALL => BY_TARGET,
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

/// Weight of hashing or logging nothing.
const SIZED_WEIGHT: u64 = 64;

/// Bytes that are hashed in the time of a plain instruction.
const BYTES_A_WEIGHT: u64 = 2;

/// Bytes of text that are written in the time of a plain instruction.
const TEXT_BYTES_A_WEIGHT: u64 = 64;

/// Weight of an instruction that takes the number of its bytes as the second word of the stack.
fn weight_by_size(interpreter: &Interpreter<EthInterpreter>) -> u32 {
    // What is beyond any memory runs out of gas.
    let bytes = interpreter.stack.peek(1).map_or(0, |bytes| bytes.saturating_to::<u64>());
    u32::try_from(SIZED_WEIGHT + bytes / BYTES_A_WEIGHT).unwrap_or(BY_SIZE)
}

/// Weight of a call, which has its target as the second word of the stack.
fn weight_of_call(interpreter: &Interpreter<EthInterpreter>) -> u32 {
    match interpreter.stack.peek(1) {
        Ok(target) if target >= PRECOMPILED_BELOW => WEIGHT_BETWEEN_LOOKS / 4,
        _ => WEIGHT_BETWEEN_LOOKS,
    }
}

/// What is left of a weight after the next instruction; 0 where it is time for a look.
#[inline]
fn left_after(interpreter: &Interpreter<EthInterpreter>, left: u32) -> u32 {
    let weight = WEIGHTS[usize::from(interpreter.bytecode.opcode())];
    if weight < left { left - weight } else { left_after_long(interpreter, weight, left) }
}

#[cold]
#[inline(never)]
fn left_after_long(interpreter: &Interpreter<EthInterpreter>, weight: u32, left: u32) -> u32 {
    let weight = match weight {
        BY_SIZE => weight_by_size(interpreter),
        BY_TARGET => weight_of_call(interpreter),
        _ => weight,
    };
    left.saturating_sub(weight)
}

/// A tracer with the watch over it: the inspector that the executor gets.
pub struct LimitedInspector<'t, T: ?Sized> {
    tracer: &'t mut T,
    limits: Limits,
    started: Instant,
    weight_left: u32,
    /// Bytes of struct logs after the last step.
    text_bytes: u64,
    abort: Option<TraceError>,
}

impl<'t, T: Observed + ?Sized> LimitedInspector<'t, T> {
    /// Starts the clock.
    pub fn new(tracer: &'t mut T, limits: Limits) -> Self {
        let weight_left = if limits.timeout.is_zero() { 1 } else { WEIGHT_BETWEEN_LOOKS };
        let started = Instant::now();
        // A deadline that is beyond the clock is never reached.
        if let (Some(alarm), Some(deadline)) = (&limits.alarm, started.checked_add(limits.timeout)) {
            alarm.arm(deadline);
        }
        Self { tracer, limits, started, weight_left, text_bytes: 0, abort: None }
    }

    /// Why the transaction was stopped, if it was, or why there is no result of it.
    pub fn aborted(self) -> Option<TraceError> {
        let Self { tracer, limits, abort, .. } = self;
        // The alarm of an execution that was stopped stays armed: its answer is an error, unless a
        // further execution arms the alarm again.
        if let (Some(alarm), None) = (&limits.alarm, &abort) {
            alarm.disarm();
        }
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

    /// Takes off the weight of the text that a step has written; all of it once the output is
    /// closed.
    #[inline]
    fn weigh_text(&mut self) {
        let bytes = self.tracer.step_bytes();
        if bytes == self.text_bytes {
            return;
        }
        let written = bytes.saturating_sub(self.text_bytes) / TEXT_BYTES_A_WEIGHT;
        self.text_bytes = bytes;
        let weight = if self.tracer.is_closed() { u64::MAX } else { written };
        self.weight_left = self.weight_left.saturating_sub(u32::try_from(weight).unwrap_or(u32::MAX));
    }

    fn reason(&self) -> Option<TraceError> {
        let limits = &self.limits;
        if limits.cancel.is_cancelled() || self.tracer.is_closed() {
            return Some(TraceError::Cancelled);
        }
        let now = Instant::now();
        if limits.call_is_over_at(now) {
            return Some(TraceError::CallTimeout);
        }
        if self.running_at(now) >= limits.timeout {
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

    fn running_at(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.started).saturating_sub(self.tracer.waited())
    }
}

/// The failure of a transaction whose struct logs are larger than allowed.
fn too_many_steps<T: Observed + ?Sized>(tracer: &T, limits: &Limits) -> Option<TraceError> {
    let limit_bytes = limits.struct_log_bytes?.get();
    (tracer.step_bytes() > limit_bytes).then_some(TraceError::StructLogsTooLarge { limit_bytes })
}

/// Stops a transaction that no tracer watches.
pub(crate) struct CancelInspector<'s> {
    should_stop: &'s dyn Fn() -> bool,
    weight_left: u32,
    pub(crate) stopped: bool,
}

impl<'s> CancelInspector<'s> {
    pub(crate) fn new(should_stop: &'s dyn Fn() -> bool) -> Self {
        Self { should_stop, weight_left: WEIGHT_BETWEEN_LOOKS, stopped: false }
    }
}

impl<'a> Inspector<EvmContext<'a>> for CancelInspector<'_> {
    #[inline]
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        self.weight_left = left_after(interpreter, self.weight_left);
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
pub fn halt<CTX: ContextTr>(interpreter: &mut Interpreter<EthInterpreter>, context: &mut CTX) {
    *context.error() = Err(ContextError::Custom("trace aborted".to_owned()));
    interpreter.halt_fatal();
}

impl<'a, T: Observed + ?Sized> Inspector<EvmContext<'a>> for LimitedInspector<'_, T> {
    delegate_frame_hooks!('a, tracer);

    #[inline]
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        self.weight_left = left_after(interpreter, self.weight_left);
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
            self.weigh_text();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use revm::bytecode::Bytecode;

    /// An interpreter before an instruction, with these words on its stack, the last one on top.
    fn before(opcode: u8, words: &[u64]) -> Interpreter<EthInterpreter> {
        let mut interpreter = Interpreter::<EthInterpreter>::default();
        interpreter.bytecode =
            revm::interpreter::interpreter::ExtBytecode::new(Bytecode::new_raw(vec![opcode].into()));
        for word in words {
            assert!(interpreter.stack.push(U256::from(*word)));
        }
        interpreter
    }

    #[test]
    fn instructions_weigh_what_they_may_take() {
        let full = WEIGHT_BETWEEN_LOOKS;
        // Opcode; stack; what is left of the whole weight.
        let table: [(u8, &[u64], u32); 11] = [
            (op::ADD, &[1, 2], full - 1),
            (op::SLOAD, &[1], full - 128),
            (op::STATICCALL, &[0x1000, 50_000], full - full / 4),
            // A precompiled contract.
            (op::STATICCALL, &[5, 50_000], 0),
            (op::CREATE, &[], 0),
            // A slot of a mapping.
            (op::KECCAK256, &[64, 0], full - 96),
            (op::KECCAK256, &[8_000, 0], full - 4_064),
            (op::KECCAK256, &[8_064, 0], 0),
            (op::KECCAK256, &[u64::MAX, 0], 0),
            (op::LOG3, &[7, 8, 9, 32, 0], full - 80),
            // Without its words it ends by itself.
            (op::KECCAK256, &[0], full - 64),
        ];
        for (opcode, words, left) in table {
            assert_eq!(left_after(&before(opcode, words), full), left, "{opcode:#x} {words:?}");
        }
        assert_eq!(left_after(&before(op::ADD, &[]), 1), 0);
    }
}
