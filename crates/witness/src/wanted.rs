//! What an execution needs that its witness lacks.

use alloy_primitives::{Address, B256, U256};
use hearth_primitives::Height;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What has to be fetched before a block can be executed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Wanted {
    /// Accounts and slots to be proven in the state of the parent.
    pub accounts: Vec<WantedAccount>,
    /// Codes.
    pub codes: Vec<WantedCode>,
    /// Headers of ancestors.
    pub headers: Vec<WantedHeader>,
    /// Removed accounts and slots to be proven absent in the state after the block: the proofs end
    /// in the nodes into which removals folded others.
    pub after: Vec<WantedAccount>,
}

/// An account and some of its slots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WantedAccount {
    /// The account.
    pub address: Address,
    /// Its slots, as 32 bytes each.
    pub slots: Vec<B256>,
}

/// A code, with an account that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct WantedCode {
    /// The account.
    pub address: Address,
    /// Keccak-256 of the code.
    pub hash: B256,
}

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WantedHeader {
    /// Its number.
    pub number: Height,
    /// Its hash, where the header above it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<B256>,
}

impl Wanted {
    /// Whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        let Self { accounts, codes, headers, after } = self;
        accounts.is_empty() && codes.is_empty() && headers.is_empty() && after.is_empty()
    }

    /// Number of accounts, slots, codes and headers.
    pub fn count(&self) -> usize {
        let of = |list: &[WantedAccount]| list.iter().map(|account| 1 + account.slots.len()).sum::<usize>();
        of(&self.accounts) + self.codes.len() + self.headers.len() + of(&self.after)
    }
}

/// What was missing so far, while it is collected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Missing {
    accounts: BTreeMap<Address, BTreeSet<U256>>,
}

impl Missing {
    pub(crate) fn account(&mut self, address: Address) {
        self.accounts.entry(address).or_default();
    }

    pub(crate) fn slot(&mut self, address: Address, slot: U256) {
        self.accounts.entry(address).or_default().insert(slot);
    }

    pub(crate) fn accounts(&self) -> Vec<WantedAccount> {
        list(&self.accounts)
    }
}

pub(crate) fn list(accounts: &BTreeMap<Address, BTreeSet<U256>>) -> Vec<WantedAccount> {
    let each = |(address, slots): (&Address, &BTreeSet<U256>)| WantedAccount {
        address: *address,
        slots: slots.iter().map(|slot| slot.to_be_bytes().into()).collect(),
    };
    accounts.iter().map(each).collect()
}
