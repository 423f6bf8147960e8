//! The changelog WAL, the store's only log: one record a commit or unwind, numbered without gaps,
//! in segments.

mod check;
#[cfg(test)]
mod faults;
mod preallocation;
pub mod record;
pub mod salvage;
pub mod scan;
#[cfg(test)]
mod tests;

pub use check::LogFault;

use crate::{FlatKvError, files};
use hearth_disk::{Disk, DiskFile, OpenMode};
use parking_lot::Mutex;
use preallocation::Preallocation;
use record::{MAX_PAYLOAD_BYTES, RECORD_HEADER_BYTES, SegmentHeader, put_frame};
use scan::{End, WalScan};
use std::{
    collections::VecDeque,
    hash::{BuildHasher, RandomState},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Segments that are kept though RocksDB has all of their records.
const KEEP_SEGMENTS: usize = 3;

/// The WAL, open for appending.
pub struct Wal {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    segment_bytes: u64,
    /// First record and path of each segment, oldest first; the last one is being written.
    segments: VecDeque<(u64, PathBuf)>,
    open: Option<Open>,
    next: u64,
}

struct Open {
    tail: Arc<Tail>,
    salt: u64,
    end: u64,
    ahead: Preallocation,
}

/// The segment being written, for the thread that syncs it.
pub struct Tail {
    file: Arc<dyn DiskFile>,
    path: PathBuf,
    /// Whether a sync failed. Held during syncs: after one fails the system takes the bytes for
    /// written, so that another one, also from another thread, would succeed wrongly.
    failed: Mutex<bool>,
}

impl Tail {
    fn new(file: Arc<dyn DiskFile>, path: PathBuf) -> Arc<Self> {
        Arc::new(Self { file, path, failed: Mutex::new(false) })
    }

    /// Syncs the appended records to the disk. After one failure, every later call fails.
    pub fn sync(&self) -> Result<(), FlatKvError> {
        let mut failed = self.failed.lock();
        let result =
            if *failed { Err(io::Error::other("an earlier sync failed")) } else { self.file.sync_data() };
        *failed |= result.is_err();
        result.map_err(FlatKvError::io(&self.path))
    }
}

impl Wal {
    /// Continues behind what a scan found, once it was cut.
    pub fn resume(scan: WalScan, segment_bytes: u64) -> Result<Self, FlatKvError> {
        let End { disk, dir, segments, open, next } = scan.into_end();
        let open = match (segments.back(), open) {
            (Some((_, path)), Some((header, end))) => {
                let file = disk.open(path, OpenMode::ReadWrite).map_err(FlatKvError::io(path))?;
                Some(Open {
                    tail: Tail::new(file, path.clone()),
                    salt: header.salt,
                    end,
                    ahead: Preallocation::default(),
                })
            }
            _ => None,
        };
        Ok(Self { disk, dir, segment_bytes, segments, open, next })
    }

    /// A new WAL in an empty folder, whose first record has this number.
    pub fn starting_at(disk: Arc<dyn Disk>, dir: &Path, segment_bytes: u64, next: u64) -> Self {
        let (dir, segments) = (dir.to_owned(), VecDeque::new());
        Self { disk, dir, segment_bytes, segments, open: None, next }
    }

    /// A WAL that is never written.
    pub fn closed(disk: Arc<dyn Disk>, dir: &Path) -> Self {
        Self::starting_at(disk, dir, 0, 1)
    }

    /// Number of the last record; 0 without any.
    pub fn last(&self) -> u64 {
        self.next - 1
    }

    /// Appends a record; it is with the operating system when this returns. Returns its size in
    /// bytes.
    pub fn append(&mut self, payload: &[u8]) -> Result<u64, FlatKvError> {
        self.append_together(&[payload])
    }

    /// Appends records with one write, all or none; they are with the operating system when this
    /// returns. Returns their size in bytes.
    pub fn append_together<P: AsRef<[u8]>>(&mut self, payloads: &[P]) -> Result<u64, FlatKvError> {
        debug_assert!(payloads.iter().all(|payload| payload.as_ref().len() as u64 <= MAX_PAYLOAD_BYTES));
        if self.open.as_ref().is_none_or(|open| open.end >= self.segment_bytes) {
            self.start_segment()?;
        }
        let Some(open) = &mut self.open else { unreachable!("started above") };
        let bytes = payloads.iter().map(|payload| RECORD_HEADER_BYTES + payload.as_ref().len()).sum();
        let mut records = Vec::with_capacity(bytes);
        for (number, payload) in (self.next..).zip(payloads) {
            put_frame(&mut records, open.salt, number, payload.as_ref());
        }
        open.ahead.before_write(open.end + records.len() as u64);
        if let Err(error) = open.tail.file.write_all_at(&records, open.end) {
            // The partly written records are a torn tail. Truncating them now saves the next open
            // from doing so.
            open.ahead.clear(open.end);
            if open.tail.file.set_len(open.end).is_ok() {
                open.ahead.was_cut();
            }
            return Err(FlatKvError::io(&open.tail.path)(error));
        }
        open.end += records.len() as u64;
        self.next += payloads.len() as u64;
        Ok(records.len() as u64)
    }

    fn start_segment(&mut self) -> Result<(), FlatKvError> {
        // A segment that another one follows ends with a record.
        self.cut_preallocation()?;
        self.sync()?;
        let header = SegmentHeader { first: self.next, salt: RandomState::new().hash_one(self.next) };
        let path = segment_path(&self.dir, self.next);
        let file = match self.make_segment(&path, &header) {
            Ok(file) => file,
            Err(error) => {
                // On a full disk the next try finds room for the name at least. Should this fail as
                // well, the next open takes the file for the torn tail that it is.
                let _ = self.disk.remove_file(&path);
                return Err(FlatKvError::io(&path)(error));
            }
        };
        self.segments.push_back((self.next, path.clone()));
        let end = record::SEGMENT_HEADER_BYTES as u64;
        self.open = Some(Open {
            tail: Tail::new(file, path),
            salt: header.salt,
            end,
            ahead: Preallocation::default(),
        });
        Ok(())
    }

    fn make_segment(&self, path: &Path, header: &SegmentHeader) -> io::Result<Arc<dyn DiskFile>> {
        let file = self.disk.create(path)?;
        file.write_all_at(&header.to_bytes(), 0)?;
        file.sync_all()?;
        self.disk.sync_dir(&self.dir)?;
        Ok(file)
    }

    /// Has zeros written behind the end of the log, in the background, where few are left: for
    /// appends each of which is synced before the next one.
    pub fn preallocate(&mut self) {
        if let Some(open) = &mut self.open {
            open.ahead.extend(&open.tail, open.end, self.segment_bytes);
        }
    }

    /// Waits for the thread that writes zeros.
    #[cfg(test)]
    fn join_preallocation(&mut self) {
        if let Some(open) = &mut self.open {
            open.ahead.join();
        }
    }

    /// Preallocated bytes behind the end of the log.
    #[cfg(test)]
    fn preallocated_bytes(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.ahead.left(open.end))
    }

    /// Cuts off what is behind the end of the log, before appends that no sync separates, and
    /// before the end of the process.
    ///
    /// # Errors
    /// Of the cut: the zeros may still be there then, and nothing may be appended without a sync.
    pub fn cut_preallocation(&mut self) -> Result<(), FlatKvError> {
        let Some(open) = &mut self.open else { return Ok(()) };
        if open.ahead.clear(open.end) {
            open.tail.file.set_len(open.end).map_err(FlatKvError::io(&open.tail.path))?;
            open.ahead.was_cut();
        }
        Ok(())
    }

    /// Brings everything that was appended to the disk.
    pub fn sync(&self) -> Result<(), FlatKvError> {
        self.open.as_ref().map_or(Ok(()), |open| open.tail.sync())
    }

    /// The segment being written, so that it can be synced while appends continue. Earlier ones are
    /// synced already.
    pub fn tail(&self) -> Option<Arc<Tail>> {
        self.open.as_ref().map(|open| open.tail.clone())
    }

    /// Deletes old segments whose records all lie at or below `flushed`.
    pub fn prune(&mut self, flushed: u64) -> Result<(), FlatKvError> {
        while self.segments.len() > KEEP_SEGMENTS && self.segments[1].0 <= flushed.saturating_add(1) {
            let path = &self.segments[0].1;
            // It is gone already where the sync behind its removal failed the last time.
            files::remove_file(&*self.disk, path)?;
            // One by one: were a later one gone and this one not, a record would be missing in
            // between.
            self.disk.sync_dir(&self.dir).map_err(FlatKvError::io(&self.dir))?;
            self.segments.pop_front();
        }
        Ok(())
    }
}

fn segment_path(dir: &Path, first: u64) -> PathBuf {
    dir.join(format!("{first:020}.wal"))
}
