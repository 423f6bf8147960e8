//! Threads for traces under scripts, one each. Their number is bounded by the number of processes
//! and of waiting requests.

use hearth_home::{ByteSender, NodeError};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;

/// Stack of a thread, in bytes. The EVM's own frames are on the heap; 1,024 nested calls still need
/// stack.
const STACK_BYTES: usize = 16 << 20;

/// The threads that run.
#[derive(Default)]
pub struct Threads(Arc<RunningThreads>);

#[derive(Default)]
struct RunningThreads {
    count: Mutex<usize>,
    ended: Condvar,
}

/// One thread, until this is dropped.
struct ThreadCount(Arc<RunningThreads>);

impl ThreadCount {
    fn new(running: &Arc<RunningThreads>) -> Self {
        *running.count.lock() += 1;
        Self(running.clone())
    }
}

impl Drop for ThreadCount {
    fn drop(&mut self) {
        *self.0.count.lock() -= 1;
        self.0.ended.notify_all();
    }
}

impl Threads {
    /// The same threads.
    pub fn same(&self) -> Self {
        Self(self.0.clone())
    }

    /// How many run.
    pub fn count(&self) -> usize {
        *self.0.count.lock()
    }

    /// Runs work that ends a stream; refused into the stream where no thread can be had.
    pub fn start(&self, sender: ByteSender, work: impl FnOnce(ByteSender) + Send + 'static) {
        let counted = ThreadCount::new(&self.0);
        // In a slot, so that it comes back where there is no thread.
        let slot = Arc::new(Mutex::new(Some(sender)));
        let of_thread = slot.clone();
        let builder = std::thread::Builder::new().name("hearth-js".to_owned()).stack_size(STACK_BYTES);
        let started = builder.spawn(move || {
            let sender = of_thread.lock().take();
            if let Some(sender) = sender {
                work(sender);
            }
            drop(counted);
        });
        if let Err(error) = started
            && let Some(sender) = slot.lock().take()
        {
            let message = format!("cannot start a thread: {error}");
            sender.finish(Err(NodeError::Internal { message }));
        }
    }

    /// Waits until none runs.
    pub fn wait(&self) {
        let mut count = self.0.count.lock();
        while *count > 0 {
            self.0.ended.wait(&mut count);
        }
    }
}
