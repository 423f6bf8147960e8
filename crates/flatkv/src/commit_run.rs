//! Committing blocks that follow each other in one step: a WAL record each, written together, then
//! one RocksDB batch.
//!
//! Rows that several of the blocks write are in the batch in the order of the blocks, so the last
//! one stands; of the trie only the nodes after the last block are written, and of the head only
//! the last. History, changes and index have the rows of every block, so each of them can be read
//! and unwound as if it had been committed alone.

use crate::{
    Commit, CommitmentKind, FlatKvError, Head,
    commit::{Block, put_changes_and_index, put_head, put_rows_of_run, put_trie},
    shared::{Core, Writer},
    staging::check_order,
};
use alloy_primitives::B256;
use hearth_flatkv_storage::{
    batch::Batch,
    codec::RowChange,
    db::Family,
    measure::{BatchRows, Pairs},
    rows::{BlockRows, EncodedChanges},
    wal::record::{MAX_PAYLOAD_BYTES, RecordHead, commit_body},
};
use hearth_primitives::StateError;
use hearth_trie::TrieUpdate;
use std::{mem::take, sync::atomic::Ordering::SeqCst};

/// What the blocks of a run put into log and store.
struct EncodedRun<'a> {
    batch: Batch<'a>,
    rows: BatchRows,
    payloads: Vec<Vec<u8>>,
    /// The record of each block; the last one names the head after the run.
    records: Vec<RecordHead>,
}

impl Core {
    /// Commits blocks that follow each other and the head. `trie` is the trie after the last of
    /// them; each commit names its state root and has no trie of its own.
    pub(crate) fn commit_run(
        &self,
        run: Vec<Commit<'_>>,
        trie: Option<TrieUpdate>,
    ) -> Result<(), FlatKvError> {
        if run.is_empty() {
            return Ok(());
        }
        self.metrics.commit.measure(|| {
            let mut writer = self.lock_writer();
            self.commit_run_with(&mut writer, run, trie)
        })
    }

    fn commit_run_with(
        &self,
        writer: &mut Writer,
        run: Vec<Commit<'_>>,
        mut trie: Option<TrieUpdate>,
    ) -> Result<(), FlatKvError> {
        writer.check()?;
        self.check_run(&run, trie.as_ref())?;
        let first = run.first().ok_or(FlatKvError::Empty)?.height;
        self.check_space()?;
        let applying = self.metrics.apply_changesets.timer();
        let mut encoded = self.encode_run(run)?;
        put_trie(&mut encoded.batch, trie.as_mut());
        applying.succeed();
        let EncodedRun { batch, rows, payloads, mut records } = encoded;
        self.check_records(writer, &records, false)?;
        let RecordHead { head, positions, oldest, .. } = records.pop().ok_or(FlatKvError::Empty)?;
        self.log_run(writer, head.height, &payloads, batch.bytes())?;
        writer.positions = positions;
        self.upcoming.store(head.height, SeqCst);
        let is_without_nodes = trie.as_ref().is_some_and(TrieUpdate::is_without_nodes);
        if let (true, Some(before)) = (is_without_nodes, self.head()) {
            self.note_late_nodes(&before);
        }
        let written = rows.write(batch, &self.metrics).map_err(FlatKvError::from);
        writer.fail(written)?;
        if self.oldest.swap(oldest, SeqCst) != oldest {
            self.pruning.wake();
        }
        *self.head.write() = Some(head);
        self.report_version();
        if let Some(update) = &mut trie {
            self.kept.keep(update);
        }
        if !is_without_nodes {
            self.note_nodes();
        }
        self.after_write(writer);
        self.snapshot_if_due(writer, first);
        Ok(())
    }

