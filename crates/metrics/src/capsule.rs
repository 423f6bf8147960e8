//! Instruments of trace capsules.

use crate::{Counter, Instrument, Registry, Unit, instrument::rows};

rows! {
    OUTSIDE_READS = Instrument::counter("trace_capsule_outside_reads", Unit::Count, &[],
        "State reads of traces that are not in the capsule of the block and were answered from history");
    UNREADABLE = Instrument::counter("trace_capsule_unreadable", Unit::Count, &[],
        "Capsules that were read and found damaged; the blocks are traced from history");
}

/// Handles of capsules. Those of two nodes in one registry are the same.
#[derive(Clone, Debug)]
pub struct CapsuleMetrics {
    /// Reads outside of capsules.
    pub outside_reads: Counter,
    /// Damaged capsules.
    pub unreadable: Counter,
}

impl CapsuleMetrics {
    /// The handles of a registry.
    pub fn new(registry: &Registry) -> Self {
        Self {
            outside_reads: registry.counter(&OUTSIDE_READS, &[]),
            unreadable: registry.counter(&UNREADABLE, &[]),
        }
    }
}
