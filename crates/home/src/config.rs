//! The configuration that opens a home. There are no defaults here: the settings table supplies
//! every field, and this crate only validates the values.

mod bake;
mod consensus;
mod dev;
mod fork;
mod scripts;

use crate::NodeError;
use hearth_flatkv::StateSettings;
use hearth_ledger::LedgerSettings;
use hearth_pool::PoolLimits;
use serde::{Deserialize, Serialize};
use std::{
    num::{NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize},
    path::PathBuf,
    str::FromStr,
    time::Duration,
};

pub use bake::BakeConfig;
pub use consensus::ConsensusConfig;
pub use dev::{DevConfig, MiningOrder};
pub use fork::{ForkConfig, OriginBlock, OriginFetcher, Verification};
pub use scripts::{ScriptChildren, ScriptsConfig, ScriptsUnavailable};

/// How the node gets its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Serves a home that `import` or `init` made; produces no blocks.
    Start,
    /// Built-in development chain: a block for every transaction.
    Dev,
}

/// When the logs are forced to the disk: `block`, `interval:<milliseconds>`, `none` or `never`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum FsyncPolicy {
    /// After every block.
    Block,
    /// At most this long after a block.
    Interval(Duration),
    /// Left to the operating system.
    None,
    /// Not at all: the home goes with its process, and nothing in it need outlive that.
    Never,
}

impl FromStr for FsyncPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "block" => Ok(Self::Block),
            "none" => Ok(Self::None),
            "never" => Ok(Self::Never),
            other => match other.strip_prefix("interval:").map(str::parse::<u64>) {
                Some(Ok(milliseconds)) if milliseconds > 0 => {
                    Ok(Self::Interval(Duration::from_millis(milliseconds)))
                }
                _ => Err(format!("{other:?} is not \"block\", \"interval:<ms>\", \"none\" or \"never\"")),
            },
        }
    }
}

impl TryFrom<String> for FsyncPolicy {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<FsyncPolicy> for String {
    fn from(policy: FsyncPolicy) -> Self {
        match policy {
            FsyncPolicy::Block => "block".into(),
            FsyncPolicy::Interval(every) => format!("interval:{}", every.as_millis()),
            FsyncPolicy::None => "none".into(),
            FsyncPolicy::Never => "never".into(),
        }
    }
}

/// What traces of past blocks are made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TraceSource {
    /// The block's capsule; its history where it has none.
    #[default]
    Auto,
    /// The state of the parent, the transactions before it executed.
    History,
    /// The block's capsule, or an error.
    Capsule,
}

/// Limits of the JSON-RPC answers that this crate makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RpcLimits {
    /// Most gas a simulated call may use; `None` for no cap.
    #[serde(with = "hearth_primitives::zero_is_none")]
    pub gas_cap: Option<NonZeroU64>,
    /// Longest run of one simulated call, in milliseconds; `None` for no limit.
    #[serde(with = "hearth_primitives::zero_is_none")]
    pub call_timeout_ms: Option<NonZeroU64>,
    /// Most logs in one answer of `eth_getLogs`.
    pub logs_max_results: usize,
    /// Most bytes in one answer of `eth_getLogs`.
    pub logs_max_bytes: usize,
    /// Most blocks in the range of one `eth_getLogs`; `None` for no limit.
    #[serde(with = "hearth_primitives::zero_is_none")]
    pub logs_max_block_range: Option<NonZeroU64>,
    /// Most blocks in one `eth_feeHistory`; longer requests are shortened, as by go-ethereum
    /// (eth/gasprice/feehistory.go: FeeHistory).
    pub fee_history_max_blocks: u64,
    /// Highest total fee that `eth_sendRawTransaction` accepts, in wei; `None` for no cap.
    #[serde(with = "hearth_primitives::zero_is_none")]
    pub tx_fee_cap_wei: Option<NonZeroU128>,
    /// Longest run of a whole trace call, in milliseconds; a longer `timeout` of the request raises
    /// it.
    pub trace_timeout_ms: u64,
    /// Most bytes of the struct logs of one transaction; `None` for no cap.
    #[serde(with = "hearth_primitives::zero_is_none")]
    pub struct_log_max_bytes: Option<NonZeroU64>,
    /// What traces of past blocks are made from.
    pub trace_source: TraceSource,
    /// How far below the head a block may be whose trace reads historical state, in blocks; `None`
    /// for no limit.
    pub max_trace_lookback_blocks: Option<u64>,
    /// How far below the head a block may be whose witness or intermediate roots are computed, in
    /// blocks; `None` for no limit.
    pub max_trie_lookback_blocks: Option<u64>,
    /// Whether the transactions of a block are traced in parallel, if its capsule allows that.
    pub parallel_block_traces: bool,
    /// Whether legacy transactions without a chain id (EIP-155) are accepted.
    pub allow_unprotected_txs: bool,
    /// Most transactions in one answer about the content of the pool.
    pub pool_content_max: usize,
}

