//! Writing the canonical chain back as RLP blocks, byte for byte as they came.

use crate::{Chain, ChainError};
use alloy_rlp::Encodable;
use hearth_primitives::Height;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// What to export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportRange {
    /// First block; the first one of the chain where not given.
    pub from: Option<Height>,
    /// Last block; the head where not given.
    pub to: Option<Height>,
    /// Whether block 0 is written too, where `from` is not given.
    pub with_genesis: bool,
}

/// What an export wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportReport {
    /// Blocks written.
    pub blocks: u64,
    /// Bytes written.
    pub bytes: u64,
}

impl Chain {
    /// Writes canonical blocks as a sequence of RLP blocks, the form of `geth export`. `report`
    /// gets the blocks and bytes written after each block, and the number of blocks in all.
    ///
    /// # Errors
    /// [`ChainError::NoSuchRange`], [`ChainError::NativeTransactions`], [`ChainError::Io`] with
    /// `path`, [`ChainError::Cancelled`], those of the ledger.
    pub fn export(
        &self,
        range: &ExportRange,
        path: &Path,
        out: &mut dyn Write,
        report: &mut dyn FnMut(&ExportReport, u64),
        cancel: &AtomicBool,
    ) -> Result<ExportReport, ChainError> {
        let last = self.head().height;
        // A recorded block's home has no block at its base.
        let first = if self.base() == 0 { 0 } else { self.base() + 1 };
        let from = range.from.unwrap_or(if range.with_genesis { first } else { first.max(1) });
        let to = range.to.unwrap_or(last);
        // A chain of nothing but its genesis exports to an empty file.
        let empty = range.from.is_none() && range.to.is_none() && from > last;
        if !empty && (from > to || to > last || from < first) {
            return Err(ChainError::NoSuchRange { from, to, first, last });
        }
        let mut done = ExportReport::default();
        let mut bytes = Vec::new();
        for number in from..=to {
            if cancel.load(Ordering::Relaxed) {
                return Err(ChainError::Cancelled);
            }
            let missing = || ChainError::NoSuchRange { from: number, to, first, last };
            let block = self.ledger.canonical_block(number)?.ok_or_else(missing)?;
            if !self.ledger.sidecar(&block.hash)?.is_empty() {
                return Err(ChainError::NativeTransactions { number });
            }
            bytes.clear();
            block.block.encode(&mut bytes);
            out.write_all(&bytes).map_err(ChainError::io(path))?;
            done.blocks += 1;
            done.bytes += bytes.len() as u64;
            report(&done, to - from + 1);
        }
        out.flush().map_err(ChainError::io(path))?;
        Ok(done)
    }
}
