//! Native transactions that wait for a block: of each account those that follow each other from its
//! nonce on.

use crate::outbox::{Mempool, Outgoing};
use alloy_primitives::{Address, B256};
use bytes::Bytes;
use hearth_cosmos::TxError;
use hearth_primitives::{Height, NativeTransaction};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

/// Most native transactions that wait.
pub(crate) const WAITING_MAX: usize = 10_000;
/// Most native transactions of one account that wait.
const ACCOUNT_MAX: usize = 64;
/// Blocks that a native transaction waits for before it is forgotten.
const WAITING_BLOCKS_MAX: Height = 100;

/// One that waits.
#[derive(Clone, Debug)]
struct Entry {
    transaction: Arc<NativeTransaction>,
    /// Its place in the order in which they came.
    arrived: u64,
    /// Height of the head when it came.
    since: Height,
}

#[derive(Debug, Default)]
struct Inner {
    /// By account and nonce.
    accounts: BTreeMap<Address, BTreeMap<u64, Entry>>,
    /// Accounts and nonces by hash.
    hashes: BTreeMap<B256, (Address, u64)>,
    arrived: u64,
    /// What peers should get.
    outgoing: VecDeque<Outgoing>,
}

/// The native transactions that wait.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    inner: Mutex<Inner>,
}

impl Waiting {
    /// Takes a transaction of an account with this nonce on the head. One that waits already is
    /// fine.
    ///
    /// # Errors
    /// [`TxError::Sequence`], [`TxError::Full`].
    pub fn add(&self, transaction: NativeTransaction, nonce: u64, head: Height) -> Result<(), TxError> {
        let inner = &mut *self.inner.lock();
        if inner.hashes.contains_key(&transaction.hash) {
            return Ok(());
        }
        if inner.hashes.len() == WAITING_MAX {
            return Err(TxError::Full { most: WAITING_MAX });
        }
        let waiting = inner.accounts.entry(transaction.sender).or_default();
        waiting.retain(|waits, entry| {
            let holds = *waits >= nonce;
            if !holds {
                inner.hashes.remove(&entry.transaction.hash);
            }
            holds
        });
        let want = waiting.last_key_value().map_or(nonce, |(last, _)| last.saturating_add(1));
        let refused = if transaction.nonce != want {
            Some(TxError::Sequence { want, have: transaction.nonce })
        } else if waiting.len() == ACCOUNT_MAX {
            Some(TxError::Full { most: ACCOUNT_MAX })
        } else {
            None
        };
        if let Some(refused) = refused {
            if waiting.is_empty() {
                inner.accounts.remove(&transaction.sender);
            }
            return Err(refused);
        }
        inner.arrived += 1;
        inner.hashes.insert(transaction.hash, (transaction.sender, transaction.nonce));
        // Without a CometBFT that takes them out, the oldest ones are given out again later.
        if inner.outgoing.len() == WAITING_MAX {
            inner.outgoing.pop_front();
        }
        inner.outgoing.push_back(Outgoing::of(transaction.hash));
        let entry = Entry { arrived: inner.arrived, since: head, transaction: Arc::new(transaction) };
        waiting.insert(entry.transaction.nonce, entry);
        Ok(())
    }

    /// Gas limit of one that waits.
    pub fn gas_limit(&self, hash: &B256) -> Option<u64> {
        let inner = self.inner.lock();
        let (account, nonce) = inner.hashes.get(hash)?;
        Some(inner.accounts.get(account)?.get(nonce)?.transaction.gas_limit)
    }

    /// All of them in the order in which they came; those of one account are in the order of their
    /// nonces.
    pub fn in_order(&self) -> Vec<Arc<NativeTransaction>> {
        let inner = self.inner.lock();
        let mut all: Vec<&Entry> = inner.accounts.values().flat_map(BTreeMap::values).collect();
        all.sort_unstable_by_key(|entry| entry.arrived);
        all.into_iter().map(|entry| entry.transaction.clone()).collect()
    }

    /// Forgets what a head has or can never have: `nonce` gives that of an account.
    ///
    /// # Errors
    /// Those of `nonce`.
    pub fn settle<E>(&self, head: Height, nonce: impl Fn(&Address) -> Result<u64, E>) -> Result<(), E> {
        let accounts: Vec<Address> = self.inner.lock().accounts.keys().copied().collect();
        for account in accounts {
            let nonce = nonce(&account)?;
            let inner = &mut *self.inner.lock();
            let Some(waiting) = inner.accounts.get_mut(&account) else { continue };
            // Those behind one that is forgotten wait for a nonce that nothing has.
            let mut holds = true;
            waiting.retain(|waits, entry| {
                let used = *waits < nonce;
                let timeout = entry.transaction.timeout_height;
                let old = entry.since + WAITING_BLOCKS_MAX <= head || (timeout != 0 && timeout <= head);
                holds &= used || !old;
                let keeps = holds && !used;
                if !keeps {
                    inner.hashes.remove(&entry.transaction.hash);
                }
                keeps
            });
            if waiting.is_empty() {
                inner.accounts.remove(&account);
            }
        }
        Ok(())
    }

    /// Gives everything that waits out again.
    pub fn again(&self) {
        let order = self.in_order().iter().map(|transaction| Outgoing::of(transaction.hash)).collect();
        self.inner.lock().outgoing = order;
    }

