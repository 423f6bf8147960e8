//! Drivers: a block or one of its transactions, from a replay to JSON bytes.

use crate::call_tracer::render;
use crate::config::TracePlan;
use crate::error::TraceError;
use crate::json::JsonWriter;
use crate::limits::Limits;
use crate::recorder::{Abort, Recorder};
use crate::sink::Sink;
use alloy_primitives::B256;

/// What the receipt of a recorded transaction says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxEnd {
    /// Gas limit of the transaction.
    pub gas_limit: u64,
    /// Gas used, after refunds.
    pub gas_used: u64,
}

/// Runs the transactions of one block, each on the state right before it. How the state gets there is the
/// implementation's business: by executing what comes before, or straight from recorded write sets.
pub trait Replay {
    /// Number of transactions.
    fn count(&self) -> usize;

    /// Hash of a transaction.
    fn hash(&self, index: usize) -> B256;

    /// Gets ready for transaction `index` and returns the number of logs that the block has before it.
    /// Indexes never go down. `should_stop` is asked between transactions that are executed on the way.
    fn seek(&mut self, index: usize, should_stop: &dyn Fn() -> bool) -> Result<u64, TraceError>;

    /// Executes the transaction that was sought, the recorder watching, and keeps its effects. After an error the
    /// transaction has no effects yet; the next `seek` executes it unwatched.
    fn record(&mut self, recorder: &mut Recorder) -> Result<TxEnd, TraceError>;
}

/// What a block trace came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockStats {
    /// Transactions with a result.
    pub traced: usize,
    /// Transactions with an error in their place.
    pub failed: usize,
    /// Bytes written.
    pub bytes: u64,
}

/// Writes `[{"txHash":…,"result":…},…]`. A transaction that fails has `error` in place of `result`, and the rest is
/// finished: what reaches the sink is valid JSON unless this returns an error.
pub fn trace_block<R: Replay + ?Sized>(
    replay: &mut R,
    plan: &TracePlan,
    limits: &Limits,
    recorder: &mut Recorder,
    sink: &mut dyn Sink,
) -> Result<BlockStats, TraceError> {
    let mut stats = BlockStats::default();
    let mut json = JsonWriter::new(sink);
    let mut broken: Option<TraceError> = None;
    json.raw(b"[");
    for index in 0..replay.count() {
        let outcome = match &broken {
            Some(error) => Err(error.clone()),
            None => record_one(replay, index, plan, limits, recorder),
        };
        if json.is_closed() || matches!(outcome, Err(TraceError::Cancelled)) {
            return Err(TraceError::Cancelled);
        }
        json.raw(if index > 0 { b",{\"txHash\":" } else { b"{\"txHash\":" });
        json.hex_bytes(replay.hash(index).as_slice());
        match outcome {
            Ok(()) => {
                json.raw(b",\"result\":");
                render(plan, recorder, &mut json);
                stats.traced += 1;
            }
            Err(error) => {
                json.raw(b",\"error\":");
                json.string(&error.to_string());
                stats.failed += 1;
                if !error.is_local() {
                    broken = Some(error);
                }
            }
        }
        json.raw(b"}");
    }
    json.raw(b"]");
    stats.bytes = json.finish()?;
    Ok(stats)
}

/// Writes the result of one transaction. Nothing reaches the sink where this returns an error other than
/// [`TraceError::Cancelled`]. Returns the number of bytes written.
pub fn trace_transaction<R: Replay + ?Sized>(
    replay: &mut R,
    index: usize,
    plan: &TracePlan,
    limits: &Limits,
    recorder: &mut Recorder,
    sink: &mut dyn Sink,
) -> Result<u64, TraceError> {
    record_one(replay, index, plan, limits, recorder)?;
    let mut json = JsonWriter::new(sink);
    render(plan, recorder, &mut json);
    Ok(json.finish()?)
}

fn record_one<R: Replay + ?Sized>(
    replay: &mut R,
    index: usize,
    plan: &TracePlan,
    limits: &Limits,
    recorder: &mut Recorder,
) -> Result<(), TraceError> {
    let count = replay.count();
    if index >= count {
        return Err(TraceError::IndexOutOfRange { index, count });
    }
    let log_base = replay.seek(index, &|| limits.cancel.is_cancelled())?;
    recorder.begin(plan.recorder_options(), &Limits { timeout: plan.timeout, ..limits.clone() }, log_base);
    let outcome = replay.record(recorder);
    match recorder.aborted() {
        Some(Abort::Timeout) => return Err(TraceError::ExecutionTimeout),
        Some(Abort::Cancelled) => return Err(TraceError::Cancelled),
        Some(Abort::TooLarge { limit_bytes }) => return Err(TraceError::TooLarge { limit_bytes }),
        None => {}
    }
    let end = outcome?;
    recorder.finish(end.gas_limit, end.gas_used);
    Ok(())
}
