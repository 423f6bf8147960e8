//! What requests read of a chain: blocks, indexes and states, without anything that changes them.

use crate::{Chain, ChainError};
use alloy_primitives::{Address, B256};
use hearth_flatkv::{DataDb, ParentView, RowIter, RowRange, StateRoots, StateView};
use hearth_ledger::index::TxPlace;
use hearth_ledger::posting_index::{Candidates, CandidatesBack, IndexProgress, IndexQuery, RebuiltIndex};
use hearth_ledger::{FoundLogs, LedgerError, StoredBlock, StoredReceipts, StoredSidecar};
use hearth_primitives::{BlockHashes, Height, StateError, TraceCapsule, Transaction};
use std::sync::Arc;

/// The blocks and states of a chain, for reading.
#[derive(Clone, Copy)]
pub struct ChainReader<'a> {
    chain: &'a Chain,
}

impl Chain {
    /// The chain for reading.
    pub fn reader(&self) -> ChainReader<'_> {
        ChainReader { chain: self }
    }

    /// Bytes that the caches of decoded blocks, receipts and senders and the key indexes keep.
    pub fn cached_bytes(&self) -> [usize; 4] {
        self.ledger.kept_bytes()
    }

    /// Bounds the caches of both stores to `part` of `whole` of what the options allow.
    pub fn set_cache_fraction(&self, part: usize, whole: usize) {
        self.ledger.set_cache_fraction(part, whole);
        self.kv.set_cache_fraction(part, whole);
    }

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

    /// Removes the address index and builds it again of the trace capsules. `None` once `progress`
    /// returns false.
    ///
    /// # Errors
    /// The ledger's.
    pub fn rebuild_address_index(
        &self,
        progress: &mut dyn FnMut(IndexProgress) -> bool,
    ) -> Result<Option<RebuiltIndex>, ChainError> {
        Ok(self.ledger.rebuild_address_index(progress)?)
    }
}

/// Blocks, of any branch unless the name says otherwise. Errors are those of the ledger.
#[allow(
    clippy::missing_errors_doc,
    reason = "the error of each method is that of a damaged or failed ledger"
)]
impl<'a> ChainReader<'a> {
    /// A block.
    pub fn block(self, hash: &B256) -> Result<Option<Arc<StoredBlock>>, LedgerError> {
        self.chain.ledger.block(hash)
    }

    /// A block, if it is in memory already.
    pub fn block_in_memory(self, hash: &B256) -> Option<Arc<StoredBlock>> {
        self.chain.ledger.block_in_memory(hash)
    }

    /// Whether a block is stored.
    pub fn has_block(self, hash: &B256) -> bool {
        self.chain.ledger.has_block(hash)
    }

    /// Number of a block.
    pub fn number_of(self, hash: &B256) -> Result<Option<Height>, LedgerError> {
        self.chain.ledger.number_of(hash)
    }

    /// Hash of the canonical block at a height.
    pub fn canonical_hash(self, number: Height) -> Result<Option<B256>, LedgerError> {
        self.chain.ledger.canonical_hash(number)
    }

    /// The canonical block at a height.
    pub fn canonical_block(self, number: Height) -> Result<Option<Arc<StoredBlock>>, LedgerError> {
        self.chain.ledger.canonical_block(number)
    }

    /// Receipts and senders of a block.
    pub fn receipts(self, hash: &B256) -> Result<Option<Arc<StoredReceipts>>, LedgerError> {
        self.chain.ledger.receipts(hash)
    }

    /// Receipts and senders of a block, if they are in memory already.
    pub fn receipts_in_memory(self, hash: &B256) -> Option<Arc<StoredReceipts>> {
        self.chain.ledger.receipts_in_memory(hash)
    }

    /// Senders of a block's transactions.
    pub fn senders(self, hash: &B256) -> Result<Option<Arc<Vec<Address>>>, LedgerError> {
        self.chain.ledger.senders(hash)
    }

    /// The trace capsule of a block.
    pub fn capsule(self, hash: &B256) -> Result<Option<TraceCapsule>, LedgerError> {
        self.chain.ledger.capsule(hash)
    }

