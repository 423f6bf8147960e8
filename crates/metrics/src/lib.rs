//! Instruments of the native core: one table of measurements, the atomics that hot paths update,
//! and a log.
//!
//! - A row of [`instruments`] declares a name, kind, unit, help, labels and buckets, once. The rows
//!   of a store stand next to its handles: [`FlatkvMetrics`], [`LittMetrics`], [`RocksdbMetrics`],
//!   [`BakeMetrics`], [`CapsuleMetrics`], [`AddressIndexMetrics`].
//! - A [`Registry`] holds the series of one home. There is no global registry: the series of two
//!   nodes in a process do not mix.
//! - A recording is a few relaxed atomic additions: no lock, no allocation, no look-up of labels.
//! - Its [`Log`] collects the log entries of the stores, with values; the node writes them.
//! - [`Registry::catalog_json`] and [`Registry::snapshot_json`] are what a scrape reads.
//!
//! Must not contain: clocks other than those of timers, disks, HTTP, any other component of this
//! repository.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod address_index;
mod bake;
mod capsule;
mod cells;
mod consensus;
mod engine;
mod event_loop;
mod flatkv;
mod instrument;
mod litt;
mod log;
mod memory;
mod registry;
mod rocksdb;
mod script;
mod snapshot;
mod trace_cache;
mod workers;

pub use address_index::AddressIndexMetrics;
pub use bake::BakeMetrics;
pub use capsule::CapsuleMetrics;
pub use cells::{Counter, Flag, Gauge, Histogram, Timer};
pub use consensus::ConsensusMetrics;
pub use engine::EngineMetrics;
pub use event_loop::EventLoopMetrics;
pub use flatkv::{DataDb, FlatkvMetrics, PerDb};
pub use instrument::{Instrument, Kind, Label, Unit, Values};
pub use litt::{CacheMetrics, ChunkCache, LittMetrics, MAX_TABLES, OTHER_TABLES, TableMetrics};
pub use log::{Level, Log, LogEntry, LogValue};
pub use memory::{Kept, KeptMemory, MemoryMetrics};
pub use registry::{MAX_COLLECTORS, Registry};
pub use rocksdb::{FamilyMetrics, LEVELS, RocksdbMetrics};
pub use script::{SCRIPT_LAYERS, ScriptKill, ScriptMetrics, ScriptOutcome};
pub use trace_cache::{CacheResult, TraceCacheMetrics};
pub use workers::WorkerMetrics;

/// Every native instrument, in the order of the scrape page.
pub fn instruments() -> impl Iterator<Item = &'static Instrument> {
    [
        flatkv::ROWS,
        litt::ROWS,
        rocksdb::ROWS,
        bake::ROWS,
        trace_cache::ROWS,
        capsule::ROWS,
        address_index::ROWS,
        script::ROWS,
        memory::ROWS,
        workers::ROWS,
        event_loop::ROWS,
        engine::ROWS,
        consensus::ROWS,
    ]
    .into_iter()
    .flatten()
}
