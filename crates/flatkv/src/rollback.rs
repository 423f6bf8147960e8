//! Operator rollback: moves the head back permanently, while no node has the data directory open.
//!
//! Within the retained history, the blocks are unwound. Below it, a new database is built from a
//! snapshot and the WAL and replaces the current one. In both cases an intent file is written
//! first, and the next opening finishes an interrupted rollback.

use crate::{
    CommitmentKind, FlatKv, FlatKvError, Head, JoinedTables, Options, Snapshot,
    intent::{self, Intent, Moves, NEW_DATABASE, OLD_DATABASE, Replaced, StorePath},
    list_snapshots,
    open::{LOCK_FILE, ROCKS_DIR, replay_to},
};
use hearth_flatkv_storage::{
    db::{Db, Family},
    error::corrupt,
    files::{clone_database, remove_tree, sync_tree},
    rows::meta,
    stored::{Stored, positions_value},
    wal::{record::RecordHead, scan::WalScan},
};
use hearth_metrics::FlatkvMetrics;
use hearth_primitives::Height;
use std::sync::Arc;

/// The method of a rollback to a height.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RollbackSource {
    /// The height is retained: the blocks above it are unwound.
    History,
    /// The height is below the retained history: the WAL is replayed on this snapshot up to the
    /// height.
    Snapshot(Snapshot),
}

impl FlatKv {
    /// How the store can be taken back to a height; `from_snapshot`: through a snapshot even where
    /// history would do, for a store whose rows are in doubt. Changes nothing.
    ///
    /// # Errors
    /// [`FlatKvError::Unreachable`] names the heights that are available.
    pub fn rollback_source(
        &self,
        options: &Options,
        to: Height,
        from_snapshot: bool,
    ) -> Result<RollbackSource, FlatKvError> {
        let head = self.head().ok_or(FlatKvError::Empty)?;
        let oldest = self.oldest().unwrap_or(head.height);
        if !from_snapshot && (oldest..=head.height).contains(&to) {
            return Ok(RollbackSource::History);
        }
        let snapshots = list_snapshots(options)?;
        let at_or_below = |snapshot: &&Snapshot| to <= head.height && snapshot.oldest <= to;
        let found = snapshots.iter().rev().find(at_or_below).cloned();
        found.map(RollbackSource::Snapshot).ok_or_else(|| FlatKvError::Unreachable {
            to,
            oldest,
            newest: head.height,
            snapshots: snapshots.iter().map(|snapshot| (snapshot.oldest, snapshot.height)).collect(),
        })
    }

    /// Unwinds to a retained height, after writing an intent file.
    fn roll_back(&self, options: &Options, to: Height) -> Result<Head, FlatKvError> {
        let hash = crate::unwind::block_changes(&self.core.db, to)?.hash;
        Intent::Rollback { to, hash }.write(options)?;
        self.core.finish_rollback(options)?;
        self.head().ok_or(FlatKvError::Empty)
    }
}

/// Takes a home's store back to a height, where no node has it open. Check every store first.
/// Snapshots above the height go; where there were any, one of the height is taken.
/// `from_snapshot`: see [`FlatKv::rollback_source`].
///
/// # Errors
/// [`FlatKvError::Unreachable`] before anything is changed; [`FlatKvError::Locked`]; after any
/// other the next opening finishes the work or finds the store as it was.
pub fn roll_back(
    options: &Options,
    tables: &Arc<dyn JoinedTables>,
    to: Height,
    from_snapshot: bool,
) -> Result<Head, FlatKvError> {
    let metrics = FlatkvMetrics::new(&options.metrics);
    metrics.rollback.measure(|| roll_back_unmeasured(options, tables, to, from_snapshot))
}

