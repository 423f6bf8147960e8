//! Instruments of the bake worker.

use crate::{
    Counter, Gauge, Histogram, Instrument, Registry, Unit,
    instrument::{LATENCY, rows},
};

rows! {
    QUEUE_DEPTH = Instrument::gauge("bake_queue_depth", Unit::Count, &[],
        "Committed blocks that wait to be baked");
    BAKED = Instrument::counter("bake_baked_blocks", Unit::Count, &[],
        "Blocks that were executed again and stored, for all of their tracers at once");
    DROPPED = Instrument::counter("bake_dropped_blocks", Unit::Count, &[],
        "Committed blocks that were dropped because the bake queue was full; they are traced on request until the gap scanner has baked them");
    FAILED = Instrument::counter("bake_failed_blocks", Unit::Count, &[],
        "Attempts to bake a block that failed");
    GIVEN_UP = Instrument::counter("bake_given_up_blocks", Unit::Count, &[],
        "Blocks that failed too often to be tried again before the next start");
    LAG = Instrument::gauge("bake_lag_blocks", Unit::Count, &[],
        "Number of blocks between the head and the last block up to which all blocks are baked");
    BLOCK = Instrument::seconds("bake_block_latency_seconds", LATENCY, &[],
        "Baking a block, from its state to its stored answers");
    STORED_BYTES = Instrument::counter("bake_stored_bytes", Unit::Bytes, &[],
        "Size of the stored baked traces, compressed");
    STOPPED = Instrument::gauge("bake_stopped", Unit::Count, &[],
        "1 while baking is paused because the disk is full, else 0");
}

/// Handles of a bake worker. Those of two workers in one registry are the same.
#[derive(Clone, Debug)]
pub struct BakeMetrics {
    /// Committed blocks that wait.
    pub queue_depth: Gauge,
    /// Blocks baked.
    pub baked: Counter,
    /// Blocks that found the queue full.
    pub dropped: Counter,
    /// Attempts that failed.
    pub failed: Counter,
    /// Blocks that are not tried again.
    pub given_up: Counter,
    /// Blocks between the head and the contiguous cursor.
    pub lag: Gauge,
    /// Baking a block.
    pub block: Histogram,
    /// Bytes of baked answers as stored.
    pub stored_bytes: Counter,
    /// 1 while the disk is full.
    pub stopped: Gauge,
}

impl BakeMetrics {
    /// The handles of a registry.
    pub fn new(registry: &Registry) -> Self {
        Self {
            queue_depth: registry.gauge(&QUEUE_DEPTH, &[]),
            baked: registry.counter(&BAKED, &[]),
            dropped: registry.counter(&DROPPED, &[]),
            failed: registry.counter(&FAILED, &[]),
            given_up: registry.counter(&GIVEN_UP, &[]),
            lag: registry.gauge(&LAG, &[]),
            block: registry.histogram(&BLOCK, &[]),
            stored_bytes: registry.counter(&STORED_BYTES, &[]),
            stopped: registry.gauge(&STOPPED, &[]),
        }
    }
}
