//! Instruments of the address index.

use crate::{Counter, Gauge, Instrument, Registry, Unit, instrument::rows};

rows! {
    PAGES = Instrument::gauge("address_index_pages", Unit::Count, &[],
        "Pages of 256 blocks of the address index that are merged and kept");
    BYTES = Instrument::gauge("address_index_bytes", Unit::Bytes, &[],
        "Estimated size of the address index on disk, without rows that RocksDB has not flushed yet");
    LAG = Instrument::gauge("address_index_lag_blocks", Unit::Count, &[],
        "Blocks up to the head that the address index has not merged yet: up to 320 of them in operation, all of \
         them after a rebuild was stopped");
    MERGED = Instrument::counter("address_index_merged_pages", Unit::Count, &[],
        "Pages of the address index that were merged in the background or by a rebuild");
    UNKNOWN = Instrument::counter("address_index_unknown_blocks", Unit::Count, &[],
        "Blocks of merged pages without a trace capsule: every search reads them");
}

/// Handles of the address index. Those of two nodes in one registry are the same.
#[derive(Clone, Debug)]
pub struct AddressIndexMetrics {
    /// Merged pages that are kept.
    pub pages: Gauge,
    /// Bytes of its rows.
    pub bytes: Gauge,
    /// Blocks that are not merged.
    pub lag: Gauge,
    /// Pages that were merged.
    pub merged: Counter,
    /// Blocks of these of which nothing says what they hold.
    pub unknown: Counter,
}

impl AddressIndexMetrics {
    /// The handles of a registry.
    pub fn new(registry: &Registry) -> Self {
        Self {
            pages: registry.gauge(&PAGES, &[]),
            bytes: registry.gauge(&BYTES, &[]),
            lag: registry.gauge(&LAG, &[]),
            merged: registry.counter(&MERGED, &[]),
            unknown: registry.counter(&UNKNOWN, &[]),
        }
    }
}
