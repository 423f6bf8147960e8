//! The struct logger: one JSON object per instruction, written while the transaction runs.
//!
//! go-ethereum (eth/tracers/logger/logger.go: StructLogger.OnOpcode) calls its tracers once the gas
//! of an instruction is known and before the instruction runs. Here a step is opened before the
//! instruction with the state at that point (`pc`, `op`, `gas`, stack, memory), and closed after it
//! with its cost. A step allocates nothing: texts of stack, memory and storage are kept and copied,
//! the rest is formatted in the writer's buffer.

use crate::step_lines::StepLines;
use crate::struct_log_config::StructLogConfig;
use alloy_primitives::U256;
use hearth_evm::EvmContext;
use hearth_recorder::classify::Failure;
use hearth_recorder::delegate_hooks;
use hearth_recorder::engine::{Engine, Replay, record_limited};
use hearth_recorder::error::TraceError;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::limits::Limits;
use hearth_recorder::recorder_hooks::Before;
use hearth_recorder::refund::authorisation_refund;
use hearth_recorder::tracing::{Observed, TxContext, TxEnd};
use revm::Inspector;
use revm::bytecode::opcode as op;
use revm::context_interface::{ContextTr, JournalTr};
use revm::inspector::JournalExt;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::{InputsTr, Jumps, LoopControl, MemoryTr};
use revm::interpreter::{
    CallInputs, CallOutcome, CreateInputs, CreateOutcome, FrameInput, InstructionResult, Interpreter,
    InterpreterAction,
};
use revm::primitives::hardfork::SpecId;
use std::time::Duration;

/// The struct logger alone, over a block.
pub(crate) struct StructLogs(StructLogger);

impl StructLogs {
    /// A logger with these options.
    pub(crate) fn new(config: StructLogConfig) -> Self {
        Self(StructLogger::new(config))
    }
}

impl Engine for StructLogs {
    fn run<R: Replay>(
        &mut self,
        replay: &mut R,
        _tx: &TxContext,
        limits: &Limits,
        json: &mut JsonWriter<'_>,
    ) -> Result<(), TraceError> {
        let mut writing = StructLogWriter::begin(&mut self.0, json);
        match record_limited(replay, &mut writing, limits) {
            Ok(end) => {
                self.0.finish(&end, json);
                Ok(())
            }
            Err(error) => {
                self.0.lines.cut_short(json);
                Err(error)
            }
        }
    }
}

/// The logger with a writer of its own: one of several tracers over an execution.
pub(crate) struct StepWriter<'s> {
    logger: StructLogger,
    /// Where the steps go.
    pub(crate) json: JsonWriter<'s>,
    waited_before: Duration,
}

impl<'s> StepWriter<'s> {
    /// A logger with these options that writes into `json`.
    pub(crate) fn new(config: StructLogConfig, json: JsonWriter<'s>) -> Self {
        Self { logger: StructLogger::new(config), json, waited_before: Duration::ZERO }
    }

    /// Forgets the last transaction and opens the result of the next.
    pub(crate) fn begin(&mut self) {
        self.waited_before = StructLogWriter::begin(&mut self.logger, &mut self.json).waited_before;
    }

    /// Closes the result.
    pub(crate) fn finish(&mut self, end: &TxEnd<'_>) {
        self.logger.finish(end, &mut self.json);
    }

    /// Closes what is open of the result of a transaction that did not come to its end.
    pub(crate) fn cut_short(&mut self) {
        self.logger.lines.cut_short(&mut self.json);
    }

    #[inline(always)]
    fn writing(&mut self) -> StructLogWriter<'_, 's> {
        let Self { logger, json, waited_before } = self;
        StructLogWriter { logger, json, waited_before: *waited_before }
    }
}

delegate_hooks!(StepWriter<'_>, writing());

impl Observed for StepWriter<'_> {
    fn size_bytes(&self) -> usize {
        self.logger.lines.size_bytes() + self.json.kept().len()
    }

    fn waited(&self) -> Duration {
        self.json.waited().saturating_sub(self.waited_before)
    }

    fn is_closed(&self) -> bool {
        self.json.is_closed()
    }

    fn step_bytes(&self) -> u64 {
        self.logger.lines.step_bytes(&self.json)
    }
}

