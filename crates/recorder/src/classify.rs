//! Finds out why an instruction failed, in go-ethereum's order of checks (core/vm/interpreter.go:
//! Run): that it exists, the
//! stack, its constant gas, the size of memory, the rest of its gas, and then its effect.
//!
//! revm checks in another order, and two things may be wrong at once, so revm's reason only counts
//! for what remains.

use crate::fault::{Fault, GasRefusal};
use crate::opcode::{constant_gas, inputs, is_active, max_stack};
use crate::recorder_hooks::Before;
use alloy_primitives::{Address, U256};
use revm::bytecode::{Bytecode, opcode as op};
use revm::context::JournalEntry;
use revm::context_interface::{Cfg as _, ContextTr, JournalTr};
use revm::inspector::JournalExt;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::{Jumps, LegacyBytecode, MemoryTr, RuntimeFlag};
use revm::interpreter::{InstructionResult, Interpreter};
use revm::primitives::hardfork::SpecId;

/// Most items that an instruction with checks of its own takes from the stack (CALL).
const MAX_ITEMS: usize = 7;
/// Largest memory whose gas fits 64 bits, in bytes.
const MAX_MEMORY_BYTES: u64 = 0x1F_FFFF_FFE0;
/// Bytes of a word of memory.
const WORD_BYTES: u64 = 32;
/// What SSTORE must leave (EIP-2200).
const SSTORE_SENTRY_GAS: u64 = 2_300;
/// Access of an account that the transaction has not touched (EIP-2929).
const COLD_ACCOUNT_GAS: u64 = 2_600;
/// Access of one that it has.
const WARM_ACCESS_GAS: u64 = 100;

/// An instruction that failed, and what was there before it.
pub struct Failure {
    /// The instruction.
    pub opcode: u8,
    /// Rules in force.
    pub spec: SpecId,
    /// Whether the frame must not change state.
    pub is_static: bool,
    /// Height of the stack.
    pub height: usize,
    /// Gas left.
    pub gas: u64,
    /// Length of the journal.
    pub journal: usize,
    /// Size of memory in bytes.
    pub memory: u64,
    /// Items from the top of the stack on, as far as there are.
    pub items: [U256; MAX_ITEMS],
}

impl Failure {
    /// Reads the interpreter after a failed instruction. The frame does not continue, so its stack
    /// may be changed.
    pub fn of<CTX: ContextTr<Journal: JournalExt>>(
        interpreter: &mut Interpreter<EthInterpreter>,
        before: &Before,
        context: &CTX,
    ) -> Self {
        let pc = interpreter.bytecode.pc().saturating_sub(1);
        let opcode = interpreter.bytecode.bytecode_slice().get(pc).copied().unwrap_or_default();
        let mut items = [U256::ZERO; MAX_ITEMS];
        let depth = context.journal().depth();
        debug_assert_eq!(before.depth, depth, "the height of another frame's stack");
        let stack = interpreter.stack.data_mut();
        if before.depth == depth && before.stack <= stack.capacity() && before.stack >= stack.len() {
            // SAFETY: the stack of this frame had this height before the instruction, so the items
            // up to it are initialised. Removing items does not change that: they are plain
            // numbers.
            unsafe { stack.set_len(before.stack) };
        }
        for (item, word) in items.iter_mut().zip(stack.iter().rev()) {
            *item = *word;
        }
        Self {
            opcode,
            spec: interpreter.runtime_flag.spec_id(),
            is_static: interpreter.runtime_flag.is_static(),
            height: before.stack,
            gas: before.gas,
            journal: before.journal,
            memory: interpreter.memory.size() as u64,
            items,
        }
    }

    /// Sets the size of memory before the instruction, in bytes: revm extends the memory before it
    /// charges all of the gas.
    pub fn with_memory(self, memory: u64) -> Self {
        Self { memory, ..self }
    }

    /// The fault. `result` is revm's reason.
    pub fn classify<CTX: ContextTr<Journal: JournalExt>>(
        &self,
        result: InstructionResult,
        context: &mut CTX,
    ) -> Fault {
        self.before_gas().or_else(|| self.refusal(context)).unwrap_or_else(|| self.after_gas(result))
    }

    fn before_gas(&self) -> Option<Fault> {
        if !is_active(self.opcode, self.spec) {
            return Some(Fault::InvalidOpcode(self.opcode));
        }
        let (required, limit) = (inputs(self.opcode), max_stack(self.opcode));
        if self.height < required {
            return Some(Fault::StackUnderflow { len: self.height, required });
        }
        if self.height > limit {
            return Some(Fault::StackOverflow { len: self.height, limit });
        }
        if self.gas < constant_gas(self.opcode, self.spec) {
            return Some(Fault::OutOfGas);
        }
        match self.memory_needed() {
            None => Some(Fault::GasUintOverflow),
            // The size is rounded up to whole words, which must still fit.
            Some(size) if size > u64::MAX - (WORD_BYTES - 1) => Some(Fault::GasUintOverflow),
            Some(_) => None,
        }
    }

