//! The time that a thread spends waiting for another node. It is counted apart from the work of a
//! call: how fast the remote node of a fork answers says nothing about the cost of a call.

use std::{cell::Cell, time::Duration};

thread_local! {
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static LONGEST: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// Bounds the sum of this thread's waits for the remote node of a fork until it is dropped. It is
/// not `Send`: it belongs to the thread that created it.
#[must_use]
#[derive(Debug)]
pub struct OriginWaits {
    before: Option<Duration>,
    /// Not to be sent to another thread.
    thread: std::marker::PhantomData<*const ()>,
}

impl OriginWaits {
    /// Waits of at most `longest` together; `None` for no limit.
    pub fn bounded(longest: Option<Duration>) -> Self {
        let end = longest.map(|longest| WAITED.get().saturating_add(longest));
        Self { before: LONGEST.replace(end), thread: std::marker::PhantomData }
    }

    /// How long this thread has waited since it began. Differences count.
    pub fn waited() -> Duration {
        WAITED.get()
    }

    /// Whether this thread has waited as long as it may.
    pub fn are_spent() -> bool {
        LONGEST.get().is_some_and(|longest| WAITED.get() >= longest)
    }

    /// Counts a wait of this thread.
    pub fn count(time: Duration) {
        WAITED.set(WAITED.get().saturating_add(time));
    }
}

impl Drop for OriginWaits {
    fn drop(&mut self) {
        LONGEST.set(self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_used_up_at_their_bound_and_end_with_their_run() {
        let second = Duration::from_secs(1);
        OriginWaits::count(10 * second);
        assert!(!OriginWaits::are_spent());
        {
            let _outer = OriginWaits::bounded(Some(3 * second));
            assert!(!OriginWaits::are_spent());
            {
                let _inner = OriginWaits::bounded(Some(second));
                OriginWaits::count(second);
                assert!(OriginWaits::are_spent());
            }
            assert!(!OriginWaits::are_spent());
            OriginWaits::count(2 * second);
            assert!(OriginWaits::are_spent());
        }
        assert!(!OriginWaits::are_spent());
        assert_eq!(OriginWaits::waited(), 13 * second);
    }
}
