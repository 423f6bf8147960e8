//! Why there is no child, and why one is gone.

use crate::Layers;
use std::time::Duration;

fn unconfined(missing: Layers) -> String {
    format!(
        "JavaScript tracers are refused: their processes are confined without {missing} on this system, and \
         evm.trace_js_require_confinement requires it"
    )
}

/// Why a request gets no child.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// As many wait as may.
    #[error("the queue of JavaScript tracers is full ({queue} waiting)")]
    Full {
        /// The limit.
        queue: usize,
    },
    /// None became free in time.
    #[error("no process for JavaScript tracers became free in time")]
    Late,
    /// Its caller has given it up.
    #[error("the request was given up")]
    Unwanted,
    /// More children at once than the pool has.
    #[error("{wanted} JavaScript tracers in one request; this node runs at most {workers} at once")]
    TooMany {
        /// The requested number of children.
        wanted: usize,
        /// Children that there are.
        workers: usize,
    },
    /// The program cannot be started.
    #[error("the process for JavaScript tracers cannot be started: {reason}")]
    Start {
        /// Why.
        reason: String,
    },
    /// The system does not confine processes as it must.
    #[error("{}", unconfined(*missing))]
    Unconfined {
        /// The layers that do not hold and must.
        missing: Layers,
    },
    /// The pool is closed.
    #[error("the node is closing")]
    Closed,
}

/// Why a child is gone, or of no more use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// It took more memory than it may.
    #[error("the tracer ran out of memory (evm.trace_js_memory_bytes)")]
    Memory {
        /// The limit.
        limit_bytes: u64,
    },
    /// It sent a longer message than it may.
    #[error("the result of the JavaScript tracer is larger than {limit_bytes} bytes")]
    Output {
        /// The limit.
        limit_bytes: u64,
    },
    /// The system does not confine it as it must; it was given nothing to run.
    #[error("{}", unconfined(*missing))]
    Unconfined {
        /// The layers that do not hold and must.
        missing: Layers,
    },
    /// It ended by itself.
    #[error("the process of the JavaScript tracer ended unexpectedly")]
    Exited,
    /// It sent what no child sends.
    #[error("the process of the JavaScript tracer sent a message that is none")]
    Protocol,
}

/// How long a pool that closes waits for leases whose children it has killed.
pub(crate) const CLOSE_PATIENCE: Duration = Duration::from_secs(10);

/// How long a caller waits for the pool's answer beyond the end of its request.
pub(crate) const ANSWER_GRACE: Duration = Duration::from_secs(10);

/// How long the keeper sleeps at most while something waits or runs.
pub(crate) const WATCH_PERIOD: Duration = Duration::from_millis(20);
