//! Imports block files: sequences of RLP blocks as `geth export` writes them, plain or gzipped.
//!
//! Three stages run concurrently: one thread reads files and finds the blocks in them, workers
//! decode blocks and recover senders ahead, and the calling thread executes and commits in order.
//! Blocks in flight are bounded by count and by bytes.

mod blame;
mod case;
mod case_text;
mod pipeline;
mod reader;

pub use case::{CaseReport, recorded_pre_state};
pub use case_text::case_text;
pub use reader::MAX_BLOCK_BYTES;

use crate::insert::Inserted;
use crate::{Chain, ChainError};
use alloy_primitives::B256;
use alloy_primitives::keccak256;
use alloy_rlp::Header as RlpHeader;
use hearth_flatkv::Head;
use hearth_primitives::Height;
use parking_lot::MutexGuard;
use pipeline::{Pipeline, Step};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Shortest time between two reports of progress.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// How far an import has come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Blocks executed.
    pub blocks: u64,
    /// Blocks that were known before and skipped.
    pub known: u64,
    /// Those of them whose record was damaged and was written again.
    pub restored: u64,
    /// Transactions executed.
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
                let steps = Pipeline::start(scope, self, &job.files, cancel);
                let mut reported = Instant::now();
                for step in steps {
                    if cancel.load(Ordering::Relaxed) {
                        return Err(ChainError::Cancelled);
                    }
                    self.take(&mut guard, step?, &mut progress)?;
                    if guard.is_settled() {
                        // Readers follow the import, and other changes of the chain come between
                        // two blocks.
                        self.announce(&mut guard);
                        MutexGuard::bump(&mut guard);
                    }
                    progress.elapsed = started.elapsed();
                    if reported.elapsed() >= REPORT_EVERY {
                        report(&progress);
                        reported = Instant::now();
                    }
                }
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

    fn take(
        &self,
        working: &mut crate::insert::Working,
        step: Step,
        progress: &mut Progress,
    ) -> Result<(), ChainError> {
        let Step { prepared, file, index, offset, bytes_done } = step;
        let (number, transactions) = (prepared.block.header.number, prepared.block.body.transactions.len());
        progress.number = number;
        progress.bytes_done = bytes_done;
        if number == 0 && self.base() == 0 {
            return match prepared.hash == self.base_hash() {
                true => Ok(()),
                false => Err(ChainError::OtherGenesis {
                    file: file.to_path_buf(),
                    given: prepared.hash,
                    genesis: self.base_hash(),
                }),
            };
        }
        let inserted = self.insert_lazily(working, prepared);
        let at = |source| ChainError::AtBlock {
            file: file.to_path_buf(),
            index,
            offset,
            source: Box::new(source),
        };
        match inserted.map_err(at)? {
            Inserted::Known => progress.known += 1,
            Inserted::Restored => {
                progress.known += 1;
                progress.restored += 1;
            }
            Inserted::Added { gas_used } => {
                progress.blocks += 1;
                progress.transactions += transactions as u64;
                progress.gas += gas_used;
            }
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
