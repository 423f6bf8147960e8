//! Committing a block: check, WAL record, RocksDB batch, head.

use crate::{
    Commit, CommitmentKind, FlatKvError, Fsync, Head, RowWrite,
    invariants::check_sequence,
    shared::{Core, SpaceRule, Writer},
    staging::{Merged, check_order},
};
use alloy_primitives::{Address, B256, U256};
use hearth_flatkv_storage::{
    batch::{Batch, EncodedBatch},
    codec::{RowChange, put_account, trimmed},
    commitment::{Lattice, changed_rows},
    db::{Db, Family},
    failpoints::{Failpoint, failpoint},
    lthash::PARALLEL_ROWS,
    measure::{BatchRows, Pairs, Pending},
    rows::{
        BlockRows, EncodedChanges, account_history_at, account_value, at_height, changes_value, head_value,
        legacy_history, meta, slot_history_at, slot_key, slot_value, stamped,
    },
    wal::record::{MAX_PAYLOAD_BYTES, RecordHead, commit_body},
};
use hearth_metrics::DataDb;
use hearth_primitives::{Account, AccountChange, Changeset, Height, RootTracker, StateError};
use hearth_trie::TrieUpdate;
use std::{collections::BTreeMap, mem::take, ops::RangeInclusive, sync::atomic::Ordering::SeqCst};

/// Bytes of a batch a byte of encoded changes, about: latest rows, history and the changes
/// themselves.
pub(crate) const BATCH_BYTES_A_CHANGE: usize = 4;
/// Bytes of most latest rows: height, and an account or a slot.
const LATEST_ROW_BYTES: usize = 128;
/// Batches of so many bytes go into RocksDB in two halves at once. Smaller ones are done before
/// another thread would have begun; larger ones might come to a flush in between.
const HALVED_BATCH_BYTES: RangeInclusive<usize> = 256 << 10..=16 << 20;
/// Whether every other block goes in so, as large as it may be: where faults are tried, whose
/// blocks are small.
const ALSO_SMALL: bool = cfg!(all(feature = "failpoints", not(feature = "bench")));

/// A block's commitment and what it changes beside rows.
pub(crate) struct Committed {
    commitment: B256,
    trie: Option<TrieUpdate>,
    lattice: Option<Lattice>,
}

/// A commit that is ready to be logged and written. `B` holds its rows.
pub(crate) struct Ready<B> {
    pub(crate) head: Head,
    parent: B256,
    pub(crate) oldest: Height,
    /// The commit's own rows, without those that were applied before it.
    applied: Pairs,
    pub(crate) batch: B,
    pub(crate) rows: BatchRows,
    /// The rows as the WAL record has them.
    body: Vec<u8>,
    pub(crate) done: Committed,
}

impl Ready<Batch<'_>> {
    /// The commit without a borrow of the store.
    pub(crate) fn detach(self) -> Ready<EncodedBatch> {
        let Self { head, parent, oldest, applied, batch, rows, body, done } = self;
        Ready { head, parent, oldest, applied, batch: batch.detach(), rows, body, done }
    }
}

impl Ready<EncodedBatch> {
    /// Attaches the prepared commit to its store.
    pub(crate) fn attach(self, db: &Db) -> Result<Ready<Batch<'_>>, StateError> {
        let Self { head, parent, oldest, applied, batch, rows, body, done } = self;
        Ok(Ready { head, parent, oldest, applied, batch: db.batch()?.of(batch), rows, body, done })
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.batch.bytes() + self.body.len()
    }
}

/// A block's rows on their way into RocksDB, and its changes as WAL and unwinding keep them.
struct Encoded<'a> {
    batch: Batch<'a>,
    rows: BatchRows,
    changes: EncodedChanges,
}

impl Core {
    /// Commits a block; the first one where `first`.
    pub(crate) fn commit(&self, commit: Commit<'_>, first: bool) -> Result<(), FlatKvError> {
        self.metrics.commit.measure(|| {
            let mut writer = self.lock_writer();
            self.commit_with(&mut writer, commit, first)
        })
    }

    fn commit_with(
        &self,
        writer: &mut Writer,
        mut commit: Commit<'_>,
        first: bool,
    ) -> Result<(), FlatKvError> {
        writer.check()?;
        let positions = take(&mut commit.positions);
        let ready = self.ready(writer, commit, first)?;
        self.publish(writer, ready, positions, first)
    }

