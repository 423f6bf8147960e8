//! An open home: chain, pool, block production, events and the pending block.

use crate::{
    CosmosCache, Mode, NodeConfig, NodeError,
    events::Events,
    open::{chain_error, open_chain},
    pending::Pending,
    tip_oracle::TipOracle,
};
use alloy_primitives::{B256, keccak256};
use hearth_chain::{Chain, ChainWatcher};
use hearth_dev_chain::{DevChain, DevSigner, IntervalMiner};
use hearth_metrics::{Level, Log, LogEntry, Registry};
use hearth_pool::{PoolKeeper, PoolWatcher, TransactionPool};
use hearth_primitives::Height;
use hearth_tracers::Cancel;
use parking_lot::Mutex;
use serde::Serialize;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// The stores of one home and what lives on them.
pub struct Home {
    config: NodeConfig,
    chain: Arc<Chain>,
    /// Height of the snapshot that is read, because another process has the home.
    snapshot: Option<Height>,
    pool: Arc<TransactionPool>,
    dev: Option<Arc<DevChain>>,
    /// Who makes blocks at an interval; gone once the home is closed.
    interval: Mutex<Option<IntervalMiner>>,
    /// Where this is a development chain.
    signer: Option<DevSigner>,
    tips: TipOracle,
    pending: Pending,
    events: Arc<Events>,
    cosmos: CosmosCache,
    /// Updates the pool with the head, unless this process makes the blocks.
    _pool_keeper: Option<Arc<dyn ChainWatcher>>,
    stopping: Arc<AtomicBool>,
    /// A name for this run.
    instance_id: B256,
}

/// What an open home holds, for a line at start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HomeStatus {
    /// The chain's id.
    pub chain_id: u64,
    /// Height of the head.
    pub head: Height,
    /// Hash of the head, as hex.
    pub head_hash: String,
    /// Oldest height with state.
    pub oldest_state: Height,
    /// Height of the snapshot that is read because another process has the home open; the head is
    /// that block then.
    pub snapshot: Option<Height>,
}

impl Home {
    /// Opens the chain of the configuration; its stores record in `metrics`.
    pub fn open(config: NodeConfig, stopping: Arc<AtomicBool>, metrics: Registry) -> Result<Self, NodeError> {
        let (chain, snapshot) = open_chain(&config, metrics)?;
        let chain = Arc::new(chain);
        let is_dev = config.mode == Mode::Dev;
        let mut limits = config.pool.clone();
        if is_dev {
            // Transactions on a development chain need no tip, and tests may send all of them from
            // one account.
            limits.min_tip_wei = 0;
            limits.max_per_account = limits.max_transactions;
        }
        let pool =
            Arc::new(TransactionPool::new(chain.spec().clone(), chain.next_chain_id().clone(), limits));
        let dev = is_dev.then(|| Arc::new(DevChain::new(chain.clone(), pool.clone(), &config.dev.mining())));
        let interval = dev.as_ref().map(IntervalMiner::start).transpose();
        let interval =
            interval.map_err(|error| NodeError::Internal { message: format!("no thread: {error}") })?;
        let signer = is_dev.then(|| config.dev.signers()).transpose()?;
        let events = Arc::new(Events::default());
        chain.watch(&(events.clone() as Arc<dyn ChainWatcher>));
        pool.watch(&(events.clone() as Arc<dyn PoolWatcher>));
        let pool_keeper = (!is_dev).then(|| PoolKeeper::of(&chain, &pool));
        pool_keeper.iter().for_each(|keeper| chain.watch(keeper));
        Ok(Self {
            config,
            chain,
            snapshot,
            pool,
            dev,
            interval: Mutex::new(interval),
            signer: signer.map(|accounts| DevSigner::of(&accounts)),
            tips: TipOracle::default(),
            pending: Pending::default(),
            events,
            cosmos: CosmosCache::default(),
            _pool_keeper: pool_keeper,
            stopping,
            instance_id: instance_id(),
        })
    }

    /// Takes a snapshot at the end of work if the settings enable that and the newest snapshot is
    /// not of the head. A failure is logged for the operator: nothing depends on this snapshot.
    pub fn snapshot_if_moved(&self, log: &Log) {
        let config = &self.config;
        if !config.flatkv.snapshot_on_stop || config.mode != Mode::Start || self.snapshot.is_some() {
            return;
        }
        if let Err(error) = self.chain.snapshot_if_moved() {
            let entry = LogEntry::new(Level::Warn, "stores", "no snapshot could be taken");
            log.add(entry.text("why", error));
        }
    }

    /// Flushes and closes the stores.
    pub fn close(&self) -> Result<(), NodeError> {
        drop(self.interval.lock().take());
        self.chain.close().map_err(|error| chain_error(&self.config.home, error))
    }

    /// What the home holds.
    pub fn status(&self) -> HomeStatus {
        status(&self.chain, self.snapshot)
    }

    /// Answers to queries that were given last.
    pub(crate) fn cosmos_cache(&self) -> &CosmosCache {
        &self.cosmos
    }

    /// The configuration that the home was opened with.
    pub fn config(&self) -> &NodeConfig {
        &self.config
    }

    /// The chain.
    pub fn chain(&self) -> &Arc<Chain> {
        &self.chain
    }

    /// The transaction pool.
    pub fn pool(&self) -> &Arc<TransactionPool> {
        &self.pool
    }

    /// Block production, where this node makes blocks.
    pub fn dev(&self) -> Option<&DevChain> {
        self.dev.as_deref()
    }

    /// A name for this run of the node.
    pub fn instance_id(&self) -> B256 {
        self.instance_id
    }

    /// Who signs for the development accounts, where there are any.
    pub fn signer(&self) -> Option<&DevSigner> {
        self.signer.as_ref()
    }

    /// What happened to chain and pool.
    pub fn events(&self) -> &Arc<Events> {
        &self.events
    }

    /// The last pending block.
    pub fn pending_block(&self) -> &Pending {
        &self.pending
    }

    pub(crate) fn tips(&self) -> &TipOracle {
        &self.tips
    }

    /// Height of the first block. A home that begins in the middle of a chain has only a state
    /// below it.
    pub fn first_block(&self) -> Height {
        match self.chain.base() {
            0 => 0,
            base => base + 1,
        }
    }

    /// The same as what work looks at that ends early.
    pub fn stop(&self) -> Cancel {
        Cancel::of(self.stopping.clone())
    }

    /// Set while the node closes: running calls give up.
    pub fn stopping(&self) -> &AtomicBool {
        &self.stopping
    }

    /// Why a request was ended whose reader is gone or whose node closes.
    pub fn interrupted(&self) -> NodeError {
        if self.stopping.load(Ordering::Relaxed) { NodeError::Closed } else { NodeError::Cancelled }
    }
}

/// A name for this run of the node: another one each time.
fn instance_id() -> B256 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    keccak256([since.as_nanos().to_be_bytes().as_slice(), &std::process::id().to_be_bytes()].concat())
}

pub(crate) fn status(chain: &Chain, snapshot: Option<Height>) -> HomeStatus {
    let head = chain.head();
    HomeStatus {
        chain_id: chain.next_chain_id().get(),
        head: head.height,
        head_hash: head.hash.to_string(),
        oldest_state: chain.reader().oldest_state().unwrap_or(head.height),
        snapshot,
    }
}
