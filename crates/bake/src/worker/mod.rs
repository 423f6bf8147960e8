//! Who bakes when: the queue, the threads, catch-up, gaps and retries.

mod failures;
mod inbox;
mod notice;
mod options;
mod planner;
mod progress;
mod range;
mod shared;
mod source;
#[cfg(test)]
mod tests;

pub use notice::Notice;
pub use options::{
    BakeOptions, DISK_FULL_PAUSE, KEEP_EVERY, MAX_FAILED_HEIGHTS, MAX_FINISHED_AHEAD, MAX_RANGES,
    MAX_RETRIES, RETRY_AFTER, SCAN_GAPS, SCAN_HEIGHTS,
};
pub use range::{MAX_RANGE_FAILURES, RangeControl, RangeFailure, RangeProgress};
pub use source::{BakeFailure, BakeSource, Baked};

use crate::BakeError;
use hearth_metrics::BakeMetrics;
use hearth_primitives::Height;
use parking_lot::Mutex;
use shared::Shared;
use std::{sync::Arc, thread::JoinHandle};

/// Stack of a thread that bakes, in bytes. The EVM's own frames live on the heap; 1,024 nested
/// calls still need room.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// The threads that bake, and the door to them.
pub struct BakeWorker {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl BakeWorker {
    /// Starts the threads; `notice` is called with what an operator should know, from any of them.
    ///
    /// # Errors
    /// [`BakeError::Thread`]; [`BakeError::Io`] where the first start of a home cannot be noted.
    pub fn start(
        source: Arc<dyn BakeSource>,
        options: BakeOptions,
        metrics: BakeMetrics,
        notice: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Result<Self, BakeError> {
        let count = options.workers.max(1);
        let shared = Arc::new(Shared::new(source, options, metrics, Box::new(notice))?);
        let worker = Self { shared, threads: Mutex::default() };
        for index in 0..count {
            let shared = worker.shared.clone();
            let builder = std::thread::Builder::new().name(format!("hearth-bake-{index}"));
            match builder.stack_size(STACK_BYTES).spawn(move || shared.run()) {
                Ok(thread) => worker.threads.lock().push(thread),
                Err(error) => {
                    worker.stop();
                    return Err(BakeError::Thread(error));
                }
            }
        }
        Ok(worker)
    }

    /// A block was committed. Never waits: where the queue is full, the height is dropped, counted,
    /// and found again by the gap scanner.
    pub fn committed(&self, height: Height) {
        self.shared.inbox.committed(height);
    }

    /// The blocks above a height are gone.
    pub fn unwound(&self, to: Height) {
        self.shared.inbox.unwound(to);
    }

    /// Bakes the heights `from` to `to`, both included, beside what is baked anyway. `None` where
    /// [`MAX_RANGES`] wait already, where `from` is above `to`, and once the worker stops.
    pub fn bake_range(&self, from: Height, to: Height) -> Option<Arc<RangeControl>> {
        self.shared.bake_range(from, to)
    }

    /// Ends what is being baked, within a second, and makes durable what was baked. A second call
    /// does nothing.
    pub fn stop(&self) {
        self.shared.stop();
        let threads = std::mem::take(&mut *self.threads.lock());
        if threads.is_empty() {
            return;
        }
        for thread in threads {
            // A thread that panicked outside of a block has nothing left to say.
            let _ = thread.join();
        }
        self.shared.close();
    }
}

impl Drop for BakeWorker {
    fn drop(&mut self) {
        self.stop();
    }
}
