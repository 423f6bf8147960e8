//! Traces the transactions of a block in parallel: several threads render them, and the results are
//! sent in order.
//!
//! Each thread takes the next free transaction. A result before its turn is kept, up to limits; the
//! next result in order goes straight to the sink, however large.

use crate::block::BlockStats;
use crate::element::{end_block, one};
use crate::plan::TracePlan;
use hearth_recorder::engine::{Engine, Replay};
use hearth_recorder::error::TraceError;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::limits::Limits;
use hearth_recorder::sink::{Sink, SinkClosed};
use std::collections::BTreeMap;
use std::mem::take;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes of one result that a thread keeps before it waits for its turn.
pub const KEPT_RESULT_BYTES: usize = 4 << 20;

/// Bytes of finished results that wait for their turn; with more no transaction is begun.
pub const FINISHED_BYTES: usize = 32 << 20;

/// Stack of a thread, in bytes. The EVM's own frames are on the heap; 1,024 nested calls still need
/// stack.
const STACK_BYTES: usize = 16 << 20;

/// Where results meet.
pub(crate) struct OrderedOutput<'s> {
    state: Mutex<State>,
    /// Signalled when the turn has moved, or the trace was cancelled.
    moved: Condvar,
    sink: Mutex<&'s mut (dyn Sink + Send)>,
    next: AtomicUsize,
    count: usize,
    plan: &'s TracePlan,
}

#[derive(Default)]
struct State {
    /// The transaction whose result is to leave.
    turn: usize,
    /// Results that wait for their turn.
    finished: BTreeMap<usize, Element>,
    finished_bytes: usize,
    /// The sink takes no more, or a thread has given up.
    closed: bool,
    stats: BlockStats,
}