    /// Native transactions of a block as they are stored; an empty one where there are none.
    pub fn stored_sidecar(self, hash: &B256) -> Result<StoredSidecar, LedgerError> {
        self.chain.ledger.sidecar(hash)
    }

    /// A canonical transaction: its block, and its index there.
    pub fn transaction(self, tx: &B256) -> Result<Option<(Arc<StoredBlock>, usize)>, LedgerError> {
        self.chain.ledger.transaction(tx)
    }

    /// Where a canonical transaction is.
    pub fn transaction_place(self, tx: &B256) -> Result<Option<TxPlace>, LedgerError> {
        self.chain.ledger.transaction_place(tx)
    }

    /// Where a canonical native transaction is.
    pub fn native_place(self, hash: &B256) -> Result<Option<TxPlace>, LedgerError> {
        self.chain.ledger.native_place(hash)
    }

    /// Lowest heights of which blocks and receipts are kept.
    pub fn floors(self) -> (Height, Height) {
        self.chain.ledger.floors()
    }

    /// Logs of a block that are wanted, by account and topics.
    pub fn found_logs(
        self,
        hash: &B256,
        wanted: impl Fn(&Address, &[B256]) -> bool,
    ) -> Result<Option<FoundLogs>, LedgerError> {
        self.chain.ledger.found_logs(hash, wanted)
    }

    /// Canonical blocks of a range that may have matching logs, ascending.
    pub fn log_blocks(
        self,
        query: IndexQuery,
        from: Height,
        to: Height,
    ) -> Result<Candidates<'a>, LedgerError> {
        self.chain.ledger.log_blocks(query, from, to)
    }

    /// First height of the address index; `None` without one.
    pub fn first_indexed(self) -> Result<Option<Height>, LedgerError> {
        self.chain.ledger.first_indexed()
    }

    /// Canonical blocks of a range that accounts may have part in, ascending.
    pub fn account_blocks(
        self,
        query: IndexQuery,
        from: Height,
        to: Height,
    ) -> Result<Candidates<'a>, LedgerError> {
        self.chain.ledger.account_blocks(query, from, to)
    }

    /// Canonical blocks that an account may have part in, descending.
    pub fn account_blocks_back(
        self,
        account: &Address,
        highest: Height,
        lowest: Height,
    ) -> Result<CandidatesBack<'a>, LedgerError> {
        self.chain.ledger.account_blocks_back(account, highest, lowest)
    }

    /// Hashes of canonical blocks, for `BLOCKHASH`.
    pub fn hashes(self) -> &'a dyn BlockHashes {
        &*self.chain.ledger
    }
}

/// States along the canonical chain. Errors are those of the state store.
#[allow(clippy::missing_errors_doc, reason = "the error of each method is that of a failed state store")]
impl<'a> ChainReader<'a> {
    /// The state after the head; `None` in an empty store.
    pub fn latest(self) -> Option<StateView> {
        self.chain.kv.latest()
    }

    /// The state before a block.
    pub fn before(self, block: Height) -> Result<ParentView<'a>, StateError> {
        self.chain.kv.before(block)
    }

    /// Oldest height with state.
    pub fn oldest_state(self) -> Option<Height> {
        self.chain.kv.oldest()
    }

    /// Whether the store can compute roots.
    pub fn has_roots(self) -> bool {
        self.chain.kv.has_roots()
    }

    /// Fails where the store keeps no state trie.
    pub fn require_trie(self) -> Result<(), StateError> {
        self.chain.kv.require_trie()
    }

    /// Whether the store keeps a state trie.
    pub fn has_trie(self) -> bool {
        self.chain.kv.has_trie()
    }

    /// The roots after a block.
    pub fn roots_at(self, height: Height) -> Result<StateRoots<'a>, StateError> {
        self.chain.kv.roots_at(height)
    }

    /// Rows of the newest state in the order of their keys.
    pub fn rows(self, db: DataDb, range: &RowRange) -> Result<RowIter<'a>, StateError> {
        self.chain.kv.rows(db, range)
    }

    /// Number of unwinds since the store was opened: a reader of several blocks compares it.
    pub fn unwinds(self) -> u64 {
        self.chain.kv.unwinds()
    }
}
