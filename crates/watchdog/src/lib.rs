//! A thread beside the main thread of a process: it ends the process after SIGTERM or SIGINT where
//! the main thread does not, and reports when the event loop of the main thread stands still.
//!
//! - [`start`] puts a handler in front of the one that handles SIGTERM and SIGINT already, and
//!   calls that one too.
//! - The main thread writes to [`Cells`]: a count that goes up while its event loop turns, a number
//!   for what it began last, and the phase of the process. A write is one store to memory.
//! - What is guarded ([`Guarded`]) is closed on a thread of its own, for [`CLOSE_MAX`] at most;
//!   then the process ends, whatever its other threads do.
//!
//! Must not be in here: stores, the event loop itself, settings.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cells;
mod line;
mod policy;
mod signals;
mod thread;

pub use cells::{CELLS, Cells};
pub use line::{Format, Level};
pub use policy::{LIVE_GRACE, SECOND_SIGNAL_GRACE, STALL, STOP_GRACE};
pub use thread::{CLOSE_MAX, Guarded, start};

use serde::Deserialize;
use std::io;

/// What the watchdog is started with.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Options {
    /// Names of what the main thread may begin, by number; the first one is that of nothing.
    pub names: Vec<String>,
    /// Time between two beats of the event loop, in milliseconds.
    pub beat_ms: u64,
    /// Time after a signal in which the ordinary stop ends every answer, in milliseconds.
    pub stop_ms: u64,
    /// Exit code of a process that the watchdog ends.
    pub cut_short_code: i32,
    /// Exit code of a process that a second signal ends.
    pub stopped_code: i32,
    /// How lines of the log are written.
    pub format: Format,
    /// Lines that matter less are not written.
    pub level: Level,
}

impl Options {
    /// Reads them from JSON.
    ///
    /// # Errors
    /// [`WatchdogError::Options`].
    pub fn from_json(json: &str) -> Result<Self, WatchdogError> {
        serde_json::from_str(json).map_err(WatchdogError::Options)
    }
}

/// Why there is no watchdog.
#[derive(Debug, thiserror::Error)]
pub enum WatchdogError {
    /// The options do not read.
    #[error("options of the watchdog: {0}")]
    Options(serde_json::Error),
    /// A process has one at most.
    #[error("this process has a watchdog already")]
    Started,
    /// The signal has no handler, so there is no regular shutdown to wait for.
    #[error("signal {signal} has no handler")]
    NoHandler {
        /// The signal's number.
        signal: i32,
    },
    /// The system refuses a handler.
    #[error("no handler for signal {signal}: {error}")]
    Signal {
        /// The signal's number.
        signal: i32,
        /// What the system said.
        error: io::Error,
    },
    /// The system refuses a thread.
    #[error("no thread: {0}")]
    Thread(io::Error),
}
