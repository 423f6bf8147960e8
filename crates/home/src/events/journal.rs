//! The last events, by number.

use crate::JsonWriter;
use alloy_primitives::B256;
use hearth_chain::AddedBlock;
use hearth_primitives::Height;
use std::collections::VecDeque;

/// Most events that are kept; readers that are further behind have missed some.
pub(super) const MAX_EVENTS: usize = 65_536;

/// Maximum number of events in one response.
const MAX_EVENTS_RETURNED: usize = 1_024;

/// Bytes to reserve for an event.
const EVENT_BYTES: usize = 100;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A block joined the chain as its head.
    Added(AddedBlock),
    /// The head left the chain.
    Removed(Height, B256),
    /// A transaction in the pool became executable.
    Transaction(B256),
}

/// The last events. The first one ever has the number 0.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// Number of the oldest one that is kept.
    first: u64,
    events: VecDeque<Event>,
}

impl Journal {
    /// Number of the event that comes next.
    pub fn next(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    /// Adds an event.
    pub fn push(&mut self, event: Event) {
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
            self.first += 1;
        }
        self.events.push_back(event);
    }

    /// Counts an event that cannot be reported: every reader has missed it.
    pub fn forget(&mut self) {
        self.first = self.next() + 1;
        self.events.clear();
    }

    /// What came after the first `after` events, as JSON. Heights are numbers: V8 looks up each
    /// string of up to ten characters among all that it knows, which takes longer than the rest of
    /// the event.
    pub fn render(&self, after: u64) -> Vec<u8> {
        let missed = self.first.saturating_sub(after);
        let skip = usize::try_from(after.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let returned = self.events.len().saturating_sub(skip).min(MAX_EVENTS_RETURNED);
        let next = (after.max(self.first) + returned as u64).min(self.next());
        let mut w = JsonWriter::with_capacity(EVENT_BYTES * (returned + 1));
        w.begin_object().key("next").raw(&next.to_string()).key("missed").raw(&missed.to_string());
        w.key("events").begin_array();
        for event in self.events.iter().skip(skip).take(returned) {
            w.begin_array();
            match event {
                Event::Added(AddedBlock { height, hash, transactions }) => {
                    let (height, transactions) = (height.to_string(), transactions.to_string());
                    w.raw("\"added\"").raw(&height).hash(hash).raw(&transactions)
                }
                Event::Removed(number, hash) => w.raw("\"removed\"").raw(&number.to_string()).hash(hash),
                Event::Transaction(hash) => w.raw("\"transaction\"").hash(hash),
            };
            w.end_array();
        }
        w.end_array().end_object();
        w.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returned(journal: &Journal, after: u64) -> (u64, u64, usize) {
        let value: serde_json::Value = serde_json::from_slice(&journal.render(after)).expect("JSON");
        let number = |key: &str| value[key].as_u64().expect("a number");
        (number("next"), number("missed"), value["events"].as_array().expect("events").len())
    }

    #[test]
    fn readers_are_told_a_few_at_a_time_and_what_they_missed() {
        let mut journal = Journal::default();
        let count = MAX_EVENTS as u64 + 10;
        (0..count).for_each(|height| {
            journal.push(Event::Added(AddedBlock { height, hash: B256::ZERO, transactions: 0 }));
        });
        assert_eq!(returned(&journal, 0), (10 + 1024, 10, 1024));
        assert_eq!(returned(&journal, 10), (10 + 1024, 0, 1024));
        assert_eq!(returned(&journal, count - 1), (count, 0, 1));
        assert_eq!(returned(&journal, count), (count, 0, 0));
        // A number from another life of the node.
        assert_eq!(returned(&journal, count + 5), (count, 0, 0));
        journal.forget();
        assert_eq!(returned(&journal, count), (count + 1, 1, 0));
    }
}
