//! Threads for traces under scripts, one each. Their number is bounded by the number of processes
//! and of waiting requests.

use hearth_home::{ByteSender, NodeError};
use hearth_priority::lower_priority;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;

/// Stack of a thread, in bytes. The EVM's own frames are on the heap; 1,024 nested calls still need
/// stack.
const STACK_BYTES: usize = 16 << 20;

/// The threads that run.
#[derive(Default)]
pub struct Threads {
    running: Arc<RunningThreads>,
    /// Nice value of the threads; 0 leaves the priority of the thread that starts them.
    nice: i32,
}

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
    /// Threads with a nice value, 0 to 19.
    pub fn with_nice(nice: i32) -> Self {
        Self { nice, ..Self::default() }
    }

    /// The same threads.
    pub fn same(&self) -> Self {
        Self { running: self.running.clone(), nice: self.nice }
    }

    /// How many run.
    pub fn count(&self) -> usize {
        *self.running.count.lock()
    }

    /// Runs work that ends a stream; refused into the stream where no thread can be had.
    pub fn start(&self, sender: ByteSender, work: impl FnOnce(ByteSender) + Send + 'static) {
        let counted = ThreadCount::new(&self.running);
        let nice = self.nice;
        // In a slot, so that it comes back where there is no thread.
        let slot = Arc::new(Mutex::new(Some(sender)));
        let of_thread = slot.clone();
        let builder = std::thread::Builder::new().name("hearth-js".to_owned()).stack_size(STACK_BYTES);
        let started = builder.spawn(move || {
            lower_priority(nice);
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
        let mut count = self.running.count.lock();
        while *count > 0 {
            self.running.ended.wait(&mut count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_home::stream::channel;
    use std::{fs, sync::mpsc::sync_channel};

    /// Field 19 of /proc/thread-self/stat, behind the name in parentheses.
    fn own_nice() -> String {
        let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
        stat.rsplit_once(") ").unwrap().1.split(' ').nth(16).unwrap().to_owned()
    }

    #[test]
    fn threads_have_their_nice_value_and_are_waited_for() {
        for (threads, nice) in [(Threads::with_nice(19), "19".to_owned()), (Threads::default(), own_nice())] {
            let (sender, _stream) = channel(|| {});
            let (told, heard) = sync_channel(1);
            threads.start(sender, move |_| told.send(own_nice()).unwrap());
            threads.same().wait();
            assert_eq!((heard.recv().unwrap(), threads.count()), (nice, 0));
        }
    }
}
