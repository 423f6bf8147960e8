//! Transactions of blocks that left the chain: they wait again.

use super::TransactionPool;
use crate::{Chain, ChainError};
use alloy_primitives::Address;
use hearth_primitives::{Header, Height, PooledTransaction, StateReader, Transaction};

/// Puts transactions back, as far as they are possible on this head and state. Those with blobs are gone: their blobs are
/// not kept.
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
