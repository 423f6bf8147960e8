//! Logs of the calls of a block, with transfers of ether among them.

use super::SimulatedLog;
use crate::machine::EvmContext;
use alloy_primitives::{Address, B256, Bytes, Log, U256, address, b256};
use revm::{
    Inspector,
    context_interface::{JournalTr as _, journaled_state::account::JournaledAccountTr as _},
    interpreter::{
        CallInputs, CallOutcome, CallScheme, CreateInputs, CreateOutcome, InstructionResult, Interpreter,
        InterpreterAction,
        interpreter::EthInterpreter,
        interpreter_types::{InputsTr as _, LoopControl as _},
    },
};

/// The address that stands for ether (ERC-7528).
const ETHER: Address = address!("0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee");
/// Topic of ERC-20's `Transfer(address,address,uint256)`.
const TRANSFER: B256 = b256!("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

/// Collects the logs of a block's calls, one call after the other.
#[derive(Debug, Default)]
pub(super) struct BlockLogs {
    transfers: bool,
    /// Number of logs so far in the block, dropped ones included.
    count: u64,
    /// Logs of the current call that no failed frame has taken back.
    logs: Vec<SimulatedLog>,
    /// Where the logs of each open frame begin.
    frames: Vec<usize>,
    /// Contract whose self-destruct has no journal entry yet.
    destroyed: Option<Address>,
    /// The sender of the current call, where its nonce goes from the highest one to 0.
    wraps: Option<Address>,
}

impl BlockLogs {
    /// A collector that makes logs of transfers too where `transfers` is set.
    pub fn new(transfers: bool) -> Self {
        Self { transfers, ..Self::default() }
    }

    /// The logs of the call that has ended.
    pub fn take(&mut self) -> Vec<SimulatedLog> {
        self.frames.clear();
        (self.destroyed, self.wraps) = (None, None);
        std::mem::take(&mut self.logs)
    }

    /// Prepares for a call by an account with the highest possible nonce. Without validation,
    /// go-ethereum wraps around to 0 (`stateTransition.execute` adds 1 to 64 bits), where the
    /// interpreter leaves the nonce unchanged.
    pub fn wrap_nonce(&mut self, sender: Address) {
        self.wraps = Some(sender);
    }

    fn push(&mut self, log: Log) {
        self.logs.push(SimulatedLog { index: self.count, log });
        self.count += 1;
    }

    fn transfer(&mut self, from: Address, to: Address, value: U256) {
        if self.transfers && !value.is_zero() {
            let topics = vec![TRANSFER, from.into_word(), to.into_word()];
            let data = Bytes::from(value.to_be_bytes::<32>());
            self.push(Log::new_unchecked(ETHER, topics, data));
        }
    }

    fn open(&mut self) {
        self.frames.push(self.logs.len());
        self.destroyed = None;
    }

    fn close(&mut self, context: &mut EvmContext<'_>, result: InstructionResult) {
        // A self-destruct that moved no value has no journal entry: the beneficiary is the contract
        // itself, which stays.
        if let Some(contract) = self.destroyed.take() {
            let account = context.journaled_state.load_account(contract);
            let balance = account.map_or(U256::ZERO, |account| account.data.info.balance);
            self.transfer(contract, contract, balance);
        }
        if let Some(start) = self.frames.pop().filter(|_| !result.is_ok()) {
            self.logs.truncate(start);
        }
    }
}

impl<'a> Inspector<EvmContext<'a>> for BlockLogs {
    fn step_end(&mut self, interpreter: &mut Interpreter<EthInterpreter>, _context: &mut EvmContext<'a>) {
        if let Some(InterpreterAction::Return(result)) = interpreter.bytecode.action()
            && result.result == InstructionResult::SelfDestruct
        {
            self.destroyed = Some(interpreter.input.target_address());
        }
    }

    fn log(&mut self, _context: &mut EvmContext<'a>, log: Log) {
        self.push(log);
    }

    fn call(&mut self, context: &mut EvmContext<'a>, inputs: &mut CallInputs) -> Option<CallOutcome> {
        if let Some(sender) = self.wraps.take()
            && let Ok(mut account) = context.journaled_state.load_account_mut(sender)
        {
            account.data.set_nonce(0);
        }
        self.open();
        // CALLCODE moves ether from an account to itself, DELEGATECALL and STATICCALL none.
        if inputs.scheme == CallScheme::Call {
            self.transfer(inputs.caller, inputs.target_address, inputs.value.get());
        }
        None
    }

    fn call_end(&mut self, context: &mut EvmContext<'a>, _inputs: &CallInputs, outcome: &mut CallOutcome) {
        self.close(context, outcome.result.result);
    }

    fn create(&mut self, context: &mut EvmContext<'a>, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.open();
        let creator = context.journaled_state.inner.state.get(&inputs.caller());
        let nonce = creator.map_or(0, |account| account.info.nonce);
        self.transfer(inputs.caller(), inputs.created_address(nonce), inputs.value());
        None
    }

    fn create_end(
        &mut self,
        context: &mut EvmContext<'a>,
        _inputs: &CreateInputs,
        outcome: &mut CreateOutcome,
    ) {
        // Without an address nothing was created: the creator's nonce is the highest there is.
        let result = match outcome.address {
            None if outcome.result.result.is_ok() => InstructionResult::NonceOverflow,
            _ => outcome.result.result,
        };
        self.close(context, result);
    }

    fn selfdestruct(&mut self, contract: Address, target: Address, value: U256) {
        self.destroyed = None;
        self.transfer(contract, target, value);
    }
}
