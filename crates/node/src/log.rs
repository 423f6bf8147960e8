//! What operators should read, until somebody takes it.

use parking_lot::Mutex;
use serde::Serialize;
use std::collections::VecDeque;

/// Entries that wait; the oldest goes when there are more.
const MAX_ENTRIES: usize = 256;

/// How much an entry matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// For those who look for a cause.
    Debug,
    /// What happened, in the ordinary run of things.
    Info,
    /// Something that an operator may have to look at.
    Warn,
    /// Something that failed.
    Error,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogEntry {
    /// How much it matters.
    pub level: Level,
    /// Which part of the node says it.
    pub room: &'static str,
    /// One sentence.
    pub message: String,
}

#[derive(Debug, Default)]
struct State {
    entries: VecDeque<LogEntry>,
    /// Entries that went before anybody took them.
    lost: u64,
}

/// Entries that wait.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<State>);

impl Log {
    /// Adds an entry.
    pub fn add(&self, level: Level, room: &'static str, message: impl Into<String>) {
        let mut state = self.0.lock();
        if state.entries.len() == MAX_ENTRIES {
            state.entries.pop_front();
            state.lost += 1;
        }
        state.entries.push_back(LogEntry { level, room, message: message.into() });
    }

    /// Takes all, the oldest first; how many were lost before them is an entry of its own.
    pub fn take(&self) -> Vec<LogEntry> {
        let State { entries, lost } = std::mem::take(&mut *self.0.lock());
        let told = (lost > 0).then(|| LogEntry {
            level: Level::Warn,
            room: "log",
            message: format!("{lost} entries of the log were lost: more came than were taken"),
        });
        told.into_iter().chain(entries).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_entries_wait_are_taken_once_and_say_how_many_went() {
        let log = Log::default();
        for n in 0..MAX_ENTRIES + 2 {
            log.add(Level::Info, "test", n.to_string());
        }
        let taken = log.take();
        assert_eq!(taken.len(), MAX_ENTRIES + 1);
        assert_eq!((taken[0].level, taken[0].room), (Level::Warn, "log"));
        assert!(taken[0].message.starts_with("2 entries"), "{}", taken[0].message);
        assert_eq!(taken[1].message, "2");
        assert!(log.take().is_empty());
        log.add(Level::Error, "test", "one");
        let json = serde_json::to_string(&log.take()).expect("serialises");
        assert_eq!(json, r#"[{"level":"error","room":"test","message":"one"}]"#);
    }
}
