//! Threads that work behind the scenes for the tables of a store.

use crate::LittError;
use crate::table::Table;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
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
    /// Notified when a thread has dropped the table that it held.
    released: Condvar,
    period: Duration,
}

#[derive(Debug)]
struct Queue {
    /// Tables with work; each at most once.
    due: VecDeque<Weak<Table>>,
    /// All tables, for the work that comes with time.
    tables: Vec<Weak<Table>>,
    next_round: Instant,
    /// Tables that threads hold, one entry for each thread at most: holding is no use of a table.
    held: Vec<Weak<Table>>,
    ended: bool,
}

impl Keeper {
    /// Starts the threads; with none, work is done on the calling threads.
    pub fn new(threads: usize, period: Duration) -> std::io::Result<Self> {
        let next_round = Instant::now() + period;
        let queue =
            Queue { due: VecDeque::new(), tables: Vec::new(), next_round, held: Vec::new(), ended: false };
        let shared = Arc::new(Shared {
            queue: Mutex::new(queue),
            changed: Condvar::new(),
            released: Condvar::new(),
            period,
        });
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

    /// Whether anything but this keeper's threads uses a table. Where nothing else does, waits
    /// until no thread holds the table.
    pub fn has_users(&self, table: &Weak<Table>) -> bool {
        let mut queue = self.shared.queue.lock();
        loop {
            let held = queue.held.iter().filter(|held| held.ptr_eq(table)).count();
            if table.strong_count() > held {
                return true;
            }
            if held == 0 {
                return false;
            }
            self.shared.released.wait(&mut queue);
        }
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
            let (due, round) = {
                let mut queue = self.queue.lock();
                loop {
                    if queue.ended {
                        return;
                    }
                    if let Some(table) = queue.due.pop_front() {
                        break (self.hold(&mut queue, &table), Vec::new());
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
            if let Some(held) = due {
                let _ = held.table.without_panic(|| held.table.housekeep(false));
            }
            for table in round {
                let mut queue = self.queue.lock();
                if queue.ended {
                    return;
                }
                let held = self.hold(&mut queue, &table);
                drop(queue);
                if let Some(held) = held {
                    held.table.round();
                }
            }
        }
    }

    /// Holds a table that is still open. The queue stays locked from the count of references on, so
    /// that [`Keeper::has_users`] never counts a thread's reference as a user's.
    fn hold<'a>(&'a self, queue: &mut Queue, table: &Weak<Table>) -> Option<HeldTable<'a>> {
        let open = table.upgrade()?;
        queue.held.push(table.clone());
        Some(HeldTable { table: open, _hold: Hold { table: table.clone(), shared: self } })
    }
}

/// A table that a thread of the keeper works on. The reference goes before the hold, and without
/// the lock: the last user of a store drops its keeper, which locks the queue.
struct HeldTable<'a> {
    table: Arc<Table>,
    _hold: Hold<'a>,
}

/// An entry in [`Queue::held`].
struct Hold<'a> {
    table: Weak<Table>,
    shared: &'a Shared,
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let mut queue = self.shared.queue.lock();
        if let Some(at) = queue.held.iter().position(|held| held.ptr_eq(&self.table)) {
            queue.held.swap_remove(at);
        }
        drop(queue);
        self.shared.released.notify_all();
    }
}

impl Table {
    /// The work that comes with time.
    fn round(&self) {
        let done = self.without_panic(|| {
            self.seal_aged()?;
            self.housekeep(true)?;
            self.collect()
        });
        if let Err(error) = done
            && self.ctx.check_writable().is_ok()
        {
            *self.last_trouble.lock() = Some(error);
        }
    }

    /// Does work of a thread of the keeper. A panic is an error like others: the thread has more
    /// tables and further rounds.
    fn without_panic<T>(&self, work: impl FnOnce() -> Result<T, LittError>) -> Result<T, LittError> {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            let source = std::io::Error::other(format!("background work panicked: {text}"));
            let error = LittError::io(&self.ctx.home)(source);
            *self.last_trouble.lock() = Some(error.clone());
            Err(error)
        })
    }

    /// What kept background work from being done last, a full disk for example.
    pub fn last_trouble(&self) -> Option<LittError> {
        self.last_trouble.lock().clone()
    }
}
