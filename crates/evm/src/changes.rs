//! Joining changesets.

use hearth_primitives::{AccountChange, Changeset, SlotChange};
use std::collections::BTreeMap;

/// Two changesets as one: `second` happened after `first`.
pub fn merge(first: Changeset, second: Changeset) -> Changeset {
    let mut accounts: BTreeMap<_, _> =
        first.accounts.into_iter().map(|change| (change.address, change)).collect();
    for later in second.accounts {
        let joined = match accounts.remove(&later.address) {
            Some(earlier) => join(earlier, later),
            None => later,
        };
        if joined.old != joined.new || !joined.storage.is_empty() {
            accounts.insert(joined.address, joined);
        }
    }
    let mut codes: BTreeMap<_, _> = first.codes.into_iter().collect();
    codes.extend(second.codes);
    Changeset { accounts: accounts.into_values().collect(), codes: codes.into_iter().collect() }
}

/// Merges a small set of changes into a large one in place: [`merge`] would visit all of the large
/// one.
pub fn merge_into(first: &mut Changeset, second: Changeset) {
    for later in second.accounts {
        match first.accounts.binary_search_by_key(&later.address, |change| change.address) {
            Ok(at) => {
                let joined = join(first.accounts.remove(at), later);
                if joined.old != joined.new || !joined.storage.is_empty() {
                    first.accounts.insert(at, joined);
                }
            }
            Err(at) => first.accounts.insert(at, later),
        }
    }
    if !second.codes.is_empty() {
        let mut codes: BTreeMap<_, _> = std::mem::take(&mut first.codes).into_iter().collect();
        codes.extend(second.codes);
        first.codes = codes.into_iter().collect();
    }
}

fn join(earlier: AccountChange, later: AccountChange) -> AccountChange {
    let mut slots: BTreeMap<_, _> = earlier.storage.into_iter().map(|change| (change.slot, change)).collect();
    for change in later.storage {
        let old = slots.get(&change.slot).map_or(change.old, |first| first.old);
        slots.insert(change.slot, SlotChange { old, ..change });
    }
    AccountChange {
        address: later.address,
        old: earlier.old,
        new: later.new,
        wiped: (earlier.wiped || later.wiped) && earlier.old.is_some(),
        storage: slots.into_values().filter(|change| change.old != change.new).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{Address, B256, Bytes, U256};
    use hearth_primitives::Account;
    use proptest::prelude::*;

    fn account(balance: u64) -> Option<Account> {
        (balance > 0).then(|| Account { balance: U256::from(balance), ..Account::default() })
    }

    /// Changes of a few accounts from their values in `state`, which they update.
    fn step(state: &mut BTreeMap<u8, (u64, u64)>, edits: &BTreeMap<u8, (u64, u64)>) -> Changeset {
        let accounts = edits.iter().filter_map(|(name, new)| {
            let old = state.insert(*name, *new).unwrap_or_default();
            let slot = SlotChange { slot: U256::ONE, old: U256::from(old.1), new: U256::from(new.1) };
            let change = AccountChange {
                address: Address::repeat_byte(*name),
                old: account(old.0),
                new: account(new.0),
                wiped: false,
                storage: if old.1 == new.1 { Vec::new() } else { vec![slot] },
            };
            (old != *new).then_some(change)
        });
        let accounts = accounts.collect();
        let codes = edits.keys().map(|name| (B256::repeat_byte(*name), Bytes::from(vec![*name]))).collect();
        Changeset { accounts, codes }
    }

    fn edits() -> impl Strategy<Value = BTreeMap<u8, (u64, u64)>> {
        prop::collection::btree_map(0..12u8, (0..3u64, 0..3u64), 0..5)
    }

    proptest! {
        #[test]
        fn merging_in_place_is_merging(steps in prop::collection::vec(edits(), 1..8)) {
            let mut state = BTreeMap::new();
            let steps: Vec<Changeset> = steps.iter().map(|edits| step(&mut state, edits)).collect();
            let (mut whole, mut in_place) = (Changeset::default(), Changeset::default());
            for step in steps {
                whole = merge(whole, step.clone());
                merge_into(&mut in_place, step);
                prop_assert_eq!(&in_place, &whole);
            }
        }
    }
}
