//! What an operator should read in the node's log.

use hearth_metrics::{Level, LogEntry};
use hearth_primitives::Height;
use std::{fmt, time::Duration};

/// Something that an operator should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The queue was full.
    Dropped {
        /// The lowest of the heights since the last notice.
        height: Height,
        /// Heights dropped since the start.
        total: u64,
    },
    /// A block could not be baked, the first time.
    Failed {
        /// Its height.
        height: Height,
        /// Why not.
        reason: String,
        /// When it is tried again.
        again_after: Option<Duration>,
    },
    /// A block could not be baked, and is not tried again before the next start.
    GivenUp {
        /// Its height.
        height: Height,
        /// Why not.
        reason: String,
    },
    /// Baking stands still.
    DiskFull {
        /// What the store said.
        reason: String,
        /// When it is tried again.
        again_after: Duration,
    },
    /// Baking continues after the disk was full.
    Resumed,
    /// Progress could not be written; after the next start more is looked at again.
    Progress {
        /// What the system said.
        reason: String,
    },
}

impl Notice {
    /// As the node's log has it: the sentence, and its values.
    pub fn entry(&self) -> LogEntry {
        let level = match self {
            Self::GivenUp { .. } | Self::DiskFull { .. } => Level::Error,
            // The end of a pause is logged, as its start was.
            Self::Resumed | Self::Dropped { .. } | Self::Failed { .. } | Self::Progress { .. } => Level::Warn,
        };
        let log_entry = LogEntry::new(level, "bake", self.to_string());
        let again =
            |log_entry: LogEntry, after: Duration| log_entry.number("againAfterSeconds", after.as_secs());
        match self {
            Self::Dropped { height, total } => log_entry.number("height", *height).number("dropped", *total),
            Self::Failed { height, again_after: Some(after), .. } => {
                again(log_entry.number("height", *height), *after)
            }
            Self::Failed { height, .. } | Self::GivenUp { height, .. } => log_entry.number("height", *height),
            Self::DiskFull { again_after, .. } => again(log_entry, *again_after),
            Self::Resumed | Self::Progress { .. } => log_entry,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dropped { height, total } => write!(
                f,
                "bake: the queue is full, block {height} is baked later ({total} dropped since the start)"
            ),
            Self::Failed { height, reason, again_after: Some(after) } => {
                write!(f, "bake: block {height}: {reason}; tried again in {} s", after.as_secs())
            }
            Self::Failed { height, reason, again_after: None } => write!(f, "bake: block {height}: {reason}"),
            Self::GivenUp { height, reason } => {
                write!(f, "bake: block {height}: {reason}; not tried again before the next start")
            }
            Self::DiskFull { reason, again_after } => write!(
                f,
                "bake: stopped, the disk is full: {reason}; tried again in {} s",
                again_after.as_secs()
            ),
            Self::Resumed => f.write_str("bake: continues, the disk has free space again"),
            Self::Progress { reason } => write!(f, "bake: progress is not kept: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_have_their_level_and_values_in_the_log() {
        let (reason, minute) = ("why".to_owned(), Duration::from_secs(60));
        let entries = [
            Notice::Dropped { height: 7, total: 3 },
            Notice::Failed { height: 8, reason: reason.clone(), again_after: Some(minute) },
            Notice::GivenUp { height: 9, reason: reason.clone() },
            Notice::DiskFull { reason, again_after: minute },
            Notice::Resumed,
        ];
        let entries: Vec<LogEntry> = entries.iter().map(Notice::entry).collect();
        let log_entry = |level, message: &str| LogEntry::new(level, "bake", message.to_owned());
        let dropped = "bake: the queue is full, block 7 is baked later (3 dropped since the start)";
        let given_up = "bake: block 9: why; not tried again before the next start";
        let full = "bake: stopped, the disk is full: why; tried again in 60 s";
        assert_eq!(
            entries,
            [
                log_entry(Level::Warn, dropped).number("height", 7).number("dropped", 3),
                log_entry(Level::Warn, "bake: block 8: why; tried again in 60 s")
                    .number("height", 8)
                    .number("againAfterSeconds", 60),
                log_entry(Level::Error, given_up).number("height", 9),
                log_entry(Level::Error, full).number("againAfterSeconds", 60),
                log_entry(Level::Warn, "bake: continues, the disk has free space again"),
            ]
        );
    }
}
