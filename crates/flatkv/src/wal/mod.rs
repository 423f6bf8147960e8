//! The changelog WAL, the store's only log: one record a commit or unwind, numbered without gaps, in segments.

pub(crate) mod record;
pub(crate) mod scan;
#[cfg(test)]
mod tests;

use crate::FlatKvError;
use record::{MAX_PAYLOAD_BYTES, SegmentHeader, frame};
use scan::{End, Scan};
use std::{
    collections::VecDeque,
    fs::{self, File, OpenOptions},
    hash::{BuildHasher, RandomState},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Segments that are kept though RocksDB has all of their records.
const KEEP_SEGMENTS: usize = 3;

/// The WAL, open for appending.
pub(crate) struct Wal {
    dir: PathBuf,
    segment_bytes: u64,
    /// First record and path of each segment, oldest first; the last one is being written.
    segments: VecDeque<(u64, PathBuf)>,
    open: Option<Open>,
    next: u64,
}

struct Open {
    file: Arc<File>,
    path: PathBuf,
    salt: u64,
    end: u64,
}

impl Wal {
    /// Goes on behind what a scan found, once it was cut.
    pub(crate) fn resume(dir: &Path, scan: Scan, segment_bytes: u64) -> Result<Self, FlatKvError> {
        let End { segments, open, next } = scan.into_end();
        let open = match (segments.back(), open) {
            (Some((_, path)), Some((header, end))) => {
                let file = OpenOptions::new().write(true).open(path).map_err(FlatKvError::io(path))?;
                Some(Open { file: Arc::new(file), path: path.clone(), salt: header.salt, end })
            }
            _ => None,
        };
        Ok(Self { dir: dir.to_owned(), segment_bytes, segments, open, next })
    }

    /// Number of the last record; 0 without any.
    pub(crate) fn last(&self) -> u64 {
        self.next - 1
    }

    /// Appends a record; it is with the operating system when this returns. Returns its size in bytes.
    pub(crate) fn append(&mut self, payload: &[u8]) -> Result<u64, FlatKvError> {
        debug_assert!(payload.len() as u64 <= MAX_PAYLOAD_BYTES);
        if self.open.as_ref().is_none_or(|open| open.end >= self.segment_bytes) {
            self.start_segment()?;
        }
        let Some(open) = &mut self.open else { unreachable!("started above") };
        let record = frame(open.salt, self.next, payload);
        if let Err(error) = open.file.write_all_at(&record, open.end) {
            // What was written of the record is a torn tail; without it nothing needs to be cut at the next open.
            let _ = open.file.set_len(open.end);
            return Err(FlatKvError::io(&open.path)(error));
        }
        open.end += record.len() as u64;
        self.next += 1;
        Ok(record.len() as u64)
    }

    fn start_segment(&mut self) -> Result<(), FlatKvError> {
        self.sync()?;
        let header = SegmentHeader { first: self.next, salt: RandomState::new().hash_one(self.next) };
        let path = segment_path(&self.dir, self.next);
        let make = || -> io::Result<File> {
            let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
            file.write_all_at(&header.to_bytes(), 0)?;
            file.sync_all()?;
            Ok(file)
        };
        let file = make().map_err(FlatKvError::io(&path))?;
        sync_dir(&self.dir)?;
        self.segments.push_back((self.next, path.clone()));
        let end = record::SEGMENT_HEADER_BYTES as u64;
        self.open = Some(Open { file: Arc::new(file), path, salt: header.salt, end });
        Ok(())
    }

    /// Brings everything that was appended to the disk.
    pub(crate) fn sync(&self) -> Result<(), FlatKvError> {
        match &self.open {
            Some(open) => open.file.sync_data().map_err(FlatKvError::io(&open.path)),
            None => Ok(()),
        }
    }

    /// The segment being written, so that it can be synced while appends go on. Earlier ones are synced already.
    pub(crate) fn file(&self) -> Option<(Arc<File>, PathBuf)> {
        self.open.as_ref().map(|open| (open.file.clone(), open.path.clone()))
    }

    /// Deletes old segments whose records all lie at or below `flushed`.
    pub(crate) fn prune(&mut self, flushed: u64) -> Result<(), FlatKvError> {
        while self.segments.len() > KEEP_SEGMENTS && self.segments[1].0 <= flushed.saturating_add(1) {
            let path = &self.segments[0].1;
            fs::remove_file(path).map_err(FlatKvError::io(path))?;
            self.segments.pop_front();
        }
        Ok(())
    }
}

fn segment_path(dir: &Path, first: u64) -> PathBuf {
    dir.join(format!("{first:020}.wal"))
}

fn sync_dir(dir: &Path) -> Result<(), FlatKvError> {
    File::open(dir).and_then(|file| file.sync_all()).map_err(FlatKvError::io(dir))
}
