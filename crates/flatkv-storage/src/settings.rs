//! What users choose of a state store.

use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// Memory that a store takes by default, in bytes.
pub const DEFAULT_MEMORY_BUDGET_BYTES: usize = 1 << 30;
/// Default bound of RocksDB's open table files.
pub const DEFAULT_MAX_OPEN_FILES: i32 = 512;
/// Default number of snapshots that are kept.
pub const DEFAULT_SNAPSHOT_KEEP: usize = 2;

/// Settings of the state store, as the configuration of a node contains them. The default has no
/// limits except memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StateSettings {
    /// Whether RocksDB's internals are among the metrics, for every data DB; they are read with
    /// each snapshot of the metrics.
    pub enable_kvdb_metrics: bool,
    /// Memory that the store takes, in bytes: RocksDB's block cache, memtables, indexes and
    /// filters, the trie between two commits, code.
    pub memory_budget_bytes: usize,
    /// Heights below the head that keep their state; what is older goes in the background. All keep
    /// it without this.
    #[serde(with = "hearth_primitives::zero_is_none")]
    pub state_history_blocks: Option<NonZeroU64>,
    /// A snapshot is taken at every height that this divides; without it only on demand.
    #[serde(with = "hearth_primitives::zero_is_none")]
    pub snapshot_interval_blocks: Option<NonZeroU64>,
    /// Newest snapshots that are kept; at least 1. The WAL is kept from the oldest of them on.
    pub snapshot_keep: usize,
    /// Bytes of WAL from which on a snapshot is forced, so that older segments can go.
    #[serde(with = "hearth_primitives::zero_is_none")]
    pub wal_max_bytes: Option<NonZeroU64>,
    /// Bytes that must stay free on the disk: commits are refused below.
    pub min_free_bytes: u64,
    /// Bound of RocksDB's open table files.
    pub max_open_files: i32,
    /// Whether those that close the store take a snapshot before: at the end of an import, and when
    /// a node that only serves stops.
    #[serde(default)]
    pub snapshot_on_stop: bool,
}

impl Default for StateSettings {
    fn default() -> Self {
        Self {
            enable_kvdb_metrics: true,
            memory_budget_bytes: DEFAULT_MEMORY_BUDGET_BYTES,
            state_history_blocks: None,
            snapshot_interval_blocks: None,
            snapshot_keep: DEFAULT_SNAPSHOT_KEEP,
            wal_max_bytes: None,
            min_free_bytes: 0,
            max_open_files: DEFAULT_MAX_OPEN_FILES,
            snapshot_on_stop: false,
        }
    }
}
