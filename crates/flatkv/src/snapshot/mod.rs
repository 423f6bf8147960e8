//! Snapshots: checkpoints of RocksDB, mostly hard links, each with what it needs to be opened alone
//! or to be brought forward by the WAL.
//!
//! `<state>/snapshots/<height>-<WAL record>/` holds the database in `db/` and its description in
//! `snapshot`. The folder gets its name when all of it is on disk, and loses it before anything of
//! it is deleted.

pub(crate) mod folder;
mod keeper;
mod manifest;
mod take;

pub(crate) use folder::{DATABASE, SNAPSHOTS_DIR, list, remove_unfinished};
pub(crate) use keeper::Keeper;

use crate::{CommitmentKind, Head, Options, StateSettings};
use alloy_primitives::B256;
use hearth_disk::Disk;
use hearth_primitives::Height;
use parking_lot::Mutex;
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
        mpsc::SyncSender,
    },
};

/// A snapshot, as its description says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Height of its head.
    pub height: Height,
    /// Hash of its head.
    pub hash: B256,
    /// What its commitment is.
    pub kind: CommitmentKind,
    /// Commitment of its head.
    pub commitment: B256,
    /// Oldest height with state in it.
    pub oldest: Height,
    /// Last WAL record that it holds: those behind bring it forward.
    pub wal_sequence: u64,
    /// End positions of the joined tables in that record, in bytes.
    pub positions: Vec<u64>,
    /// Its folder.
    pub dir: PathBuf,
}

impl Snapshot {
    /// The database inside.
    pub fn database(&self) -> PathBuf {
        self.dir.join(DATABASE)
    }

    /// The head inside.
    pub fn head(&self) -> Head {
        Head { height: self.height, hash: self.hash, commitment: self.commitment }
    }
}

/// The snapshots of an open store.
pub(crate) struct Snapshots {
    options: Options,
    /// Those that are there, oldest first.
    kept: Mutex<Vec<Snapshot>>,
    /// Held while one is taken.
    taking: Mutex<()>,
    /// Bytes of WAL since the newest, or since the last request for one.
    wal_bytes: AtomicU64,
    /// Wakes the thread that takes those by interval.
    wake: Mutex<Option<SyncSender<()>>>,
}

impl Snapshots {
    /// Those that were found at an opening; `wal_bytes` of WAL lie behind the newest.
    pub(crate) fn new(options: Options, kept: Vec<Snapshot>, wal_bytes: u64) -> Self {
        let (kept, wal_bytes) = (kept.into(), wal_bytes.into());
        Self { options, kept, taking: Mutex::default(), wal_bytes, wake: Mutex::default() }
    }

    /// A store that takes none.
    pub(crate) fn none(mut options: Options) -> Self {
        options.settings.snapshot_interval_blocks = None;
        options.settings.wal_max_bytes = None;
        Self::new(options, Vec::new(), 0)
    }

    /// Whether snapshots are taken without being demanded.
    pub(crate) fn are_automatic(&self) -> bool {
        let settings = &self.options.settings;
        settings.snapshot_interval_blocks.is_some() || settings.wal_max_bytes.is_some()
    }

    fn disk(&self) -> &Arc<dyn Disk> {
        &self.options.disk
    }

    /// Last WAL record that nothing needs any more: everything behind it brings the oldest snapshot
    /// forward. Without a snapshot the WAL from its first record on is what the store can be made
    /// from again.
    pub(crate) fn wal_floor(&self) -> u64 {
        let without = if self.are_automatic() { 0 } else { u64::MAX };
        self.kept.lock().first().map_or(without, |oldest| oldest.wal_sequence)
    }

    /// Counts a record of the WAL.
    pub(crate) fn count(&self, wal_bytes: u64) {
        self.wal_bytes.fetch_add(wal_bytes, SeqCst);
    }

    /// Whether a snapshot is due once the head has moved up from a height to another one: at a
    /// multiple of the interval, or behind it where blocks were committed in one step. The WAL
    /// between two of those that are kept stays below its part of the bound, so that all of it
    /// stays below the bound.
    pub(crate) fn is_due(&self, from: Height, to: Height) -> bool {
        let StateSettings { snapshot_interval_blocks, wal_max_bytes, snapshot_keep, .. } =
            &self.options.settings;
        let kept = (*snapshot_keep).max(1) as u64;
        snapshot_interval_blocks.is_some_and(|interval| to / interval > from / interval)
            || wal_max_bytes.is_some_and(|most| self.wal_bytes.load(SeqCst) >= most.get() / kept)
    }
}
