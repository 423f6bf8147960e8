//! Log entries of the stores for operators, kept until the node takes and writes them.

use parking_lot::Mutex;
use serde::{Serialize, Serializer, ser::SerializeMap};
use std::{
    borrow::Cow,
    collections::VecDeque,
    fmt,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Entries that wait; the oldest goes when there are more.
const MAX_ENTRIES: usize = 256;

/// How much an entry matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Details for debugging.
    Debug,
    /// What happened, in the ordinary run of things.
    Info,
    /// Something that an operator may have to look at.
    Warn,
    /// Something that failed.
    Error,
}

/// A value that belongs to an entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum LogValue {
    /// A height, a size of now: of two entries that are merged, the newer one's counts.
    Number(u64),
    /// How many: of two entries that are merged, the sum counts.
    Count(u64),
    /// How long, in seconds: of two entries that are merged, the sum counts.
    Seconds(f64),
    /// Words.
    Text(String),
}

impl LogValue {
    fn merge(&mut self, newer: Self) {
        match (&mut *self, newer) {
            (Self::Count(sum), Self::Count(more)) => *sum = sum.saturating_add(more),
            (Self::Seconds(sum), Self::Seconds(more)) => *sum = milliseconds(*sum + more),
            (_, newer) => *self = newer,
        }
    }
}

