//! erc7562Tracer: call frames with the data for the rules of ERC-7562: opcodes used, slots
//! accessed, sizes of contracts called or read, and hashed data.

use crate::call_tracer::{CallTracerConfig, CallTree};
use crate::erc7562_render::{self as render, FrameFacts};
use crate::keccak_tracer::preimage;
use alloy_primitives::{Address, KECCAK256_EMPTY, Log, U256};
use hearth_evm::EvmContext;
use hearth_recorder::fault::Fault;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::recorder::{Recorder, RecorderOptions};
use hearth_recorder::tracing::{Observed, Tracing, TxContext, TxEnd};
use revm::bytecode::{Bytecode, opcode as op};
use revm::context_interface::ContextTr;
use revm::context_interface::context::ContextError;
use revm::interpreter::interpreter_types::{InputsTr, Jumps};
use revm::interpreter::{CallInputs, CallOutcome, CreateInputs, CreateOutcome, Interpreter};
use revm::primitives::hardfork::SpecId;
use revm::{Database, Inspector};
use std::collections::BTreeSet;

/// Options of erc7562Tracer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Erc7562TracerConfig {
    /// Opcodes that are not counted; `None` for the default, opcodes that no rule concerns (stack,
    /// arithmetic, comparison).
    pub ignored_opcodes: Option<Vec<u8>>,
    /// With the logs of frames that did not fail.
    pub with_log: bool,
}

/// Memory that an entry of a set or map is taken to need, in bytes.
const ENTRY_BYTES: usize = 96;

/// erc7562Tracer over a recording of its own.
#[derive(Debug)]
pub struct Erc7562Tracer {
    recorder: Recorder,
    with_log: bool,
    ignored: [bool; 256],
    /// Facts by index of frame, as far as instructions ran.
    facts: Vec<FrameFacts>,
    preimages: BTreeSet<Vec<u8>>,
    /// The instruction before, in whichever frame, and the top of the stack before it.
    last: Option<(u8, Option<U256>)>,
    /// The open frame is a creation without init code, which runs nothing.
    idle: bool,
    bytes: usize,
}

/// Opcodes that are not counted unless the configuration says otherwise.
fn is_ignored_by_default(opcode: u8) -> bool {
    matches!(
        opcode,
        op::PUSH0
            ..=op::SWAP16
                | op::POP
                | op::ADD
                | op::SUB
                | op::MUL
                | op::DIV
                | op::EQ
                | op::LT
                | op::GT
                | op::SLT
                | op::SGT
                | op::SHL
                | op::SHR
                | op::AND
                | op::OR
                | op::NOT
                | op::ISZERO
    )
}

fn is_ext(opcode: u8) -> bool {
    matches!(opcode, op::EXTCODEHASH | op::EXTCODESIZE | op::EXTCODECOPY)
}

fn is_call(opcode: u8) -> bool {
    matches!(opcode, op::CALL | op::CALLCODE | op::DELEGATECALL | op::STATICCALL)
}

impl Erc7562Tracer {
    /// A tracer with these options.
    pub fn new(config: &Erc7562TracerConfig) -> Self {
        let mut ignored = [false; 256];
        for (opcode, ignored) in (0u8..=255).zip(&mut ignored) {
            *ignored = match &config.ignored_opcodes {
                Some(list) => list.contains(&opcode),
                None => is_ignored_by_default(opcode),
            };
        }
        Self {
            recorder: Recorder::new(),
            with_log: config.with_log,
            ignored,
            facts: Vec::new(),
            preimages: BTreeSet::new(),
            last: None,
            idle: false,
            bytes: 0,
        }
    }

    /// The facts of the innermost open frame.
    fn current(&mut self) -> &mut FrameFacts {
        let index = self.recorder.open.last().map_or(0, |index| *index as usize);
        self.facts_of(index)
    }

    fn facts_of(&mut self, index: usize) -> &mut FrameFacts {
        if self.facts.len() <= index {
            self.bytes += (index + 1 - self.facts.len()) * size_of::<FrameFacts>();
            self.facts.resize_with(index + 1, FrameFacts::default);
        }
        &mut self.facts[index]
    }

