//! Statistics of RocksDB, per data DB and as a whole. They are read at scrape time, and only if a
//! setting enables them.

use crate::{Gauge, Instrument, Label, PerDb, Registry, Unit, flatkv::DB, instrument::rows};

/// Levels of a column family.
pub const LEVELS: usize = 7;

const LEVEL_NAMES: &[&str; LEVELS] = &["0", "1", "2", "3", "4", "5", "6"];
/// Which level of the tree.
const LEVEL: Label = Label::finite("level", LEVEL_NAMES);

/// A gauge that exists only if the setting enables it.
const fn internal(
    name: &'static str,
    unit: Unit,
    labels: &'static [Label],
    help: &'static str,
) -> Instrument {
    Instrument::gauge(name, unit, labels, help).on_demand()
}

rows! {
    MEMTABLE_BYTES = internal("rocksdb_memtables_size_bytes", Unit::Bytes, &[DB],
        "Memtables, those included that are flushed or pinned");
    ACTIVE_MEMTABLE_BYTES = internal("rocksdb_active_memtable_size_bytes", Unit::Bytes, &[DB],
        "The memtable that takes writes");
    IMMUTABLE_MEMTABLES = internal("rocksdb_immutable_memtables", Unit::Count, &[DB],
        "Memtables that wait for their flush");
    FLUSH_PENDING = internal("rocksdb_memtable_flush_pending", Unit::Count, &[DB],
        "1 where a flush is due");
    COMPACTION_PENDING = internal("rocksdb_compaction_pending", Unit::Count, &[DB],
        "1 where a compaction is due");
    COMPACTION_BYTES = internal("rocksdb_pending_compaction_bytes", Unit::Bytes, &[DB],
        "Bytes that compactions have yet to rewrite, as RocksDB estimates them");
    FILES = internal("rocksdb_files", Unit::Count, &[DB, LEVEL],
        "Table files of a level");
    FILE_BYTES = internal("rocksdb_files_size_bytes", Unit::Bytes, &[DB],
        "Table files, those included that only readers still hold");
    LIVE_FILE_BYTES = internal("rocksdb_live_files_size_bytes", Unit::Bytes, &[DB],
        "Table files of the newest version");
    KEYS = internal("rocksdb_estimated_keys", Unit::Count, &[DB],
        "Keys, as RocksDB estimates them");
    READER_BYTES = internal("rocksdb_table_readers_size_bytes", Unit::Bytes, &[DB],
        "Memory of table readers outside the block cache");
    CACHE_BYTES = internal("rocksdb_block_cache_size_bytes", Unit::Bytes, &[],
        "Blocks in the cache that all families share");
    CACHE_CAPACITY = internal("rocksdb_block_cache_capacity_bytes", Unit::Bytes, &[],
        "Bound of the block cache");
    CACHE_PINNED = internal("rocksdb_block_cache_pinned_bytes", Unit::Bytes, &[],
        "Blocks in the cache that readers hold");
    FLUSHES = internal("rocksdb_running_flushes", Unit::Count, &[],
        "Flushes under way");
    COMPACTIONS = internal("rocksdb_running_compactions", Unit::Count, &[],
        "Compactions under way");
    BACKGROUND_ERRORS = internal("rocksdb_background_errors", Unit::Count, &[],
        "Errors of flushes and compactions");
    WRITE_STOPPED = internal("rocksdb_write_stopped", Unit::Count, &[],
        "1 while writes are stopped");
    WRITE_RATE = internal("rocksdb_delayed_write_bytes_per_second", Unit::Bytes, &[],
        "Rate that writes are slowed to; 0 while they are not");
    ALL_FILE_BYTES = internal("rocksdb_all_files_size_bytes", Unit::Bytes, &[],
        "Table files of all families, history, trie and indexes included");
    ALL_MEMTABLE_BYTES = internal("rocksdb_all_memtables_size_bytes", Unit::Bytes, &[],
        "Memtables of all families, history, trie and indexes included");
}

/// Handles of one data DB.
#[derive(Clone, Debug)]
pub struct FamilyMetrics {
    /// Memtables, in bytes.
    pub memtables_size: Gauge,
    /// The memtable that takes writes, in bytes.
    pub active_memtable_size: Gauge,
    /// Memtables that wait for their flush.
    pub immutable_memtables: Gauge,
    /// 1 where a flush is due.
    pub memtable_flush_pending: Gauge,
    /// 1 where a compaction is due.
    pub compaction_pending: Gauge,
    /// Bytes yet to be compacted.
    pub pending_compaction_bytes: Gauge,
    /// Files by level.
    pub files: [Gauge; LEVELS],
    /// Files, in bytes.
    pub files_size: Gauge,
    /// Files of the newest version, in bytes.
    pub live_files_size: Gauge,
    /// Keys, estimated.
    pub estimated_keys: Gauge,
    /// Table readers, in bytes.
    pub table_readers_size: Gauge,
}

/// Handles of RocksDB's internals.
#[derive(Clone, Debug)]
pub struct RocksdbMetrics {
    /// Of each data DB.
    pub families: PerDb<FamilyMetrics>,
    /// Blocks in the cache, in bytes.
    pub block_cache_size: Gauge,
    /// Bound of the cache, in bytes.
    pub block_cache_capacity: Gauge,
    /// Blocks that readers hold, in bytes.
    pub block_cache_pinned: Gauge,
    /// Flushes under way.
    pub running_flushes: Gauge,
    /// Compactions under way.
    pub running_compactions: Gauge,
    /// Errors of flushes and compactions.
    pub background_errors: Gauge,
    /// 1 while writes are stalled.
    pub write_stopped: Gauge,
    /// Rate that writes are slowed to, in bytes per second.
    pub delayed_write_rate: Gauge,
    /// Files of all families, in bytes.
    pub all_files_size: Gauge,
    /// Memtables of all families, in bytes.
    pub all_memtables_size: Gauge,
}

impl RocksdbMetrics {
    /// The handles of a registry, whose series appear with them.
    pub fn new(registry: &Registry) -> Self {
        let whole = |row| registry.gauge(row, &[]);
        let families = PerDb::make(|db| {
            let gauge = |row| registry.gauge(row, &[db.name()]);
            FamilyMetrics {
                memtables_size: gauge(&MEMTABLE_BYTES),
                active_memtable_size: gauge(&ACTIVE_MEMTABLE_BYTES),
                immutable_memtables: gauge(&IMMUTABLE_MEMTABLES),
                memtable_flush_pending: gauge(&FLUSH_PENDING),
                compaction_pending: gauge(&COMPACTION_PENDING),
                pending_compaction_bytes: gauge(&COMPACTION_BYTES),
                files: LEVEL_NAMES.map(|level| registry.gauge(&FILES, &[db.name(), level])),
                files_size: gauge(&FILE_BYTES),
                live_files_size: gauge(&LIVE_FILE_BYTES),
                estimated_keys: gauge(&KEYS),
                table_readers_size: gauge(&READER_BYTES),
            }
        });
        Self {
            families,
            block_cache_size: whole(&CACHE_BYTES),
            block_cache_capacity: whole(&CACHE_CAPACITY),
            block_cache_pinned: whole(&CACHE_PINNED),
            running_flushes: whole(&FLUSHES),
            running_compactions: whole(&COMPACTIONS),
            background_errors: whole(&BACKGROUND_ERRORS),
            write_stopped: whole(&WRITE_STOPPED),
            delayed_write_rate: whole(&WRITE_RATE),
            all_files_size: whole(&ALL_FILE_BYTES),
            all_memtables_size: whole(&ALL_MEMTABLE_BYTES),
        }
    }
}