/// A result with what became of it.
struct Element {
    bytes: Vec<u8>,
    failed: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Data behind these locks is changed in whole steps, so a panic elsewhere leaves it consistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'s> OrderedOutput<'s> {
    pub(crate) fn new(count: usize, sink: &'s mut (dyn Sink + Send), plan: &'s TracePlan) -> Self {
        let (state, moved, next) = Default::default();
        Self { state, moved, sink: Mutex::new(sink), next, count, plan }
    }

    /// Takes the next free transaction; `None` if there is none left, or the trace has ended.
    fn take_next(&self) -> Option<usize> {
        let mut state = locked(&self.state);
        while state.finished_bytes >= FINISHED_BYTES && !state.closed {
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            return None;
        }
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        (index < self.count).then_some(index)
    }

    fn close(&self) {
        locked(&self.state).closed = true;
        self.moved.notify_all();
    }

    fn send(&self, bytes: &[u8]) -> Result<(), SinkClosed> {
        let sent = locked(&self.sink).write(bytes);
        if sent.is_err() {
            self.close();
        }
        sent
    }

    /// Waits for a transaction's turn.
    fn wait_for(&self, index: usize) -> Result<(), SinkClosed> {
        let mut state = locked(&self.state);
        while state.turn != index && !state.closed {
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed { Err(SinkClosed) } else { Ok(()) }
    }

    fn is_turn_of(&self, index: usize) -> bool {
        locked(&self.state).turn == index
    }

    /// Passes on a finished result. If its turn has come, it is sent, together with all that waited
    /// for it.
    fn finish(&self, index: usize, element: Element) -> Result<(), SinkClosed> {
        let mut state = locked(&self.state);
        state.finished_bytes += element.bytes.len();
        state.finished.insert(index, element);
        if state.turn != index {
            return Ok(());
        }
        loop {
            let turn = state.turn;
            let Some(element) = state.finished.remove(&turn) else { return Ok(()) };
            state.finished_bytes -= element.bytes.len();
            match element.failed {
                true => state.stats.failed += 1,
                false => state.stats.traced += 1,
            }
            drop(state);
            self.send(&element.bytes)?;
            state = locked(&self.state);
            state.turn += 1;
            self.moved.notify_all();
        }
    }
}

/// Closes the line unless its thread came to the end of its work. Where a thread fails or panics,
/// the others would wait without end for the turn of the transaction that it had.
struct CloseOnFailure<'l, 's> {
    line: &'l OrderedOutput<'s>,
    done: bool,
}

impl Drop for CloseOnFailure<'_, '_> {
    fn drop(&mut self) {
        if !self.done {
            self.line.close();
        }
    }
}

/// The way of one result: kept at first, straight to the sink when its turn has come.
struct TxSlot<'l, 's> {
    line: &'l OrderedOutput<'s>,
    index: usize,
    kept: Vec<u8>,
    straight: bool,
}

impl Sink for TxSlot<'_, '_> {
    fn write(&mut self, chunk: &[u8]) -> Result<(), SinkClosed> {
        if !self.straight {
            self.kept.extend_from_slice(chunk);
            if !self.line.is_turn_of(self.index) {
                if self.kept.len() <= KEPT_RESULT_BYTES {
                    return Ok(());
                }
                self.line.wait_for(self.index)?;
            }
            self.straight = true;
            return self.line.send(&take(&mut self.kept));
        }
        self.line.send(chunk)
    }
}

/// What one thread does: one transaction after the other, until there are no more.
pub(crate) fn work<R: Replay, E: Engine>(
    line: &OrderedOutput<'_>,
    replay: &mut R,
    plan: &TracePlan,
    limits: &Limits,
    engine: &mut E,
) -> Result<(), TraceError> {
    while let Some(index) = line.take_next() {
        let mut place = TxSlot { line, index, kept: Vec::new(), straight: false };
        let failed = element(&mut place, replay, plan, limits, engine)?;
        line.finish(index, Element { bytes: place.kept, failed })?;
    }
    Ok(())
}

/// Writes one element of the block's answer; whether it has an error.
fn element<R: Replay, E: Engine>(
    place: &mut TxSlot<'_, '_>,
    replay: &mut R,
    plan: &TracePlan,
    limits: &Limits,
    engine: &mut E,
) -> Result<bool, TraceError> {
    let index = place.index;
    let mut json = JsonWriter::new(place);
    json.raw(if index > 0 { b"" } else { b"[" });
    plan.elements().open(&mut json, index, &replay.hash(index));
    // Whatever becomes of one transaction, the others stand on the capsule alone.
    let outcome = one(replay, index, plan, limits, engine, &mut json);
    if json.is_closed() || matches!(outcome, Err(TraceError::Cancelled)) {
        return Err(TraceError::Cancelled);
    }
    if let Err(error) = &outcome {
        plan.elements().fail(&mut json, error);
    }
    plan.elements().close(&mut json);
    json.finish()?;
    Ok(outcome.is_err())
}

/// Runs `work` on this thread and on `helpers` more, passes that number to it, and ends the answer.
pub(crate) fn together(
    line: OrderedOutput<'_>,
    helpers: usize,
    work: impl Fn(&OrderedOutput<'_>, bool) -> Result<(), TraceError> + Sync,
) -> Result<BlockStats, TraceError> {
    let outcome = std::thread::scope(|scope| {
        let all = |is_helper: bool| {
            let mut thread = CloseOnFailure { line: &line, done: false };
            let outcome = work(&line, is_helper);
            thread.done = outcome.is_ok();
            outcome
        };
        let spawn = |_| {
            let builder = std::thread::Builder::new().name("hearth-trace".to_owned());
            builder.stack_size(STACK_BYTES).spawn_scoped(scope, move || all(true)).ok()
        };
        // Where no thread can be had, this one does it all.
        let threads: Vec<_> = (0..helpers).filter_map(spawn).collect();
        let mut outcome = all(false);
        for thread in threads {
            let ended = thread
                .join()
                .unwrap_or_else(|_| Err(TraceError::Replay("a thread of the trace panicked".into())));
            outcome = outcome.and(ended);
        }
        outcome
    });
    outcome?;
    let OrderedOutput { state, sink, count, plan, .. } = line;
    let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    if state.turn < count {
        return Err(TraceError::Cancelled);
    }
    let sink = sink.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut json = JsonWriter::new(&mut *sink);
    json.raw(if count > 0 { b"" } else { b"[" });
    end_block(&mut json, plan, count);
    json.finish()?;
    Ok(state.stats)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::TracerPlan;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::Barrier;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    /// Far longer than the test takes: without an end it fails instead of hanging.
    const LIMIT: Duration = Duration::from_secs(60);

    /// Traces two transactions. The thread of the first panics after the other thread has taken the
    /// second, which then waits for its turn.
    fn panics(helper_panics: bool) -> String {
        let (ended, end) = channel();
        std::thread::spawn(move || {
            let mut sink = Vec::new();
            let plan = TracePlan { tracer: TracerPlan::Noop(Default::default()), timeout: LIMIT };
            let (first_taken, second_taken) = (Barrier::new(2), Barrier::new(2));
            let work = |line: &OrderedOutput<'_>, is_helper: bool| -> Result<(), TraceError> {
                if is_helper == helper_panics {
                    assert_eq!(line.take_next(), Some(0));
                    first_taken.wait();
                    second_taken.wait();
                    resume_unwind(Box::new("planted"));
                }
                first_taken.wait();
                assert_eq!(line.take_next(), Some(1));
                second_taken.wait();
                line.wait_for(1)?;
                Ok(())
            };
            let outcome =
                catch_unwind(AssertUnwindSafe(|| together(OrderedOutput::new(2, &mut sink, &plan), 1, work)));
            let text = outcome.map_or_else(
                |_| "panic".to_owned(),
                |outcome| outcome.map_or_else(|error| error.to_string(), |_| "traced".to_owned()),
            );
            ended.send(text).expect("the test listens");
        });
        end.recv_timeout(LIMIT).expect("no thread waits for one that panicked")
    }

    #[test]
    fn a_thread_that_panics_ends_the_trace() {
        assert_eq!(panics(true), TraceError::from(SinkClosed).to_string());
        assert_eq!(panics(false), "panic");
    }
}
