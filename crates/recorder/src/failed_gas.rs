//! The cost that go-ethereum reports for an instruction that did not run. Its tracers receive the
//! cost before the instruction runs, so a failed step has a cost as well (core/vm/gas_table.go,
//! core/vm/operations_acl.go).

use crate::classify::Failure;
use crate::fault::Fault;
use crate::opcode::constant_gas;
use alloy_primitives::{Address, U256};
use revm::bytecode::{Bytecode, opcode as op};
use revm::context::JournalEntry;
use revm::context_interface::cfg::GasId;
use revm::context_interface::journaled_state::entry::SelfdestructionRevertStatus;
use revm::context_interface::{Cfg as _, ContextTr, JournalTr};
use revm::inspector::JournalExt;
use revm::primitives::hardfork::SpecId;
use revm::state::AccountInfo;

/// A word of data that is hashed (yellow paper, G_keccak256word; EIP-1014 for CREATE2).
const HASHED_WORD_GAS: u64 = 6;
/// A word that is copied (yellow paper, G_copy).
const COPIED_WORD_GAS: u64 = 3;
/// A word of init code (EIP-3860).
const INIT_CODE_WORD_GAS: u64 = 2;
/// EXP with exponent zero (yellow paper, G_exp).
const EXP_GAS: u64 = 10;
/// A byte of EXP's exponent, before EIP-160 and since.
const EXP_BYTE_GAS: (u64, u64) = (10, 50);
/// A log, and each of its topics (yellow paper, G_log and G_logtopic).
const LOG_TOPIC_GAS: u64 = 375;
/// A byte of a log's data (yellow paper, G_logdata).
const LOG_BYTE_GAS: u64 = 8;
/// Access of a slot or an account that the transaction has touched (EIP-2929).
const WARM_ACCESS_GAS: u64 = 100;
/// A slot that becomes non-zero (yellow paper, G_sset; EIP-2200).
const STORE_SET_GAS: u64 = 20_000;
/// A slot whose value changes otherwise (yellow paper, G_sreset; EIP-2200).
const STORE_RESET_GAS: u64 = 5_000;
/// The same since EIP-2929, which charges the cold access apart.
const WARM_STORE_RESET_GAS: u64 = 2_900;
/// A store that changes nothing, or changes a slot again, in Istanbul (EIP-2200, EIP-1884).
const EIP_2200_NOOP_GAS: u64 = 800;
/// Refund for a slot that becomes zero (yellow paper, R_sclear; EIP-1283, EIP-2200).
const STORE_CLEARED_REFUND: u64 = 15_000;
/// The same since EIP-3529.
const EIP_3529_CLEARED_REFUND: u64 = 4_800;
/// Access of a slot that the transaction has not touched (EIP-2929).
const COLD_SLOT_GAS: u64 = 2_100;
/// A store that changes nothing, or changes a slot again, in Constantinople (EIP-1283).
const EIP_1283_NOOP_GAS: u64 = 200;
/// What a cold account costs on top of a warm one (EIP-2929).
const COLD_ACCOUNT_EXTRA_GAS: u64 = 2_500;
/// Sending value along with a call (yellow paper, G_callvalue).
const CALL_VALUE_GAS: u64 = 9_000;
/// Making an account by a call or a self-destruct (yellow paper, G_newaccount; EIP-150, EIP-161).
const NEW_ACCOUNT_GAS: u64 = 25_000;

/// Access of an account that the transaction has not touched (EIP-2929; EIP-7702 for the target of
/// a delegation).
const COLD_ACCOUNT_GAS: u64 = COLD_ACCOUNT_EXTRA_GAS + WARM_ACCESS_GAS;
/// Refund for a contract that destroys itself (yellow paper, R_selfdestruct), until EIP-3529.
const SELFDESTRUCT_REFUND: i64 = 24_000;

/// What the step of a failed instruction says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailedStep {
    /// Gas that the instruction would have cost.
    pub cost: u64,
    /// What computing that has added to the refund counter.
    pub refund: i64,
}

