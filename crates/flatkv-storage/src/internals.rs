//! RocksDB's internals as gauges, read when the metrics are scraped.

use crate::db::{Db, Family};
use hearth_metrics::{FamilyMetrics, LEVELS, PerDb, Registry, RocksdbMetrics};
use hearth_primitives::StateError;
use rocksdb::properties as p;
use std::{ffi::CStr, sync::Arc};

/// Makes the registry read the gauges from this database while it is open.
pub fn register(registry: &Registry, db: &Arc<Db>) {
    let metrics = RocksdbMetrics::new(registry);
    let db = Arc::downgrade(db);
    registry.collect_with(move || {
        let Some(db) = db.upgrade() else { return false };
        // A property that cannot be read leaves what is on the page as it was: a scrape does not
        // fail for it.
        let _ = read(&db, &metrics);
        true
    });
}

fn read(db: &Db, metrics: &RocksdbMetrics) -> Result<(), StateError> {
    read_families(db, &metrics.families)?;
    // Properties of the instance can be read through any family.
    let whole = |name: &CStr| db.property(Family::Metadata, name);
    metrics.block_cache_size.set_unsigned(whole(p::BLOCK_CACHE_USAGE)?);
    metrics.block_cache_capacity.set_unsigned(whole(p::BLOCK_CACHE_CAPACITY)?);
    metrics.block_cache_pinned.set_unsigned(whole(p::BLOCK_CACHE_PINNED_USAGE)?);
    metrics.running_flushes.set_unsigned(whole(p::NUM_RUNNING_FLUSHES)?);
    metrics.running_compactions.set_unsigned(whole(p::NUM_RUNNING_COMPACTIONS)?);
    metrics.background_errors.set_unsigned(whole(p::BACKGROUND_ERRORS)?);
    metrics.write_stopped.set_unsigned(whole(p::IS_WRITE_STOPPED)?);
    metrics.delayed_write_rate.set_unsigned(whole(p::ACTUAL_DELAYED_WRITE_RATE)?);
    let sum = |name| Family::ALL.into_iter().map(|family| db.property(family, name)).sum::<Result<u64, _>>();
    metrics.all_files_size.set_unsigned(sum(p::TOTAL_SST_FILES_SIZE)?);
    metrics.all_memtables_size.set_unsigned(sum(p::SIZE_ALL_MEM_TABLES)?);
    Ok(())
}

fn read_families(db: &Db, families: &PerDb<FamilyMetrics>) -> Result<(), StateError> {
    for (data_db, metrics) in families.iter() {
        let family = Family::of(data_db);
        let read = |name: &CStr| db.property(family, name);
        metrics.memtables_size.set_unsigned(read(p::SIZE_ALL_MEM_TABLES)?);
        metrics.active_memtable_size.set_unsigned(read(p::CUR_SIZE_ACTIVE_MEM_TABLE)?);
        metrics.immutable_memtables.set_unsigned(read(p::NUM_IMMUTABLE_MEM_TABLE)?);
        metrics.memtable_flush_pending.set_unsigned(read(p::MEM_TABLE_FLUSH_PENDING)?);
        metrics.compaction_pending.set_unsigned(read(p::COMPACTION_PENDING)?);
        metrics.pending_compaction_bytes.set_unsigned(read(p::ESTIMATE_PENDING_COMPACTION_BYTES)?);
        for level in 0..LEVELS {
            metrics.files[level].set_unsigned(db.files_at(family, level)?);
        }
        metrics.files_size.set_unsigned(read(p::TOTAL_SST_FILES_SIZE)?);
        metrics.live_files_size.set_unsigned(read(p::LIVE_SST_FILES_SIZE)?);
        metrics.estimated_keys.set_unsigned(read(p::ESTIMATE_NUM_KEYS)?);
        metrics.table_readers_size.set_unsigned(read(p::ESTIMATE_TABLE_READERS_MEM)?);
    }
    Ok(())
}
