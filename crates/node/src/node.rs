//! The node: the door for requests, the thread pools behind it, and its end.

mod calls;

use crate::{
    ByteSender, ByteStream, Envelope, NodeConfig, NodeError, Request, TraceOrigin, TraceRequest,
    bake::Bakery,
    baked::{BakedAsk, CachedAnswer, Ready},
    home::{HomeStatus, OpenHome, init_home},
    inbox::Inbox,
    js_tracers::{Asker, HookLink, JsTracers, ScriptNeed, Threads, hook_link},
    memory::Memory,
    ops,
    stream::{self, Canceller},
    workers::{Kind, Limits, Order, Submitter, WorkerPool, guarded},
};
use calls::Calls;
use hearth_chain::{Chain, pool::TransactionPool};
use hearth_metrics::{Level, LogEntry, Registry, WorkerMetrics};
use hearth_tracers::Cancel;
use parking_lot::{Mutex, RwLock};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// Traces under hooks of this process that may run at the same time.
const HOOKED_TRACES_MAX: usize = 64;

/// A node. Requests run on the caller's thread ([`Node::handle`]) or on the node's own ([`Node::spawn`]).
pub struct Node {
    config: NodeConfig,
    /// The stores; gone once the node is closed, so that the home is free again.
    home: RwLock<Option<Arc<OpenHome>>>,
    /// Set while the node closes: running calls look at it.
    stopping: Arc<AtomicBool>,
    read: WorkerPool,
    heavy: WorkerPool,
    /// Who runs JavaScript tracers.
    scripts: JsTracers,
    /// Traces under hooks of this process.
    hooked: Threads,
    /// Streams that may still be written: closing stops them.
    running: Mutex<Vec<Canceller>>,
    /// What the stores of this home measure.
    metrics: Registry,
    /// Who bakes, where that is enabled; gone once the node is closed, as it holds the stores too.
    bakery: Mutex<Option<Bakery>>,
    /// Who reads the requests of other processes; gone once the node is closed, as it holds the stores too.
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
    /// [`NodeError::HomeEmpty`] where `start` finds nothing, [`NodeError::HomeInUse`] where another process has it,
    /// [`NodeError::HomeIncompatible`] for another chain or a newer format, and what the stores report.
    pub fn open(config: NodeConfig) -> Result<Arc<Self>, NodeError> {
        config.check()?;
        let (stopping, metrics) = (Arc::new(AtomicBool::new(false)), Registry::new());
        let home = Arc::new(OpenHome::open(config.clone(), stopping.clone(), metrics.clone())?);
        let opened = home.status();
        let told = format!(
            "open at block {} ({}), state from block {} on",
            opened.head, opened.head_hash, opened.oldest_state
        );
        metrics.log().add(LogEntry::new(Level::Info, "stores", told));
        let bakery = config.bake.enabled.then(|| Bakery::start(&home, &metrics)).transpose()?;
        let baker = bakery.as_ref().map(|bakery| bakery.worker().clone());
        let inbox = (!config.read_only)
            .then(|| Inbox::open(home.clone(), baker, metrics.log().clone()))
            .transpose()?;
        let memory = Arc::new(Memory::watch(&home, config.memory_budget_bytes, &metrics)?);
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
        let node = Self {
            read: WorkerPool::new("read", config.workers.read)?,
            heavy: WorkerPool::with_limits("heavy", config.workers.heavy, &limits, Some(parked))?,
            scripts: JsTracers::new(config.scripts.as_ref(), &metrics)?,
            hooked: Threads::default(),
            config,
            home: RwLock::new(Some(home)),
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

    /// The values of all native instruments at this moment as JSON, see [`Registry::snapshot_json`]. Those of a node
    /// that is closed are the last ones.
    pub fn metrics_snapshot(&self) -> String {
        self.metrics.snapshot_json()
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

    /// Answers a request on this thread. A panic inside becomes [`NodeError::Internal`].
    ///
    /// # Errors
    /// Those of the operation; [`NodeError::Closed`].
    pub fn handle(&self, request: Request) -> Result<Vec<u8>, NodeError> {
        let home = self.home()?;
        guarded(|| ops::answer(&home, request, &home.stop()))
    }

    /// The answer to a short read that needs neither the disk nor another thread; `None` for all else, failures included.
    pub fn at_once(&self, request: &Request) -> Option<Vec<u8>> {
        ops::at_once(&*self.home().ok()?, request)
    }

    /// Starts a trace on the heavy pool. The stream's first answer is an error where nothing could be traced.
    pub fn stream(&self, request: TraceRequest) -> ByteStream {
        self.stream_packed(request, None)
    }

    /// The answer to a trace, where all of it lies in the memory of the trace cache and it is not wanted in gzip. Nothing
    /// is read from the disk, and nothing waits.
    pub fn cached(&self, request: &TraceRequest, envelope: Option<&Envelope>) -> Option<CachedAnswer> {
        let home = self.home().ok()?;
        let baked = home.baked()?;
        let mut answer = baked.hot(&baked.ask(request)?, envelope)?;
        answer.historical = home.is_historical(answer.height);
        Some(answer)
    }

    /// Writes the answer to a trace, with what stands around it, where it is baked and its bytes are in the memory of this process
    /// or of the system: nothing waits. Where there is too little room, nothing is written. `None` where it is not ready.
    pub fn ready(&self, ask: &BakedAsk, envelope: &Envelope, into: &mut [u8]) -> Option<Ready> {
        let home = self.home().ok()?;
        let (height, ready) = home.baked()?.write_ready(ask, envelope, into)?;
        Some(Ready { historical: home.is_historical(height), ..ready })
    }

    /// As [`Self::stream`]. What is baked comes from the trace cache, and with an envelope as one gzip member together with
    /// it, where that can be had: [`ByteStream::packed_bytes`] says so.
    pub fn stream_packed(&self, request: TraceRequest, envelope: Option<Envelope>) -> ByteStream {
        self.stream_for(request, &Asker::default(), envelope)
    }

    /// As [`Self::stream_packed`], for whoever asks. A trace under a script waits for a process to run that.
    pub fn stream_for(&self, request: TraceRequest, asker: &Asker, envelope: Option<Envelope>) -> ByteStream {
        let cancel = Cancel::new();
        let on_cancel = cancel.clone();
        let (home, sender, stream) = match self.open_stream(move || on_cancel.cancel()) {
            Ok(opened) => opened,
            Err(refused) => return refused,
        };
        if let Some(need) = ScriptNeed::of_config(request.config()) {
            if let Err(error) = self.memory.admit() {
                sender.finish(Err(error));
                return stream;
            }
            let (arrived, of_trace) = (asker.arrived, cancel.clone());
            self.scripts.run(&need, asker, &cancel, sender, move |sender, host| {
                home.run_trace(request, of_trace, sender, Some((host, arrived)));
            });
            return stream;
        }
        let asked = home.baked().and_then(|baked| Some((baked.clone(), baked.ask(&request)?)));
        let client = asker.client.clone();
        let (heavy, memory) = (self.heavy.submitter(), self.memory.clone());
        let live = Live { home, request, client, cancel, sender, heavy, memory };
        let Some((baked, ask)) = asked else {
            live.start();
            return stream;
        };
        let read = self.read.submitter();
        if let Some(answer) = baked.hot(&ask, envelope.as_ref()) {
            live.home.tell_height(answer.height, &live.sender);
            live.sender.feed(TraceOrigin::Baked, answer.into(), read);
            return stream;
        }
        let feeder = read.clone();
        // In a slot, so that a refused job hands it back.
        let slot = Arc::new(Mutex::new(Some(live)));
        let job_slot = slot.clone();
        let submitted = read.submit(move || {
            let Some(mut live) = job_slot.lock().take() else { return };
            match guarded(|| Ok(baked.stored(&ask, envelope.as_ref()))) {
                Ok(Some((height, answer))) => {
                    live.home.tell_height(height, &live.sender);
                    match answer {
                        Ok(feed) => live.sender.feed(TraceOrigin::Baked, feed, feeder),
                        Err(error) => {
                            live.sender.set_origin(TraceOrigin::Baked);
                            live.sender.finish(Err(error));
                        }
                    }
                }
                Ok(None) | Err(_) => live.start(),
            }
        });
        if submitted.is_err()
            && let Some(live) = slot.lock().take()
        {
            live.start();
        }
        stream
    }

    /// Starts a trace under hooks of this process. Its configuration must be that of a script, whose text nobody reads: the
    /// hooks are at the other end of the link. What they answer to each transaction stands in the stream as it was said.
    pub fn trace_hooked(&self, request: TraceRequest) -> (HookLink, ByteStream) {
        let (cancel, arrived) = (Cancel::new(), std::time::Instant::now());
        let (link, host) = hook_link(arrived);
        let (on_cancel, its_link) = (cancel.clone(), link.clone());
        let opened = self.open_stream(move || {
            on_cancel.cancel();
            its_link.cancel();
        });
        let (home, sender, stream) = match opened {
            Ok(opened) => opened,
            Err(refused) => return (link, refused),
        };
        if self.hooked.count() >= HOOKED_TRACES_MAX {
            sender.finish(Err(NodeError::Busy { pool: "hooks", queue: HOOKED_TRACES_MAX }));
            return (link, stream);
        }
        self.hooked.start(sender, move |sender| {
            home.run_trace(request, cancel, sender, Some((Arc::new(host), arrived)));
        });
        (link, stream)
    }

    /// A stream of an open home; one with the error alone where it is closed.
    fn open_stream(
        &self,
        on_cancel: impl Fn() + Send + Sync + 'static,
    ) -> Result<(Arc<OpenHome>, ByteSender, ByteStream), ByteStream> {
        let (sender, stream) = stream::channel(on_cancel);
        // Under the lock that closing takes first, so that no stream begins behind its back.
        let mut running = self.running.lock();
        match self.home() {
            Ok(home) => {
                running.retain(Canceller::is_live);
                running.push(stream.canceller());
                Ok((home, sender, stream))
            }
            Err(error) => {
                sender.finish(Err(error));
                Err(stream)
            }
        }
    }

    /// Tells what happened to chain and pool after the first `after` events since the node was opened:
    /// `{"next":…,"missed":…,"events":[…]}` with events `["added",number,hash]`, `["removed",number,hash]` and
    /// `["transaction",hash]`. Where nothing did yet, waits if `wait` is set. The callback is called exactly once.
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
        self.scripts.close();
        self.hooked.wait();
        home.snapshot_if_moved(self.metrics.log());
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

/// A trace that is to be made from the block itself.
struct Live {
    home: Arc<OpenHome>,
    request: TraceRequest,
    /// Whose it is: clients take turns.
    client: Arc<str>,
    cancel: Cancel,
    sender: ByteSender,
    heavy: Submitter,
    memory: Arc<Memory>,
}

impl Live {
    /// Queues it; refused where memory is short or the queue is full, and where it has waited too long.
    fn start(self) {
        let Self { home, request, client, cancel, sender, heavy, memory } = self;
        if let Err(error) = memory.admit() {
            return sender.finish(Err(error));
        }
        let order = Order { client, kind: Kind::Trace, cancel: cancel.clone() };
        heavy.submit_for(order, move |go| match go {
            Ok(()) if cancel.is_cancelled() => sender.finish(Err(ops::given_up(&home))),
            Ok(()) => home.run_trace(request, cancel, sender, None),
            Err(error) => sender.finish(Err(error)),
        });
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.close();
    }
}
