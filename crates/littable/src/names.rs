//! Names of the tables that are open, or whose end is still being written.

use parking_lot::{Condvar, Mutex};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest wait for a table that is being closed: what it has in buffers is written and synced.
const CLOSE_MAX: Duration = Duration::from_secs(60);

/// Names of tables that are open or being closed.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: Mutex<HashSet<Arc<str>>>,
    /// A name was given back.
    changed: Condvar,
}

impl Names {
    /// Takes a name until the guard is dropped.
    pub fn take(self: &Arc<Self>, name: &str) -> TakenName {
        let name: Arc<str> = name.into();
        self.taken.lock().insert(name.clone());
        TakenName { names: self.clone(), name }
    }

    /// Waits until a table that nothing uses any more is closed. False where that takes too long.
    pub fn wait_until_closed(&self, name: &str) -> bool {
        let until = Instant::now() + CLOSE_MAX;
        let mut taken = self.taken.lock();
        while taken.contains(name) {
            if self.changed.wait_until(&mut taken, until).timed_out() {
                return !taken.contains(name);
            }
        }
        true
    }
}

/// A name that is taken.
#[derive(Debug)]
pub(crate) struct TakenName {
    names: Arc<Names>,
    name: Arc<str>,
}

impl Drop for TakenName {
    fn drop(&mut self) {
        self.names.taken.lock().remove(&self.name);
        self.names.changed.notify_all();
    }
}
