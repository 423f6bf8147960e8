//! Transactions of blocks that left the chain: they wait again.

use super::TransactionPool;
use alloy_primitives::Address;
use hearth_chain::{AddedBlock, BlockNumHash, Chain, ChainError, ChainWatcher};
use hearth_primitives::{Header, PooledTransaction, StateReader, Transaction};
use std::{
    sync::{Arc, Weak},
    thread::{Builder, JoinHandle},
};

/// Puts transactions back if they are valid on this head and state. Those with blobs are lost:
/// their blobs are not kept.
pub fn put_back(
    pool: &TransactionPool,
    removed: Vec<(Transaction, Address)>,
    head: &Header,
    state: &dyn StateReader,
) {
    for (transaction, sender) in removed {
        // Some are on the new branch as well, some have become impossible.
        let _ = pool.add_of(PooledTransaction::from(transaction), Some(sender), head, state);
    }
}

/// Updates a pool with a chain whose head moves outside of it: transactions of the new branch are
/// removed, those that only the old branch had return. A thread does this behind each move, see
/// [`crate::follow`].
pub struct PoolKeeper {
    chain: Weak<Chain>,
    pool: Arc<TransactionPool>,
    thread: Option<JoinHandle<()>>,
}

impl PoolKeeper {
    /// For this chain and this pool; to be given to [`Chain::watch`].
    pub fn of(chain: &Arc<Chain>, pool: &Arc<TransactionPool>) -> Arc<dyn ChainWatcher> {
        let (of_thread, chain) = (pool.clone(), Arc::downgrade(chain));
        let chain_of_thread = chain.clone();
        let work = move || {
            let follower = of_thread.follow.begin();
            while let Some(moves) = follower.next() {
                follow(&chain_of_thread, &of_thread, &moves.removed);
                follower.done(&moves);
            }
        };
        // Without a thread to be had the pool follows on the threads that move the head.
        let thread = Builder::new().name("pool-keeper".into()).spawn(work).ok();
        Arc::new(Self { chain, pool: pool.clone(), thread })
    }
}

impl ChainWatcher for PoolKeeper {
    fn head_moved(&self, removed: &[BlockNumHash], _: &[AddedBlock]) {
        let is_empty = self.pool.inner.try_read().is_some_and(|inner| inner.by_hash.is_empty());
        if (is_empty && removed.is_empty()) || self.pool.follow.moved(removed) {
            return;
        }
        let oldest_first: Vec<_> = removed.iter().rev().copied().collect();
        follow(&self.chain, &self.pool, &oldest_first);
    }

    fn head_lost(&self) {
        self.head_moved(&[], &[]);
    }
}

impl Drop for PoolKeeper {
    fn drop(&mut self) {
        self.pool.follow.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Brings a pool to the head. What cannot be read is not put back: its senders send it again.
fn follow(chain: &Weak<Chain>, pool: &TransactionPool, removed: &[BlockNumHash]) {
    if let Some(chain) = chain.upgrade() {
        let _ = try_follow(&chain, pool, removed);
    }
}

fn try_follow(chain: &Chain, pool: &TransactionPool, removed: &[BlockNumHash]) -> Result<(), ChainError> {
    let Some(head) = chain.head_block()? else { return Ok(()) };
    let state = chain.state_at(head.number())?;
    pool.revalidate(&head.block.header, &state)?;
    for (_, hash) in removed {
        let (Some(block), Some(senders)) = (chain.reader().block(hash)?, chain.reader().senders(hash)?)
        else {
            continue;
        };
        let transactions = block.block.body.transactions.iter().cloned();
        put_back(pool, transactions.zip(senders.iter().copied()).collect(), &head.block.header, &state);
    }
    Ok(())
}
