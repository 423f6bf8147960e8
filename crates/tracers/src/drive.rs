//! Drivers: a block or one of its transactions, from a replay to JSON bytes.

use crate::block::{BlockOutput, BlockStats, each_transaction};
use crate::element::{end_block, one, timed};
use crate::parallel::{self, OrderedOutput};
use crate::plan::TracePlan;
use crate::steps::{Profile, StepsPlan};
use crate::table::{TracerPlan, WithEngine};
use alloy_primitives::B256;
use hearth_recorder::engine::{Engine, Replay, seek_to};
use hearth_recorder::error::TraceError;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::limits::Limits;
use hearth_recorder::sink::Sink;

/// Writes `[{"txHash":…,"result":…},…]`. A transaction that fails has `error` in place of `result`,
/// and the remaining ones follow: the sink receives valid JSON unless this returns an error.
pub fn trace_block<R: Replay>(
    replay: &mut R,
    plan: &TracePlan,
    limits: &Limits,
    sink: &mut dyn Sink,
) -> Result<BlockStats, TraceError> {
    plan.tracer.with_engine(WholeBlock { replay, plan, limits, sink })
}

/// Same as [`trace_block`], on this thread and up to `helpers` more. `replay` creates a replay for
/// each of them, which must reach any transaction without executing the earlier ones, as
/// [`crate::BlockReplay::from_capsule`] does. Results that wait for their turn take at most
/// [`crate::FINISHED_BYTES`], and [`crate::KEPT_RESULT_BYTES`] per thread.
///
/// # Errors
/// Those of [`trace_block`] and of `replay`.
pub fn trace_block_in_parallel<R: Replay>(
    replay: impl Fn() -> Result<R, TraceError> + Sync,
    count: usize,
    helpers: usize,
    plan: &TracePlan,
    limits: &Limits,
    sink: &mut (dyn Sink + Send),
) -> Result<BlockStats, TraceError> {
    parallel::together(OrderedOutput::new(count, sink, plan), helpers, |line, is_helper| {
        let mut replay = replay()?;
        plan.tracer.with_engine(ParallelWork { line, is_helper, replay: &mut replay, plan, limits })
    })
}

/// Writes the result of one transaction and returns the number of bytes written.
///
/// # Errors
/// If nothing has reached the sink, the error replaces the result. If something has (more than
/// [`crate::HELD_BACK_BYTES`]), it is a complete JSON value that ends early, and the error belongs
/// next to it. After [`TraceError::Cancelled`] the bytes may be incomplete JSON.
pub fn trace_transaction<R: Replay>(
    replay: &mut R,
    index: usize,
    plan: &TracePlan,
    limits: &Limits,
    sink: &mut dyn Sink,
) -> Result<u64, TraceError> {
    plan.tracer.with_engine(OneTransaction { replay, index, plan, limits, sink })
}

/// A block on this thread.
struct WholeBlock<'a, R> {
    replay: &'a mut R,
    plan: &'a TracePlan,
    limits: &'a Limits,
    sink: &'a mut dyn Sink,
}

impl<R: Replay> WithEngine for WholeBlock<'_, R> {
    type Output = Result<BlockStats, TraceError>;

    fn with<E: Engine>(self, mut engine: E) -> Self::Output {
        let Self { replay, plan, limits, sink } = self;
        engine.open(&timed(plan, limits), true)?;
        let mut document = Document { plan, limits, engine: &mut engine, json: JsonWriter::new(sink) };
        document.json.raw(b"[");
        let stats = each_transaction(replay, &mut document)?;
        let mut json = document.json;
        end_block(&mut json, plan, replay.count());
        Ok(BlockStats { bytes: json.finish()?, ..stats })
    }
}

/// The part of one thread in a block that several threads trace.
struct ParallelWork<'a, 's, R> {
    line: &'a OrderedOutput<'s>,
    is_helper: bool,
    replay: &'a mut R,
    plan: &'a TracePlan,
    limits: &'a Limits,
}

impl<R: Replay> WithEngine for ParallelWork<'_, '_, R> {
    type Output = Result<(), TraceError>;

    fn with<E: Engine>(self, mut engine: E) -> Self::Output {
        let Self { line, is_helper, replay, plan, limits } = self;
        // A helper that gets no process of its own for a script is none.
        if !engine.open(&timed(plan, limits), !is_helper)? {
            return Ok(());
        }
        parallel::work(line, replay, plan, limits, &mut engine)
    }
}

/// One transaction of a block.
struct OneTransaction<'a, R> {
    replay: &'a mut R,
    index: usize,
    plan: &'a TracePlan,
    limits: &'a Limits,
    sink: &'a mut dyn Sink,
}

impl<R: Replay> WithEngine for OneTransaction<'_, R> {
    type Output = Result<u64, TraceError>;

    fn with<E: Engine>(self, mut engine: E) -> Self::Output {
        let Self { replay, index, plan, limits, sink } = self;
        engine.open(&timed(plan, limits), true)?;
        let mut json = JsonWriter::new(sink);
        json.mark();
        let outcome = one(replay, index, plan, limits, &mut engine, &mut json);
        if outcome.is_ok() || !json.rewind() {
            let written = json.finish()?;
            return outcome.map(|()| written);
        }
        Err(outcome.err().unwrap_or(TraceError::Cancelled))
    }
}

/// The results of a block as one document.
struct Document<'a, 's, E> {
    plan: &'a TracePlan,
    limits: &'a Limits,
    engine: &'a mut E,
    json: JsonWriter<'s>,
}

impl<E: Engine> BlockOutput for Document<'_, '_, E> {
    fn open(&mut self, index: usize, hash: &B256) {
        self.plan.elements().open(&mut self.json, index, hash);
    }

    fn run<R: Replay>(&mut self, replay: &mut R, index: usize) -> Result<(), TraceError> {
        one(replay, index, self.plan, self.limits, self.engine, &mut self.json)
    }

    fn fail(&mut self, error: &TraceError) -> Result<(), TraceError> {
        self.plan.elements().fail(&mut self.json, error);
        Ok(())
    }

    fn close(&mut self) {
        self.plan.elements().close(&mut self.json);
    }

    fn is_closed(&mut self) -> bool {
        self.json.is_closed()
    }
}

/// Writes the gas profile of all transactions of a block, added up, and returns the number of bytes
/// written.
///
/// # Errors
/// As [`trace_transaction`]; the error of one transaction is that of the profile.
pub fn profile_block<R: Replay>(
    replay: &mut R,
    plan: &TracePlan,
    limits: &Limits,
    sink: &mut dyn Sink,
) -> Result<u64, TraceError> {
    let TracerPlan::Steps(StepsPlan::Profile(request)) = &plan.tracer else {
        return Err(TraceError::Replay("no plan of a gas profile".into()));
    };
    let limits = Limits { timeout: plan.timeout, ..limits.clone() };
    let mut json = JsonWriter::new(sink);
    let mut profile = Profile::new(request);
    for index in 0..replay.count() {
        seek_to(replay, index, &limits)?;
        profile.add(replay, &limits, &mut json)?;
    }
    profile.render(&mut json);
    Ok(json.finish()?)
}
