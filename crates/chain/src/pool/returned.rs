//! Transactions of blocks that left the chain: they wait again.

use super::TransactionPool;
use crate::{AddedBlock, BlockPlace, Chain, ChainError, ChainWatcher};
use alloy_primitives::Address;
use hearth_primitives::{Header, Height, PooledTransaction, StateReader, Transaction};
use std::sync::{Arc, Weak};

/// Puts transactions back if they are valid on this head and state. Those with blobs are lost:
/// their blobs are not kept.
pub(crate) fn put_back(
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

/// Most blocks of a branch that loses whose transactions are looked at.
const RETURNED_BLOCKS_MAX: usize = 1_024;

/// Updates a pool with a chain whose head moves outside of it: transactions of the new branch are
/// removed, those that only the old branch had return.
pub struct PoolKeeper {
    chain: Weak<Chain>,
    pool: Arc<TransactionPool>,
}

impl PoolKeeper {
    /// For this chain and this pool; to be given to [`Chain::watch`].
    pub fn of(chain: &Arc<Chain>, pool: &Arc<TransactionPool>) -> Arc<dyn ChainWatcher> {
        Arc::new(Self { chain: Arc::downgrade(chain), pool: pool.clone() })
    }

    fn follow(&self, chain: &Chain, removed: &[BlockPlace]) -> Result<(), ChainError> {
        if removed.is_empty() && self.pool.is_empty() {
            return Ok(());
        }
        let Some(head) = chain.head_block()? else { return Ok(()) };
        let state = chain.state_at(head.number())?;
        self.pool.revalidate(&head.block.header, &state)?;
        // Oldest first, so that nonces follow each other.
        for (_, hash) in removed.iter().rev().take(RETURNED_BLOCKS_MAX) {
            let (Some(block), Some(senders)) = (chain.ledger.block(hash)?, chain.ledger.senders(hash)?)
            else {
                continue;
            };
            let transactions = block.block.body.transactions.iter().cloned();
            put_back(
                &self.pool,
                transactions.zip(senders.iter().copied()).collect(),
                &head.block.header,
                &state,
            );
        }
        Ok(())
    }
}

impl ChainWatcher for PoolKeeper {
    fn head_moved(&self, removed: &[BlockPlace], _: &[AddedBlock]) {
        if let Some(chain) = self.chain.upgrade() {
            // What cannot be read is not put back: who sent it sends it again.
            let _ = self.follow(&chain, removed);
        }
    }
}

impl Chain {
    /// The transactions of the canonical blocks above a height with their senders, oldest first.
    ///
    /// # Errors
    /// The ledger's.
    pub fn transactions_above(&self, height: Height) -> Result<Vec<(Transaction, Address)>, ChainError> {
        let mut all = Vec::new();
        for number in height + 1..=self.head().height {
            let Some(block) = self.ledger.canonical_block(number)? else { continue };
            if block.block.body.transactions.is_empty() {
                continue;
            }
            let Some(senders) = self.ledger.senders(&block.hash)? else { continue };
            all.extend(block.block.body.transactions.iter().cloned().zip(senders.iter().copied()));
        }
        Ok(all)
    }
}
