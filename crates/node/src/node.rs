//! The node: the door for requests, the thread pools behind it, and its end.

mod calls;
mod tracing;

use crate::memory::Memory;
use calls::Calls;
use hearth_admin::{Inbox, open_with_snapshot};
use hearth_chain::Chain;
use hearth_consensus::{Consensus, Listening};
use hearth_engine::Engine;
use hearth_home::{
    FsyncPolicy, Home, HomeStatus, NodeConfig, NodeError, WorkerConfig, init_home, share_arenas,
    stream::Canceller,
    workers::{Kind, Limits, Order, WorkerPool, guarded},
};
use hearth_metrics::{EventLoopMetrics, Level, LogEntry, Registry, WorkerMetrics};
use hearth_pool::TransactionPool;
use hearth_rpc::{Request, Rpc};
use hearth_tracers::Cancel;
use hearth_traces::{BakeService, JsTracers, Threads, Traces};
use parking_lot::{Mutex, RwLock};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// The stores of a home and the components that use them.
struct Opened {
    home: Arc<Home>,
    traces: Arc<Traces>,
    rpc: Rpc,
    /// Where a consensus client drives the home.
    engine: Option<Arc<Engine>>,
    /// Where CometBFT drives the home.
    consensus: Option<Arc<Consensus>>,
}

impl Opened {
    fn open(config: &NodeConfig, stopping: &Arc<AtomicBool>, metrics: &Registry) -> Result<Self, NodeError> {
        // Before the stores: CometBFT may bring their first state.
        let driver = config.consensus.as_ref();
        let listening = driver.map(|driver| Listening::start(config, driver, metrics)).transpose()?;
        let open = || Home::open(config.clone(), stopping.clone(), metrics.clone());
        let home = Arc::new(if config.read_only { open_with_snapshot(open) } else { open() }?);
        let traces = Arc::new(Traces::open(home.clone(), metrics)?);
        let engine = config.engine.then(|| Engine::open(home.clone(), metrics)).transpose()?.map(Arc::new);
        let consensus = driver.zip(listening);
        let consensus = consensus
            .map(|(driver, listening)| Consensus::open(&home, driver, listening, metrics))
            .transpose()?
            .map(Arc::new);
        let rpc = Rpc::new(home.clone(), traces.clone(), engine.clone(), consensus.clone());
        Ok(Self { home, traces, rpc, engine, consensus })
    }
}

/// The thread of the Engine API, and the number of its requests that may wait: a consensus client
/// sends them one after the other.
const ENGINE_WORKERS: WorkerConfig = WorkerConfig { threads: 1, queue: 256 };

/// The thread that takes the blocks of another node, and the number of them that may wait with
/// their witnesses: a follower gives one after the other.
const FOLLOW_WORKERS: WorkerConfig = WorkerConfig { threads: 1, queue: 8 };

/// A node. Requests run on its own threads ([`Node::spawn`], [`Node::stream`]); short reads of
/// memory run on the caller's ([`Node::at_once`]).
pub struct Node {
    config: NodeConfig,
    /// The stores; gone once the node is closed, so that the home is free again.
    opened: RwLock<Option<Arc<Opened>>>,
    /// Set while the node closes: running calls look at it.
    stopping: Arc<AtomicBool>,
    read: WorkerPool,
    heavy: WorkerPool,
    /// Executes and selects the payloads of a consensus client, one at a time and in the order of
    /// their arrival.
    engine: Option<WorkerPool>,
    /// Takes the blocks of the node that is followed, in the order of their arrival.
    follow: Option<WorkerPool>,
    /// Who runs JavaScript tracers.
    scripts: JsTracers,
    /// Traces under hooks of this process.
    hooked: Threads,
    /// Streams that may still be written: closing stops them.
    running: Mutex<Vec<Canceller>>,
    /// What the stores of this home measure.
    metrics: Registry,
    /// Who bakes, where that is enabled; gone once the node is closed, as it holds the stores too.
    bakery: Mutex<Option<BakeService>>,
    /// Reads the requests of other processes. Removed when the node is closed, because it holds the
    /// stores too.
    inbox: Mutex<Option<Inbox>>,
    /// Long requests that can be ended.
    calls: Calls,
    /// What the process takes, and whether that is too much.
    memory: Arc<Memory>,
}

/// The table of native instruments as JSON, see [`Registry::catalog_json`].
pub fn metrics_catalog() -> String {
    Registry::new().catalog_json()
}

