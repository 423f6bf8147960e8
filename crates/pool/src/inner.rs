//! What the pool holds, and who makes room for whom.

use super::{PoolEntry, PoolError, PoolLimits, Queue, contiguous};
use alloy_primitives::{Address, B256, map::HashMap};
use std::sync::Arc;

/// Waiting transactions of one account.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// The account's nonce, as of the last look at its state.
    pub next: u64,
    /// Its transactions by nonce; never empty in the pool.
    pub queue: Queue,
}

impl Waiting {
    /// Whether this one follows the account's nonce without a gap.
    pub fn is_executable(&self, entry: &PoolEntry) -> bool {
        contiguous(&self.queue, self.next).any(|there| there.hash == entry.hash)
    }

    fn last(&self) -> Option<&Arc<PoolEntry>> {
        self.queue.last_key_value().map(|(_, entry)| entry)
    }
}

/// The waiting transactions, by account and by hash.
#[derive(Debug, Default)]
pub(super) struct Inner {
    pub by_account: HashMap<Address, Waiting>,
    pub by_hash: HashMap<B256, Arc<PoolEntry>>,
    /// How many waiting set-code transactions an account has signed an authorization of.
    pub authorities: HashMap<Address, usize>,
    pub bytes: usize,
}

impl Inner {
    /// Keeps a transaction; `next` is its sender's nonce.
    pub fn insert(&mut self, entry: Arc<PoolEntry>, next: u64) {
        self.bytes += entry.bytes;
        self.by_hash.insert(entry.hash, entry.clone());
        for authority in &entry.authorities {
            *self.authorities.entry(*authority).or_default() += 1;
        }
        let waiting = self.by_account.entry(entry.sender).or_default();
        waiting.next = next;
        waiting.queue.insert(entry.nonce, entry);
    }

    /// Drops a transaction, where it is there.
    pub fn remove(&mut self, entry: &PoolEntry) {
        if self.by_hash.remove(&entry.hash).is_none() {
            return;
        }
        self.bytes -= entry.bytes;
        for authority in &entry.authorities {
            if let Some(count) = self.authorities.get_mut(authority) {
                *count -= 1;
                if *count == 0 {
                    self.authorities.remove(authority);
                }
            }
        }
        if let Some(waiting) = self.by_account.get_mut(&entry.sender) {
            waiting.queue.remove(&entry.nonce);
            if waiting.queue.is_empty() {
                self.by_account.remove(&entry.sender);
            }
        }
    }

    /// If the pool is full, drops the last transactions of accounts that offer less: those behind a
    /// nonce gap first, then the cheapest. A transaction that is itself behind a gap never replaces
    /// an executable one.
    pub fn make_room(
        &mut self,
        entry: &PoolEntry,
        executable: bool,
        limits: &PoolLimits,
    ) -> Result<(), PoolError> {
        let mut victims: Vec<(Arc<PoolEntry>, u64)> = Vec::new();
        while self.by_hash.len() >= limits.max_transactions || self.bytes + entry.bytes > limits.max_bytes {
            match self.victim(entry, executable) {
                Ok((victim, next)) => {
                    self.remove(&victim);
                    victims.push((victim, next));
                }
                Err(future) => {
                    // No transaction is dropped for one that does not get in.
                    victims.into_iter().for_each(|(victim, next)| self.insert(victim, next));
                    return Err(match future {
                        true => PoolError::FutureReplacesPending,
                        false => PoolError::Full { limit: limits.max_transactions },
                    });
                }
            }
        }
        Ok(())
    }

    /// The transaction that is dropped for this one, and the next nonce of its account. The error
    /// says whether there would be one if this one were not behind a gap.
    fn victim(&self, entry: &PoolEntry, executable: bool) -> Result<(Arc<PoolEntry>, u64), bool> {
        // An account's own transactions never make room for its next one: that would only open a
        // gap.
        let others = self.by_account.iter().filter(|(address, _)| **address != entry.sender);
        let last = others.filter_map(|(_, waiting)| Some((waiting.last()?, waiting)));
        let cheaper = last.filter(|(last, _)| last.max_fee < entry.max_fee);
        let ranked = cheaper.map(|(last, waiting)| (waiting.is_executable(last), last, waiting.next));
        // The hash settles ties, so that one pool always makes one choice.
        match ranked.min_by_key(|(executable, last, _)| (*executable, last.max_fee, last.hash)) {
            Some((true, _, _)) if !executable => Err(true),
            Some((_, victim, next)) => Ok((victim.clone(), next)),
            None => Err(false),
        }
    }
}
