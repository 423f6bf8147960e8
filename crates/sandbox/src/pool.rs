//! The pool of child processes, and their leases.

use crate::child::{Child, ChildFlags, Program};
use crate::error::{ANSWER_GRACE, WATCH_PERIOD};
use crate::history::History;
use crate::keeper;
use crate::lease::{Lease, Verdict};
use crate::queue::{Holder, Queue, Supply, Waiting};
use crate::sync::{Condvar, Mutex, mpsc, thread};
use crate::{Ended, Layers, Refused};
use hearth_metrics::{Level, Log, LogEntry, Registry, ScriptKill, ScriptMetrics, ScriptOutcome};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// Options of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The program of the child processes.
    pub program: Program,
    /// Maximum number of child processes; at least 1.
    pub workers: usize,
    /// Maximum number of waiting requests.
    pub queue: usize,
    /// Memory that a script may take, in bytes; what the process itself takes comes on top.
    pub memory_bytes: u64,
    /// Maximum size of a message of a child, in bytes.
    pub output_bytes: u64,
    /// Layers of confinement to try for. [`Layers::ALL`], but in tests of what holds without one.
    pub layers: Layers,
    /// Layers without which a child is given nothing to run. With any, a child that reports nothing
    /// of its confinement ([`CONFINED`](crate::CONFINED)) is refused.
    pub require: Layers,
    /// Starts one child before the first request, this long after the pool: the first request then
    /// need not wait for a process to start. `None`: children start with the first request.
    pub warm_up: Option<Duration>,
}

/// A request for children.
pub struct LeaseRequest {
    /// The client.
    pub client: Arc<str>,
    /// The script, by a hash of its text.
    pub script: u64,
    /// Children that are needed, all at once.
    pub children: usize,
    /// Until when it may wait.
    pub until: Instant,
    /// Whether its caller still waits.
    pub is_wanted: Box<dyn Fn() -> bool + Send>,
}

/// Takes what a request came to.
pub(crate) type Grant = Box<dyn FnOnce(Result<Vec<Lease>, Refused>) + Send>;

/// A pool of children.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    keeper: Mutex<Option<thread::JoinHandle<()>>>,
}

pub(crate) struct Shared {
    pub options: Options,
    pub state: Mutex<State>,
    /// Signalled when the keeper has something to do.
    pub wake: Condvar,
    pub metrics: ScriptMetrics,
    log: Log,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("options", &self.options).finish_non_exhaustive()
    }
}

/// A leased child, as the keeper sees it.
pub(crate) struct WatchedChild {
    pub process: u32,
    pub flags: Arc<ChildFlags>,
}

#[derive(Default)]
pub(crate) struct State {
    pub closed: bool,
    /// When a pool that is closed waits no longer for its leases.
    pub close_by: Option<Instant>,
    /// A child was requested: from then on the pool is full.
    pub used: bool,
    /// When one child starts even though none was requested; gone once it was started.
    pub warm_up_at: Option<Instant>,
    pub idle: Vec<Child>,
    /// Leased children, by their numbers.
    pub busy: HashMap<u64, Holder>,
    pub watched: HashMap<u64, WatchedChild>,
    /// Children that the keeper is starting.
    pub starting: usize,
    /// When it started the last ones.
    pub starts: Vec<Instant>,
    /// Killed ones that are to be reaped.
    pub dead: Vec<Child>,
    pub queue: Queue<Grant>,
    pub history: History,
    pub next_id: u64,
    /// What confines the child that reported last.
    pub layers: Option<Layers>,
}

/// Grants and refusals, which are sent once the lock is free: a receiver may call the pool again.
#[must_use]
pub(crate) struct Notices(Vec<(Grant, Result<Vec<Lease>, Refused>)>);

impl Notices {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sends them. A receiver that panics ends neither this thread nor the other receivers'
    /// requests.
    pub fn send(self) {
        for (grant, outcome) in self.0 {
            let _ = catch_unwind(AssertUnwindSafe(|| grant(outcome)));
        }
    }
}

