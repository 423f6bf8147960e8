//! A fixed thread pool with a bounded queue in which clients take turns. A full queue refuses, a panic stays inside its job.

use crate::{NodeError, config::WorkerConfig};
use hearth_primitives::FairQueue;
use parking_lot::{Condvar, Mutex};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::JoinHandle,
};

type Job = Box<dyn FnOnce() + Send>;

/// Stack of a worker, in bytes. The EVM's own frames live on the heap; 1,024 nested calls still need room.
const WORKER_STACK_BYTES: usize = 16 * 1024 * 1024;

#[derive(Default)]
struct Queue {
    jobs: FairQueue<Job>,
    closed: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    ready: Condvar,
}

/// Threads that run jobs: those of one client in the order they came, clients in turn.
pub struct WorkerPool {
    name: &'static str,
    limit: usize,
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl WorkerPool {
    /// Starts the threads.
    pub fn new(name: &'static str, config: WorkerConfig) -> Result<Self, NodeError> {
        let shared = Arc::new(Shared { queue: Mutex::default(), ready: Condvar::new() });
        let pool = Self { name, limit: config.queue, shared, threads: Mutex::new(Vec::new()) };
        for index in 0..config.threads {
            let shared = pool.shared.clone();
            let builder = std::thread::Builder::new().name(format!("hearth-{name}-{index}"));
            let handle = builder.stack_size(WORKER_STACK_BYTES).spawn(move || run(&shared));
            let handle =
                handle.map_err(|e| NodeError::Internal { message: format!("cannot start a thread: {e}") });
            match handle {
                Ok(handle) => pool.threads.lock().push(handle),
                Err(error) => {
                    pool.close();
                    return Err(error);
                }
            }
        }
        Ok(pool)
    }

    /// Queues a job of nobody in particular; refused where the queue is full or the pool is closed.
    pub fn submit(&self, job: impl FnOnce() + Send + 'static) -> Result<(), NodeError> {
        self.submitter().submit(job)
    }

    /// What queues jobs without keeping the pool.
    pub fn submitter(&self) -> Submitter {
        Submitter { name: self.name, limit: self.limit, shared: self.shared.clone() }
    }

    /// Lets queued jobs finish, then ends the threads. A second call does nothing.
    pub fn close(&self) {
        self.shared.queue.lock().closed = true;
        self.shared.ready.notify_all();
        let current = std::thread::current().id();
        for handle in std::mem::take(&mut *self.threads.lock()) {
            if handle.thread().id() != current {
                let _ = handle.join();
            }
        }
    }
}

/// Queues jobs of a pool, for those that outlive the call.
#[derive(Clone)]
pub struct Submitter {
    name: &'static str,
    limit: usize,
    shared: Arc<Shared>,
}

impl Submitter {
    /// As [`WorkerPool::submit`].
    pub fn submit(&self, job: impl FnOnce() + Send + 'static) -> Result<(), NodeError> {
        self.submit_for(&Arc::from(""), job)
    }

    /// As [`WorkerPool::submit`], for a client.
    pub fn submit_for(
        &self,
        client: &Arc<str>,
        job: impl FnOnce() + Send + 'static,
    ) -> Result<(), NodeError> {
        let mut queue = self.shared.queue.lock();
        if queue.closed {
            return Err(NodeError::Closed);
        }
        if queue.jobs.len() >= self.limit {
            return Err(NodeError::Busy { pool: self.name, queue: self.limit });
        }
        queue.jobs.push(client, Box::new(job));
        drop(queue);
        self.shared.ready.notify_one();
        Ok(())
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        self.close();
    }
}

fn run(shared: &Shared) {
    loop {
        let job = {
            let mut queue = shared.queue.lock();
            loop {
                if let Some(job) = queue.jobs.pop() {
                    break job;
                }
                if queue.closed {
                    return;
                }
                shared.ready.wait(&mut queue);
            }
        };
        // Jobs answer their caller themselves, panics included; this only keeps the thread alive.
        let _ = catch_unwind(AssertUnwindSafe(job));
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
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn pool(threads: usize, queue: usize) -> WorkerPool {
        WorkerPool::new("test", WorkerConfig { threads, queue }).expect("threads start")
    }

    #[test]
    fn a_full_queue_refuses_and_names_its_limit() {
        let pool = pool(1, 2);
        let (release, gate) = mpsc::channel::<()>();
        let (started, begun) = mpsc::channel::<()>();
        pool.submit(move || {
            started.send(()).expect("test waits");
            let _ = gate.recv();
        })
        .expect("first job runs");
        begun.recv().expect("job begins");
        pool.submit(|| {}).expect("first waits");
        pool.submit(|| {}).expect("second waits");
        let refused = pool.submit(|| {}).expect_err("third is refused");
        assert!(matches!(refused, NodeError::Busy { pool: "test", queue: 2 }));
        release.send(()).expect("job waits");
    }

    #[test]
    fn clients_take_turns() {
        let pool = pool(1, 64);
        let (release, gate) = mpsc::channel::<()>();
        let (started, begun) = mpsc::channel::<()>();
        pool.submit(move || {
            started.send(()).expect("test waits");
            let _ = gate.recv();
        })
        .expect("first job runs");
        begun.recv().expect("job begins");
        let (send, receive) = mpsc::channel();
        for name in ["greedy", "greedy", "greedy", "greedy", "modest", "modest"] {
            let (send, client) = (send.clone(), Arc::from(name));
            pool.submitter()
                .submit_for(&client, move || send.send(name).expect("test waits"))
                .expect("queued");
        }
        drop(send);
        release.send(()).expect("job waits");
        let order: Vec<_> = receive.iter().collect();
        assert_eq!(order, ["greedy", "modest", "greedy", "modest", "greedy", "greedy"]);
    }

    #[test]
    fn a_panic_leaves_the_thread_alive() {
        let pool = pool(1, 8);
        pool.submit(|| panic!("on purpose")).expect("queued");
        let (send, receive) = mpsc::channel();
        pool.submit(move || send.send(7).expect("test waits")).expect("queued");
        assert_eq!(receive.recv(), Ok(7));
    }

    #[test]
    fn close_runs_what_was_queued_and_then_refuses() {
        let pool = pool(2, 64);
        let (send, receive) = mpsc::channel();
        for i in 0..50 {
            let send = send.clone();
            pool.submit(move || send.send(i).expect("test waits")).expect("queued");
        }
        pool.close();
        pool.close();
        drop(send);
        assert_eq!(receive.iter().count(), 50);
        assert!(matches!(pool.submit(|| {}), Err(NodeError::Closed)));
    }

    #[test]
    fn guarded_keeps_the_panics_words() {
        let error = guarded::<()>(|| panic!("broken {}", 7)).expect_err("panicked");
        assert_eq!(error.to_string(), "internal error: broken 7");
    }
}
