//! Transactions that peers should get: those that became executable in the pool here, each once.

use alloy_primitives::B256;
use bytes::Bytes;
use hearth_pool::{PoolEntry, PoolWatcher, TransactionPool};
use parking_lot::Mutex;
use std::{collections::VecDeque, sync::Arc};

/// Most transactions that wait to be given out; the oldest go first.
const WAITING_MAX: usize = 200_000;

/// What waits to be given out.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: Mutex<VecDeque<B256>>,
}

impl PoolWatcher for Outbox {
    fn executable(&self, entry: &Arc<PoolEntry>) {
        let mut waiting = self.waiting.lock();
        if waiting.len() == WAITING_MAX {
            waiting.pop_front();
        }
        waiting.push_back(entry.hash);
    }
}

impl Outbox {
    /// Queues all transactions of the pool again: CometBFT was restarted, and its own mempool is
    /// empty.
    pub fn again(&self, pool: &TransactionPool) {
        let all = pool.entries();
        let mut waiting = self.waiting.lock();
        waiting.clear();
        waiting.extend(all.iter().map(|entry| entry.hash).take(WAITING_MAX));
    }

    /// Takes transactions out, oldest first, up to so many bytes and so much gas.
    /// Transactions that have left the pool are skipped, as are those that no block may carry.
    pub fn take(&self, pool: &TransactionPool, max_bytes: u64, max_gas: u64) -> Vec<Bytes> {
        let (mut bytes_left, mut gas_left) = (max_bytes, max_gas);
        let mut taken = Vec::new();
        loop {
            // The pool calls `executable` under its own lock, so this lock is not held while the
            // pool is read.
            let Some(hash) = self.waiting.lock().pop_front() else { break };
            let Some(entry) = pool.get(&hash).filter(|entry| !entry.has_blobs()) else { continue };
            let (Some(bytes), Some(gas)) =
                (bytes_left.checked_sub(entry.bytes as u64), gas_left.checked_sub(entry.gas_limit))
            else {
                self.waiting.lock().push_front(hash);
                break;
            };
            (bytes_left, gas_left) = (bytes, gas);
            taken.push(Bytes::from(entry.encoded()));
        }
        taken
    }
}
