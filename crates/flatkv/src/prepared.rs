//! Commits whose rows are encoded ahead: a block that waits for the decision of a consensus client
//! costs little more than its WAL record then.

use crate::{
    Commit, FlatKv, FlatKvError, Fsync,
    commit::Ready,
    shared::{Core, Writer},
};
use hearth_flatkv_storage::{
    batch::{Batch, EncodedBatch},
    db::Db,
    failpoints::{Failpoint, failpoint},
    gate::Closed,
    measure::BatchRows,
};
use hearth_metrics::FlatkvMetrics;
use hearth_primitives::{Height, StateError};
use parking_lot::Mutex;
use std::{
    sync::{Arc, atomic::Ordering::SeqCst},
    thread::Builder,
    time::Duration,
};

/// How long the batch of a prepared commit is put off, unless a read or a change waits for it. The
/// answer that acknowledges the commit is on its way meanwhile, for which writing the batch would
/// leave no processor free on a machine with two of them.
const APPLY_AFTER: Duration = Duration::from_millis(5);

/// A block's commit with its rows encoded, for [`FlatKv::commit_prepared`]. It fits the head that
/// it was prepared on, as long as nothing else was logged.
pub struct PreparedCommit {
    ready: Ready<EncodedBatch>,
    /// The WAL record behind which it comes.
    after: u64,
}

impl PreparedCommit {
    /// Height of the block.
    pub fn height(&self) -> Height {
        self.ready.head.height
    }

    /// Bytes of the rows and of the WAL record, which it keeps in memory.
    pub fn memory_bytes(&self) -> usize {
        self.ready.memory_bytes()
    }
}

impl FlatKv {
    /// Encodes the rows of a block on the head, and changes nothing. [`Commit::positions`] is not
    /// used: [`FlatKv::commit_prepared`] names the ends of the tables.
    ///
    /// # Errors
    /// As [`FlatKv::commit`]; where changes are applied and not committed.
    pub fn prepare(&self, commit: Commit<'_>) -> Result<PreparedCommit, FlatKvError> {
        self.core.prepare(commit)
    }

    /// Commits a block that was prepared. `positions` are the ends of the joined tables. `false`
    /// where the head, or anything else that the log has, changed since: nothing is committed then.
    ///
    /// # Errors
    /// As [`FlatKv::commit`].
    pub fn commit_prepared(
        &self,
        prepared: PreparedCommit,
        positions: Vec<u64>,
    ) -> Result<bool, FlatKvError> {
        self.core.commit_prepared(prepared, positions)
    }

    /// Syncs the joined tables where each commit is synced ([`Fsync::Block`]), so that the next
    /// commit has less to sync.
    ///
    /// # Errors
    /// Those of the tables.
    pub fn sync_tables_ahead(&self) -> Result<(), StateError> {
        match self.core.fsync {
            Fsync::Block => self.core.tables.sync(),
            Fsync::Interval(_) | Fsync::None | Fsync::Never => Ok(()),
        }
    }
}

impl Core {
    fn prepare(&self, commit: Commit<'_>) -> Result<PreparedCommit, FlatKvError> {
        let writer = self.lock_writer();
        writer.check()?;
        if !self.staged.read().is_empty() {
            let why = "prepared commit: changes are applied and not committed".to_owned();
            return Err(StateError::Store(why).into());
        }
        let ready = self.ready(&writer, commit, false)?;
        Ok(PreparedCommit { ready: ready.detach(), after: writer.wal.last() })
    }

    fn commit_prepared(&self, prepared: PreparedCommit, positions: Vec<u64>) -> Result<bool, FlatKvError> {
        let PreparedCommit { ready, after } = prepared;
        self.metrics.commit.measure(|| {
            let mut writer = self.lock_writer();
            writer.check()?;
            self.check_space()?;
            let stale = writer.wal.last() != after || !self.staged.read().is_empty();
            // Behind a failure of RocksDB a batch may fail, and its halves may be parted by a
            // flush.
            if stale || self.db.failed_in_background().is_err() {
                return Ok(false);
            }
            let ready = ready.attach(&self.db)?;
            let height = ready.head.height;
            // What follows a batch, flushes and snapshots, is work of the writer.
            match writer.unflushed.wants_attention()
                || self.snapshots.is_due(height.saturating_sub(1), height)
            {
                true => self.publish(&mut writer, ready, positions, false)?,
                false => self.publish_first(&mut writer, ready, positions)?,
            }
            Ok(true)
        })
    }

    /// Writes the WAL record of a commit and moves the head; a thread of its own writes the batch a
    /// little later, for which reads and the next change wait. The process may die in between:
    /// opening replays the record.
    fn publish_first(
        &self,
        writer: &mut Writer,
        ready: Ready<Batch<'_>>,
        positions: Vec<u64>,
    ) -> Result<(), FlatKvError> {
        self.join_applier();
        let pending = self.log_ready(writer, &ready, positions, false)?;
        drop(pending);
        let Ready { head, oldest, batch, rows, mut done, .. } = ready;
        self.upcoming.store(head.height, SeqCst);
        let closed = self.db.gate.close();
        self.move_head(writer, head, oldest, &mut done);
        let encoded = batch.detach();
        let apply = Apply { db: self.db.clone(), metrics: self.metrics.clone(), rows, encoded, closed };
        // Without a thread to be had it is done here.
        let apply = Arc::new(Mutex::new(Some(apply)));
        let of_thread = apply.clone();
        let run = move || of_thread.lock().take().map_or((), Apply::run);
        match Builder::new().name("flatkv-apply".into()).spawn(run) {
            Ok(thread) => *self.applier.lock() = Some(thread),
            Err(_) => apply.lock().take().map_or((), Apply::run),
        }
        Ok(())
    }

    /// Waits for the thread that writes a batch, if there is one.
    pub(crate) fn join_applier(&self) {
        let thread = self.applier.lock().take();
        if let Some(thread) = thread {
            // How it went is for the gate to say.
            let _ = thread.join();
        }
    }
}

/// A batch on its way into RocksDB, behind its WAL record and the move of the head.
struct Apply {
    db: Arc<Db>,
    metrics: FlatkvMetrics,
    rows: BatchRows,
    encoded: EncodedBatch,
    closed: Closed,
}

impl Apply {
    fn run(self) {
        let Self { db, metrics, rows, encoded, closed } = self;
        closed.wait_until_needed(APPLY_AFTER);
        failpoint(Failpoint::Later);
        let written = db.batch().and_then(|batch| rows.write_apart(batch.of(encoded), &metrics));
        closed.open(&written);
    }
}
