//! An iterator that a script has, read in batches.

use super::ScriptError;
use super::batch::Batch;
use super::store::Shared;
use hearth_littable::TableIter;
use parking_lot::Mutex;
use std::sync::Arc;

/// Most bytes of a batch, but for its last record.
const BATCH_BYTES: usize = 1 << 20;

/// An iterator. It holds segments back until it is closed, dropped, or its lease ends.
pub struct ScriptIter {
    state: Mutex<Option<State>>,
    shared: Arc<Shared>,
}

struct State {
    iter: TableIter,
    /// What came behind the records of the last batch.
    error: Option<ScriptError>,
}

impl ScriptIter {
    pub(super) fn new(iter: TableIter, shared: Arc<Shared>) -> Self {
        Self { state: Mutex::new(Some(State { iter, error: None })), shared }
    }

    /// Reads the next records on one of the store's threads, at most so many; none at the end. An
    /// error comes after the records before it. Where it is a damaged record, the next batch begins
    /// behind that.
    pub fn next_with(
        self: &Arc<Self>,
        records: u32,
        done: impl FnOnce(Result<Vec<u8>, ScriptError>) + Send + 'static,
    ) {
        let iter = self.clone();
        self.shared.spawn(move || iter.next(records), done);
    }

    fn next(&self, records: u32) -> Result<Vec<u8>, ScriptError> {
        let mut state = self.state.lock();
        let State { iter, error } = state.as_mut().ok_or(ScriptError::Closed("iterator"))?;
        if let Some(error) = error.take() {
            return Err(error);
        }
        let mut batch = Batch::default();
        while batch.records() < records.max(1) && batch.bytes() < BATCH_BYTES {
            match iter.next() {
                None => break,
                Some(Ok(record)) => batch.push(&record),
                Some(Err(failed)) if batch.records() == 0 => return Err(failed.into()),
                Some(Err(failed)) => {
                    *error = Some(failed.into());
                    break;
                }
            }
        }
        Ok(batch.finish())
    }

    /// Lets go of what it holds back.
    pub fn close(&self) {
        drop(self.state.lock().take());
    }
}