impl Failure {
    /// Cost and refund of the instruction that failed with `fault` in a frame of `contract`.
    pub fn step<CTX: ContextTr<Journal: JournalExt>>(
        &self,
        fault: &Fault,
        contract: Address,
        context: &mut CTX,
    ) -> FailedStep {
        let constant = constant_gas(self.opcode, self.spec);
        let before_dynamic = match fault {
            Fault::InvalidOpcode(_) => return FailedStep::default(),
            Fault::StackUnderflow { .. } | Fault::StackOverflow { .. } => true,
            Fault::GasUintOverflow | Fault::GasRefused(_) => true,
            _ => self.gas < constant,
        };
        if before_dynamic {
            return FailedStep { cost: constant, refund: 0 };
        }
        let (dynamic, refund) = self.dynamic(contract, context);
        FailedStep { cost: constant.saturating_add(dynamic), refund }
    }

    /// Gas that the instruction needs, even if not even its constant part could be paid:
    /// OpenEthereum adds up both before it compares with the gas left
    /// (`ethcore/evm/src/interpreter/gasometer.rs`).
    pub fn wanted<CTX: ContextTr<Journal: JournalExt>>(
        &self,
        fault: &Fault,
        contract: Address,
        context: &mut CTX,
    ) -> u64 {
        let constant = constant_gas(self.opcode, self.spec);
        match fault {
            Fault::OutOfGas if self.gas < constant => {
                constant.saturating_add(self.dynamic(contract, context).0)
            }
            _ => self.step(fault, contract, context).cost,
        }
    }

    fn since(&self, fork: SpecId) -> bool {
        self.spec.is_enabled_in(fork)
    }

    fn address(&self, item: usize) -> Address {
        Address::from_word(self.items[item].into())
    }

    fn dynamic<CTX: ContextTr<Journal: JournalExt>>(
        &self,
        contract: Address,
        context: &mut CTX,
    ) -> (u64, i64) {
        let words = |bytes: U256| bytes.saturating_to::<u64>().div_ceil(32);
        let [_, size, length, extra, ..] = self.items;
        let memory = || self.memory_gas();
        let gas = match self.opcode {
            op::MLOAD | op::MSTORE | op::MSTORE8 | op::RETURN | op::REVERT => memory(),
            op::KECCAK256 => memory().saturating_add(words(size).saturating_mul(HASHED_WORD_GAS)),
            op::CALLDATACOPY | op::CODECOPY | op::RETURNDATACOPY | op::MCOPY => {
                memory().saturating_add(words(length).saturating_mul(COPIED_WORD_GAS))
            }
            op::EXTCODECOPY => {
                let copy = memory().saturating_add(words(extra).saturating_mul(COPIED_WORD_GAS));
                copy.saturating_add(self.account_gas(context))
            }
            op::EXP => {
                let (frontier, eip_160) = EXP_BYTE_GAS;
                let each = if self.since(SpecId::SPURIOUS_DRAGON) { eip_160 } else { frontier };
                EXP_GAS + each * size.bit_len().div_ceil(8) as u64
            }
            op::LOG0..=op::LOG4 => {
                let topics = u64::from(self.opcode - op::LOG0);
                let data = size.saturating_to::<u64>().saturating_mul(LOG_BYTE_GAS);
                memory().saturating_add(data).saturating_add(LOG_TOPIC_GAS * (topics + 1))
            }
            op::CREATE | op::CREATE2 => {
                let code = if self.since(SpecId::SHANGHAI) { INIT_CODE_WORD_GAS } else { 0 };
                let hash = if self.opcode == op::CREATE2 { HASHED_WORD_GAS } else { 0 };
                memory().saturating_add(words(length).saturating_mul(code + hash))
            }
            op::BALANCE | op::EXTCODESIZE | op::EXTCODEHASH => self.account_gas(context),
            op::SLOAD if self.since(SpecId::BERLIN) => {
                if self.slot_was_cold(context, contract) {
                    COLD_SLOT_GAS
                } else {
                    WARM_ACCESS_GAS
                }
            }
            op::SSTORE => return self.store_gas(context, contract),
            op::SELFDESTRUCT => return self.selfdestruct_gas(context, contract),
            op::CALL | op::CALLCODE | op::DELEGATECALL | op::STATICCALL => self.call_gas(context),
            _ => 0,
        };
        (gas, 0)
    }

    fn account_gas<CTX: ContextTr<Journal: JournalExt>>(&self, context: &mut CTX) -> u64 {
        let cold = self.since(SpecId::BERLIN) && self.was_cold(context, self.address(0));
        if cold { COLD_ACCOUNT_EXTRA_GAS } else { 0 }
    }

