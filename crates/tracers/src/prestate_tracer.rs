//! prestateTracer: the accounts and slots that a transaction reads, with their values before it,
//! and optionally after it.
//!
//! The set of accounts is go-ethereum's (eth/tracers/native/prestate.go: OnTxStart and OnOpcode):
//! those that the transaction names, and those that operands of instructions name, whether or not
//! execution gets as far as loading them. Values before the transaction are read when they are
//! first needed; values after it come from its write set.

use crate::prestate_render as render;
use alloy_primitives::map::{AddressMap, AddressSet, HashMap};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use hearth_evm::{EvmContext, Fork};
use hearth_recorder::classify::Failure;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::memory::copy_padded;
use hearth_recorder::recorder_hooks::Before;
use hearth_recorder::tracing::{Observed, Tracing, TxContext, TxEnd};
use revm::bytecode::{Bytecode, opcode as op};
use revm::context_interface::context::ContextError;
use revm::context_interface::transaction::AuthorizationTr;
use revm::context_interface::{ContextTr, JournalTr, Transaction};
use revm::interpreter::interpreter_types::{InputsTr, Jumps, LoopControl, MemoryTr};
use revm::interpreter::{
    CallInputs, CallOutcome, CreateInputs, CreateOutcome, InstructionResult, Interpreter, InterpreterAction,
};
use revm::{Database, Inspector};

/// Options of prestateTracer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrestateTracerConfig {
    /// What changed, before and after, in place of everything before.
    pub diff_mode: bool,
    /// Without code; its hash stays.
    pub disable_code: bool,
    /// Without storage.
    pub disable_storage: bool,
    /// With accounts that did not exist.
    pub include_empty: bool,
}

/// An account before the transaction.
#[derive(Clone, Debug, Default)]
pub(crate) struct PreAccount {
    pub(crate) address: Address,
    pub(crate) balance: U256,
    pub(crate) nonce: u64,
    /// `None` without code.
    pub(crate) code_hash: Option<B256>,
    pub(crate) code: Bytes,
    pub(crate) storage: HashMap<U256, U256>,
}

impl PreAccount {
    pub(crate) fn is_empty(&self) -> bool {
        self.nonce == 0 && self.balance.is_zero() && self.code_hash.is_none()
    }
}

/// State that the current instruction accesses, recorded after its gas was charged.
#[derive(Clone, Copy, Debug)]
enum StateAccess {
    Slot(U256),
    Account(Address),
    SelfDestruct(Address),
    Call(Address),
    Create(Address),
}

/// Instructions that look at state.
const LOOKS: [bool; 256] = {
    let mut table = [false; 256];
    let ops = [
        op::SLOAD,
        op::SSTORE,
        op::EXTCODECOPY,
        op::EXTCODEHASH,
        op::EXTCODESIZE,
        op::BALANCE,
        op::SELFDESTRUCT,
        op::CALL,
        op::CALLCODE,
        op::DELEGATECALL,
        op::STATICCALL,
        op::CREATE,
        op::CREATE2,
    ];
    let mut i = 0;
    while i < ops.len() {
        table[ops[i] as usize] = true;
        i += 1;
    }
    table
};

/// prestateTracer.
#[derive(Debug, Default)]
pub struct PrestateTracer {
    pub(crate) config: PrestateTracerConfig,
    pub(crate) accounts: Vec<PreAccount>,
    index: AddressMap<usize>,
    created: AddressSet,
    pub(crate) deleted: AddressSet,
    /// What became of the accounts, in diff mode.
    pub(crate) diff: Vec<render::Diff>,
    fork: Option<Fork>,
    coinbase: Address,
    started: bool,
    before: Before,
    look: Option<StateAccess>,
    bytes: usize,
}

impl PrestateTracer {
    /// A tracer with these options.
    pub fn new(config: PrestateTracerConfig) -> Self {
        Self { config, ..Self::default() }
    }

    fn is(&self, fork: Fork) -> bool {
        self.fork.is_some_and(|now| now >= fork)
    }