impl Node {
    /// Opens a home.
    ///
    /// # Errors
    /// [`NodeError::HomeEmpty`] if `start` finds no home, [`NodeError::HomeInUse`] if another
    /// process has it open, [`NodeError::HomeIncompatible`] for another chain or a newer format,
    /// and errors of the stores.
    pub fn open(config: NodeConfig) -> Result<Arc<Self>, NodeError> {
        config.check()?;
        if config.fsync == FsyncPolicy::Never {
            share_arenas();
        }
        let (stopping, metrics) = (Arc::new(AtomicBool::new(false)), Registry::new());
        let rooms = Opened::open(&config, &stopping, &metrics)?;
        let (home, traces) = (rooms.home.clone(), rooms.traces.clone());
        let follows = home.chain().is_follower() && !config.read_only;
        let opened = home.status();
        let message = format!(
            "open at block {} ({}), state from block {} on",
            opened.head, opened.head_hash, opened.oldest_state
        );
        metrics.log().add(LogEntry::new(Level::Info, "stores", message));
        let bakery = config.bake.enabled.then(|| BakeService::start(&traces, &metrics)).transpose()?;
        let baker = bakery.as_ref().map(|bakery| bakery.worker().clone());
        let inbox = (!config.read_only)
            .then(|| Inbox::open(home.clone(), baker, metrics.log().clone()))
            .transpose()?;
        let memory = Arc::new(Memory::watch(&traces, config.memory_budget_bytes, &metrics)?);
        let limits = Limits {
            traces: config.workers.traces,
            simulations: config.workers.simulations,
            wait: Some(Duration::from_millis(config.workers.wait_ms)),
            nice: config.workers.heavy_nice,
            low_traces: config.workers.low_traces,
            client_share: config.workers.client_share,
            parked: config.workers.parked_traces,
        };
        let parked = WorkerMetrics::new(&metrics).parked;
        // The series is there before the first stall.
        EventLoopMetrics::new(&metrics);
        let node = Self {
            read: WorkerPool::new("read", config.workers.read)?,
            heavy: WorkerPool::with_limits("heavy", config.workers.heavy, &limits, Some(parked))?,
            engine: config.engine.then(|| WorkerPool::new("engine", ENGINE_WORKERS)).transpose()?,
            follow: follows.then(|| WorkerPool::new("follow", FOLLOW_WORKERS)).transpose()?,
            scripts: JsTracers::new(config.scripts.as_ref(), config.workers.heavy_nice, &metrics)?,
            // The main thread waits for these threads at each step: they keep its priority.
            hooked: Threads::default(),
            config,
            opened: RwLock::new(Some(Arc::new(rooms))),
            stopping,
            running: Mutex::default(),
            metrics,
            bakery: Mutex::new(bakery),
            inbox: Mutex::new(inbox),
            calls: Calls::default(),
            memory,
        };
        Ok(Arc::new(node))
    }

    /// The values of all native instruments at this moment as JSON, see
    /// [`Registry::snapshot_json`]. For a closed node these are the last values.
    pub fn metrics_snapshot(&self) -> String {
        self.metrics.snapshot_json()
    }

    /// Counts a stall of the main thread's event loop, with its duration, by the work that the
    /// thread had begun.
    pub(crate) fn stalled(&self, began: &str, stood: Duration) {
        EventLoopMetrics::new(&self.metrics).stalled(began, stood);
    }

    /// Takes what operators should read in the log since the last call.
    pub fn take_log(&self) -> Vec<LogEntry> {
        self.metrics.log().take()
    }

    /// Writes a genesis (a geth-format file's text) into a home that holds nothing yet.
    ///
    /// # Errors
    /// [`NodeError::Genesis`] naming the field, [`NodeError::HomeNotEmpty`].
    pub fn init(home: &Path, genesis_json: &str) -> Result<HomeStatus, NodeError> {
        init_home(home, genesis_json)
    }

    /// The answer to a short read that needs neither the disk nor another thread; `None` for any
    /// other request, failures included.
    pub fn at_once(&self, request: &Request) -> Option<Vec<u8>> {
        self.opened().ok()?.rpc.at_once(request)
    }

