//! A fixed thread pool with a bounded queue in which clients take turns. Each kind of work has a
//! maximum number of threads, so that none takes them all, and each client has a share of them. A
//! job that waits too long, or finds the queue full, is refused; a panic stays inside its job. A
//! job that waits for its reader leaves its slot to another one meanwhile.

mod slots;

use crate::{NodeError, config::WorkerConfig};
use hearth_metrics::Gauge;
use hearth_primitives::FairQueue;
use hearth_priority::lower_priority;
use hearth_tracers::Cancel;
use parking_lot::{Condvar, Mutex};
use slots::{JobSlot, Slots};
use std::{
    cell::RefCell,
    num::{NonZeroU32, NonZeroUsize},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// Called with `Ok` on a thread of the pool or, on any thread, with the reason why it does not run;
/// exactly once.
type Job = Box<dyn FnOnce(Result<(), NodeError>) + Send>;

/// Stack of a worker, in bytes. The EVM's own frames are on the heap; 1,024 nested calls still need
/// stack.
const WORKER_STACK_BYTES: usize = 16 * 1024 * 1024;

/// What a thread of a pool does until the pool is closed.
type Work = fn(&Arc<Shared>);

/// What a job is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Executes transactions of blocks, or calls, under a tracer.
    Trace,
    /// Executes a call without a trace.
    Simulation,
    /// Searches, proofs, sent transactions: anything else.
    Other,
}

/// Number of kinds.
const KINDS: usize = 3;

/// How many jobs of each kind run at the same time, and how long one waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Traces; `None` for as many as there are threads.
    pub traces: Option<NonZeroUsize>,
    /// Simulations; `None` for as many as there are threads.
    pub simulations: Option<NonZeroUsize>,
    /// Longest wait for a thread; `None` forever.
    pub wait: Option<Duration>,
    /// Nice value of the threads; 0: that of who starts them.
    pub nice: i32,
    /// Traces that run in addition, at the lowest priority, while no thread is free for another
    /// trace.
    pub low_traces: usize,
    /// The part of the slots that one client may have, in millionths; `None` and 1,000,000 set no
    /// share. Every client may have one.
    pub client_share: Option<NonZeroU32>,
    /// Most jobs that wait for their readers without a slot, and as many of low priority; a further
    /// one keeps its slot.
    pub parked: usize,
}

/// Nice value of the threads of low priority.
const LOW_NICE: i32 = 19;

impl Limits {
    /// By kind.
    fn permits(&self) -> [usize; KINDS] {
        [self.traces, self.simulations, None].map(|limit| limit.map_or(usize::MAX, NonZeroUsize::get))
    }
}

/// Whose a job is, and what.
#[derive(Clone, Debug)]
pub struct Order {
    /// Whose it is: clients take turns.
    pub client: Arc<str>,
    /// What it is about.
    pub kind: Kind,
    /// Set once the result is no longer needed.
    pub cancel: Cancel,
}

struct Waiting {
    job: Job,
    /// When it has waited too long.
    until: Option<Instant>,
    cancel: Cancel,
}

struct Queue {
    /// By kind.
    lines: [FairQueue<Waiting>; KINDS],
    slots: Slots,
    /// The kind that is next.
    next: usize,
    closed: bool,
}

impl Queue {
    fn new(limits: &Limits, config: WorkerConfig) -> Self {
        let lines = std::array::from_fn(|_| FairQueue::new(config.queue));
        Self { lines, slots: Slots::new(config.threads, limits), next: 0, closed: false }
    }

    fn len(&self) -> usize {
        self.lines.iter().map(FairQueue::len).sum()
    }

    /// Takes the next job in turn whose kind may have one more thread and whose client may have one
    /// more slot.
    fn take(&mut self) -> Option<(JobSlot, Job)> {
        for kind in (self.next..KINDS).chain(0..self.next) {
            if self.slots.has_room(kind)
                && let Some(taken) = self.take_kind(kind, false)
            {
                self.next = (kind + 1) % KINDS;
                return Some(taken);
            }
        }
        None
    }

    /// The next trace for a thread of low priority. Once the pool closes, the remaining threads run
    /// what is left.
    fn take_low(&mut self) -> Option<(JobSlot, Job)> {
        if self.closed || self.slots.has_low_room() {
            self.take_kind(Kind::Trace as usize, true)
        } else {
            None
        }
    }