    /// Checks a commit against the head, and encodes its rows; nothing changes. Positions of the
    /// tables are not looked at.
    pub(crate) fn ready(
        &self,
        writer: &Writer,
        commit: Commit<'_>,
        first: bool,
    ) -> Result<Ready<Batch<'_>>, FlatKvError> {
        // A commit of nothing but what was applied before applies nothing.
        let applies = !commit.changes.is_empty() || self.staged.read().is_empty();
        let applying = applies.then(|| self.metrics.apply_changesets.timer());
        self.check_place(&commit, first)?;
        self.check_space()?;
        self.bring_nodes()?;
        let Commit { height, hash, parent, changes, trie, state_root, index, .. } = commit;
        check_order(changes)?;
        let destroyed = self.destroyed_rows(changes)?;
        let applied = BlockRows { changes, legacy: &destroyed };
        let merged = self.merged(changes, &destroyed)?;
        let block_rows = merged.as_ref().map_or(applied, Merged::rows);
        let before = writer.lattice.as_ref();
        let commitment = || self.commitment(before, height, block_rows, trie, state_root);
        let encoding = || self.encode(height, block_rows);
        // Few rows are done before another thread would have begun.
        let (done, encoded) = match changed_rows(block_rows) < PARALLEL_ROWS {
            true => (commitment(), encoding()),
            false => rayon::join(commitment, encoding),
        };
        let mut done = done?;
        let Encoded { mut batch, mut rows, changes } = encoded?;
        let head = Head { height, hash, commitment: done.commitment };
        let index = self.metrics.batch_read_old_values.measure(|| self.old_index(index))?;

