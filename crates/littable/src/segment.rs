//! One segment: a file that is appended to until it is sealed, and read by `pread` ever after.

use crate::LittError;
use crate::codec::{Dictionary, Encoder};
use crate::failpoints::{InjectedBug, has};
use crate::format::{HeaderFault, SEGMENT_HEADER, SegmentHeader, Summary, VERSION, random};
use crate::handles::next_uid;
use crate::keymap::KeyMap;
use crate::pages::Budget;
use hearth_disk::{Disk, DiskFile, OpenMode};
use parking_lot::{Mutex, RwLock};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Maximum capacity of a written buffer that is kept for reuse, in bytes.
const MAX_SPARE_BYTES: usize = 8 << 20;

/// A segment that exists. What a read needs of one whose file is open comes first: with many
/// segments it is mostly not in the processor's cache, and lies in one line there.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Segment {
    pub seed: u64,
    /// Number of the file in this process.
    pub uid: u64,
    /// Where the file was among the open ones last.
    pub near: AtomicU32,
    /// Set when its file is going to be removed.
    pub retired: AtomicBool,
    pub dictionary: Option<Arc<Dictionary>>,
    pub header: SegmentHeader,
    pub path: PathBuf,
}

impl Segment {
    pub fn new(header: SegmentHeader, path: PathBuf, dictionary: Option<Arc<Dictionary>>) -> Self {
        let retired = AtomicBool::new(false);
        let near = AtomicU32::default();
        Self { header, seed: header.seed(), path, uid: next_uid(), near, dictionary, retired }
    }

    pub fn index(&self) -> u32 {
        self.header.index
    }

    pub fn corrupt(&self, offset: u64, what: &'static str) -> LittError {
        LittError::corrupt(&self.path, offset, what)
    }

    /// The error of a read at an offset.
    pub fn read_error(&self, offset: u64, source: std::io::Error) -> LittError {
        match source.kind() {
            std::io::ErrorKind::UnexpectedEof => self.corrupt(offset, "file cut short"),
            _ => LittError::io(&self.path)(source),
        }
    }

    pub fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }
}

/// Name of a segment's file.
pub(crate) fn segment_name(shard: u8, index: u32) -> String {
    format!("{shard:02}-{index:010}.seg")
}

/// Shard and index of a segment's file name.
pub(crate) fn parse_segment_name(name: &str) -> Option<(u8, u32)> {
    let (shard, index) = name.strip_suffix(".seg")?.split_once('-')?;
    let parsed = (shard.parse().ok()?, index.parse().ok()?);
    (segment_name(parsed.0, parsed.1) == name).then_some(parsed)
}

/// Makes a segment's file, with its header and its name durable: what is written to it later
/// depends on neither.
pub(crate) fn create(
    disk: &dyn Disk,
    dir: &Path,
    shard: u8,
    index: u32,
    dictionary: Option<Arc<Dictionary>>,
) -> Result<(Segment, Arc<dyn DiskFile>), LittError> {
    let path = dir.join(segment_name(shard, index));
    let number = dictionary.as_ref().map_or(0, |d| d.number);
    let header = SegmentHeader { shard, index, salt: random(), dictionary: number };
    let file = disk.create(&path).map_err(LittError::io(&path))?;
    let written = file.write_all_at(&header.encode(), 0).and_then(|()| file.sync_data());
    let named = written.map_err(LittError::io(&path)).and_then(|()| match has(InjectedBug::DirSyncSkipped) {
        true => Ok(()),
        false => disk.sync_dir(dir).map_err(LittError::io(dir)),
    });
    if let Err(error) = named {
        // What is left is empty, and removed at the next opening.
        let _ = disk.remove_file(&path);
        return Err(error);
    }
    Ok((Segment::new(header, path, dictionary), file))
}

/// A segment's header and its open file.
pub(crate) type Headed = (SegmentHeader, Arc<dyn DiskFile>);

