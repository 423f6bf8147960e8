//! File I/O behind one trait, so that tests can put a disk under a store that fails as disks and
//! power do.
//!
//! [`Disk`] is a file system, [`DiskFile`] an open file; [`RealDisk`] is the machine's,
//! [`TransientDisk`] the same without syncs. With the feature `sim` there is
//! `sim::SimDisk`, which loses, keeps or tears what was not synced, and fails at a chosen call.
//! [`Clock`] stands beside them for what depends on time.
//!
//! What a store may rely on after a power cut is what POSIX and Linux promise and no more: bytes of
//! a file are durable after its [`DiskFile::sync_data`], a name in a folder (created, renamed,
//! unlinked) after [`Disk::sync_dir`] of that folder, and a sync that failed must not be tried
//! again: the bytes may be gone while the second one succeeds.

mod clock;
mod fs_kind;
mod lock;
mod no_wait;
mod real;
#[cfg(feature = "sim")]
pub mod sim;
mod transient;

pub use clock::{Clock, ManualClock, SystemClock};
pub use fs_kind::FsKind;
pub use lock::{Holder, Lock, LockError};
pub use no_wait::{may_wait, without_waiting};
pub use real::RealDisk;
pub use transient::TransientDisk;

use std::{
    ffi::OsString,
    fmt::Debug,
    io::{self, IoSlice},
    path::Path,
    sync::Arc,
};

/// How an existing file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// For reading.
    Read,
    /// For reading and writing.
    ReadWrite,
}

/// What a name in a folder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A plain file.
    File,
    /// A folder.
    Dir,
    /// Anything else: a link that leads nowhere, a socket.
    Other,
}

/// Kind and size of what a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// What it is.
    pub kind: EntryKind,
    /// Size in bytes; of no meaning where it is not a file.
    pub len: u64,
}

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// The name, without the folder.
    pub name: OsString,
    /// What it stands for.
    pub kind: EntryKind,
    /// Size in bytes; of no meaning where it is not a file.
    pub len: u64,
}

