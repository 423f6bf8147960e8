//! What is wrong with a request for steps.

use super::limits::{
    MAX_GAS_MARKS, MAX_HITS, MAX_MARKED_CODES, MAX_MEMORY_PAGE_STEPS, MAX_MEMORY_WINDOW_BYTES, MAX_PAGE_STEPS,
};
use hearth_recorder::duration::DurationError;

/// A request for steps that cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepsError {
    /// The options do not decode.
    #[error("{0}")]
    Options(String),
    /// `timeout` is no duration.
    #[error(transparent)]
    Timeout(#[from] DurationError),
    /// `to` is not greater than `from`.
    #[error("to ({to}) must be greater than from ({from})")]
    EmptyRange {
        /// First step.
        from: u64,
        /// Behind the last step.
        to: u64,
    },
    /// The range is too long.
    #[error("from {from} to {to} are more than {MAX_PAGE_STEPS} steps: request pages")]
    LongRange {
        /// First step.
        from: u64,
        /// Behind the last step.
        to: u64,
    },
    /// The range is too long for steps with memory.
    #[error("from {from} to {to} are more than {MAX_MEMORY_PAGE_STEPS} steps, the most with memory")]
    LongRangeWithMemory {
        /// First step.
        from: u64,
        /// Behind the last step.
        to: u64,
    },
    /// The window of memory is empty or too large.
    #[error("memory.length is {length}, but must be from 1 to {MAX_MEMORY_WINDOW_BYTES} bytes")]
    MemoryWindow {
        /// Bytes requested.
        length: u64,
    },
    /// `own` without `frame`.
    #[error("own needs a frame")]
    OwnWithoutFrame,
    /// Too many hits, or none, are requested.
    #[error("count is {count}, but must be from 1 to {MAX_HITS}")]
    Count {
        /// Hits requested.
        count: u64,
    },
    /// A search for nothing.
    #[error(
        "where is empty: give at least one of op, pc, address, slot, topic, depth, frame, gasCostAtLeast, error"
    )]
    EmptyWhere,
    /// No instruction has this name.
    #[error("where.op: unknown instruction {name:?}")]
    UnknownOpcode {
        /// The name, cut where it is long.
        name: String,
    },
    /// Too many marks.
    #[error(
        "marks name {pcs} places of {codes} codes, at most {MAX_GAS_MARKS} of {MAX_MARKED_CODES} are allowed"
    )]
    TooManyMarks {
        /// Places in code.
        pcs: usize,
        /// Codes.
        codes: usize,
    },
    /// A profile by frame of a whole block.
    #[error("by \"frame\" is for one transaction: frames are numbered within it")]
    FramesOfBlock,
}
