//! The struct logger: one JSON object an instruction, written while the transaction runs.
//!
//! go-ethereum tells its tracers of an instruction once its gas is known and before it runs. Here a step is opened
//! before the instruction with what was there (`pc`, `op`, `gas`, stack, memory), and closed after it with what it
//! cost. Nothing is allocated for a step: texts of stack and storage are kept and copied, the rest is made in the
//! writer's buffer.

use crate::classify::Failure;
use crate::drive::{Engine, Replay};
use crate::error::TraceError;
use crate::fault::Fault;
use crate::json::JsonWriter;
use crate::limits::Limits;
use crate::opcode::{Name, touched};
use crate::recorder_hooks::Before;
use crate::step_text::{Piece, StackText, StorageText, Tail, WORD_BYTES, WORD_DIGITS};
use crate::tracing::{Observed, TxContext, TxEnd};
use crate::watch::Watched;
use alloy_primitives::{Address, U256};
use hearth_evm::EvmContext;
use revm::Inspector;
use revm::bytecode::opcode as op;
use revm::context::{JournalEntry, Transaction as _};
use revm::context_interface::{ContextTr, JournalTr};
use revm::database_interface::Database as _;
use revm::inspector::JournalExt;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::{InputsTr, Jumps, LoopControl, MemoryTr, ReturnData};
use revm::interpreter::{
    CallInputs, CallOutcome, CreateInputs, CreateOutcome, FrameInput, InstructionResult, Interpreter,
    InterpreterAction,
};
use revm::primitives::{HashMap, hardfork::SpecId};
use std::sync::LazyLock;
use std::time::Duration;

/// Room for a step's fixed parts: keys, numbers and the name of the instruction, in bytes.
const STEP_BYTES: usize = 256;

/// Text of a word of memory, comma included, in bytes.
const WORD_TEXT_BYTES: usize = WORD_DIGITS + 5;

/// Words of memory that are written without another look at the room in the buffer.
const WORDS_AT_A_TIME: usize = 512;

/// Gas that goes back for an authorisation whose account exists (EIP-7702).
const AUTHORISATION_REFUND: i64 = 12_500;

/// Options of the struct logger and of opcodeTracer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructLogConfig {
    /// With memory.
    pub memory: bool,
    /// With the stack.
    pub stack: bool,
    /// With the storage that the contract has read and written so far, at SLOAD and SSTORE.
    pub storage: bool,
    /// With the data that the last call returned.
    pub return_data: bool,
    /// Bytes of steps after which no more are written; 0 for no limit.
    pub limit: i64,
    /// With a summary by opcode (opcodeTracer).
    pub summary: bool,
}

type OpText = Piece<64>;

/// `,"op":"…","gas":` of every opcode.
static OP_TEXTS: LazyLock<Box<[OpText]>> = LazyLock::new(|| {
    let text = |opcode: u8| format!(",\"op\":\"{}\",\"gas\":", Name(opcode));
    (0..=u8::MAX).map(|opcode| Piece::new(text(opcode).as_bytes())).collect()
});

/// What is used again from transaction to transaction.
#[derive(Debug, Default)]
struct Scratch {
    stack: StackText,
    storage: HashMap<Address, StorageText>,
    /// Refunds of the frames above the running one.
    refunds: Vec<i64>,
}

/// The struct logger over a block.
pub(crate) struct StructLogs {
    config: StructLogConfig,
    scratch: Scratch,
}

impl StructLogs {
    /// A logger with these options.
    pub(crate) fn new(config: StructLogConfig) -> Self {
        Self { config, scratch: Scratch::default() }
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
        let mut logger = StructLogger::new(self.config, &mut self.scratch, json);
        let mut watched = Watched::new(&mut logger, limits.clone());
        let outcome = replay.record(&mut watched);
        let aborted = watched.aborted();
        match (aborted, outcome) {
            (None, Ok(end)) => {
                logger.finish(&end);
                Ok(())
            }
            (aborted, outcome) => {
                logger.cut_short();
                Err(aborted.or(outcome.err()).unwrap_or(TraceError::Cancelled))
            }
        }
    }
}

/// Counts of one opcode.
#[derive(Clone, Copy, Default)]
struct Total {
    count: u64,
    gas: u64,
}