/// A file system. All methods may be called from any thread.
///
/// Errors are those of the operating system: `NotFound`, `AlreadyExists`, `StorageFull`, and so on.
pub trait Disk: Send + Sync + Debug + 'static {
    /// Makes a new, empty file, open for reading and writing; an error if the name is there
    /// already.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens an existing file.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>>;

    /// Moves a name, in place of the file that has the new one, if any. Durable when both folders
    /// are synced.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Takes a file's name away. Who has it open continues reading and writing it.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Makes a folder; an error if the name is there already or the parent is not.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty folder.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// The names in a folder, sorted.
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>>;

    /// Makes the names in a folder durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Kind and size of what a path leads to; `NotFound` where nothing is.
    fn metadata(&self, path: &Path) -> io::Result<Metadata>;

    /// Bytes that may still be written to the file system of an existing path.
    fn free_bytes(&self, path: &Path) -> io::Result<u64>;

    /// Whether an existing path lies on a file system of this machine.
    fn fs_kind(&self, path: &Path) -> io::Result<FsKind>;

    /// Takes the lock file at `path` for this process, makes it if it is missing, and writes host,
    /// process and boot into it. The lock ends with the value or with the process.
    ///
    /// # Errors
    /// [`LockError::Held`] names who has it.
    fn lock(&self, path: &Path) -> Result<Lock, LockError>;

    /// Whether anything is at the path.
    fn exists(&self, path: &Path) -> io::Result<bool> {
        match self.metadata(path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes a folder and those above it that are missing, and makes their names durable; also the
    /// name of a folder that is there, because a process that made it may have died before it got
    /// to that.
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        match self.metadata(path) {
            Ok(Metadata { kind: EntryKind::Dir, .. }) => return sync_name_of_old_dir(self, path),
            Ok(_) => return Err(io::Error::new(io::ErrorKind::NotADirectory, path.display().to_string())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let parent = parent(path);
        self.create_dir_all(parent)?;
        match self.create_dir(path) {
            // Another process made it in between.
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        self.sync_dir(parent)
    }

    /// The whole content of a file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let file = self.open(path, OpenMode::Read)?;
        let mut bytes = vec![0; file.len()? as usize];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }
}

/// A byte range of a file that is split into parts, each with its own header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Offset of the first head.
    pub offset: u64,
    /// Bytes of a head. Not 0.
    pub head: usize,
    /// Bytes of a part; the last one is the rest. Not 0.
    pub part: usize,
    /// Bytes of all parts, without their heads.
    pub len: usize,
}

impl Parts {
    /// Number of parts.
    pub fn count(&self) -> usize {
        self.len.div_ceil(self.part)
    }

    /// Bytes of all heads.
    pub fn heads_len(&self) -> usize {
        self.count() * self.head
    }

    /// # Errors
    /// `InvalidInput` where heads or parts have no bytes, or `heads` has not exactly room for all
    /// heads.
    pub fn check(&self, heads: &[u8]) -> io::Result<()> {
        let why = if self.head == 0 || self.part == 0 {
            "heads and parts need at least one byte".to_owned()
        } else if self.count().checked_mul(self.head) != Some(heads.len()) {
            let (count, head) = (self.count(), self.head);
            format!("{count} heads of {head} bytes do not fill a buffer of {} bytes", heads.len())
        } else {
            return Ok(());
        };
        Err(io::Error::new(io::ErrorKind::InvalidInput, why))
    }
}

/// An open file. All methods may be called from any thread.
// A file's size may not be known (an I/O error), so there is no `is_empty` beside `len`.
#[allow(clippy::len_without_is_empty)]
pub trait DiskFile: Send + Sync + Debug {
    /// Reads at an offset; may read fewer bytes than requested, 0 at the end of the file.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes at an offset; may write fewer bytes than given.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize>;

    /// Writes several buffers one behind the other; may write fewer bytes than given.
    fn write_vectored_at(&self, bufs: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        bufs.iter().find(|buf| !buf.is_empty()).map_or(Ok(0), |buf| self.write_at(buf, offset))
    }

    /// Has the system begin to write bytes of the file to the device, and does not wait for it: a
    /// sync that follows has less left to do. A hint, by which nothing gets durable and of which no
    /// error is known.
    fn start_writing(&self, _offset: u64, _len: u64) {}

    /// Makes the file's bytes and its size durable.
    fn sync_data(&self) -> io::Result<()>;

    /// Makes the file's bytes and everything else about it durable; not its name, see
    /// [`Disk::sync_dir`].
    fn sync_all(&self) -> io::Result<()>;

    /// Cuts the file off, or extends it with zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Size in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Fills the buffer.
    ///
    /// # Errors
    /// `UnexpectedEof` where the file ends before.
    fn read_exact_at(&self, mut buf: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buf.is_empty() {
            match self.read_at(buf, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    buf = &mut buf[n..];
                    offset += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads bytes to the end of `out`.
    ///
    /// # Errors
    /// `UnexpectedEof` where the file ends before. What is behind the old end of `out` is of no
    /// meaning after an error.
    fn read_onto(&self, out: &mut Vec<u8>, len: usize, offset: u64) -> io::Result<()> {
        let at = out.len();
        out.resize(at + len, 0);
        self.read_exact_at(&mut out[at..], offset)
    }

    /// Reads parts into one piece: their heads into `heads`, which has [`Parts::heads_len`] bytes,
    /// and what lies behind each at the end of `body`.
    ///
    /// # Errors
    /// `InvalidInput` as [`Parts::check`] says, `UnexpectedEof` where the file ends before. `heads`
    /// and `body` are of no meaning after an error.
    fn read_parts_at(&self, parts: &Parts, heads: &mut [u8], body: &mut Vec<u8>) -> io::Result<()> {
        parts.check(heads)?;
        let (mut offset, mut at) = (parts.offset, body.len());
        body.resize(at + parts.len, 0);
        for head in heads.chunks_exact_mut(parts.head) {
            let len = parts.part.min(body.len() - at);
            self.read_exact_at(head, offset)?;
            self.read_exact_at(&mut body[at..at + len], offset + parts.head as u64)?;
            offset += (parts.head + len) as u64;
            at += len;
        }
        Ok(())
    }

    /// Writes all bytes. After an error any part of them may be there.
    fn write_all_at(&self, mut buf: &[u8], mut offset: u64) -> io::Result<()> {
        while !buf.is_empty() {
            match self.write_at(buf, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    buf = &buf[n..];
                    offset += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes all buffers, one behind the other. After an error any part of them may be there.
    fn write_all_vectored_at(&self, mut bufs: &mut [IoSlice<'_>], mut offset: u64) -> io::Result<()> {
        IoSlice::advance_slices(&mut bufs, 0);
        while !bufs.is_empty() {
            match self.write_vectored_at(bufs, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    IoSlice::advance_slices(&mut bufs, n);
                    offset += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Makes the name of a folder durable that was there before. Where its parent cannot be synced at
/// all, it was not made by a process like this one: the mount point of a container, say.
fn sync_name_of_old_dir(disk: &(impl Disk + ?Sized), path: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, ReadOnlyFilesystem, Unsupported};
    match disk.sync_dir(parent(path)) {
        Err(error)
            if matches!(error.kind(), InvalidInput | PermissionDenied | ReadOnlyFilesystem | Unsupported) =>
        {
            Ok(())
        }
        synced => synced,
    }
}

/// The folder a path lies in; `.` for a bare name.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}
