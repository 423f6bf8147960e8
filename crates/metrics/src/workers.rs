//! Instruments of the threads that run long requests.

use crate::{Gauge, Instrument, Registry, Unit, instrument::rows};

rows! {
    PARKED = Instrument::gauge("node_parked_traces", Unit::Count, &[],
        "Traces that wait for their clients and have released their slot to other requests");
}

/// Handles of the threads that run long requests. Those of two nodes in one registry are the same.
#[derive(Clone, Debug)]
pub struct WorkerMetrics {
    /// Traces that wait for their readers without a slot.
    pub parked: Gauge,
}

impl WorkerMetrics {
    /// The handles in a registry.
    pub fn new(registry: &Registry) -> Self {
        Self { parked: registry.gauge(&PARKED, &[]) }
    }
}