/// Sizes of one thread pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkerConfig {
    /// Number of threads; at least 1.
    pub threads: usize,
    /// Jobs that may wait; a further one is refused as busy.
    pub queue: usize,
}

/// The thread pools that run requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Workers {
    /// Short reads: blocks, receipts, balances.
    pub read: WorkerConfig,
    /// Long work: calls, gas estimates, log searches, traces, sent transactions.
    pub heavy: WorkerConfig,
    /// Maximum number of traces that run on these threads at the same time; `None` for as many as
    /// there are threads.
    #[serde(with = "hearth_primitives::zero_is_none")]
    pub traces: Option<NonZeroUsize>,
    /// Calls and estimates that do; `None` for as many as there are threads.
    #[serde(with = "hearth_primitives::zero_is_none")]
    pub simulations: Option<NonZeroUsize>,
    /// Longest wait for one of them, in milliseconds.
    pub wait_ms: u64,
    /// Nice value of those threads, 0 to 19: short reads come before them. With any but 0 they also
    /// have the shortest time slice.
    #[serde(default)]
    pub heavy_nice: i32,
    /// Traces that run in addition at the lowest priority, while the other traces use all of their
    /// threads.
    #[serde(default)]
    pub low_traces: usize,
    /// The part of those threads' slots that one client may have, in millionths; `None` and
    /// 1,000,000 set no share.
    #[serde(default, with = "hearth_primitives::zero_is_none")]
    pub client_share: Option<NonZeroU32>,
    /// Most traces that wait for their readers without a slot; a further one keeps its slot.
    #[serde(default)]
    pub parked_traces: usize,
}

/// Everything [`hearth_node::Node::open`] needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeConfig {
    /// The home directory: `config/`, `data/`.
    pub home: PathBuf,
    /// Where blocks come from.
    pub mode: Mode,
    /// Whether the home is opened for reading (`start` only): if a node has it open, its newest
    /// snapshot is read.
    #[serde(default)]
    pub read_only: bool,
    /// A geth-format genesis file that the home's chain must equal (`start` only).
    #[serde(default)]
    pub genesis: Option<PathBuf>,
    /// When the logs are forced to the disk.
    pub fsync: FsyncPolicy,
    /// The state store.
    pub flatkv: StateSettings,
    /// The ledger's tables.
    pub littable: LedgerSettings,
    /// Limits of answers.
    pub rpc: RpcLimits,
    /// Traces that are computed ahead of requests.
    pub bake: BakeConfig,
    /// Limits of the transaction pool.
    pub pool: PoolLimits,
    /// Thread pools.
    pub workers: Workers,
    /// Memory that the process may take before caches shrink and long work is refused, in bytes;
    /// `None` for no limit.
    #[serde(with = "hearth_primitives::zero_is_none")]
    pub memory_budget_bytes: Option<NonZeroU64>,
    /// Whether a consensus client drives this node over the Engine API (`start` only).
    #[serde(default)]
    pub engine: bool,
    /// Where CometBFT drives this node (`start` only); absent where it does not.
    #[serde(default)]
    pub consensus: Option<ConsensusConfig>,
    /// Who runs JavaScript tracers; absent where they are not allowed.
    #[serde(default)]
    pub scripts: Option<ScriptsConfig>,
    /// Development chain.
    pub dev: DevConfig,
    /// What the development chain is a fork of; absent where it has a genesis of its own.
    #[serde(default)]
    pub fork: Option<ForkConfig>,
}