/// The logger of one transaction at a time. Every call passes the writer.
pub(crate) struct StructLogger {
    pub(crate) lines: StepLines,
    pub(crate) before: Before,
    /// Size of memory before the running instruction, in bytes.
    memory: u64,
    opcode: u8,
    /// The running frame is a creation without init code, in which the reference runs nothing.
    pub(crate) idle: bool,
    /// The last frame that ended by itself gave bytes back.
    returned: bool,
    /// The creation by the transaction could not pay for its code. Before Homestead (EIP-2) that
    /// counted as a failure for this tracer only.
    unpaid: bool,
    /// Refunds before the running frame.
    refund_base: i64,
    /// Refunds of the frames above the running one.
    refunds: Vec<i64>,
    /// Slot of the running SLOAD.
    slot: U256,
    started: bool,
}

impl StructLogger {
    fn new(config: StructLogConfig) -> Self {
        Self::with_lines(StepLines::new(config))
    }

    /// A logger that writes these lines.
    pub(crate) fn with_lines(lines: StepLines) -> Self {
        Self {
            lines,
            before: Before::default(),
            memory: 0,
            opcode: 0,
            idle: false,
            returned: false,
            unpaid: false,
            refund_base: 0,
            refunds: Vec::new(),
            slot: U256::ZERO,
            started: false,
        }
    }

    /// Whether a transaction that ended so failed.
    pub(crate) fn failed(&self, end: &TxEnd<'_>) -> bool {
        !end.success || self.unpaid
    }

    fn finish(&mut self, end: &TxEnd<'_>, json: &mut JsonWriter<'_>) {
        let failed = self.failed(end);
        let shown = !failed || end.reverted;
        self.lines.end(json, end.gas_used, failed, if shown { &end.output } else { &[] });
    }
}

/// The logger of the running transaction, and where it writes.
pub(crate) struct StructLogWriter<'l, 'w> {
    pub(crate) logger: &'l mut StructLogger,
    pub(crate) json: &'l mut JsonWriter<'w>,
    /// What was waited before.
    waited_before: Duration,
}

impl<'l, 'w> StructLogWriter<'l, 'w> {
    /// Forgets the last transaction and opens the result of the next.
    pub(crate) fn begin(logger: &'l mut StructLogger, json: &'l mut JsonWriter<'w>) -> Self {
        let StructLogger {
            lines,
            before,
            memory,
            opcode,
            idle,
            returned,
            unpaid,
            refund_base,
            refunds,
            slot,
            started,
        } = &mut *logger;
        (*before, *memory, *opcode, *refund_base, *slot) = (Before::default(), 0, 0, 0, U256::ZERO);
        (*idle, *returned, *unpaid, *started) = (false, false, false, false);
        refunds.clear();
        lines.begin(json);
        let waited_before = json.waited();
        Self { logger, json, waited_before }
    }

    #[cold]
    #[inline(never)]
    fn failed<CTX: ContextTr<Journal: JournalExt>>(
        &mut self,
        interpreter: &mut Interpreter<EthInterpreter>,
        result: InstructionResult,
        context: &mut CTX,
    ) {
        let contract = interpreter.input.target_address();
        let refunded = interpreter.gas.refunded();
        let Self { logger, json, .. } = self;
        let failure = Failure::of(interpreter, &logger.before, context);
        let fault = failure.classify(result, context);
        let step = failure.with_memory(logger.memory).step(&fault, contract, context);
        logger.lines.count(logger.opcode, step.cost);
        if !logger.lines.is_open() {
            return;
        }
        if logger.opcode == op::SLOAD && logger.lines.with_storage() && logger.before.stack > 0 {
            let value =
                context.journal_mut().sload(contract, logger.slot).map_or(U256::ZERO, |load| load.data);
            logger.lines.storage(json, contract, logger.slot, value);
        }
        // go-ethereum finds other faults after it has reported the step (core/vm/interpreter.go:
        // the deferred function of Run, which calls OnOpcode or, after that, OnFault).
        if fault.is_unpaid() {
            logger.lines.error(json, &fault.to_string());
        }
        logger.lines.close(json, step.cost, logger.refund_base + refunded + step.refund);
    }

    /// The instruction has ended or left the frame: a call, a creation, an end, a failure.
    #[cold]
    #[inline(never)]
    fn frame_stops<CTX: ContextTr<Journal: JournalExt>>(
        &mut self,
        interpreter: &mut Interpreter<EthInterpreter>,
        context: &mut CTX,
    ) {
        let mut cost = self.logger.before.gas.saturating_sub(interpreter.gas.remaining());
        let refund = self.logger.refund_base + interpreter.gas.refunded();
        match interpreter.bytecode.action() {
            Some(InterpreterAction::NewFrame(input)) => {
                if let FrameInput::Create(inputs) = input {
                    // What the creation may use is no cost of the instruction.
                    cost = cost.saturating_sub(inputs.gas_limit());
                }
                self.logger.refunds.push(self.logger.refund_base);
                self.end_step(cost, refund);
                self.logger.refund_base = refund;
            }
            Some(InterpreterAction::Return(result)) => {
                self.logger.returned = !result.output.is_empty();
                let result = result.result;
                if result.is_ok_or_revert() || result == InstructionResult::SelfDestruct {
                    self.end_step(cost, refund);
                } else {
                    self.failed(interpreter, result, context);
                }
            }
            None => self.end_step(cost, refund),
        }
    }