/// The logger of one transaction.
struct StructLogger<'l, 'w> {
    config: StructLogConfig,
    scratch: &'l mut Scratch,
    json: &'l mut JsonWriter<'w>,
    op_texts: &'static [OpText],
    before: Before,
    opcode: u8,
    /// A step is written up to its cost.
    open: bool,
    /// The limit is reached.
    full: bool,
    /// The running frame is a creation without init code, in which the reference runs nothing.
    idle: bool,
    /// The last frame that ended by itself gave bytes back.
    returned: bool,
    /// The transaction's creation could not pay for its code, which was no failure before Homestead (EIP-2) but for
    /// this tracer.
    unpaid: bool,
    first: bool,
    /// `,"depth":…` of the running frame.
    depth_text: Piece<32>,
    /// Refunds before the running frame.
    refund_base: i64,
    /// Slot of the running SLOAD.
    slot: U256,
    started: bool,
    /// Where the open step began, counted in bytes written.
    step_at: u64,
    /// Bytes of steps so far.
    size: u64,
    /// What was waited before.
    waited_before: Duration,
    totals: Option<Box<[Total; 256]>>,
}

impl<'l, 'w> StructLogger<'l, 'w> {
    fn new(config: StructLogConfig, scratch: &'l mut Scratch, json: &'l mut JsonWriter<'w>) -> Self {
        scratch.stack.forget();
        scratch.storage.clear();
        scratch.refunds.clear();
        json.raw(b"{\"structLogs\":[");
        let waited_before = json.waited();
        let mut logger = Self {
            config,
            scratch,
            json,
            op_texts: &OP_TEXTS,
            before: Before::default(),
            opcode: 0,
            open: false,
            full: config.limit < 0,
            idle: false,
            returned: false,
            unpaid: false,
            first: true,
            depth_text: Piece::new(b""),
            refund_base: 0,
            slot: U256::ZERO,
            started: false,
            step_at: 0,
            size: 0,
            waited_before,
            totals: config.summary.then(|| Box::new([Total::default(); 256])),
        };
        logger.set_depth();
        logger
    }

    fn set_depth(&mut self) {
        let stack: &[u8] = if self.config.stack { b",\"stack\":[" } else { b"" };
        let text = [format!(",\"depth\":{}", self.scratch.refunds.len() + 1).as_bytes(), stack].concat();
        self.depth_text = Piece::new(&text);
    }

    fn finish(&mut self, end: &TxEnd<'_>) {
        self.json.raw(b"],\"gas\":");
        Tail(self.json.tail(STEP_BYTES)).decimal(end.gas_used);
        let failed = !end.success || self.unpaid;
        self.json.raw(if failed { b",\"failed\":true" } else { b",\"failed\":false" });
        self.json.raw(b",\"returnValue\":");
        let shown = !failed || end.reverted;
        self.json.hex_bytes(if shown { &end.output } else { &[] });
        self.summary();
        self.json.raw(b"}");
    }

    fn summary(&mut self) {
        let Some(totals) = self.totals.take() else { return };
        self.json.raw(b",\"summary\":{");
        let mut first = true;
        for (opcode, total) in (0..=u8::MAX).zip(totals.iter()).filter(|(_, total)| total.count > 0) {
            let comma = if first { "" } else { "," };
            first = false;
            let Total { count, gas } = total;
            let name = Name(opcode);
            let text = format!("{comma}\"{name}\":{{\"count\":{count},\"totalGas\":{gas}}}");
            self.json.raw(text.as_bytes());
        }
        self.json.raw(b"}");
    }

    /// Closes what is open where the transaction did not come to its end.
    fn cut_short(&mut self) {
        if std::mem::take(&mut self.open) {
            self.json.raw(b"}");
        }
        self.json.raw(b"]}");
    }

    #[inline(always)]
    fn open_step(&mut self, interpreter: &Interpreter<EthInterpreter>, pc: usize, opcode: u8, gas: u64) {
        let stack: &[U256] = interpreter.stack.data();
        let stack_text = if self.config.stack { self.scratch.stack.of(stack) } else { &[] };
        let room = STEP_BYTES + stack_text.len();
        if self.config.limit != 0 {
            self.json.tail(room);
            self.step_at = self.json.written();
        }
        let mut tail = Tail(self.json.tail(room));
        if self.first {
            self.first = false;
            tail.text(b"{\"pc\":");
        } else {
            tail.text(b",{\"pc\":");
        }
        tail.decimal(pc as u64);
        tail.piece(&self.op_texts[usize::from(opcode)]);
        tail.decimal(gas);
        tail.piece(&self.depth_text);
        if self.config.stack {
            tail.bytes(stack_text);
            tail.text(b"]");
        }
        self.open = true;
        if self.config.memory {
            self.memory(interpreter);
        }
        if self.config.return_data {
            let data = interpreter.return_data.buffer();
            if !data.is_empty() {
                self.json.raw(b",\"returnData\":");
                self.json.hex_bytes(data);
            }
        }
    }

