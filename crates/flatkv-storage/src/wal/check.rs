//! Reading the WAL from its first record to its last, for verification.

use super::{
    Wal,
    record::{RECORD_HEADER_BYTES, SEGMENT_HEADER_BYTES, SegmentHeader, parse},
};
use crate::FlatKvError;
use std::path::{Path, PathBuf};

/// A place at which the record that is due does not stand whole and sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFault {
    /// The segment.
    pub file: PathBuf,
    /// Where in it, in bytes; 0 for its header, or for a segment that begins with another record
    /// than the one due.
    pub offset: u64,
}

impl Wal {
    /// Checks every segment, those included that only snapshots need; `each` is called with each
    /// segment and of its first fault.
    pub fn check(
        &self,
        mut each: impl FnMut(Option<LogFault>) -> Result<(), FlatKvError>,
    ) -> Result<(), FlatKvError> {
        let mut due = self.segments.front().map_or(self.next, |(first, _)| *first);
        for (place, (first, path)) in self.segments.iter().enumerate() {
            let bytes = self.disk.read(path).map_err(FlatKvError::io(path))?;
            let last = place + 1 == self.segments.len();
            // Behind the last record stands what the next one will overwrite.
            let end = self.open.as_ref().filter(|_| last).map_or(bytes.len(), |open| open.end as usize);
            let fault = if *first == due { fault(&bytes, end, &mut due).err() } else { Some(0) };
            each(fault.map(|offset| LogFault { file: short(path), offset }))?;
            // The next segment is judged by itself.
            due = self.segments.get(place + 1).filter(|_| fault.is_some()).map_or(due, |(first, _)| *first);
        }
        Ok(())
    }

    /// Segments that there are.
    pub fn segment_count(&self) -> u64 {
        self.segments.len() as u64
    }
}

/// Goes through a segment's records; the place of the first that is not what is due.
fn fault(bytes: &[u8], end: usize, due: &mut u64) -> Result<(), u64> {
    let header = SegmentHeader::from_bytes(bytes).ok_or(0u64)?;
    let mut at = SEGMENT_HEADER_BYTES;
    while at < end {
        match bytes.get(at..end).and_then(|rest| parse(header.salt, rest)) {
            Some((number, payload)) if number == *due => {
                at += RECORD_HEADER_BYTES + payload.len();
                *due += 1;
            }
            _ => return Err(at as u64),
        }
    }
    Ok(())
}

/// The file's name: the folder is the same for all.
fn short(path: &Path) -> PathBuf {
    path.file_name().map_or_else(|| path.to_owned(), PathBuf::from)
}