        let oldest = self.oldest_at(height, first);
        let block = Block { head: &head, rows: block_rows, index: &index, first, oldest };
        put_end(&mut batch, &block, &changes, &mut rows);
        put_trie(&mut batch, done.trie.as_mut());
        put_lattice(&mut batch, done.lattice.as_ref(), before.filter(|_| !first), &mut rows);
        let body = commit_body(&changes, block_rows, &index);
        if let Some(applying) = applying {
            applying.succeed();
        }
        Ok(Ready { head, parent, oldest, applied: Pairs::of(applied), batch, rows, body, done })
    }

    /// Writes the WAL record of a commit that is ready, then its batch, and moves the head.
    pub(crate) fn publish(
        &self,
        writer: &mut Writer,
        ready: Ready<Batch<'_>>,
        positions: Vec<u64>,
        first: bool,
    ) -> Result<(), FlatKvError> {
        let _pending = self.log_ready(writer, &ready, positions, first)?;
        let Ready { head, oldest, batch, rows, mut done, .. } = ready;
        self.upcoming.store(head.height, SeqCst);
        // A reader of pending rows sees them either staged or committed.
        let mut staged = self.staged.write();
        failpoint(Failpoint::Batch);
        let written = rows.write(batch, &self.metrics).map_err(FlatKvError::from);
        writer.fail(written)?;
        staged.clear(&self.metrics);
        if first {
            self.pruning.pruned.store(oldest, SeqCst);
        }
        self.move_head(writer, head, oldest, &mut done);
        drop(staged);
        if first && self.fsync != Fsync::Never {
            return self.flush_all(writer);
        }
        self.after_write(writer);
        self.snapshot_if_due(writer, head.height);
        Ok(())
    }

    /// Writes the WAL record of a commit that is ready. Its rows count as pending as long as the
    /// guard is there.
    pub(crate) fn log_ready(
        &self,
        writer: &mut Writer,
        ready: &Ready<Batch<'_>>,
        positions: Vec<u64>,
        first: bool,
    ) -> Result<Pending<'_>, FlatKvError> {
        let Ready { head, parent, oldest, applied, batch, body, .. } = ready;
        let height = head.height;
        let record = RecordHead { unwind: false, head: *head, parent: *parent, positions, oldest: *oldest };
        let payload = record.commit_payload(body);
        let bytes = payload.len() as u64;
        if bytes > MAX_PAYLOAD_BYTES {
            return Err(FlatKvError::RecordTooLarge { height, bytes, limit: MAX_PAYLOAD_BYTES });
        }
        self.check_records(writer, [&record], first)?;
        applied.count(&self.metrics);
        let pending = applied.pending(&self.metrics);
        self.log(writer, height, &payload, batch.bytes())?;
        writer.positions = record.positions;
        Ok(pending)
    }

    /// Moves the head to a block that is logged.
    pub(crate) fn move_head(&self, writer: &mut Writer, head: Head, oldest: Height, done: &mut Committed) {
        if self.oldest.swap(oldest, SeqCst) != oldest {
            self.pruning.wake();
        }
        *self.head.write() = Some(head);
        self.report_version();
        if let Some(update) = &mut done.trie {
            self.kept.keep(update);
        }
        if done.lattice.is_some() {
            writer.lattice = done.lattice.take();
        }
    }

    /// Appends the WAL record that takes the head to `height`, and counts it together with its
    /// batch.
    pub(crate) fn log(
        &self,
        writer: &mut Writer,
        height: Height,
        payload: &[u8],
        batch_bytes: u64,
    ) -> Result<(), FlatKvError> {
        self.log_run(writer, height, &[payload], batch_bytes)
    }

    /// Appends WAL records together, the last of which takes the head to `height`, and counts them
    /// with their batch.
    pub(crate) fn log_run<P: AsRef<[u8]>>(
        &self,
        writer: &mut Writer,
        height: Height,
        payloads: &[P],
        batch_bytes: u64,
    ) -> Result<(), FlatKvError> {
        let before = writer.wal.last();
        let synced_alone = self.is_synced_alone() && payloads.len() == 1;
        if !synced_alone {
            let cut = writer.wal.cut_preallocation();
            writer.fail(cut)?;
        }
        let appended = writer.wal.append_together(payloads);
        let wal_bytes = writer.fail(appended)?;
        let grown = check_sequence(height, before, payloads.len() as u64, writer.wal.last());
        writer.fail(grown)?;
        writer.unflushed.add(wal_bytes, batch_bytes);
        payloads.iter().skip(1).for_each(|_| writer.unflushed.add(0, 0));
        self.snapshots.count(wal_bytes);
        match self.fsync {
            Fsync::Block if self.is_synced_alone() => {
                self.sync(writer)?;
                if synced_alone {
                    writer.wal.preallocate();
                }
                Ok(())
            }
            Fsync::Never => Ok(()),
            Fsync::Block | Fsync::Interval(_) | Fsync::None => {
                self.dirty.store(true, SeqCst);
                self.sync_before(writer, batch_bytes)
            }
        }
    }

    /// Whether each record is synced before the next one is appended.
    fn is_synced_alone(&self) -> bool {
        self.fsync == Fsync::Block && !self.deferred.load(SeqCst)
    }

    fn check_place(&self, commit: &Commit<'_>, first: bool) -> Result<(), FlatKvError> {
        let Commit { height, parent, .. } = *commit;
        match self.head() {
            Some(head) if first => Err(FlatKvError::NotEmpty { head: head.height }),
            None if !first => Err(FlatKvError::Empty),
            Some(head) if head.height.checked_add(1) != Some(height) => {
                Err(FlatKvError::Height { expected: head.height.saturating_add(1), got: height })
            }
            Some(head) if head.hash != parent => {
                Err(FlatKvError::Parent { height, expected: head.hash, got: parent })
            }
            _ => Ok(()),
        }
    }

    /// Puts a block's rows into a batch, and encodes its changes.
    fn encode(&self, height: Height, rows: BlockRows<'_>) -> Result<Encoded<'_>, FlatKvError> {
        let changes = EncodedChanges::of(rows.changes);
        let bytes = changes.bytes().len() * BATCH_BYTES_A_CHANGE;
        let mut batch = self.db.batch()?;
        if ALSO_SMALL && height.is_multiple_of(2) && may_be_halved(&self.db) {
            batch = batch.in_halves(bytes);
        } else {
            batch = large_in_halves(batch, &self.db, bytes);
        }
        let mut counts = BatchRows::default();
        put_rows(&mut batch, height, rows, &mut counts);
        Ok(Encoded { batch, rows: counts, changes })
    }

    fn commitment(
        &self,
        before: Option<&Lattice>,
        height: Height,
        rows: BlockRows<'_>,
        trie: Option<TrieUpdate>,
        state_root: Option<B256>,
    ) -> Result<Committed, FlatKvError> {
        match self.kind {
            CommitmentKind::None => Ok(Committed { commitment: B256::ZERO, trie: None, lattice: None }),
            CommitmentKind::LtHash => {
                let mut lattice = before.cloned().unwrap_or_default();
                lattice.update(rows);
                let commitment = lattice.checksum();
                check_root(height, state_root, commitment)?;
                Ok(Committed { commitment, trie: None, lattice: Some(lattice) })
            }
            CommitmentKind::Mpt => {
                let base = self.trie_root();
                let update = match trie {
                    Some(update) if update.is_without_nodes() => {
                        let what = "a commit of one block has the nodes of its trie";
                        return Err(StateError::Store(what.to_owned()).into());
                    }
                    Some(update) => update,
                    None => {
                        let mut session = self.kept.session(&self.db, base);
                        session.apply(rows.changes)?;
                        session.into_update()?
                    }
                };
                if update.base() != base {
                    return Err(FlatKvError::TrieBase { expected: base, got: update.base() });
                }
                check_root(height, state_root, update.root())?;
                Ok(Committed { commitment: update.root(), trie: Some(update), lattice: None })
            }
        }
    }

    /// These changes on top of what was applied before; `None` where that is nothing.
    fn merged(&self, changes: &Changeset, legacy: &[RowChange]) -> Result<Option<Merged>, FlatKvError> {
        let staged = self.staged.read();
        if staged.is_empty() {
            return Ok(None);
        }
        let mut all = staged.clone();
        drop(staged);
        all.merge(changes, legacy.to_vec())?;
        Ok(Some(all.merged()))
    }

    /// Refuses to continue where the disk is nearly full, before anything is written.
    pub(crate) fn check_space(&self) -> Result<(), FlatKvError> {
        let SpaceRule { disk, dirs, min_free_bytes } = &self.space;
        for path in dirs.iter().filter(|_| *min_free_bytes > 0) {
            let free = disk.free_bytes(path).map_err(FlatKvError::io(path))?;
            if free < *min_free_bytes {
                return Err(FlatKvError::DiskNearlyFull {
                    path: path.clone(),
                    free,
                    needed: *min_free_bytes,
                });
            }
        }
        Ok(())
    }

    /// Oldest height that has state once a height is committed.
    pub(crate) fn oldest_at(&self, height: Height, first: bool) -> Height {
        match (first, self.history_blocks) {
            (true, _) => height,
            (false, None) => self.oldest.load(SeqCst),
            (false, Some(kept)) => self.oldest.load(SeqCst).max(height.saturating_sub(kept.get())),
        }
    }

    /// Looks up what the index rows to be written hold now.
    pub(crate) fn old_index(&self, writes: Vec<RowWrite>) -> Result<Vec<RowChange>, StateError> {
        self.old_rows(Family::Index, writes, |row| Ok(row.to_vec()))
    }

    /// What rows hold that are to be written, in one batch of reads; `read` gets each row. Of
    /// several writes to one key the last one counts.
    pub(crate) fn old_rows(
        &self,
        family: Family,
        writes: Vec<RowWrite>,
        read: impl Fn(&[u8]) -> Result<Vec<u8>, StateError>,
    ) -> Result<Vec<RowChange>, StateError> {
        let last: BTreeMap<_, _> = writes.into_iter().map(|write| (write.key, write.value)).collect();
        let rows = self.db.get_many(family, last.keys())?;
        let mut changes = Vec::with_capacity(last.len());
        for ((key, value), row) in last.into_iter().zip(rows) {
            let old = row.map(|row| read(&row)).transpose()?;
            changes.push(RowChange { write: RowWrite { key, value }, old });
        }
        Ok(changes)
    }
}