impl Pool {
    /// A pool; its children start with the first request, one of them before it where
    /// [`Options::warm_up`] says so.
    ///
    /// # Errors
    /// [`Refused::Start`] where its thread cannot be started.
    pub fn new(options: Options, metrics: &Registry) -> Result<Self, Refused> {
        let warm_up_at = options.warm_up.and_then(|after| Instant::now().checked_add(after));
        let wake = Condvar::default();
        let shared = Arc::new(Shared {
            options,
            state: Mutex::new(State { warm_up_at, ..State::default() }),
            wake,
            metrics: ScriptMetrics::new(metrics),
            log: metrics.log().clone(),
        });
        let of_thread = shared.clone();
        let keeper = thread::Builder::new()
            .name("hearth-sandbox".to_owned())
            .spawn(move || keeper::keep(&of_thread))
            .map_err(|error| Refused::Start { reason: error.to_string() })?;
        Ok(Self { shared, keeper: Mutex::new(Some(keeper)) })
    }

    /// How it is.
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// What confines the child that reported last; `None` where none has reported yet.
    pub fn layers(&self) -> Option<Layers> {
        self.shared.state.lock().layers
    }

    /// Children that run and that no request has.
    pub fn idle(&self) -> usize {
        self.shared.state.lock().idle.len()
    }

    /// Requests children. `grant` is called exactly once, on any thread, at once where that is
    /// possible.
    pub fn request(
        &self,
        ask: LeaseRequest,
        grant: impl FnOnce(Result<Vec<Lease>, Refused>) + Send + 'static,
    ) {
        let LeaseRequest { client, script, children, until, is_wanted } = ask;
        let (workers, limit) = (self.shared.options.workers, self.shared.options.queue);
        if children > workers {
            return grant(Err(Refused::TooMany { wanted: children, workers }));
        }
        let mut state = self.shared.state.lock();
        if state.closed {
            drop(state);
            return grant(Err(Refused::Closed));
        }
        if let Some(missing) = self.shared.missing(state.layers) {
            drop(state);
            self.shared.metrics.count(ScriptOutcome::Failed);
            return grant(Err(Refused::Unconfined { missing }));
        }
        // The keeper sleeps while all are idle: one that ended since is not to be granted.
        keeper::reap(&self.shared, &mut state);
        state.next_id += 1;
        let (id, holder) = (state.next_id, Holder { client, script });
        state.used = true;
        state.queue.push(Waiting { id, holder, children, until, is_wanted, grant: Box::new(grant) });
        let mut notices = self.shared.dispatch(&mut state);
        if state.queue.len() > limit
            && let Some(excess) = state.queue.remove_excess()
        {
            self.shared.metrics.count(ScriptOutcome::Full);
            notices.0.push((excess.grant, Err(Refused::Full { queue: limit })));
        }
        self.shared.metrics.queue_depth.set_unsigned(state.queue.len() as u64);
        drop(state);
        self.shared.wake.notify_all();
        notices.send();
    }

    /// As [`Self::request`], on this thread.
    ///
    /// # Errors
    /// Why there are none.
    pub fn lease(&self, ask: LeaseRequest) -> Result<Vec<Lease>, Refused> {
        let at_most = ask.until.saturating_duration_since(Instant::now()).saturating_add(ANSWER_GRACE);
        let (sender, receiver) = mpsc::sync_channel(1);
        self.request(ask, move |outcome| drop(sender.send(outcome)));
        receiver.recv_timeout(at_most).unwrap_or_else(|error| match error {
            RecvTimeoutError::Timeout => Err(Refused::Late),
            RecvTimeoutError::Disconnected => Err(Refused::Closed),
        })
    }

