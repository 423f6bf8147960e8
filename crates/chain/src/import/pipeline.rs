//! Reading, decoding and recovering senders ahead of execution, in order and within bounds.

use super::blame::blame;
use super::reader::{RawBlock, Reader};
use crate::insert::Prepared;
use crate::{Chain, ChainError};
use alloy_rlp::Decodable;
use hearth_evm::{BlockEnvironment, recover_sender};
use hearth_primitives::Block;
use parking_lot::{Condvar, Mutex};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::Scope;
use std::time::{Duration, Instant};

/// Most blocks between reading and execution.
const QUEUED_BLOCKS: usize = 256;
/// Most bytes of block RLP between reading and execution; a larger block goes alone.
const QUEUED_BYTES: usize = 64 << 20;
/// Most threads that decode and recover senders.
const MAX_WORKERS: usize = 16;

/// A block ready for execution, and where it was.
pub(super) struct Step {
    pub prepared: Prepared,
    pub place: Place,
}

/// Where a block was.
pub(super) struct Place {
    pub file: Arc<Path>,
    /// Number of the block in its file, from 0.
    pub index: u64,
    /// Offset in the decompressed file, in bytes.
    pub offset: u64,
    /// Bytes of its RLP.
    pub bytes: usize,
    /// Bytes read so far of all files, as they lie on disk.
    pub bytes_done: u64,
}

/// What a worker's answer comes through.
type Slot = Receiver<Result<Step, ChainError>>;
type Job = (RawBlock, SyncSender<Result<Step, ChainError>>);

/// The prepared blocks in the order of the files. Dropping it ends the threads behind it.
pub(super) struct Pipeline {
    slots: Option<Receiver<(Slot, usize)>>,
    budget: Arc<Budget>,
    /// The next slot, and what came through it, where [`Self::is_ready_within`] took them.
    next: Option<(Slot, usize)>,
    step: Option<Result<Step, ChainError>>,
}

impl Pipeline {
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        chain: &'scope Chain,
        files: &[PathBuf],
        cancel: &'scope AtomicBool,
    ) -> Self {
        let budget = Arc::new(Budget::default());
        let (slots, slots_out) = sync_channel(QUEUED_BLOCKS);
        let (jobs, jobs_out) = sync_channel::<Job>(QUEUED_BLOCKS);
        let jobs_out = Arc::new(Mutex::new(jobs_out));
        let workers = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_WORKERS);
        for _ in 0..workers {
            let jobs = jobs_out.clone();
            scope.spawn(move || {
                // The lock is held during the wait: another worker then waits for the lock instead
                // of the queue.
                while let Ok((raw, answer)) = { jobs.lock().recv() } {
                    // The receiver is gone after a bad block; the answer is not needed then.
                    let _ = answer.send(prepare(chain, raw));
                }
            });
        }
        let (files, taken) = (files.to_vec(), budget.clone());
        scope.spawn(move || {
            let mut reader = Reader::new(files);
            while !cancel.load(Ordering::Relaxed) {
                let (answer, slot) = sync_channel(1);
                let (size, job) = match reader.next_block() {
                    Ok(Some(raw)) => (raw.bytes.len(), Some(raw)),
                    Ok(None) => return,
                    Err(error) => {
                        let _ = answer.send(Err(error));
                        (0, None)
                    }
                };
                let last = job.is_none();
                if !taken.take(size) || slots.send((slot, size)).is_err() || last {
                    return;
                }
                let Some(raw) = job else { return };
                if jobs.send((raw, answer)).is_err() {
                    return;
                }
            }
        });
        Self { slots: Some(slots_out), budget, next: None, step: None }
    }

    /// Waits for the next block, at most so long; whether it can be had, or there is none.
    pub fn is_ready_within(&mut self, time: Duration) -> bool {
        let Some(slots) = &self.slots else { return true };
        let deadline = Instant::now() + time;
        if self.next.is_none() {
            match slots.recv_timeout(time) {
                Ok(next) => self.next = Some(next),
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => return true,
            }
        }
        if let (None, Some((slot, _))) = (&self.step, &self.next) {
            match slot.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(step) => self.step = Some(step),
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => {}
            }
        }
        true
    }
}

impl Iterator for Pipeline {
    type Item = Result<Step, ChainError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (slot, size) = match self.next.take() {
            Some(next) => next,
            None => self.slots.as_ref()?.recv().ok()?,
        };
        let step = match self.step.take() {
            Some(step) => step,
            None => slot.recv().ok()?,
        };
        self.budget.give(size);
        Some(step)
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // The reader may be waiting for room in the queue or in the budget.
        self.slots = None;
        self.budget.close();
    }
}

/// Decodes a block, hashes it and, unless it is known, recovers the senders. Execution reports a
/// sender that cannot be recovered, with its transaction.
fn prepare(chain: &Chain, raw: RawBlock) -> Result<Step, ChainError> {
    let RawBlock { bytes, file, index, offset, bytes_done } = raw;
    let mut rest = &bytes[..];
    let decoded = Block::decode(&mut rest).ok().filter(|_| rest.is_empty());
    let Some(block) = decoded else {
        let blame = blame(&bytes);
        return Err(ChainError::BadBlockFile {
            file: file.to_path_buf(),
            index,
            offset: offset + blame.offset as u64,
            field: blame.field,
            why: blame.why,
        });
    };
    let mut prepared = Prepared::from(block);
    if !chain.ledger().has_block(&prepared.hash) {
        let (spec, header) = (chain.spec(), &prepared.block.header);
        let env = BlockEnvironment::from_header(spec, header);
        let recover = |tx| recover_sender(spec, &env, tx).ok();
        prepared.senders = prepared.block.body.transactions.iter().map(recover).collect();
    }
    let place = Place { file, index, offset, bytes: bytes.len(), bytes_done };
    Ok(Step { prepared, place })
}

/// Bytes that are under way.
#[derive(Default)]
struct Budget {
    /// Bytes in flight, and whether the receiver of the blocks is gone.
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Budget {
    /// Waits for room; `false` where the pipeline was closed.
    fn take(&self, bytes: usize) -> bool {
        let mut state = self.state.lock();
        while !state.1 && state.0 > 0 && state.0 + bytes > QUEUED_BYTES {
            self.changed.wait(&mut state);
        }
        state.0 += bytes;
        !state.1
    }

    fn give(&self, bytes: usize) {
        self.state.lock().0 -= bytes;
        self.changed.notify_one();
    }

    fn close(&self) {
        self.state.lock().1 = true;
        self.changed.notify_all();
    }
}