    fn take_kind(&mut self, kind: usize, low: bool) -> Option<(JobSlot, Job)> {
        let slots = &self.slots;
        let (client, waiting) = self.lines[kind].pop_of(|client| slots.may_run(client, kind))?;
        let place = JobSlot { client, kind, low };
        self.slots.begin(&place);
        Some((place, waiting.job))
    }

    /// Takes out what has waited too long.
    fn take_late(&mut self, now: Instant) -> Vec<Waiting> {
        let late = |waiting: &Waiting| waiting.until.is_some_and(|until| until <= now);
        self.lines.iter_mut().flat_map(|line| line.extract(late)).collect()
    }

    /// When the first of those that wait has waited too long.
    fn first_deadline(&self) -> Option<Instant> {
        self.lines.iter().flat_map(FairQueue::firsts).filter_map(|waiting| waiting.until).min()
    }

    /// Makes room for one more job: removes the cancelled ones, or else a job of the client with
    /// the most.
    fn make_room(&mut self, client: &Arc<str>) -> Vec<Waiting> {
        let unwanted = |waiting: &Waiting| waiting.cancel.is_cancelled();
        let taken: Vec<_> = self.lines.iter_mut().flat_map(|line| line.extract(unwanted)).collect();
        if !taken.is_empty() {
            return taken;
        }
        let longest = self.lines.iter_mut().max_by_key(|line| line.most());
        longest.and_then(|line| line.make_room_for(client)).into_iter().collect()
    }
}

struct Shared {
    name: &'static str,
    limit: usize,
    wait: Option<Duration>,
    nice: i32,
    queue: Mutex<Queue>,
    parked: Option<Gauge>,
    /// Signalled when a thread may have something to do.
    ready: Condvar,
    /// The same for threads that stand in for those of jobs that wait for their readers.
    spare: Condvar,
    /// The same for threads of low priority.
    low: Condvar,
    /// Signalled when something begins to wait, for who watches deadlines.
    waits: Condvar,
}

impl Shared {
    fn busy(&self) -> NodeError {
        NodeError::Busy { pool: self.name, queue: self.limit }
    }

    /// Wakes threads that may have something to do.
    fn wake(&self, queue: &Queue) {
        if queue.len() == 0 {
            return;
        }
        self.ready.notify_one();
        if queue.slots.parked() > 0 {
            self.spare.notify_one();
        }
        if queue.slots.has_low_room() && !queue.lines[Kind::Trace as usize].is_empty() {
            self.low.notify_one();
        }
    }

    fn submit(&self, order: Order, job: Job) {
        let mut queue = self.queue.lock();
        let mut refused = Vec::new();
        if queue.closed {
            drop(queue);
            return job(Err(NodeError::Closed));
        }
        if queue.len() >= self.limit {
            refused = queue.make_room(&order.client);
            if refused.is_empty() {
                drop(queue);
                return job(Err(self.busy()));
            }
        }
        let Order { client, kind, cancel } = order;
        let until = self.wait.map(|wait| Instant::now() + wait);
        let was_empty = queue.len() == 0;
        let pushed = queue.lines[kind as usize].push(&client, Waiting { job, until, cancel });
        self.wake(&queue);
        drop(queue);
        if let Err(waiting) = pushed {
            // Not reached, since room was made above for one more; the job is answered in any case.
            refused.push(waiting);
        }
        if was_empty && self.wait.is_some() {
            self.waits.notify_one();
        }
        for waiting in refused {
            let unwanted = waiting.cancel.is_cancelled();
            refuse(waiting.job, if unwanted { NodeError::Cancelled } else { self.busy() });
        }
    }
}

/// Calls a job with the reason why it does not run.
fn refuse(job: Job, why: NodeError) {
    let _ = catch_unwind(AssertUnwindSafe(|| job(Err(why))));
}

/// Threads that run jobs: those of one client in the order they came, clients in turn.
pub struct WorkerPool {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl WorkerPool {
    /// Starts threads that take whatever comes.
    pub fn new(name: &'static str, config: WorkerConfig) -> Result<Self, NodeError> {
        Self::with_limits(name, config, &Limits::default(), None)
    }