    /// A child that is idle while no request waits.
    pub fn try_lease(&self, client: &Arc<str>, script: u64) -> Option<Lease> {
        let mut state = self.shared.state.lock();
        let idle = state.idle.len();
        keeper::reap(&self.shared, &mut state);
        if state.idle.len() < idle {
            // Another one is to be started.
            self.shared.wake.notify_all();
        }
        let holder = Holder { client: client.clone(), script };
        if state.queue.len() > 0 || state.closed || !state.supply(&self.shared.options).may_take(&holder, 1) {
            return None;
        }
        self.shared.grant_lease(&mut state, &holder)
    }

    /// Kills every child and ends the thread. What waits is refused. Leases that are out see their
    /// children end, and are waited for a few seconds.
    pub fn close(&self) {
        self.shared.begin_close().send();
        let keeper = self.keeper.lock().take();
        // A receiver of a grant that closes the pool may run on the keeper's own thread, which ends
        // by itself.
        if let Some(keeper) = keeper
            && keeper.thread().id() != thread::current().id()
        {
            let _ = keeper.join();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close();
    }
}

impl State {
    /// Children that there are or soon will be.
    pub fn live(&self) -> usize {
        self.idle.len() + self.busy.len() + self.starting
    }

    /// Whether one more child is to be started.
    pub fn wants_child(&self, workers: usize) -> bool {
        if self.used { self.live() < workers } else { self.warm_up_in().is_some_and(|wait| wait.is_zero()) }
    }

    /// Time until a child starts before the first request; `None` where none will.
    pub fn warm_up_in(&self) -> Option<Duration> {
        let at = self.warm_up_at.filter(|_| !self.used && self.live() == 0)?;
        Some(at.saturating_duration_since(Instant::now()))
    }

    fn supply(&self, options: &Options) -> Supply<'_> {
        Supply {
            idle: self.idle.len(),
            workers: options.workers,
            busy: &self.busy,
            history: &self.history,
            now: Instant::now(),
        }
    }
}

impl Shared {
    /// What is required of a child with these layers and does not hold.
    fn missing(&self, layers: Option<Layers>) -> Option<Layers> {
        let missing = self.options.require.without(layers?);
        (missing != Layers::NONE).then_some(missing)
    }

    /// Takes what a child reports of its confinement: logs it once, and again where it changes.
    pub fn confined(&self, layers: Layers) -> Result<(), Ended> {
        let before = self.state.lock().layers.replace(layers);
        self.metrics.confined(layers.bits());
        if before != Some(layers) {
            let absent = Layers::ALL.without(layers);
            let level = if layers.contains(Layers::SYSTEM_CALLS) { Level::Info } else { Level::Warn };
            let text = "processes of JavaScript tracers are confined";
            let entry = LogEntry::new(level, "scripts", text).text("by", layers).text("without", absent);
            self.log.add(entry);
        }
        self.missing(Some(layers)).map_or(Ok(()), |missing| Err(Ended::Unconfined { missing }))
    }

    /// Says that a child tried a system call that kills.
    pub fn report_forbidden(&self) {
        let text = "a process of JavaScript tracers was killed for a system call that none makes: its script may have broken out of V8";
        self.log.add(LogEntry::new(Level::Error, "scripts", text));
    }

    /// Refuses requests from now on, and those that wait.
    pub fn begin_close(&self) -> Notices {
        let mut state = self.state.lock();
        state.closed = true;
        let waiting = state.queue.take_all();
        drop(state);
        self.wake.notify_all();
        Notices(waiting.into_iter().map(|waiting| (waiting.grant, Err(Refused::Closed))).collect())
    }

    /// Grants idle children to the next requests in the queue.
    pub fn dispatch(self: &Arc<Self>, state: &mut State) -> Notices {
        let mut granted = Vec::new();
        loop {
            let State { idle, busy, history, queue, .. } = &mut *state;
            let (idle, workers, now) = (idle.len(), self.options.workers, Instant::now());
            let Some(next) = queue.next(&Supply { idle, workers, busy, history, now }) else { break };
            let leases = (0..next.children).filter_map(|_| self.grant_lease(state, &next.holder)).collect();
            self.metrics.count(ScriptOutcome::Granted);
            granted.push((next.grant, Ok(leases)));
        }
        self.metrics.queue_depth.set_unsigned(state.queue.len() as u64);
        Notices(granted)
    }

