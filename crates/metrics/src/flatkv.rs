//! Instruments of the state store.

use crate::{
    Counter, Flag, Gauge, Histogram, Instrument, Label, Log, Registry, Unit,
    instrument::{BOOLEAN, LATENCY, LONG, SUCCESS, rows},
};
use std::ops::Index;

/// A data DB: the values of the label `db`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataDb {
    /// Accounts.
    Account,
    /// Code by its hash.
    Code,
    /// Storage slots.
    Storage,
    /// Committed rows outside the other three.
    Legacy,
    /// What the store knows of itself: head, format, commitment.
    Metadata,
}

impl DataDb {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::Account, Self::Code, Self::Storage, Self::Legacy, Self::Metadata];

    /// Its value of the label `db`.
    pub const fn name(self) -> &'static str {
        NAMES[self as usize]
    }
}

const NAMES: &[&str] = &["account", "code", "storage", "legacy", "metadata"];

/// Which data DB.
pub(crate) const DB: Label = Label::finite("db", NAMES);
/// Whether the store was opened read-only.
const READ_ONLY: Label = Label::finite("read_only", BOOLEAN);

rows! {
    OPEN = Instrument::seconds("flatkv_open_latency", LONG, &[READ_ONLY, SUCCESS],
        "Opening the store, catching up with its log included; read_only: opened beside the one that writes");
    APPLY = Instrument::seconds("flatkv_apply_changesets_latency", LATENCY, &[SUCCESS],
        "Applying a changeset, refused ones included: checks, commitment and rows, before anything is written");
    COMMIT = Instrument::seconds("flatkv_commit_latency", LATENCY, &[SUCCESS],
        "Committing a block, from the call to its end, waiting for the writer included");
    COMMIT_BATCH = Instrument::seconds("flatkv_commit_batch_latency", LATENCY, &[DB, SUCCESS],
        "Writing a data DB's rows of a commit or of a replayed batch: encoding them, and the write that all data DBs share");
    BATCH_READ = Instrument::seconds("flatkv_batch_read_old_values_latency", LATENCY, &[SUCCESS],
        "Reading the values that a changeset overwrites and that did not come with it");
    NUM_KV_PAIRS = Instrument::counter("flatkv_num_kv_pairs", Unit::Count, &[DB],
        "Rows of changesets that were applied");
    PENDING_WRITES = Instrument::gauge("flatkv_pending_writes", Unit::Count, &[DB],
        "Rows that are applied and not committed");
    CURRENT_VERSION = Instrument::gauge("flatkv_current_version", Unit::Count, &[],
        "Height of the last committed block");
    CATCHUP = Instrument::seconds("flatkv_catchup_latency", LONG, &[SUCCESS],
        "Catching up with the log at open, also where nothing was missing");
    CATCHUP_BLOCKS = Instrument::counter("flatkv_catchup_replay_num_blocks", Unit::Count, &[],
        "Blocks of the log replayed at open");
    SNAPSHOT_WRITE = Instrument::seconds("flatkv_snapshot_write_latency", LONG, &[SUCCESS],
        "Writing a snapshot");
    SNAPSHOT_PRUNE = Instrument::seconds("flatkv_snapshot_prune_latency", LONG, &[],
        "Pruning snapshots, each pass");
    SNAPSHOT_PRUNE_ATTEMPTS = Instrument::counter("flatkv_snapshot_prune_attempts", Unit::Count, &[SUCCESS],
        "Snapshots that pruning tried to delete");
    SNAPSHOT_HEIGHT = Instrument::gauge("flatkv_current_snapshot_height", Unit::Count, &[],
        "Height of the newest snapshot");
    ROLLBACK = Instrument::seconds("flatkv_rollback_latency", LONG, &[SUCCESS],
        "Taking the store back to an earlier height");
    IMPORT = Instrument::seconds("flatkv_import_latency", LONG, &[SUCCESS],
        "Importing a state");
    IMPORT_KV_PAIRS = Instrument::counter("flatkv_import_kv_pairs", Unit::Count, &[DB],
        "Rows imported");
    IMPORT_FLUSH = Instrument::seconds("flatkv_import_worker_flush_latency", LATENCY, &[DB, SUCCESS],
        "Writing a batch of imported rows");
    FLUSH = Instrument::seconds("flatkv_flush_latency", LATENCY, &[DB, SUCCESS],
        "Flushing a data DB to its files");
}