    fn memory(&mut self, interpreter: &Interpreter<EthInterpreter>) {
        let size = interpreter.memory.size();
        if size == 0 {
            return;
        }
        let memory = interpreter.memory.slice(0..size);
        let (words, _) = memory.as_chunks::<WORD_BYTES>();
        self.json.raw(b",\"memory\":[");
        let mut first = true;
        for group in words.chunks(WORDS_AT_A_TIME) {
            let mut tail = Tail(self.json.tail(group.len() * WORD_TEXT_BYTES + STEP_BYTES));
            for word in group {
                if !first {
                    tail.text(b",");
                }
                first = false;
                tail.word(word);
            }
        }
        self.json.raw(b"]");
    }

    #[inline(always)]
    fn close_step(&mut self, cost: u64, refund: i64) {
        let mut tail = Tail(self.json.tail(STEP_BYTES));
        if refund > 0 {
            tail.text(b",\"refund\":");
            tail.decimal(refund as u64);
        }
        tail.text(b",\"gasCost\":");
        tail.decimal(cost);
        tail.text(b"}");
        self.open = false;
        if self.config.limit != 0 {
            // The comma before a step is none of its bytes.
            let comma = u64::from(self.size > 0);
            self.size += self.json.written() - self.step_at - comma;
            self.full = self.size as i64 > self.config.limit;
        }
    }

    fn storage(&mut self, contract: Address, slot: U256, value: U256) {
        let text = self.scratch.storage.entry(contract).or_default();
        text.set(slot, value);
        self.json.raw(b",\"storage\":{");
        self.json.raw(text.entries());
        self.json.raw(b"}");
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
        let failure = Failure::of(interpreter, &self.before);
        let fault = failure.classify(result, context);
        let step = failure.step(&fault, contract, context);
        self.count(step.cost);
        if !self.open {
            return;
        }
        if self.opcode == op::SLOAD && self.config.storage && self.before.stack > 0 {
            let value = context.journal_mut().sload(contract, self.slot).map_or(U256::ZERO, |load| load.data);
            self.storage(contract, self.slot, value);
        }
        if is_told(&fault) {
            self.json.raw(b",\"error\":");
            self.json.string(&fault.to_string());
        }
        self.close_step(step.cost, self.refund_base + refunded + step.refund);
    }

    #[inline(always)]
    fn count(&mut self, cost: u64) {
        if let Some(totals) = &mut self.totals {
            let total = &mut totals[usize::from(self.opcode)];
            total.count += 1;
            total.gas = total.gas.saturating_add(cost);
        }
    }

    /// The instruction has ended or left the frame: a call, a creation, an end, a failure.
    #[cold]
    #[inline(never)]
    fn frame_stops<CTX: ContextTr<Journal: JournalExt>>(
        &mut self,
        interpreter: &mut Interpreter<EthInterpreter>,
        context: &mut CTX,
    ) {
        let mut cost = self.before.gas.saturating_sub(interpreter.gas.remaining());
        match interpreter.bytecode.action() {
            Some(InterpreterAction::NewFrame(input)) => {
                if let FrameInput::Create(inputs) = input {
                    // What the creation may use is no cost of the instruction.
                    cost = cost.saturating_sub(inputs.gas_limit());
                }
                self.scratch.refunds.push(self.refund_base);
                let refund = self.refund_base + interpreter.gas.refunded();
                self.end_step(cost, refund);
                self.refund_base = refund;
            }
            Some(InterpreterAction::Return(result)) => {
                self.returned = !result.output.is_empty();
                let result = result.result;
                if result.is_ok_or_revert() || result == InstructionResult::SelfDestruct {
                    self.end_step(cost, self.refund_base + interpreter.gas.refunded());
                } else {
                    self.failed(interpreter, result, context);
                }
            }
            None => self.end_step(cost, self.refund_base + interpreter.gas.refunded()),
        }
    }