    #[inline(always)]
    fn end_step(&mut self, cost: u64, refund: i64) {
        if self.logger.idle {
            return;
        }
        self.logger.lines.count(self.logger.opcode, cost);
        if self.logger.lines.is_open() {
            self.logger.lines.close(self.json, cost, refund);
        }
    }

    /// A frame below the running one has ended.
    fn frame_ends(&mut self) {
        if let Some(base) = self.logger.refunds.pop() {
            self.logger.refund_base = base;
        }
        self.logger.lines.enter(self.logger.refunds.len() + 1);
    }

    /// A frame begins.
    fn frame_begins(&mut self, context: &mut EvmContext<'_>) {
        if !std::mem::replace(&mut self.logger.started, true) {
            self.logger.refund_base = authorisation_refund(context);
        }
        self.logger.lines.enter(self.logger.refunds.len() + 1);
    }
}

impl Observed for StructLogWriter<'_, '_> {
    fn size_bytes(&self) -> usize {
        self.logger.lines.size_bytes()
    }

    fn waited(&self) -> Duration {
        self.json.waited().saturating_sub(self.waited_before)
    }

    fn is_closed(&self) -> bool {
        self.json.is_closed()
    }

    fn step_bytes(&self) -> u64 {
        self.logger.lines.step_bytes(self.json)
    }
}

impl<'a> Inspector<EvmContext<'a>> for StructLogWriter<'_, '_> {
    #[inline(always)]
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        let opcode = interpreter.bytecode.opcode();
        let gas = interpreter.gas.remaining();
        let Self { logger, json, .. } = self;
        logger.before = Before::of(interpreter, context);
        logger.memory = interpreter.memory.size() as u64;
        logger.opcode = opcode;
        if logger.lines.is_full() || logger.idle {
            return;
        }
        logger.lines.open(json, interpreter, interpreter.bytecode.pc(), opcode, gas);
        if matches!(opcode, op::SLOAD | op::SSTORE) && logger.lines.with_storage() {
            if let [.., value, slot] = interpreter.stack.data()[..]
                && opcode == op::SSTORE
            {
                logger.lines.storage(json, interpreter.input.target_address(), slot, value);
            }
            logger.slot = interpreter.stack.data().last().copied().unwrap_or_default();
        }
    }

    #[inline(always)]
    fn step_end(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        if interpreter.bytecode.is_end() {
            return self.frame_stops(interpreter, context);
        }
        let Self { logger, json, .. } = self;
        if logger.opcode == op::SLOAD && logger.lines.is_open() && logger.lines.with_storage() {
            let value = interpreter.stack.data().last().copied().unwrap_or_default();
            logger.lines.storage(json, interpreter.input.target_address(), logger.slot, value);
        }
        let cost = logger.before.gas.saturating_sub(interpreter.gas.remaining());
        let refund = logger.refund_base + interpreter.gas.refunded();
        self.end_step(cost, refund);
    }

    fn call(&mut self, context: &mut EvmContext<'a>, _: &mut CallInputs) -> Option<CallOutcome> {
        self.frame_begins(context);
        None
    }

    fn call_end(&mut self, _: &mut EvmContext<'a>, _: &CallInputs, _: &mut CallOutcome) {
        self.frame_ends();
    }

    fn create(&mut self, context: &mut EvmContext<'a>, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.frame_begins(context);
        self.logger.idle = inputs.init_code().is_empty();
        None
    }

    fn create_end(&mut self, context: &mut EvmContext<'a>, _: &CreateInputs, outcome: &mut CreateOutcome) {
        self.logger.idle = false;
        let frontier = !context.cfg().spec().is_enabled_in(SpecId::HOMESTEAD);
        if frontier && self.logger.refunds.is_empty() {
            let result = &outcome.result;
            self.logger.unpaid = self.logger.returned && result.result.is_ok() && result.output.is_empty();
        }
        self.frame_ends();
    }
}
