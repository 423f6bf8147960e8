//! Frames as events: entered, left.

use crate::chunk::event;
use crate::fields::Fields;
use crate::tracer::{Inner, ScriptTracer, Top};
use alloy_primitives::{Address, Bytes, U256};
use hearth_evm::EvmContext;
use hearth_recorder::fault::Fault;
use hearth_recorder::precompile::is_precompile;
use hearth_recorder::recorder::{Frame, FrameKind};
use hearth_recorder::refund::authorisation_refund;
use revm::Inspector;
use revm::bytecode::opcode as op;
use revm::context_interface::context::ContextError;
use revm::context_interface::{Block as _, ContextTr, JournalTr as _};
use revm::inspector::JournalExt as _;
use revm::interpreter::{CallInputs, CallOutcome, CallScheme, CreateInputs, CreateOutcome};
use revm::primitives::hardfork::SpecId;

/// Flags of an entered frame: the script gets `enter`, the frame has a value, the frame may have
/// steps.
const SHOWN: u8 = 1;
const WITH_VALUE: u8 = 2;
const WITH_CODE: u8 = 4;

/// Flag of a frame that was left: its effects are undone.
const FAILED: u8 = 2;

/// What a pre-Homestead creation says that cannot pay for its code; it succeeds all the same.
const UNPAID_CODE: &str = "contract creation code storage out of gas";

/// The contract that runs in a frame.
pub(crate) struct Contract {
    pub caller: Address,
    pub address: Address,
    pub value: U256,
}

/// Whether a creation that failed so has the refused code as its output: go-ethereum looks at the
/// code once all of it was returned (core/vm/evm.go: initNewContract).
fn shows_code(fault: &Fault) -> bool {
    matches!(fault, Fault::MaxCodeSize | Fault::InvalidCode | Fault::CodeStoreOutOfGas)
}

fn opcode(kind: FrameKind) -> u8 {
    match kind {
        FrameKind::Call => op::CALL,
        FrameKind::CallCode => op::CALLCODE,
        FrameKind::DelegateCall => op::DELEGATECALL,
        FrameKind::StaticCall => op::STATICCALL,
        FrameKind::Create => op::CREATE,
        FrameKind::Create2 => op::CREATE2,
        FrameKind::SelfDestruct => op::SELFDESTRUCT,
    }
}

impl ScriptTracer {
    pub(crate) fn call_begins(&mut self, context: &mut EvmContext<'_>, inputs: &mut CallInputs) {
        self.before_frame(context);
        Inspector::<EvmContext<'_>>::call(&mut self.frames, context, inputs);
        let (caller, address) = (inputs.caller, inputs.target_address);
        self.entered(&Contract { caller, address, value: inputs.value.get() });
        self.touch_callee(context, inputs);
    }

    /// Records the account that go-ethereum makes for a static call, and for a call of a
    /// precompiled contract, where there is none (core/vm/evm.go: StaticCall and Call).
    fn touch_callee(&mut self, context: &EvmContext<'_>, inputs: &CallInputs) {
        let spec = context.cfg().spec;
        let touches = match inputs.scheme {
            CallScheme::StaticCall => true,
            CallScheme::Call => inputs.value.get().is_zero() && is_precompile(spec, &inputs.target_address),
            _ => false,
        };
        if touches && self.fields.has(Fields::JOURNAL) && self.is_running() {
            let state = context.journal_ref().evm_state();
            self.cursor.touch(&inputs.target_address, state, spec, &mut self.chunk);
        }
    }

    pub(crate) fn create_begins(&mut self, context: &mut EvmContext<'_>, inputs: &mut CreateInputs) {
        self.before_frame(context);
        Inspector::<EvmContext<'_>>::create(&mut self.frames, context, inputs);
        let caller = inputs.caller();
        let nonce = context.journal_ref().evm_state().get(&caller).map_or(0, |account| account.info.nonce);
        let address = inputs.created_address(nonce);
        if let Some(frame) = self.frames.frames.last_mut() {
            frame.to = address;
        }
        self.idle = inputs.init_code().is_empty();
        self.entered(&Contract { caller, address, value: inputs.value() });
    }

