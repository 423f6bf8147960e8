//! How the tables are kept.

use hearth_littable::{StoreOptions, TableOptions};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of the ledger's tables, as the configuration of a node contains them. What holds for
/// the store holds for all tables together, the rest for each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LedgerSettings {
    /// Folders beside the ledger's own, each on a volume of its own; the segments are spread over
    /// all.
    pub extra_roots: Vec<PathBuf>,
    /// Whether a folder may lie on a network file system.
    pub allow_network_fs: bool,
    /// Bound of the memory for filters, fences and pages of key indexes, in bytes.
    pub index_memory_bytes: usize,
    /// Most files of sealed segments and indexes held open.
    pub max_open_files: usize,
    /// Time between two looks for segments that may go, in milliseconds.
    pub gc_period_ms: u64,
    /// How long an iterator may hold segments back, in milliseconds.
    pub iterator_lease_ms: u64,
    /// Size at which a segment of a table is sealed, in bytes.
    pub segment_bytes: u64,
    /// Keys at which a segment of a table is sealed; a block has two in each table.
    pub segment_keys: u32,
    /// Bound of a table's cache of frames that were read, in bytes.
    pub read_cache_bytes: usize,
    /// Bound of a table's cache of what was put last, in bytes.
    pub write_cache_bytes: usize,
    /// Newest blocks whose trace capsules are kept; those of all without it.
    #[serde(with = "hearth_primitives::zero_is_none")]
    pub capsule_window_blocks: Option<NonZeroU64>,
    /// Whether blocks are indexed by the accounts that their transactions look at.
    pub address_index: bool,
    /// Newest blocks that are kept in that index at least; all without it.
    #[serde(with = "hearth_primitives::zero_is_none")]
    pub address_index_window_blocks: Option<NonZeroU64>,
}

impl Default for LedgerSettings {
    /// The defaults of littable.
    fn default() -> Self {
        let (store, table) = (StoreOptions::new(""), TableOptions::new(""));
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            extra_roots: Vec::new(),
            allow_network_fs: store.allow_network_fs,
            index_memory_bytes: store.index_memory_bytes,
            max_open_files: store.max_open_files,
            gc_period_ms: ms(store.gc_period),
            iterator_lease_ms: ms(store.iterator_lease),
            segment_bytes: table.segment_bytes,
            segment_keys: table.segment_keys,
            read_cache_bytes: table.read_cache_bytes,
            write_cache_bytes: table.write_cache_bytes,
            capsule_window_blocks: None,
            address_index: true,
            address_index_window_blocks: None,
        }
    }
}

/// How the ledger's tables are opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerOptions {
    /// What users choose.
    pub settings: LedgerSettings,
    /// Whether trace capsules are written.
    pub capsules: bool,
    /// Whether the tables end with the process: then nothing is synced, and blocks are not written
    /// to the system one by one.
    pub transient: bool,
}

impl LedgerOptions {
    /// Lasting tables with capsules.
    pub fn new(settings: LedgerSettings) -> Self {
        Self { settings, capsules: true, transient: false }
    }
}

impl Default for LedgerOptions {
    fn default() -> Self {
        Self::new(LedgerSettings::default())
    }
}
