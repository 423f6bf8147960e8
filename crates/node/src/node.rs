//! The node: one open home, its thread pools, and the door for requests.

use crate::{
    ByteStream, FsyncPolicy, Mode, NodeConfig, NodeError, Request, TraceRequest,
    ops::{self, TipOracle},
    stream::{self, Canceller},
    workers::{WorkerPool, guarded},
};
use hearth_chain::{
    Chain, ChainError, ChainOptions,
    dev::{DevChain, dev_genesis_json},
    pool::TransactionPool,
};
use hearth_flatkv::{FlatKvError, Fsync};
use hearth_primitives::Height;
use hearth_tracers::Cancel;
use parking_lot::Mutex;
use serde::Serialize;
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// An open home. Requests run on the caller's thread ([`Node::handle`]) or on the node's own ([`Node::spawn`]).
pub struct Node {
    config: NodeConfig,
    chain: Arc<Chain>,
    pool: Arc<TransactionPool>,
    dev: Option<DevChain>,
    tips: TipOracle,
    read: WorkerPool,
    heavy: WorkerPool,
    closed: AtomicBool,
    /// Streams that may still be written: closing stops them.
    running: Mutex<Vec<Canceller>>,
    closing: Mutex<()>,
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
}

impl Node {
    /// Opens a home.
    ///
    /// # Errors
    /// [`NodeError::HomeEmpty`] where `start` finds nothing, [`NodeError::HomeInUse`] where another process has it,
    /// [`NodeError::HomeIncompatible`] for another chain or a newer format, and what the stores report.
    pub fn open(config: NodeConfig) -> Result<Arc<Self>, NodeError> {
        config.check()?;
        let chain = Arc::new(open_chain(&config)?);
        let pool = Arc::new(TransactionPool::new(chain.spec().clone(), config.pool.clone()));
        let dev = match config.mode {
            Mode::Dev => Some(DevChain::new(chain.clone(), pool.clone())),
            Mode::Start => None,
        };
        let node = Self {
            read: WorkerPool::new("read", config.workers.read)?,
            heavy: WorkerPool::new("heavy", config.workers.heavy)?,
            config,
            chain,
            pool,
            dev,
            tips: TipOracle::default(),
            closed: AtomicBool::new(false),
            running: Mutex::default(),
            closing: Mutex::new(()),
        };
        Ok(Arc::new(node))
    }

    /// Writes a genesis (a geth-format file's text) into a home that holds nothing yet.
    ///
    /// # Errors
    /// [`NodeError::Genesis`] naming the field, [`NodeError::HomeNotEmpty`].
    pub fn init(home: &Path, genesis_json: &str) -> Result<HomeStatus, NodeError> {
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
        let status = status(&chain);
        chain.close().map_err(|e| chain_error(home, e))?;
        Ok(status)
    }