    /// Starts the threads. `parked` gets the number of jobs that wait for their readers.
    pub fn with_limits(
        name: &'static str,
        config: WorkerConfig,
        limits: &Limits,
        parked: Option<Gauge>,
    ) -> Result<Self, NodeError> {
        let queue = Mutex::new(Queue::new(limits, config));
        let (ready, spare, low, waits) = Default::default();
        let (limit, wait, nice) = (config.queue, limits.wait, limits.nice);
        let pool = Self {
            shared: Arc::new(Shared { name, limit, wait, nice, queue, parked, ready, spare, low, waits }),
            threads: Mutex::default(),
        };
        let low = if limits.low_traces > 0 { limits.low_traces + limits.parked } else { 0 };
        let groups: [(&str, usize, Work); 3] = [
            ("", config.threads, |shared| run(shared, shared.nice, &shared.ready, Queue::take)),
            ("spare-", limits.parked, |shared| run(shared, shared.nice, &shared.spare, Queue::take)),
            ("low-", low, |shared| run(shared, LOW_NICE, &shared.low, Queue::take_low)),
        ];
        let started = groups.iter().try_for_each(|(group, threads, work)| {
            (0..*threads).try_for_each(|index| pool.start(&format!("{group}{index}"), *work))
        });
        let watched = started.and_then(|()| limits.wait.map_or(Ok(()), |_| pool.start("clock", watch)));
        match watched {
            Ok(()) => Ok(pool),
            Err(error) => {
                pool.close();
                Err(error)
            }
        }
    }

    fn start(&self, what: &str, work: Work) -> Result<(), NodeError> {
        let shared = self.shared.clone();
        let builder = std::thread::Builder::new().name(format!("hearth-{}-{what}", shared.name));
        let handle = builder.stack_size(WORKER_STACK_BYTES).spawn(move || work(&shared));
        let handle =
            handle.map_err(|e| NodeError::Internal { message: format!("cannot start a thread: {e}") })?;
        self.threads.lock().push(handle);
        Ok(())
    }

    /// Queues a job without a client; refused if the queue is full or the pool is closed.
    pub fn submit(&self, job: impl FnOnce() + Send + 'static) -> Result<(), NodeError> {
        self.submitter().submit(job)
    }

    /// As [`Submitter::submit_with`].
    ///
    /// # Errors
    /// The value, and why the job was refused.
    pub fn submit_with<T: Send + 'static>(
        &self,
        value: T,
        job: impl FnOnce(T) + Send + 'static,
    ) -> Result<(), (T, NodeError)> {
        self.submitter().submit_with(value, job)
    }

    /// What queues jobs without keeping the pool.
    pub fn submitter(&self) -> Submitter {
        Submitter { shared: self.shared.clone() }
    }

    /// Lets queued jobs finish, then ends the threads. A second call does nothing.
    pub fn close(&self) {
        self.shared.queue.lock().closed = true;
        let shared = &*self.shared;
        for condition in [&shared.ready, &shared.spare, &shared.low, &shared.waits] {
            condition.notify_all();
        }
        let current = std::thread::current().id();
        for handle in std::mem::take(&mut *self.threads.lock()) {
            if handle.thread().id() != current {
                let _ = handle.join();
            }
        }
        let left: Vec<_> = {
            let mut queue = shared.queue.lock();
            queue.lines.iter_mut().flat_map(|line| line.extract(|_| true)).collect()
        };
        left.into_iter().for_each(|waiting| refuse(waiting.job, NodeError::Closed));
    }
}

/// Queues jobs of a pool, for those that outlive the call.
#[derive(Clone)]
pub struct Submitter {
    shared: Arc<Shared>,
}

impl Submitter {
    /// As [`WorkerPool::submit`].
    pub fn submit(&self, job: impl FnOnce() + Send + 'static) -> Result<(), NodeError> {
        self.submit_with((), |()| job()).map_err(|((), error)| error)
    }