impl NodeConfig {
    /// Reads a configuration from JSON; the error names the field.
    pub fn from_json(text: &str) -> Result<Self, NodeError> {
        let config: Self =
            serde_json::from_str(text).map_err(|e| NodeError::Config { reason: e.to_string() })?;
        config.check()?;
        Ok(config)
    }

    /// Refuses values that no node can run with.
    pub fn check(&self) -> Result<(), NodeError> {
        let positive = [
            ("workers.read.threads", self.workers.read.threads),
            ("workers.read.queue", self.workers.read.queue),
            ("workers.heavy.threads", self.workers.heavy.threads),
            ("workers.heavy.queue", self.workers.heavy.queue),
            ("rpc.logsMaxResults", self.rpc.logs_max_results),
            ("rpc.logsMaxBytes", self.rpc.logs_max_bytes),
            ("pool.maxTransactions", self.pool.max_transactions),
            ("pool.maxPerAccount", self.pool.max_per_account),
        ];
        if self.read_only && self.mode != Mode::Start {
            let reason = "readOnly goes with the mode start alone: a development chain makes blocks";
            return Err(NodeError::Config { reason: reason.into() });
        }
        if self.engine && (self.mode != Mode::Start || self.read_only) {
            let reason = "engine goes with the mode start alone, on a home that is not open for reading";
            return Err(NodeError::Config { reason: reason.into() });
        }
        if self.consensus.is_some() && (self.mode != Mode::Start || self.read_only || self.engine) {
            let reason = "consensus goes with the mode start alone, without engine, on a home that is not open for reading";
            return Err(NodeError::Config { reason: reason.into() });
        }
        match positive.into_iter().find(|(_, value)| *value == 0) {
            Some((field, _)) => Err(NodeError::Config { reason: format!("{field} must be at least 1") }),
            None => self.bake.check().and_then(|()| match self.mode {
                Mode::Dev => self.dev.check(),
                Mode::Start => Ok(()),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What crosses from the layer above under the default settings; `npm run docs` writes it.
    fn json() -> serde_json::Value {
        serde_json::from_str(include_str!("../tests/config.json")).expect("JSON")
    }

    #[test]
    fn a_configuration_reads_whole_or_names_its_field() {
        let config = NodeConfig::from_json(&json().to_string()).expect("whole");
        assert_eq!(serde_json::to_value(&config).expect("JSON")["memoryBudgetBytes"], 0);
        assert_eq!((config.mode, config.genesis), (Mode::Start, None));
        assert_eq!(config.rpc.tx_fee_cap_wei, NonZeroU128::new(1_000_000_000_000_000_000));
        assert_eq!(config.workers.client_share, NonZeroU32::new(500_000));
        assert_eq!(config.memory_budget_bytes, None);
        let refusal = |change: fn(&mut serde_json::Value)| {
            let mut json = json();
            change(&mut json);
            let error = NodeConfig::from_json(&json.to_string()).expect_err("refused");
            assert_eq!(error.kind(), "config");
            error.to_string()
        };
        assert!(refusal(|json| json["rpc"]["gasCap"] = "x".into()).contains("x"));
        assert!(refusal(|json| json["rpc"]["extra"] = 1.into()).contains("extra"));
        assert!(
            refusal(|json| drop(json.as_object_mut().map(|json| json.remove("flatkv")))).contains("flatkv")
        );
        let zero = refusal(|json| json["workers"]["heavy"]["threads"] = 0.into());
        assert_eq!(zero, "configuration: workers.heavy.threads must be at least 1");
    }

    #[test]
    fn fsync_reads_its_four_forms_and_nothing_else() {
        assert_eq!("block".parse(), Ok(FsyncPolicy::Block));
        assert_eq!("none".parse(), Ok(FsyncPolicy::None));
        assert_eq!("never".parse(), Ok(FsyncPolicy::Never));
        assert_eq!("interval:250".parse(), Ok(FsyncPolicy::Interval(Duration::from_millis(250))));
        for bad in ["interval:", "interval:0", "interval:x", "always", ""] {
            assert!(bad.parse::<FsyncPolicy>().is_err(), "{bad}");
        }
        assert_eq!(String::from(FsyncPolicy::Interval(Duration::from_millis(250))), "interval:250");
    }
}
