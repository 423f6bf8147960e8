//! An open home: chain, pool, block production. Operations and traces run on it.

use crate::{
    Asking, ForkConfig, FsyncPolicy, Mode, NodeConfig, NodeError, bake, baked::Baked, capsules::Capsules,
    events::Events, fork::ForkOrigin, inbox::open_with_snapshot, ops::TipOracle, pending::Pending,
};
use alloy_primitives::B256;
use hearth_bake::TraceDb;
use hearth_chain::{
    Chain, ChainError, ChainOptions, ChainWatcher,
    dev::{DevChain, DevSigner, ForkBlock, IntervalMiner, dev_genesis},
    pool::{PoolKeeper, PoolWatcher, TransactionPool},
};
use hearth_flatkv::{FlatKvError, Fsync};
use hearth_ledger::LedgerError;
use hearth_metrics::{Level, Log, LogEntry, Registry};
use hearth_primitives::{Height, Origin};
use hearth_tracers::Cancel;
use parking_lot::Mutex;
use serde::Serialize;
use std::{
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

/// The stores of one home and what lives on them.
pub(crate) struct OpenHome {
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
    /// Keeps the pool up with the head, where nobody here makes the blocks.
    _pool_keeper: Option<Arc<dyn ChainWatcher>>,
    capsules: Capsules,
    /// Where baking is enabled.
    trace_db: Option<Arc<TraceDb>>,
    /// The same, as requests see it.
    baked: Option<Arc<Baked>>,
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
    /// Height of the snapshot that is read, because another process has the home; the head is that block then.
    pub snapshot: Option<Height>,
}

impl OpenHome {
    /// Opens the chain that the configuration means; its stores tell `metrics` what they do.
    pub fn open(config: NodeConfig, stopping: Arc<AtomicBool>, metrics: Registry) -> Result<Self, NodeError> {
        let capsules = Capsules::new(&metrics);
        let (chain, snapshot) = open_chain(&config, metrics.clone())?;
        let chain = Arc::new(chain);
        let trace_db = config.bake.enabled.then(|| bake::open_cache(&config, &metrics)).transpose()?;
        let baked = |db: &Arc<TraceDb>| Arc::new(Baked::new(db.clone(), chain.clone(), &config.bake));
        let baked = trace_db.as_ref().map(baked);
        let is_dev = config.mode == Mode::Dev;
        let mut limits = config.pool.clone();
        if is_dev {
            // Who develops pays what the block asks for, and tests with one account alone.
            limits.min_tip_wei = 0;
            limits.max_per_account = limits.max_transactions;
        }
        let pool = Arc::new(TransactionPool::new(chain.spec().clone(), limits));
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
            _pool_keeper: pool_keeper,
            capsules,
            trace_db,
            baked,
            stopping,
            instance_id: crate::ops::dev::instance_id(),
        })
    }

    /// Takes a snapshot where the settings want one when work has ended and the head is not that of the newest one. A
    /// failure is told to the operator: nothing depends on this snapshot.
    pub fn snapshot_if_moved(&self, log: &Log) {
        let config = &self.config;
        if !config.flatkv.snapshot_on_stop || config.mode != Mode::Start || self.snapshot.is_some() {
            return;
        }
        if let Err(error) = self.chain.snapshot_if_moved() {
            let told = LogEntry::new(Level::Warn, "stores", "no snapshot could be taken");
            log.add(told.text("why", error));
        }
    }

    /// Flushes and closes the stores.
    pub fn close(&self) -> Result<(), NodeError> {
        drop(self.interval.lock().take());
        let flushed = self.trace_db.as_ref().map_or(Ok(()), |db| db.flush());
        self.chain.close().map_err(|e| chain_error(&self.config.home, e))?;
        flushed.map_err(|error| NodeError::Store { message: error.to_string() })
    }

    pub fn status(&self) -> HomeStatus {
        status(&self.chain, self.snapshot)
    }

    pub fn config(&self) -> &NodeConfig {
        &self.config
    }

    pub fn chain(&self) -> &Arc<Chain> {
        &self.chain
    }

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

    /// Decoded trace capsules, and who may use the processors for them.
    pub fn capsules(&self) -> &Capsules {
        &self.capsules
    }

    /// The trace cache, where baking is enabled.
    pub fn trace_db(&self) -> Option<&Arc<TraceDb>> {
        self.trace_db.as_ref()
    }

    /// What is baked, where baking is enabled.
    pub fn baked(&self) -> Option<&Arc<Baked>> {
        self.baked.as_ref()
    }

    pub fn tips(&self) -> &TipOracle {
        &self.tips
    }

    /// Height of the first block: that of a home which begins in the middle has only a state below it.
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
}

/// Writes a genesis into a home that holds nothing yet.
pub(crate) fn init_home(home: &Path, genesis_json: &str) -> Result<HomeStatus, NodeError> {
    let options = ChainOptions::default();
    match Chain::open(home, &options) {
        Ok(chain) => {
            let _ = chain.close();
            return Err(NodeError::HomeNotEmpty { home: home.to_owned() });
        }
        Err(ChainError::NotInitialised { .. }) => {}
        Err(error) => return Err(chain_error(home, error)),
    }
    let chain = Chain::create(home, genesis_json, &options).map_err(|e| chain_error(home, e))?;
    let status = status(&chain, None);
    chain.close().map_err(|e| chain_error(home, e))?;
    Ok(status)
}

