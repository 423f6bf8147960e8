//! What bounds a trace: time, memory, and whoever asked for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time that one transaction's trace may take where the configuration says nothing, as go-ethereum's default.
pub const DEFAULT_TRACE_TIMEOUT: Duration = Duration::from_secs(5);

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

    /// Asks every trace that holds this flag to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Bounds of the recording of one transaction.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Time for one transaction. The drivers put the plan's in its place.
    pub timeout: Duration,
    /// Bytes for one transaction's recording.
    pub recording_bytes: usize,
    /// Ends the trace early.
    pub cancel: Cancel,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: DEFAULT_TRACE_TIMEOUT,
            recording_bytes: DEFAULT_RECORDING_LIMIT_BYTES,
            cancel: Cancel::new(),
        }
    }
}
