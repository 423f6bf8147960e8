//! The state of a block while it executes: what was read once from the store, under what was written since.
//!
//! Every account, slot and code is asked of the [`StateReader`] at most once a block. What was asked is the block's
//! read set, what each step changed its write set.

use crate::{code_cache, write_set::WriteSet};
use alloy_primitives::{
    Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256,
    map::{AddressMap, B256Map, HashMap, U256Map},
};
use hearth_primitives::{
    Account, AccountChange, BlockHashes, Changeset, Height, ReadSet, SlotChange, StateError, StateReader,
};
use revm::{
    Database,
    bytecode::Bytecode,
    database_interface::DBErrorMarker,
    state::{AccountId, AccountInfo, EvmState},
};

/// A failed read of state, in the form that the interpreter carries.
#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
pub struct ReadError(#[from] pub StateError);

impl DBErrorMarker for ReadError {}

/// One slot: its value at the start of the block and now.
#[derive(Clone, Copy, Debug)]
struct Slot {
    start: U256,
    now: U256,
}

/// One account: at the start of the block and now.
#[derive(Debug)]
struct Entry {
    address: Address,
    start: Option<Account>,
    now: Option<Account>,
    slots: U256Map<Slot>,
    /// The storage was wiped since the start: slots that are not in `slots` are zero.
    wiped: bool,
}

impl Entry {
    /// Whether a slot that is not in `slots` may hold a value in the store.
    fn stored(&self) -> bool {
        self.start.is_some() && !self.wiped
    }
}

/// State of one block over a store.
#[derive(Debug)]
pub struct BlockState<'a> {
    reader: Reader<'a>,
    entries: Vec<Entry>,
    index: AddressMap<usize>,
    codes: B256Map<Bytecode>,
    /// Codes that this block deployed.
    new_codes: B256Map<Bytes>,
    read_codes: Vec<B256>,
    hashes: HashMap<Height, B256>,
    /// Whether code of the form of a delegation is one (EIP-7702).
    delegations: bool,
}

/// The sources that a block's state is read from.
#[derive(Clone, Copy)]
struct Reader<'a> {
    state: &'a dyn StateReader,
    hashes: &'a dyn BlockHashes,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reader")
    }
}

impl<'a> BlockState<'a> {
    /// State that begins as `state` says. `delegations`: EIP-7702 is in force.
    pub fn new(state: &'a dyn StateReader, hashes: &'a dyn BlockHashes, delegations: bool) -> Self {
        Self {
            reader: Reader { state, hashes },
            entries: Vec::new(),
            index: AddressMap::default(),
            codes: B256Map::default(),
            new_codes: B256Map::default(),
            read_codes: Vec::new(),
            hashes: HashMap::default(),
            delegations,
        }
    }

    fn entry_index(&mut self, address: Address) -> Result<usize, StateError> {
        if let Some(index) = self.index.get(&address) {
            return Ok(*index);
        }
        let start = self.reader.state.account(&address)?;
        let index = self.entries.len();
        self.entries.push(Entry { address, start, now: start, slots: U256Map::default(), wiped: false });
        self.index.insert(address, index);
        Ok(index)
    }

    /// The account as it is now.
    ///
    /// # Errors
    /// The store's.
    pub fn account(&mut self, address: Address) -> Result<Option<Account>, StateError> {
        let index = self.entry_index(address)?;
        Ok(self.entries[index].now)
    }

    /// A slot as it is now.
    ///
    /// # Errors
    /// The store's.
    pub fn slot(&mut self, address: Address, key: U256) -> Result<U256, StateError> {
        let index = self.entry_index(address)?;
        self.slot_at(index, key)
    }

    fn slot_at(&mut self, index: usize, key: U256) -> Result<U256, StateError> {
        let entry = &mut self.entries[index];
        if let Some(slot) = entry.slots.get(&key) {
            return Ok(slot.now);
        }
        if !entry.stored() {
            return Ok(U256::ZERO);
        }
        let value = self.reader.state.storage(&entry.address, &key)?;
        entry.slots.insert(key, Slot { start: value, now: value });
        Ok(value)
    }

    /// Analysed code by its hash.
    ///
    /// # Errors
    /// The store's, [`StateError::MissingCode`] where it does not hold the code.
    pub fn code(&mut self, hash: B256) -> Result<Bytecode, StateError> {
        if hash == KECCAK256_EMPTY || hash.is_zero() {
            return Ok(Bytecode::default());
        }
        if let Some(code) = self.codes.get(&hash) {
            return Ok(code.clone());
        }
        let code = code_cache::get(self.reader.state, &hash, self.delegations)?;
        self.codes.insert(hash, code.clone());
        self.read_codes.push(hash);
        Ok(code)
    }