    fn slot_was_cold<CTX: ContextTr<Journal: JournalExt>>(
        &self,
        context: &mut CTX,
        contract: Address,
    ) -> bool {
        let slot = self.items[0];
        let warmed_now = self.new_entries(context).iter().any(|entry| {
            matches!(entry, JournalEntry::StorageWarmed { address, key } if *address == contract && *key == slot)
        });
        warmed_now || context.journal_mut().sload_skip_cold_load(contract, slot, true).is_err()
    }

    /// What the instruction itself has put into the journal.
    fn new_entries<'c, CTX: ContextTr<Journal: JournalExt>>(&self, context: &'c CTX) -> &'c [JournalEntry] {
        context.journal_ref().journal().get(self.journal..).unwrap_or_default()
    }

    /// The value of the instruction's slot before the transaction, and before the instruction.
    fn slot_values<CTX: ContextTr<Journal: JournalExt>>(
        &self,
        context: &mut CTX,
        contract: Address,
    ) -> (U256, U256) {
        let slot = self.items[0];
        let overwritten = self.new_entries(context).iter().find_map(|entry| match entry {
            JournalEntry::StorageChanged { address, key, had_value }
                if *address == contract && *key == slot =>
            {
                Some(*had_value)
            }
            _ => None,
        });
        // The frame is about to be undone, and with it that this warms the slot.
        let present = context.journal_mut().sload(contract, slot).map_or(U256::ZERO, |load| load.data);
        let current = overwritten.unwrap_or(present);
        let state = context.journal_ref().evm_state();
        let original = state
            .get(&contract)
            .and_then(|account| account.storage.get(&slot))
            .map_or(current, |slot| slot.original_value);
        (original, current)
    }

    fn store_gas<CTX: ContextTr<Journal: JournalExt>>(
        &self,
        context: &mut CTX,
        contract: Address,
    ) -> (u64, i64) {
        let cold = if self.since(SpecId::BERLIN) && self.slot_was_cold(context, contract) {
            COLD_SLOT_GAS
        } else {
            0
        };
        let (original, current) = self.slot_values(context, contract);
        let new = self.items[1];
        // Constantinople meters as Istanbul does but with other prices (EIP-1283). revm has no name
        // for it: its rules are Petersburg's with this price of a store that changes nothing.
        let eip_1283 = !self.since(SpecId::ISTANBUL)
            && context.cfg().gas_params().get(GasId::sstore_static()) == EIP_1283_NOOP_GAS;
        if !self.since(SpecId::ISTANBUL) && !eip_1283 {
            return match (current.is_zero(), new.is_zero()) {
                (true, false) => (STORE_SET_GAS, 0),
                (false, true) => (STORE_RESET_GAS, STORE_CLEARED_REFUND as i64),
                _ => (STORE_RESET_GAS, 0),
            };
        }
        let (warm, reset) = if self.since(SpecId::BERLIN) {
            (WARM_ACCESS_GAS, WARM_STORE_RESET_GAS)
        } else {
            (if eip_1283 { EIP_1283_NOOP_GAS } else { EIP_2200_NOOP_GAS }, STORE_RESET_GAS)
        };
        let clearing =
            (if self.since(SpecId::LONDON) { EIP_3529_CLEARED_REFUND } else { STORE_CLEARED_REFUND }) as i64;
        if current == new {
            return (cold + warm, 0);
        }
        if original == current {
            return match (original.is_zero(), new.is_zero()) {
                (true, _) => (cold + STORE_SET_GAS, 0),
                (false, true) => (cold + reset, clearing),
                (false, false) => (cold + reset, 0),
            };
        }
        let mut refund = 0;
        if !original.is_zero() {
            if current.is_zero() {
                refund -= clearing;
            } else if new.is_zero() {
                refund += clearing;
            }
        }
        if original == new {
            refund += (if original.is_zero() { STORE_SET_GAS } else { reset }) as i64 - warm as i64;
        }
        (cold + warm, refund)
    }

    fn is_missing<CTX: ContextTr<Journal: JournalExt>>(&self, context: &mut CTX, address: Address) -> bool {
        let spec = self.spec;
        context
            .journal_mut()
            .load_account(address)
            .is_ok_and(|account| account.data.state_clear_aware_is_empty(spec))
    }

    fn selfdestruct_gas<CTX: ContextTr<Journal: JournalExt>>(
        &self,
        context: &mut CTX,
        contract: Address,
    ) -> (u64, i64) {
        let heir = self.address(0);
        let mut gas = 0;
        if self.since(SpecId::BERLIN) {
            if self.was_cold(context, heir) {
                gas += 2_600;
            }
        } else if self.since(SpecId::TANGERINE) {
            gas += 5_000;
        }
        // revm charges the new account after the contract is destroyed and its balance is moved.
        let (mut moved, mut destroyed_now, mut touched_now) = (None, false, false);
        for entry in self.new_entries(context) {
            match entry {
                JournalEntry::AccountDestroyed { address, had_balance, destroyed_status, .. }
                    if *address == contract =>
                {
                    moved = Some(*had_balance);
                    destroyed_now =
                        !matches!(destroyed_status, SelfdestructionRevertStatus::RepeatedSelfdestruction);
                }
                JournalEntry::BalanceTransfer { from, balance, .. } if *from == contract => {
                    moved = Some(*balance);
                }
                JournalEntry::AccountTouched { address } if *address == heir => touched_now = true,
                _ => {}
            }
        }
        let given = if heir == contract { U256::ZERO } else { moved.unwrap_or_default() };
        let present = context
            .journal_mut()
            .load_account(contract)
            .map_or(U256::ZERO, |account| account.data.info.balance);
        let balance = moved.unwrap_or(present);
        let pays = !self.since(SpecId::SPURIOUS_DRAGON) || !balance.is_zero();
        let missing = context.journal_mut().load_account(heir).is_ok_and(|load| {
            let account = &load.data;
            if !self.since(SpecId::SPURIOUS_DRAGON) {
                return account.is_loaded_as_not_existing() && (touched_now || !account.is_touched());
            }
            let balance = account.info.balance.saturating_sub(given);
            AccountInfo { balance, ..account.info.clone() }.is_empty()
        });
        if self.since(SpecId::TANGERINE) && pays && missing {
            gas += NEW_ACCOUNT_GAS;
        }
        let destroyed = !destroyed_now
            && context.journal_ref().evm_state().get(&contract).is_some_and(|a| a.is_selfdestructed());
        let refund = if self.since(SpecId::LONDON) || destroyed { 0 } else { SELFDESTRUCT_REFUND };
        (gas, refund)
    }

    fn call_gas<CTX: ContextTr<Journal: JournalExt>>(&self, context: &mut CTX) -> u64 {
        let target = self.address(1);
        let mut left = self.gas_after_constant();
        let mut access = 0;
        if self.since(SpecId::BERLIN) && self.was_cold(context, target) {
            access += COLD_ACCOUNT_EXTRA_GAS;
        }
        if self.since(SpecId::PRAGUE) {
            let code = context.journal_mut().load_account_with_code(target).ok();
            let delegate = code
                .and_then(|account| account.data.info.code.clone())
                .as_ref()
                .and_then(Bytecode::eip7702_address);
            if let Some(delegate) = delegate {
                access += if self.was_cold(context, delegate) { COLD_ACCOUNT_GAS } else { WARM_ACCESS_GAS };
            }
        }
        left = left.saturating_sub(access);
        let value = matches!(self.opcode, op::CALL | op::CALLCODE) && !self.items[2].is_zero();
        let mut base = self.memory_gas();
        if value {
            base = base.saturating_add(CALL_VALUE_GAS);
        }
        let makes_account = self.opcode == op::CALL
            && (value || !self.since(SpecId::SPURIOUS_DRAGON))
            && self.is_missing(context, target);
        if makes_account {
            base = base.saturating_add(NEW_ACCOUNT_GAS);
        }
        let asked = u64::try_from(self.items[0]).unwrap_or(u64::MAX);
        let given = if self.since(SpecId::TANGERINE) {
            // The reference subtracts without looking, so that too little gas becomes very much.
            let rest = left.wrapping_sub(base);
            asked.min(rest - rest / 64)
        } else {
            asked
        };
        base.saturating_add(given).saturating_add(access)
    }
}