    fn grant_lease(self: &Arc<Self>, state: &mut State, holder: &Holder) -> Option<Lease> {
        let child = state.idle.pop()?;
        let watched = WatchedChild { process: child.process.id(), flags: child.flags.clone() };
        state.busy.insert(child.id, holder.clone());
        state.watched.insert(child.id, watched);
        state.history.served(&holder.client, holder.script);
        self.wake.notify_all();
        Some(Lease::new(child, holder.clone(), self.clone()))
    }

    /// Takes a child back.
    pub fn return_lease(self: &Arc<Self>, mut child: Child, holder: &Holder, verdict: Verdict) {
        let unused = verdict == Verdict::Unused;
        let clean = unused || (verdict == Verdict::Clean && child.channel.is_quiet());
        if !clean {
            child.process.kill();
            self.metrics.killed(match &verdict {
                Verdict::Late => ScriptKill::Deadline,
                Verdict::Unwanted => ScriptKill::Unwanted,
                Verdict::Ended(Ended::Memory { .. }) => ScriptKill::Memory,
                Verdict::Ended(Ended::Output { .. }) => ScriptKill::Output,
                Verdict::Ended(Ended::Exited | Ended::Protocol | Ended::Unconfined { .. })
                | Verdict::Clean
                | Verdict::Unused => ScriptKill::Ended,
            });
        }
        let mut state = self.state.lock();
        state.busy.remove(&child.id);
        state.watched.remove(&child.id);
        match verdict {
            Verdict::Clean => state.history.completed(holder.script),
            Verdict::Unwanted | Verdict::Unused => {}
            Verdict::Late | Verdict::Ended(_) => state.history.overran(holder.script, Instant::now()),
        }
        if clean && !state.closed {
            state.idle.push(child);
        } else {
            child.process.kill();
            state.dead.push(child);
        }
        if state.closed {
            // The keeper may be gone, if this lease came back late.
            keeper::reap(self, &mut state);
        }
        let notices = self.dispatch(&mut state);
        drop(state);
        self.wake.notify_all();
        notices.send();
    }

    /// Refuses requests that waited too long or were given up.
    pub fn refuse_over(&self, state: &mut State) -> Notices {
        let now = Instant::now();
        let over = state.queue.take_over(now);
        let refused = over.into_iter().map(|waiting| {
            let late = waiting.until <= now;
            self.metrics.count(if late { ScriptOutcome::Late } else { ScriptOutcome::Unwanted });
            (waiting.grant, Err(if late { Refused::Late } else { Refused::Unwanted }))
        });
        Notices(refused.collect())
    }

    /// Refuses everything that waits: no child can be started.
    pub fn refuse_all(&self, state: &mut State, reason: &str) -> Notices {
        let refuse = |waiting: Waiting<Grant>| {
            self.metrics.count(ScriptOutcome::Failed);
            (waiting.grant, Err(Refused::Start { reason: reason.to_owned() }))
        };
        Notices(state.queue.take_all().into_iter().map(refuse).collect())
    }

    /// How long the keeper may sleep.
    pub fn poll_timeout(&self, state: &State) -> Option<Duration> {
        let missing = state.used && state.live() < self.options.workers;
        let busy = missing || !state.busy.is_empty() || !state.dead.is_empty() || state.queue.len() > 0;
        let deadline =
            state.queue.first_deadline().map(|until| until.saturating_duration_since(Instant::now()));
        if busy { Some(deadline.unwrap_or(WATCH_PERIOD).min(WATCH_PERIOD)) } else { state.warm_up_in() }
    }
}
