//! `debug_traceTransactionProfile`: a trace with a profile of its time.
//!
//! ```text
//! { "trace": result of the tracer,
//!   "profile": { "totalNanos", "historicalDbLookupNanos", "otherNanos",
//!     "phases": { "lookupTransactionNanos", "loadBlockNanos", "buildBlockContextNanos",
//!                 "replayHistoricalTxsNanos", "prepareTxNanos", "executionNanos",
//!                 "traceResultNanos" },
//!     "store": { "reads": { "account", "storage", "code" },
//!                "nanos": { "account", "storage", "code" } } } }
//! ```
//!
//! All are JSON numbers; times are nanoseconds. `executionNanos` is the transaction under its
//! tracer; it includes the writing of a tracer that writes while the transaction runs, which then
//! has little in `traceResultNanos`. `historicalDbLookupNanos` is the time of reading the state
//! store in all phases. `otherNanos` is the total without execution and without the lookups outside
//! of it: lookups during the execution are not subtracted twice.

use super::timed_state::TimedState;
use crate::Traces;
use crate::{
    trace::{check_traceable, no_transaction, trace_error},
    trace_source::replay_error,
};
use alloy_primitives::B256;
use hearth_evm::EvmContext;
use hearth_home::{ByteSender, LookbackPolicy, NodeError};
use hearth_tracers::{
    BlockReplay, Limits, Replay, Sink, SinkClosed, StateReads, TraceError, TracePlan, TxContext, TxEnd,
    trace_transaction,
};
use revm::Inspector;
use std::time::Instant;

pub fn of_transaction(
    traces: &Traces,
    hash: &B256,
    plan: &TracePlan,
    limits: &Limits,
    sender: &mut ByteSender,
) -> Result<(), NodeError> {
    let mut clock = Clock::start();
    let home = traces.home();
    let (stored, index) =
        home.chain().reader().transaction(hash)?.ok_or_else(|| no_transaction(home, hash))?;
    let lookup_transaction = clock.lap();
    let block = &stored.block;
    check_traceable(block)?;
    let senders = home.senders_of(&stored)?;
    home.mark_height(block.header.number, sender);
    traces.with_source((&block.header, stored.hash), LookbackPolicy::Guarded, |source| {
        let load_block = clock.lap();
        let timed = TimedState::new(source.state());
        let to_error = |error| replay_error(&block.header, error);
        let replay = source.through(&timed).replay(home.chain().spec(), (block, stored.hash), Some(&senders));
        let mut replay = replay.map_err(to_error)?;
        let build_block_context = clock.lap();
        let within = Limits { timeout: plan.timeout, ..limits.clone() };
        let stopping = || within.cancel.is_cancelled() || within.call_is_over();
        replay.seek(index, &stopping).map_err(|error| match error {
            TraceError::Cancelled if !within.cancel.is_cancelled() => to_error(TraceError::CallTimeout),
            error => to_error(error),
        })?;
        let replay_transactions = clock.lap();
        let mut watched = TimedReplay { replay, timed: &timed, prepare: 0, execution: 0, lookups: 0 };
        let mut sink = LazyHead { sender, head: b"{\"trace\":" };
        let outcome = trace_transaction(&mut watched, index, plan, limits, &mut sink);
        let traced = clock.lap();
        if sink.is_untouched() {
            outcome.map_err(to_error)?;
            return Err(NodeError::Internal { message: "a trace gave no result".to_owned() });
        }
        let total = clock.total();
        let TimedReplay { prepare, execution, lookups, .. } = watched;
        let outside = timed.nanos().saturating_sub(lookups);
        let profile = serde_json::json!({
            "totalNanos": total,
            "historicalDbLookupNanos": timed.nanos(),
            "otherNanos": total.saturating_sub(execution).saturating_sub(outside),
            "phases": {
                "lookupTransactionNanos": lookup_transaction,
                "loadBlockNanos": load_block,
                "buildBlockContextNanos": build_block_context,
                "replayHistoricalTxsNanos": replay_transactions,
                "prepareTxNanos": prepare,
                "executionNanos": execution,
                "traceResultNanos": traced.saturating_sub(prepare).saturating_sub(execution),
            },
            "store": {
                "reads": { "account": timed.account.count(), "storage": timed.storage.count(), "code": timed.code.count() },
                "nanos": { "account": timed.account.nanos(), "storage": timed.storage.nanos(), "code": timed.code.nanos() },
            },
        });
        let tail = format!(",\"profile\":{profile}}}");
        let written = sink.write(tail.as_bytes()).map_err(|_| trace_error(TraceError::Cancelled));
        // A trace that ended early is a complete JSON value: the profile is written next to it, and
        // the error next to the answer.
        outcome.map_err(to_error).and(written)
    })
}

/// Time by phases, in nanoseconds.
struct Clock {
    began: Instant,
    lap: Instant,
}

impl Clock {
    fn start() -> Self {
        let now = Instant::now();
        Self { began: now, lap: now }
    }

    /// Nanoseconds since the last call.
    fn lap(&mut self) -> u64 {
        let now = Instant::now();
        between(std::mem::replace(&mut self.lap, now), now)
    }

    /// From the start to the last lap: the sum of all laps.
    fn total(&self) -> u64 {
        between(self.began, self.lap)
    }
}

fn nanos(since: Instant) -> u64 {
    between(since, Instant::now())
}

fn between(from: Instant, to: Instant) -> u64 {
    u64::try_from(to.duration_since(from).as_nanos()).unwrap_or(u64::MAX)
}

/// A replay with a stopwatch.
struct TimedReplay<'r, 'a> {
    replay: BlockReplay<'r>,
    timed: &'r TimedState<'a>,
    prepare: u64,
    execution: u64,
    /// Reading the store during the execution.
    lookups: u64,
}

impl Replay for TimedReplay<'_, '_> {
    fn count(&self) -> usize {
        self.replay.count()
    }

    fn hash(&self, index: usize) -> B256 {
        self.replay.hash(index)
    }

    fn seek(&mut self, index: usize, should_stop: &dyn Fn() -> bool) -> Result<TxContext, TraceError> {
        let began = Instant::now();
        let context = self.replay.seek(index, should_stop);
        self.prepare += nanos(began);
        context
    }

    fn record<I>(&mut self, inspector: &mut I) -> Result<TxEnd<'_>, TraceError>
    where
        I: for<'c> Inspector<EvmContext<'c>>,
    {
        let (began, before) = (Instant::now(), self.timed.nanos());
        let end = self.replay.record(inspector);
        self.execution += nanos(began);
        self.lookups += self.timed.nanos().saturating_sub(before);
        end
    }

    fn state(&mut self) -> &mut dyn StateReads {
        self.replay.state()
    }
}

/// Writes a header before the first bytes, and nothing if there are no bytes.
struct LazyHead<'a> {
    sender: &'a mut ByteSender,
    head: &'static [u8],
}

impl LazyHead<'_> {
    fn is_untouched(&self) -> bool {
        !self.head.is_empty()
    }
}

impl Sink for LazyHead<'_> {
    fn write(&mut self, chunk: &[u8]) -> Result<(), SinkClosed> {
        let head = std::mem::take(&mut self.head);
        Sink::write(self.sender, head)?;
        Sink::write(self.sender, chunk)
    }
}
