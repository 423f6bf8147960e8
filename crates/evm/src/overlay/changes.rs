//! What a block's steps change: taking changes over, listing them, putting them on top of a state.

use super::{BlockState, Slot};
use crate::code_cache;
use alloy_primitives::{B256, KECCAK256_EMPTY, U256};
use hearth_primitives::{Account, AccountChange, Changeset, ReadSet, SlotChange, StateError, TraceCapsule};
use revm::{bytecode::Bytecode, state::EvmState};

impl BlockState<'_> {
    /// Takes over what a transaction touched. `delete_empty`: EIP-161 is in force.
    ///
    /// # Errors
    /// The store's, when the storage of a destroyed account is listed.
    pub(crate) fn commit(&mut self, state: EvmState, delete_empty: bool) -> Result<Changeset, StateError> {
        let mut changes = Changeset::default();
        if self.captures() {
            self.capture_slots(&state)?;
        }
        for (address, account) in state {
            if !account.is_touched() {
                continue;
            }
            let index = self.entry_index(address)?;
            let old = self.entries[index].now;
            let gone = account.is_selfdestructed() || (delete_empty && account.is_empty());
            if gone {
                if old.is_some() {
                    let storage = self.wipe(index)?;
                    self.entries[index].now = None;
                    changes.accounts.push(AccountChange { address, old, new: None, wiped: true, storage });
                }
                continue;
            }
            let info = &account.info;
            let code_hash = if info.code_hash.is_zero() { KECCAK256_EMPTY } else { info.code_hash };
            let new = Some(Account { nonce: info.nonce, balance: info.balance, code_hash });
            let changed = code_hash != KECCAK256_EMPTY && old.map(|old| old.code_hash) != Some(code_hash);
            if let Some(code) = info.code.as_ref().filter(|_| changed) {
                self.deploy(code_hash, code, &mut changes);
            }
            let entry = &mut self.entries[index];
            entry.now = new;
            let mut storage = Vec::new();
            for (key, slot) in account.storage {
                if slot.original_value == slot.present_value {
                    continue;
                }
                let known = entry.slots.entry(key).or_insert(Slot { start: U256::ZERO, now: U256::ZERO });
                if known.now != slot.present_value {
                    storage.push(SlotChange { slot: key, old: known.now, new: slot.present_value });
                    known.now = slot.present_value;
                }
            }
            storage.sort_unstable_by_key(|change| change.slot);
            if old != new || !storage.is_empty() {
                changes.accounts.push(AccountChange { address, old, new, wiped: false, storage });
            }
        }
        changes.accounts.sort_unstable_by_key(|change| change.address);
        changes.codes.sort_unstable_by_key(|(hash, _)| *hash);
        Ok(changes)
    }

    fn deploy(&mut self, hash: B256, code: &Bytecode, changes: &mut Changeset) {
        if changes.codes.iter().any(|(known, _)| *known == hash) {
            return;
        }
        let bytes = code.original_bytes();
        self.codes.insert(hash, code.clone());
        self.new_codes.insert(hash, bytes.clone());
        changes.codes.push((hash, bytes));
    }

    /// Empties an account's storage and lists every slot that had a value.
    fn wipe(&mut self, index: usize) -> Result<Vec<SlotChange>, StateError> {
        self.load_whole(index)?;
        let entry = &mut self.entries[index];
        entry.wiped |= entry.start.is_some();
        let mut storage = Vec::new();
        for (key, slot) in &mut entry.slots {
            if !slot.now.is_zero() {
                storage.push(SlotChange { slot: *key, old: slot.now, new: U256::ZERO });
                slot.now = U256::ZERO;
            }
        }
        storage.sort_unstable_by_key(|change| change.slot);
        Ok(storage)
    }

    /// Puts an earlier step's write set on top of the state, so that execution can continue behind
    /// it.
    ///
    /// # Errors
    /// The store's.
    pub fn apply(&mut self, changes: &Changeset) -> Result<(), StateError> {
        for change in &changes.accounts {
            let index = self.entry_index(change.address)?;
            if change.wiped {
                self.wipe(index)?;
            }
            let entry = &mut self.entries[index];
            entry.now = change.new;
            for slot in &change.storage {
                let start = if entry.wiped || entry.start.is_none() { U256::ZERO } else { slot.old };
                entry.slots.entry(slot.slot).or_insert(Slot { start, now: start }).now = slot.new;
            }
        }
        for (hash, bytes) in &changes.codes {
            self.codes.insert(*hash, code_cache::analyse(bytes.clone(), self.delegations));
            self.new_codes.insert(*hash, bytes.clone());
        }
        Ok(())
    }

    /// As [`Self::apply`], with a write set of a capsule over whose start values this state lies.
    ///
    /// # Errors
    /// The store's.
    pub fn apply_capsule(&mut self, capsule: &TraceCapsule, step: usize) -> Result<(), StateError> {
        for (account, write) in capsule.step(step) {
            let index = self.entry_index(account.address)?;
            if write.wiped {
                self.wipe(index)?;
            }
            self.entries[index].now = write.new;
            for (slot, value) in &write.slots {
                // A slot that is not there yet has its start value below.
                self.slot_at(index, *slot)?;
                let slots = &mut self.entries[index].slots;
                slots.entry(*slot).or_insert(Slot { start: U256::ZERO, now: U256::ZERO }).now = *value;
            }
        }
        Ok(())
    }

    /// Net change since the start of the block.
    pub(crate) fn net_changes(&self) -> Changeset {
        let mut changes = Changeset::default();
        for entry in &self.entries {
            let slots = entry.slots.iter().filter(|(_, slot)| slot.start != slot.now);
            let mut storage: Vec<SlotChange> =
                slots.map(|(key, slot)| SlotChange { slot: *key, old: slot.start, new: slot.now }).collect();
            if entry.start == entry.now && storage.is_empty() {
                continue;
            }
            storage.sort_unstable_by_key(|change| change.slot);
            let wiped = entry.wiped || (entry.start.is_some() && entry.now.is_none());
            changes.accounts.push(AccountChange {
                address: entry.address,
                old: entry.start,
                new: entry.now,
                wiped,
                storage,
            });
        }
        changes.accounts.sort_unstable_by_key(|change| change.address);
        changes.codes = self.new_codes.iter().map(|(hash, code)| (*hash, code.clone())).collect();
        changes.codes.sort_unstable_by_key(|(hash, _)| *hash);
        changes
    }

    /// What was read from the store since the start of the block.
    pub fn into_reads(self) -> ReadSet {
        let captured = self.captures();
        let mut reads = ReadSet { codes: self.read_codes, captured, ..ReadSet::default() };
        reads.accounts.reserve(self.entries.len());
        for entry in self.entries {
            reads.accounts.push((entry.address, entry.start));
            if entry.whole {
                reads.whole_storage.push(entry.address);
            }
            if entry.start.is_some() {
                reads.slots.extend(entry.slots.iter().map(|(key, slot)| (entry.address, *key, slot.start)));
            }
        }
        reads.block_hashes = self.hashes.into_iter().collect();
        reads
    }
}
