//! Group commit: flushes that wait share one sync, and one that arrives while a sync runs waits for
//! the next.

use parking_lot::{Condvar, Mutex};

/// Lets flushes share syncs.
#[derive(Debug)]
pub(crate) struct FlushGate<E> {
    state: Mutex<SyncState<E>>,
    changed: Condvar,
}

#[derive(Debug)]
struct SyncState<E> {
    /// Syncs that were begun.
    begun: u64,
    /// Syncs that have ended.
    ended: u64,
    /// How the last ones failed, with the number of the sync.
    failed: Option<(u64, E)>,
}

impl<E> Default for FlushGate<E> {
    fn default() -> Self {
        Self { state: Mutex::new(SyncState { begun: 0, ended: 0, failed: None }), changed: Condvar::new() }
    }
}

impl<E: Clone> FlushGate<E> {
    /// Returns when a sync that began after the call has ended; runs it unless another thread does.
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
        let running = Running { gate: self, ended: false };
        let result = sync();
        running.ends(number, &result);
        result
    }
}

/// A sync that runs. One that panics counts as never begun, so that a flush that waits runs the
/// next.
struct Running<'a, E> {
    gate: &'a FlushGate<E>,
    ended: bool,
}

impl<E: Clone> Running<'_, E> {
    fn ends(mut self, number: u64, result: &Result<(), E>) {
        self.ended = true;
        let mut state = self.gate.state.lock();
        state.ended = number;
        if let Err(error) = result {
            state.failed = Some((number, error.clone()));
        }
    }
}

impl<E> Drop for Running<'_, E> {
    fn drop(&mut self) {
        if !self.ended {
            self.gate.state.lock().begun -= 1;
        }
        self.gate.changed.notify_all();
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
        // Threads that start late share less.
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
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
    fn a_sync_that_panics_leaves_no_flush_waiting() {
        use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
        let gate = std::sync::Arc::new(FlushGate::<()>::default());
        let (begun, has_begun) = std::sync::mpsc::channel();
        let (go_on, goes_on) = std::sync::mpsc::channel::<()>();
        let first = gate.clone();
        let panicking = std::thread::spawn(move || {
            catch_unwind(AssertUnwindSafe(|| {
                first.flush(|| {
                    begun.send(()).unwrap();
                    goes_on.recv().unwrap();
                    resume_unwind(Box::new("planted"))
                })
            }))
            .is_err()
        });
        has_begun.recv().unwrap();
        let (ended, end) = std::sync::mpsc::channel();
        for _ in 0..2 {
            let (gate, ended) = (gate.clone(), ended.clone());
            std::thread::spawn(move || ended.send(gate.flush(|| Ok(()))).unwrap());
        }
        go_on.send(()).unwrap();
        assert!(panicking.join().unwrap());
        for _ in 0..2 {
            assert_eq!(end.recv_timeout(Duration::from_secs(60)), Ok(Ok(())));
        }
    }

    #[test]
    fn those_that_share_a_failed_sync_all_fail() {
        let gate = FlushGate::<u32>::default();
        assert_eq!(gate.flush(|| Err(7)), Err(7));
        assert_eq!(gate.flush(|| Ok(())), Ok(()));
    }
}
