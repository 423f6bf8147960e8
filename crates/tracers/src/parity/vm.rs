//! `vmTrace`: every instruction with its cost and its effects, calls within the instruction that
//! made them.
//!
//! An instruction is written once it has run: `{"pc","cost","sub","ex"}`. One that calls is written
//! in two parts, around the text of the call. The content of an effect follows OpenEthereum's
//! `Interpreter::mem_written` and `store_written` (`ethcore/evm/src/interpreter/mod.rs`): `push`
//! has the words that the instruction leaves on the stack, bottom first; `mem` the memory that it
//! writes, `store` the slot; `used` is the gas left.
//!
//! The text grows with the transaction. [`VmRecorder::drain`] removes finished pieces while the
//! transaction runs.

use super::text::{bytes, number, quantity};
use alloy_primitives::U256;
use hearth_recorder::classify::Failure;
use hearth_recorder::fault::Fault;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::opcode::outputs;
use hearth_recorder::recorder_hooks::Before;
use revm::bytecode::opcode as op;
use revm::context_interface::ContextTr;
use revm::inspector::JournalExt;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::{InputsTr, Jumps, LegacyBytecode, LoopControl, MemoryTr};
use revm::interpreter::{Interpreter, InterpreterAction};

/// What the current instruction will write.
#[derive(Clone, Copy, Debug, Default)]
struct Effects {
    opcode: u8,
    pc: usize,
    /// The instruction has no byte of its own: the code ended before it.
    implicit: bool,
    /// Size of memory before it, in bytes.
    memory_bytes: u64,
    /// Offset and size of the memory that it writes, in bytes.
    memory: Option<(U256, U256)>,
    /// Slot and value that it stores.
    store: Option<(U256, U256)>,
}

/// One open call.
#[derive(Debug, Default)]
struct OpenCall {
    /// Whether code runs: its text is open.
    has_code: bool,
    /// Whether an instruction of it was written.
    has_ops: bool,
    /// The instruction that called, until its frame continues.
    calling: Option<Effects>,
    /// What that called is not written yet.
    awaits_sub: bool,
}

/// Records the instructions of one transaction as text.
#[derive(Debug, Default)]
pub(super) struct VmRecorder {
    text: Vec<u8>,
    levels: Vec<OpenCall>,
    before: Before,
    current: Effects,
    /// Something was called: there is text, or was.
    begun: bool,
}

impl VmRecorder {
    /// Forgets the last transaction.
    pub(super) fn begin(&mut self) {
        self.text.clear();
        self.levels.clear();
        self.begun = false;
    }

