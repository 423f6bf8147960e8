//! The node: the door for requests, the thread pools behind it, and its end.

use crate::{
    ByteStream, NodeConfig, NodeError, Request, TraceRequest,
    home::{HomeStatus, OpenHome, init_home},
    ops,
    stream::{self, Canceller},
    workers::{WorkerPool, guarded},
};
use hearth_chain::{Chain, pool::TransactionPool};
use hearth_metrics::Registry;
use hearth_tracers::Cancel;
use parking_lot::{Mutex, RwLock};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// A node. Requests run on the caller's thread ([`Node::handle`]) or on the node's own ([`Node::spawn`]).
pub struct Node {
    config: NodeConfig,
    /// The stores; gone once the node is closed, so that the home is free again.
    home: RwLock<Option<Arc<OpenHome>>>,
    /// Set while the node closes: running calls look at it.
    stopping: Arc<AtomicBool>,
    read: WorkerPool,
    heavy: WorkerPool,
    /// Streams that may still be written: closing stops them.
    running: Mutex<Vec<Canceller>>,
    /// What the stores of this home measure.
    metrics: Registry,
}

/// The table of native instruments as JSON, see [`Registry::catalog_json`].
pub fn metrics_catalog() -> String {
    Registry::new().catalog_json()
}

impl Node {
    /// Opens a home.
    ///
    /// # Errors
    /// [`NodeError::HomeEmpty`] where `start` finds nothing, [`NodeError::HomeInUse`] where another process has it,
    /// [`NodeError::HomeIncompatible`] for another chain or a newer format, and what the stores report.
    pub fn open(config: NodeConfig) -> Result<Arc<Self>, NodeError> {
        config.check()?;
        let (stopping, metrics) = (Arc::new(AtomicBool::new(false)), Registry::new());
        let home = OpenHome::open(config.clone(), stopping.clone(), metrics.clone())?;
        let node = Self {
            read: WorkerPool::new("read", config.workers.read)?,
            heavy: WorkerPool::new("heavy", config.workers.heavy)?,
            config,
            home: RwLock::new(Some(Arc::new(home))),
            stopping,
            running: Mutex::default(),
            metrics,
        };
        Ok(Arc::new(node))
    }

    /// The values of all native instruments at this moment as JSON, see [`Registry::snapshot_json`]. Those of a node
    /// that is closed are the last ones.
    pub fn metrics_snapshot(&self) -> String {
        self.metrics.snapshot_json()
    }

    /// Writes a genesis (a geth-format file's text) into a home that holds nothing yet.
    ///
    /// # Errors
    /// [`NodeError::Genesis`] naming the field, [`NodeError::HomeNotEmpty`].
    pub fn init(home: &Path, genesis_json: &str) -> Result<HomeStatus, NodeError> {
        init_home(home, genesis_json)
    }

    /// Answers a request on this thread. A panic inside becomes [`NodeError::Internal`].
    ///
    /// # Errors
    /// Those of the operation; [`NodeError::Closed`].
    pub fn handle(&self, request: Request) -> Result<Vec<u8>, NodeError> {
        let home = self.home()?;
        guarded(|| ops::answer(&home, request))
    }

    /// Answers a request on one of the node's threads, short reads apart from long work. The callback is called
    /// exactly once; at once with [`NodeError::Busy`] where the queue is full.
    pub fn spawn(&self, request: Request, done: impl FnOnce(Result<Vec<u8>, NodeError>) + Send + 'static) {
        let home = match self.home() {
            Ok(home) => home,
            Err(error) => return done(Err(error)),
        };
        let workers = if request.is_heavy() { &self.heavy } else { &self.read };
        // The callback goes into a slot, so that a refused job hands it back.
        let slot = Arc::new(Mutex::new(Some(done)));
        let job_slot = slot.clone();
        let submitted = workers.submit(move || {
            let answer = guarded(|| ops::answer(&home, request));
            // The home is let go before the answer is seen: who closes after it finds nothing held here.
            drop(home);
            let done = job_slot.lock().take();
            if let Some(done) = done {
                done(answer);
            }
        });
        if let Err(error) = submitted {
            let done = slot.lock().take();
            if let Some(done) = done {
                done(Err(error));
            }
        }
    }

    /// Starts a trace on the heavy pool. The stream's first answer is an error where nothing could be traced.
    pub fn stream(&self, request: TraceRequest) -> ByteStream {
        let cancel = Cancel::new();
        let on_cancel = cancel.clone();
        let (sender, stream) = stream::channel(move || on_cancel.cancel());
        let home = {
            // Under the lock that closing takes first, so that no stream begins behind its back.
            let mut running = self.running.lock();
            match self.home() {
                Ok(home) => {
                    running.retain(Canceller::is_live);
                    running.push(stream.canceller());
                    home
                }
                Err(error) => {
                    sender.finish(Err(error));
                    return stream;
                }
            }
        };
        let slot = Arc::new(Mutex::new(Some(sender)));
        let job_slot = slot.clone();
        let submitted = self.heavy.submit(move || {
            let sender = job_slot.lock().take();
            if let Some(sender) = sender {
                home.run_trace(request, cancel, sender);
            }
        });
        if let Err(error) = submitted {
            let sender = slot.lock().take();
            if let Some(sender) = sender {
                sender.finish(Err(error));
            }
        }
        stream
    }

    /// What the home holds.
    ///
    /// # Errors
    /// [`NodeError::Closed`].
    pub fn status(&self) -> Result<HomeStatus, NodeError> {
        Ok(self.home()?.status())
    }

    /// Stops traces, lets running requests finish, flushes and closes the stores, and leaves the home. Later requests
    /// are refused; a second call does nothing.
    ///
    /// # Errors
    /// What the stores report; the node is closed all the same.
    pub fn close(&self) -> Result<(), NodeError> {
        let (home, streams) = {
            let mut running = self.running.lock();
            (self.home.write().take(), std::mem::take(&mut *running))
        };
        let Some(home) = home else { return Ok(()) };
        self.stopping.store(true, Ordering::Release);
        streams.iter().for_each(Canceller::cancel);
        self.read.close();
        self.heavy.close();
        home.close()
    }

    /// The configuration that the node was opened with.
    pub fn config(&self) -> &NodeConfig {
        &self.config
    }

    /// The chain. Whoever keeps it keeps the home locked.
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

    fn home(&self) -> Result<Arc<OpenHome>, NodeError> {
        self.home.read().clone().ok_or(NodeError::Closed)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.close();
    }
}