/// Opens a file and decodes its header. `Ok(None)` where it holds no more than a piece of a header,
/// which is what a death while it was made leaves.
pub(crate) fn read_header(disk: &dyn Disk, path: &Path, mode: OpenMode) -> Result<Option<Headed>, LittError> {
    let file = disk.open(path, mode).map_err(LittError::io(path))?;
    let len = file.len().map_err(LittError::io(path))?;
    let mut bytes = [0; SEGMENT_HEADER];
    let there = bytes.len().min(len as usize);
    file.read_exact_at(&mut bytes[..there], 0).map_err(LittError::io(path))?;
    match SegmentHeader::decode(&bytes) {
        Ok(header) => Ok(Some((header, file))),
        Err(HeaderFault::Newer(found)) => {
            Err(LittError::NewerFormat { path: path.to_owned(), found, known: VERSION })
        }
        Err(HeaderFault::Damaged) if len <= SEGMENT_HEADER as u64 => Ok(None),
        Err(HeaderFault::Damaged) => Err(LittError::corrupt(path, 0, "segment header")),
    }
}

/// A segment whose key index is in memory: the one that is written to, and those that are about to
/// be sealed.
#[derive(Debug)]
pub(crate) struct OpenSegment {
    pub segment: Arc<Segment>,
    pub file: Arc<dyn DiskFile>,
    pub encoder: Encoder,
    pub keys: RwLock<KeyMap>,
    tail: RwLock<Tail>,
    /// Held while the tail is written or the file is synced: how far the file is known to be
    /// durable.
    io: Mutex<u64>,
    pub progress: Mutex<Progress>,
    /// Whether another thread is going to write the tail.
    pub queued: AtomicBool,
}

/// What a segment holds so far.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub summary: Summary,
    pub digest: crc32fast::Hasher,
    /// Whether `digest` covers all records. Not after a reopening: then the file is read when it is
    /// sealed.
    pub digest_known: bool,
    /// Whether the file has its footer already.
    pub sealed: bool,
    /// When the first record was written, by the monotonic clock.
    pub since: Option<std::time::Duration>,
}

/// Bytes that the file does not have yet.
#[derive(Debug, Default)]
struct Tail {
    /// Offset in the file of the first of them.
    start: u64,
    /// Bytes that are being written, or whose writing failed.
    writing: Option<Arc<Vec<u8>>>,
    /// Bytes behind those.
    filling: Vec<u8>,
    /// Memory of what was written last, for what is filled next.
    spare: Vec<u8>,
}

impl Tail {
    fn end(&self) -> u64 {
        self.start + self.writing.as_ref().map_or(0, |w| w.len() as u64) + self.filling.len() as u64
    }
}

impl OpenSegment {
    /// A segment whose file ends at `end`, durable as far as `synced`.
    pub fn new(
        segment: Arc<Segment>,
        file: Arc<dyn DiskFile>,
        encoder: Encoder,
        end: u64,
        synced: u64,
        budget: &Arc<Budget>,
    ) -> Self {
        let tail = RwLock::new(Tail { start: end, ..Tail::default() });
        let progress = Progress { digest_known: true, ..Progress::default() };
        let keys = RwLock::new(KeyMap::new(budget.clone()));
        let (io, progress, queued) = (Mutex::new(synced), Mutex::new(progress), AtomicBool::new(false));
        Self { segment, file, encoder, keys, tail, io, progress, queued }
    }

    /// Offset behind the last byte.
    pub fn end(&self) -> u64 {
        self.tail.read().end()
    }

    /// Offset up to which the file is known to be durable. Waits for a sync that runs.
    pub fn synced(&self) -> u64 {
        *self.io.lock()
    }

    /// Bytes that the operating system does not have yet.
    pub fn buffered(&self) -> usize {
        let tail = self.tail.read();
        (tail.end() - tail.start) as usize
    }

    /// Appends to the tail what a function makes of the offset where it begins.
    pub fn append<T>(&self, make: impl FnOnce(u64, &mut Vec<u8>) -> T) -> T {
        let mut tail = self.tail.write();
        let end = tail.end();
        make(end, &mut tail.filling)
    }

    /// Uses so many bytes from an offset, if the tail has them; else the file does.
    pub fn with_tail<T>(&self, len: usize, offset: u64, take: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let tail = self.tail.read();
        let at = offset.checked_sub(tail.start)? as usize;
        let writing = tail.writing.as_ref().map_or(&[][..], |w| w);
        // A record is appended as a whole, so it never lies across the two.
        let source = match at.checked_sub(writing.len()) {
            None => writing.get(at..at + len),
            Some(at) => tail.filling.get(at..at + len),
        };
        source.map(take)
    }

