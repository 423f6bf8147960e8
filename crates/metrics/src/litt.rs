//! Instruments of segment stores.

use crate::{
    Counter, Gauge, Histogram, Instrument, Label, Log, Registry, Unit,
    instrument::{LATENCY, rows},
};
use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc};

/// Tables of one registry with series of their own; later ones share those of [`OTHER_TABLES`].
pub const MAX_TABLES: usize = 256;
/// Value of the label `table` for tables beyond [`MAX_TABLES`].
pub const OTHER_TABLES: &str = "other";

/// Which table.
const TABLE: Label = Label::open("table");
/// Which cache.
const CACHE: Label = Label::finite("cache", &["chunk_read", "chunk_write"]);

rows! {
    TABLE_SIZE = Instrument::gauge("litt_table_size_bytes", Unit::Bytes, &[TABLE],
        "Bytes of a table's files");
    TABLE_KEYS = Instrument::gauge("litt_table_key_count", Unit::Count, &[TABLE],
        "Keys of a table, primary and secondary");
    OPEN_ITERATORS = Instrument::gauge("litt_open_iterator_count", Unit::Count, &[TABLE],
        "Iterators that are open; one that stays open keeps its segments from being collected");
    BYTES_READ = Instrument::counter("litt_bytes_read", Unit::Bytes, &[TABLE],
        "Bytes of values that were found, from a cache or from a file");
    KEYS_READ = Instrument::counter("litt_keys_read", Unit::Count, &[TABLE],
        "Keys that were found");
    CACHE_HITS = Instrument::counter("litt_cache_hits", Unit::Count, &[TABLE],
        "Reads that a cache answered");
    CACHE_MISSES = Instrument::counter("litt_cache_misses", Unit::Count, &[TABLE],
        "Reads that went to a file");
    READ = Instrument::seconds("litt_read_latency_seconds", LATENCY, &[TABLE],
        "Reading a value that was found, from a cache or from a file");
    CACHE_MISS = Instrument::seconds("litt_cache_miss_latency_seconds", LATENCY, &[TABLE],
        "Reading a value that was found and came from a file");
    BYTES_WRITTEN = Instrument::counter("litt_bytes_written", Unit::Bytes, &[TABLE],
        "Bytes of values written, without keys and framing");
    KEYS_WRITTEN = Instrument::counter("litt_keys_written", Unit::Count, &[TABLE],
        "Keys written, primary and secondary");
    WRITE = Instrument::seconds("litt_write_latency_seconds", LATENCY, &[TABLE],
        "Writing a group, waiting for the writer included");
    FLUSH_COUNT = Instrument::counter("litt_flush_count", Unit::Count, &[TABLE],
        "Flushes; those that shared one count once");
    FLUSH = Instrument::seconds("litt_flush_latency_seconds", LATENCY, &[TABLE],
        "Making everything durable that was written");
    SEGMENT_FLUSH = Instrument::seconds("litt_segment_flush_latency_seconds", LATENCY, &[TABLE],
        "Syncing values, as part of a flush");
    KEYMAP_FLUSH = Instrument::seconds("litt_keymap_flush_latency_seconds", LATENCY, &[TABLE],
        "Syncing the key index or its log, as part of a flush");
    COLLECTION = Instrument::seconds("litt_garbage_collection_latency_seconds", LATENCY, &[TABLE],
        "A pass that removes segments that are no longer needed");
    CHUNK_KEYS = Instrument::gauge("litt_chunk_cache_key_count", Unit::Count, &[CACHE],
        "Entries of a cache");
    CHUNK_WEIGHT = Instrument::gauge("litt_chunk_cache_weight_bytes", Unit::Bytes, &[CACHE],
        "Bytes that a cache's entries take");
    CHUNK_KEYS_ADDED = Instrument::counter("litt_chunk_cache_keys_added", Unit::Count, &[CACHE],
        "Entries put into a cache");
    CHUNK_WEIGHT_ADDED = Instrument::counter("litt_chunk_cache_weight_added_bytes", Unit::Bytes, &[CACHE],
        "Bytes of entries put into a cache");
    CHUNK_EVICTION = Instrument::seconds("litt_chunk_cache_eviction_latency_seconds", LATENCY, &[CACHE],
        "Age of an entry when it leaves a cache");
}

