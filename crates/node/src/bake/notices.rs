//! Sentences for the node's log, until somebody takes them.

use parking_lot::Mutex;
use std::collections::VecDeque;

/// Notices that wait; the oldest goes when there are more.
const MAX_NOTICES: usize = 64;

/// Sentences for the log.
#[derive(Debug, Default)]
pub(crate) struct Notices(Mutex<VecDeque<String>>);

impl Notices {
    /// Adds one.
    pub fn add(&self, text: String) {
        let mut waiting = self.0.lock();
        if waiting.len() == MAX_NOTICES {
            waiting.pop_front();
        }
        waiting.push_back(text);
    }

    /// Takes all, the oldest first.
    pub fn take(&self) -> Vec<String> {
        self.0.lock().drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_notices_wait_and_are_taken_once() {
        let notices = Notices::default();
        for n in 0..MAX_NOTICES + 2 {
            notices.add(n.to_string());
        }
        let taken = notices.take();
        assert_eq!((taken.len(), taken[0].as_str()), (MAX_NOTICES, "2"));
        assert!(notices.take().is_empty());
    }
}
