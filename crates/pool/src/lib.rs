//! The transaction pool: transactions that passed validation against the head and wait for a block.
//!
//! They are kept by account in order of nonce; a gap may remain until it is filled. Everything is
//! bounded by [`PoolLimits`]. [`PoolKeeper`] brings the pool to each new head.
//!
//! Must not be in here: block production, JSON-RPC, the disk.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod decode;
mod delegation;
mod entry;
mod error;
mod follow;
mod inner;
mod order;
mod returned;
mod validate;

pub use decode::{DecodeError, decode_transaction};
pub use entry::{PoolEntry, strip_sidecar};
pub use error::{BumpedCost, PoolError};
pub use order::{BestFirst, Order};
pub use returned::{PoolKeeper, put_back};
pub use validate::{MAX_BLOB_TX_BYTES, call_gas, intrinsic_gas};

use alloy_primitives::{Address, B256, U256};
use follow::Follow;
use hearth_chain::NextChainId;
use hearth_evm::{ChainSpec, Fork, MAX_TX_GAS};
use hearth_primitives::{Header, PooledTransaction, StateError, StateReader};
use inner::{Inner, Waiting};
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

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
    chain_id: Arc<NextChainId>,
    limits: PoolLimits,
    inner: RwLock<Inner>,
    /// Whether [`PoolKeeper`] has still to bring it to the head; see [`Self::read`].
    follow: Follow,
    /// Grows with every change of what waits.
    version: AtomicU64,
    /// Transactions taken so far.
    arrivals: AtomicU64,
    watchers: RwLock<Vec<Weak<dyn PoolWatcher>>>,
}

type Queue = BTreeMap<u64, Arc<PoolEntry>>;

/// Receives the pending transactions. Called on the thread that adds them, in order: it must not
/// wait, and must not change the pool.
pub trait PoolWatcher: Send + Sync {
    /// A transaction became executable: it follows its sender's nonce without a gap.
    fn executable(&self, entry: &Arc<PoolEntry>);
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
    /// An empty pool of transactions under this chain id.
    pub fn new(spec: Arc<ChainSpec>, chain_id: Arc<NextChainId>, limits: PoolLimits) -> Self {
        let (inner, follow, version, arrivals, watchers) = Default::default();
        Self { spec, chain_id, limits, inner, follow, version, arrivals, watchers }
    }