    /// Answers a request on this thread. A panic inside becomes [`NodeError::Internal`].
    pub fn handle(&self, request: Request) -> Result<Vec<u8>, NodeError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(NodeError::Closed);
        }
        guarded(|| ops::answer(self, request))
    }

    /// Answers a request on one of the node's threads, short reads apart from long work. The callback is called
    /// exactly once; at once with [`NodeError::Busy`] where the queue is full.
    pub fn spawn(
        self: &Arc<Self>,
        request: Request,
        done: impl FnOnce(Result<Vec<u8>, NodeError>) + Send + 'static,
    ) {
        let workers = if request.is_heavy() { &self.heavy } else { &self.read };
        let node = self.clone();
        // The callback goes into a slot, so that a refused job hands it back.
        let slot = Arc::new(Mutex::new(Some(done)));
        let job_slot = slot.clone();
        let submitted = workers.submit(move || {
            let answer = node.handle(request);
            // The node is let go before the answer is seen: who closes after it finds nothing held here.
            drop(node);
            if let Some(done) = job_slot.lock().take() {
                done(answer);
            }
        });
        if let Err(error) = submitted
            && let Some(done) = slot.lock().take()
        {
            done(Err(error));
        }
    }

    /// Starts a trace on the heavy pool. The stream's first answer is an error where nothing could be traced.
    pub fn stream(self: &Arc<Self>, request: TraceRequest) -> ByteStream {
        let cancel = Cancel::new();
        let on_cancel = cancel.clone();
        let (sender, stream) = stream::channel(move || on_cancel.cancel());
        {
            // Under one lock with the check, so that no stream begins behind the back of a closing node.
            let mut running = self.running.lock();
            if self.closed.load(Ordering::Acquire) {
                sender.finish(Err(NodeError::Closed));
                return stream;
            }
            running.retain(Canceller::is_live);
            running.push(stream.canceller());
        }
        let node = self.clone();
        let slot = Arc::new(Mutex::new(Some(sender)));
        let job_slot = slot.clone();
        let submitted = self.heavy.submit(move || {
            if let Some(sender) = job_slot.lock().take() {
                node.run_trace(request, cancel, sender);
            }
        });
        if let Err(error) = submitted
            && let Some(sender) = slot.lock().take()
        {
            sender.finish(Err(error));
        }
        stream
    }

    /// What the home holds.
    pub fn status(&self) -> HomeStatus {
        status(&self.chain)
    }

    /// Stops traces, lets running requests finish, flushes and closes the stores. Later requests are refused; a
    /// second call does nothing.
    pub fn close(&self) -> Result<(), NodeError> {
        let _one_at_a_time = self.closing.lock();
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        std::mem::take(&mut *self.running.lock()).iter().for_each(Canceller::cancel);
        self.read.close();
        self.heavy.close();
        self.chain.close().map_err(|e| chain_error(&self.config.home, e))
    }

    /// The configuration that the node was opened with.
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

    /// Set while the node closes: running calls give up.
    pub(crate) fn stopping(&self) -> &AtomicBool {
        &self.closed
    }

    pub(crate) fn dev(&self) -> Option<&DevChain> {
        self.dev.as_ref()
    }

    pub(crate) fn tips(&self) -> &TipOracle {
        &self.tips
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

fn status(chain: &Chain) -> HomeStatus {
    let head = chain.head();
    HomeStatus {
        chain_id: chain.spec().chain_id(),
        head: head.height,
        head_hash: head.hash.to_string(),
        oldest_state: chain.kv().oldest().unwrap_or(head.height),
    }
}

fn open_chain(config: &NodeConfig) -> Result<Chain, NodeError> {
    let options = ChainOptions { fsync: fsync(config.fsync), cache_bytes: config.caches.state_bytes };
    let opened = match (config.mode, &config.genesis) {
        (Mode::Dev, _) => Chain::create(&config.home, &dev_genesis_json(config.dev.gas_limit), &options),
        (Mode::Start, None) => Chain::open(&config.home, &options),
        (Mode::Start, Some(path)) => {
            let read = std::fs::read_to_string(path);
            let text = read.map_err(|e| NodeError::Genesis { reason: format!("{}: {e}", path.display()) })?;
            // `start` never makes a chain: it only checks that the home's is the one that is meant.
            match Chain::open(&config.home, &options) {
                Ok(chain) => chain.close().and_then(|()| Chain::create(&config.home, &text, &options)),
                error => error,
            }
        }
    };
    opened.map_err(|e| chain_error(&config.home, e))
}

fn fsync(policy: FsyncPolicy) -> Fsync {
    match policy {
        FsyncPolicy::Block => Fsync::Block,
        FsyncPolicy::Interval(every) => Fsync::Interval(every),
        FsyncPolicy::None => Fsync::None,
    }
}

/// What the chain says, in the node's terms.
pub(crate) fn chain_error(home: &Path, error: ChainError) -> NodeError {
    let home = home.to_owned();
    match error {
        ChainError::NotInitialised { .. } => NodeError::HomeEmpty { home },
        ChainError::Store(FlatKvError::Locked { .. }) => NodeError::HomeInUse { home },
        error @ (ChainError::OtherChain { .. }
        | ChainError::NewerFormat { .. }
        | ChainError::BadHome { .. }) => NodeError::HomeIncompatible { home, reason: error.to_string() },
        ChainError::Store(error @ (FlatKvError::Commitment { .. } | FlatKvError::NewerFormat { .. })) => {
            NodeError::HomeIncompatible { home, reason: error.to_string() }
        }
        ChainError::Genesis { path, source } => {
            NodeError::Genesis { reason: format!("{}: {source}", path.display()) }
        }
        ChainError::Cancelled => NodeError::Closed,
        other => NodeError::Store { message: other.to_string() },
    }
}
