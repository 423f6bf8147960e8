//! A thread that hands full buffers to the operating system while puts fill the next ones. Copying
//! into the page cache and starting the device take about as long as making records does, and
//! either may wait for the file system: a put waits for neither, unless it is several buffers
//! ahead.

use crate::segment::OpenSegment;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The thread of a store, if it has one.
#[derive(Debug)]
pub(crate) struct Handover {
    shared: Arc<HandoverShared>,
    running: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct HandoverShared {
    queue: Mutex<HandoverQueue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct HandoverQueue {
    /// Segments whose buffers are full; each at most once.
    due: VecDeque<Arc<OpenSegment>>,
    ended: bool,
}

impl Handover {
    /// Starts the thread, or none.
    pub fn new(threaded: bool) -> std::io::Result<Self> {
        let shared = Arc::<HandoverShared>::default();
        let thread = match threaded {
            true => {
                let shared = shared.clone();
                let builder = std::thread::Builder::new().name("littable-write".to_owned());
                Some(builder.spawn(move || shared.run())?)
            }
            false => None,
        };
        Ok(Self { shared, running: AtomicBool::new(threaded), thread: Mutex::new(thread) })
    }

    /// Has a segment's buffer written soon; false if no thread is left to do it.
    pub fn take(&self, open: &Arc<OpenSegment>) -> bool {
        if !self.running.load(Ordering::Acquire) {
            return false;
        }
        if !open.queued.swap(true, Ordering::AcqRel) {
            self.shared.queue.lock().due.push_back(open.clone());
            self.shared.changed.notify_one();
        }
        true
    }

    /// Ends the thread after what it is writing, and waits for it. What is left to write is written
    /// by the threads that put it.
    pub fn stop(&self) {
        self.running.store(false, Ordering::Release);
        self.shared.queue.lock().ended = true;
        self.shared.changed.notify_all();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            // A panic there is no reason for one here.
            let _ = thread.join();
        }
    }
}

impl Drop for Handover {
    fn drop(&mut self) {
        self.stop();
    }
}

impl HandoverShared {
    fn run(&self) {
        loop {
            let open = {
                let mut queue = self.queue.lock();
                loop {
                    if queue.ended {
                        queue.due.clear();
                        return;
                    }
                    match queue.due.pop_front() {
                        Some(open) => break open,
                        None => self.changed.wait(&mut queue),
                    }
                }
            };
            // Before the buffer is taken: what fills it from here on has it queued again.
            open.queued.store(false, Ordering::Release);
            // What fails stays in the buffer. The put that finds too much of it there tries again,
            // and says why it fails.
            let _ = open.write_out();
        }
    }
}
