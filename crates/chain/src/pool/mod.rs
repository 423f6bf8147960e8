//! The transaction pool: transactions that passed validation against the head and wait for a block.
//!
//! Kept by account in order of nonce; a gap may stand until it is filled. Everything is bounded by [`PoolLimits`].

mod entry;
mod error;
mod validate;

pub use entry::{PoolEntry, strip_sidecar};
pub use error::PoolError;
pub use validate::{MAX_BLOB_TX_BYTES, intrinsic_gas};

use alloy_primitives::{Address, B256, U256, map::HashMap};
use hearth_evm::ChainSpec;
use hearth_primitives::{Header, PooledTransaction, StateError, StateReader};
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, ops::Bound, sync::Arc};

/// Limits of the pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PoolLimits {
    /// Most transactions in the pool.
    pub max_transactions: usize,
    /// Most transactions of one account.
    pub max_per_account: usize,
    /// Most bytes of all transactions together, blob sidecars included.
    pub max_bytes: usize,
    /// Largest transaction without its blob sidecar, in bytes.
    pub max_transaction_bytes: usize,
    /// How much more a replacement must offer, in percent.
    pub price_bump_percent: u64,
    /// Lowest tip accepted, in wei per gas.
    pub min_tip_wei: u128,
}

/// Transactions that wait for a block.
pub struct TransactionPool {
    spec: Arc<ChainSpec>,
    limits: PoolLimits,
    inner: RwLock<Inner>,
}

type Queue = BTreeMap<u64, Arc<PoolEntry>>;

#[derive(Default)]
struct Inner {
    by_account: HashMap<Address, Queue>,
    by_hash: HashMap<B256, Arc<PoolEntry>>,
    bytes: usize,
}

/// How many transactions wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStatus {
    /// Executable: they follow the account's nonce without a gap.
    pub pending: usize,
    /// Behind a gap.
    pub queued: usize,
}

/// Waiting transactions of an account, in order of nonce.
#[derive(Clone, Debug, Default)]
pub struct AccountQueue {
    /// Executable: they follow the account's nonce without a gap.
    pub pending: Vec<Arc<PoolEntry>>,
    /// Behind a gap.
    pub queued: Vec<Arc<PoolEntry>>,
}

impl TransactionPool {
    /// An empty pool.
    pub fn new(spec: Arc<ChainSpec>, limits: PoolLimits) -> Self {
        Self { spec, limits, inner: RwLock::default() }
    }

    /// Validates a transaction against the head block and its state and keeps it.
    pub fn add(
        &self,
        transaction: PooledTransaction,
        head: &Header,
        state: &dyn StateReader,
    ) -> Result<Arc<PoolEntry>, PoolError> {
        let known = |hash: &B256| self.inner.read().by_hash.contains_key(hash);
        if known(transaction.tx_hash()) {
            return Err(PoolError::AlreadyKnown);
        }
        let entry = Arc::new(validate::stateless(transaction, head, &self.spec, &self.limits)?);
        let account = state.account(&entry.sender)?.unwrap_or_default();
        let mut inner = self.inner.write();
        if inner.by_hash.contains_key(&entry.hash) {
            return Err(PoolError::AlreadyKnown);
        }
        let queue = inner.by_account.get(&entry.sender);
        validate::with_account(&entry, &account, queue, &self.limits)?;
        let replaced = queue.and_then(|queue| queue.get(&entry.nonce)).cloned();
        if let Some(old) = &replaced {
            inner.remove(old);
        }
        if let Err(full) = inner.make_room(&entry, &self.limits) {
            replaced.into_iter().for_each(|old| inner.insert(old));
            return Err(full);
        }
        inner.insert(entry.clone());
        Ok(entry)
    }

    /// A waiting transaction.
    pub fn get(&self, hash: &B256) -> Option<Arc<PoolEntry>> {
        self.inner.read().by_hash.get(hash).cloned()
    }

    /// The nonce that follows the account's waiting transactions without a gap; `next` is its nonce in the state.
    pub fn next_nonce(&self, address: &Address, next: u64) -> u64 {
        match self.inner.read().by_account.get(address) {
            Some(queue) => next + contiguous(queue, next).count() as u64,
            None => next,
        }
    }

    /// The first executable transaction of each account that pays the fees given (wei per gas, wei per blob gas),
    /// best tip first.
    pub fn ready(
        &self,
        state: &dyn StateReader,
        base_fee: u64,
        blob_fee: u128,
    ) -> Result<Vec<Arc<PoolEntry>>, StateError> {
        let inner = self.inner.read();
        let mut ready = Vec::with_capacity(inner.by_account.len());
        for (address, queue) in &inner.by_account {
            let nonce = state.account(address)?.unwrap_or_default().nonce;
            if let Some(entry) = queue.get(&nonce).filter(|entry| entry.pays(base_fee, blob_fee)) {
                ready.push(entry.clone());
            }
        }
        // The hash settles ties, so that one pool always gives one order.
        ready.sort_by_key(|entry| (std::cmp::Reverse(entry.tip(base_fee)), entry.hash));
        Ok(ready)
    }

