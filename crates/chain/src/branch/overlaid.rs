//! A state under the changes of blocks that are not committed.

use alloy_primitives::{
    Address, B256, Bytes, U256,
    map::{AddressMap, B256Map},
};
use hearth_primitives::{Account, Changeset, StateError, StateReader};
use std::{collections::BTreeMap, sync::Arc};

#[derive(Clone, Default)]
struct Changed {
    account: Option<Account>,
    /// The storage below does not count any more.
    wiped: bool,
    slots: BTreeMap<U256, U256>,
}

/// What blocks changed, to lie over the state below them. Cheap to clone.
#[derive(Clone, Default)]
pub struct Overlay {
    changed: Arc<AddressMap<Changed>>,
    codes: Arc<B256Map<Bytes>>,
}

impl Overlay {
    /// Adds what the block after the others changed. Copies everything where a clone is in use.
    pub fn add(&mut self, changes: &Changeset) {
        let changed = Arc::make_mut(&mut self.changed);
        for change in &changes.accounts {
            let entry = changed.entry(change.address).or_default();
            entry.account = change.new;
            if change.wiped || change.new.is_none() {
                entry.wiped = true;
                entry.slots.clear();
            }
            entry.slots.extend(change.storage.iter().map(|slot| (slot.slot, slot.new)));
        }
        if !changes.codes.is_empty() {
            Arc::make_mut(&mut self.codes).extend(changes.codes.iter().cloned());
        }
    }

    /// A state under these changes.
    pub fn over<S: StateReader>(&self, below: S) -> OverlaidState<S> {
        OverlaidState { below, changes: self.clone() }
    }
}

/// A state under changesets. Cheap to clone where the state is.
#[derive(Clone)]
pub struct OverlaidState<S> {
    below: S,
    changes: Overlay,
}

impl<S: StateReader> OverlaidState<S> {
    /// The changesets, oldest first, over a state.
    pub fn new<'a>(below: S, layers: impl IntoIterator<Item = &'a Changeset>) -> Self {
        let mut changes = Overlay::default();
        layers.into_iter().for_each(|layer| changes.add(layer));
        Self { below, changes }
    }
}

impl<S: StateReader> StateReader for OverlaidState<S> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        match self.changes.changed.get(address) {
            Some(changed) => Ok(changed.account),
            None => self.below.account(address),
        }
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        match self.changes.changed.get(address) {
            Some(changed) => match changed.slots.get(slot) {
                Some(value) => Ok(*value),
                None if changed.wiped => Ok(U256::ZERO),
                None => self.below.storage(address, slot),
            },
            None => self.below.storage(address, slot),
        }
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        self.changes.codes.get(hash).map_or_else(|| self.below.code(hash), |code| Ok(code.clone()))
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        let Some(changed) = self.changes.changed.get(address) else { return self.below.storage_of(address) };
        let below = if changed.wiped { Vec::new() } else { self.below.storage_of(address)? };
        let mut slots: BTreeMap<U256, U256> = below.into_iter().collect();
        slots.extend(&changed.slots);
        Ok(slots.into_iter().filter(|(_, value)| !value.is_zero()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_primitives::{AccountChange, SlotChange};

    const AT: Address = Address::repeat_byte(1);

    /// One account with slots 1 and 2.
    struct Below;

    impl StateReader for Below {
        fn account(&self, _: &Address) -> Result<Option<Account>, StateError> {
            Ok(Some(Account { nonce: 1, ..Account::default() }))
        }

        fn storage(&self, _: &Address, slot: &U256) -> Result<U256, StateError> {
            Ok(U256::from(10) * slot)
        }

        fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
            Err(StateError::MissingCode(*hash))
        }

        fn storage_of(&self, _: &Address) -> Result<Vec<(U256, U256)>, StateError> {
            Ok(vec![(U256::from(1), U256::from(10)), (U256::from(2), U256::from(20))])
        }
    }

    fn layer(nonce: Option<u64>, wiped: bool, slots: &[(u64, u64)]) -> Changeset {
        let storage = slots
            .iter()
            .map(|(slot, new)| SlotChange { slot: U256::from(*slot), old: U256::ZERO, new: U256::from(*new) })
            .collect();
        let new = nonce.map(|nonce| Account { nonce, ..Account::default() });
        let change = AccountChange { address: AT, old: None, new, wiped, storage };
        Changeset { accounts: vec![change], ..Changeset::default() }
    }

    fn slots(state: &OverlaidState<Below>) -> Vec<u64> {
        (1..=3).map(|slot| state.storage(&AT, &U256::from(slot)).unwrap().to::<u64>()).collect()
    }

    #[test]
    fn later_layers_lie_over_earlier_ones() {
        let state =
            OverlaidState::new(Below, &[layer(Some(2), false, &[(1, 5)]), layer(Some(3), false, &[(3, 7)])]);
        assert_eq!(state.account(&AT).unwrap().map(|account| account.nonce), Some(3));
        assert_eq!(slots(&state), [5, 20, 7]);
    }

    #[test]
    fn storage_below_a_destroyed_account_does_not_count() {
        let gone = layer(None, true, &[]);
        let state = OverlaidState::new(Below, &[layer(Some(2), false, &[(1, 5)]), gone.clone()]);
        assert_eq!((state.account(&AT).unwrap(), slots(&state)), (None, vec![0, 0, 0]));
        let again = OverlaidState::new(Below, &[gone, layer(Some(1), false, &[(2, 9)])]);
        assert_eq!(slots(&again), [0, 9, 0]);
        assert_eq!(again.storage_of(&AT).unwrap(), [(U256::from(2), U256::from(9))]);
    }
}
