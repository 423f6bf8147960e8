//! The lock that changes of the chain are made under, and what they keep.

use alloy_primitives::B256;
use hearth_flatkv::Head;
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// What the one that changes the chain keeps.
#[derive(Debug, Default)]
pub(crate) struct Working {
    /// The chosen head where it is not the working head.
    pub(crate) chosen: Option<B256>,
    /// The chosen head that watchers were last notified of.
    pub(crate) announced: Option<Head>,
}

impl Working {
    /// Whether the working head is the chosen one.
    pub(crate) fn is_settled(&self) -> bool {
        self.chosen.is_none()
    }
}

/// Lets one thread at a time change the chain.
#[derive(Debug, Default)]
pub(crate) struct WorkingLock {
    working: Mutex<Working>,
    /// Threads that are about to take the lock, or wait for it.
    waiting: AtomicUsize,
}

impl WorkingLock {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Working> {
        self.waiting.fetch_add(1, SeqCst);
        let guard = self.working.lock();
        self.waiting.fetch_sub(1, SeqCst);
        guard
    }

    /// Whether another thread waits for the lock: an import that holds it for long lets that thread
    /// have it between two blocks.
    pub(crate) fn is_wanted(&self) -> bool {
        self.waiting.load(SeqCst) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::{scope, yield_now};

    #[test]
    fn a_thread_that_waits_for_the_lock_is_seen_until_it_has_it() {
        let lock = WorkingLock::default();
        let mut held = lock.lock();
        assert!(!lock.is_wanted());
        scope(|threads| {
            let waits = threads.spawn(|| lock.lock().chosen);
            while !lock.is_wanted() {
                yield_now();
            }
            held.chosen = Some(B256::repeat_byte(1));
            drop(held);
            assert_eq!(waits.join().unwrap(), Some(B256::repeat_byte(1)));
        });
        assert!(!lock.is_wanted());
    }
}