    fn opcode(&mut self, opcode: u8, interpreter: &Interpreter, context: &mut EvmContext<'_>) {
        if matches!(opcode, op::RETURN | op::REVERT) {
            self.last = None;
        }
        let last = self.last.take();
        if let Some((before, Some(top))) = last
            && is_ext(before)
            && !(before == op::EXTCODESIZE && opcode == op::ISZERO)
        {
            self.bytes += size_of::<Address>();
            self.current().ext_code_access.push(Address::from_word(top.into()));
        }
        if is_ext(opcode) || is_call(opcode) {
            self.contract_size(opcode, interpreter, context);
        }
        if last.is_some_and(|(before, _)| before == op::GAS) && !is_call(opcode) {
            self.count(op::GAS);
        }
        if opcode != op::GAS && !self.ignored[usize::from(opcode)] {
            self.count(opcode);
        }
        match opcode {
            op::SLOAD | op::SSTORE | op::TLOAD | op::TSTORE => self.slot(opcode, interpreter, context),
            op::KECCAK256 => {
                if let Some(preimage) = preimage(interpreter) {
                    let bytes = ENTRY_BYTES + preimage.len();
                    if self.preimages.insert(preimage) {
                        self.bytes += bytes;
                    }
                }
            }
            _ => {}
        }
        self.last = Some((opcode, interpreter.stack.data().last().copied()));
    }

    fn count(&mut self, opcode: u8) {
        *self.current().used_opcodes.entry(opcode).or_default() += 1;
    }

    fn contract_size(&mut self, opcode: u8, interpreter: &Interpreter, context: &mut EvmContext<'_>) {
        let depth = if is_ext(opcode) { 1 } else { 2 };
        let stack = interpreter.stack.data();
        let Some(index) = stack.len().checked_sub(depth) else { return };
        let address = Address::from_word(stack[index].into());
        if !self.current().contract_sizes.contains_key(&address) {
            let size = code_size(context, address);
            self.bytes += ENTRY_BYTES;
            self.current().contract_sizes.insert(address, (size, opcode));
        }
    }

    fn slot(&mut self, opcode: u8, interpreter: &Interpreter, context: &mut EvmContext<'_>) {
        let Some(&slot) = interpreter.stack.data().last() else { return };
        self.bytes += ENTRY_BYTES;
        let facts = self.current();
        match opcode {
            op::SLOAD => {
                if !facts.reads.contains_key(&slot) && !facts.writes.contains_key(&slot) {
                    let value = slot_value(context, interpreter.input.target_address(), slot);
                    facts.reads.insert(slot, value);
                }
            }
            op::SSTORE => *facts.writes.entry(slot).or_default() += 1,
            op::TLOAD => *facts.transient_reads.entry(slot).or_default() += 1,
            _ => *facts.transient_writes.entry(slot).or_default() += 1,
        }
    }

    /// Whether the frame that was just closed ran out of gas. The first frame never says so.
    fn note_out_of_gas(&mut self, index: Option<u32>) {
        let Some(index) = index.filter(|index| *index > 0).map(|index| index as usize) else { return };
        let fault = self.recorder.frames().get(index).and_then(|frame| frame.fault.as_ref());
        if matches!(fault, Some(Fault::OutOfGas | Fault::GasRefused(_) | Fault::CodeStoreOutOfGas)) {
            self.facts_of(index).out_of_gas = true;
        }
    }
}

/// Value of a slot as it is now.
fn slot_value(context: &mut EvmContext<'_>, address: Address, slot: U256) -> U256 {
    if let Some(account) = context.journaled_state.inner.state.get(&address) {
        if let Some(slot) = account.storage.get(&slot) {
            return slot.present_value;
        }
        if account.is_created() {
            return U256::ZERO;
        }
    }
    context.db_mut().storage(address, slot).unwrap_or_else(|error| {
        *context.error() = Err(ContextError::Db(error));
        U256::ZERO
    })
}