    /// Hands the tail to the operating system. Where that fails, the bytes stay and can be read,
    /// and the next call tries again.
    pub fn write_out(&self) -> Result<(), LittError> {
        let _io = self.io.lock();
        self.write_locked()
    }

    /// The same if so many bytes wait, after the bytes that are being written are subtracted.
    pub fn write_out_from(&self, bytes: usize) -> Result<(), LittError> {
        let _io = self.io.lock();
        if self.buffered() < bytes { Ok(()) } else { self.write_locked() }
    }

    fn write_locked(&self) -> Result<(), LittError> {
        // Twice at most: what was left by a failure, then what has come since.
        for _ in 0..2 {
            let (start, bytes) = {
                let mut tail = self.tail.write();
                let tail = &mut *tail;
                if tail.writing.is_none() && !tail.filling.is_empty() {
                    let spare = std::mem::take(&mut tail.spare);
                    tail.writing = Some(Arc::new(std::mem::replace(&mut tail.filling, spare)));
                }
                let Some(bytes) = tail.writing.clone() else { return Ok(()) };
                (tail.start, bytes)
            };
            self.file.write_all_at(&bytes, start).map_err(LittError::io(&self.segment.path))?;
            // The device works while the next bytes are gathered.
            self.file.start_writing(start, bytes.len() as u64);
            let mut tail = self.tail.write();
            tail.start += bytes.len() as u64;
            tail.writing = None;
            // The memory is used again: fresh pages cost as much as what is written to them.
            if let Ok(mut bytes) = Arc::try_unwrap(bytes)
                && bytes.capacity() <= MAX_SPARE_BYTES
            {
                bytes.clear();
                tail.spare = bytes;
            }
        }
        Ok(())
    }

    /// Makes everything durable that was appended before. Says how long the sync took.
    ///
    /// # Errors
    /// `(false, error)` where writing failed, which may be tried again; `(true, error)` where
    /// syncing failed, which must not.
    pub fn sync(&self) -> Result<(), (bool, LittError)> {
        let mut synced = self.io.lock();
        let end = self.end();
        if *synced >= end {
            return Ok(());
        }
        self.write_locked().map_err(|error| (false, error))?;
        if has(InjectedBug::SyncSkipped) {
            *synced = end;
            return Ok(());
        }
        self.file.sync_data().map_err(|error| (true, LittError::io(&self.segment.path)(error)))?;
        *synced = end;
        Ok(())
    }
}

/// Checks both copies of a segment's header.
pub(crate) fn check_header(segment: &Segment, file: &dyn DiskFile) -> Result<(), LittError> {
    let mut bytes = [0; SEGMENT_HEADER];
    file.read_exact_at(&mut bytes, 0).map_err(|error| segment.read_error(0, error))?;
    match bytes == segment.header.encode() {
        true => Ok(()),
        false => Err(segment.corrupt(0, "segment header")),
    }
}

/// The file of an open segment together with what it does not have yet: on a full disk, reads go
/// on.
#[derive(Debug)]
pub(crate) struct WithTail(pub Arc<OpenSegment>);

impl DiskFile for WithTail {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let tail = self.0.tail.read();
        let Some(at) = offset.checked_sub(tail.start).map(|at| at as usize) else {
            let len = buf.len().min((tail.start - offset) as usize);
            return self.0.file.read_at(&mut buf[..len], offset);
        };
        let writing = tail.writing.as_ref().map_or(&[][..], |w| w);
        let source = match at.checked_sub(writing.len()) {
            None => &writing[at..],
            Some(at) => tail.filling.get(at..).unwrap_or_default(),
        };
        let len = buf.len().min(source.len());
        buf[..len].copy_from_slice(&source[..len]);
        Ok(len)
    }
    fn write_at(&self, _: &[u8], _: u64) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::ReadOnlyFilesystem.into())
    }
    fn sync_data(&self) -> std::io::Result<()> {
        Err(std::io::ErrorKind::ReadOnlyFilesystem.into())
    }
    fn sync_all(&self) -> std::io::Result<()> {
        Err(std::io::ErrorKind::ReadOnlyFilesystem.into())
    }
    fn set_len(&self, _: u64) -> std::io::Result<()> {
        Err(std::io::ErrorKind::ReadOnlyFilesystem.into())
    }
    fn len(&self) -> std::io::Result<u64> {
        Ok(self.0.end())
    }
}