    /// The recording, without what was taken away: a JSON value once the transaction has ended.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Memory that the recording takes, in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        self.text.len() + self.levels.len() * size_of::<OpenCall>()
    }

    /// Hands the text on where it is longer than `least` bytes, and forgets it.
    #[inline(always)]
    pub(super) fn drain(&mut self, least: usize, json: &mut JsonWriter<'_>) {
        if self.text.len() > least {
            json.raw(&self.text);
            self.text.clear();
        }
    }

    /// Closes the open levels of a transaction that did not come to its end: the text is a JSON
    /// value then.
    pub(super) fn cut_short(&mut self) {
        let Self { text, levels, begun, .. } = self;
        if !*begun {
            text.extend_from_slice(b"null");
        }
        while let Some(level) = levels.pop() {
            if !level.has_code {
                text.extend_from_slice(b"null");
                if let Some(caller) = levels.last_mut() {
                    caller.awaits_sub = false;
                }
                continue;
            }
            if level.awaits_sub {
                text.extend_from_slice(b"null");
            }
            if level.calling.is_some() {
                text.extend_from_slice(b",\"ex\":null}");
            }
            text.extend_from_slice(b"]}");
            if let Some(caller) = levels.last_mut() {
                caller.awaits_sub = false;
            }
        }
    }

    /// A call or creation begins.
    pub(super) fn enter(&mut self) {
        self.begun = true;
        self.levels.push(OpenCall::default());
    }

    /// The code of the call that began last begins.
    pub(super) fn enter_code(&mut self, interpreter: &Interpreter) {
        let Some(level) = self.levels.last_mut() else { return };
        level.has_code = true;
        self.text.extend_from_slice(b"{\"code\":");
        bytes(&mut self.text, interpreter.bytecode.bytecode_slice());
        self.text.extend_from_slice(b",\"ops\":[");
    }

    /// Ends a call or creation. `code` is the code that it would have run; `began` is true if it
    /// was made: the depth allowed another call and the value could be paid.
    pub(super) fn leave(&mut self, code: &[u8], began: bool) {
        let Some(level) = self.levels.pop() else { return };
        if let Some(caller) = self.levels.last_mut() {
            caller.awaits_sub = false;
        }
        if level.has_code {
            return self.text.extend_from_slice(b"]}");
        }
        if !began && !self.levels.is_empty() {
            return self.text.extend_from_slice(b"null");
        }
        self.text.extend_from_slice(b"{\"code\":");
        bytes(&mut self.text, code);
        self.text.extend_from_slice(b",\"ops\":[]}");
    }

    /// Before an instruction.
    pub(super) fn step<CTX: ContextTr<Journal: JournalExt>>(
        &mut self,
        interpreter: &mut Interpreter<EthInterpreter>,
        context: &CTX,
    ) {
        if let Some(calling) = self.levels.last_mut().and_then(|level| level.calling.take()) {
            self.effects(interpreter, &calling);
        }
        self.before = Before::of(interpreter, context);
        let (opcode, pc) = (interpreter.bytecode.opcode(), interpreter.bytecode.pc());
        let item = |at: usize| interpreter.stack.peek(at).unwrap_or_default();
        let memory = match opcode {
            op::MSTORE | op::MLOAD => Some((item(0), U256::from(32))),
            op::MSTORE8 => Some((item(0), U256::from(1))),
            op::CALLDATACOPY | op::CODECOPY | op::RETURNDATACOPY | op::MCOPY => Some((item(0), item(2))),
            op::EXTCODECOPY => Some((item(1), item(3))),
            op::CALL | op::CALLCODE => Some((item(5), item(6))),
            op::DELEGATECALL | op::STATICCALL => Some((item(4), item(5))),
            _ => None,
        };
        let store = (opcode == op::SSTORE).then(|| (item(0), item(1)));
        let implicit = pc >= interpreter.bytecode.bytecode_len();
        let memory_bytes = interpreter.memory.size() as u64;
        self.current = Effects { opcode, pc, implicit, memory_bytes, memory, store };
    }

    /// After an instruction, or where it leaves its frame.
    pub(super) fn step_end<CTX: ContextTr<Journal: JournalExt>>(
        &mut self,
        interpreter: &mut Interpreter<EthInterpreter>,
        context: &mut CTX,
    ) {
        let current = self.current;
        if current.implicit {
            return;
        }
        let cost = self.before.gas.saturating_sub(interpreter.gas.remaining());
        let failed = match interpreter.bytecode.action() {
            Some(InterpreterAction::NewFrame(_)) => {
                self.open(&current, cost);
                if let Some(level) = self.levels.last_mut() {
                    (level.calling, level.awaits_sub) = (Some(current), true);
                }
                return;
            }
            Some(InterpreterAction::Return(result)) if !result.result.is_ok_or_revert() => {
                Some(result.result)
            }
            _ => None,
        };
        let Some(result) = failed else {
            self.open(&current, cost);
            self.text.extend_from_slice(b"null");
            return self.effects(interpreter, &current);
        };
        let contract = interpreter.input.target_address();
        let failure = Failure::of(interpreter, &self.before, context);
        let fault = failure.classify(result, context);
        let failure = failure.with_memory(current.memory_bytes);
        match fault {
            // The instruction is not one, or never ran.
            Fault::InvalidOpcode(_) | Fault::StackUnderflow { .. } | Fault::StackOverflow { .. } => {}
            Fault::InvalidJump => {
                self.open(&current, cost);
                self.text.extend_from_slice(b"null");
                self.effects(interpreter, &current);
            }
            fault => {
                let cost = failure.wanted(&fault, contract, context);
                self.open(&current, cost);
                self.text.extend_from_slice(b"null,\"ex\":null}");
            }
        }
    }

    /// Writes an instruction up to what it called.
    fn open(&mut self, effects: &Effects, cost: u64) {
        let Some(level) = self.levels.last_mut() else { return };
        if std::mem::replace(&mut level.has_ops, true) {
            self.text.push(b',');
        }
        self.text.extend_from_slice(b"{\"pc\":");
        number(&mut self.text, effects.pc as u64);
        self.text.extend_from_slice(b",\"cost\":");
        number(&mut self.text, cost);
        self.text.extend_from_slice(b",\"sub\":");
    }

    /// Writes what an instruction has done and closes it.
    fn effects(&mut self, interpreter: &Interpreter<EthInterpreter>, effects: &Effects) {
        let out = &mut self.text;
        out.extend_from_slice(b",\"ex\":{\"mem\":");
        match effects.memory.filter(|(_, size)| !size.is_zero()) {
            Some((offset, size)) => {
                // The instruction has paid for this memory, so both numbers are small.
                let (offset, size) = (offset.saturating_to::<usize>(), size.saturating_to::<usize>());
                out.extend_from_slice(b"{\"data\":");
                bytes(out, &interpreter.memory.slice(offset..offset.saturating_add(size)));
                out.extend_from_slice(b",\"off\":");
                number(out, offset as u64);
                out.push(b'}');
            }
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"push\":[");
        let stack = interpreter.stack.data();
        let pushed = &stack[stack.len().saturating_sub(outputs(effects.opcode))..];
        for (i, word) in pushed.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            quantity(out, *word);
        }
        out.extend_from_slice(b"],\"store\":");
        match effects.store {
            Some((key, value)) => {
                out.extend_from_slice(b"{\"key\":");
                quantity(out, key);
                out.extend_from_slice(b",\"val\":");
                quantity(out, value);
                out.push(b'}');
            }
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"used\":");
        number(out, interpreter.gas.remaining());
        out.extend_from_slice(b"}}");
    }
}
