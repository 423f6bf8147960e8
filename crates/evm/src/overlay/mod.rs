//! The state of a block during its execution: values read once from the store, under the values
//! written since.
//!
//! Every account, slot and code is read from the [`StateReader`] at most once per block. These
//! reads are the block's read set; the changes of each step are its write set.

mod captures;
mod changes;
mod overrides;
mod prefix;

pub(crate) use captures::Captures;
pub(crate) use overrides::StorageOverride;
pub use prefix::PrefixState;

use crate::{code_cache, write_set::WriteSet};
use alloy_primitives::{
    Address, B256, Bytes, KECCAK256_EMPTY, U256,
    map::{AddressMap, B256Map, HashMap, U256Map},
};
use hearth_primitives::{Account, BlockHashes, Height, StateError, StateReader};
use revm::{
    Database,
    bytecode::Bytecode,
    database_interface::DBErrorMarker,
    state::{AccountId, AccountInfo},
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
    /// Every slot that the store holds is in `slots`.
    whole: bool,
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
    /// The first height whose hash this block cannot know. From it on, hashes are zero unless they
    /// were set by hand.
    hashes_end: Height,
    /// Whether code of the form of a delegation is one (EIP-7702).
    delegations: bool,
    /// Set where everything is read that a tracer would look at.
    captures: Option<Box<Captures>>,
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
            hashes_end: Height::MAX,
            delegations,
            captures: None,
        }
    }

    /// Hides the hashes of blocks from this height on: a simulation whose block number was moved
    /// ahead must not see later blocks of the chain.
    pub(crate) fn hide_hashes_from(&mut self, end: Height) {
        self.hashes_end = end;
    }

    fn entry_index(&mut self, address: Address) -> Result<usize, StateError> {
        if let Some(index) = self.index.get(&address) {
            return Ok(*index);
        }
        let start = self.reader.state.account(&address)?;
        let index = self.entries.len();
        self.entries.push(Entry {
            address,
            start,
            now: start,
            slots: U256Map::default(),
            wiped: false,
            whole: false,
        });
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
        // Not a read of the store, so not in the read set either.
        if !entry.stored() {
            return Ok(U256::ZERO);
        }
        let value = if entry.whole { U256::ZERO } else { self.reader.state.storage(&entry.address, &key)? };
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
        // The cache outlives the block and is shared; the read set must have the code all the same.
        let code = code_cache::get(self.reader.state, &hash, self.delegations)?;
        self.codes.insert(hash, code.clone());
        self.read_codes.push(hash);
        Ok(code)
    }

    /// Whether an account has storage now. Only an account that exists in the store can have slots
    /// that this block did not write.
    ///
    /// # Errors
    /// A failed read of the store.
    pub fn has_storage(&mut self, address: Address) -> Result<bool, StateError> {
        let index = self.entry_index(address)?;
        let entry = &self.entries[index];
        if entry.slots.values().any(|slot| !slot.now.is_zero()) {
            return Ok(true);
        }
        if !entry.stored() {
            return Ok(false);
        }
        self.load_whole(index)?;
        Ok(self.entries[index].slots.values().any(|slot| !slot.now.is_zero()))
    }

    /// Loads all storage slots of an account from the store.
    fn load_whole(&mut self, index: usize) -> Result<(), StateError> {
        let entry = &mut self.entries[index];
        if entry.whole || !entry.stored() {
            return Ok(());
        }
        for (key, value) in self.reader.state.storage_of(&entry.address)? {
            // A slot that is known already may have been written since.
            entry.slots.entry(key).or_insert(Slot { start: value, now: value });
        }
        entry.whole = true;
        Ok(())
    }

    /// Every slot of an account that is not zero now, in any order.
    ///
    /// # Errors
    /// The store's.
    pub fn storage_of(&mut self, address: Address) -> Result<Vec<(U256, U256)>, StateError> {
        let index = self.entry_index(address)?;
        let entry = &self.entries[index];
        if entry.now.is_none() {
            return Ok(Vec::new());
        }
        let stored = if entry.stored() { self.reader.state.storage_of(&address)? } else { Vec::new() };
        let mut slots: Vec<_> =
            stored.into_iter().filter(|(key, _)| !entry.slots.contains_key(key)).collect();
        slots
            .extend(entry.slots.iter().map(|(key, slot)| (*key, slot.now)).filter(|(_, now)| !now.is_zero()));
        Ok(slots)
    }

    /// Sets an account from outside of the interpreter (rewards, withdrawals, the DAO's move) and
    /// records the change.
    ///
    /// # Errors
    /// A failed read of the store.
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
}

impl Database for BlockState<'_> {
    type Error = ReadError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, ReadError> {
        let index = self.entry_index(address)?;
        let Some(account) = self.entries[index].now else { return Ok(None) };
        // Code is loaded when it is needed: of many accounts only the balance is read.
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
        // The id is the index that `basic` gave out, which saves the look-up by address. An account
        // that an override made has none of its own, so the address decides.
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
        if number >= self.hashes_end {
            return Ok(B256::ZERO);
        }
        let hash = self.reader.hashes.block_hash(number)?;
        self.hashes.insert(number, hash);
        Ok(hash)
    }
}
