//! A state in memory, as an allocation or a changeset gives it.

use crate::genesis::{GenesisAccount, alloc_changes};
use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_primitives::{Account, BlockHashes, Changeset, Height, StateError, StateReader};
use std::collections::{BTreeMap, HashMap};

/// The state of a genesis allocation. Other accounts do not exist, and the hashes of ancestors are
/// zero.
#[derive(Clone, Debug, Default)]
pub struct AllocState {
    accounts: HashMap<Address, (Account, HashMap<U256, U256>)>,
    codes: HashMap<B256, Bytes>,
}

impl AllocState {
    /// The state of these accounts.
    pub fn new(alloc: &BTreeMap<Address, GenesisAccount>) -> Self {
        Self::from_changes(alloc_changes(alloc))
    }

    /// The state that this changeset leaves on an empty one.
    pub fn from_changes(changes: Changeset) -> Self {
        let accounts = changes.accounts.into_iter().filter_map(|change| {
            let slots = change.storage.into_iter().map(|slot| (slot.slot, slot.new)).collect();
            Some((change.address, (change.new?, slots)))
        });
        Self { accounts: accounts.collect(), codes: changes.codes.into_iter().collect() }
    }
}

impl StateReader for AllocState {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        Ok(self.accounts.get(address).map(|(account, _)| *account))
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        Ok(self.accounts.get(address).and_then(|(_, slots)| slots.get(slot)).copied().unwrap_or_default())
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        self.codes.get(hash).cloned().ok_or(StateError::MissingCode(*hash))
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        let slots =
            self.accounts.get(address).map(|(_, slots)| slots.iter().map(|(k, v)| (*k, *v)).collect());
        Ok(slots.unwrap_or_default())
    }
}

impl BlockHashes for AllocState {
    fn block_hash(&self, _number: Height) -> Result<B256, StateError> {
        Ok(B256::ZERO)
    }
}
