//! Walks through the steps of an execution, halting where its visitor has enough.

use super::frames::OpenFrames;
use crate::page_lines::PageLines;
use crate::step_lines::StepLines;
use crate::struct_log_config::StructLogConfig;
use crate::struct_logger::{StructLogWriter, StructLogger};
use alloy_primitives::{Address, U256};
use hearth_evm::EvmContext;
use hearth_recorder::engine::Replay;
use hearth_recorder::error::TraceError;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::limits::Limits;
use hearth_recorder::recorder_hooks::gas_used;
use hearth_recorder::tracing::Observed;
use hearth_recorder::watch::{LimitedInspector, halt};
use revm::Inspector;
use revm::bytecode::opcode as op;
use revm::interpreter::interpreter_types::{InputsTr, Jumps, LoopControl};
use revm::interpreter::{
    CallInputs, CallOutcome, CreateInputs, CreateOutcome, FrameInput, InstructionResult, Interpreter,
    InterpreterAction,
};
use std::time::Duration;

/// Struct logs of which nothing is written but what a page shows.
pub(super) const NOTHING: StructLogConfig = StructLogConfig {
    memory: false,
    stack: false,
    storage: false,
    return_data: false,
    limit: 0,
    summary: false,
};

/// Where a step stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct At {
    /// Number of steps before it.
    pub(super) index: u64,
    /// Number of its frame.
    pub(super) frame: u32,
    /// Depth of its frame; the transaction's own has 1.
    pub(super) depth: usize,
    /// Place in its code.
    pub(super) pc: usize,
    pub(super) opcode: u8,
    /// Gas left before it.
    pub(super) gas: u64,
}

/// How a step ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepEnd {
    /// What it cost, as struct logs give it: a call with what it hands on.
    pub(super) cost: u64,
    /// What the frame lost by it alone: a call without what its frame got, a failing instruction
    /// with all gas that was left.
    pub(super) own: u64,
    /// It is REVERT, or it failed.
    pub(super) error: bool,
}

/// What is done at each step of an execution.
pub(super) trait Visitor {
    /// Before a step. `false` halts the execution, which then counts as done.
    fn before(&mut self, at: &At, interpreter: &Interpreter, page: &mut PageLines) -> bool;

    /// After a step. `written` is the number of bytes of the answer so far.
    fn after(&mut self, at: &At, end: StepEnd, written: u64);

    /// A frame begins, maybe without any step.
    fn enter(&mut self, _number: u32, _parent: Option<u32>, _depth: usize) {}

    /// The code of the frame that began last begins. `creates` says that it is that of a creation.
    fn enter_code(&mut self, _interpreter: &mut Interpreter, _creates: bool) {}

    /// A frame ends, that cost its parent this gas.
    fn leave(&mut self, _number: u32, _gas_used: u64) {}

    /// Memory that what is kept takes, in bytes.
    fn size_bytes(&self) -> usize {
        0
    }
}

/// How an execution ended that was not halted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// Gas used, after refunds.
    pub(super) gas_used: u64,
    /// Whether the transaction failed, as struct logs say it.
    pub(super) failed: bool,
}

/// Executes the transaction that was sought under a visitor; `None` where that halted it.
pub(super) fn walk<R: Replay, V: Visitor>(
    replay: &mut R,
    (config, page): (StructLogConfig, PageLines),
    visitor: &mut V,
    limits: &Limits,
    json: &mut JsonWriter<'_>,
) -> Result<Option<Ended>, TraceError> {
    let mut logger = StructLogger::with_lines(StepLines::of_page(config, page));
    let writing = StructLogWriter::begin(&mut logger, json);
    let mut walk = Walk {
        writing,
        visitor,
        frames: OpenFrames::default(),
        at: At::default(),
        index: 0,
        creates: false,
        destroyed: false,
        halted: false,
    };
    let mut limited = LimitedInspector::new(&mut walk, limits.clone());
    let outcome = replay.record(&mut limited);
    // As `record_limited`, but the error of an execution that the visitor halted is none.
    let ended = match (limited.aborted(), outcome) {
        (Some(reason), _) => Err(reason),
        (None, Err(_)) if walk.halted => Ok(None),
        (None, outcome) => {
            outcome.map(|end| Some(Ended { gas_used: end.gas_used, failed: logger.failed(&end) }))
        }
    };
    if ended.is_err() {
        logger.lines.close_cut(json);
    }
    ended
}

/// The struct logger with the numbers of steps and frames.
struct Walk<'l, 'w, V> {
    writing: StructLogWriter<'l, 'w>,
    visitor: &'l mut V,
    frames: OpenFrames,
    at: At,
    /// Steps so far.
    index: u64,
    /// The frame that began last is a creation.
    creates: bool,
    /// The frame has ended with SELFDESTRUCT, and no journal entry has been seen of it.
    destroyed: bool,
    /// The visitor has enough.
    halted: bool,
}

impl<V: Visitor> Walk<'_, '_, V> {
    fn enter(&mut self, creates: bool) {
        (self.creates, self.destroyed) = (creates, false);
        let (number, parent) = self.frames.enter();
        self.visitor.enter(number, parent, self.frames.depth());
    }