    /// Notes that a transaction, which was added a moment ago, came by CheckTx.
    pub fn checked(&self, hash: &B256) {
        Outgoing::checked(&mut self.inner.lock().outgoing, hash);
    }

    /// Takes out what a mempool does not have, oldest first, within bounds that are lowered by what
    /// is taken.
    pub fn take(&self, mempool: Mempool, bytes_left: &mut u64, gas_left: &mut u64) -> Vec<Bytes> {
        let inner = &mut *self.inner.lock();
        let mut taken = Vec::new();
        while let Some(outgoing) = inner.outgoing.front() {
            let place = inner.hashes.get(&outgoing.hash);
            let entry = place.and_then(|(account, nonce)| inner.accounts.get(account)?.get(nonce));
            if let Some(entry) = entry.filter(|_| !outgoing.is_with(mempool)) {
                let transaction = &entry.transaction;
                let length = transaction.bytes.len() as u64;
                let (Some(bytes), Some(gas)) =
                    (bytes_left.checked_sub(length), gas_left.checked_sub(transaction.gas_limit))
                else {
                    break;
                };
                (*bytes_left, *gas_left) = (bytes, gas);
                taken.push(Bytes::copy_from_slice(&transaction.bytes));
            }
            inner.outgoing.pop_front();
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::U256;

    fn transaction(sender: u8, nonce: u64) -> NativeTransaction {
        let hash = B256::from(alloy_primitives::keccak256([sender, nonce as u8]));
        NativeTransaction {
            bytes: vec![0x0a, sender, nonce as u8].into(),
            hash,
            sender: Address::repeat_byte(sender),
            nonce,
            gas_limit: 21_000,
            gas_price: 1,
            to: Address::ZERO,
            value: U256::ZERO,
            input: Default::default(),
            log: None,
            timeout_height: 0,
        }
    }

    fn nonces(waiting: &Waiting) -> Vec<(u8, u64)> {
        waiting.in_order().iter().map(|transaction| (transaction.sender[0], transaction.nonce)).collect()
    }

    #[test]
    fn transactions_of_an_account_follow_each_other() {
        let waiting = Waiting::default();
        assert_eq!(waiting.add(transaction(1, 4), 3, 0), Err(TxError::Sequence { want: 3, have: 4 }));
        assert_eq!(waiting.add(transaction(1, 2), 3, 0), Err(TxError::Sequence { want: 3, have: 2 }));
        assert!(waiting.add(transaction(1, 3), 3, 0).is_ok());
        assert!(waiting.add(transaction(2, 0), 0, 0).is_ok());
        assert!(waiting.add(transaction(1, 4), 3, 0).is_ok());
        // The same again waits already.
        assert!(waiting.add(transaction(1, 3), 3, 0).is_ok());
        assert_eq!(nonces(&waiting), [(1, 3), (2, 0), (1, 4)]);
        assert_eq!(waiting.gas_limit(&transaction(1, 3).hash), Some(21_000));
    }

    #[test]
    fn what_is_in_a_block_or_waits_too_long_is_forgotten() {
        let waiting = Waiting::default();
        for nonce in 0..3 {
            waiting.add(transaction(1, nonce), 0, nonce * 60).unwrap();
        }
        waiting.settle(90, |_| Ok::<_, ()>(1)).unwrap();
        assert_eq!(nonces(&waiting), [(1, 1), (1, 2)]);
        // The one of height 60 is too old at 160; the one behind it can never be in a block before
        // it.
        waiting.settle(160, |_| Ok::<_, ()>(1)).unwrap();
        assert_eq!(nonces(&waiting), []);
        assert_eq!(waiting.gas_limit(&transaction(1, 2).hash), None);
        assert!(waiting.add(transaction(1, 1), 1, 160).is_ok());
    }

    #[test]
    fn each_is_given_out_once_within_the_bounds() {
        let waiting = Waiting::default();
        for nonce in 0..3 {
            waiting.add(transaction(1, nonce), 0, 0).unwrap();
        }
        let (mut bytes, mut gas) = (7, u64::MAX);
        assert_eq!(waiting.take(Mempool::App, &mut bytes, &mut gas).len(), 2);
        assert_eq!(bytes, 1);
        let (mut bytes, mut gas) = (u64::MAX, u64::MAX);
        assert_eq!(waiting.take(Mempool::App, &mut bytes, &mut gas), [vec![0x0a, 1, 2]]);
        assert!(waiting.take(Mempool::App, &mut bytes, &mut gas).is_empty());
        waiting.again();
        assert_eq!(waiting.take(Mempool::App, &mut bytes, &mut gas).len(), 3);
    }

    #[test]
    fn a_mempool_that_checked_one_does_not_get_it() {
        let waiting = Waiting::default();
        let (mut bytes, mut gas) = (u64::MAX, u64::MAX);
        for mempool in [Mempool::App, Mempool::Flood] {
            waiting.again();
            let next = waiting.in_order().len() as u64;
            waiting.add(transaction(1, next), 0, 0).unwrap();
            waiting.checked(&transaction(1, next).hash);
            let given = waiting.take(mempool, &mut bytes, &mut gas).len() as u64;
            assert_eq!(given, if mempool == Mempool::App { next + 1 } else { next });
        }
        // A CometBFT that starts has none.
        waiting.again();
        assert_eq!(waiting.take(Mempool::Flood, &mut bytes, &mut gas).len(), 2);
    }
}