/// Something for each data DB.
#[derive(Clone, Debug)]
pub struct PerDb<T>([T; DataDb::ALL.len()]);

impl<T> PerDb<T> {
    pub(crate) fn make(make: impl FnMut(DataDb) -> T) -> Self {
        Self(DataDb::ALL.map(make))
    }

    /// Each data DB with its value.
    pub fn iter(&self) -> impl Iterator<Item = (DataDb, &T)> {
        DataDb::ALL.into_iter().zip(&self.0)
    }
}

impl<T> Index<DataDb> for PerDb<T> {
    type Output = T;

    fn index(&self, db: DataDb) -> &T {
        &self.0[db as usize]
    }
}

/// Handles of a state store. Those of two stores in one registry are the same.
#[derive(Clone, Debug)]
pub struct FlatkvMetrics {
    /// What operators should read.
    pub log: Log,
    /// Opening, by whether it was read-only and by success.
    pub open: Flag<Flag<Histogram>>,
    /// Applying a changeset.
    pub apply_changesets: Flag<Histogram>,
    /// Committing a block.
    pub commit: Flag<Histogram>,
    /// A data DB's part of a batch; recorded only where it has rows in it.
    pub commit_batch: PerDb<Flag<Histogram>>,
    /// Reading old values.
    pub batch_read_old_values: Flag<Histogram>,
    /// Rows of applied changesets.
    pub num_kv_pairs: PerDb<Counter>,
    /// Rows that are applied and not committed.
    pub pending_writes: PerDb<Gauge>,
    /// Height of the last committed block.
    pub current_version: Gauge,
    /// Catching up with the log.
    pub catchup: Flag<Histogram>,
    /// Blocks replayed while catching up.
    pub catchup_replay_num_blocks: Counter,
    /// Writing a snapshot.
    pub snapshot_write: Flag<Histogram>,
    /// A pass over the snapshots.
    pub snapshot_prune: Histogram,
    /// Snapshots that a pass tried to delete.
    pub snapshot_prune_attempts: Flag<Counter>,
    /// Height of the newest snapshot.
    pub current_snapshot_height: Gauge,
    /// Taking the store back.
    pub rollback: Flag<Histogram>,
    /// Importing a state.
    pub import: Flag<Histogram>,
    /// Rows imported.
    pub import_kv_pairs: PerDb<Counter>,
    /// Writing a batch of imported rows.
    pub import_worker_flush: PerDb<Flag<Histogram>>,
    /// Flushing a data DB.
    pub flush: PerDb<Flag<Histogram>>,
}

impl FlatkvMetrics {
    /// The handles of a registry.
    pub fn new(registry: &Registry) -> Self {
        let success = |row| Flag::make(|value| registry.histogram(row, &[value]));
        let per_db = |row| PerDb::make(|db| Flag::make(|value| registry.histogram(row, &[db.name(), value])));
        let pairs = |row| PerDb::make(|db| registry.counter(row, &[db.name()]));
        Self {
            log: registry.log().clone(),
            open: Flag::make(|read_only| Flag::make(|value| registry.histogram(&OPEN, &[read_only, value]))),
            apply_changesets: success(&APPLY),
            commit: success(&COMMIT),
            commit_batch: per_db(&COMMIT_BATCH),
            batch_read_old_values: success(&BATCH_READ),
            num_kv_pairs: pairs(&NUM_KV_PAIRS),
            pending_writes: PerDb::make(|db| registry.gauge(&PENDING_WRITES, &[db.name()])),
            current_version: registry.gauge(&CURRENT_VERSION, &[]),
            catchup: success(&CATCHUP),
            catchup_replay_num_blocks: registry.counter(&CATCHUP_BLOCKS, &[]),
            snapshot_write: success(&SNAPSHOT_WRITE),
            snapshot_prune: registry.histogram(&SNAPSHOT_PRUNE, &[]),
            snapshot_prune_attempts: Flag::make(|value| registry.counter(&SNAPSHOT_PRUNE_ATTEMPTS, &[value])),
            current_snapshot_height: registry.gauge(&SNAPSHOT_HEIGHT, &[]),
            rollback: success(&ROLLBACK),
            import: success(&IMPORT),
            import_kv_pairs: pairs(&IMPORT_KV_PAIRS),
            import_worker_flush: per_db(&IMPORT_FLUSH),
            flush: per_db(&FLUSH),
        }
    }
}