#[cfg(feature = "bench")]
use crate::bench_switches::{has_halves, has_history};

/// Whether history is written: always, except where a bench measures what it costs.
#[cfg(not(feature = "bench"))]
const fn has_history() -> bool {
    true
}

/// Whether large batches are written in two halves: always, except where a bench measures what that
/// brings.
#[cfg(not(feature = "bench"))]
const fn has_halves() -> bool {
    true
}

/// An empty batch, in halves if it will have so many bytes that two threads pay. The writer must be
/// locked, see [`Batch::in_halves`].
fn large_in_halves<'a>(batch: Batch<'a>, db: &Db, bytes: usize) -> Batch<'a> {
    match HALVED_BATCH_BYTES.contains(&bytes) && may_be_halved(db) {
        true => batch.in_halves(bytes),
        false => batch,
    }
}

fn may_be_halved(db: &Db) -> bool {
    has_halves() && db.failed_in_background().is_ok()
}

/// Refuses a block whose header names another state root.
fn check_root(height: Height, expected: Option<B256>, got: B256) -> Result<(), FlatKvError> {
    match expected {
        Some(expected) if expected != got => Err(FlatKvError::StateRoot { height, expected, got }),
        _ => Ok(()),
    }
}

/// A block on its way into the store.
pub(crate) struct Block<'a> {
    pub(crate) head: &'a Head,
    pub(crate) rows: BlockRows<'a>,
    pub(crate) index: &'a [RowChange],
    /// Whether it is the first one of the store.
    pub(crate) first: bool,
    /// Oldest height that has state from now on.
    pub(crate) oldest: Height,
}