    /// Drops one transaction.
    pub fn remove(&self, hash: &B256) -> Option<Arc<PoolEntry>> {
        let mut inner = self.inner.write();
        let entry = inner.by_hash.get(hash).cloned()?;
        inner.remove(&entry);
        Some(entry)
    }

    /// Drops what a new head made impossible: nonces used, funds gone, a gas limit above the block's.
    pub fn revalidate(&self, head: &Header, state: &dyn StateReader) -> Result<(), StateError> {
        let mut inner = self.inner.write();
        let mut stale = Vec::new();
        for (address, queue) in &inner.by_account {
            let account = state.account(address)?.unwrap_or_default();
            let impossible = |entry: &PoolEntry| {
                entry.nonce < account.nonce
                    || entry.cost > account.balance
                    || entry.gas_limit > head.gas_limit
            };
            stale.extend(queue.values().filter(|entry| impossible(entry)).cloned());
        }
        stale.iter().for_each(|entry| inner.remove(entry));
        Ok(())
    }

    /// How many transactions wait, against the nonces of a state.
    pub fn status(&self, state: &dyn StateReader) -> Result<PoolStatus, StateError> {
        let inner = self.inner.read();
        let mut status = PoolStatus::default();
        for (address, queue) in &inner.by_account {
            let nonce = state.account(address)?.unwrap_or_default().nonce;
            let pending = contiguous(queue, nonce).count();
            status.pending += pending;
            status.queued += queue.len() - pending;
        }
        Ok(status)
    }

    /// Waiting transactions by account, against the nonces of a state: of all accounts, or of `only` one.
    ///
    /// # Errors
    /// The store's.
    pub fn content(
        &self,
        state: &dyn StateReader,
        only: Option<&Address>,
    ) -> Result<BTreeMap<Address, AccountQueue>, StateError> {
        let inner = self.inner.read();
        let asked = inner.by_account.iter().filter(|(address, _)| only.is_none_or(|only| only == *address));
        let split = asked.map(|(address, queue)| {
            let nonce = state.account(address)?.unwrap_or_default().nonce;
            let pending: Vec<_> = contiguous(queue, nonce).cloned().collect();
            let executable = nonce..nonce.saturating_add(pending.len() as u64);
            let queued = queue.iter().filter(|(nonce, _)| !executable.contains(nonce));
            let queued = queued.map(|(_, entry)| entry.clone()).collect();
            Ok((*address, AccountQueue { pending, queued }))
        });
        split.collect()
    }

    /// Number of waiting transactions.
    pub fn len(&self) -> usize {
        self.inner.read().by_hash.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Transactions from `next` on, up to the first gap.
fn contiguous(queue: &Queue, next: u64) -> impl Iterator<Item = &Arc<PoolEntry>> {
    let from_next = queue.range((Bound::Included(next), Bound::Unbounded));
    from_next.zip(next..).take_while(|((nonce, _), want)| *nonce == want).map(|((_, entry), _)| entry)
}

/// What all waiting transactions of an account may cost together, in wei.
fn expenditure(queue: &Queue) -> U256 {
    queue.values().fold(U256::ZERO, |sum, entry| sum.saturating_add(entry.cost))
}

impl Inner {
    fn insert(&mut self, entry: Arc<PoolEntry>) {
        self.bytes += entry.bytes;
        self.by_hash.insert(entry.hash, entry.clone());
        self.by_account.entry(entry.sender).or_default().insert(entry.nonce, entry);
    }

    fn remove(&mut self, entry: &PoolEntry) {
        if self.by_hash.remove(&entry.hash).is_none() {
            return;
        }
        self.bytes -= entry.bytes;
        if let Some(queue) = self.by_account.get_mut(&entry.sender) {
            queue.remove(&entry.nonce);
            if queue.is_empty() {
                self.by_account.remove(&entry.sender);
            }
        }
    }

    /// Where the pool is full, drops the cheapest last transactions of accounts, as long as they offer less.
    fn make_room(&mut self, entry: &PoolEntry, limits: &PoolLimits) -> Result<(), PoolError> {
        let mut victims = Vec::new();
        while self.by_hash.len() >= limits.max_transactions || self.bytes + entry.bytes > limits.max_bytes {
            let last = |queue: &Queue| queue.last_key_value().map(|(_, entry)| entry.clone());
            // An account's own transactions never make room for its next one: that would only open a gap.
            let others = self.by_account.iter().filter(|(address, _)| **address != entry.sender);
            let cheapest = others.filter_map(|(_, queue)| last(queue)).min_by_key(|e| (e.max_fee, e.hash));
            match cheapest.filter(|cheapest| cheapest.max_fee < entry.max_fee) {
                Some(cheapest) => {
                    self.remove(&cheapest);
                    victims.push(cheapest);
                }
                None => {
                    // Nobody is dropped for a transaction that does not get in.
                    victims.into_iter().for_each(|victim| self.insert(victim));
                    return Err(PoolError::Full { limit: limits.max_transactions });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
