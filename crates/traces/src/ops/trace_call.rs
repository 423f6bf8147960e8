//! `debug_traceCall` and `debug_traceCallMany`.

use super::call_site::{CallReplay, CallSite};
use crate::Traces;
use crate::{
    CallBundle, TraceCall, TraceCallMany,
    trace::{Counted, trace_error},
};
use hearth_home::{BlockRef, ByteSender, Home, LookbackPolicy, NodeError};
use hearth_primitives::Height;
use hearth_tracers::{Limits, Sink, TraceError, TracePlan, trace_transaction};
use std::time::{Duration, Instant};

/// Most calls of one `debug_traceCallMany`, over all bundles.
pub const MAX_CALLS: usize = 10_000;

/// Seconds between the blocks that bundles stand for: a slot.
const BUNDLE_SECONDS: u64 = 12;

/// Traces one call.
pub fn one(
    traces: &Traces,
    asked: &TraceCall,
    plan: &TracePlan,
    limits: &Limits,
    sender: &mut ByteSender,
) -> Result<(), NodeError> {
    let index = asked.tx_index.map(|index| index.to());
    let site =
        CallSite::find(traces.home(), asked.block, index, |height| admit(traces.home(), height, sender))?;
    let reads = site.reads();
    let within = Limits { timeout: plan.timeout, ..limits.clone() };
    let session = site.session(traces, &*reads, asked.block_overrides.as_ref(), &within)?;
    let mut replay = CallReplay::new(session, traces.home().config().rpc.gas_cap);
    replay.override_state(asked.state_overrides.as_ref())?;
    replay.set(&asked.transaction)?;
    trace_transaction(&mut replay, 0, plan, limits, sender).map(drop).map_err(trace_error)
}

/// Calls read the state of their block, whatever they do.
fn admit(home: &Home, height: Height, sender: &ByteSender) -> Result<(), NodeError> {
    home.mark_height(height, sender);
    home.check_lookback(height, LookbackPolicy::Guarded)
}

/// Traces bundles of calls one after the other, each on the changes of the earlier ones. A bundle
/// represents a block: the first runs in the block's own context, each further one in that of a
/// successor block, as in reth and Erigon. Gas cap and timeout hold for the sum of all calls, so
/// that a request with many calls is no more work than one call.
pub fn many(
    traces: &Traces,
    asked: &TraceCallMany,
    plan: &TracePlan,
    limits: &Limits,
    sender: &mut ByteSender,
) -> Result<(), NodeError> {
    let started = Instant::now();
    let calls: usize = asked.bundles.iter().map(|bundle| bundle.transactions.len()).sum();
    if calls > MAX_CALLS {
        return Err(NodeError::LimitExceeded {
            message: format!("{calls} calls, at most {MAX_CALLS} are allowed"),
        });
    }
    let block = asked.block.unwrap_or_else(BlockRef::latest);
    let index = asked.transaction_index.map(|index| index.to());
    let site = CallSite::find(traces.home(), block, index, |height| admit(traces.home(), height, sender))?;
    let reads = site.reads();
    let within = Limits { timeout: plan.timeout, ..limits.clone() };
    let session = site.session(traces, &*reads, asked.block_overrides.as_ref(), &within)?;
    let mut replay = CallReplay::new(session, traces.home().config().rpc.gas_cap);
    replay.override_state(asked.state_overrides.as_ref())?;
    let timeout = plan.timeout;
    let mut out =
        Bundles { plan: plan.clone(), timeout, started, limits, sink: Counted { sender, written: 0 } };
    let mut header = site.header().clone();
    for (index, bundle) in asked.bundles.iter().enumerate() {
        if index > 0 {
            header.number = header.number.saturating_add(1);
            header.timestamp = header.timestamp.saturating_add(BUNDLE_SECONDS);
        }
        let overrides = bundle.block_overrides.as_ref().or(asked.block_overrides.as_ref());
        let hashes: Vec<_> = bundle.block_hashes.iter().map(|(number, hash)| (number.to(), *hash)).collect();
        let next = replay.in_block(&header, overrides, &hashes);
        let next =
            next.and_then(|mut next| next.override_state(bundle.state_overrides.as_ref()).map(|()| next));
        replay = match next {
            Ok(next) => next,
            Err(error) => {
                // Completes the JSON written so far: the error belongs next to it, or in its place.
                if index > 0 {
                    out.text(b"]")?;
                }
                return Err(error);
            }
        };
        out.text(if index == 0 { b"[[" } else { b",[" })?;
        out.bundle(&mut replay, bundle)?;
        out.text(b"]")?;
    }
    out.text(if asked.bundles.is_empty() { b"[]" } else { b"]" })
}

/// Writes bundles.
struct Bundles<'a> {
    /// The tracer; its timeout is what is left for the next call.
    plan: TracePlan,
    /// Time for all calls together, without waiting for the reader.
    timeout: Duration,
    started: Instant,
    limits: &'a Limits,
    sink: Counted<'a>,
}

impl Bundles<'_> {
    /// Writes one result per call. A call that cannot be traced has `{"error":…}` as its result,
    /// and the remaining calls follow.
    fn bundle(&mut self, replay: &mut CallReplay<'_>, bundle: &CallBundle) -> Result<(), NodeError> {
        for (index, request) in bundle.transactions.iter().enumerate() {
            if index > 0 {
                self.text(b",")?;
            }
            let before = self.sink.written;
            let ready = self.take_time().and_then(|()| replay.set(request));
            let outcome = ready.and_then(|()| {
                trace_transaction(replay, 0, &self.plan, self.limits, &mut self.sink).map_err(trace_error)
            });
            let Err(error) = outcome else { continue };
            if self.limits.cancel.is_cancelled() {
                return Err(error);
            }
            if self.sink.written > before {
                // A complete JSON value that ended early: the error belongs next to the answer,
                // which ends here.
                self.text(b"]]")?;
                return Err(error);
            }
            let failed = serde_json::json!({ "error": error.to_string() }).to_string();
            self.text(failed.as_bytes())?;
        }
        Ok(())
    }

    /// Gives the next call the time that is left; fails where nothing is.
    fn take_time(&mut self) -> Result<(), NodeError> {
        let taken = self.started.elapsed().saturating_sub(self.sink.sender.stalled());
        self.plan.timeout = self.timeout.saturating_sub(taken);
        if self.plan.timeout.is_zero() {
            return Err(trace_error(TraceError::ExecutionTimeout));
        }
        Ok(())
    }

    fn text(&mut self, bytes: &[u8]) -> Result<(), NodeError> {
        self.sink.write(bytes).map_err(|_| trace_error(TraceError::Cancelled))
    }
}
