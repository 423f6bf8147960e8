//! Changesets: what a transaction or a block changed, old and new, in key order.

use crate::Account;
use alloy_primitives::{Address, B256, Bytes, U256};

/// One slot's change. Zero stands for a slot that is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotChange {
    /// Storage slot.
    pub slot: U256,
    /// Value before.
    pub old: U256,
    /// Value after.
    pub new: U256,
}

/// One account's change. `old == new` where only storage changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountChange {
    /// The account's address.
    pub address: Address,
    /// The account before; `None` where there was none.
    pub old: Option<Account>,
    /// The account after; `None` where it was destroyed or deleted as empty.
    pub new: Option<Account>,
    /// Whether the storage was wiped before `storage` was written (destroyed, perhaps created
    /// again). `storage` then lists every slot that had a value, with that value in `old`.
    pub wiped: bool,
    /// Changed slots in ascending order, without no-ops.
    pub storage: Vec<SlotChange>,
}

/// The difference of two states: accounts in ascending order of address, without no-ops, and new
/// code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changeset {
    /// Changed accounts in ascending order of address.
    pub accounts: Vec<AccountChange>,
    /// Code deployed, by its Keccak-256 hash, in ascending order of hash.
    pub codes: Vec<(B256, Bytes)>,
}

impl Changeset {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty() && self.codes.is_empty()
    }

    /// The change from the new state back to the old one. Code stays: it is keyed by its hash.
    pub fn reversed(&self) -> Self {
        let accounts = self.accounts.iter().map(|a| AccountChange {
            address: a.address,
            old: a.new,
            new: a.old,
            wiped: false,
            storage: a.storage.iter().map(|s| SlotChange { slot: s.slot, old: s.new, new: s.old }).collect(),
        });
        Self { accounts: accounts.collect(), codes: Vec::new() }
    }
}
