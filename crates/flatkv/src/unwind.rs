//! Taking the head back.

use crate::{
    CommitmentKind, FlatKvError, Fsync, Head, RowWrite, TrieUpdate,
    commit::{put_lattice, put_trie, set_account, set_legacy, set_slot},
    shared::Core,
    trie::Kept,
};
use alloy_primitives::{Address, U256};
use hearth_flatkv_storage::{
    batch::Batch,
    codec::RowChange,
    commitment::Lattice,
    db::{Db, Family},
    error::corrupt,
    lthash::PARALLEL_ROWS,
    measure::BatchRows,
    rows::{
        BlockChanges, BlockRows, account_history, at_height, head_value, history_height, legacy_history,
        meta, read_account, read_changes, read_slot, slot_history,
    },
    wal::record::RecordHead,
};
use hearth_metrics::{Level, LogEntry};
use hearth_primitives::{Account, Changeset, Height, RootTracker, StateError};
use std::{
    collections::BTreeMap,
    mem::take,
    sync::{Arc, atomic::Ordering::SeqCst},
    time::Instant,
};

impl Core {
    /// Unwinds to a height at or below the head.
    pub(crate) fn unwind(&self, to: Height) -> Result<(), FlatKvError> {
        let mut writer = self.lock_writer();
        writer.check()?;
        let from = self.head().ok_or(FlatKvError::Empty)?;
        let oldest = self.oldest.load(SeqCst);
        if to > from.height || to < oldest {
            return Err(FlatKvError::UnwindTarget { to, oldest, newest: from.height });
        }
        if to == from.height {
            return Ok(());
        }
        self.bring_nodes()?;
        let began = Instant::now();
        let lasts = self.fsync != Fsync::Never;
        let undone = undo(&self.db, self.kind, (&from, to), writer.lattice.as_ref(), &self.kept, lasts)?;
        let Undone { batch, head, lattice, mut trie } = undone;

        let (parent, positions) = (Default::default(), self.tables.positions());
        let record = RecordHead { unwind: true, head, parent, positions, oldest };
        self.log(&mut writer, to, &record.unwind_payload(), batch.bytes())?;
        writer.positions = record.positions;
        // It was made on a head that is gone.
        self.discard();

        // No view is made while the lock is held, so none above the target outlives this.
        let mut views = self.views.lock();
        views.unwind(to);
        let written = batch.write().map_err(FlatKvError::from);
        writer.fail(written)?;
        self.unwinds.fetch_add(1, SeqCst);
        self.upcoming.store(to, SeqCst);
        *self.head.write() = Some(head);
        drop(views);
        self.report_version();
        if let Some(update) = &mut trie {
            self.kept.keep(update);
        }
        if lattice.is_some() {
            writer.lattice = lattice;
        }
        self.after_write(&mut writer);
        let entry = LogEntry::new(Level::Info, "stores", "blocks were taken back").number("height", to);
        let entry = entry.count("blocks", from.height - to).seconds(began.elapsed());
        // A chain that is tried out may go back many times a second.
        self.metrics.log.merge(entry);
        Ok(())
    }
}

impl Core {
    /// Writes a record that takes the head back to itself, which changes no row, and names the
    /// tables' ends.
    pub(crate) fn keep_tables(&self) -> Result<(), FlatKvError> {
        let mut writer = self.lock_writer();
        writer.check()?;
        let head = self.head().ok_or(FlatKvError::Empty)?;
        // The record must never be there without what it names.
        self.tables.sync()?;
        let (parent, positions) = (Default::default(), self.tables.positions());
        if positions == writer.positions {
            return Ok(());
        }
        let record = RecordHead { unwind: true, head, parent, positions, oldest: self.oldest.load(SeqCst) };
        self.log(&mut writer, head.height, &record.unwind_payload(), 0)?;
        writer.positions = record.positions;
        Ok(())
    }
}

