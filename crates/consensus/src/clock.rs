//! The only clock of this crate: for what is measured, for how old the last block is, and for how
//! long a proposal is filled, whose result other nodes judge. A block that is judged or executed
//! depends on none.

#![expect(clippy::disallowed_types, reason = "the clock that the others may use")]

use std::time::{Duration, Instant};

/// A point in time of the monotonic clock of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment(Instant);

impl Moment {
    pub fn now() -> Self {
        Self(Instant::now())
    }

    /// The moment after some time.
    pub fn in_(time: Duration) -> Self {
        Self(Instant::now() + time)
    }

    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    pub fn is_past(self) -> bool {
        Instant::now() >= self.0
    }
}
