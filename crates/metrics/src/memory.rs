//! Instruments of the memory that the process takes.

use crate::{Counter, Gauge, Instrument, Registry, Unit, instrument::rows};

rows! {
    USED = Instrument::gauge("node_memory_used_bytes", Unit::Bytes, &[],
        "Resident memory of the process, as it was looked at last");
    BUDGET = Instrument::gauge("node_memory_budget_bytes", Unit::Bytes, &[],
        "Memory that the process may take before long requests are refused; 0: no limit");
    CACHE_PERCENT = Instrument::gauge("node_memory_cache_percent", Unit::Count, &[],
        "Part of their bounds that caches may fill, in percent; less than 100 while memory is short");
    REFUSALS = Instrument::counter("node_memory_refusals", Unit::Count, &[],
        "Long requests that were refused because memory is short");
}

/// Handles of memory. Those of two nodes in one registry are the same.
#[derive(Clone, Debug)]
pub struct MemoryMetrics {
    /// What the process takes.
    pub used: Gauge,
    /// What it may take.
    pub budget: Gauge,
    /// What caches may fill of their bounds.
    pub cache_percent: Gauge,
    /// Requests that were refused.
    pub refusals: Counter,
}

impl MemoryMetrics {
    /// The handles of a registry.
    pub fn new(registry: &Registry) -> Self {
        Self {
            used: registry.gauge(&USED, &[]),
            budget: registry.gauge(&BUDGET, &[]),
            cache_percent: registry.gauge(&CACHE_PERCENT, &[]),
            refusals: registry.counter(&REFUSALS, &[]),
        }
    }
}