/// Seconds as a log has them: finer than a millisecond says nothing.
fn milliseconds(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// One entry. Two are equal where they say the same, whenever that was.
#[derive(Clone, Debug, Serialize)]
pub struct LogEntry {
    /// When it was added to a log, in milliseconds since 1970; absent before that. Of entries that
    /// became one it is the time of the first one.
    #[serde(rename = "time", skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
    /// How much it matters.
    pub level: Level,
    /// Which part of the node says it.
    pub component: &'static str,
    /// One sentence.
    pub message: Cow<'static, str>,
    /// Values by name, in the order in which they are shown.
    #[serde(serialize_with = "as_map", skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<(&'static str, LogValue)>,
}

fn as_map<S: Serializer>(fields: &[(&'static str, LogValue)], to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(fields.len()))?;
    fields.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
    map.end()
}

impl PartialEq for LogEntry {
    fn eq(&self, other: &Self) -> bool {
        (self.level, self.component, &self.message, &self.fields)
            == (other.level, other.component, &other.message, &other.fields)
    }
}

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl LogEntry {
    /// An entry without values.
    pub fn new(level: Level, component: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { time_ms: None, level, component, message: message.into(), fields: Vec::new() }
    }

    fn with(mut self, name: &'static str, value: LogValue) -> Self {
        self.fields.push((name, value));
        self
    }

    /// With a height, or another number that stands for now.
    #[must_use]
    pub fn number(self, name: &'static str, value: u64) -> Self {
        self.with(name, LogValue::Number(value))
    }

    /// With how many of something.
    #[must_use]
    pub fn count(self, name: &'static str, value: u64) -> Self {
        self.with(name, LogValue::Count(value))
    }

    /// With how long it took, under the name `seconds`.
    #[must_use]
    pub fn seconds(self, value: Duration) -> Self {
        self.with("seconds", LogValue::Seconds(milliseconds(value.as_secs_f64())))
    }

    /// With words.
    #[must_use]
    pub fn text(self, name: &'static str, value: impl fmt::Display) -> Self {
        self.with(name, LogValue::Text(value.to_string()))
    }

    fn is_like(&self, other: &Self) -> bool {
        let names = |entry: &Self| entry.fields.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        (self.level, self.component, &self.message) == (other.level, other.component, &other.message)
            && names(self) == names(other)
    }
}

#[derive(Debug, Default)]
struct State {
    entries: VecDeque<LogEntry>,
    /// Entries that went before anybody took them.
    lost: u64,
}

/// Entries that wait; cheap to clone, all clones are one log.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<State>>);

impl Log {
    /// Adds an entry.
    pub fn add(&self, mut entry: LogEntry) {
        let mut state = self.0.lock();
        // Under the lock, so that entries wait in the order of their times.
        entry.time_ms = Some(now_ms());
        if state.entries.len() == MAX_ENTRIES {
            state.entries.pop_front();
            state.lost += 1;
        }
        state.entries.push_back(entry);
    }

    /// Adds an entry of a kind that may occur thousands of times a second. If an entry with the
    /// same text is still waiting, the two become one, whose counts and seconds are sums.
    pub fn merge(&self, entry: LogEntry) {
        let mut state = self.0.lock();
        match state.entries.iter_mut().find(|there| there.is_like(&entry)) {
            Some(there) => {
                for ((_, value), (_, newer)) in there.fields.iter_mut().zip(entry.fields) {
                    value.merge(newer);
                }
            }
            None => {
                drop(state);
                self.add(entry);
            }
        }
    }

    /// Takes all, the oldest first; how many were lost before them is an entry of its own.
    pub fn take(&self) -> Vec<LogEntry> {
        let State { entries, lost } = std::mem::take(&mut *self.0.lock());
        let warning = (lost > 0).then(|| {
            let why = "entries of the log were lost: more came than were taken";
            let warning = LogEntry::new(Level::Warn, "log", why).count("entries", lost);
            LogEntry { time_ms: entries.front().and_then(|oldest| oldest.time_ms), ..warning }
        });
        warning.into_iter().chain(entries).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(message: String) -> LogEntry {
        LogEntry::new(Level::Info, "stores", message)
    }

    #[test]
    fn the_newest_entries_wait_are_taken_once_and_say_how_many_went() {
        let log = Log::default();
        for n in 0..MAX_ENTRIES + 2 {
            log.add(entry(n.to_string()));
        }
        let taken = log.take();
        assert_eq!(taken.len(), MAX_ENTRIES + 1);
        assert_eq!((taken[0].level, taken[0].component), (Level::Warn, "log"));
        assert_eq!(taken[0].fields, [("entries", LogValue::Count(2))]);
        assert_eq!(taken[1].message, "2");
        assert!(log.take().is_empty());
        let one = LogEntry::new(Level::Error, "chain", "one");
        let json = serde_json::to_string(&one).unwrap();
        assert_eq!(json, r#"{"level":"error","component":"chain","message":"one"}"#);
        let before = now_ms();
        log.add(one);
        std::thread::sleep(Duration::from_millis(5));
        let time = log.take()[0].time_ms.unwrap();
        assert!((before..=now_ms() - 5).contains(&time), "when it was added, not when it is taken");
    }

    #[test]
    fn values_stand_in_their_order_as_json() {
        let log = Log::default();
        let took = Duration::from_micros(1_234_567);
        log.clone().add(entry("a snapshot".into()).number("height", 7).seconds(took).text("why", "a \"b\""));
        let taken = log.take().into_iter().map(|entry| LogEntry { time_ms: None, ..entry });
        let json = serde_json::to_string(&taken.collect::<Vec<_>>()).unwrap();
        let fields = r#"{"height":7,"seconds":1.235,"why":"a \"b\""}"#;
        assert_eq!(
            json,
            format!(r#"[{{"level":"info","component":"stores","message":"a snapshot","fields":{fields}}}]"#)
        );
    }

    #[test]
    fn what_happens_often_is_one_entry_until_that_is_taken() {
        let log = Log::default();
        let unwound = |to: u64| {
            entry("unwound".into()).number("to", to).count("blocks", 2).seconds(Duration::from_millis(300))
        };
        for to in [9, 8, 5] {
            log.merge(unwound(to));
        }
        log.merge(entry("unwound".into()).number("elsewhere", 1));
        let taken = log.take();
        assert_eq!(taken.len(), 2);
        let [to, blocks, seconds] = &taken[0].fields[..] else { panic!("{taken:?}") };
        assert_eq!((to.1.clone(), blocks.1.clone()), (LogValue::Number(5), LogValue::Count(6)));
        assert_eq!(seconds.1, LogValue::Seconds(0.9));
        log.merge(unwound(4));
        assert_eq!(log.take(), [unwound(4)], "what was taken is no more added to");
    }
}
