//! The loop over the transactions of a block, for every way of writing their results.
//!
//! [`crate::trace_block`] writes one document, [`crate::trace_block_under_several`] one per plan,
//! and [`crate::trace_elements`] passes on the results one by one. Their common part is here: the
//! order, the effect of a failed transaction on later ones, and when the trace of the block ends.
//! Threads that trace a block together take transactions from a queue instead (`parallel`).

use alloy_primitives::B256;
use hearth_recorder::engine::Replay;
use hearth_recorder::error::TraceError;

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

/// The output of a block's transactions. For each transaction, `open`, `run`, `fail` if there is no
/// result, and `close` are called, in this order.
pub(crate) trait BlockOutput {
    /// Begins the element of a transaction.
    fn open(&mut self, index: usize, hash: &B256);

    /// Executes the transaction and writes its result.
    fn run<R: Replay>(&mut self, replay: &mut R, index: usize) -> Result<(), TraceError>;

    /// Writes an error in place of the result.
    ///
    /// # Errors
    /// The trace of the block ends with this error.
    fn fail(&mut self, error: &TraceError) -> Result<(), TraceError>;

    /// Ends the element.
    fn close(&mut self);

    /// Whether nothing more is taken.
    fn is_closed(&mut self) -> bool {
        false
    }
}

/// Traces every transaction of a block in order. A failed transaction does not affect the others,
/// unless its error would meet every later one too: then it is the error of those as well.
///
/// # Errors
/// [`TraceError::Cancelled`]; the error that `fail` returns.
pub(crate) fn each_transaction<R: Replay, O: BlockOutput>(
    replay: &mut R,
    output: &mut O,
) -> Result<BlockStats, TraceError> {
    let mut stats = BlockStats::default();
    let mut broken: Option<TraceError> = None;
    for index in 0..replay.count() {
        output.open(index, &replay.hash(index));
        let outcome = match &broken {
            Some(error) => Err(error.clone()),
            None => output.run(replay, index),
        };
        if output.is_closed() || matches!(outcome, Err(TraceError::Cancelled)) {
            return Err(TraceError::Cancelled);
        }
        match outcome {
            Ok(()) => stats.traced += 1,
            Err(error) => {
                output.fail(&error)?;
                stats.failed += 1;
                if !error.is_local() {
                    broken = Some(error);
                }
            }
        }
        output.close();
    }
    Ok(stats)
}
