//! Time, so that tests can set it.

use std::{
    fmt::Debug,
    sync::Mutex,
    time::{Duration, Instant, SystemTime},
};

/// A monotonic clock and a wall clock.
pub trait Clock: Send + Sync + Debug + 'static {
    /// Time since some moment before; never goes back.
    fn monotonic(&self) -> Duration;

    /// The time of day; may jump in either direction.
    fn wall(&self) -> SystemTime;
}

/// The machine's clocks.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// Clocks that stand still until they are moved. For tests, and for replaying what was recorded.
#[derive(Debug)]
pub struct ManualClock {
    now: Mutex<(Duration, SystemTime)>,
}

impl ManualClock {
    /// Starts with the monotonic clock at zero.
    pub fn new(wall: SystemTime) -> Self {
        Self { now: Mutex::new((Duration::ZERO, wall)) }
    }

    /// Lets time pass on both clocks.
    pub fn advance(&self, by: Duration) {
        let mut now = self.lock();
        now.0 += by;
        now.1 += by;
    }

    /// Sets the time of day, as an operator or a time service may; the monotonic clock does not
    /// notice.
    pub fn set_wall(&self, wall: SystemTime) {
        self.lock().1 = wall;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, (Duration, SystemTime)> {
        self.now.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new(SystemTime::UNIX_EPOCH)
    }
}

impl Clock for ManualClock {
    fn monotonic(&self) -> Duration {
        self.lock().0
    }

    fn wall(&self) -> SystemTime {
        self.lock().1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_wall_clock_leaves_the_monotonic_one() {
        let clock = ManualClock::default();
        clock.advance(Duration::from_secs(5));
        clock.set_wall(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000));
        assert_eq!(clock.monotonic(), Duration::from_secs(5));
        clock.advance(Duration::from_secs(1));
        assert_eq!(clock.monotonic(), Duration::from_secs(6));
        assert_eq!(clock.wall(), SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_001));
    }
}
