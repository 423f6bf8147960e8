//! State in memory with its Merkle Patricia root.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_trie::{
    TrieAccount,
    root::{state_root_unhashed, storage_root_unhashed},
};
use hearth_primitives::{Account, Changeset, RootTracker, StateError, StateReader};
use std::collections::{BTreeMap, HashMap};

#[derive(Clone, Default)]
pub struct MemoryState {
    pub accounts: BTreeMap<Address, Account>,
    pub storage: HashMap<Address, BTreeMap<U256, U256>>,
    pub codes: HashMap<B256, Bytes>,
}

impl MemoryState {
    /// Applies a changeset and checks that its old values are what is here.
    pub fn apply_checked(&mut self, changes: &Changeset) -> Result<(), String> {
        for change in &changes.accounts {
            let have = self.accounts.get(&change.address).copied();
            if have != change.old {
                return Err(format!(
                    "old value of {}: {have:?}, changeset says {:?}",
                    change.address, change.old
                ));
            }
            let slots = self.storage.entry(change.address).or_default();
            for slot in &change.storage {
                let have = slots.get(&slot.slot).copied().unwrap_or_default();
                if have != slot.old {
                    return Err(format!(
                        "old value of {} slot {}: {have}, changeset says {}",
                        change.address, slot.slot, slot.old
                    ));
                }
                if slot.new.is_zero() {
                    slots.remove(&slot.slot)
                } else {
                    slots.insert(slot.slot, slot.new)
                };
            }
            if change.new.is_none() && !slots.is_empty() {
                return Err(format!("{} is gone but keeps {} slots", change.address, slots.len()));
            }
            if slots.is_empty() {
                self.storage.remove(&change.address);
            }
            match change.new {
                Some(account) => self.accounts.insert(change.address, account),
                None => self.accounts.remove(&change.address),
            };
        }
        self.codes.extend(changes.codes.iter().cloned());
        Ok(())
    }

    pub fn root_of(&self) -> B256 {
        state_root_unhashed(self.accounts.iter().map(|(address, account)| {
            let storage_root = match self.storage.get(address) {
                Some(slots) => {
                    storage_root_unhashed(slots.iter().map(|(slot, value)| (B256::from(*slot), *value)))
                }
                None => alloy_trie::EMPTY_ROOT_HASH,
            };
            (
                *address,
                TrieAccount {
                    nonce: account.nonce,
                    balance: account.balance,
                    storage_root,
                    code_hash: account.code_hash,
                },
            )
        }))
    }

    pub fn from_alloc(alloc: &BTreeMap<Address, hearth_evm::GenesisAccount>) -> Self {
        let mut state = Self::default();
        state.apply_checked(&hearth_evm::alloc_changes(alloc)).expect("an empty state takes an allocation");
        for account in alloc.values().filter(|account| !account.code.is_empty()) {
            assert!(state.codes.contains_key(&keccak256(&account.code)), "code is there");
        }
        state
    }
}

impl StateReader for MemoryState {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        Ok(self.accounts.get(address).copied())
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        Ok(self.storage.get(address).and_then(|slots| slots.get(slot)).copied().unwrap_or_default())
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        self.codes.get(hash).cloned().ok_or(StateError::MissingCode(*hash))
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        Ok(self
            .storage
            .get(address)
            .map(|slots| slots.iter().map(|(k, v)| (*k, *v)).collect())
            .unwrap_or_default())
    }
}

impl RootTracker for MemoryState {
    fn apply(&mut self, changes: &Changeset) -> Result<(), StateError> {
        self.apply_checked(changes).map_err(StateError::Store)
    }

    fn root(&mut self) -> Result<B256, StateError> {
        Ok(self.root_of())
    }
}