/// The batch that takes the store back, and the head then.
pub(crate) struct Undone<'a> {
    pub(crate) batch: Batch<'a>,
    pub(crate) head: Head,
    pub(crate) lattice: Option<Lattice>,
    /// What the trie has left in memory, to be kept once the batch is written.
    pub(crate) trie: Option<TrieUpdate>,
}

/// How rows are put back.
#[derive(Clone, Copy)]
struct PutRules {
    /// The target.
    to: Height,
    /// Whether the state is a part of another one: what history does not know has no row here.
    partial: bool,
    /// Whether the store outlives its process.
    lasts: bool,
}

/// Values that rows had at the target, by row.
#[derive(Default)]
struct Before {
    accounts: BTreeMap<Address, Option<Account>>,
    slots: BTreeMap<(Address, U256), U256>,
    index: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    legacy: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

/// Works out how the store looked at the second height, which must be below the head and retained.
/// The trie continues from what `kept` has of it. `lasts`: whether the store outlives its process,
/// so that what it holds on disk is checked against each other.
pub(crate) fn undo<'a>(
    db: &'a Arc<Db>,
    kind: CommitmentKind,
    (from, to): (&Head, Height),
    lattice: Option<&Lattice>,
    kept: &Kept,
    lasts: bool,
) -> Result<Undone<'a>, FlatKvError> {
    // Newest first: what an older block found overrides what a newer one found.
    let blocks = (to + 1..=from.height).rev().map(|height| Ok((height, block_changes(db, height)?)));
    let blocks = blocks.collect::<Result<Vec<_>, StateError>>()?;
    let changes = blocks.iter().flat_map(|(_, block)| &block.accounts);
    let rows = changes.map(|change| 1 + change.storage.len()).sum::<usize>();
    let mut batch = db.batch()?;
    let mut before = Before::default();
    let mut lattice = lattice.cloned();
    let mut reversals = Vec::with_capacity(blocks.len());
    for (height, block) in blocks {
        let (changes, legacy) = before.take(&mut batch, height, block);
        let reversed = changes.reversed();
        if let Some(lattice) = &mut lattice {
            lattice.update(BlockRows { changes: &reversed, legacy: &legacy });
        }
        reversals.push(reversed);
    }
    let undo_trie = || {
        if kind != CommitmentKind::Mpt {
            return Ok(None);
        }
        let mut trie = kept.session(db, from.commitment);
        reversals.iter().try_for_each(|reversed| trie.apply(reversed))?;
        trie.into_update().map(Some)
    };
    // Rows of a partial state that are not in history lie beneath it.
    let rules = PutRules { to, partial: kind == CommitmentKind::None, lasts };
    let mut put = || before.put(&mut batch, db, rules);
    // Few rows are done before another thread would have begun.
    let (update, put) = match rows < PARALLEL_ROWS {
        true => (undo_trie(), put()),
        false => rayon::join(undo_trie, put),
    };
    let mut update = update?;
    put?;

    let target = block_changes(db, to)?;
    let head = Head { height: to, hash: target.hash, commitment: target.commitment };
    let computed = match kind {
        CommitmentKind::Mpt => update.as_ref().map(|update| update.root()),
        CommitmentKind::LtHash => lattice.as_ref().map(Lattice::checksum),
        CommitmentKind::None => None,
    };
    if let Some(computed) = computed
        && computed != head.commitment
    {
        return Err(FlatKvError::BadCommitment { height: to, recorded: head.commitment, computed });
    }
    put_trie(&mut batch, update.as_mut());
    put_lattice(&mut batch, lattice.as_ref(), None, &mut BatchRows::default());
    batch.put(Family::Metadata, meta::HEAD, &head_value(&head));
    Ok(Undone { batch, head, lattice, trie: update })
}

/// What the changes family holds for a height.
pub(crate) fn block_changes(db: &Db, height: Height) -> Result<BlockChanges, StateError> {
    let row = db.get(Family::Changes, &height.to_be_bytes())?.ok_or_else(|| corrupt("changes"))?;
    read_changes(&row)
}