fn status(chain: &Chain, snapshot: Option<Height>) -> HomeStatus {
    let head = chain.head();
    HomeStatus {
        chain_id: chain.spec().chain_id(),
        head: head.height,
        head_hash: head.hash.to_string(),
        oldest_state: chain.kv().oldest().unwrap_or(head.height),
        snapshot,
    }
}

/// The chain, and the height of the snapshot where that is read.
fn open_chain(config: &NodeConfig, metrics: Registry) -> Result<(Chain, Option<Height>), NodeError> {
    let fork = config.fork.as_ref().map(|fork| Ok::<_, NodeError>((fork, fork.block.read()?))).transpose()?;
    let mut state = config.flatkv.state();
    state.origin = fork.as_ref().and_then(|(fork, block)| origin(&config.home, fork, block));
    let options =
        ChainOptions { fsync: fsync(config.fsync), state, ledger: config.littable.ledger(), metrics };
    if config.read_only {
        return open_with_snapshot(&config.home, || Chain::open_reading(&config.home, &options));
    }
    let opened = match (config.mode, &config.genesis) {
        (Mode::Dev, _) => {
            let wanted = config.dev.genesis()?;
            let genesis = dev_genesis(&wanted);
            let genesis =
                genesis.map_err(|error| NodeError::Config { reason: format!("dev.mnemonic: {error}") })?;
            match &fork {
                Some((_, block)) => Chain::fork(&config.home, &genesis, block, &options),
                None => open_dev(config, &genesis, &options),
            }
        }
        (Mode::Start, None) => Chain::open(&config.home, &options),
        (Mode::Start, Some(path)) => {
            let read = std::fs::read_to_string(path);
            let text = read.map_err(|e| NodeError::Genesis { reason: format!("{}: {e}", path.display()) })?;
            // `start` never makes a chain: it only checks that the home's is the one that is meant.
            // Dropping the first one frees the home for the second, which compares.
            let exists = Chain::open(&config.home, &options).and_then(|chain| chain.close());
            exists.and_then(|()| Chain::create(&config.home, &text, &options))
        }
    };
    opened.map(|chain| (chain, None)).map_err(|error| open_error(&config.home, error))
}

/// As [`chain_error`], where a home cannot be opened: damage is repaired by a command.
fn open_error(home: &Path, error: ChainError) -> NodeError {
    if !error.is_damage() {
        return chain_error(home, error);
    }
    let repairable = !matches!(error, ChainError::Ledger(LedgerError::Unopenable(_)));
    // Some messages name the command themselves.
    let reason = error.to_string().replace("; run `hearth db repair`", "");
    NodeError::HomeDamaged { home: home.to_owned(), reason, repairable }
}

/// The development chain that the home has, whatever it began with, or a new one.
fn open_dev(config: &NodeConfig, genesis: &str, options: &ChainOptions) -> Result<Chain, ChainError> {
    let chain = match Chain::open(&config.home, options) {
        Err(ChainError::NotInitialised { .. }) => return Chain::create(&config.home, genesis, options),
        opened => opened?,
    };
    let there = chain.spec().first_chain_id();
    match config.dev.chain_id.filter(|given| *given != there) {
        None => Ok(chain),
        Some(given) => Err(ChainError::OtherChain {
            home: config.home.clone(),
            what: "chain id",
            there: there.to_string(),
            given: given.to_string(),
        }),
    }
}

/// Who answers for the origin's state.
fn origin(home: &Path, config: &ForkConfig, block: &ForkBlock) -> Option<Arc<dyn Origin>> {
    let Asking(fetch) = config.fetch.clone()?;
    Some(Arc::new(ForkOrigin::new(home, config, fetch, block.clone())))
}

fn fsync(policy: FsyncPolicy) -> Fsync {
    match policy {
        FsyncPolicy::Block => Fsync::Block,
        FsyncPolicy::Interval(every) => Fsync::Interval(every),
        FsyncPolicy::None => Fsync::None,
        FsyncPolicy::Never => Fsync::Never,
    }
}

/// What the chain says, in the node's terms.
pub(crate) fn chain_error(home: &Path, error: ChainError) -> NodeError {
    let home = home.to_owned();
    match error {
        ChainError::NotInitialised { .. } => NodeError::HomeEmpty { home },
        error if error.home_in_use().is_some() => {
            NodeError::HomeInUse { home, holder: error.holder().cloned() }
        }
        error @ (ChainError::OtherChain { .. }
        | ChainError::NewerFormat { .. }
        | ChainError::OlderFormat { .. }
        | ChainError::ForkWithoutOrigin { .. }
        | ChainError::BadHome { .. }
        | ChainError::DescriptionMissing { .. }
        | ChainError::DescriptionDamaged { .. }
        | ChainError::GenesisMissing { .. }
        | ChainError::HomeIsFile { .. }) => NodeError::HomeIncompatible { home, reason: error.to_string() },
        ChainError::Store(error @ (FlatKvError::Commitment { .. } | FlatKvError::NewerFormat { .. })) => {
            NodeError::HomeIncompatible { home, reason: error.to_string() }
        }
        ChainError::Store(FlatKvError::ReadOnly) => NodeError::ReadOnly,
        ChainError::Store(error @ FlatKvError::NoSnapshot { .. }) => {
            NodeError::NoSnapshot { home, reason: error.to_string() }
        }
        ChainError::Genesis { path, source } => {
            NodeError::Genesis { reason: format!("{}: {source}", path.display()) }
        }
        ChainError::Cancelled => NodeError::Closed,
        ChainError::Ledger(error @ LedgerError::Damaged { .. }) => error.into(),
        other => NodeError::Store { message: other.to_string() },
    }
}
