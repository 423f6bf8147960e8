//! How the tables are kept.

use hearth_littable::{StoreOptions, TableOptions};
use std::path::PathBuf;
use std::time::Duration;

/// Settings of the ledger's tables. What holds for the store holds for all tables together, the
/// rest for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerOptions {
    /// Folders beside the ledger's own, each on a volume of its own; the segments are spread over
    /// all.
    pub extra_roots: Vec<PathBuf>,
    /// Whether a folder may lie on a network file system.
    pub allow_network_fs: bool,
    /// Bound of the memory for filters, fences and pages of key indexes, in bytes.
    pub index_memory_bytes: usize,
    /// Most files of sealed segments and indexes held open.
    pub max_open_files: usize,
    /// Time between two looks for segments that may go.
    pub gc_period: Duration,
    /// How long an iterator may hold segments back.
    pub iterator_lease: Duration,
    /// Size at which a segment of a table is sealed, in bytes.
    pub segment_bytes: u64,
    /// Keys at which a segment of a table is sealed; a block has two in each table.
    pub segment_keys: u32,
    /// Bound of a table's cache of frames that were read, in bytes; 0 for none.
    pub read_cache_bytes: usize,
    /// Bound of a table's cache of what was put last, in bytes; 0 for none.
    pub write_cache_bytes: usize,
    /// Whether trace capsules are written.
    pub capsules: bool,
    /// Newest blocks whose trace capsules are kept; 0: all.
    pub capsule_window_blocks: u64,
    /// Whether blocks are indexed by the accounts that their transactions look at.
    pub address_index: bool,
    /// Newest blocks that are kept in that index at least; 0: all.
    pub address_index_window_blocks: u64,
    /// Whether the tables end with the process: then nothing is synced, and blocks are not written
    /// to the system one by one.
    pub transient: bool,
}

impl Default for LedgerOptions {
    /// The defaults of littable.
    fn default() -> Self {
        let (store, table) = (StoreOptions::new(""), TableOptions::new(""));
        Self {
            extra_roots: Vec::new(),
            allow_network_fs: store.allow_network_fs,
            index_memory_bytes: store.index_memory_bytes,
            max_open_files: store.max_open_files,
            gc_period: store.gc_period,
            iterator_lease: store.iterator_lease,
            segment_bytes: table.segment_bytes,
            segment_keys: table.segment_keys,
            read_cache_bytes: table.read_cache_bytes,
            write_cache_bytes: table.write_cache_bytes,
            capsules: true,
            capsule_window_blocks: 0,
            address_index: true,
            address_index_window_blocks: 0,
            transient: false,
        }
    }
}
