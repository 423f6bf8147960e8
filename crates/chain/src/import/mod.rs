//! Imports block files: sequences of RLP blocks as `geth export` writes them, plain or gzipped.
//!
//! Four stages run concurrently: one thread reads files and finds the blocks in them, workers
//! decode blocks and recover senders ahead, the calling thread executes in order, and one thread
//! computes state roots and commits runs of blocks. Blocks before execution, and those of a run,
//! are bounded by count and by bytes; at most two runs are executed and not committed.

mod ahead;
mod blame;
mod case;
mod case_text;
mod pipeline;
mod reader;
mod runs;

pub use ahead::MAX_RUN_CHANGES;
pub use case::{CaseReport, recorded_pre_state};
pub use case_text::case_text;
pub use reader::MAX_BLOCK_BYTES;
pub use runs::MAX_RUN_BLOCKS;

use crate::insert::Inserted;
use crate::working::Working;
use crate::{Built, Chain, ChainError};
use ahead::Ahead;
use alloy_primitives::B256;
use alloy_primitives::keccak256;
use alloy_rlp::Header as RlpHeader;
use hearth_flatkv::Head;
use hearth_primitives::Height;
use parking_lot::MutexGuard;
use pipeline::{Pipeline, Step};
use runs::RunDone;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long blocks that were executed wait for the next one before they are committed.
const MAX_PAUSE: Duration = Duration::from_millis(20);
/// Shortest time between two reports of progress.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// How far an import has come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Blocks executed and committed.
    pub blocks: u64,
    /// Blocks that were known before and skipped.
    pub known: u64,
    /// Those of them whose record was damaged and was written again.
    pub restored: u64,
    /// Transactions of them.
    pub transactions: u64,
    /// Gas used by them.
    pub gas: u64,
    /// Bytes of the files that are done, as they lie on disk.
    pub bytes_done: u64,
    /// Bytes of all files, as they lie on disk; 0 where one of them is standard input.
    pub bytes_total: u64,
    /// Number of the last block.
    pub number: Height,
    /// Time since the start.
    pub elapsed: Duration,
}

impl Progress {
    /// Counts a block that was committed.
    fn add(&mut self, transactions: usize, gas: u64) {
        self.blocks += 1;
        self.transactions += transactions as u64;
        self.gas += gas;
    }

    /// Time left at the rate so far, judged by bytes; `None` while nothing is done.
    pub fn remaining(&self) -> Option<Duration> {
        let left = self.bytes_total.saturating_sub(self.bytes_done) as f64;
        (self.bytes_done > 0).then(|| self.elapsed.mul_f64(left / self.bytes_done as f64))
    }
}

/// What to import.
#[derive(Clone, Debug, Default)]
pub struct ImportJob {
    /// Block files in order; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// Head to choose at the end instead of what fork choice says.
    pub head: Option<B256>,
}

/// What an import did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImportReport {
    /// Counts.
    pub progress: Progress,
    /// The head afterwards.
    pub head: Head,
}

impl Chain {
    /// Imports block files. Known blocks are skipped, so an interrupted import resumes where it
    /// stopped, and importing twice changes nothing. `report` is called at most ten times a second
    /// and once at the end; `cancel` is checked before each block.
    ///
    /// # Errors
    /// [`ChainError::BadBlockFile`], [`ChainError::OtherGenesis`], [`ChainError::AtBlock`] with the
    /// problem of a block, [`ChainError::UnknownBlock`] for the requested head,
    /// [`ChainError::Cancelled`]. The good blocks before the first bad one are kept in every case.
    pub fn import(
        &self,
        job: &ImportJob,
        report: &mut dyn FnMut(&Progress),
        cancel: &AtomicBool,
    ) -> Result<ImportReport, ChainError> {
        let started = Instant::now();
        let mut progress = Progress { bytes_total: total_bytes(&job.files)?, ..Progress::default() };
        let imported = {
            let mut guard = self.working.lock();
            self.note_head(&mut guard);
            let imported = std::thread::scope(|scope| {
                let mut steps = Pipeline::start(scope, self, &job.files, cancel);
                let mut ahead = Ahead::start(scope, self);
                let mut reported = Instant::now();
                let mut each = |progress: &mut Progress| {
                    progress.elapsed = started.elapsed();
                    if reported.elapsed() >= REPORT_EVERY {
                        report(progress);
                        reported = Instant::now();
                    }
                    cancel.load(Ordering::Relaxed)
                };
                let taken = self.take_all(&mut guard, &mut ahead, &mut steps, &mut progress, &mut each);
                // The blocks before the one that failed come first.
                self.settle(&mut guard, &mut ahead, &mut progress)?;
                taken?;
                // The pipeline ends early when it sees the flag first.
                if cancel.load(Ordering::Relaxed) { Err(ChainError::Cancelled) } else { Ok(()) }
            });
            let settled = self.sync_working_head(&mut guard);
            self.announce(&mut guard);
            imported.and(settled)
        };
        progress.elapsed = started.elapsed();
        report(&progress);
        imported?;
        if let Some(head) = &job.head {
            self.set_head(head)?;
        }
        Ok(ImportReport { progress, head: self.head() })
    }

    /// Takes blocks until there are no more; `each` is called after each one, and ends it.
    fn take_all(
        &self,
        guard: &mut MutexGuard<'_, Working>,
        ahead: &mut Ahead<'_>,
        steps: &mut Pipeline,
        progress: &mut Progress,
        each: &mut dyn FnMut(&mut Progress) -> bool,
    ) -> Result<(), ChainError> {
        loop {
            // The next block may be long in coming: readers have those before meanwhile.
            if !ahead.is_settled() && !steps.is_ready_within(MAX_PAUSE) {
                self.settle(guard, ahead, progress)?;
            }
            let Some(step) = steps.next() else { return Ok(()) };
            if each(progress) {
                return Err(ChainError::Cancelled);
            }
            self.take(guard, ahead, step?, progress)?;
        }
    }

