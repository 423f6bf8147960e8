//! Blocks of token transfers, as changes: two slots of the token and the account of each sender.

use crate::harness::Fallible;
use alloy_primitives::{Address, B256, U256, keccak256};
use hearth_flatkv::{Commit, FlatKv};
use hearth_primitives::{Account, AccountChange, Changeset, SlotChange};
use std::{collections::BTreeMap, sync::Arc};

pub const TOKEN: Address = Address::repeat_byte(0xcc);

/// Accounts of one block of the beginning.
const GENESIS_STEP: usize = 50_000;

/// Accounts and their token balances, and the next blocks.
#[derive(Clone)]
pub struct Chain {
    /// Address and slot of each account, made once: hashing them again for every transfer took as
    /// long as a fifth of a commit.
    names: Arc<[(Address, U256)]>,
    nonces: Vec<u64>,
    /// Each pays a little for each transfer, to the other.
    wealth: Vec<u64>,
    balances: Vec<u64>,
    random: u64,
}

impl Chain {
    pub fn new(accounts: usize) -> Self {
        Self {
            names: (0..accounts).map(|n| (address(n), slot(n))).collect(),
            nonces: vec![1; accounts],
            wealth: vec![1 << 60; accounts],
            balances: vec![1_000_000; accounts],
            random: 1,
        }
    }

    /// A random account.
    pub fn pick(&mut self) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % self.nonces.len() as u64) as usize
    }

    fn account(&self, n: usize) -> Account {
        Account { nonce: self.nonces[n], balance: U256::from(self.wealth[n]), ..Account::default() }
    }

    /// The blocks that make the accounts.
    pub fn genesis(&self) -> impl Iterator<Item = Changeset> {
        let count = self.nonces.len();
        (0..count).step_by(GENESIS_STEP).map(move |from| {
            let to = (from + GENESIS_STEP).min(count);
            let mut accounts = BTreeMap::new();
            let mut storage = Vec::with_capacity(to - from);
            for n in from..to {
                let new = Some(self.account(n));
                let change =
                    AccountChange { address: self.names[n].0, old: None, new, wiped: false, storage: vec![] };
                accounts.insert(self.names[n].0, change);
                storage.push(SlotChange {
                    slot: self.names[n].1,
                    old: U256::ZERO,
                    new: U256::from(self.balances[n]),
                });
            }
            storage.sort_unstable_by_key(|slot| slot.slot);
            let token = Some(Account::default());
            let old = token.filter(|_| from > 0);
            accounts.insert(TOKEN, AccountChange { address: TOKEN, old, new: token, wiped: false, storage });
            Changeset { accounts: accounts.into_values().collect(), codes: vec![] }
        })
    }

    /// The next block.
    pub fn block(&mut self, transfers: usize) -> Changeset {
        let mut accounts: BTreeMap<Address, AccountChange> = BTreeMap::new();
        let mut slots: BTreeMap<U256, SlotChange> = BTreeMap::new();
        for _ in 0..transfers {
            let (from, to) = (self.pick(), self.pick());
            let before = [from, to].map(|n| (n, Some(self.account(n))));
            self.nonces[from] += 1;
            self.wealth[from] -= 1;
            self.wealth[to] += 1;
            for (n, old) in before {
                let change =
                    AccountChange { address: self.names[n].0, old, new: None, wiped: false, storage: vec![] };
                accounts.entry(self.names[n].0).or_insert(change).new = Some(self.account(n));
            }
            for (n, amount) in [(from, u64::MAX), (to, 1)] {
                let old = U256::from(self.balances[n]);
                self.balances[n] = self.balances[n].wrapping_add(amount);
                let change = SlotChange { slot: self.names[n].1, old, new: old };
                slots.entry(self.names[n].1).or_insert(change).new = U256::from(self.balances[n]);
            }
        }
        let token = Some(Account::default());
        let storage = slots.into_values().filter(|slot| slot.old != slot.new).collect();
        accounts
            .insert(TOKEN, AccountChange { address: TOKEN, old: token, new: token, wiped: false, storage });
        Changeset { accounts: accounts.into_values().collect(), codes: vec![] }
    }
}

/// Rows that changes write.
pub fn pairs(changes: &Changeset) -> usize {
    let of = |change: &AccountChange| usize::from(change.old != change.new) + change.storage.len();
    changes.accounts.iter().map(of).sum()
}

pub fn address(n: usize) -> Address {
    Address::from_word(keccak256(n.to_be_bytes()))
}

pub fn slot(n: usize) -> U256 {
    U256::from_be_bytes(keccak256((n as u128).to_be_bytes()).0)
}

/// Commits changes as the next block.
pub fn commit(kv: &FlatKv, changes: &Changeset) -> Fallible<()> {
    let head = kv.head();
    let height = head.map_or(0, |head| head.height + 1);
    let commit = Commit {
        height,
        hash: B256::from(U256::from(height)),
        parent: head.map_or(B256::ZERO, |head| head.hash),
        changes,
        trie: None,
        state_root: None,
        index: Vec::new(),
        positions: Vec::new(),
    };
    Ok(if head.is_none() { kv.init(commit) } else { kv.commit(commit) }?)
}
