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