    /// Whether an account holds storage now. Only an account that the store knew can hold some that was not written
    /// in this block.
    ///
    /// # Errors
    /// The store's.
    pub fn has_storage(&mut self, address: Address) -> Result<bool, StateError> {
        let index = self.entry_index(address)?;
        let entry = &self.entries[index];
        if entry.slots.values().any(|slot| !slot.now.is_zero()) {
            return Ok(true);
        }
        if !entry.stored() {
            return Ok(false);
        }
        let slots = self.reader.state.storage_of(&address)?;
        Ok(slots.iter().any(|(key, _)| entry.slots.get(key).is_none_or(|slot| !slot.now.is_zero())))
    }

    /// Sets an account outside of the interpreter (rewards, withdrawals, the DAO's move) and notes the change.
    ///
    /// # Errors
    /// The store's.
    pub(crate) fn set_account(
        &mut self,
        address: Address,
        new: Option<Account>,
        changes: &mut WriteSet,
    ) -> Result<(), StateError> {
        let index = self.entry_index(address)?;
        let old = std::mem::replace(&mut self.entries[index].now, new);
        changes.account(address, old, new);
        Ok(())
    }

    /// Takes over what a transaction touched. `delete_empty`: EIP-161 is in force.
    ///
    /// # Errors
    /// The store's, when the storage of a destroyed account is listed.
    pub(crate) fn commit(&mut self, state: EvmState, delete_empty: bool) -> Result<Changeset, StateError> {
        let mut changes = Changeset::default();
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
        let entry = &mut self.entries[index];
        if entry.stored() {
            for (key, value) in self.reader.state.storage_of(&entry.address)? {
                entry.slots.entry(key).or_insert(Slot { start: value, now: value });
            }
            entry.wiped = true;
        }
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

    /// Puts an earlier step's write set on top of the state, so that execution can go on behind it.
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

    /// Makes an account hold something else from the start on (simulation). `None` leaves a field as it is.
    ///
    /// # Errors
    /// The store's.
    pub(crate) fn override_account(
        &mut self,
        address: Address,
        nonce: Option<u64>,
        balance: Option<U256>,
        code: Option<Bytes>,
        storage: Option<StorageOverride>,
    ) -> Result<(), StateError> {
        let index = self.entry_index(address)?;
        let mut account = self.entries[index].now.unwrap_or_default();
        account.nonce = nonce.unwrap_or(account.nonce);
        account.balance = balance.unwrap_or(account.balance);
        if let Some(code) = code {
            account.code_hash = if code.is_empty() { KECCAK256_EMPTY } else { keccak256(&code) };
            self.codes.insert(account.code_hash, code_cache::analyse(code, self.delegations));
        }
        let entry = &mut self.entries[index];
        entry.start = Some(account);
        entry.now = entry.start;
        let slots = match storage {
            Some(StorageOverride::Replace(slots)) => {
                entry.slots.clear();
                entry.wiped = true;
                slots
            }
            Some(StorageOverride::Change(slots)) => slots,
            None => Vec::new(),
        };
        entry.slots.extend(slots.into_iter().map(|(key, value)| (key, Slot { start: value, now: value })));
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
    pub(crate) fn into_reads(self) -> ReadSet {
        let mut reads = ReadSet { codes: self.read_codes, ..ReadSet::default() };
        reads.accounts.reserve(self.entries.len());
        for entry in self.entries {
            reads.accounts.push((entry.address, entry.start));
            if entry.start.is_some() {
                reads.slots.extend(entry.slots.iter().map(|(key, slot)| (entry.address, *key, slot.start)));
            }
        }
        reads.block_hashes = self.hashes.into_iter().collect();
        reads
    }
}

/// What an account's storage is to hold during a simulation.
#[derive(Clone, Debug)]
pub(crate) enum StorageOverride {
    /// These slots and nothing else.
    Replace(Vec<(U256, U256)>),
    /// These slots on top of the others.
    Change(Vec<(U256, U256)>),
}

impl Database for BlockState<'_> {
    type Error = ReadError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, ReadError> {
        let index = self.entry_index(address)?;
        let Some(account) = self.entries[index].now else { return Ok(None) };
        let code = if account.has_code() {
            self.codes.get(&account.code_hash).cloned()
        } else {
            Some(Bytecode::default())
        };
        Ok(Some(AccountInfo {
            balance: account.balance,
            nonce: account.nonce,
            code_hash: account.code_hash,
            account_id: AccountId::new(index),
            code,
        }))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, ReadError> {
        Ok(self.code(hash)?)
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, ReadError> {
        Ok(self.slot(address, key)?)
    }

    fn storage_by_account_id(
        &mut self,
        address: Address,
        id: AccountId,
        key: U256,
    ) -> Result<U256, ReadError> {
        let index = id.get();
        if self.entries.get(index).is_some_and(|entry| entry.address == address) {
            return Ok(self.slot_at(index, key)?);
        }
        Ok(self.slot(address, key)?)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, ReadError> {
        if let Some(hash) = self.hashes.get(&number) {
            return Ok(*hash);
        }
        let hash = self.reader.hashes.block_hash(number)?;
        self.hashes.insert(number, hash);
        Ok(hash)
    }
}
