//! Changes of accounts outside of the interpreter, gathered into a write set.

use alloy_primitives::Address;
use hearth_primitives::{Account, AccountChange, Changeset};
use std::collections::BTreeMap;

/// A write set under construction, for changes from outside of the interpreter: an account may
/// change more than once.
#[derive(Debug, Default)]
pub(crate) struct WriteSet {
    accounts: BTreeMap<Address, (Option<Account>, Option<Account>)>,
}

impl WriteSet {
    /// Notes one change.
    pub fn account(&mut self, address: Address, old: Option<Account>, new: Option<Account>) {
        self.accounts.entry(address).and_modify(|(_, now)| *now = new).or_insert((old, new));
    }

    /// Merges these account changes into a changeset that came before them.
    pub fn merge_into(self, changes: &mut Changeset) {
        for (address, (old, new)) in self.accounts {
            match changes.accounts.binary_search_by_key(&address, |change| change.address) {
                Ok(at) => {
                    changes.accounts[at].new = new;
                    let change = &changes.accounts[at];
                    if change.old == change.new && change.storage.is_empty() {
                        changes.accounts.remove(at);
                    }
                }
                Err(_) if old == new => {}
                Err(at) => changes.accounts.insert(
                    at,
                    AccountChange {
                        address,
                        old,
                        new,
                        wiped: old.is_some() && new.is_none(),
                        storage: Vec::new(),
                    },
                ),
            }
        }
    }
}
