//! How one transaction is replayed and becomes bytes under a tracer.

use crate::error::TraceError;
use crate::json::JsonWriter;
use crate::limits::Limits;
use crate::state_reads::StateReads;
use crate::tracing::{Observed, Tracing, TxContext, TxEnd};
use crate::watch::LimitedInspector;
use alloy_primitives::B256;
use hearth_evm::EvmContext;
use revm::Inspector;

/// Runs the transactions of one block, each on the state right before it. An implementation reaches
/// that state by executing the earlier transactions, or directly from recorded write sets.
pub trait Replay {
    /// Number of transactions.
    fn count(&self) -> usize;

    /// Hash of a transaction.
    fn hash(&self, index: usize) -> B256;

    /// Prepares transaction `index` and returns its context. Indexes never decrease. `should_stop`
    /// is polled while earlier transactions are executed; once it returns true, the error is
    /// [`TraceError::Cancelled`].
    fn seek(&mut self, index: usize, should_stop: &dyn Fn() -> bool) -> Result<TxContext, TraceError>;

    /// Executes the prepared transaction under the inspector and keeps its effects. After an error
    /// the transaction has no effects; the next `seek` executes it without an inspector.
    fn record<I>(&mut self, inspector: &mut I) -> Result<TxEnd<'_>, TraceError>
    where
        I: for<'c> Inspector<EvmContext<'c>>;

    /// The state after what was executed last.
    fn state(&mut self) -> &mut dyn StateReads;
}

/// How one transaction becomes bytes under a tracer.
pub trait Engine {
    /// As [`Tracing::open`].
    fn open(&mut self, _limits: &Limits, _blocking: bool) -> Result<bool, TraceError> {
        Ok(true)
    }

    /// Executes the transaction that was sought and writes its result.
    fn run<R: Replay>(
        &mut self,
        replay: &mut R,
        tx: &TxContext,
        limits: &Limits,
        json: &mut JsonWriter<'_>,
    ) -> Result<(), TraceError>;
}

/// Records first, renders afterwards.
pub struct Recorded<T>(pub T);

impl<T: Tracing> Engine for Recorded<T> {
    fn open(&mut self, limits: &Limits, blocking: bool) -> Result<bool, TraceError> {
        self.0.open(limits, blocking)
    }

    fn run<R: Replay>(
        &mut self,
        replay: &mut R,
        tx: &TxContext,
        limits: &Limits,
        json: &mut JsonWriter<'_>,
    ) -> Result<(), TraceError> {
        record(replay, &mut self.0, tx, limits)?;
        self.0.render(json);
        Ok(())
    }
}

/// Executes the prepared transaction under a tracer until it can be rendered: some tracers need a
/// second execution.
pub fn record<R: Replay, T: Tracing>(
    replay: &mut R,
    tracer: &mut T,
    tx: &TxContext,
    limits: &Limits,
) -> Result<(), TraceError> {
    loop {
        tracer.begin(tx);
        let outcome = match tracer.failure() {
            Some(failure) => Err(failure),
            None => record_once(replay, tracer, limits),
        };
        match outcome {
            Ok(()) => break,
            Err(_) if tracer.needs_rerun() => {}
            Err(error) => {
                tracer.abort(&error);
                return Err(error);
            }
        }
    }
    tracer.after_transaction(replay.state());
    tracer.failure().map_or(Ok(()), Err)
}

fn record_once<R: Replay, T: Tracing>(
    replay: &mut R,
    tracer: &mut T,
    limits: &Limits,
) -> Result<(), TraceError> {
    let end = record_limited(replay, tracer, limits)?;
    tracer.finish(&end);
    Ok(())
}

/// Executes the prepared transaction once under a tracer, within the limits.
///
/// # Errors
/// The limit or failure that stopped the transaction; else why it could not be executed.
pub fn record_limited<'r, R: Replay, T: Observed>(
    replay: &'r mut R,
    tracer: &mut T,
    limits: &Limits,
) -> Result<TxEnd<'r>, TraceError> {
    let mut limited = LimitedInspector::new(tracer, limits.clone());
    let outcome = replay.record(&mut limited);
    limited.aborted().map_or(outcome, Err)
}

/// Gets the replay ready for a transaction.
pub fn seek_to<R: Replay>(replay: &mut R, index: usize, limits: &Limits) -> Result<TxContext, TraceError> {
    let count = replay.count();
    if index >= count {
        return Err(TraceError::IndexOutOfRange { index, count });
    }
    let should_stop = || limits.cancel.is_cancelled() || limits.call_is_over();
    replay.seek(index, &should_stop).map_err(|error| match error {
        TraceError::Cancelled if !limits.cancel.is_cancelled() => TraceError::CallTimeout,
        error => error,
    })
}
