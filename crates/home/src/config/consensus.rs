//! How CometBFT drives a home.

use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// The application that CometBFT connects to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConsensusConfig {
    /// Listen address of the ABCI server, in CometBFT's notation: `unix:///absolute/path` or
    /// `tcp://127.0.0.1:PORT`.
    pub address: String,
    /// Longest time that a proposal is filled with transactions, in milliseconds.
    pub proposal_budget_ms: u64,
    /// Newest blocks that CometBFT keeps; all without it.
    #[serde(with = "hearth_primitives::zero_is_none")]
    pub retain_blocks: Option<NonZeroU64>,
    /// Heights divisible by this have a snapshot for state sync; none has one without it.
    #[serde(with = "hearth_primitives::zero_is_none")]
    pub snapshot_interval_blocks: Option<NonZeroU64>,
    /// Whether CometBFT brings the first state of a home without blocks by state sync; the stores
    /// are opened after that.
    #[serde(default)]
    pub state_sync: bool,
}
