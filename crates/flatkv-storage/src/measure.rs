//! Recordings of metrics that take more than a line.

use crate::{batch::Batch, db::Db, rows::BlockRows};
use hearth_metrics::{DataDb, FlatkvMetrics};
use hearth_primitives::StateError;
use std::{
    ops::Index,
    sync::{Arc, Weak},
    thread::{Builder, sleep},
    time::{Duration, Instant},
};

/// Pause between two looks at a flush that is being measured.
const LOOK_PAUSE: Duration = Duration::from_millis(1);

/// Rows of a changeset by data DB.
#[derive(Clone, Copy, Default)]
pub struct Pairs([u64; DataDb::ALL.len()]);

impl Pairs {
    /// Counts them: accounts that changed, slots, code and legacy rows.
    pub fn of(rows: BlockRows<'_>) -> Self {
        let (accounts, mut pairs) = (&rows.changes.accounts, Self::default());
        pairs.set(DataDb::Account, accounts.iter().filter(|change| change.old != change.new).count());
        pairs.set(DataDb::Storage, accounts.iter().map(|change| change.storage.len()).sum());
        pairs.set(DataDb::Code, rows.changes.codes.len());
        pairs.set(DataDb::Legacy, rows.legacy.len());
        pairs
    }

    /// Sets the number of rows of a data DB.
    pub fn set(&mut self, db: DataDb, rows: usize) {
        self.0[db as usize] = rows as u64;
    }

    /// Adds them to the rows that were applied.
    pub fn count(&self, metrics: &FlatkvMetrics) {
        for (db, counter) in metrics.num_kv_pairs.iter() {
            counter.add(self[db]);
        }
    }

    /// Counts them as pending until the guard is dropped.
    pub fn pending(self, metrics: &FlatkvMetrics) -> Pending<'_> {
        self.move_pending(metrics, 1);
        Pending { pairs: self, metrics }
    }

    /// Counts them in among the pending rows, or out with sign -1.
    pub fn move_pending(&self, metrics: &FlatkvMetrics, sign: i64) {
        for (db, gauge) in metrics.pending_writes.iter() {
            gauge.add(sign * self[db] as i64);
        }
    }
}

impl Index<DataDb> for Pairs {
    type Output = u64;

    fn index(&self, db: DataDb) -> &u64 {
        &self.0[db as usize]
    }
}

/// Rows that are applied; committed or given up once this is dropped.
pub struct Pending<'a> {
    pairs: Pairs,
    metrics: &'a FlatkvMetrics,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.pairs.move_pending(self.metrics, -1);
    }
}

/// What each data DB has in a batch, and how long encoding that took.
#[derive(Default)]
pub struct BatchRows([(u64, Duration); DataDb::ALL.len()]);

impl BatchRows {
    /// Starts the clock for the rows that are encoded next.
    pub fn encode(&mut self) -> Encoding<'_> {
        Encoding { rows: self, since: Instant::now() }
    }

    /// Writes the batch, and records for each data DB with rows in it: encoding them, and the write
    /// that all share.
    pub fn write(self, batch: Batch<'_>, metrics: &FlatkvMetrics) -> Result<(), StateError> {
        self.write_by(metrics, || batch.write())
    }

    /// As [`BatchRows::write`], by [`Batch::write_apart`].
    pub fn write_apart(self, batch: Batch<'_>, metrics: &FlatkvMetrics) -> Result<(), StateError> {
        self.write_by(metrics, || batch.write_apart())
    }

    fn write_by(
        self,
        metrics: &FlatkvMetrics,
        write: impl FnOnce() -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        let start = Instant::now();
        let written = write();
        let shared = start.elapsed();
        for (db, latency) in metrics.commit_batch.iter() {
            let (rows, encoding) = self.0[db as usize];
            if rows > 0 {
                latency.record_duration(written.is_ok(), encoding + shared);
            }
        }
        written
    }
}

/// The clock over the encoding of rows.
pub struct Encoding<'a> {
    rows: &'a mut BatchRows,
    since: Instant,
}

impl Encoding<'_> {
    /// The time since the last call went into this many rows of a data DB.
    pub fn done(&mut self, db: DataDb, rows: u64) {
        let now = Instant::now();
        let (count, time) = &mut self.rows.0[db as usize];
        *count += rows;
        *time += now - self.since;
        self.since = now;
    }
}

/// Flushes all families together, and records how long each data DB's flush took: they end as one.
///
/// Without `wait` this returns once everything is set apart, and a thread looks for the end.
pub fn flush(db: &Arc<Db>, wait: bool, metrics: &FlatkvMetrics) -> Result<(), StateError> {
    let start = Instant::now();
    let flushed = db.flush(wait);
    if wait || flushed.is_err() {
        record_flush(metrics, flushed.is_ok(), start.elapsed());
        return flushed;
    }
    let (db, metrics) = (Arc::downgrade(db), metrics.clone());
    let watch = Builder::new().name("flatkv-flush".into()).spawn(move || watch_flush(&db, start, &metrics));
    // A flush that could not be timed is a flush all the same: only its sample is missing.
    drop(watch);
    Ok(())
}

fn watch_flush(db: &Weak<Db>, start: Instant, metrics: &FlatkvMetrics) {
    // The store is held for moments only: who closes it need not wait for this thread.
    while let Some(db) = db.upgrade() {
        match db.flushing() {
            Ok(true) => {}
            ended => return record_flush(metrics, ended.is_ok(), start.elapsed()),
        }
        drop(db);
        sleep(LOOK_PAUSE);
    }
}

fn record_flush(metrics: &FlatkvMetrics, success: bool, took: Duration) {
    for (_, latency) in metrics.flush.iter() {
        latency.record_duration(success, took);
    }
}