    /// What waits, once the pool has followed the last move of the head.
    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.follow.catch_up();
        self.inner.read()
    }

    /// As [`Self::read`], to change it.
    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.follow.catch_up();
        self.inner.write()
    }

    /// Calls this watcher for every transaction from now on, until it is dropped: the pool does not
    /// keep it alive.
    pub fn watch(&self, watcher: &Arc<dyn PoolWatcher>) {
        let mut watchers = self.watchers.write();
        watchers.retain(|watcher| watcher.strong_count() > 0);
        watchers.push(Arc::downgrade(watcher));
    }

    /// A version number that changes with every change of the pool.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Validates a transaction against the head block and its state and keeps it.
    pub fn add(
        &self,
        transaction: PooledTransaction,
        head: &Header,
        state: &dyn StateReader,
    ) -> Result<Arc<PoolEntry>, PoolError> {
        self.add_of(transaction, None, head, state)
    }

    /// As [`Self::add`]; where a sender is given, whatever the signature says.
    pub fn add_of(
        &self,
        transaction: PooledTransaction,
        sender: Option<Address>,
        head: &Header,
        state: &dyn StateReader,
    ) -> Result<Arc<PoolEntry>, PoolError> {
        let known = |hash: &B256| self.read().by_hash.contains_key(hash);
        if known(transaction.tx_hash()) {
            return Err(PoolError::AlreadyKnown);
        }
        let mut entry =
            validate::stateless(transaction, sender, head, (&self.spec, self.chain_id.get()), &self.limits)?;
        entry.arrival = self.arrivals.fetch_add(1, Ordering::Relaxed);
        let entry = Arc::new(entry);
        let account = state.account(&entry.sender)?.unwrap_or_default();
        let mut inner = self.write();
        if inner.by_hash.contains_key(&entry.hash) {
            return Err(PoolError::AlreadyKnown);
        }
        let queue = inner.by_account.get(&entry.sender).map(|waiting| &waiting.queue);
        validate::with_account(&entry, &account, queue, &self.limits)?;
        delegation::check(&inner, &entry, &account)?;
        let replaced = queue.and_then(|queue| queue.get(&entry.nonce)).cloned();
        if let Some(old) = &replaced {
            validate::replacement(&entry, old, &self.limits)?;
        }
        let follows =
            |queue: &Queue| contiguous(queue, account.nonce).count() as u64 >= entry.nonce - account.nonce;
        let executable = entry.nonce == account.nonce || queue.is_some_and(follows);
        if let Some(old) = &replaced {
            inner.remove(old);
        }
        if let Err(full) = inner.make_room(&entry, executable, &self.limits) {
            replaced.into_iter().for_each(|old| inner.insert(old, account.nonce));
            return Err(full);
        }
        inner.insert(entry.clone(), account.nonce);
        self.version.fetch_add(1, Ordering::Release);
        if executable {
            self.notify_watchers(&inner, &entry, replaced.is_some());
        }
        Ok(entry)
    }

    /// Calls the watchers for an executable transaction, and for those that waited behind the gap
    /// that it fills.
    fn notify_watchers(&self, inner: &Inner, entry: &Arc<PoolEntry>, replaces: bool) {
        let watchers: Vec<_> = self.watchers.read().iter().filter_map(Weak::upgrade).collect();
        let Some(waiting) = inner.by_account.get(&entry.sender) else { return };
        let most = if replaces { 1 } else { usize::MAX };
        for entry in contiguous(&waiting.queue, entry.nonce).take(most) {
            watchers.iter().for_each(|watcher| watcher.executable(entry));
        }
    }

    /// A waiting transaction.
    pub fn get(&self, hash: &B256) -> Option<Arc<PoolEntry>> {
        self.read().by_hash.get(hash).cloned()
    }

    /// The nonce after the account's pending transactions up to the first gap; `next` is its nonce
    /// in the state.
    pub fn next_nonce(&self, address: &Address, next: u64) -> u64 {
        match self.read().by_account.get(address) {
            Some(waiting) => next + contiguous(&waiting.queue, next).count() as u64,
            None => next,
        }
    }

    /// The first executable transaction of each account that pays the given fees (wei per gas, wei
    /// per blob gas), best tip first.
    pub fn ready(
        &self,
        state: &dyn StateReader,
        base_fee: u64,
        blob_fee: u128,
    ) -> Result<Vec<Arc<PoolEntry>>, StateError> {
        let inner = self.read();
        let mut ready = Vec::with_capacity(inner.by_account.len());
        for (address, Waiting { queue, .. }) in &inner.by_account {
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
        let mut inner = self.write();
        let entry = inner.by_hash.get(hash).cloned()?;
        inner.remove(&entry);
        self.version.fetch_add(1, Ordering::Release);
        Some(entry)
    }

    /// Drops all transactions of these that `which` names.
    pub fn remove_where(&self, which: impl Fn(&PoolEntry) -> bool) -> usize {
        let mut inner = self.write();
        let gone: Vec<_> = inner.by_hash.values().filter(|entry| which(entry)).cloned().collect();
        gone.iter().for_each(|entry| inner.remove(entry));
        self.version.fetch_add(1, Ordering::Release);
        gone.len()
    }

    /// All transactions that wait, in the order in which they came.
    pub fn entries(&self) -> Vec<Arc<PoolEntry>> {
        let mut entries: Vec<_> = self.read().by_hash.values().cloned().collect();
        entries.sort_unstable_by_key(|entry| entry.arrival);
        entries
    }

    /// Replaces the content by these transactions, which were pending before on this head and
    /// state. Transactions that are no longer valid are left out.
    ///
    /// # Errors
    /// Those of the store.
    pub fn restore(
        &self,
        entries: &[Arc<PoolEntry>],
        head: &Header,
        state: &dyn StateReader,
    ) -> Result<(), StateError> {
        {
            let mut inner = self.write();
            *inner = Inner::default();
            entries.iter().for_each(|entry| inner.insert(entry.clone(), 0));
        }
        self.revalidate(head, state)
    }

    /// Drops transactions that a new head made invalid: used nonces, missing funds, a gas limit
    /// above the block's, and from Osaka on above its cap (EIP-7825), and blobs whose proofs are of
    /// the form before it (EIP-7594).
    pub fn revalidate(&self, head: &Header, state: &dyn StateReader) -> Result<(), StateError> {
        let mut inner = self.write();
        let is_osaka = self.spec.fork_of(head) >= Fork::Osaka;
        let cap = if is_osaka { MAX_TX_GAS } else { u64::MAX };
        let most_gas = head.gas_limit.min(cap);
        let mut stale = Vec::new();
        for (address, waiting) in &mut inner.by_account {
            let account = state.account(address)?.unwrap_or_default();
            waiting.next = account.nonce;
            let impossible = |entry: &PoolEntry| {
                entry.nonce < account.nonce
                    || entry.cost > account.balance
                    || entry.gas_limit > most_gas
                    || (is_osaka && entry.has_blob_proofs())
            };
            stale.extend(waiting.queue.values().filter(|entry| impossible(entry)).cloned());
        }
        stale.iter().for_each(|entry| inner.remove(entry));
        self.version.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// How many transactions wait, against the nonces of a state.
    pub fn status(&self, state: &dyn StateReader) -> Result<PoolStatus, StateError> {
        let inner = self.read();
        let mut status = PoolStatus::default();
        for (address, Waiting { queue, .. }) in &inner.by_account {
            let nonce = state.account(address)?.unwrap_or_default().nonce;
            let pending = contiguous(queue, nonce).count();
            status.pending += pending;
            status.queued += queue.len() - pending;
        }
        Ok(status)
    }

    /// Pending transactions by account, relative to the nonces of a state: of all accounts, or of
    /// `only` one.
    ///
    /// # Errors
    /// Those of the store.
    pub fn content(
        &self,
        state: &dyn StateReader,
        only: Option<&Address>,
    ) -> Result<BTreeMap<Address, AccountQueue>, StateError> {
        let inner = self.read();
        let asked = inner.by_account.iter().filter(|(address, _)| only.is_none_or(|only| only == *address));
        let split = asked.map(|(address, Waiting { queue, .. })| {
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
        self.read().by_hash.len()
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

/// What transactions may cost together, in wei.
fn expenditure<'a>(entries: impl Iterator<Item = &'a Arc<PoolEntry>>) -> U256 {
    entries.fold(U256::ZERO, |sum, entry| sum.saturating_add(entry.cost))
}

#[cfg(test)]
mod tests;
