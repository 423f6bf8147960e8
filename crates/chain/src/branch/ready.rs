//! The commit of an executed block, made ready before a fork choice names it: when it does, only
//! the WAL record is left to be written and synced, and the batch of the state store to be applied.

use super::ExecutedBlock;
use crate::commit::AppendedRows;
use crate::{Chain, ChainError};
use hearth_flatkv::{Commit, PreparedCommit, TrieUpdate};
use hearth_ledger::StoredReceipts;
use hearth_primitives::TraceCapsule;
use std::{
    panic::resume_unwind,
    sync::Arc,
    thread::{Builder, scope},
};

/// A block whose rows are in the tables of the ledger, and whose commit is encoded.
pub(super) struct ReadyCommit {
    commit: PreparedCommit,
    capsule: Option<Arc<TraceCapsule>>,
    /// Ends of the tables behind the rows.
    positions: Vec<u64>,
}

impl Chain {
    /// Does ahead what a fork choice would have to do for an executed block: appends its rows to
    /// the tables of the ledger, encodes its commit, and syncs the tables where each commit is
    /// synced. `false` where the block does not follow the head, or is ready already; nothing is
    /// done then.
    ///
    /// The block is known from then on, like a block of another branch, and no index names it. Rows
    /// that no commit names are cut off when the home is opened again.
    ///
    /// # Errors
    /// The stores'. [`Chain::adopt_branch`] commits the block all the same, or meets the same
    /// error.
    pub fn make_ready(&self, executed: &ExecutedBlock) -> Result<bool, ChainError> {
        let ready = {
            let working = self.working.lock();
            let head = self.head();
            let trie = executed.trie.lock().take_if(|update| update.base() == head.commitment);
            match trie {
                Some(trie) if working.is_settled() && head.hash == executed.header().parent_hash => {
                    Some(self.ready(executed, trie)?)
                }
                _ => None,
            }
        };
        let Some(ready) = ready else { return Ok(false) };
        *executed.ready.lock() = Some(ready);
        // Commits need not wait for this: they sync what is left.
        self.kv.sync_tables_ahead()?;
        Ok(true)
    }

    /// Stores a block that was executed and is not chosen, like one of another branch: it stays
    /// known when its execution is forgotten. Nothing is done where the ledger has it.
    ///
    /// # Errors
    /// The ledger's.
    pub fn keep_known(&self, executed: &ExecutedBlock) -> Result<(), ChainError> {
        let ExecutedBlock { block, hash, total_difficulty, output, .. } = executed;
        // Most are chosen by then: they need no lock.
        if self.ledger.has_block(hash) {
            return Ok(());
        }
        // Nothing may be appended while a commit counts on the ends of the tables.
        let _one_at_a_time = self.working.lock();
        let rows = AppendedRows::begin(&self.ledger);
        self.append(block, *hash, *total_difficulty, output, None, &[])?;
        rows.keep();
        Ok(())
    }

    fn ready(&self, executed: &ExecutedBlock, trie: TrieUpdate) -> Result<ReadyCommit, ChainError> {
        let ExecutedBlock { block, hash, total_difficulty, output, .. } = executed;
        let rows = AppendedRows::begin(&self.ledger);
        let capsule = TraceCapsule::of(output).map(Arc::new);
        let append = || self.append(block, *hash, *total_difficulty, output, capsule.as_deref(), &[]);
        let prepare = || {
            let mut index = self.ledger.index_rows(block, *hash, &output.receipts, capsule.as_deref());
            index.extend(self.ledger.native_index_rows(block.header.number, *hash, output.sidecar.hashes()));
            self.kv.prepare(Commit {
                height: block.header.number,
                hash: *hash,
                parent: block.header.parent_hash,
                changes: &output.changes,
                trie: Some(trie),
                state_root: None,
                index,
                positions: Vec::new(),
            })
        };
        let (appended, commit) = scope(|scope| {
            let thread = Builder::new().name("payload-append".into()).spawn_scoped(scope, append);
            let commit = prepare();
            let appended = match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(_) => append(),
            };
            (appended, commit)
        });
        appended?;
        let commit = commit?;
        rows.keep();
        let receipts = StoredReceipts { receipts: output.receipts.clone(), senders: output.senders.clone() };
        self.ledger.keep_decoded(block, *hash, *total_difficulty, receipts);
        Ok(ReadyCommit { commit, capsule, positions: self.ledger.positions() })
    }

    /// Commits a block that [`Chain::make_ready`] made ready; `false` where it was not, or the head
    /// has moved since.
    pub(super) fn commit_ready(&self, executed: &ExecutedBlock) -> Result<bool, ChainError> {
        let Some(ReadyCommit { commit, capsule, positions }) = executed.ready.lock().take() else {
            return Ok(false);
        };
        let ends = self.ledger.positions();
        let has_rows =
            ends.len() == positions.len() && ends.iter().zip(&positions).all(|(end, row)| end >= row);
        if !has_rows || !self.kv.commit_prepared(commit, ends)? {
            return Ok(false);
        }
        let height = executed.header().number;
        // The block is committed: capsules that are not forgotten now are forgotten after the next
        // one.
        let _ = self.ledger.forget_capsules(height);
        self.watchers.committed(height, executed.hash, capsule.as_ref());
        Ok(true)
    }
}

impl std::fmt::Debug for ReadyCommit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadyCommit").field("height", &self.commit.height()).finish_non_exhaustive()
    }
}