    /// Takes the next block: executes it while those before are committed, and gathers it for the
    /// next commit.
    fn take(
        &self,
        guard: &mut MutexGuard<'_, Working>,
        ahead: &mut Ahead<'_>,
        step: Step,
        progress: &mut Progress,
    ) -> Result<(), ChainError> {
        if self.working.is_wanted() {
            self.settle(guard, ahead, progress)?;
        }
        let executed = guard.is_settled().then(|| self.execute_ahead(ahead, &step)).flatten();
        let Some(executed) = executed else {
            self.settle(guard, ahead, progress)?;
            self.take_alone(guard, step, progress)?;
            self.between_blocks(guard);
            return Ok(());
        };
        let is_alone = self.is_committed_alone(&executed);
        if is_alone {
            self.begin_commit(guard, ahead, progress)?;
        }
        self.gather(ahead, step, executed)?;
        if is_alone || ahead.is_full() {
            self.begin_commit(guard, ahead, progress)?;
        }
        Ok(())
    }

    /// Waits until all blocks that were executed are committed, and lets other changes of the chain
    /// come in.
    fn settle(
        &self,
        guard: &mut MutexGuard<'_, Working>,
        ahead: &mut Ahead<'_>,
        progress: &mut Progress,
    ) -> Result<(), ChainError> {
        self.begin_commit(guard, ahead, progress)?;
        self.end_commit(guard, ahead, progress)?;
        self.between_blocks(guard);
        Ok(())
    }

    /// Begins the commit of the blocks that were gathered, once the one before has ended.
    fn begin_commit(
        &self,
        guard: &mut MutexGuard<'_, Working>,
        ahead: &mut Ahead<'_>,
        progress: &mut Progress,
    ) -> Result<(), ChainError> {
        if ahead.has_run() {
            self.end_commit(guard, ahead, progress)?;
            ahead.commit();
        }
        Ok(())
    }

    /// Waits for the commit that is under way.
    fn end_commit(
        &self,
        guard: &mut MutexGuard<'_, Working>,
        ahead: &mut Ahead<'_>,
        progress: &mut Progress,
    ) -> Result<(), ChainError> {
        let Some(done) = ahead.wait(|| self.kv.latest()) else { return Ok(()) };
        let RunDone { run, last, failed } = done?;
        if let (Some(built), Some(place)) = (run.last(), last) {
            self.choose(guard, built.hash)?;
            progress.number = built.block.header.number;
            progress.bytes_done = place.bytes_done;
            for Built { block, output, .. } in &run {
                progress.add(block.body.transactions.len(), output.gas_used());
            }
            self.announce_run(guard, &run);
        }
        failed.map_or(Ok(()), |(place, error)| Err(place.problem(error)))
    }

    /// Readers follow the import, and other changes of the chain come between two blocks.
    fn between_blocks(&self, guard: &mut MutexGuard<'_, Working>) {
        if guard.is_settled() {
            self.announce(guard);
            MutexGuard::bump(guard);
        }
    }

    /// Inserts a block.
    fn take_alone(
        &self,
        working: &mut Working,
        step: Step,
        progress: &mut Progress,
    ) -> Result<(), ChainError> {
        let Step { prepared, place } = step;
        let (number, transactions) = (prepared.block.header.number, prepared.block.body.transactions.len());
        progress.number = number;
        progress.bytes_done = place.bytes_done;
        if number == 0 && self.base() == 0 {
            return match prepared.hash == self.base_hash() {
                true => Ok(()),
                false => Err(ChainError::OtherGenesis {
                    file: place.file.to_path_buf(),
                    given: prepared.hash,
                    genesis: self.base_hash(),
                }),
            };
        }
        let inserted = self.insert_lazily(working, prepared);
        match inserted.map_err(|source| place.problem(source))? {
            Inserted::Known => progress.known += 1,
            Inserted::Restored => {
                progress.known += 1;
                progress.restored += 1;
            }
            Inserted::Added { gas_used } => progress.add(transactions, gas_used),
        }
        Ok(())
    }
}

/// Gives the RLP of each block of some files to `take`, in order, until that gives `false`.
///
/// # Errors
/// [`ChainError::BadBlockFile`], [`ChainError::Io`], those of `take`.
pub(crate) fn each_block(
    files: &[PathBuf],
    take: &mut dyn FnMut(&[u8]) -> Result<bool, ChainError>,
) -> Result<(), ChainError> {
    let mut reader = reader::Reader::new(files.to_vec());
    while let Some(raw) = reader.next_block()? {
        if !take(&raw.bytes)? {
            break;
        }
    }
    Ok(())
}

/// Hash of the block in some RLP: that of its header, the first item.
pub(crate) fn block_hash(block: &[u8]) -> Option<B256> {
    let mut rest = block;
    RlpHeader::decode(&mut rest).ok().filter(|list| list.list)?;
    let mut behind = rest;
    let header = RlpHeader::decode(&mut behind).ok().filter(|list| list.list)?;
    let length = rest.len() - behind.len() + header.payload_length;
    rest.get(..length).map(keccak256)
}

/// Bytes of all files; 0 where one of them is standard input, whose size is not known.
fn total_bytes(files: &[PathBuf]) -> Result<u64, ChainError> {
    if files.iter().any(|file| reader::is_standard_input(file)) {
        return Ok(0);
    }
    let mut total = 0;
    for file in files {
        total += std::fs::metadata(file).map_err(ChainError::io(file))?.len();
    }
    Ok(total)
}