    /// Size of memory in bytes that the instruction needs; `None` if it exceeds 64 bits.
    fn memory_needed(&self) -> Option<u64> {
        let [a, b, c, d, e, f, g] = self.items;
        match self.opcode {
            op::KECCAK256 | op::RETURN | op::REVERT | op::LOG0..=op::LOG4 => end_of(a, b),
            op::CALLDATACOPY | op::CODECOPY | op::RETURNDATACOPY => end_of(a, c),
            op::EXTCODECOPY => end_of(b, d),
            op::MLOAD | op::MSTORE => end_of(a, U256::from(WORD_BYTES)),
            op::MSTORE8 => end_of(a, U256::from(1)),
            op::MCOPY => end_of(a.max(b), c),
            op::CREATE | op::CREATE2 => end_of(b, c),
            op::CALL | op::CALLCODE => Some(end_of(f, g)?.max(end_of(d, e)?)),
            op::DELEGATECALL | op::STATICCALL => Some(end_of(e, f)?.max(end_of(c, d)?)),
            _ => Some(0),
        }
    }

    fn memory_overflows(&self) -> bool {
        self.memory_needed().is_some_and(|size| size > MAX_MEMORY_BYTES)
    }

    /// Gas left after the constant part.
    pub fn gas_after_constant(&self) -> u64 {
        self.gas.saturating_sub(constant_gas(self.opcode, self.spec))
    }

    /// Why the rest of the gas could not be computed, where that is so.
    fn refusal<CTX: ContextTr<Journal: JournalExt>>(&self, context: &mut CTX) -> Option<Fault> {
        let refused = match self.opcode {
            op::SSTORE if self.is_static => Some(GasRefusal::WriteProtection),
            op::SSTORE if self.spec.is_enabled_in(SpecId::ISTANBUL) && self.gas <= SSTORE_SENTRY_GAS => {
                Some(GasRefusal::ReentrancySentry)
            }
            op::SELFDESTRUCT if self.is_static => Some(GasRefusal::WriteProtection),
            op::SELFDESTRUCT => self.selfdestruct_refusal(context),
            op::CALL | op::CALLCODE | op::DELEGATECALL | op::STATICCALL => self.call_refusal(context),
            _ if self.memory_overflows() => Some(GasRefusal::Overflow),
            op::CREATE | op::CREATE2 if self.spec.is_enabled_in(SpecId::SHANGHAI) => {
                let size = self.items[2].saturating_to::<u64>();
                (size > context.cfg().max_initcode_size() as u64).then_some(GasRefusal::InitCodeSize(size))
            }
            _ => None,
        };
        refused.map(Fault::GasRefused)
    }

    fn selfdestruct_refusal<CTX: ContextTr<Journal: JournalExt>>(
        &self,
        context: &mut CTX,
    ) -> Option<GasRefusal> {
        let target = Address::from_word(self.items[0].into());
        let unpaid = self.spec.is_enabled_in(SpecId::BERLIN) && self.gas_after_constant() < COLD_ACCOUNT_GAS;
        (unpaid && self.was_cold(context, target)).then_some(GasRefusal::OutOfGas)
    }

    fn call_refusal<CTX: ContextTr<Journal: JournalExt>>(&self, context: &mut CTX) -> Option<GasRefusal> {
        let pays = matches!(self.opcode, op::CALL) && !self.items[2].is_zero();
        let protected = self.is_static && pays;
        if protected && self.spec.is_enabled_in(SpecId::PRAGUE) {
            return Some(GasRefusal::WriteProtection);
        }
        if self.spec.is_enabled_in(SpecId::BERLIN) && !self.pays_access(context) {
            return Some(GasRefusal::OutOfGas);
        }
        if protected {
            return Some(GasRefusal::WriteProtection);
        }
        if self.memory_overflows() {
            return Some(GasRefusal::Overflow);
        }
        let gas_asked = self.items[0];
        let overflow = !self.spec.is_enabled_in(SpecId::TANGERINE)
            && gas_asked.saturating_add(self.call_base_gas(context)) > U256::from(u64::MAX);
        overflow.then_some(GasRefusal::Overflow)
    }

