//! Lines of the log as the log of the main thread writes them, while that thread cannot.

use serde::Deserialize;
use serde_json::Value;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The part of the node that the lines are of.
const COMPONENT: &str = "node";

/// How lines are written.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// An object a line.
    Json,
    /// Words for readers.
    Text,
}

/// How much a line matters.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// No line is of this level.
    Silent,
    /// Something failed.
    Error,
    /// An operator may have to look at it.
    Warn,
    /// The ordinary run of things.
    Info,
    /// Details for debugging.
    Debug,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Self::Silent => "silent",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// One line.
pub(crate) struct Line {
    pub level: Level,
    pub message: &'static str,
    pub fields: Vec<(&'static str, Value)>,
}

impl Line {
    pub fn new(level: Level, message: &'static str) -> Self {
        Self { level, message, fields: Vec::new() }
    }

    #[must_use]
    pub fn text(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, Value::String(value.into())));
        self
    }

    /// With how long it took, to a hundredth of a second.
    #[must_use]
    pub fn seconds(mut self, name: &'static str, value: Duration) -> Self {
        self.fields.push((name, Value::from((value.as_secs_f64() * 100.0).round() / 100.0)));
        self
    }

    /// The line, with its end.
    pub fn written(&self, format: Format, now: SystemTime) -> String {
        let (time, level) = (iso(now), self.level.name());
        let fields = self.fields.iter();
        match format {
            Format::Json => {
                let fields: String = fields.map(|(name, value)| format!(r#","{name}":{value}"#)).collect();
                let message = Value::from(self.message);
                format!(
                    r#"{{"level":"{level}","time":"{time}","component":"{COMPONENT}"{fields},"msg":{message}}}"#
                ) + "\n"
            }
            Format::Text => {
                let fields: String =
                    fields.map(|(name, value)| format!(" {name}={}", shown(value))).collect();
                format!("{time} {} {COMPONENT} {}{fields}\n", level.to_uppercase(), self.message)
            }
        }
    }
}

/// Words that need no quotes stand without.
fn shown(value: &Value) -> String {
    match value.as_str() {
        Some(word)
            if !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || "\"=".contains(c)) =>
        {
            word.to_owned()
        }
        _ => value.to_string(),
    }
}

/// A time as ISO 8601 in UTC, to milliseconds.
fn iso(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, millis) = (since.as_secs(), since.subsec_millis());
    let (day, of_day) = (seconds / 86_400, seconds % 86_400);
    // Days from 0000-03-01 on: the leap day is the last one of a year then, and 400 years have
    // 146,097 days.
    let day = day + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        let at = |ms: u64| iso(UNIX_EPOCH + Duration::from_millis(ms));
        // As `date -u -d @SECONDS` gives them.
        assert_eq!(at(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_399_999), "2000-02-28T23:59:59.999Z");
        assert_eq!(at(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(at(1_798_761_599_001), "2026-12-31T23:59:59.001Z");
        assert_eq!(at(4_107_542_400_000), "2100-03-01T00:00:00.000Z");
    }

    #[test]
    fn lines_are_those_of_the_log() {
        let line = Line::new(Level::Warn, "the event loop stalls")
            .seconds("seconds", Duration::from_millis(1254))
            .text("began", "eth_call")
            .text("why", "a \"b\"");
        let now = UNIX_EPOCH + Duration::from_millis(7);
        assert_eq!(
            line.written(Format::Json, now),
            "{\"level\":\"warn\",\"time\":\"1970-01-01T00:00:00.007Z\",\"component\":\"node\",\"seconds\":1.25,\
             \"began\":\"eth_call\",\"why\":\"a \\\"b\\\"\",\"msg\":\"the event loop stalls\"}\n"
        );
        assert_eq!(
            line.written(Format::Text, now),
            "1970-01-01T00:00:00.007Z WARN node the event loop stalls seconds=1.25 began=eth_call \
             why=\"a \\\"b\\\"\"\n"
        );
    }
}
