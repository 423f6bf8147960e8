//! Lock files: flock(2), with the name of the holder in the file.

use crate::{FsKind, fs_kind::fs_kind};
use std::{
    any::Any,
    fmt,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

/// Largest lock file that is read, in bytes.
const MAX_LOCK_BYTES: u64 = 4096;

/// Who has a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Name of the machine.
    pub host: String,
    /// Process on that machine.
    pub pid: u32,
    /// Identity of that machine's boot: a process number means nothing after the next one.
    pub boot_id: String,
}

impl Holder {
    /// This process.
    pub fn this_process() -> Self {
        let line = |path| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        Self {
            host: line("/proc/sys/kernel/hostname"),
            pid: std::process::id(),
            boot_id: line("/proc/sys/kernel/random/boot_id"),
        }
    }

    /// The process that a lock file names: the one that holds the lock, or one that ended without
    /// releasing it.
    pub fn of_lock(path: &Path) -> Option<Self> {
        let mut text = String::new();
        File::open(path).ok()?.take(MAX_LOCK_BYTES).read_to_string(&mut text).ok()?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
        let (host, pid, boot_id) = (field("host")?, field("pid")?, field("boot")?);
        Some(Self { host, pid: pid.parse().ok()?, boot_id })
    }

    fn to_text(&self) -> String {
        format!("host={}\npid={}\nboot={}\n", self.host, self.pid, self.boot_id)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}", self.pid, self.host)
    }
}

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has it.
    #[error("{} is held by {}", .path.display(), .holder.as_ref().map_or_else(|| "an unknown process".to_owned(), Holder::to_string))]
    Held {
        /// The lock file.
        path: PathBuf,
        /// Who has it, where the file says so.
        holder: Option<Holder>,
    },
    /// The lock file cannot be made, read or written.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

/// A lock that was taken. It ends when this is dropped.
pub struct Lock {
    path: PathBuf,
    /// What ends the lock when it is dropped.
    _held: Box<dyn Any + Send + Sync>,
}

impl Lock {
    /// A lock that ends when `held` is dropped; for other disks.
    pub fn new(path: PathBuf, held: Box<dyn Any + Send + Sync>) -> Self {
        Self { path, _held: held }
    }

    /// The lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").field("path", &self.path).finish_non_exhaustive()
    }
}

/// A locked file. It is emptied when the lock ends, so that a name in it is that of a holder or of
/// one that died.
struct Held(File);

impl Drop for Held {
    fn drop(&mut self) {
        // The lock ends with the descriptor in any case, though not before the last copy of it is
        // closed: a process that another thread just forked has one until it executes its program.
        // Unlocking ends the lock for all copies (flock(2)).
        let _ = self.0.set_len(0);
        let _ = self.0.unlock();
    }
}

/// Takes the lock file at a path.
pub(crate) fn lock(path: &Path) -> Result<Lock, LockError> {
    take(path, &Holder::this_process(), fs_kind(crate::parent(path)).unwrap_or(FsKind::Local))
}

fn take(path: &Path, me: &Holder, kind: FsKind) -> Result<Lock, LockError> {
    let io = |source| LockError::Io { path: path.to_owned(), source };
    let held = |holder| LockError::Held { path: path.to_owned(), holder };
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
    let locked = file.try_lock();
    let mut text = String::new();
    // What is not text names no process.
    let _ = (&file).take(MAX_LOCK_BYTES).read_to_string(&mut text);
    let holder = Holder::parse(&text);
    match locked {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(held(holder)),
        Err(TryLockError::Error(error)) => return Err(io(error)),
    }
    // Over a network flock may not reach other machines; there the name in the file counts.
    if matches!(kind, FsKind::Network(_)) && holder.as_ref().is_some_and(|other| other.host != me.host) {
        return Err(held(holder));
    }
    let emptied = file.set_len(0).and_then(|()| file.rewind());
    let named = emptied.and_then(|()| file.write_all(me.to_text().as_bytes()));
    named.or_else(|error| without_name(error, kind)).map_err(io)?;
    Ok(Lock::new(path.to_owned(), Box::new(Held(file))))
}

/// What becomes of a lock whose name could not be written. On a disk of this machine that is full,
/// or where the user's quota is used up, it holds without one.
fn without_name(error: io::Error, kind: FsKind) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded if kind == FsKind::Local => Ok(()),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_lock_names_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("LOCK");
        let first = lock(&path).unwrap();
        let Err(LockError::Held { holder, .. }) = lock(&path) else { panic!("locked twice") };
        assert_eq!(holder, Some(Holder::this_process()));
        assert_eq!(holder.unwrap().pid, std::process::id());
        drop(first);
        assert_eq!(fs::read(&path).unwrap(), b"");
        lock(&path).unwrap();
    }

    #[test]
    fn a_copy_of_the_descriptor_does_not_keep_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("LOCK");
        let first = lock(&path).unwrap();
        let held = first._held.downcast_ref::<Held>().unwrap();
        // What a forked process has.
        let _copy = held.0.try_clone().unwrap();
        drop(first);
        lock(&path).unwrap();
    }

    #[test]
    fn the_name_of_a_dead_holder_only_blocks_over_a_network() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("LOCK");
        let other = Holder { host: "elsewhere".into(), pid: 7, boot_id: "b".into() };
        fs::write(&path, other.to_text()).unwrap();
        let me = Holder::this_process();
        let Err(LockError::Held { holder, .. }) = take(&path, &me, FsKind::Network("nfs")) else {
            panic!("took a lock of another machine")
        };
        assert_eq!(holder, Some(other));
        let lock = take(&path, &me, FsKind::Local).unwrap();
        assert_eq!(Holder::parse(&fs::read_to_string(&path).unwrap()), Some(me));
        drop(lock);
    }

    #[test]
    fn a_full_disk_keeps_the_name_out_and_not_the_lock() {
        let failed = |why: io::ErrorKind, kind| without_name(why.into(), kind).map_err(|error| error.kind());
        let broken = io::ErrorKind::InvalidInput;
        for full in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
            assert_eq!(failed(full, FsKind::Local), Ok(()));
            assert_eq!(failed(full, FsKind::Network("nfs")), Err(full));
        }
        assert_eq!(failed(broken, FsKind::Local), Err(broken));
    }
}
