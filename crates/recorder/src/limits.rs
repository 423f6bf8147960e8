//! The bounds of a trace: time, memory, and cancellation by its client.

use crate::script_host::ScriptHost;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Default time for the trace of one transaction, as in go-ethereum (eth/tracers/api.go:
/// defaultTraceTimeout).
pub const DEFAULT_TRACE_TIMEOUT: Duration = Duration::from_secs(5);

/// Default time for a whole call, including the time in which it waits for its reader.
pub const DEFAULT_CALL_TIMEOUT: Duration = Duration::from_secs(300);

/// Bytes that the recording of one transaction may take: frames, logs, inputs and outputs.
pub const DEFAULT_RECORDING_LIMIT_BYTES: usize = 1 << 30;

/// A flag that ends a trace from another thread: the client is gone, or the node stops.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops every trace that holds this flag.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the flag is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// As a flag that is there already.
    pub fn of(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }

    /// The flag itself, for work that looks at one.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }
}

/// Answers a request at the deadline of its transaction where the thread that traces cannot: on a
/// busy machine that thread may wait for a processor for tens of milliseconds.
pub trait DeadlineAlarm: std::fmt::Debug + Send + Sync {
    /// The execution of a transaction has begun, and may take until `deadline`.
    fn arm(&self, deadline: Instant);

    /// The execution is over: the rest of the answer has no deadline.
    fn disarm(&self);
}

/// Bounds of one call: of each of its transactions, and of all together.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Time for one transaction, without the time spent waiting for the reader. The drivers set it
    /// to that of the plan.
    pub timeout: Duration,
    /// When the call began.
    pub started: Instant,
    /// Time for the whole call; a longer `timeout` raises it.
    pub call_timeout: Duration,
    /// Bytes for one transaction's recording.
    pub recording_bytes: usize,
    /// Bytes for one transaction's struct logs; `None` for no cap.
    pub struct_log_bytes: Option<NonZeroU64>,
    /// Ends the trace early.
    pub cancel: Cancel,
    /// Who runs JavaScript tracers; `None` where they do not run.
    pub scripts: Option<Arc<dyn ScriptHost>>,
    /// Where the timeout of a transaction is the answer to the whole request.
    pub alarm: Option<Arc<dyn DeadlineAlarm>>,
}

impl Limits {
    /// Whether the call has taken all of its time.
    pub fn call_is_over(&self) -> bool {
        self.call_is_over_at(Instant::now())
    }

    /// Whether it has at a time.
    pub fn call_is_over_at(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.started) >= self.call_timeout.max(self.timeout)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: DEFAULT_TRACE_TIMEOUT,
            started: Instant::now(),
            call_timeout: DEFAULT_CALL_TIMEOUT,
            recording_bytes: DEFAULT_RECORDING_LIMIT_BYTES,
            struct_log_bytes: None,
            cancel: Cancel::new(),
            scripts: None,
            alarm: None,
        }
    }
}
