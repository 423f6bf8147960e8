//! Traces that are computed ahead of requests: the worker that bakes each new block, and the cache
//! that keeps the answers.
//!
//! - [`BakedTracer`] and [`BlockKey`] say what a baked answer is of; a row that names another block
//!   can never be served.
//! - `worker` decides who bakes when: queue, threads, catch-up, gaps, retries.
//! - `store` is what a baked block is on disk, and how requests are answered from it.
//!
//! Must not be in here: how a block is executed (that comes through a trait), JSON-RPC envelopes,
//! HTTP.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod block_key;
mod error;
mod store;
mod tracer;
mod worker;

pub use block_key::BlockKey;
pub use error::BakeError;
pub use store::{
    AnswerBuilder, AnswerBytes, BakedAnswer, BakedBlock, DEFAULT_LEVEL, Found, GzipAnswer, MAX_ANSWER_BYTES,
    MAX_LEVEL, OWN_PIECE_BYTES, Part, PartAtOnce, PlainAnswer, TraceDb, TraceDbOptions,
};
pub use tracer::BakedTracer;
pub use worker::{
    BakeFailure, BakeOptions, BakeSource, BakeWorker, Baked, DISK_FULL_PAUSE, KEEP_EVERY, MAX_FAILED_HEIGHTS,
    MAX_FINISHED_AHEAD, MAX_RANGE_FAILURES, MAX_RANGES, MAX_RETRIES, Notice, RETRY_AFTER, RangeControl,
    RangeFailure, RangeProgress, SCAN_GAPS, SCAN_HEIGHTS,
};