/// Puts a block's rows: latest, history, code, index, changes, head.
pub(crate) fn put_block(batch: &mut Batch<'_>, block: &Block<'_>, rows: &mut BatchRows) {
    put_rows(batch, block.head.height, block.rows, rows);
    put_end(batch, block, &EncodedChanges::of(block.rows.changes), rows);
}

/// Puts what does not depend on a block's commitment: latest rows, history, code.
pub(crate) fn put_rows(batch: &mut Batch<'_>, height: Height, block: BlockRows<'_>, rows: &mut BatchRows) {
    let BlockRows { changes, legacy } = block;
    let pairs = Pairs::of(block);
    let mut encoding = rows.encode();
    let mut row = Vec::with_capacity(LATEST_ROW_BYTES);
    changes.accounts.iter().for_each(|change| put_account_rows(batch, height, change, &mut row));
    encoding.done(DataDb::Account, pairs[DataDb::Account]);
    changes.accounts.iter().for_each(|change| put_slot_rows(batch, height, change, &mut row));
    encoding.done(DataDb::Storage, pairs[DataDb::Storage]);
    put_codes(batch, changes);
    encoding.done(DataDb::Code, pairs[DataDb::Code]);
    for row in legacy {
        let (key, value) = (&row.write.key, row.write.value.as_deref());
        batch.put(Family::History, &at_height(legacy_history(key), height), value.unwrap_or_default());
        set_legacy(batch, key, height, value);
    }
    encoding.done(DataDb::Legacy, pairs[DataDb::Legacy]);
}

/// As [`put_rows`], of blocks that follow each other: account by account, because RocksDB soon
/// finds the place of a row that comes right behind the one before it. Of a row that several blocks
/// write the last one's stands.
pub(crate) fn put_rows_of_run(batch: &mut Batch<'_>, run: &[(Height, &Changeset)], rows: &mut BatchRows) {
    let mut encoding = rows.encode();
    let mut changes: Vec<_> = run
        .iter()
        .flat_map(|(height, changes)| changes.accounts.iter().map(|change| (*height, change)))
        .collect();
    changes.sort_by_key(|(_, change)| change.address);
    let pairs = |db| {
        let of_block = |changes| Pairs::of(BlockRows { changes, legacy: &[] })[db];
        run.iter().map(|(_, changes)| of_block(*changes)).sum()
    };
    let mut row = Vec::with_capacity(LATEST_ROW_BYTES);
    changes.iter().for_each(|(height, change)| put_account_rows(batch, *height, change, &mut row));
    encoding.done(DataDb::Account, pairs(DataDb::Account));
    changes.iter().for_each(|(height, change)| put_slot_rows(batch, *height, change, &mut row));
    encoding.done(DataDb::Storage, pairs(DataDb::Storage));
    run.iter().for_each(|(_, changes)| put_codes(batch, changes));
    encoding.done(DataDb::Code, pairs(DataDb::Code));
}

/// Puts the rows of an account that changed. `row` is memory for one.
fn put_account_rows(batch: &mut Batch<'_>, height: Height, change: &AccountChange, row: &mut Vec<u8>) {
    if change.old == change.new {
        return;
    }
    let value = put_stamped(row, height, |row| {
        change.new.iter().for_each(|account| put_account(row, account));
    });
    if has_history() {
        batch.put(Family::History, &account_history_at(&change.address, height), value);
    }
    set_row(batch, Family::Account, change.address.as_slice(), row);
}

/// Puts the rows of an account's slots that changed. `row` is memory for one.
fn put_slot_rows(batch: &mut Batch<'_>, height: Height, change: &AccountChange, row: &mut Vec<u8>) {
    for slot in &change.storage {
        let value = put_stamped(row, height, |row| row.extend_from_slice(&trimmed(&slot.new)));
        if has_history() {
            let key = slot_history_at(&change.address, &slot.slot, height);
            batch.put(Family::History, &key, value);
        }
        set_row(batch, Family::Storage, &slot_key(&change.address, &slot.slot), row);
    }
}

