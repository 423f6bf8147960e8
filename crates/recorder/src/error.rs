//! What can go wrong with a trace.

use crate::duration::DurationError;
use crate::sink::SinkClosed;
use hearth_primitives::Failure;

/// A trace configuration that does not decode. The texts are those of Go's decoder
/// (encoding/json/decode.go: UnmarshalTypeError.Error).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text is no JSON.
    #[error("{0}")]
    Syntax(String),
    /// A value has the wrong type for the whole configuration.
    #[error("json: cannot unmarshal {got} into Go value of type {wanted}")]
    Value {
        /// What came, in the words of Go's decoder: `string`, `array`, `number -1` …
        got: String,
        /// The Go type that go-ethereum names.
        wanted: &'static str,
    },
    /// A value has the wrong type for its field.
    #[error("json: cannot unmarshal {got} into Go struct field {field} of type {wanted}")]
    Field {
        /// What came, in the words of Go's decoder.
        got: String,
        /// Struct and path of the field, as go-ethereum names it.
        field: &'static str,
        /// The Go type that go-ethereum names.
        wanted: &'static str,
    },
    /// prestateTracer's diff shows what is new by leaving out what was empty.
    #[error("cannot use diffMode with includeEmpty")]
    DiffWithEmpty,
    /// muxTracer with too many tracers, or too deeply nested.
    #[error("muxTracer takes at most {limit} tracers and {depth_limit} levels")]
    TooManyTracers {
        /// Most tracers.
        limit: usize,
        /// Most muxTracers within each other.
        depth_limit: usize,
    },
}

/// A trace that could not be made.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TraceError {
    /// The configuration does not decode.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// `timeout` is no duration.
    #[error(transparent)]
    Timeout(#[from] DurationError),
    /// JavaScript where only built-in tracers run.
    #[error("JavaScript tracers are not available; available: {available}")]
    JavaScript {
        /// Names that work, separated by commas.
        available: String,
    },
    /// What a JavaScript tracer says, or why it cannot continue.
    #[error("{0}")]
    Script(String),
    /// As many JavaScript tracers wait as may.
    #[error("{message}")]
    ScriptsBusy {
        /// The limit, named with its value.
        message: String,
    },
    /// A word that is neither a known tracer nor JavaScript source.
    #[error("unknown tracer {name:?}; known: {known}")]
    UnknownTracer {
        /// The requested name, truncated if it is long.
        name: String,
        /// Names known, separated by commas.
        known: String,
    },
    /// The transaction took longer than `timeout` allows.
    #[error("execution timeout")]
    ExecutionTimeout,
    /// The whole call took longer than a call may.
    #[error("trace call timeout")]
    CallTimeout,
    /// The client cancelled the request or left.
    #[error("trace cancelled")]
    Cancelled,
    /// The recording is larger than allowed.
    #[error("trace is larger than {limit_bytes} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit_bytes: usize,
    },
    /// Struct logs within muxTracer are larger than what may wait for the transaction's end.
    #[error(
        "the steps of opcodeTracer within muxTracer take more than {limit_bytes} bytes: set its limit, or use it alone"
    )]
    StepsTooLarge {
        /// The limit in bytes.
        limit_bytes: usize,
    },
    /// Struct logs are larger than the node allows.
    #[error(
        "the struct logs of the transaction are larger than {limit_bytes} bytes, the most that this node allows"
    )]
    StructLogsTooLarge {
        /// The limit in bytes.
        limit_bytes: u64,
    },
    /// The block has no such transaction.
    #[error("transaction index {index} is out of range: the block has {count}")]
    IndexOutOfRange {
        /// The requested index.
        index: usize,
        /// Number of transactions.
        count: usize,
    },
    /// The transaction could not be executed.
    #[error("tracing failed: {0}")]
    Execution(String),
    /// The block around the transaction could not be executed, or its state not be read.
    #[error(transparent)]
    Replay(Failure),
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Replay(failure) => failure,
            other => Self::open(other),
        }
    }
}

impl From<SinkClosed> for TraceError {
    fn from(_: SinkClosed) -> Self {
        Self::Cancelled
    }
}

impl TraceError {
    /// Whether the next transaction of the block can still be traced after this error.
    pub fn is_local(&self) -> bool {
        matches!(
            self,
            Self::ExecutionTimeout
                | Self::TooLarge { .. }
                | Self::StepsTooLarge { .. }
                | Self::StructLogsTooLarge { .. }
                | Self::Execution(_)
                | Self::Script(_)
                | Self::ScriptsBusy { .. }
        )
    }
}
