//! The contract of a tracer, and how to add one.
//!
//! A tracer observes one transaction at a time as a revm [`Inspector`] over [`EvmContext`] and then
//! writes its result:
//!
//! ```text
//! begin(tx) ─► Inspector hooks ─► finish(end) ─► render(json)  once per transaction, in order
//!           └► nothing more if the transaction was aborted or is invalid; the next call is begin
//! ```
//!
//! - The driver polls [`Observed`] while the transaction runs. The driver itself counts
//!   instructions, checks the clock, the cancel flag and [`Observed::size_bytes`], and stops the
//!   transaction: a tracer never does.
//! - [`Tracing`] is a tracer that records and is rendered afterwards. Its value lives for a whole
//!   block, so that its memory is reused; `begin` must reset it. The trait is object safe: several
//!   tracers can observe one execution as `Box<dyn Tracing>`.
//! - A tracer that only renders call frames is a [`crate::FrameView`]: several of them share one
//!   recording.
//! - The struct logger writes while the transaction runs and does not implement [`Tracing`]; see
//!   `struct_logger`.
//!
//! To add a tracer: its file and its row in `table`. Keys may be rendered in any order; no trailing
//! white space.
//!
//! What hooks can see: the transaction's environment is `context.tx()`, the block's is
//! `context.block()`, the rules `context.cfg().spec()`; `context.db_mut()` is the block's state
//! before the transaction (it does not change before the transaction has ended), the journal
//! contains the transaction's changes so far.

use crate::error::TraceError;
use crate::json::JsonWriter;
use crate::limits::Limits;
use crate::state_reads::StateReads;
use alloy_primitives::{Address, B256, Bytes};
use hearth_evm::{EvmContext, Fork};
use hearth_primitives::Changeset;
use revm::Inspector;
use std::time::Duration;

/// Where a transaction stands, and under which rules it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxContext {
    /// Hash of the block; zero where there is none yet.
    pub block_hash: B256,
    /// Number of the block.
    pub block_number: u64,
    /// Hash of the transaction; zero for a call that is no transaction.
    pub hash: B256,
    /// Index of the transaction within the block.
    pub index: u64,
    /// Who gets the block's fees.
    pub coinbase: Address,
    /// Rules in force.
    pub fork: Fork,
    /// Base fee in wei; `None` before London.
    pub base_fee: Option<u64>,
    /// Sender.
    pub from: Address,
    /// Wei for a unit of gas that the sender pays, base fee included.
    pub gas_price: u128,
    /// Gas limit.
    pub gas_limit: u64,
    /// Number of logs of the block before the transaction.
    pub log_base: u64,
}

/// How a transaction ended.
#[derive(Clone, Debug)]
pub struct TxEnd<'a> {
    /// Gas limit.
    pub gas_limit: u64,
    /// Gas used, after refunds.
    pub gas_used: u64,
    /// Whether the receipt says that it succeeded.
    pub success: bool,
    /// Whether it ended with REVERT.
    pub reverted: bool,
    /// Return data, the data of a REVERT, or deployed code.
    pub output: Bytes,
    /// The contract that it made.
    pub created: Option<Address>,
    /// Everything that it changed, fees and refunds included.
    pub writes: &'a Changeset,
}

/// A tracer as the driver sees it while a transaction runs.
pub trait Observed: for<'a> Inspector<EvmContext<'a>> {
    /// Memory of this transaction's recording so far, in bytes; bounded by [`crate::Limits`].
    fn size_bytes(&self) -> usize {
        0
    }

    /// Time that this transaction has spent waiting for the reader of the result; it does not count
    /// against `timeout`.
    fn waited(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether the result is no longer needed.
    fn is_closed(&self) -> bool {
        false
    }

    /// Bytes of struct logs of this transaction so far; bounded by [`crate::Limits`].
    fn step_bytes(&self) -> u64 {
        0
    }

    /// Why there cannot be a result, once the tracer knows. Polled during the execution, and at the
    /// end.
    fn failure(&self) -> Option<TraceError> {
        None
    }
}

/// A tracer that records and is rendered afterwards.
pub trait Tracing: Observed {
    /// Acquires the resources that the tracer needs besides the execution, before any byte of the
    /// answer is written. Without `blocking` it takes only resources that are free at once, and
    /// returns whether it got them.
    ///
    /// # Errors
    /// Why the resources cannot be acquired.
    fn open(&mut self, _limits: &Limits, _blocking: bool) -> Result<bool, TraceError> {
        Ok(true)
    }

    /// Resets the tracer for the next transaction.
    fn begin(&mut self, tx: &TxContext);

    /// Completes the recording. Not called where the transaction was aborted or is invalid.
    fn finish(&mut self, end: &TxEnd<'_>);

    /// Called after [`Tracing::finish`], with the state after the transaction.
    fn after_transaction(&mut self, _state: &mut dyn StateReads) {}

    /// Whether the transaction, which [`Observed::failure`] stopped, is to be executed once more.
    fn needs_rerun(&self) -> bool {
        false
    }

    /// There is no result of this transaction, because of this.
    fn abort(&mut self, _error: &TraceError) {}

    /// Writes the result: one JSON value.
    fn render(&mut self, json: &mut JsonWriter<'_>);
}
