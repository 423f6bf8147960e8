//! What is recorded of steps, in the form that can record everything.

use crate::chunk::event;
use crate::fields::Fields;
use crate::memory::{PIECE_BYTES, written_by};
use crate::stack;
use crate::tracer::ScriptTracer;
use alloy_primitives::{Address, U256};
use hearth_evm::EvmContext;
use hearth_recorder::classify::Failure;
use hearth_recorder::recorder_hooks::Before;
use revm::Inspector;
use revm::context_interface::ContextTr;
use revm::inspector::JournalExt as _;
use revm::interpreter::interpreter_types::{InputsTr, Jumps, LoopControl, MemoryTr};
use revm::interpreter::{
    CallInputs, CallOutcome, CreateInputs, CreateOutcome, FrameInput, InstructionResult, Interpreter,
    InterpreterAction,
};

/// Words that one step may add to the stack.
const MOST_PUSHED: usize = 255;

impl ScriptTracer {
    /// Keeps the data from which the reason of a failure is found.
    #[inline(always)]
    pub(crate) fn note_before(&mut self, interpreter: &Interpreter, context: &EvmContext<'_>) {
        self.frames.before = Before::of(interpreter, context);
    }

    /// The memory that the last instruction of this frame has written.
    fn record_memory(&mut self, interpreter: &Interpreter, context: &mut EvmContext<'_>) {
        let Some(inner) = self.inner.last_mut() else { return };
        let Some((offset, length)) = inner.write.take() else { return };
        let end = offset.saturating_add(length).min(interpreter.memory.size());
        let mut at = offset;
        while at < end && self.is_running() {
            let piece = (end - at).min(PIECE_BYTES);
            let bytes = interpreter.memory.slice_len(at, piece);
            self.chunk.event(event::MEMORY, &[&(at as u32).to_le_bytes(), &bytes]);
            drop(bytes);
            at += piece;
            if self.chunk.is_large() {
                self.flush(context.db_mut());
            }
        }
    }

    /// Adds the step's part of the stack.
    #[inline(always)]
    fn add_stack(&mut self, stack: &[U256], opcode: u8) {
        let Some(inner) = self.inner.last_mut() else { return };
        let known = match inner.shown {
            true => inner.height.saturating_sub(usize::from(stack::changed()[usize::from(inner.opcode)])),
            false => 0,
        };
        let keep = known.min(stack.len()).max(stack.len().saturating_sub(MOST_PUSHED));
        for word in &stack[keep..] {
            self.chunk.word(word);
        }
        let step = self.chunk.steps;
        self.chunk.keep[step] = keep as u16;
        self.chunk.pushed[step] = (stack.len() - keep) as u8;
        (inner.shown, inner.height, inner.opcode) = (true, stack.len(), opcode);
    }

    #[inline(always)]
    fn add_step(&mut self, interpreter: &Interpreter) {
        let (fields, step, opcode) = (self.fields, self.chunk.steps, self.opcode);
        if fields.has(Fields::OP) {
            self.chunk.op[step] = opcode;
        }
        if fields.has(Fields::PC) {
            self.chunk.pc[step] = interpreter.bytecode.pc() as u32;
        }
        if fields.has(Fields::GAS) {
            self.chunk.gas[step] = self.frames.before.gas as f64;
        }
        if fields.has(Fields::DEPTH) {
            self.chunk.depth[step] = self.inner.len() as u16;
        }
        if fields.has(Fields::STACK) {
            self.add_stack(interpreter.stack.data(), opcode);
        }
        if fields.has(Fields::MEMLEN | Fields::MEMORY) {
            self.chunk.memory[step] = interpreter.memory.size() as u32;
        }
        if fields.has(Fields::MEMORY)
            && let Some(inner) = self.inner.last_mut()
        {
            inner.write = written_by(opcode, interpreter.stack.data());
        }
        self.chunk.steps = step + 1;
    }

    /// The step's cost, and the refund counter with what computing that has added to it.
    #[inline(always)]
    fn end_step(&mut self, cost: u64, refund: i64) {
        let Some(step) = self.chunk.steps.checked_sub(1) else { return };
        if self.fields.has(Fields::COST) {
            self.chunk.cost[step] = cost as f64;
        }
        if self.fields.has(Fields::REFUND) {
            self.chunk.refund[step] = refund as f64;
        }
    }