    fn leave(&mut self, gas_used: u64) {
        if self.halted {
            return;
        }
        // A self-destruct that moved nothing has no journal entry, but callTracer lists it.
        if std::mem::take(&mut self.destroyed) {
            self.selfdestructed();
        }
        if let Some(number) = self.frames.leave() {
            self.visitor.leave(number, gas_used);
        }
    }

    /// callTracer lists a self-destruct as a frame of its own.
    fn selfdestructed(&mut self) {
        let (number, parent) = self.frames.enter();
        self.visitor.enter(number, parent, self.frames.depth());
        self.frames.leave();
        self.visitor.leave(number, 0);
    }

    /// What the frame lost by the instruction that ran, and whether that ended it badly.
    #[inline(always)]
    fn own_gas(&mut self, interpreter: &mut Interpreter) -> (u64, bool) {
        let cost = self.at.gas.saturating_sub(interpreter.gas.remaining());
        if !interpreter.bytecode.is_end() {
            return (cost, false);
        }
        match interpreter.bytecode.action() {
            // The callee returns what it does not use, a stipend included.
            Some(InterpreterAction::NewFrame(FrameInput::Call(inputs))) => {
                (cost.saturating_sub(inputs.gas_limit), false)
            }
            Some(InterpreterAction::NewFrame(FrameInput::Create(inputs))) => {
                (cost.saturating_sub(inputs.gas_limit()), false)
            }
            Some(InterpreterAction::Return(result)) => {
                let result = result.result;
                self.destroyed = result == InstructionResult::SelfDestruct;
                if result.is_ok_or_revert() || self.destroyed {
                    (cost, self.at.opcode == op::REVERT)
                } else {
                    (self.at.gas, true)
                }
            }
            _ => (cost, false),
        }
    }
}

impl<V: Visitor> Observed for Walk<'_, '_, V> {
    fn size_bytes(&self) -> usize {
        self.writing.size_bytes() + self.visitor.size_bytes()
    }

    fn waited(&self) -> Duration {
        self.writing.waited()
    }

    fn is_closed(&self) -> bool {
        self.writing.is_closed()
    }

    fn step_bytes(&self) -> u64 {
        self.writing.step_bytes()
    }
}

impl<'a, V: Visitor> Inspector<EvmContext<'a>> for Walk<'_, '_, V> {
    fn initialize_interp(&mut self, interpreter: &mut Interpreter, _: &mut EvmContext<'a>) {
        self.visitor.enter_code(interpreter, self.creates);
    }

    #[inline(always)]
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        if self.halted {
            return halt(interpreter, context);
        }
        if self.writing.logger.idle {
            return self.writing.step(interpreter, context);
        }
        self.at = At {
            index: self.index,
            frame: self.frames.innermost(),
            depth: self.frames.depth(),
            pc: interpreter.bytecode.pc(),
            opcode: interpreter.bytecode.opcode(),
            gas: interpreter.gas.remaining(),
        };
        let Some(page) = self.writing.logger.lines.page() else { return };
        if !self.visitor.before(&self.at, interpreter, page) {
            self.halted = true;
            return halt(interpreter, context);
        }
        self.writing.step(interpreter, context);
    }

    #[inline(always)]
    fn step_end(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        if self.halted {
            return;
        }
        if self.writing.logger.idle {
            return self.writing.step_end(interpreter, context);
        }
        let (own, error) = self.own_gas(interpreter);
        self.writing.step_end(interpreter, context);
        let cost = self.writing.logger.lines.page().map_or(0, |page| page.cost());
        self.visitor.after(&self.at, StepEnd { cost, own, error }, self.writing.json.written());
        self.index += 1;
    }

    fn call(&mut self, context: &mut EvmContext<'a>, inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.enter(false);
        self.writing.call(context, inputs)
    }

    fn call_end(&mut self, context: &mut EvmContext<'a>, inputs: &CallInputs, outcome: &mut CallOutcome) {
        self.leave(gas_used(outcome.result.result, &outcome.result.gas, inputs.gas_limit));
        self.writing.call_end(context, inputs, outcome);
    }

    fn create(&mut self, context: &mut EvmContext<'a>, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.enter(true);
        self.writing.create(context, inputs)
    }

    fn create_end(
        &mut self,
        context: &mut EvmContext<'a>,
        inputs: &CreateInputs,
        outcome: &mut CreateOutcome,
    ) {
        let result = &outcome.result;
        // The nonce of the creator was at its end: nothing began.
        let began = !result.result.is_ok() || outcome.address.is_some();
        self.leave(if began { gas_used(result.result, &result.gas, inputs.gas_limit()) } else { 0 });
        self.writing.create_end(context, inputs, outcome);
    }

    fn selfdestruct(&mut self, _contract: Address, _target: Address, _value: U256) {
        self.destroyed = false;
        self.selfdestructed();
    }
}

/// The accounts of a step: whose storage it works on, and whose code it runs.
pub(super) fn accounts(interpreter: &Interpreter) -> (Address, Option<Address>) {
    (interpreter.input.target_address(), interpreter.input.bytecode_address().copied())
}
