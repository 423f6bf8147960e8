//! Segments that have no key index: what can be read of them.

use super::files::remove_file;
use crate::LittError;
use crate::ctx::Ctx;
use crate::format::{FOOTER_BYTES, SEGMENT_HEADER, Summary, position, split_position};
use crate::scan::{At, Found, Frames, Scanner};
use crate::segment::{Segment, read_header};
use hearth_disk::{DiskFile, OpenMode};
use std::path::Path;
use std::sync::Arc;

/// A segment without a run, as read.
pub(super) struct Read {
    pub segment: Arc<Segment>,
    pub file: Arc<dyn DiskFile>,
    pub file_len: u64,
    pub footer: Option<Summary>,
    pub records: Vec<(Found, Frames)>,
    /// Offsets of stretches that are no records, and have records behind them.
    pub holes: Vec<u64>,
    /// Offset behind the last record.
    pub end: u64,
    /// Whether what follows the last record and is no footer reaches to the end of the file.
    pub garbage: bool,
}

impl Read {
    pub fn position(&self, offset: u64) -> u64 {
        position(self.segment.index(), offset)
    }

    /// Highest note of what was durable.
    pub fn noted(&self) -> u64 {
        let notes = self.records.iter().filter_map(|(found, _)| found.head.synced).max().unwrap_or(0);
        notes.max(self.footer.map_or(0, |footer| self.position(footer.end)))
    }
}

/// Reads a segment that has no run. `None` for a file that a death left while it was made.
pub(super) fn read(ctx: &Ctx, index: u32, path: &Path, last: bool) -> Result<Option<Read>, LittError> {
    let mode = if ctx.may_write() { OpenMode::ReadWrite } else { OpenMode::Read };
    let Some((header, file)) = read_header(&*ctx.disk, path, mode)? else {
        if !last {
            return Err(LittError::corrupt(path, 0, "segment header"));
        }
        if ctx.may_write() {
            remove_file(ctx, path)?;
        }
        return Ok(None);
    };
    if header.index != index {
        return Err(LittError::corrupt(path, 0, "segment header of another segment"));
    }
    let segment = Arc::new(Segment::new(header, path.to_owned(), ctx.dictionary(header.dictionary)?));
    let mut file_len = file.len().map_err(LittError::io(path))?;
    if let Some((of, offset)) = ctx.state.lock().cutting.map(|cutting| split_position(cutting.to))
        && of == index
    {
        file_len = file_len.min(offset.max(SEGMENT_HEADER as u64));
    }
    let footer = read_footer(&segment, &*file, file_len)?;
    let end = footer.map_or(file_len, |footer| footer.end);
    let mut scanner = Scanner::new(&segment, file.clone(), end);
    let (mut records, mut holes) = (Vec::new(), Vec::new());
    let mut at = Scanner::START;
    let mut garbage = false;
    while at < end {
        let found = match scanner.record_at(at)? {
            At::Record(found) => found,
            At::Bad => match scanner.resync(at + 1)? {
                Some(found) => {
                    holes.push(at);
                    found
                }
                None => {
                    garbage = true;
                    break;
                }
            },
        };
        at = found.end;
        let frames = scanner.frames(&found, false)?;
        records.push((found, frames));
    }
    Ok(Some(Read { segment, file, file_len, footer, records, holes, end: at, garbage }))
}

fn read_footer(segment: &Segment, file: &dyn DiskFile, len: u64) -> Result<Option<Summary>, LittError> {
    let Some(at) = len.checked_sub(FOOTER_BYTES as u64).filter(|at| *at >= SEGMENT_HEADER as u64) else {
        return Ok(None);
    };
    let mut bytes = [0; FOOTER_BYTES];
    file.read_exact_at(&mut bytes, at).map_err(|error| segment.read_error(at, error))?;
    Ok(Summary::decode_footer(&bytes, segment.seed, at))
}