    /// The instruction has ended or left the frame: a call, a creation, an end, a failure.
    #[cold]
    #[inline(never)]
    pub(crate) fn frame_stops(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'_>) {
        let mut cost = self.frames.before.gas.saturating_sub(interpreter.gas.remaining());
        let refund = self.refund_base + interpreter.gas.refunded();
        match interpreter.bytecode.action() {
            Some(InterpreterAction::NewFrame(input)) => {
                if let FrameInput::Create(inputs) = input {
                    // What the creation may use is no cost of the instruction.
                    cost = cost.saturating_sub(inputs.gas_limit());
                }
                self.refunds.push(self.refund_base);
                self.end_step(cost, refund);
                self.refund_base = refund;
            }
            Some(InterpreterAction::Return(result)) => {
                self.returned = !result.output.is_empty();
                let result = result.result;
                if !self.idle {
                    self.instruction_ended(interpreter, context, result, cost, refund);
                }
            }
            None => self.end_step(cost, refund),
        }
        Inspector::<EvmContext<'_>>::step_end(&mut self.frames, interpreter, context);
    }

    fn instruction_ended(
        &mut self,
        interpreter: &mut Interpreter,
        context: &mut EvmContext<'_>,
        result: InstructionResult,
        cost: u64,
        refund: i64,
    ) {
        if result == InstructionResult::Revert {
            self.end_step(cost, refund);
            self.fault(&hearth_recorder::fault::Fault::Reverted.to_string());
        } else if result.is_ok() {
            self.end_step(cost, refund);
        } else if self.is_running() {
            let contract = interpreter.input.target_address();
            let refunded = interpreter.gas.refunded();
            let failure = Failure::of(interpreter, &self.frames.before, context);
            let fault = failure.classify(result, context);
            let step = failure.with_memory(self.memory).step(&fault, contract, context);
            self.end_step(step.cost, self.refund_base + refunded + step.refund);
            if !fault.is_unpaid() {
                self.fault(&fault.to_string());
            } else if let Some(at) = self.chunk.steps.checked_sub(1).filter(|_| self.fields.has(Fields::STEP))
            {
                // go-ethereum reports the step with its error, and no fault
                // (eth/tracers/js/goja.go: OnOpcode).
                self.chunk.event_at(at, event::STEP_ERROR, &[fault.to_string().as_bytes()]);
            }
        }
    }

    fn fault(&mut self, text: &str) {
        if self.is_running() {
            self.chunk.event(event::FAULT, &[text.as_bytes()]);
        }
    }
}

impl<'a> Inspector<EvmContext<'a>> for ScriptTracer {
    #[inline(always)]
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        self.note_before(interpreter, context);
        self.opcode = interpreter.bytecode.opcode();
        if self.idle || !self.fields.has(Fields::STEP) {
            return;
        }
        if self.fields.has(Fields::COST) {
            self.memory = interpreter.memory.size() as u64;
        }
        if self.chunk.steps >= self.chunk.most || self.chunk.is_large() {
            self.flush(context.db_mut());
        }
        if self.fields.has(Fields::JOURNAL) && self.cursor.is_behind(context.journal_ref().journal()) {
            self.record_changes(context);
        }
        if self.fields.has(Fields::MEMORY) {
            self.record_memory(interpreter, context);
        }
        if self.chunk.most > 0 {
            self.add_step(interpreter);
        }
    }

    #[inline(always)]
    fn step_end(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        if interpreter.bytecode.is_end() {
            return self.frame_stops(interpreter, context);
        }
        if self.fields.has(Fields::COST | Fields::REFUND) && !self.idle {
            let cost = self.frames.before.gas.saturating_sub(interpreter.gas.remaining());
            self.end_step(cost, self.refund_base + interpreter.gas.refunded());
        }
    }

    fn call(&mut self, context: &mut EvmContext<'a>, inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.call_begins(context, inputs);
        None
    }

    fn call_end(&mut self, context: &mut EvmContext<'a>, inputs: &CallInputs, outcome: &mut CallOutcome) {
        self.call_ends(context, inputs, outcome);
    }

    fn create(&mut self, context: &mut EvmContext<'a>, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.create_begins(context, inputs);
        None
    }

    fn create_end(
        &mut self,
        context: &mut EvmContext<'a>,
        inputs: &CreateInputs,
        outcome: &mut CreateOutcome,
    ) {
        self.create_ends(context, inputs, outcome);
    }

    fn selfdestruct(&mut self, contract: Address, target: Address, value: U256) {
        self.self_destructed(contract, target, value);
    }
}
