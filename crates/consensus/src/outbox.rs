//! Transactions that peers should get: those that became executable in the pool here, each once.

use alloy_primitives::B256;
use bytes::Bytes;
use hearth_pool::{PoolEntry, PoolWatcher, TransactionPool};
use parking_lot::Mutex;
use std::{collections::VecDeque, sync::Arc};

/// Most transactions that wait to be given out; the oldest go first.
const WAITING_MAX: usize = 200_000;

/// How far from its end the queue is searched for a transaction that came last: others may have
/// come meanwhile.
const CAME_LATELY_MAX: usize = 64;

/// The mempool of CometBFT, which takes transactions out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mempool {
    /// `app` keeps none: peers get what is taken out, whichever way it came.
    App,
    /// `flood` keeps, and sends to peers, what it gave to CheckTx: that is not sent there again.
    Flood,
}

/// A transaction that waits to be given out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    pub hash: B256,
    /// Whether it came by CheckTx.
    pub checked: bool,
}

impl Outgoing {
    /// One that did not come by CheckTx.
    pub fn of(hash: B256) -> Self {
        Self { hash, checked: false }
    }

    /// Whether a mempool does not need it.
    pub fn is_with(&self, mempool: Mempool) -> bool {
        self.checked && mempool == Mempool::Flood
    }

    /// Notes that a transaction, which came a moment ago, came by CheckTx.
    pub fn checked(all: &mut VecDeque<Self>, hash: &B256) {
        let mut last = all.iter_mut().rev().take(CAME_LATELY_MAX);
        if let Some(outgoing) = last.find(|outgoing| outgoing.hash == *hash) {
            outgoing.checked = true;
        }
    }
}

/// What waits to be given out.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: Mutex<VecDeque<Outgoing>>,
}

impl PoolWatcher for Outbox {
    fn executable(&self, entry: &Arc<PoolEntry>) {
        let mut waiting = self.waiting.lock();
        if waiting.len() == WAITING_MAX {
            waiting.pop_front();
        }
        waiting.push_back(Outgoing::of(entry.hash));
    }
}

impl Outbox {
    /// Queues all transactions of the pool again: CometBFT was restarted, and its own mempool is
    /// empty.
    pub fn again(&self, pool: &TransactionPool) {
        let all = pool.entries();
        let mut waiting = self.waiting.lock();
        waiting.clear();
        waiting.extend(all.iter().map(|entry| Outgoing::of(entry.hash)).take(WAITING_MAX));
    }

    /// Notes that a transaction, which the pool took a moment ago, came by CheckTx.
    pub fn checked(&self, hash: &B256) {
        Outgoing::checked(&mut self.waiting.lock(), hash);
    }

    /// Takes transactions out for a mempool, oldest first, up to so many bytes and so much gas.
    /// Transactions that have left the pool are skipped, as are those that no block may carry and
    /// those that the mempool has.
    pub fn take(&self, pool: &TransactionPool, mempool: Mempool, max_bytes: u64, max_gas: u64) -> Vec<Bytes> {
        let (mut bytes_left, mut gas_left) = (max_bytes, max_gas);
        let mut taken = Vec::new();
        loop {
            // The pool calls `executable` under its own lock, so this lock is not held while the
            // pool is read.
            let Some(outgoing) = self.waiting.lock().pop_front() else { break };
            if outgoing.is_with(mempool) {
                continue;
            }
            let Some(entry) = pool.get(&outgoing.hash).filter(|entry| !entry.has_blobs()) else { continue };
            let (Some(bytes), Some(gas)) =
                (bytes_left.checked_sub(entry.bytes as u64), gas_left.checked_sub(entry.gas_limit))
            else {
                self.waiting.lock().push_front(outgoing);
                break;
            };
            (bytes_left, gas_left) = (bytes, gas);
            taken.push(Bytes::from(entry.encoded()));
        }
        taken
    }
}
