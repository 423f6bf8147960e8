//! Instruments of the Engine API.

use crate::{Gauge, Instrument, Label, Registry, Unit, instrument::rows};
use std::time::Duration;

/// Bounds of the time that a payload or a fork choice takes, in seconds.
const SECONDS: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

rows! {
    PAYLOAD = Instrument::seconds("engine_new_payload_seconds", SECONDS, &[Label::open("status")],
        "Duration of engine_newPayload, which verifies and executes a block, by the returned status");
    FORKCHOICE = Instrument::seconds("engine_forkchoice_seconds", SECONDS, &[Label::open("status")],
        "Duration of engine_forkchoiceUpdated, which moves the head, by the status of the head; the start of a payload build is not included");
    EXECUTED = Instrument::gauge("engine_executed_payloads", Unit::Count, &[],
        "Executed payloads in memory, chosen or not");
    WAITING = Instrument::gauge("engine_waiting_payloads", Unit::Count, &[],
        "Payloads in memory that wait for an ancestor");
}

/// Handles of the Engine API. Those of two nodes in one registry are the same.
#[derive(Clone, Debug)]
pub struct EngineMetrics {
    registry: Registry,
    executed: Gauge,
    waiting: Gauge,
}

impl EngineMetrics {
    /// The handles in a registry.
    pub fn new(registry: &Registry) -> Self {
        for status in ["VALID", "INVALID", "SYNCING"] {
            let _ = registry.histogram(&PAYLOAD, &[status]);
            let _ = registry.histogram(&FORKCHOICE, &[status]);
        }
        let (executed, waiting) = (registry.gauge(&EXECUTED, &[]), registry.gauge(&WAITING, &[]));
        Self { registry: registry.clone(), executed, waiting }
    }

    /// A payload was judged.
    pub fn payload(&self, status: &str, took: Duration) {
        self.registry.histogram(&PAYLOAD, &[status]).record_duration(took);
    }

    /// A fork choice was followed.
    pub fn forkchoice(&self, status: &str, took: Duration) {
        self.registry.histogram(&FORKCHOICE, &[status]).record_duration(took);
    }

    /// So many payloads are in memory.
    pub fn kept(&self, executed: usize, waiting: usize) {
        self.executed.set_unsigned(executed as u64);
        self.waiting.set_unsigned(waiting as u64);
    }
}