    /// Queues a job with what it works on, which a refused job returns.
    ///
    /// # Errors
    /// The value, and why the job was refused.
    pub fn submit_with<T: Send + 'static>(
        &self,
        value: T,
        job: impl FnOnce(T) + Send + 'static,
    ) -> Result<(), (T, NodeError)> {
        // A job that is refused at once reports so here. In a pool whose jobs are all submitted so,
        // none is refused later.
        let refused = Arc::new(Mutex::new(None));
        let refusal = refused.clone();
        let order = Order { client: Arc::from(""), kind: Kind::Other, cancel: Cancel::new() };
        self.submit_for(order, move |go| match go {
            Ok(()) => job(value),
            Err(error) => *refusal.lock() = Some((value, error)),
        });
        let refused = refused.lock().take();
        refused.map_or(Ok(()), Err)
    }

    /// Queues a job. It is called with the refusal on the caller's thread if it is refused at once,
    /// and on any thread if it makes room for others or has waited too long.
    pub fn submit_for(&self, order: Order, job: impl FnOnce(Result<(), NodeError>) + Send + 'static) {
        self.shared.submit(order, Box::new(job));
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        self.close();
    }
}

thread_local! {
    /// Gives the slot of this thread's job to another one, until the returned value is dropped.
    /// `None` if this is no thread of a pool, or as many jobs are parked as may be: the job keeps
    /// its slot. Waits for the lock of the pool only.
    static CURRENT: RefCell<Option<(Arc<Shared>, JobSlot)>> = const { RefCell::new(None) };
}

/// A job that waits without a slot; dropped, it has its slot again.
pub struct Parked(Arc<Shared>, JobSlot);

/// Gives the slot of this thread's job to another one, until the returned value is dropped. `None`
/// if this is no thread of a pool, or as many jobs are parked as may be: the job keeps its slot.
/// Waits for the lock of the pool only.
pub fn park() -> Option<Parked> {
    let (shared, place) = CURRENT.with(|current| current.borrow().clone())?;
    let mut queue = shared.queue.lock();
    if !queue.slots.park(&place) {
        return None;
    }
    // Counted before any job can run because of it, so that such a job sees the count.
    if let Some(parked) = &shared.parked {
        parked.add(1);
    }
    shared.wake(&queue);
    drop(queue);
    Some(Parked(shared, place))
}

impl Drop for Parked {
    fn drop(&mut self) {
        let Self(shared, place) = self;
        shared.queue.lock().slots.unpark(place);
        if let Some(parked) = &shared.parked {
            parked.add(-1);
        }
    }
}

/// Runs jobs until the pool is closed and nothing is left that may run.
fn run(shared: &Arc<Shared>, nice: i32, ready: &Condvar, take: fn(&mut Queue) -> Option<(JobSlot, Job)>) {
    lower_priority(nice);
    let mut queue = shared.queue.lock();
    loop {
        let Some((place, job)) = take(&mut queue) else {
            if queue.closed {
                // What waits for its kind is run by the thread whose job is of that kind.
                return;
            }
            ready.wait(&mut queue);
            continue;
        };
        // There may be something for another thread too.
        shared.wake(&queue);
        drop(queue);
        CURRENT.set(Some((shared.clone(), place.clone())));
        // Jobs answer their caller themselves, panics included; this only keeps the thread alive.
        let _ = catch_unwind(AssertUnwindSafe(|| job(Ok(()))));
        CURRENT.set(None);
        queue = shared.queue.lock();
        queue.slots.end(&place);
        // This thread takes one of the waiting jobs; another may be of the kind, or of the client,
        // that has one more free slot now.
        shared.wake(&queue);
    }
}

/// Refuses jobs that have waited too long, until the pool is closed.
fn watch(shared: &Arc<Shared>) {
    let mut queue = shared.queue.lock();
    while !queue.closed {
        match queue.first_deadline() {
            None => shared.waits.wait(&mut queue),
            Some(until) => drop(shared.waits.wait_until(&mut queue, until)),
        }
        let late = queue.take_late(Instant::now());
        if late.is_empty() {
            continue;
        }
        drop(queue);
        let waited_ms = shared.wait.map_or(0, |wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        for waiting in late {
            refuse(waiting.job, NodeError::WaitedTooLong { pool: shared.name, waited_ms });
        }
        queue = shared.queue.lock();
    }
}

/// Runs a closure and turns a panic into [`NodeError::Internal`].
pub fn guarded<T>(work: impl FnOnce() -> Result<T, NodeError>) -> Result<T, NodeError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|s| s.to_string());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(NodeError::Internal { message: text.unwrap_or_else(|| "a job panicked".into()) })
    })
}

#[cfg(test)]
mod tests;