    /// Refuses what cannot be committed in one step.
    fn check_run(&self, run: &[Commit<'_>], trie: Option<&TrieUpdate>) -> Result<(), FlatKvError> {
        if !self.staged.read().is_empty() {
            return refused("changes are applied and not committed");
        }
        let mut head = self.head().ok_or(FlatKvError::Empty)?;
        for commit in run {
            let expected = head.height.saturating_add(1);
            if commit.height != expected {
                return Err(FlatKvError::Height { expected, got: commit.height });
            }
            if commit.parent != head.hash {
                let (height, got) = (commit.height, commit.parent);
                return Err(FlatKvError::Parent { height, expected: head.hash, got });
            }
            if commit.trie.is_some() || commit.changes.accounts.iter().any(|change| change.wiped) {
                return refused("one of them has a trie, or destroys an account");
            }
            check_order(commit.changes)?;
            let commitment = commit.state_root.unwrap_or_default();
            head = Head { height: commit.height, hash: commit.hash, commitment };
        }
        match (self.kind, trie) {
            (CommitmentKind::None, None) => Ok(()),
            (CommitmentKind::Mpt, Some(update)) => {
                if update.is_without_nodes() && !self.takes_late_nodes() {
                    return refused("nodes of the trie may not be late in a store that lasts or is pruned");
                }
                let base = self.trie_root();
                if update.base() != base {
                    return Err(FlatKvError::TrieBase { expected: base, got: update.base() });
                }
                if update.root() != head.commitment {
                    let (height, expected, got) = (head.height, head.commitment, update.root());
                    return Err(FlatKvError::StateRoot { height, expected, got });
                }
                Ok(())
            }
            _ => refused("the trie does not fit the commitment of this store"),
        }
    }

    /// Puts the rows of all blocks into one batch, and makes their records.
    fn encode_run(&self, mut run: Vec<Commit<'_>>) -> Result<EncodedRun<'_>, FlatKvError> {
        let (mut rows, mut payloads) = (BatchRows::default(), Vec::with_capacity(run.len()));
        let mut batch = self.db.batch()?;
        let indexes = self.metrics.batch_read_old_values.measure(|| self.old_indexes(&mut run))?;
        let count = run.len();
        let changes: Vec<_> = run.iter().map(|commit| (commit.height, commit.changes)).collect();
        put_rows_of_run(&mut batch, &changes, &mut rows);
        let mut records = Vec::with_capacity(count);
        for (number, (commit, index)) in (1..).zip(run.into_iter().zip(indexes)) {
            let Commit { height, hash, parent, changes, state_root, positions, .. } = commit;
            let head = Head { height, hash, commitment: state_root.unwrap_or(B256::ZERO) };
            let block_rows = BlockRows { changes, legacy: &[] };
            let oldest = self.oldest_at(height, false);
            let encoded = EncodedChanges::of(changes);
            let block = Block { head: &head, rows: block_rows, index: &index, first: false, oldest };
            put_changes_and_index(&mut batch, &block, &encoded);
            if number == count {
                put_head(&mut batch, &block, &mut rows);
            }
            let record = RecordHead { unwind: false, head, parent, positions, oldest };
            let payload = record.commit_payload(&commit_body(&encoded, block_rows, &index));
            let bytes = payload.len() as u64;
            if bytes > MAX_PAYLOAD_BYTES {
                return Err(FlatKvError::RecordTooLarge { height, bytes, limit: MAX_PAYLOAD_BYTES });
            }
            Pairs::of(block_rows).count(&self.metrics);
            payloads.push(payload);
            records.push(record);
        }
        Ok(EncodedRun { batch, rows, payloads, records })
    }

    /// The index rows of each block in ascending order of key, with what they hold now. Takes the
    /// rows out of the commits. Refuses a row that two blocks write.
    fn old_indexes(&self, run: &mut [Commit<'_>]) -> Result<Vec<Vec<RowChange>>, FlatKvError> {
        run.iter_mut().for_each(|commit| commit.index.sort_unstable_by(|a, b| a.key.cmp(&b.key)));
        let mut places: Vec<(&[u8], usize)> = (0..)
            .zip(&*run)
            .flat_map(|(block, commit)| commit.index.iter().map(move |write| (write.key.as_slice(), block)))
            .collect();
        // Mostly in order already, for which a stable sort is quick.
        places.sort();
        if !places.is_sorted_by(|(a, _), (b, _)| a < b) {
            return refused("two of them write the same row of the index");
        }
        let keys: Vec<_> = places.iter().map(|(key, _)| *key).collect();
        let blocks: Vec<_> = places.iter().map(|(_, block)| *block).collect();
        let old = self.db.get_ascending(Family::Index, &keys)?;
        let mut writes: Vec<_> = run.iter_mut().map(|commit| take(&mut commit.index).into_iter()).collect();
        let mut changes: Vec<_> = writes.iter().map(|writes| Vec::with_capacity(writes.len())).collect();
        // Over all blocks the keys ascend, so they do within each.
        for (block, old) in blocks.into_iter().zip(old) {
            changes[block].extend(writes[block].next().map(|write| RowChange { write, old }));
        }
        Ok(changes)
    }
}

/// Refuses a run.
fn refused<T>(why: &str) -> Result<T, FlatKvError> {
    Err(StateError::Store(format!("commit of several blocks: {why}")).into())
}