    /// Looks at an account for the first time.
    fn account(&mut self, context: &mut EvmContext<'_>, address: Address) -> usize {
        if let Some(index) = self.index.get(&address) {
            return *index;
        }
        let mut account = PreAccount { address, ..PreAccount::default() };
        // The database, not the journal: it holds the values before the transaction all the while.
        match context.db_mut().basic(address) {
            Ok(Some(info)) => {
                account.balance = info.balance;
                account.nonce = info.nonce;
                if info.code_hash != KECCAK256_EMPTY && !info.code_hash.is_zero() {
                    account.code_hash = Some(info.code_hash);
                    if !self.config.disable_code {
                        account.code = code(context, info.code, info.code_hash)
                            .map(|code| code.original_bytes())
                            .unwrap_or_default();
                    }
                }
            }
            Ok(None) => {}
            Err(error) => *context.error() = Err(ContextError::Db(error)),
        }
        self.bytes += size_of::<PreAccount>();
        self.accounts.push(account);
        self.index.insert(address, self.accounts.len() - 1);
        self.accounts.len() - 1
    }

    fn slot(&mut self, context: &mut EvmContext<'_>, address: Address, slot: U256) {
        if self.config.disable_storage {
            return;
        }
        let index = self.account(context, address);
        let account = &mut self.accounts[index];
        if account.storage.contains_key(&slot) {
            return;
        }
        match context.db_mut().storage(address, slot) {
            Ok(value) => {
                self.bytes += 2 * size_of::<U256>();
                account.storage.insert(slot, value);
            }
            Err(error) => *context.error() = Err(ContextError::Db(error)),
        }
    }

    /// The accounts that the transaction itself names, before anything of it has had an effect.
    fn start(&mut self, context: &mut EvmContext<'_>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        // The order of OnTxStart in go-ethereum (eth/tracers/native/prestate.go) does not matter:
        // accounts are sorted at the end.
        let from = context.tx().caller();
        let to = match context.tx().kind().to() {
            Some(to) => *to,
            None => {
                // The journal has raised the nonce by now.
                let nonce = context.db_mut().basic(from).ok().flatten().map_or(0, |info| info.nonce);
                let to = from.create(nonce);
                self.created.insert(to);
                to
            }
        };
        // EIP-7702: the code of the recipient may be that of another account.
        if context.tx().kind().is_call() && self.is(Fork::Prague) {
            let info = context.db_mut().basic(to).ok().flatten();
            let target = info.and_then(|info| code(context, info.code, info.code_hash)?.eip7702_address());
            if let Some(target) = target {
                self.account(context, target);
            }
        }
        for address in [from, to, self.coinbase] {
            self.account(context, address);
        }
        let authorities: Vec<Address> =
            context.tx().authorization_list().filter_map(|signed| signed.authority()).collect();
        for authority in authorities {
            self.account(context, authority);
        }
    }

    /// What the instruction that comes next looks at.
    fn look_of(
        &self,
        opcode: u8,
        interpreter: &Interpreter,
        context: &mut EvmContext<'_>,
    ) -> Option<StateAccess> {
        let stack = interpreter.stack.data();
        let item = |depth: usize| stack.len().checked_sub(depth + 1).map(|index| stack[index]);
        let address = |depth| item(depth).map(|word: U256| Address::from_word(word.into()));
        Some(match opcode {
            op::SLOAD | op::SSTORE => StateAccess::Slot(item(0)?),
            op::SELFDESTRUCT => StateAccess::SelfDestruct(address(0)?),
            op::CALL | op::CALLCODE | op::DELEGATECALL | op::STATICCALL => {
                // OnOpcode of go-ethereum wants five items on the stack, whatever the call takes.
                item(4)?;
                StateAccess::Call(address(1)?)
            }
            op::CREATE => {
                let caller = interpreter.input.target_address();
                let account = context.journal_mut().load_account(caller).ok()?;
                StateAccess::Create(caller.create(account.data.info.nonce))
            }
            op::CREATE2 => {
                let (offset, size, salt) = (item(1)?, item(2)?, item(3)?);
                // The instruction has not expanded the memory yet: what lies beyond is zero.
                let memory = interpreter.memory.slice(0..interpreter.memory.size());
                let init = copy_padded(&memory, offset, size)?;
                StateAccess::Create(
                    interpreter.input.target_address().create2(B256::from(salt), keccak256(&init)),
                )
            }
            _ => StateAccess::Account(address(0)?),
        })
    }