    #[inline(always)]
    fn end_step(&mut self, cost: u64, refund: i64) {
        if self.idle {
            return;
        }
        self.count(cost);
        if self.open {
            self.close_step(cost, refund);
        }
    }

    /// A frame below the running one has ended.
    fn frame_ends(&mut self) {
        self.scratch.stack.forget();
        if let Some(base) = self.scratch.refunds.pop() {
            self.refund_base = base;
        }
        self.set_depth();
    }

    /// A frame begins.
    fn frame_begins(&mut self, context: &mut EvmContext<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            self.refund_base = authorisation_refund(context);
        }
        self.scratch.stack.forget();
        self.set_depth();
    }
}

/// Whether a step says why it failed: the reference learns of other faults after the step was told.
fn is_told(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::OutOfGas
            | Fault::GasRefused(_)
            | Fault::GasUintOverflow
            | Fault::StackUnderflow { .. }
            | Fault::StackOverflow { .. }
    )
}

/// What the transaction's authorisations add to the refund counter before anything runs (EIP-7702): each one that was
/// applied to an account that existed.
fn authorisation_refund(context: &mut EvmContext<'_>) -> i64 {
    if context.tx().authorization_list_len() == 0 {
        return 0;
    }
    let applied: Vec<Address> = (context.journal_ref().journal().iter())
        .filter_map(|entry| match entry {
            JournalEntry::CodeChange { address, .. } => Some(*address),
            _ => None,
        })
        .collect();
    let caller = context.tx().caller();
    let mut count = 0;
    for (index, address) in applied.iter().enumerate() {
        let exists = *address == caller
            || applied[..index].contains(address)
            || context.db_mut().basic(*address).is_ok_and(|account| account.is_some());
        count += i64::from(exists);
    }
    count * AUTHORISATION_REFUND
}

impl Observed for StructLogger<'_, '_> {
    fn size_bytes(&self) -> usize {
        self.scratch.storage.values().map(StorageText::size_bytes).sum()
    }

    fn waited(&self) -> Duration {
        self.json.waited().saturating_sub(self.waited_before)
    }

    fn is_closed(&self) -> bool {
        self.json.is_closed()
    }
}

impl<'a> Inspector<EvmContext<'a>> for StructLogger<'_, '_> {
    #[inline(always)]
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        let opcode = interpreter.bytecode.opcode();
        let gas = interpreter.gas.remaining();
        let height = interpreter.stack.len();
        self.before = Before { stack: height, gas, journal: context.journal_ref().journal().len() };
        self.opcode = opcode;
        if self.full || self.idle {
            return;
        }
        self.open_step(interpreter, interpreter.bytecode.pc(), opcode, gas);
        self.scratch.stack.keep(height.saturating_sub(touched(opcode)));
        if self.config.storage && matches!(opcode, op::SLOAD | op::SSTORE) {
            if let [.., value, slot] = interpreter.stack.data()[..]
                && opcode == op::SSTORE
            {
                self.storage(interpreter.input.target_address(), slot, value);
            }
            self.slot = interpreter.stack.data().last().copied().unwrap_or_default();
        }
    }

    #[inline(always)]
    fn step_end(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        if interpreter.bytecode.is_end() {
            return self.frame_stops(interpreter, context);
        }
        if self.open && self.opcode == op::SLOAD && self.config.storage {
            let value = interpreter.stack.data().last().copied().unwrap_or_default();
            self.storage(interpreter.input.target_address(), self.slot, value);
        }
        let cost = self.before.gas.saturating_sub(interpreter.gas.remaining());
        self.end_step(cost, self.refund_base + interpreter.gas.refunded());
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
        self.idle = inputs.init_code().is_empty();
        None
    }

    fn create_end(&mut self, context: &mut EvmContext<'a>, _: &CreateInputs, outcome: &mut CreateOutcome) {
        self.idle = false;
        let frontier = !context.cfg().spec().is_enabled_in(SpecId::HOMESTEAD);
        if frontier && self.scratch.refunds.is_empty() {
            let result = &outcome.result;
            self.unpaid = self.returned && result.result.is_ok() && result.output.is_empty();
        }
        self.frame_ends();
    }
}
