//! Makes the commits of valid payloads ready behind their answers, so that a fork choice has little left to do.

use hearth_chain::ExecutedBlock;
use hearth_home::{Home, NodeError};
use parking_lot::{Condvar, Mutex};
use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
    thread::JoinHandle,
    time::Duration,
};

/// Payloads that wait to be made ready. Of more, the oldest are left to the fork choice.
const WAITING_MAX: usize = 4;

/// How often the thread looks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Waiting {
    payloads: VecDeque<Arc<ExecutedBlock>>,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

/// The thread that makes commits ready.
pub(crate) struct Readier {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Readier {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`NodeError::Internal`] where the system gives none.
    pub fn start(home: &Arc<Home>) -> Result<Self, NodeError> {
        let shared = Arc::<Shared>::default();
        let (of_thread, home) = (shared.clone(), Arc::downgrade(home));
        let thread = std::thread::Builder::new()
            .name("payload-ready".to_owned())
            .spawn(move || work(&of_thread, &home))
            .map_err(|error| NodeError::Internal { message: format!("no thread: {error}") })?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Has a payload made ready.
    pub fn add(&self, payload: Arc<ExecutedBlock>) {
        let mut waiting = self.shared.waiting.lock();
        if waiting.payloads.len() == WAITING_MAX {
            waiting.payloads.pop_front();
        }
        waiting.payloads.push_back(payload);
        self.shared.changed.notify_one();
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

impl Drop for Readier {
    fn drop(&mut self) {
        self.close();
    }
}

fn work(shared: &Shared, home: &Weak<Home>) {
    let mut waiting = shared.waiting.lock();
    while !waiting.closed {
        let Some(payload) = waiting.payloads.pop_front() else {
            shared.changed.wait_for(&mut waiting, LOOK_EVERY);
            continue;
        };
        drop(waiting);
        if let Some(home) = home.upgrade() {
            // A store that failed says so to the fork choice, which commits the block or fails the same way.
            let _ = home.chain().make_ready(&payload);
        }
        drop(payload);
        waiting = shared.waiting.lock();
    }
}