    fn look_up(&mut self, look: StateAccess, contract: Address, context: &mut EvmContext<'_>) {
        match look {
            StateAccess::Slot(slot) => self.slot(context, contract, slot),
            StateAccess::Account(address) => {
                self.account(context, address);
            }
            StateAccess::SelfDestruct(target) => {
                self.account(context, target);
                // EIP-6780: from Cancun on only what the same transaction created is deleted.
                if !self.is(Fork::Cancun) || self.created.contains(&contract) {
                    self.deleted.insert(contract);
                }
            }
            StateAccess::Call(address) => {
                self.account(context, address);
                if self.is(Fork::Prague)
                    && let Ok(found) = context.journal_mut().load_account_with_code(address)
                    && let Some(target) = found.data.info.code.as_ref().and_then(Bytecode::eip7702_address)
                {
                    self.account(context, target);
                }
            }
            StateAccess::Create(address) => {
                self.account(context, address);
                self.created.insert(address);
            }
        }
    }
}

/// Code from what the account carries, else from the state.
fn code(context: &mut EvmContext<'_>, carried: Option<Bytecode>, hash: B256) -> Option<Bytecode> {
    if hash == KECCAK256_EMPTY || hash.is_zero() {
        return None;
    }
    if carried.is_some() {
        return carried;
    }
    match context.db_mut().code_by_hash(hash) {
        Ok(code) => Some(code),
        Err(error) => {
            *context.error() = Err(ContextError::Db(error));
            None
        }
    }
}

/// The result of an instruction that failed.
pub(crate) fn failed_with(interpreter: &mut Interpreter) -> Option<InstructionResult> {
    match interpreter.bytecode.action() {
        Some(InterpreterAction::Return(result)) if !result.result.is_ok_or_revert() => Some(result.result),
        _ => None,
    }
}

impl<'a> Inspector<EvmContext<'a>> for PrestateTracer {
    #[inline]
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        let opcode = interpreter.bytecode.opcode();
        if !LOOKS[usize::from(opcode)] {
            return;
        }
        self.before = Before::of(interpreter, context);
        self.look = self.look_of(opcode, interpreter, context);
    }

    #[inline]
    fn step_end(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        let Some(look) = self.look.take() else { return };
        // go-ethereum calls OnOpcode once the gas of an instruction is charged: what it could not
        // pay for is not looked at, what failed later is.
        if let Some(result) = failed_with(interpreter) {
            let fault = Failure::of(interpreter, &self.before, context).classify(result, context);
            if fault.is_unpaid() {
                return;
            }
        }
        self.look_up(look, interpreter.input.target_address(), context);
    }

    fn call(&mut self, context: &mut EvmContext<'a>, _: &mut CallInputs) -> Option<CallOutcome> {
        self.start(context);
        None
    }

    fn create(&mut self, context: &mut EvmContext<'a>, _: &mut CreateInputs) -> Option<CreateOutcome> {
        self.start(context);
        None
    }
}

impl Observed for PrestateTracer {
    fn size_bytes(&self) -> usize {
        self.bytes
    }
}

impl Tracing for PrestateTracer {
    fn begin(&mut self, tx: &TxContext) {
        self.accounts.clear();
        self.index.clear();
        self.created.clear();
        self.deleted.clear();
        self.diff.clear();
        self.fork = Some(tx.fork);
        self.coinbase = tx.coinbase;
        self.started = false;
        self.look = None;
        self.bytes = 0;
    }

    fn finish(&mut self, end: &TxEnd<'_>) {
        if self.config.diff_mode {
            self.diff = render::differences(self, end.writes);
        }
        self.accounts.sort_unstable_by_key(|account| account.address);
    }

    fn render(&mut self, json: &mut JsonWriter<'_>) {
        render::write(self, json);
    }
}