/// Puts new code.
fn put_codes(batch: &mut Batch<'_>, changes: &Changeset) {
    for (hash, code) in &changes.codes {
        batch.put(Family::Code, hash.as_slice(), code);
    }
}

/// Makes a latest row in `row` and gives the value in it, which is empty where there is no row from
/// now on.
fn put_stamped(row: &mut Vec<u8>, height: Height, value: impl FnOnce(&mut Vec<u8>)) -> &[u8] {
    row.clear();
    row.extend_from_slice(&height.to_be_bytes());
    let stamp = row.len();
    value(row);
    &row[stamp..]
}

/// Sets a latest row that [`put_stamped`] made.
fn set_row(batch: &mut Batch<'_>, family: Family, key: &[u8], row: &[u8]) {
    let is_row = row.len() > size_of::<Height>();
    batch.set(family, key, is_row.then_some(row));
}

/// Puts what depends on a block's commitment, and the index.
pub(crate) fn put_end(
    batch: &mut Batch<'_>,
    block: &Block<'_>,
    changes: &EncodedChanges,
    rows: &mut BatchRows,
) {
    put_changes_and_index(batch, block, changes);
    put_head(batch, block, rows);
}

/// Puts the index, and what unwinds the block.
pub(crate) fn put_changes_and_index(batch: &mut Batch<'_>, block: &Block<'_>, changes: &EncodedChanges) {
    let Block { head, index, first, rows: BlockRows { legacy, .. }, .. } = *block;
    for change in index {
        batch.set(Family::Index, &change.write.key, change.write.value.as_deref());
    }
    // The first block cannot be unwound, so its changes are not kept; its hash is.
    let value = match first || !has_history() {
        true => changes_value(head, &EncodedChanges::of(&Changeset::default()), &[], &[]),
        false => changes_value(head, changes, index, legacy),
    };
    batch.put(Family::Changes, &head.height.to_be_bytes(), &value);
}

/// Puts the rows that say where the store is: one block's take the place of those of the block
/// before it.
pub(crate) fn put_head(batch: &mut Batch<'_>, block: &Block<'_>, rows: &mut BatchRows) {
    let Block { head, first, oldest, .. } = *block;
    let mut encoding = rows.encode();
    batch.put(Family::Metadata, meta::HEAD, &head_value(head));
    batch.put(Family::Metadata, meta::OLDEST, &oldest.to_be_bytes());
    if first {
        batch.put(Family::Metadata, meta::PRUNED, &oldest.to_be_bytes());
    }
    encoding.done(DataDb::Metadata, 2 + u64::from(first));
}

/// Sets the latest row of an account.
pub(crate) fn set_account(
    batch: &mut Batch<'_>,
    address: &Address,
    stamp: Height,
    account: Option<&Account>,
) {
    let row = account.map(|account| stamped(stamp, &account_value(account)));
    batch.set(Family::Account, address.as_slice(), row.as_deref());
}

/// Sets the latest row of a slot.
pub(crate) fn set_slot(batch: &mut Batch<'_>, address: &Address, slot: &U256, stamp: Height, value: &U256) {
    let row = (!value.is_zero()).then(|| stamped(stamp, &slot_value(value)));
    batch.set(Family::Storage, &slot_key(address, slot), row.as_deref());
}

/// Sets the latest row of a key of the data DB `legacy`.
pub(crate) fn set_legacy(batch: &mut Batch<'_>, key: &[u8], stamp: Height, value: Option<&[u8]>) {
    let row = value.map(|value| stamped(stamp, value));
    batch.set(Family::Legacy, key, row.as_deref());
}

/// Puts the changed trie nodes, which it takes out of the update.
pub(crate) fn put_trie(batch: &mut Batch<'_>, update: Option<&mut TrieUpdate>) {
    let nodes = update.map(TrieUpdate::take_nodes).unwrap_or_default();
    nodes.into_iter().for_each(|node| batch.put_node(node));
}

/// Puts the lattice vectors that are not those of `before`.
pub(crate) fn put_lattice(
    batch: &mut Batch<'_>,
    lattice: Option<&Lattice>,
    before: Option<&Lattice>,
    rows: &mut BatchRows,
) {
    if let Some(lattice) = lattice {
        let mut encoding = rows.encode();
        let put = lattice.put(batch, before);
        encoding.done(DataDb::Metadata, put);
    }
}
