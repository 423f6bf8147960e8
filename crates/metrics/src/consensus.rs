//! Instruments of the application that CometBFT drives.

use crate::{Counter, Gauge, Instrument, Label, Registry, Unit, instrument::rows};
use std::time::Duration;

/// Bounds of the time that a request takes, in seconds.
const SECONDS: &[f64] =
    &[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5];

rows! {
    ABCI = Instrument::seconds("consensus_abci_seconds", SECONDS, &[Label::open("method")],
        "Duration of requests from CometBFT, by method");
    EXECUTIONS = Instrument::counter("consensus_block_executions", Unit::Count, &[],
        "Blocks that were executed for CometBFT: as a proposal, or at the decision if the proposal was not executed before");
    PROPOSALS = Instrument::counter("consensus_proposals", Unit::Count, &[Label::finite("verdict", &["accepted", "rejected"])],
        "Proposals that were verified, by verdict");
    HEIGHT = Instrument::gauge("consensus_height", Unit::Count, &[],
        "Height of the last block that CometBFT committed");
}

/// Handles of the application. Those of two nodes in one registry are the same.
#[derive(Clone, Debug)]
pub struct ConsensusMetrics {
    registry: Registry,
    executions: Counter,
    height: Gauge,
}

impl ConsensusMetrics {
    /// The handles in a registry.
    pub fn new(registry: &Registry) -> Self {
        for verdict in ["accepted", "rejected"] {
            let _ = registry.counter(&PROPOSALS, &[verdict]);
        }
        let (executions, height) = (registry.counter(&EXECUTIONS, &[]), registry.gauge(&HEIGHT, &[]));
        Self { registry: registry.clone(), executions, height }
    }

    /// A request was answered.
    pub fn answered(&self, method: &'static str, took: Duration) {
        self.registry.histogram(&ABCI, &[method]).record_duration(took);
    }

    /// A block was executed.
    pub fn executed(&self) {
        self.executions.add(1);
    }

    /// A proposal was judged.
    pub fn judged(&self, accepted: bool) {
        let verdict = if accepted { "accepted" } else { "rejected" };
        self.registry.counter(&PROPOSALS, &[verdict]).add(1);
    }

    /// A block was committed.
    pub fn committed(&self, height: u64) {
        self.height.set_unsigned(height);
    }
}