    /// Reports the events of chain and pool after the first `after` events since the node was
    /// opened: `{"next":…,"missed":…,"events":[…]}` with events `["added",number,hash]`,
    /// `["removed",number,hash]` and `["transaction",hash]`. If there are none, it waits for one if
    /// `wait` is set. The callback is called exactly once.
    pub fn events(
        &self,
        after: u64,
        wait: bool,
        done: impl FnOnce(Result<Vec<u8>, NodeError>) + Send + 'static,
    ) {
        match self.home() {
            Ok(home) => home.events().after(after, wait, Box::new(done)),
            Err(error) => done(Err(error)),
        }
    }

    /// What the home holds.
    ///
    /// # Errors
    /// [`NodeError::Closed`].
    pub fn status(&self) -> Result<HomeStatus, NodeError> {
        Ok(self.home()?.status())
    }

    /// Works on a home that follows, on the thread of its blocks: [`Home::follow_block`],
    /// [`Home::set_followed_finality`]. The callback is called exactly once, with
    /// [`NodeError::Busy`] where too many blocks wait.
    pub fn spawn_follow(
        &self,
        work: impl FnOnce(&Home) -> Result<Vec<u8>, NodeError> + Send + 'static,
        done: impl FnOnce(Result<Vec<u8>, NodeError>) + Send + 'static,
    ) {
        let home = match self.home() {
            Ok(home) => home,
            Err(error) => return done(Err(error)),
        };
        // A home that does not follow refuses by itself.
        let Some(workers) = &self.follow else { return done(guarded(|| work(&home))) };
        let order = Order { client: Arc::from(""), kind: Kind::Other, cancel: Cancel::new() };
        workers.submitter().submit_for(order, move |go| {
            let answer = go.and_then(|()| guarded(|| work(&home)));
            // As for any request: the home is released before its answer is visible.
            drop(home);
            done(answer);
        });
    }

    /// What a home that follows holds, as JSON; `null` in any other.
    ///
    /// # Errors
    /// [`NodeError::Closed`]; those of the stores.
    pub fn followed_state(&self) -> Result<Vec<u8>, NodeError> {
        self.home()?.followed_state()
    }

    /// A number that differs after each change of [`Self::followed_state`].
    ///
    /// # Errors
    /// [`NodeError::Closed`].
    pub fn followed_changes(&self) -> Result<u64, NodeError> {
        Ok(self.home()?.followed_changes())
    }

    /// Stops traces, lets running requests finish, flushes and closes the stores, and releases the
    /// home. Later requests are refused; a second call has no effect.
    ///
    /// # Errors
    /// Errors of the stores; the node is closed all the same.
    pub fn close(&self) -> Result<(), NodeError> {
        let (opened, streams) = {
            let mut running = self.running.lock();
            (self.opened.write().take(), std::mem::take(&mut *running))
        };
        let Some(opened) = opened else { return Ok(()) };
        self.stopping.store(true, Ordering::Release);
        let home = &opened.home;
        // Consensus closes first, so that no block is half decided; a request in progress ends
        // before.
        if let Some(consensus) = &opened.consensus {
            consensus.close();
        }
        home.events().close();
        streams.iter().for_each(Canceller::cancel);
        self.calls.cancel_all();
        self.memory.stop();
        if let Some(inbox) = self.inbox.lock().take() {
            inbox.close();
        }
        let bakery = self.bakery.lock().take();
        if let Some(bakery) = bakery {
            bakery.stop();
        }
        self.read.close();
        self.heavy.close();
        for workers in [&self.engine, &self.follow].into_iter().flatten() {
            workers.close();
        }
        if let Some(engine) = &opened.engine {
            engine.close();
        }
        self.scripts.close();
        self.hooked.wait();
        home.snapshot_if_moved(self.metrics.log());
        let flushed = opened.traces.flush();
        home.close().and(flushed)
    }

    /// The configuration that the node was opened with.
    pub fn config(&self) -> &NodeConfig {
        &self.config
    }

    /// The chain. The home stays locked as long as the returned value lives.
    ///
    /// # Errors
    /// [`NodeError::Closed`].
    pub fn chain(&self) -> Result<Arc<Chain>, NodeError> {
        Ok(self.home()?.chain().clone())
    }

    /// The transaction pool.
    ///
    /// # Errors
    /// [`NodeError::Closed`].
    pub fn pool(&self) -> Result<Arc<TransactionPool>, NodeError> {
        Ok(self.home()?.pool().clone())
    }

    fn opened(&self) -> Result<Arc<Opened>, NodeError> {
        self.opened.read().clone().ok_or(NodeError::Closed)
    }

    fn home(&self) -> Result<Arc<Home>, NodeError> {
        Ok(self.opened()?.home.clone())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.close();
    }
}