impl Before {
    /// Takes in what a block changed and deletes what it added to history. Gives the changes, and
    /// those of legacy rows the other way round.
    fn take(
        &mut self,
        batch: &mut Batch<'_>,
        height: Height,
        block: BlockChanges,
    ) -> (Changeset, Vec<RowChange>) {
        for change in &block.accounts {
            if change.old != change.new {
                self.accounts.insert(change.address, change.old);
                batch.delete(Family::History, &at_height(account_history(&change.address), height));
            }
            for slot in &change.storage {
                self.slots.insert((change.address, slot.slot), slot.old);
                let key = at_height(slot_history(&change.address, &slot.slot), height);
                batch.delete(Family::History, &key);
            }
        }
        self.index.extend(block.index.into_iter().map(|change| (change.write.key, change.old)));
        let mut legacy = Vec::with_capacity(block.legacy.len());
        for RowChange { write: RowWrite { key, value }, old } in block.legacy {
            batch.delete(Family::History, &at_height(legacy_history(&key), height));
            self.legacy.insert(key.clone(), old.clone());
            legacy.push(RowChange { write: RowWrite { key, value: old }, old: value });
        }
        batch.delete(Family::Changes, &height.to_be_bytes());
        (Changeset { accounts: block.accounts, codes: Vec::new() }, legacy)
    }

    /// Puts the values back, with the stamps that history knows.
    fn put(&mut self, batch: &mut Batch<'_>, db: &Db, rules: PutRules) -> Result<(), StateError> {
        let PutRules { to, partial, lasts } = rules;
        for (address, account) in take(&mut self.accounts) {
            let stamp =
                stamp(db, account_history(&address), to, |value| Ok(Some(read_account(value)?) == account))?;
            let account = account.filter(|_| stamp.is_some() || !partial);
            set_account(batch, &address, stamp.unwrap_or(to), account.as_ref());
            if stamp.is_some() != account.is_some() {
                return Err(corrupt("history"));
            }
        }
        for ((address, slot), value) in take(&mut self.slots) {
            // It has no row, so no stamp; looking into history would only check that. It is most of
            // what taking back new slots costs.
            if value.is_zero() && !lasts {
                set_slot(batch, &address, &slot, to, &value);
                continue;
            }
            let stamp = stamp(db, slot_history(&address, &slot), to, |row| Ok(read_slot(row)? == value))?;
            let value = if stamp.is_none() && partial { U256::ZERO } else { value };
            set_slot(batch, &address, &slot, stamp.unwrap_or(to), &value);
            if stamp.is_some() == value.is_zero() {
                return Err(corrupt("history"));
            }
        }
        for (key, value) in take(&mut self.legacy) {
            let stamp = stamp(db, legacy_history(&key), to, |row| Ok(Some(row) == value.as_deref()))?;
            set_legacy(batch, &key, stamp.unwrap_or(to), value.as_deref());
            if stamp.is_some() != value.is_some() {
                return Err(corrupt("history"));
            }
        }
        for (key, value) in take(&mut self.index) {
            batch.set(Family::Index, &key, value.as_deref());
        }
        Ok(())
    }
}

/// Height of the newest history row at or below `to`, whose value must be the one to be restored;
/// `None` where there was no row.
fn stamp(
    db: &Db,
    prefix: Vec<u8>,
    to: Height,
    is_value: impl FnOnce(&[u8]) -> Result<bool, StateError>,
) -> Result<Option<Height>, StateError> {
    let key = at_height(prefix.clone(), to);
    let rows = db.history(&prefix, &key)?;
    match rows.row() {
        Some((_, [])) => Ok(None),
        Some((key, value)) if is_value(value)? => history_height(key).map(Some),
        Some(_) => Err(corrupt("history")),
        None => rows.finish().map(|()| None),
    }
}
