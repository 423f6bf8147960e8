//! The recorder as a revm inspector.
//!
//! It inspects only those instructions that end their frame: the hook before an instruction keeps
//! three numbers, from which the reason of a failure is found.

use crate::classify::Failure;
use crate::fault::Fault;
use crate::precompile::Refused;
use crate::recorder::{Frame, FrameKind, NONE, Recorder, Span};
use alloy_primitives::{Address, Bytes, Log, U256};
use revm::context_interface::{ContextTr, CreateScheme, JournalTr};
use revm::inspector::JournalExt;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::{InputsTr, LoopControl};
use revm::interpreter::{
    CallInputs, CallOutcome, CallScheme, CreateInputs, CreateOutcome, Gas, InstructionResult, Interpreter,
    InterpreterAction,
};
use revm::primitives::hardfork::SpecId;
use revm::{Inspector, context_interface::Cfg};

/// What was there before the current instruction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before {
    /// Depth of the frame that runs it: what follows is of this frame alone.
    pub depth: usize,
    /// Height of the stack.
    pub stack: usize,
    /// Gas left.
    pub gas: u64,
    /// Length of the journal.
    pub journal: usize,
}

impl Before {
    /// The interpreter's state at the start of an instruction.
    #[inline(always)]
    pub fn of<CTX: ContextTr<Journal: JournalExt>>(
        interpreter: &Interpreter<EthInterpreter>,
        context: &CTX,
    ) -> Self {
        let journal = context.journal();
        Self {
            depth: journal.depth(),
            stack: interpreter.stack.len(),
            gas: interpreter.gas.remaining(),
            journal: journal.journal().len(),
        }
    }
}

/// What the last instruction of a frame leaves for the hook that closes the frame.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// Why the instruction failed.
    fault: Option<Fault>,
    /// Code that a creation returned, before it was checked and paid for.
    deployed: Option<Bytes>,
    /// A self-destruct of this contract that has no journal entry so far.
    selfdestruct: Option<Address>,
}

impl Recorder {
    /// Whether frames and logs at the current depth are recorded.
    fn is_recording(&self) -> bool {
        self.options.nested || self.open.is_empty()
    }

    #[cold]
    #[inline(never)]
    fn frame_stops<CTX: ContextTr<Journal: JournalExt>>(
        &mut self,
        interpreter: &mut Interpreter<EthInterpreter>,
        context: &mut CTX,
    ) {
        let Some(InterpreterAction::Return(result)) = interpreter.bytecode.action() else { return };
        let (result, output) = (result.result, result.output.clone());
        self.pending = Pending::default();
        match result {
            InstructionResult::SelfDestruct => {
                self.pending.selfdestruct = Some(interpreter.input.target_address())
            }
            InstructionResult::Stop | InstructionResult::Return => self.pending.deployed = Some(output),
            InstructionResult::Revert => {}
            other => {
                self.pending.fault =
                    Some(Failure::of(interpreter, &self.before, context).classify(other, context))
            }
        }
    }

    /// Records a self-destruct as a child of the innermost frame.
    fn add_selfdestruct(&mut self, contract: Address, target: Address, value: U256) {
        if !self.options.nested {
            return;
        }
        let input = self.store(&[]);
        self.enter(frame(FrameKind::SelfDestruct, contract, target, value, 0, input));
        self.leave();
    }

    /// A self-destruct that moved no value has no journal entry: the beneficiary is the contract
    /// itself, which stays (EIP-6780).
    fn settle_selfdestruct<CTX: ContextTr>(&mut self, context: &mut CTX) {
        if let Some(contract) = self.pending.selfdestruct.take() {
            let balance = context
                .journal_mut()
                .load_account(contract)
                .map_or(U256::ZERO, |account| account.data.info.balance);
            self.add_selfdestruct(contract, contract, balance);
        }
    }

    fn close(&mut self, end: FrameEnd<'_>) {
        let output = if end.fault.as_ref().is_none_or(Fault::is_revert) {
            self.store(end.output)
        } else {
            Span::default()
        };
        let Some(frame) = self.leave() else { return };
        frame.gas_used = end.gas_used;
        frame.output = output;
        frame.fault = end.fault;
        frame.precompile = end.precompile;
        if let Some(address) = end.created {
            frame.to = address;
        }
    }
}

/// How a frame ended.
struct FrameEnd<'a> {
    gas_used: u64,
    output: &'a [u8],
    fault: Option<Fault>,
    precompile: bool,
    created: Option<Address>,
}

fn frame(kind: FrameKind, from: Address, to: Address, value: U256, gas: u64, input: Span) -> Frame {
    Frame {
        kind,
        depth: 0,
        from,
        to,
        value,
        gas,
        gas_used: 0,
        input,
        output: Span::default(),
        fault: None,
        precompile: false,
        parent: NONE,
        subtree_end: 0,
        children: 0,
        first_log: NONE,
        last_log: NONE,
    }
}