    fn before_frame(&mut self, context: &mut EvmContext<'_>) {
        if self.inner.is_empty() {
            self.top.block = context.block().number().saturating_to();
            self.refund_base = authorisation_refund(context);
        }
        if self.chunk.is_large() {
            self.flush(context.db_mut());
        }
        self.record_changes(context);
    }

    /// Records the changes of the state since the last call.
    pub(crate) fn record_changes(&mut self, context: &mut EvmContext<'_>) {
        if self.fields.has(Fields::JOURNAL) && self.is_running() {
            let journal = context.journal_ref();
            if self.cursor.is_behind(journal.journal()) {
                let spec = context.cfg().spec;
                self.cursor.record_new(journal.journal(), journal.evm_state(), spec, &mut self.chunk);
            }
        }
    }

    fn entered(&mut self, contract: &Contract) {
        self.inner.push(Inner { touched: self.cursor.touched(), ..Inner::default() });
        let Some(frame) = self.frames.frames.last() else { return };
        let is_top = self.inner.len() == 1;
        if is_top {
            self.top = Top {
                block: self.top.block,
                is_create: frame.kind == FrameKind::Create,
                from: frame.from,
                to: frame.to,
                value: frame.value,
                input: Bytes::copy_from_slice(self.frames.bytes(frame.input)),
                ..Top::default()
            };
        }
        if self.is_running() {
            let shown = if is_top { WITH_CODE } else { WITH_CODE | SHOWN };
            let with_input = is_top || self.fields.has(Fields::FRAMES | Fields::INPUT);
            let input = if with_input { self.frames.bytes(frame.input) } else { &[] };
            enter(&mut self.chunk, frame, contract, shown, input);
        }
    }

    pub(crate) fn call_ends(
        &mut self,
        context: &mut EvmContext<'_>,
        inputs: &CallInputs,
        outcome: &mut CallOutcome,
    ) {
        let index = self.frames.open.last().copied();
        Inspector::<EvmContext<'_>>::call_end(&mut self.frames, context, inputs, outcome);
        self.record_self_destructs(context, index);
        self.left(context, index, None, false);
    }

    pub(crate) fn create_ends(
        &mut self,
        context: &mut EvmContext<'_>,
        inputs: &CreateInputs,
        outcome: &mut CreateOutcome,
    ) {
        let index = self.frames.open.last().copied();
        self.idle = false;
        let frontier = !context.cfg().spec.is_enabled_in(SpecId::HOMESTEAD);
        let result = &outcome.result;
        let unpaid = frontier && self.returned && result.result.is_ok() && result.output.is_empty();
        let foreseen = index.and_then(|index| Some(self.frames.frames.get(index as usize)?.to));
        Inspector::<EvmContext<'_>>::create_end(&mut self.frames, context, inputs, outcome);
        let fault = index.and_then(|index| self.frames.frames.get(index as usize)?.fault.as_ref());
        let code = fault.is_some_and(shows_code).then(|| self.frames.store(&outcome.result.output));
        let frame = index.and_then(|index| self.frames.frames.get_mut(index as usize));
        if let (Some(frame), Some(address)) = (frame, foreseen) {
            frame.to = address;
            frame.output = code.unwrap_or(frame.output);
        }
        self.record_self_destructs(context, index);
        self.left(context, index, Some(inputs.caller()), unpaid);
    }

    pub(crate) fn self_destructed(&mut self, contract: Address, target: Address, value: U256) {
        let before = self.frames.frames.len();
        Inspector::<EvmContext<'_>>::selfdestruct(&mut self.frames, contract, target, value);
        self.record_from(before);
    }

