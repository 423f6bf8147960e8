//! Single-flight: of several threads that need the same value, the first fetches it and the others
//! wait for its answer.

use super::{Key, Value};
use hearth_primitives::StateError;
use parking_lot::{Condvar, Mutex};
use std::{collections::HashMap, sync::Arc};

/// The fetches in progress, at most one per executing thread.
#[derive(Default)]
pub(super) struct SingleFlight {
    under_way: Mutex<HashMap<Key, Arc<Flight>>>,
}

#[derive(Default)]
struct Flight {
    landed: Mutex<Option<Result<Value, StateError>>>,
    changed: Condvar,
}

/// Ends a flight even if its leader panics, so that no thread waits forever.
struct FlightGuard<'a> {
    single_flight: &'a SingleFlight,
    key: Key,
    flight: Arc<Flight>,
}

impl Drop for FlightGuard<'_> {
    fn drop(&mut self) {
        let gave_up = || Err(StateError::Origin("the request was given up by its caller".to_owned()));
        self.flight.landed.lock().get_or_insert_with(gave_up);
        self.single_flight.under_way.lock().remove(&self.key);
        self.flight.changed.notify_all();
    }
}

impl SingleFlight {
    /// Runs `query`, or waits for the one that runs for the same key. `query` has a deadline of its
    /// own.
    pub fn join(
        &self,
        key: Key,
        query: impl FnOnce() -> Result<Value, StateError>,
    ) -> Result<Value, StateError> {
        let mut under_way = self.under_way.lock();
        if let Some(flight) = under_way.get(&key).cloned() {
            drop(under_way);
            let mut landed = flight.landed.lock();
            while landed.is_none() {
                flight.changed.wait(&mut landed);
            }
            return landed.clone().unwrap_or_else(|| Err(StateError::Origin("no answer".to_owned())));
        }
        let flight = Arc::new(Flight::default());
        under_way.insert(key, flight.clone());
        drop(under_way);
        let landing = FlightGuard { single_flight: self, key, flight };
        let answer = query();
        *landing.flight.landed.lock() = Some(answer.clone());
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::U256;
    use std::{
        sync::atomic::{AtomicUsize, Ordering::SeqCst},
        thread,
        time::{Duration, Instant},
    };

    #[test]
    fn threads_that_need_the_same_ask_once_and_all_get_the_answer() {
        let (single_flight, asked) = (SingleFlight::default(), AtomicUsize::new(0));
        let holders = || single_flight.under_way.lock().get(&Key::BlockHash(7)).map_or(0, Arc::strong_count);
        thread::scope(|scope| {
            let query = || {
                single_flight.join(Key::BlockHash(7), || {
                    asked.fetch_add(1, SeqCst);
                    // The flight lands when all others wait: the map has it, its leader, and seven.
                    let start = Instant::now();
                    while holders() < 9 && start.elapsed() < Duration::from_secs(60) {
                        thread::sleep(Duration::from_millis(1));
                    }
                    Ok(Value::Word(U256::from(9)))
                })
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(query)).collect();
            for thread in threads {
                let answer = thread.join().expect("no panic").expect("an answer");
                assert_eq!(answer, Value::Word(U256::from(9)));
            }
        });
        assert_eq!(asked.load(SeqCst), 1);
        assert!(single_flight.under_way.lock().is_empty());
    }

    #[test]
    fn a_failure_reaches_all_who_wait_and_nobody_after_them() {
        let single_flight = SingleFlight::default();
        let failed = single_flight.join(Key::BlockHash(1), || Err(StateError::Origin("gone".into())));
        assert_eq!(failed.expect_err("failed").to_string(), "the origin of the fork: gone");
        let again = single_flight.join(Key::BlockHash(1), || Ok(Value::Word(U256::ZERO)));
        assert_eq!(again.expect("an answer"), Value::Word(U256::ZERO));
    }
}
