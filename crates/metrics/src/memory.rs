//! Instruments of the memory that the process takes.

use crate::{Counter, Gauge, Instrument, Label, Registry, Unit, instrument::rows};

/// Caches of the node, beside those of the stores that have instruments of their own.
const CACHES: &[&str] =
    &["blocks", "receipts", "senders", "capsules", "new_capsules", "traces", "key_indexes", "step_indexes"];

rows! {
    USED = Instrument::gauge("node_memory_used_bytes", Unit::Bytes, &[],
        "Resident memory of the process at the last check");
    BUDGET = Instrument::gauge("node_memory_budget_bytes", Unit::Bytes, &[],
        "Memory that the process may take before long requests are refused; 0: no limit");
    CACHE_PERCENT = Instrument::gauge("node_memory_cache_percent", Unit::Count, &[],
        "Share of their configured size that caches may use, in percent; less than 100 while memory is short");
    KEPT = Instrument::gauge("node_memory_kept_bytes", Unit::Bytes, &[Label::finite("cache", CACHES)],
        "Memory of a cache: blocks, receipts and senders decoded, trace capsules that were read and those of the newest blocks \
         that wait for baking, traces inflated, key indexes of tables, indexes of the steps of transactions");
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
    /// Share of their configured size that caches may use, in percent.
    pub cache_percent: Gauge,
    /// Requests that were refused.
    pub refusals: Counter,
    /// What caches keep.
    pub kept: KeptMemory,
}

/// Memory of the caches, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Blocks, decoded.
    pub blocks: usize,
    /// Receipts, decoded.
    pub receipts: usize,
    /// Senders of transactions.
    pub senders: usize,
    /// Trace capsules that were read.
    pub capsules: usize,
    /// Those of the newest blocks, for baking.
    pub new_capsules: usize,
    /// Answers of the trace cache, inflated.
    pub traces: usize,
    /// Key indexes of tables.
    pub key_indexes: usize,
    /// Indexes of the steps of transactions.
    pub step_indexes: usize,
}

/// Handles of what caches keep, in the order of their names.
#[derive(Clone, Debug)]
pub struct KeptMemory([Gauge; CACHES.len()]);

impl KeptMemory {
    /// Sets the gauges to what the caches hold now.
    pub fn set(&self, kept: &Kept) {
        let Kept { blocks, receipts, senders, capsules, new_capsules, traces, key_indexes, step_indexes } =
            *kept;
        let bytes = [blocks, receipts, senders, capsules, new_capsules, traces, key_indexes, step_indexes];
        for (gauge, bytes) in self.0.iter().zip(bytes) {
            gauge.set_unsigned(bytes as u64);
        }
    }
}

impl MemoryMetrics {
    /// The handles of a registry.
    pub fn new(registry: &Registry) -> Self {
        Self {
            used: registry.gauge(&USED, &[]),
            budget: registry.gauge(&BUDGET, &[]),
            cache_percent: registry.gauge(&CACHE_PERCENT, &[]),
            refusals: registry.counter(&REFUSALS, &[]),
            kept: KeptMemory(std::array::from_fn(|at| registry.gauge(&KEPT, &[CACHES[at]]))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cache_has_its_series() {
        let registry = Registry::new();
        MemoryMetrics::new(&registry).kept.set(&Kept {
            blocks: 1,
            new_capsules: 5,
            key_indexes: 7,
            step_indexes: 8,
            ..Kept::default()
        });
        let of = |cache| registry.gauge(&KEPT, &[cache]).value();
        let values: Vec<i64> = CACHES.iter().map(|cache| of(cache)).collect();
        assert_eq!(values, [1, 0, 0, 0, 5, 0, 7, 8]);
    }
}
