//! Accounts that hold something else from the start on, for simulations.

use super::{BlockState, Slot};
use crate::code_cache;
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use hearth_primitives::{Height, StateError};

/// What an account's storage is to hold during a simulation.
#[derive(Clone, Debug)]
pub(crate) enum StorageOverride {
    /// These slots and nothing else.
    Replace(Vec<(U256, U256)>),
    /// These slots on top of the others.
    Change(Vec<(U256, U256)>),
}

impl BlockState<'_> {
    /// Makes a block's hash another one from now on (simulation).
    pub(crate) fn set_block_hash(&mut self, number: Height, hash: B256) {
        self.hashes.insert(number, hash);
    }

    /// Replaces fields of an account at the start (simulation). `None` leaves a field unchanged.
    ///
    /// # Errors
    /// A failed read of the store.
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
}