    /// Self-destructs that the recorder has put behind an open frame.
    fn record_self_destructs(&mut self, context: &mut EvmContext<'_>, index: Option<u32>) {
        let Some(index) = index else { return };
        let behind = index as usize + 1;
        if self.frames.frames.len() > behind {
            self.record_changes(context);
            self.record_from(behind);
        }
    }

    fn record_from(&mut self, first: usize) {
        if self.is_running() {
            for frame in self.frames.frames.iter().skip(first) {
                let contract = Contract { caller: frame.from, address: frame.to, value: frame.value };
                enter(&mut self.chunk, frame, &contract, SHOWN, &[]);
                exit(&mut self.chunk, SHOWN, "", 0, &[]);
            }
        }
        self.frames.frames.truncate(first);
    }

    fn left(
        &mut self,
        context: &mut EvmContext<'_>,
        index: Option<u32>,
        creator: Option<Address>,
        unpaid: bool,
    ) {
        let touched = self.inner.pop().map_or(0, |inner| inner.touched);
        if let Some(base) = self.refunds.pop() {
            self.refund_base = base;
        }
        let Some(frame) = index.and_then(|index| self.frames.frames.get(index as usize)).cloned() else {
            return;
        };
        let failed = frame.fault.is_some();
        if failed {
            self.cursor.undo(context.journal_ref().journal(), touched);
        } else {
            self.record_changes(context);
        }
        let error = match &frame.fault {
            Some(fault) => fault.to_string(),
            None if unpaid => UNPAID_CODE.to_owned(),
            None => String::new(),
        };
        let is_top = self.inner.is_empty();
        if self.is_running() {
            let shown = if is_top { 0 } else { SHOWN };
            let flags = if failed { shown | FAILED } else { shown };
            exit(&mut self.chunk, flags, &error, frame.gas_used, self.frames.bytes(frame.output));
            if let Some(creator) = creator.filter(|_| failed && self.fields.has(Fields::JOURNAL)) {
                // That its nonce was raised is not undone.
                let (state, spec) = (context.journal_ref().evm_state(), context.cfg().spec);
                self.cursor.record_account(&creator, state, spec, &mut self.chunk);
            }
        }
        if is_top {
            self.top.output = Bytes::copy_from_slice(self.frames.bytes(frame.output));
            self.top.error = (!error.is_empty()).then_some(error);
        }
        self.frames.bytes.truncate(frame.input.start);
        self.frames.frames.truncate(index.unwrap_or(0) as usize);
        if is_top {
            self.last_frame_left(context);
        }
    }

    /// Nothing more of the transaction will be seen; it has had no effect yet.
    fn last_frame_left(&mut self, context: &mut EvmContext<'_>) {
        self.conclude(context.db_mut());
        if self.is_rerun() {
            *context.error() = Err(ContextError::Custom("the transaction is executed once more".to_owned()));
        }
    }
}

fn enter(chunk: &mut super::chunk::Chunk, frame: &Frame, contract: &Contract, flags: u8, input: &[u8]) {
    let with_value = if frame.kind == FrameKind::StaticCall { 0 } else { WITH_VALUE };
    let parts: [&[u8]; 9] = [
        &[opcode(frame.kind), flags | with_value, 0, 0],
        &(frame.gas as f64).to_le_bytes(),
        frame.from.as_slice(),
        frame.to.as_slice(),
        &frame.value.to_be_bytes::<32>(),
        contract.caller.as_slice(),
        contract.address.as_slice(),
        &contract.value.to_be_bytes::<32>(),
        input,
    ];
    chunk.event(event::ENTER, &parts);
}

fn exit(chunk: &mut super::chunk::Chunk, flags: u8, error: &str, gas_used: u64, output: &[u8]) {
    let parts: [&[u8]; 5] = [
        &[flags, 0, 0, 0],
        &(error.len() as u32).to_le_bytes(),
        &(gas_used as f64).to_le_bytes(),
        error.as_bytes(),
        output,
    ];
    chunk.event(event::EXIT, &parts);
}
