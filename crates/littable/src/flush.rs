//! Group commit: flushes that wait share one sync, and one that arrives while a sync runs waits for the next.

use parking_lot::{Condvar, Mutex};

/// Lets flushes share syncs.
#[derive(Debug)]
pub(crate) struct FlushGate<E> {
    state: Mutex<State<E>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<E> {
    /// Syncs that were begun.
    begun: u64,
    /// Syncs that have ended.
    ended: u64,
    /// How the last ones failed, with the number of the sync.
    failed: Option<(u64, E)>,
}

impl<E> Default for FlushGate<E> {
    fn default() -> Self {
        Self { state: Mutex::new(State { begun: 0, ended: 0, failed: None }), changed: Condvar::new() }
    }
}

impl<E: Clone> FlushGate<E> {
    /// Returns when a sync that began after the call has ended; runs it where nobody else does.
    pub fn flush(&self, sync: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut state = self.state.lock();
        let mine = state.begun + 1;
        loop {
            if state.ended >= mine {
                // A later sync covers this one too, but only one that succeeded.
                return match &state.failed {
                    Some((number, error)) if *number >= mine => Err(error.clone()),
                    _ => Ok(()),
                };
            }
            if state.begun == state.ended {
                break;
            }
            self.changed.wait(&mut state);
        }
        state.begun += 1;
        let number = state.begun;
        drop(state);
        let result = sync();
        let mut state = self.state.lock();
        state.ended = number;
        if let Err(error) = &result {
            state.failed = Some((number, error.clone()));
        }
        drop(state);
        self.changed.notify_all();
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    #[test]
    fn flushes_share_syncs_and_none_takes_one_that_began_before_it() {
        let gate = FlushGate::<()>::default();
        let (puts, synced, syncs) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let mine = puts.fetch_add(1, Ordering::SeqCst) + 1;
                        gate.flush(|| {
                            let covers = puts.load(Ordering::SeqCst);
                            std::thread::sleep(Duration::from_micros(200));
                            syncs.fetch_add(1, Ordering::SeqCst);
                            synced.store(covers, Ordering::SeqCst);
                            Ok(())
                        })
                        .unwrap();
                        assert!(synced.load(Ordering::SeqCst) >= mine);
                    }
                });
            }
        });
        let syncs = syncs.into_inner();
        assert!(syncs < 300, "{syncs} syncs for 400 flushes of 8 threads");
    }

    #[test]
    fn those_that_share_a_failed_sync_all_fail() {
        let gate = FlushGate::<u32>::default();
        assert_eq!(gate.flush(|| Err(7)), Err(7));
        assert_eq!(gate.flush(|| Ok(())), Ok(()));
    }
}
