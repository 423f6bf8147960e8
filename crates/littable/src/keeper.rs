//! Threads that work behind the scenes for the tables of a store.

use crate::table::Table;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The threads of a store. They end with it.
#[derive(Debug)]
pub(crate) struct Keeper {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    period: Duration,
}

#[derive(Debug)]
struct Queue {
    /// Tables with work; each at most once.
    due: VecDeque<Weak<Table>>,
    /// All tables, for the work that comes with time.
    tables: Vec<Weak<Table>>,
    next_round: Instant,
    ended: bool,
}

impl Keeper {
    /// Starts the threads; with none, work is done on the calling threads.
    pub fn new(threads: usize, period: Duration) -> std::io::Result<Self> {
        let next_round = Instant::now() + period;
        let queue = Queue { due: VecDeque::new(), tables: Vec::new(), next_round, ended: false };
        let shared = Arc::new(Shared { queue: Mutex::new(queue), changed: Condvar::new(), period });
        let keeper = Self { shared, threads: Mutex::default() };
        for number in 0..threads {
            let shared = keeper.shared.clone();
            let name = format!("littable-{number}");
            let thread = std::thread::Builder::new().name(name).spawn(move || shared.run())?;
            keeper.threads.lock().push(thread);
        }
        Ok(keeper)
    }

    /// Whether there are threads.
    pub fn has_threads(&self) -> bool {
        !self.threads.lock().is_empty()
    }

    pub fn add(&self, table: Weak<Table>) {
        let mut queue = self.shared.queue.lock();
        queue.tables.retain(|table| table.strong_count() > 0);
        queue.tables.push(table);
    }

    /// Has a table looked after soon.
    pub fn poke(&self, table: &Table) {
        let mut queue = self.shared.queue.lock();
        let is_this = |other: &Weak<Table>| std::ptr::eq(other.as_ptr(), table);
        if !queue.due.iter().any(is_this)
            && let Some(weak) = queue.tables.iter().find(|other| is_this(other)).cloned()
        {
            queue.due.push_back(weak);
            drop(queue);
            self.shared.changed.notify_one();
        }
    }
}

impl Keeper {
    /// Ends the threads and waits for them. Remaining work is done on the calling threads from
    /// then on.
    pub fn stop(&self) {
        self.shared.queue.lock().ended = true;
        self.shared.changed.notify_all();
        let me = std::thread::current().id();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // The last user of a store may be one of its own threads; that one ends by itself.
            if thread.thread().id() != me {
                let _ = thread.join();
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn run(&self) {
        loop {
            let (table, round) = {
                let mut queue = self.queue.lock();
                loop {
                    if queue.ended {
                        return;
                    }
                    if let Some(table) = queue.due.pop_front() {
                        break (Some(table), Vec::new());
                    }
                    if Instant::now() >= queue.next_round {
                        queue.next_round = Instant::now() + self.period;
                        break (None, queue.tables.clone());
                    }
                    let until = queue.next_round;
                    self.changed.wait_until(&mut queue, until);
                }
            };
            // What fails is tried again with the next put or in the next round; a failed sync is
            // noted in the table.
            if let Some(table) = table.and_then(|table| table.upgrade()) {
                let _ = table.housekeep(false);
            }
            for table in round {
                if self.queue.lock().ended {
                    return;
                }
                if let Some(table) = table.upgrade() {
                    table.round();
                }
            }
        }
    }
}

impl Table {
    /// The work that comes with time.
    fn round(&self) {
        let done = self.seal_aged().and_then(|()| self.housekeep(true)).and_then(|()| self.collect());
        if let Err(error) = done
            && self.ctx.check_writable().is_ok()
        {
            *self.last_trouble.lock() = Some(error);
        }
    }

    /// What kept background work from being done last, a full disk for example.
    pub fn last_trouble(&self) -> Option<crate::LittError> {
        self.last_trouble.lock().clone()
    }
}