    /// Gas of a call before Tangerine Whistle, without what the callee gets.
    fn call_base_gas<CTX: ContextTr<Journal: JournalExt>>(&self, context: &mut CTX) -> U256 {
        let mut gas = self.memory_gas();
        if matches!(self.opcode, op::CALL | op::CALLCODE) && !self.items[2].is_zero() {
            gas += 9_000;
        }
        if self.opcode == op::CALL {
            let target = Address::from_word(self.items[1].into());
            let spec = self.spec;
            let exists = context
                .journal_mut()
                .load_account(target)
                .is_ok_and(|account| !account.data.state_clear_aware_is_empty(spec));
            gas += if exists { 0 } else { 25_000 };
        }
        U256::from(gas)
    }

    /// Whether the gas suffices to load the callee (EIP-2929) and the account that it delegates to
    /// (EIP-7702).
    fn pays_access<CTX: ContextTr<Journal: JournalExt>>(&self, context: &mut CTX) -> bool {
        let target = Address::from_word(self.items[1].into());
        let mut gas = self.gas_after_constant();
        if self.was_cold(context, target) {
            let Some(rest) = gas.checked_sub(COLD_ACCOUNT_GAS - WARM_ACCESS_GAS) else { return false };
            gas = rest;
        }
        if !self.spec.is_enabled_in(SpecId::PRAGUE) {
            return true;
        }
        let code = context
            .journal_mut()
            .load_account_with_code(target)
            .ok()
            .and_then(|account| account.data.info.code.clone());
        let Some(delegate) = code.as_ref().and_then(Bytecode::eip7702_address) else { return true };
        gas >= if self.was_cold(context, delegate) { COLD_ACCOUNT_GAS } else { WARM_ACCESS_GAS }
    }

    /// Whether the transaction had not touched the account before this instruction.
    pub fn was_cold<CTX: ContextTr<Journal: JournalExt>>(&self, context: &mut CTX, address: Address) -> bool {
        let warmed_now = context.journal().journal().get(self.journal..).unwrap_or_default().iter().any(
            |entry| matches!(entry, JournalEntry::AccountWarmed { address: warmed } if *warmed == address),
        );
        warmed_now || context.journal_mut().load_account_info_skip_cold_load(address, false, true).is_err()
    }

    /// Gas for growing the memory to the size that the instruction needs.
    pub fn memory_gas(&self) -> u64 {
        let words = |bytes: u64| bytes.div_ceil(WORD_BYTES);
        let cost = |words: u64| words.saturating_mul(3).saturating_add(words.saturating_mul(words) / 512);
        cost(words(self.memory_needed().unwrap_or(u64::MAX))).saturating_sub(cost(words(self.memory)))
    }

    /// Gas beyond the constant part, for those instructions that check it before revm's first
    /// check.
    fn dynamic_gas(&self) -> Option<u64> {
        let words = |bytes: U256| bytes.saturating_to::<u64>().div_ceil(WORD_BYTES);
        let [_, size, length, ..] = self.items;
        let per_word = match self.opcode {
            op::CREATE | op::CREATE2 => {
                let init_code = if self.spec.is_enabled_in(SpecId::SHANGHAI) { 2 } else { 0 };
                let hash = if self.opcode == op::CREATE2 { 6 } else { 0 };
                words(length).saturating_mul(init_code + hash)
            }
            op::RETURNDATACOPY => words(length).saturating_mul(3),
            op::LOG0..=op::LOG4 => {
                let topics = u64::from(self.opcode - op::LOG0);
                size.saturating_to::<u64>().saturating_mul(8).saturating_add(375 * (topics + 1))
            }
            _ => return None,
        };
        Some(self.memory_gas().saturating_add(per_word))
    }

    fn after_gas(&self, result: InstructionResult) -> Fault {
        let fault = match result {
            InstructionResult::InvalidJump => return Fault::InvalidJump,
            InstructionResult::OutOfOffset => Fault::ReturnDataOutOfBounds,
            InstructionResult::StateChangeDuringStaticCall
            | InstructionResult::CallNotAllowedInsideStatic => Fault::WriteProtection,
            _ => return Fault::OutOfGas,
        };
        let unpaid = self.dynamic_gas().is_some_and(|gas| self.gas_after_constant() < gas);
        if unpaid { Fault::OutOfGas } else { fault }
    }
}

/// End of a range of memory; zero where it is empty, `None` where it does not fit 64 bits.
fn end_of(offset: U256, length: U256) -> Option<u64> {
    let length = u64::try_from(length).ok()?;
    if length == 0 {
        return Some(0);
    }
    u64::try_from(offset).ok()?.checked_add(length)
}
