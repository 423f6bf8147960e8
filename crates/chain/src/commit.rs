//! Commits executed blocks: appends rows to the tables of the ledger, then makes one commit of the
//! state store, which records the ends of the tables. That commit is the point at which a block
//! exists; a failure before it leaves nothing.

use crate::{Chain, ChainError, capsules::capsule_of};
use alloy_primitives::{B256, U256};
use hearth_flatkv::{Commit, JoinedTables as _, TrieUpdate};
use hearth_ledger::{Ledger, StoredReceipts};
use hearth_primitives::{Block, BlockOutput, TraceCapsule};

/// Rows of the ledger that no commit covers yet. Dropping it truncates them from the tables: a
/// block must not seem known before its state is committed.
pub(crate) struct AppendedRows<'a> {
    ledger: &'a Ledger,
    /// Ends of the tables before the rows.
    before: Option<Vec<u64>>,
}

impl<'a> AppendedRows<'a> {
    pub(crate) fn begin(ledger: &'a Ledger) -> Self {
        Self { ledger, before: Some(ledger.positions()) }
    }

    /// A commit names the rows, or they may stay without one.
    pub(crate) fn keep(mut self) {
        self.before = None;
    }
}

impl Drop for AppendedRows<'_> {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // If this fails too, opening the home cuts the tables.
            let _ = self.ledger.tables().truncate(before);
        }
    }
}

impl Chain {
    /// Stores a block that was built and executed on top of the head, with the output of that
    /// execution. The caller vouches for the block: only its parent and height are checked.
    ///
    /// # Errors
    /// Those of the stores, among them [`FlatKvError::Parent`] if the head has moved meanwhile.
    pub fn commit_built(
        &self,
        block: &Block,
        output: &BlockOutput,
        trie: Option<TrieUpdate>,
    ) -> Result<B256, ChainError> {
        let working = &mut *self.working.lock();
        self.note_head(working);
        let hash = block.header.hash_slow();
        let parent = self.parent_of(&block.header, hash)?;
        let total_difficulty = parent.total_difficulty + block.header.difficulty;
        self.commit(block, hash, total_difficulty, output, trie)?;
        let receipts = StoredReceipts { receipts: output.receipts.clone(), senders: output.senders.clone() };
        self.ledger.keep_decoded(block, hash, total_difficulty, receipts);
        self.announce(working);
        Ok(hash)
    }

    /// Appends a block's rows to the ledger's tables.
    pub(crate) fn append(
        &self,
        block: &Block,
        hash: B256,
        total_difficulty: U256,
        output: &BlockOutput,
        capsule: Option<&TraceCapsule>,
        ommers: &[B256],
    ) -> Result<(), ChainError> {
        let (receipts, senders) = (&output.receipts, &output.senders);
        self.ledger.append_recorded(block, hash, total_difficulty, receipts, senders, ommers)?;
        self.ledger.append_sidecar(block.header.number, hash, output)?;
        if let Some(capsule) = capsule {
            self.ledger.append_capsule(block.header.number, hash, capsule)?;
        }
        Ok(())
    }

    /// Appends a block to the tables and commits its state and index rows.
    pub(crate) fn commit(
        &self,
        block: &Block,
        hash: B256,
        total_difficulty: U256,
        output: &BlockOutput,
        trie: Option<TrieUpdate>,
    ) -> Result<(), ChainError> {
        self.commit_with(block, hash, total_difficulty, output, trie, &[])
    }

    /// As [`Chain::commit`], for a recorded block of whose ommers only the hashes are known.
    pub(crate) fn commit_with(
        &self,
        block: &Block,
        hash: B256,
        total_difficulty: U256,
        output: &BlockOutput,
        trie: Option<TrieUpdate>,
        ommers: &[B256],
    ) -> Result<(), ChainError> {
        let height = block.header.number;
        let rows = AppendedRows::begin(&self.ledger);
        let capsule = capsule_of(&self.spec, &block.header, output);
        self.append(block, hash, total_difficulty, output, capsule.as_deref(), ommers)?;
        let mut index = self.ledger.index_rows(block, hash, &output.receipts, capsule.as_deref());
        index.extend(self.ledger.native_index_rows(height, hash, output.sidecar.hashes()));
        let edits = self.take_edits(height)?.map(|(edits, row)| {
            index.push(row);
            edits
        });
        self.kv.commit(Commit {
            height,
            hash,
            parent: block.header.parent_hash,
            changes: &output.changes,
            // The root of a trie is that of its update; a checksum is computed by the commit.
            state_root: self.spec.is_lthash().then_some(block.header.state_root),
            trie,
            index,
            positions: self.ledger.positions(),
        })?;
        if let Some(edits) = edits {
            edits.committed();
        }
        rows.keep();
        // The block is committed: capsules that cannot be deleted now are deleted after the next
        // block.
        let _ = self.ledger.forget_capsules(height);
        self.watchers.committed(height, hash, capsule.as_ref());
        Ok(())
    }
}