/// Size of an account's code as it is now, in bytes.
fn code_size(context: &mut EvmContext<'_>, address: Address) -> usize {
    let size = |code: &Bytecode| code.original_bytes().len();
    let changed = context.journaled_state.inner.state.get(&address).map(|account| account.info.clone());
    let info = match changed {
        Some(info) => Ok(Some(info)),
        None => context.db_mut().basic(address),
    };
    let found = info.and_then(|info| match info {
        None => Ok(0),
        Some(info) if info.code_hash == KECCAK256_EMPTY || info.code_hash.is_zero() => Ok(0),
        Some(info) => match &info.code {
            Some(code) => Ok(size(code)),
            None => context.db_mut().code_by_hash(info.code_hash).map(|code| size(&code)),
        },
    });
    found.unwrap_or_else(|error| {
        *context.error() = Err(ContextError::Db(error));
        0
    })
}

impl<'a> Inspector<EvmContext<'a>> for Erc7562Tracer {
    #[inline]
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        if !self.idle {
            self.opcode(interpreter.bytecode.opcode(), interpreter, context);
        }
        self.recorder.step(interpreter, context);
    }

    #[inline]
    fn step_end(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        self.recorder.step_end(interpreter, context);
    }

    fn log(&mut self, context: &mut EvmContext<'a>, log: Log) {
        self.recorder.log(context, log);
    }

    fn call(&mut self, context: &mut EvmContext<'a>, inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.recorder.call(context, inputs)
    }

    fn call_end(&mut self, context: &mut EvmContext<'a>, inputs: &CallInputs, outcome: &mut CallOutcome) {
        let index = self.recorder.open.last().copied();
        self.recorder.call_end(context, inputs, outcome);
        self.note_out_of_gas(index);
    }

    fn create(&mut self, context: &mut EvmContext<'a>, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.idle = inputs.init_code().is_empty();
        self.recorder.create(context, inputs)
    }

    fn create_end(
        &mut self,
        context: &mut EvmContext<'a>,
        inputs: &CreateInputs,
        outcome: &mut CreateOutcome,
    ) {
        self.idle = false;
        let index = self.recorder.open.last().copied();
        self.recorder.create_end(context, inputs, outcome);
        self.note_out_of_gas(index);
        // Before Homestead, code that could not be paid for is an error that undoes nothing.
        let frontier = !context.cfg().spec().is_enabled_in(SpecId::HOMESTEAD);
        if let Some(index) = index.filter(|index| frontier && *index > 0) {
            let frame = &self.recorder.frames()[index as usize];
            let unpaid =
                frame.fault.is_none() && outcome.result.output.is_empty() && !frame.output.is_empty();
            self.facts_of(index as usize).out_of_gas |= unpaid;
        }
    }

    fn selfdestruct(&mut self, contract: Address, target: Address, value: U256) {
        <Recorder as Inspector<EvmContext<'a>>>::selfdestruct(&mut self.recorder, contract, target, value);
    }
}

impl Observed for Erc7562Tracer {
    fn size_bytes(&self) -> usize {
        self.recorder.size_bytes() + self.bytes
    }
}

impl Tracing for Erc7562Tracer {
    fn begin(&mut self, tx: &TxContext) {
        self.recorder.begin(RecorderOptions { nested: true, logs: self.with_log }, tx.log_base);
        self.facts.clear();
        self.preimages.clear();
        self.last = None;
        self.idle = false;
        self.bytes = 0;
    }

    fn finish(&mut self, end: &TxEnd<'_>) {
        self.recorder.finish(end.gas_limit, end.gas_used);
    }

    fn render(&mut self, json: &mut JsonWriter<'_>) {
        let nothing = FrameFacts::default();
        let tree = CallTree { recording: &self.recorder, config: CallTracerConfig::default() };
        tree.write(json, |json, index, frame, failed| {
            if self.with_log && !failed {
                render::logs(json, &self.recorder, frame);
            }
            render::facts(json, self.facts.get(index).unwrap_or(&nothing));
            if index == 0 {
                render::preimages(json, &self.preimages);
            }
        });
    }
}
