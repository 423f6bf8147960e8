//! Instruments of the trace cache.

use crate::{Counter, Gauge, Instrument, Label, Registry, Unit, instrument::rows};

/// How a request was answered.
const RESULT: Label = Label::finite("result", &["hot", "stored", "miss", "damaged"]);

rows! {
    REQUESTS = Instrument::counter("trace_cache_requests", Unit::Count, &[RESULT],
        "Requests that may be answered from the trace cache: from memory (hot), from the disk (stored), or live because the \
         block is not there (miss) or its row is damaged (damaged)");
    HOT_BYTES = Instrument::gauge("trace_cache_hot_bytes", Unit::Bytes, &[],
        "Memory of answers that are kept inflated");
    DROPPED = Instrument::counter("trace_cache_rows_dropped", Unit::Count, &[],
        "Rows that were dropped because their bytes are damaged");
}

/// Result of a lookup in the trace cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheResult {
    /// From memory.
    Hot,
    /// From the disk.
    Stored,
    /// Live: the block is not there.
    Miss,
    /// Live: the row is damaged.
    Damaged,
}

/// Handles of a trace cache.
#[derive(Clone, Debug)]
pub struct TraceCacheMetrics {
    /// Requests, in the order of the label's values.
    requests: [Counter; 4],
    /// Memory of answers that are kept inflated.
    pub hot_bytes: Gauge,
    /// Rows that were dropped because their bytes are damaged.
    pub dropped: Counter,
}

impl TraceCacheMetrics {
    /// The handles in a registry.
    pub fn new(registry: &Registry) -> Self {
        let requests =
            ["hot", "stored", "miss", "damaged"].map(|result| registry.counter(&REQUESTS, &[result]));
        Self {
            requests,
            hot_bytes: registry.gauge(&HOT_BYTES, &[]),
            dropped: registry.counter(&DROPPED, &[]),
        }
    }

    /// Counts a request.
    pub fn count(&self, result: CacheResult) {
        self.requests[result as usize].add(1);
    }

    /// Requests that were answered so.
    pub fn requests(&self, result: CacheResult) -> u64 {
        self.requests[result as usize].value()
    }
}
