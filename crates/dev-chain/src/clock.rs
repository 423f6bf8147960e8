//! The clock of a development chain: the machine's, moved, and what the next block's time is to be.

use std::time::{SystemTime, UNIX_EPOCH};

/// Times are in seconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// How far this clock goes before the machine's.
    offset: i64,
    /// The time of the next block, whatever the clock says.
    next: Option<u64>,
    /// Seconds between two blocks, whatever the clock says.
    interval: Option<u64>,
}

/// A time that no block can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// It lies before the head's.
    #[error("Timestamp error: {time} is lower than previous block's timestamp")]
    Past {
        /// The requested time.
        time: u64,
    },
    /// It is the head's: times ascend strictly from block to block.
    #[error("Timestamp error: {time} is equal to the previous block's timestamp, and must be higher")]
    Same {
        /// The requested time.
        time: u64,
    },
    /// No clock goes so far.
    #[error("Timestamp error: {time} is out of range: at most {max}")]
    Range {
        /// The requested time or seconds.
        time: u64,
        /// The highest.
        max: u64,
    },
}

/// The highest time: it leaves room for many blocks, whose times ascend.
pub const TIME_MAX: u64 = u64::MAX >> 8;

fn machine() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Clock {
    /// A clock that goes `offset` seconds before the machine's.
    pub fn new(offset: i64) -> Self {
        Self { offset, ..Self::default() }
    }

    /// What it says now.
    pub fn now(&self) -> u64 {
        machine().saturating_add_signed(self.offset)
    }

    /// Seconds by which it goes before the machine's.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// The time of a block after one of this time, if it were made now.
    pub fn peek(&self, parent: u64) -> u64 {
        let wanted = match (self.next, self.interval) {
            (Some(next), _) => next,
            (None, Some(interval)) => parent.saturating_add(interval),
            (None, None) => self.now(),
        };
        // Blocks may come faster than seconds: their times still ascend strictly.
        wanted.max(parent.saturating_add(1))
    }

    /// A block of this time is made: the clock continues from there where it was set.
    pub fn made(&mut self, time: u64) {
        if self.next.take().is_some() {
            self.set(time);
        }
    }

    /// Moves the clock forward, from the time of `head` if that is ahead of it. Returns how far the
    /// clock is ahead of the machine's then. The next block is thus that much after the head, or
    /// after now, even if blocks came faster than seconds.
    ///
    /// # Errors
    /// [`TimeError::Range`].
    pub fn increase(&mut self, seconds: u64, head: u64) -> Result<i64, TimeError> {
        let from = self.now().max(head);
        let max = TIME_MAX.saturating_sub(from);
        if seconds > max {
            return Err(TimeError::Range { time: seconds, max });
        }
        self.set(from.saturating_add(seconds));
        Ok(self.offset)
    }

    /// Sets the time of the next block.
    ///
    /// # Errors
    /// [`TimeError`]: it does not lie after `head`.
    pub fn set_next(&mut self, time: u64, head: u64) -> Result<(), TimeError> {
        self.next = Some(after(time, head)?);
        Ok(())
    }

    /// Sets the clock; by how many seconds it was moved forward.
    ///
    /// # Errors
    /// [`TimeError`]: it would go behind `head`.
    pub fn reset(&mut self, time: u64, head: u64) -> Result<u64, TimeError> {
        if time < head {
            return Err(TimeError::Past { time });
        }
        in_range(time)?;
        let moved = time.saturating_sub(self.now());
        self.set(time);
        Ok(moved)
    }

    /// Seconds between two blocks from now on.
    ///
    /// # Errors
    /// [`TimeError::Range`].
    pub fn set_interval(&mut self, seconds: u64) -> Result<(), TimeError> {
        self.interval = Some(in_range(seconds)?);
        Ok(())
    }

    /// The clock decides again; whether it did not before.
    pub fn remove_interval(&mut self) -> bool {
        self.interval.take().is_some()
    }

    /// This clock as it will be when it is set back to the moment `then`, at which it said so.
    pub fn back_to(mut self, then: u64) -> Self {
        self.set(then);
        self
    }

    /// Continues the clock from the time of an earlier head.
    pub fn rewind_to(&mut self, head: u64) {
        self.next = None;
        self.set(head);
    }

    fn set(&mut self, time: u64) {
        let (time, machine) = (i64::try_from(time), i64::try_from(machine()));
        self.offset = time.unwrap_or(i64::MAX).saturating_sub(machine.unwrap_or(0));
    }
}

fn in_range(time: u64) -> Result<u64, TimeError> {
    if time > TIME_MAX { Err(TimeError::Range { time, max: TIME_MAX }) } else { Ok(time) }
}

/// A time of a block after one of time `head`.
fn after(time: u64, head: u64) -> Result<u64, TimeError> {
    match time.cmp(&head) {
        std::cmp::Ordering::Less => Err(TimeError::Past { time }),
        std::cmp::Ordering::Equal => Err(TimeError::Same { time }),
        std::cmp::Ordering::Greater => in_range(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_ascend_and_go_on_from_where_they_are_set() {
        let mut clock = Clock::default();
        let now = machine();
        assert!((now..now + 5).contains(&clock.peek(0)));
        assert_eq!(clock.peek(now + 100), now + 101, "blocks faster than seconds");
        clock.set_next(now + 1000, now + 100).unwrap();
        assert_eq!(clock.peek(now + 100), now + 1000);
        clock.made(now + 1000);
        assert!((now + 1001..now + 1006).contains(&clock.peek(now + 1000)), "it goes on from there");
        clock.set_interval(7).unwrap();
        assert_eq!(clock.peek(50), 57);
        assert!(clock.remove_interval());
        assert!(!clock.remove_interval());
        let before = clock.offset();
        let moved = clock.increase(3600, 0).unwrap();
        assert!((before + 3600..before + 3605).contains(&moved));
        let head = clock.now() + 500;
        clock.increase(5, head).unwrap();
        assert_eq!(clock.peek(head), clock.now().max(head + 5), "from the head, which is ahead");
        let moved = clock.offset();
        assert!((moved..moved + 5).contains(&clock.increase(0, 0).unwrap()));
    }

    #[test]
    fn times_in_the_past_or_out_of_range_are_refused() {
        let mut clock = Clock::default();
        assert_eq!(clock.set_next(9, 10), Err(TimeError::Past { time: 9 }));
        assert_eq!(clock.set_next(10, 10), Err(TimeError::Same { time: 10 }));
        assert!(matches!(clock.set_next(u64::MAX, 10), Err(TimeError::Range { .. })));
        assert!(matches!(clock.increase(u64::MAX, 10), Err(TimeError::Range { .. })));
        assert!(matches!(clock.increase(TIME_MAX, 10), Err(TimeError::Range { .. })));
        assert_eq!(clock.reset(9, 10), Err(TimeError::Past { time: 9 }));
        assert_eq!(clock, Clock::default());
        assert_eq!(
            TimeError::Past { time: 9 }.to_string(),
            "Timestamp error: 9 is lower than previous block's timestamp"
        );
    }
}
