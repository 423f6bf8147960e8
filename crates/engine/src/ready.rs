//! Makes the commits of valid payloads ready on a thread of its own, so that a fork choice has
//! little left to do.

use hearth_chain::ExecutedBlock;
use hearth_home::{Home, NodeError};
use parking_lot::{Condvar, Mutex};
use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// Payloads that wait to be made ready. Of more, the oldest are left to the fork choice.
const WAITING_MAX: usize = 4;

/// Longest time that the answer to a payload waits for its commit to be ready: most are ready by
/// then, so that the fork choice behind the answer finds nothing left to wait for. A disk that is
/// slower than this delays the fork choice alone.
const READY_WAIT_MAX: Duration = Duration::from_millis(10);

/// How often the thread looks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Waiting {
    /// Payloads with the numbers in which they came.
    payloads: VecDeque<(u64, Arc<ExecutedBlock>)>,
    /// Number of the last one that came, and of the last one that is done.
    came: u64,
    done: u64,
    closed: bool,
}

#[derive(Default)]
struct ReadyState {
    waiting: Mutex<Waiting>,
    /// A payload came, or the thread is to end.
    changed: Condvar,
    /// A payload is done.
    made: Condvar,
}

/// The thread that prepares commits of valid payloads.
pub(crate) struct ReadyThread {
    shared: Arc<ReadyState>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl ReadyThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`NodeError::Internal`] where the system gives none.
    pub fn start(home: &Arc<Home>) -> Result<Self, NodeError> {
        let shared = Arc::<ReadyState>::default();
        let (of_thread, home) = (shared.clone(), Arc::downgrade(home));
        let thread = std::thread::Builder::new()
            .name("payload-ready".to_owned())
            .spawn(move || work(&of_thread, &home))
            .map_err(|error| NodeError::Internal { message: format!("no thread: {error}") })?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Has a payload made ready, and waits for that, but not long: see [`READY_WAIT_MAX`].
    pub fn add(&self, payload: Arc<ExecutedBlock>) {
        let mut waiting = self.shared.waiting.lock();
        if waiting.payloads.len() == WAITING_MAX {
            waiting.payloads.pop_front();
        }
        waiting.came += 1;
        let number = waiting.came;
        waiting.payloads.push_back((number, payload));
        self.shared.changed.notify_one();
        let until = Instant::now() + READY_WAIT_MAX;
        while waiting.done < number
            && !waiting.closed
            && !self.shared.made.wait_until(&mut waiting, until).timed_out()
        {}
    }

    /// Ends the thread.
    pub fn close(&self) {
        self.shared.waiting.lock().closed = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

impl Drop for ReadyThread {
    fn drop(&mut self) {
        self.close();
    }
}

fn work(shared: &ReadyState, home: &Weak<Home>) {
    let mut waiting = shared.waiting.lock();
    while !waiting.closed {
        let Some((number, payload)) = waiting.payloads.pop_front() else {
            shared.changed.wait_for(&mut waiting, LOOK_EVERY);
            continue;
        };
        drop(waiting);
        if let Some(home) = home.upgrade() {
            // A store that failed says so to the fork choice, which commits the block or fails the
            // same way.
            let _ = home.chain().make_ready(&payload);
        }
        drop(payload);
        waiting = shared.waiting.lock();
        waiting.done = number;
        shared.made.notify_all();
    }
}
