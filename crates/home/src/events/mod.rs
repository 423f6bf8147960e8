//! Events of chain and pool, in order and numbered: blocks that joined or left the chain,
//! transactions that became executable. Readers request the events after a number; a late reader
//! learns how many it missed.

mod journal;

use crate::NodeError;
use hearth_chain::{AddedBlock, BlockNumHash, ChainWatcher};
use hearth_pool::{PoolEntry, PoolWatcher};
use journal::{Event, Journal};
use parking_lot::Mutex;
use std::sync::Arc;

/// Readers that may wait for the next event at the same time. One of a process is the rule.
pub const READERS_MAX: usize = 1024;

/// Gets an answer, once.
type Reader = Box<dyn FnOnce(Result<Vec<u8>, NodeError>) + Send>;

#[derive(Default)]
struct EventState {
    journal: Journal,
    /// Waiters for the next event, each with the number of its last event.
    waiting: Vec<(u64, Reader)>,
    closed: bool,
}

/// The events of an open home.
#[derive(Default)]
pub struct Events(Mutex<EventState>);

impl Events {
    /// Answers with `{"next":…,"missed":…,"events":[…]}`: the events after the first `after`, at
    /// most a few at a time, and how many of those are no longer kept. Waits for the first one if
    /// `wait` is set, unless [`READERS_MAX`] readers wait already: then it is [`NodeError::Busy`].
    pub fn after(&self, after: u64, wait: bool, reader: Reader) {
        let mut state = self.0.lock();
        if state.closed {
            drop(state);
            return reader(Err(NodeError::Closed));
        }
        if wait && after >= state.journal.next() {
            if state.waiting.len() < READERS_MAX {
                return state.waiting.push((after, reader));
            }
            drop(state);
            return reader(Err(NodeError::Busy { pool: "events", queue: READERS_MAX }));
        }
        let answer = state.journal.render(after);
        drop(state);
        reader(Ok(answer));
    }

    /// Refuses waiting and later readers.
    pub fn close(&self) {
        let mut state = self.0.lock();
        state.closed = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(|(_, reader)| reader(Err(NodeError::Closed)));
    }

    fn add(&self, add: impl FnOnce(&mut Journal)) {
        let mut state = self.0.lock();
        add(&mut state.journal);
        let waiting = std::mem::take(&mut state.waiting);
        let answers: Vec<_> =
            waiting.into_iter().map(|(after, reader)| (state.journal.render(after), reader)).collect();
        // Readers are called without the lock: one may call back at once.
        drop(state);
        answers.into_iter().for_each(|(answer, reader)| reader(Ok(answer)));
    }
}

impl ChainWatcher for Events {
    fn head_moved(&self, removed: &[BlockNumHash], added: &[AddedBlock]) {
        self.add(|journal| {
            removed.iter().for_each(|(number, hash)| journal.push(Event::Removed(*number, *hash)));
            added.iter().for_each(|block| journal.push(Event::Added(*block)));
        });
    }

    fn head_lost(&self) {
        self.add(Journal::forget);
    }
}

impl PoolWatcher for Events {
    fn executable(&self, entry: &Arc<PoolEntry>) {
        self.add(|journal| journal.push(Event::Transaction(entry.hash)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::B256;
    use std::sync::mpsc;

    fn ask(events: &Events, after: u64, wait: bool) -> mpsc::Receiver<Result<serde_json::Value, NodeError>> {
        let (sender, receiver) = mpsc::channel();
        let tell = move |answer: Result<Vec<u8>, NodeError>| {
            let parsed = answer.map(|bytes| serde_json::from_slice(&bytes).expect("JSON"));
            sender.send(parsed).expect("somebody listens");
        };
        events.after(after, wait, Box::new(tell));
        receiver
    }

    #[test]
    fn who_waits_is_told_of_all_that_came_at_once() {
        let events = Events::default();
        let waiting = ask(&events, 0, true);
        assert!(waiting.try_recv().is_err(), "nothing has come");
        let at_once = ask(&events, 0, false).try_recv().expect("answered").expect("open");
        assert_eq!(at_once, serde_json::json!({ "next": 0, "missed": 0, "events": [] }));
        let (a, b) = (B256::repeat_byte(1), B256::repeat_byte(2));
        let added = AddedBlock { height: 7, hash: b, transactions: 3 };
        events.head_moved(&[(7, a)], &[added]);
        let page = waiting.try_recv().expect("sent").expect("open");
        let want = serde_json::json!([["removed", 7, a], ["added", 7, b, 3]]);
        assert_eq!(page, serde_json::json!({ "next": 2, "missed": 0, "events": want }));
        let rest = ask(&events, 1, true).try_recv().expect("there already").expect("open");
        assert_eq!(rest["events"], serde_json::json!([["added", 7, b, 3]]));
    }

    #[test]
    fn who_asks_after_the_end_is_refused() {
        let events = Events::default();
        let waiting = ask(&events, 0, true);
        events.close();
        assert!(matches!(waiting.try_recv(), Ok(Err(NodeError::Closed))));
        assert!(matches!(ask(&events, 0, false).try_recv(), Ok(Err(NodeError::Closed))));
    }

    #[test]
    fn only_so_many_readers_wait() {
        let events = Events::default();
        let waiting: Vec<_> = (0..READERS_MAX).map(|_| ask(&events, 0, true)).collect();
        let refused = ask(&events, 0, true).try_recv().expect("refused at once");
        let Err(NodeError::Busy { pool, queue }) = refused else { panic!("{refused:?}") };
        assert_eq!((pool, queue), ("events", 1024));
        assert!(ask(&events, 0, false).try_recv().expect("answered").is_ok(), "it does not wait");
        events.head_lost();
        let page = waiting.iter().filter(|one| matches!(one.try_recv(), Ok(Ok(_)))).count();
        assert_eq!(page, READERS_MAX);
        assert!(ask(&events, 1, true).try_recv().is_err(), "there is room again");
    }

    #[test]
    fn a_move_that_cannot_be_read_counts_as_missed() {
        let events = Events::default();
        events.head_lost();
        let page = ask(&events, 0, true).try_recv().expect("there").expect("open");
        assert_eq!((&page["next"], &page["missed"]), (&1.into(), &1.into()));
    }
}