fn roll_back_unmeasured(
    options: &Options,
    tables: &Arc<dyn JoinedTables>,
    to: Height,
    from_snapshot: bool,
) -> Result<Head, FlatKvError> {
    let kv = FlatKv::open(options.clone(), tables.clone())?;
    match kv.rollback_source(options, to, from_snapshot)? {
        RollbackSource::History => {
            kv.roll_back(options, to)?;
            kv.close()?;
            drop(kv);
        }
        RollbackSource::Snapshot(snapshot) => {
            kv.close()?;
            drop(kv);
            replace(options, &snapshot, to)?;
        }
    }
    drop_above(options, tables, to)
}

/// Deletes the snapshots above a height; takes one of it first, so that there is one afterwards.
fn drop_above(options: &Options, tables: &Arc<dyn JoinedTables>, to: Height) -> Result<Head, FlatKvError> {
    let kv = FlatKv::open(options.clone(), tables.clone())?;
    let head = kv.head().filter(|head| head.height == to).ok_or_else(|| corrupt("head"))?;
    if !kv.snapshots().is_empty() {
        kv.snapshot()?;
        kv.core.drop_snapshots_above(to)?;
    }
    kv.close()?;
    Ok(head)
}

/// Replaces the database by one of a lower height, made from a snapshot and the WAL.
fn replace(options: &Options, snapshot: &Snapshot, to: Height) -> Result<(), FlatKvError> {
    let _lock = options.disk.lock(&options.dir.join(LOCK_FILE))?;
    let moves = prepare(options, snapshot, to)?;
    Intent::Move(moves).write(options)?;
    intent::finish_files(options)
}

/// Makes the database of a height in `db.new`; returns what puts it in its place.
fn prepare(options: &Options, snapshot: &Snapshot, to: Height) -> Result<Moves, FlatKvError> {
    let new = options.dir.join(NEW_DATABASE);
    remove_tree(&*options.disk, &new)?;
    clone_database(&snapshot.database(), &new)?;
    let db = Arc::new(Db::open(&new, options)?);
    let stored = db.stored()?.ok_or_else(|| corrupt("head"))?;
    let scan = WalScan::read(&options.disk, &options.wal_dir, stored.synced)?;
    let metrics = FlatkvMetrics::new(&options.metrics);
    replay_to(&db, options, &metrics, &scan, to)?;
    let stored = db.stored()?.ok_or_else(|| corrupt("head"))?;
    if stored.head.height != to {
        let (oldest, newest) = (stored.oldest, stored.head.height);
        return Err(FlatKvError::Unreachable { to, oldest, newest, snapshots: Vec::new() });
    }
    let last = scan.records.last().map_or((stored.synced, stored.positions.clone()), |found| {
        (found.number, found.head.positions.clone())
    });
    let (number, payload) = unwind_record(&stored, last);
    let mut batch = db.batch()?;
    batch.put(Family::Metadata, meta::SYNCED, &number.to_be_bytes());
    batch.put(Family::Metadata, meta::POSITIONS, &positions_value(&stored.positions));
    batch.write()?;
    db.flush(true)?;
    drop(db);
    sync_tree(&*options.disk, &new)?;
    let place = |name: &str| StorePath::State(name.to_owned());
    Ok(Moves {
        replaced: vec![Replaced {
            new: place(NEW_DATABASE),
            at: place(ROCKS_DIR),
            aside: place(OLD_DATABASE),
        }],
        record: Some((number, payload)),
        delete: Some(place(OLD_DATABASE)),
    })
}

/// The record that says that a database's head is the head, behind the WAL's last one.
pub(crate) fn unwind_record(stored: &Stored, (last, positions): (u64, Vec<u64>)) -> (u64, Vec<u8>) {
    let Stored { head, oldest, .. } = *stored;
    let record = RecordHead { unwind: true, head, parent: Default::default(), positions, oldest };
    (last + 1, record.unwind_payload())
}

/// Whether a home of this commitment can be made from its WAL alone. Under [`CommitmentKind::None`]
/// nothing would show whether that is the whole state.
pub(crate) fn wal_alone_is_enough(kind: CommitmentKind, scan: &WalScan) -> bool {
    kind != CommitmentKind::None && scan.records.first().is_some_and(|found| found.number == 1)
}
