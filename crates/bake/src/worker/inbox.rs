//! Where commits leave their heights: a bounded queue that is locked for a few instructions only,
//! so that a commit never waits for a thread that bakes.

use hearth_metrics::{Counter, Gauge};
use hearth_primitives::Height;
use parking_lot::{Condvar, Mutex};
use std::{collections::VecDeque, time::Duration};

/// Events since the last call of the worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeadUpdate {
    /// Height that the chain went back to, the lowest where it did so more than once.
    pub(crate) unwound_to: Option<Height>,
    /// Lowest height that was committed since.
    pub(crate) lowest_committed: Option<Height>,
    /// Lowest height that found the queue full.
    pub(crate) lowest_dropped: Option<Height>,
    /// Heights that found the queue full.
    pub(crate) dropped: u64,
}

#[derive(Debug, Default)]
struct State {
    heights: VecDeque<Height>,
    news: HeadUpdate,
    /// Grows with everything that a waiting thread should look at.
    generation: u64,
}

/// The queue of committed heights, and the bell that wakes the threads.
#[derive(Debug)]
pub(crate) struct Inbox {
    limit: usize,
    state: Mutex<State>,
    wake: Condvar,
    depth: Gauge,
    dropped: Counter,
}

fn lower(of: &mut Option<Height>, height: Height) {
    *of = Some(of.map_or(height, |there| there.min(height)));
}

impl Inbox {
    /// A queue of at most `limit` heights.
    pub(crate) fn new(limit: usize, depth: Gauge, dropped: Counter) -> Self {
        Self { limit, state: Mutex::default(), wake: Condvar::new(), depth, dropped }
    }

    /// Takes a height that was committed, or drops and counts it where the queue is full. Never
    /// waits.
    pub(crate) fn committed(&self, height: Height) {
        let mut state = self.state.lock();
        lower(&mut state.news.lowest_committed, height);
        if state.heights.len() < self.limit {
            state.heights.push_back(height);
            self.depth.set_unsigned(state.heights.len() as u64);
        } else {
            lower(&mut state.news.lowest_dropped, height);
            state.news.dropped += 1;
            self.dropped.add(1);
        }
        state.generation += 1;
        drop(state);
        self.wake.notify_one();
    }

    /// Takes note that the chain went back.
    pub(crate) fn unwound(&self, to: Height) {
        let mut state = self.state.lock();
        lower(&mut state.news.unwound_to, to);
        state.generation += 1;
    }

    /// The oldest height that waits.
    pub(crate) fn pop(&self) -> Option<Height> {
        let mut state = self.state.lock();
        let height = state.heights.pop_front()?;
        self.depth.set_unsigned(state.heights.len() as u64);
        Some(height)
    }

    /// What happened since the last call, and a number to wait with.
    pub(crate) fn news(&self) -> (HeadUpdate, u64) {
        let mut state = self.state.lock();
        (std::mem::take(&mut state.news), state.generation)
    }

    /// Wakes every thread that waits.
    pub(crate) fn ring(&self) {
        self.state.lock().generation += 1;
        self.wake.notify_all();
    }

    /// Waits until something happens after `seen`, at most for a time.
    pub(crate) fn wait(&self, seen: u64, at_most: Duration) {
        let mut state = self.state.lock();
        if state.generation == seen {
            self.wake.wait_for(&mut state, at_most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_and_counts_and_says_from_where() {
        let (depth, dropped) = (Gauge::default(), Counter::default());
        let inbox = Inbox::new(2, depth.clone(), dropped.clone());
        for height in [5, 6, 7, 8] {
            inbox.committed(height);
        }
        assert_eq!((depth.value(), dropped.value()), (2, 2));
        let (news, _) = inbox.news();
        let expected =
            HeadUpdate { lowest_committed: Some(5), lowest_dropped: Some(7), dropped: 2, unwound_to: None };
        assert_eq!(news, expected);
        assert_eq!([inbox.pop(), inbox.pop(), inbox.pop()], [Some(5), Some(6), None]);
        assert_eq!(depth.value(), 0);
        assert_eq!(inbox.news().0, HeadUpdate::default());
    }

    #[test]
    fn what_came_before_a_wait_is_not_slept_over() {
        let inbox = Inbox::new(1, Gauge::default(), Counter::default());
        let (_, seen) = inbox.news();
        inbox.unwound(3);
        inbox.unwound(2);
        inbox.unwound(9);
        let began = std::time::Instant::now();
        inbox.wait(seen, Duration::from_secs(30));
        assert!(began.elapsed() < Duration::from_secs(10));
        assert_eq!(inbox.news().0.unwound_to, Some(2));
    }
}