/// Handles of one table.
#[derive(Clone, Debug)]
pub struct TableMetrics {
    /// Bytes of the table's files.
    pub size_bytes: Gauge,
    /// Keys, primary and secondary.
    pub key_count: Gauge,
    /// Iterators that are open.
    pub open_iterators: Gauge,
    /// Bytes of values that were found.
    pub bytes_read: Counter,
    /// Keys that were found.
    pub keys_read: Counter,
    /// Reads that a cache answered.
    pub cache_hits: Counter,
    /// Reads that went to a file.
    pub cache_misses: Counter,
    /// Reading a value that was found.
    pub read: Histogram,
    /// The same, from a file alone.
    pub cache_miss: Histogram,
    /// Bytes of values written.
    pub bytes_written: Counter,
    /// Keys written.
    pub keys_written: Counter,
    /// Writing a group.
    pub write: Histogram,
    /// Flushes.
    pub flush_count: Counter,
    /// A flush as a whole.
    pub flush: Histogram,
    /// Syncing values.
    pub segment_flush: Histogram,
    /// Syncing the key index or its log.
    pub keymap_flush: Histogram,
    /// A pass of collection.
    pub garbage_collection: Histogram,
    /// What operators should read.
    pub log: Log,
}

impl TableMetrics {
    fn new(registry: &Registry, table: &str) -> Self {
        let gauge = |row| registry.gauge(row, &[table]);
        let counter = |row| registry.counter(row, &[table]);
        let histogram = |row| registry.histogram(row, &[table]);
        Self {
            size_bytes: gauge(&TABLE_SIZE),
            key_count: gauge(&TABLE_KEYS),
            open_iterators: gauge(&OPEN_ITERATORS),
            bytes_read: counter(&BYTES_READ),
            keys_read: counter(&KEYS_READ),
            cache_hits: counter(&CACHE_HITS),
            cache_misses: counter(&CACHE_MISSES),
            read: histogram(&READ),
            cache_miss: histogram(&CACHE_MISS),
            bytes_written: counter(&BYTES_WRITTEN),
            keys_written: counter(&KEYS_WRITTEN),
            write: histogram(&WRITE),
            flush_count: counter(&FLUSH_COUNT),
            flush: histogram(&FLUSH),
            segment_flush: histogram(&SEGMENT_FLUSH),
            keymap_flush: histogram(&KEYMAP_FLUSH),
            garbage_collection: histogram(&COLLECTION),
            log: registry.log().clone(),
        }
    }
}

/// A cache: the values of the label `cache`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkCache {
    /// Of frames that were read.
    Read,
    /// Of what was put lately.
    Write,
}

/// Handles of one cache. Stores that share a registry share these: move the gauges by differences.
#[derive(Clone, Debug)]
pub struct CacheMetrics {
    /// Entries.
    pub key_count: Gauge,
    /// Bytes that the entries take.
    pub weight_bytes: Gauge,
    /// Entries put in.
    pub keys_added: Counter,
    /// Bytes put in.
    pub weight_added_bytes: Counter,
    /// Age of an entry when it leaves.
    pub eviction: Histogram,
}

impl CacheMetrics {
    fn new(registry: &Registry, cache: &str) -> Self {
        Self {
            key_count: registry.gauge(&CHUNK_KEYS, &[cache]),
            weight_bytes: registry.gauge(&CHUNK_WEIGHT, &[cache]),
            keys_added: registry.counter(&CHUNK_KEYS_ADDED, &[cache]),
            weight_added_bytes: registry.counter(&CHUNK_WEIGHT_ADDED, &[cache]),
            eviction: registry.histogram(&CHUNK_EVICTION, &[cache]),
        }
    }
}

/// Handles of the segment stores of a home.
#[derive(Debug)]
pub struct LittMetrics {
    registry: Registry,
    tables: Mutex<HashMap<String, Arc<TableMetrics>>>,
    /// Of frames that were read: `cache="chunk_read"`.
    pub chunk_read: CacheMetrics,
    /// Of what was put lately: `cache="chunk_write"`.
    pub chunk_write: CacheMetrics,
}

impl LittMetrics {
    /// The handles of a registry; share one of these among its stores.
    pub fn new(registry: &Registry) -> Arc<Self> {
        Arc::new(Self {
            registry: registry.clone(),
            tables: Mutex::default(),
            chunk_read: CacheMetrics::new(registry, "chunk_read"),
            chunk_write: CacheMetrics::new(registry, "chunk_write"),
        })
    }

    /// Handles of a table that is being opened. Its series appear at zero, and stay. The same name
    /// returns the same handles. Takes a lock: not for hot paths.
    pub fn table(&self, name: &str) -> Arc<TableMetrics> {
        let mut tables = self.tables.lock();
        let name = if tables.contains_key(name) || tables.len() < MAX_TABLES { name } else { OTHER_TABLES };
        let made = tables.entry(name.to_owned());
        made.or_insert_with(|| Arc::new(TableMetrics::new(&self.registry, name))).clone()
    }

    /// Handles of a cache.
    pub fn cache(&self, cache: ChunkCache) -> &CacheMetrics {
        match cache {
            ChunkCache::Read => &self.chunk_read,
            ChunkCache::Write => &self.chunk_write,
        }
    }
}
