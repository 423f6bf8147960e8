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
mod importing;
mod pipeline;
mod reader;
mod runs;

pub use ahead::MAX_RUN_CHANGES;
pub use case::{CaseReport, recorded_pre_state};
pub use case_text::case_text;
pub use reader::MAX_BLOCK_BYTES;
pub use runs::MAX_RUN_BLOCKS;

use crate::{Chain, ChainError};
use ahead::Ahead;
use alloy_primitives::B256;
use alloy_primitives::keccak256;
use alloy_rlp::Header as RlpHeader;
use hearth_flatkv::Head;
use hearth_primitives::Height;
use importing::Importing;
use pipeline::Pipeline;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

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
                let mut reported = Instant::now();
                let mut each = |progress: &mut Progress| {
                    progress.elapsed = started.elapsed();
                    if reported.elapsed() >= REPORT_EVERY {
                        report(progress);
                        reported = Instant::now();
                    }
                    cancel.load(Ordering::Relaxed)
                };
                let ahead = Ahead::start(scope, self);
                Importing { chain: self, guard: &mut guard, ahead, progress: &mut progress }
                    .take_all(&mut steps, &mut each)?;
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
