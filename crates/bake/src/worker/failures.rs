//! Heights that failed, and when each is tried again.

use super::options::{MAX_FAILED_HEIGHTS, MAX_RETRIES};
use hearth_primitives::Height;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

/// What becomes of a height that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is tried again after this time.
    RetryAfter(Duration),
    /// It failed too often: it is not tried again until the next start.
    GivenUp,
}

#[derive(Debug)]
struct Failure {
    times: u32,
    due: Option<Instant>,
}

/// Failed heights, at most [`MAX_FAILED_HEIGHTS`].
#[derive(Debug)]
pub(crate) struct Failures {
    first: Duration,
    of: BTreeMap<Height, Failure>,
    due: BTreeSet<(Instant, Height)>,
}

impl Failures {
    /// None yet; the first retry comes after `first`.
    pub(crate) fn new(first: Duration) -> Self {
        Self { first, of: BTreeMap::new(), due: BTreeSet::new() }
    }

    /// Notes a failure.
    pub(crate) fn add(&mut self, height: Height, now: Instant) -> Verdict {
        let times = self.of.get(&height).map_or(0, |failure| failure.times) + 1;
        self.forget(height);
        let again = (times <= MAX_RETRIES).then(|| self.first.saturating_mul(1 << (times - 1)));
        if self.of.len() >= MAX_FAILED_HEIGHTS {
            return Verdict::GivenUp;
        }
        let due = again.and_then(|after| now.checked_add(after));
        self.of.insert(height, Failure { times, due });
        if let Some(due) = due {
            self.due.insert((due, height));
        }
        again.map_or(Verdict::GivenUp, Verdict::RetryAfter)
    }

    /// Takes a height whose time has come; it stays known as one that failed.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Height> {
        let (due, height) = *self.due.first().filter(|(due, _)| *due <= now)?;
        self.due.remove(&(due, height));
        if let Some(failure) = self.of.get_mut(&height) {
            failure.due = None;
        }
        Some(height)
    }

    /// When the next one is to be tried.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Whether a height failed and waits, runs again or was given up.
    pub(crate) fn knows(&self, height: Height) -> bool {
        self.of.contains_key(&height)
    }

    /// A height is baked, or no longer wanted.
    pub(crate) fn forget(&mut self, height: Height) {
        if let Some(Failure { due: Some(due), .. }) = self.of.remove(&height) {
            self.due.remove(&(due, height));
        }
    }

    /// The blocks above a height are gone.
    pub(crate) fn unwound(&mut self, to: Height) {
        let gone: Vec<Height> = self.of.range(to.saturating_add(1)..).map(|(height, _)| *height).collect();
        for height in gone {
            self.forget(height);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_failed_height_is_retried_after_1_to_16_minutes() {
        let mut failures = Failures::new(MINUTE);
        let mut now = Instant::now();
        let mut waits = Vec::new();
        while let Verdict::RetryAfter(after) = failures.add(7, now) {
            assert_eq!(failures.take_due(now + after - Duration::from_millis(1)), None);
            assert_eq!(failures.next_due(), Some(now + after));
            now += after;
            assert_eq!(failures.take_due(now), Some(7));
            assert_eq!(failures.take_due(now), None);
            waits.push(after.as_secs() / 60);
        }
        assert_eq!(waits, [1, 2, 4, 8, 16]);
        assert!(failures.knows(7));
        assert_eq!(failures.take_due(now + 1000 * MINUTE), None);
    }

    #[test]
    fn what_is_baked_or_gone_is_not_tried_again() {
        let mut failures = Failures::new(MINUTE);
        let now = Instant::now();
        for height in [1, 2, 3] {
            failures.add(height, now);
        }
        failures.forget(1);
        failures.unwound(2);
        assert_eq!([1, 2, 3].map(|height| failures.knows(height)), [false, true, false]);
        assert_eq!(failures.take_due(now + MINUTE), Some(2));
        assert_eq!(failures.take_due(now + MINUTE), None);
    }

    #[test]
    fn heights_beyond_the_limit_are_given_up_at_once() {
        let mut failures = Failures::new(MINUTE);
        let now = Instant::now();
        for height in 0..MAX_FAILED_HEIGHTS as u64 {
            assert_eq!(failures.add(height, now), Verdict::RetryAfter(MINUTE));
        }
        assert_eq!(failures.add(u64::MAX, now), Verdict::GivenUp);
        assert_eq!(failures.add(3, now), Verdict::RetryAfter(2 * MINUTE));
    }
}
