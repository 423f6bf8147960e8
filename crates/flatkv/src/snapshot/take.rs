//! Taking a snapshot: a flush is started beside the last commit, and everything else happens beside
//! further ones.

use super::{DATABASE, Snapshot, folder};
use crate::{
    FlatKvError, Options,
    shared::{Core, Writer},
    snapshot::SNAPSHOTS_DIR,
};
use hearth_flatkv_storage::{db::Db, error::corrupt, files::remove_tree};
use hearth_metrics::{Level, LogEntry};
use hearth_primitives::Height;
use std::{
    path::{Path, PathBuf},
    sync::atomic::Ordering::SeqCst,
    thread::sleep,
    time::{Duration, Instant},
};

/// Pause between two looks at the flush that a snapshot waits for.
const LOOK_PAUSE: Duration = Duration::from_millis(2);

impl Core {
    /// After the commit of blocks, the first of which has this height: starts a snapshot where one
    /// is due.
    pub(crate) fn snapshot_if_due(&self, writer: &mut Writer, first: Height) {
        let below = first.saturating_sub(1);
        let due = self.head().is_some_and(|head| self.snapshots.is_due(below, head.height));
        if !due {
            return;
        }
        self.snapshots.wal_bytes.store(0, SeqCst);
        if let Some(wake) = &*self.snapshots.wake.lock() {
            // The commit stands whatever becomes of the flush: the writer keeps a failure and
            // refuses the next one. A thread that was woken already need not be woken again, and
            // one that is gone takes no snapshot: the store is being closed then.
            let _ = self.start_flush(writer, false).is_ok_and(|()| wake.try_send(()).is_ok());
        }
    }

    /// Takes a snapshot of the head; the newest one where that is of the head already.
    pub(crate) fn snapshot(&self) -> Result<Snapshot, FlatKvError> {
        {
            let mut writer = self.lock_writer();
            writer.check()?;
            if self.head().is_none() {
                return Err(FlatKvError::Empty);
            }
            if let Some(newest) = self.newest_snapshot()
                && newest.wal_sequence == writer.wal.last()
            {
                return Ok(newest);
            }
            self.snapshots.wal_bytes.store(0, SeqCst);
            self.start_flush(&mut writer, false)?;
        }
        self.snapshot_flushed()
    }

    /// Takes a snapshot of what was flushed, or is about to be. Commits continue meanwhile.
    pub(super) fn snapshot_flushed(&self) -> Result<Snapshot, FlatKvError> {
        let _one_at_a_time = self.snapshots.taking.lock();
        while self.db.flushing()? {
            sleep(LOOK_PAUSE);
        }
        let taken = self.metrics.snapshot_write.measure(|| self.make_snapshot())?;
        let started = Instant::now();
        let pruned = self.prune_snapshots();
        self.metrics.snapshot_prune.record_duration(started.elapsed());
        pruned?;
        Ok(taken)
    }

    fn make_snapshot(&self) -> Result<Snapshot, FlatKvError> {
        let disk = &**self.snapshots.disk();
        let making = folder::begin(disk, &self.snapshots_dir())?;
        let made = self.make_snapshot_in(&making);
        // The folder of a snapshot has its name by now. One that failed, or that is there already,
        // would keep the table files on the disk that RocksDB deletes.
        let _ = remove_tree(disk, &making);
        made
    }

    fn make_snapshot_in(&self, making: &Path) -> Result<Snapshot, FlatKvError> {
        let (disk, began) = (&**self.snapshots.disk(), Instant::now());
        {
            // Where nodes of the trie are in memory, no commit may come between them and the copy.
            let mut writer = self.db.gathers_nodes().then(|| self.lock_writer());
            if let Some(writer) = &mut writer {
                writer.check()?;
                self.bring_nodes()?;
                self.start_flush(writer, true)?;
            }
            self.db.checkpoint(&making.join(DATABASE))?;
        }
        // The description is taken from what is in the copy, which proves that it opens.
        let snapshot = describe(making, &self.snapshots.options)?;
        self.log_snapshot(Level::Debug, "a snapshot was taken, and is made durable", &snapshot, began);
        let mut kept = self.snapshots.kept.lock();
        if let Some(there) = kept.iter().find(|there| there.wal_sequence == snapshot.wal_sequence) {
            return Ok(there.clone());
        }
        let snapshot = folder::publish(disk, making, snapshot)?;
        kept.push(snapshot.clone());
        drop(kept);
        self.report_snapshot();
        self.log_snapshot(Level::Info, "a snapshot is there", &snapshot, began);
        Ok(snapshot)
    }

    fn log_snapshot(&self, level: Level, message: &'static str, snapshot: &Snapshot, began: Instant) {
        let entry = LogEntry::new(level, "stores", message).number("height", snapshot.height);
        self.metrics.log.add(entry.number("walRecord", snapshot.wal_sequence).seconds(began.elapsed()));
    }

    /// Deletes all but the newest snapshots. One that cannot be deleted stays in the list.
    fn prune_snapshots(&self) -> Result<(), FlatKvError> {
        let keep = self.snapshots.options.settings.snapshot_keep.max(1);
        loop {
            let mut kept = self.snapshots.kept.lock();
            if kept.len() <= keep {
                return Ok(());
            }
            let began = Instant::now();
            let removed = folder::remove(&**self.snapshots.disk(), &kept[0]);
            self.metrics.snapshot_prune_attempts.of(removed.is_ok()).add(1);
            removed?;
            let gone = kept.remove(0);
            self.log_snapshot(Level::Info, "an old snapshot is gone", &gone, began);
        }
    }

    /// Records the height of the newest snapshot.
    pub(crate) fn report_snapshot(&self) {
        let height = self.newest_snapshot().map_or(0, |newest| newest.height);
        self.metrics.current_snapshot_height.set_unsigned(height);
    }

    /// Deletes the snapshots above a height.
    pub(crate) fn drop_snapshots_above(&self, height: Height) -> Result<(), FlatKvError> {
        let mut kept = self.snapshots.kept.lock();
        while let Some(at) = kept.iter().position(|snapshot| snapshot.height > height) {
            folder::remove(&**self.snapshots.disk(), &kept[at])?;
            kept.remove(at);
        }
        drop(kept);
        self.report_snapshot();
        Ok(())
    }

    fn snapshots_dir(&self) -> PathBuf {
        self.snapshots.options.dir.join(SNAPSHOTS_DIR)
    }

    /// The snapshots that are there, oldest first.
    pub(crate) fn list_snapshots(&self) -> Vec<Snapshot> {
        self.snapshots.kept.lock().clone()
    }

    fn newest_snapshot(&self) -> Option<Snapshot> {
        self.snapshots.kept.lock().last().cloned()
    }
}

/// Reads a snapshot's description out of the database in its folder.
fn describe(dir: &Path, options: &Options) -> Result<Snapshot, FlatKvError> {
    let db = Db::open_read_only(&dir.join(DATABASE), options)?;
    let stored = db.stored()?.ok_or_else(|| corrupt("head"))?;
    Ok(Snapshot {
        height: stored.head.height,
        hash: stored.head.hash,
        kind: options.commitment,
        commitment: stored.head.commitment,
        oldest: stored.oldest,
        wal_sequence: stored.synced,
        positions: stored.positions,
        dir: dir.to_owned(),
    })
}
