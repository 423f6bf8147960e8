//! The state after a block that is on no chain: that of its parent under what the block changes.

use alloy_primitives::{Address, B256, Bytes, U256, map::HashMap};
use hearth_chain::StateAt;
use hearth_primitives::{Account, Changeset, StateError, StateReader};
use std::{collections::BTreeMap, sync::Arc};

struct Changed {
    account: Option<Account>,
    /// The storage below does not count any more.
    wiped: bool,
    slots: BTreeMap<U256, U256>,
}

/// A state under a changeset. Cheap to clone.
#[derive(Clone)]
pub struct PendingState {
    below: StateAt,
    changed: Arc<HashMap<Address, Changed>>,
    codes: Arc<HashMap<B256, Bytes>>,
}

impl PendingState {
    pub fn new(below: StateAt, changes: &Changeset) -> Self {
        let changed = changes.accounts.iter().map(|change| {
            let slots = change.storage.iter().map(|slot| (slot.slot, slot.new)).collect();
            (change.address, Changed { account: change.new, wiped: change.wiped, slots })
        });
        Self {
            below,
            changed: Arc::new(changed.collect()),
            codes: Arc::new(changes.codes.iter().cloned().collect()),
        }
    }
}

impl StateReader for PendingState {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        match self.changed.get(address) {
            Some(changed) => Ok(changed.account),
            None => self.below.account(address),
        }
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        match self.changed.get(address) {
            Some(changed) => match changed.slots.get(slot) {
                Some(value) => Ok(*value),
                None if changed.wiped || changed.account.is_none() => Ok(U256::ZERO),
                None => self.below.storage(address, slot),
            },
            None => self.below.storage(address, slot),
        }
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        self.codes.get(hash).map_or_else(|| self.below.code(hash), |code| Ok(code.clone()))
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        let Some(changed) = self.changed.get(address) else { return self.below.storage_of(address) };
        let below = if changed.wiped { Vec::new() } else { self.below.storage_of(address)? };
        let mut slots: BTreeMap<U256, U256> = below.into_iter().collect();
        slots.extend(&changed.slots);
        Ok(slots.into_iter().filter(|(_, value)| !value.is_zero()).collect())
    }
}
