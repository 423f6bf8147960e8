//! How a chain's state store is kept.

use hearth_flatkv::{DEFAULT_MAX_OPEN_FILES, DEFAULT_MEMORY_BUDGET_BYTES, DEFAULT_SNAPSHOT_KEEP, Options};
use hearth_primitives::RemoteState;
use std::sync::Arc;

/// The part of the store's own [`Options`] that does not come from the home. The default has no
/// limits except memory.
#[derive(Clone, Debug)]
pub struct StateOptions {
    /// Memory that the store takes, in bytes.
    pub memory_budget_bytes: usize,
    /// Blocks below the head whose state is kept; 0: all.
    pub history_blocks: u64,
    /// A snapshot is taken at every height that this divides; 0: only on demand.
    pub snapshot_interval_blocks: u64,
    /// Newest snapshots that are kept; at least 1.
    pub snapshot_keep: usize,
    /// Bytes of WAL from which on a snapshot is forced; 0: no bound.
    pub wal_max_bytes: u64,
    /// Bytes that must stay free on the disk; 0: no bound.
    pub min_free_bytes: u64,
    /// Bound of RocksDB's open table files.
    pub max_open_files: i32,
    /// Whether RocksDB's internals are among the metrics.
    pub kvdb_metrics: bool,
    /// The origin of a home that began as a fork. All of its history is kept: it records which
    /// values are no longer the origin's.
    pub origin: Option<Arc<dyn RemoteState>>,
}

impl Default for StateOptions {
    fn default() -> Self {
        Self {
            memory_budget_bytes: DEFAULT_MEMORY_BUDGET_BYTES,
            history_blocks: 0,
            snapshot_interval_blocks: 0,
            snapshot_keep: DEFAULT_SNAPSHOT_KEEP,
            wal_max_bytes: 0,
            min_free_bytes: 0,
            max_open_files: DEFAULT_MAX_OPEN_FILES,
            kvdb_metrics: true,
            origin: None,
        }
    }
}

impl StateOptions {
    /// Writes these into the store's options.
    pub(crate) fn set(&self, options: &mut Options) {
        options.memory_budget_bytes = self.memory_budget_bytes;
        options.history_blocks = if self.origin.is_some() { 0 } else { self.history_blocks };
        options.snapshot_interval_blocks = self.snapshot_interval_blocks;
        options.snapshot_keep = self.snapshot_keep;
        options.wal_max_bytes = self.wal_max_bytes;
        options.min_free_bytes = self.min_free_bytes;
        options.max_open_files = self.max_open_files;
        options.kvdb_metrics = self.kvdb_metrics;
        options.origin = self.origin.clone();
    }
}
