//! Settings of the ledger's tables.

use hearth_ledger::LedgerOptions;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// How the ledger's tables are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LittableConfig {
    /// Folders beside `data/ledger`, each on a volume of its own.
    pub extra_roots: Vec<PathBuf>,
    /// Whether a folder may lie on a network file system.
    pub allow_network_fs: bool,
    /// Bound of the memory for key indexes, in bytes.
    pub index_memory_bytes: usize,
    /// Most files of sealed segments and indexes held open.
    pub max_open_files: usize,
    /// Time between two looks for segments that may go, in milliseconds.
    pub gc_period_ms: u64,
    /// How long an iterator may hold segments back, in milliseconds.
    pub iterator_lease_ms: u64,
    /// Size at which a segment is sealed, in bytes.
    pub segment_bytes: u64,
    /// Keys at which a segment is sealed.
    pub segment_keys: u32,
    /// Bound of a table's cache of frames that were read, in bytes; 0 for none.
    pub read_cache_bytes: usize,
    /// Bound of a table's cache of what was put last, in bytes; 0 for none.
    pub write_cache_bytes: usize,
    /// Newest blocks whose trace capsules are kept; 0: all.
    pub capsule_window_blocks: u64,
    /// Whether blocks are indexed by account.
    pub address_index: bool,
    /// Newest blocks that the address index keeps; 0: all.
    pub address_index_window_blocks: u64,
}

impl LittableConfig {
    /// As the ledger takes it.
    pub fn ledger(&self) -> LedgerOptions {
        LedgerOptions {
            extra_roots: self.extra_roots.clone(),
            allow_network_fs: self.allow_network_fs,
            index_memory_bytes: self.index_memory_bytes,
            max_open_files: self.max_open_files,
            gc_period: Duration::from_millis(self.gc_period_ms),
            iterator_lease: Duration::from_millis(self.iterator_lease_ms),
            segment_bytes: self.segment_bytes,
            segment_keys: self.segment_keys,
            read_cache_bytes: self.read_cache_bytes,
            write_cache_bytes: self.write_cache_bytes,
            capsules: true,
            capsule_window_blocks: self.capsule_window_blocks,
            address_index: self.address_index,
            address_index_window_blocks: self.address_index_window_blocks,
            transient: false,
        }
    }
}

impl From<LedgerOptions> for LittableConfig {
    fn from(options: LedgerOptions) -> Self {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            extra_roots: options.extra_roots,
            allow_network_fs: options.allow_network_fs,
            index_memory_bytes: options.index_memory_bytes,
            max_open_files: options.max_open_files,
            gc_period_ms: ms(options.gc_period),
            iterator_lease_ms: ms(options.iterator_lease),
            segment_bytes: options.segment_bytes,
            segment_keys: options.segment_keys,
            read_cache_bytes: options.read_cache_bytes,
            write_cache_bytes: options.write_cache_bytes,
            capsule_window_blocks: options.capsule_window_blocks,
            address_index: options.address_index,
            address_index_window_blocks: options.address_index_window_blocks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_is_told_every_setting() {
        let config = LittableConfig {
            extra_roots: vec!["/v".into()],
            allow_network_fs: true,
            index_memory_bytes: 1,
            max_open_files: 2,
            gc_period_ms: 3,
            iterator_lease_ms: 4,
            segment_bytes: 5,
            segment_keys: 6,
            read_cache_bytes: 7,
            write_cache_bytes: 8,
            capsule_window_blocks: 9,
            address_index: false,
            address_index_window_blocks: 10,
        };
        assert_eq!(LittableConfig::from(config.ledger()), config);
    }
}