/// Gas that a frame cost its parent: all of it unless it succeeded, reverted, or never started.
#[inline]
pub fn gas_used(result: InstructionResult, gas: &Gas, limit: u64) -> u64 {
    if result.is_ok_or_revert() { limit.saturating_sub(gas.remaining()) } else { limit }
}

impl<CTX> Inspector<CTX, EthInterpreter> for Recorder
where
    CTX: ContextTr<Journal: JournalExt>,
{
    #[inline]
    fn step(&mut self, interpreter: &mut Interpreter<EthInterpreter>, context: &mut CTX) {
        self.before = Before::of(interpreter, context);
    }

    #[inline]
    fn step_end(&mut self, interpreter: &mut Interpreter<EthInterpreter>, context: &mut CTX) {
        if interpreter.bytecode.is_end() {
            self.frame_stops(interpreter, context);
        }
    }

    fn log(&mut self, context: &mut CTX, log: Log) {
        if self.options.logs && self.skipped == 0 {
            let index = context.journal().logs().len().saturating_sub(1) as u32;
            self.add_log(log.address, log.topics(), &log.data.data, index);
        }
    }

    fn call(&mut self, context: &mut CTX, inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.pending = Pending::default();
        if !self.is_recording() {
            self.skipped += 1;
            return None;
        }
        let input = self.store(&inputs.input.as_bytes(context));
        let (kind, from, to) = match inputs.scheme {
            CallScheme::Call => (FrameKind::Call, inputs.caller, inputs.target_address),
            CallScheme::StaticCall => (FrameKind::StaticCall, inputs.caller, inputs.target_address),
            // Both run in the context of the account that called, which revm names as the target.
            CallScheme::CallCode => (FrameKind::CallCode, inputs.target_address, inputs.bytecode_address),
            CallScheme::DelegateCall => {
                (FrameKind::DelegateCall, inputs.target_address, inputs.bytecode_address)
            }
        };
        self.enter(frame(kind, from, to, inputs.value.get(), inputs.gas_limit, input));
        None
    }

    fn call_end(&mut self, context: &mut CTX, inputs: &CallInputs, outcome: &mut CallOutcome) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        self.settle_selfdestruct(context);
        let Pending { fault, .. } = std::mem::take(&mut self.pending);
        let result = &outcome.result;
        let fault = fault.or_else(|| {
            Fault::of_call(result.result, || {
                let (spec, address, gas) =
                    (context.cfg().spec().into(), inputs.bytecode_address, inputs.gas_limit);
                Refused { spec, address, input: &inputs.input.as_bytes(context), gas }.fault()
            })
        });
        self.close(FrameEnd {
            gas_used: gas_used(result.result, &result.gas, inputs.gas_limit),
            output: &result.output,
            fault,
            precompile: outcome.was_precompile_called,
            created: None,
        });
    }

    fn create(&mut self, context: &mut CTX, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.pending = Pending::default();
        if !self.is_recording() {
            self.skipped += 1;
            return None;
        }
        let kind = match inputs.scheme() {
            CreateScheme::Create2 { .. } => FrameKind::Create2,
            _ => FrameKind::Create,
        };
        let input = self.store(inputs.init_code());
        let caller = inputs.caller();
        let creator = context.journal_ref().evm_state().get(&caller);
        // The inputs keep the address, so that revm does not compute it again.
        let to = creator.map_or(Address::ZERO, |creator| inputs.created_address(creator.info.nonce));
        self.enter(frame(kind, caller, to, inputs.value(), inputs.gas_limit(), input));
        None
    }

    fn create_end(&mut self, context: &mut CTX, inputs: &CreateInputs, outcome: &mut CreateOutcome) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        self.settle_selfdestruct(context);
        let Pending { fault, deployed, .. } = std::mem::take(&mut self.pending);
        let result = &outcome.result;
        let ran = deployed.is_some();
        let mut output: &[u8] = &result.output;
        let frontier = !context.cfg().spec().into().is_enabled_in(SpecId::HOMESTEAD);
        if let (true, Some(code)) = (frontier, &deployed) {
            // Before Homestead, a creation that cannot pay for its code succeeds, and leaves an
            // account without code.
            output = code;
        }
        let fault = fault.or_else(|| {
            let code_bytes = deployed.as_ref().map_or(0, |code| code.len());
            // EIP-170 is looked at before EIP-3541.
            let oversized = code_bytes > context.cfg().max_code_size();
            Fault::of_create(result.result, outcome.address, ran, oversized)
        });
        let gas_used = match &fault {
            Some(Fault::NonceOverflow) => 0,
            _ => gas_used(result.result, &result.gas, inputs.gas_limit()),
        };
        self.close(FrameEnd { gas_used, output, fault, precompile: false, created: outcome.address });
    }

    fn selfdestruct(&mut self, contract: Address, target: Address, value: U256) {
        self.pending.selfdestruct = None;
        if self.skipped == 0 {
            self.add_selfdestruct(contract, target, value);
        }
    }
}
