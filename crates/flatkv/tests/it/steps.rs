//! A disk that stops at a chosen call, for what must hold wherever a process dies in the middle of
//! an operation.

use hearth_disk::{DirEntry, Disk, DiskFile, FsKind, Lock, LockError, Metadata, OpenMode, RealDisk};
use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::SeqCst},
    },
};

/// The machine's disk until so many calls that change it were made; from then on every one fails,
/// as if the process had died there.
#[derive(Clone, Debug)]
pub struct StopDisk {
    left: Arc<AtomicI64>,
}

impl StopDisk {
    pub fn after(calls: i64) -> Self {
        Self { left: Arc::new(AtomicI64::new(calls)) }
    }

    /// Stops after so many further calls.
    pub fn stop_after(&self, calls: i64) {
        self.left.store(calls, SeqCst);
    }

    /// Whether a call was refused.
    pub fn stopped(&self) -> bool {
        self.left.load(SeqCst) < 0
    }

    fn change(&self) -> io::Result<()> {
        match self.left.fetch_sub(1, SeqCst) {
            1.. => Ok(()),
            _ => Err(io::Error::other("stopped")),
        }
    }
}

#[derive(Debug)]
struct StopFile {
    file: Arc<dyn DiskFile>,
    disk: StopDisk,
}

impl Disk for StopDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.change()?;
        Ok(Arc::new(StopFile { file: RealDisk.create(path)?, disk: self.clone() }))
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(StopFile { file: RealDisk.open(path, mode)?, disk: self.clone() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change()?;
        RealDisk.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.change()?;
        RealDisk.remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.change()?;
        RealDisk.create_dir(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.change()?;
        RealDisk.remove_dir(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        RealDisk.list(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.change()?;
        RealDisk.sync_dir(dir)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        RealDisk.metadata(path)
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        RealDisk.free_bytes(path)
    }

    fn fs_kind(&self, path: &Path) -> io::Result<FsKind> {
        RealDisk.fs_kind(path)
    }

    fn lock(&self, path: &Path) -> Result<Lock, LockError> {
        RealDisk.lock(path)
    }
}

impl DiskFile for StopFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        self.disk.change()?;
        self.file.write_at(buf, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.change()?;
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.disk.change()?;
        self.file.sync_all()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.change()?;
        self.file.set_len(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}

/// Steps between two stops that a test tries: with `HEARTH_ALL_STEPS` in the environment each one,
/// else about every fifth, so that the everyday test stays short.
pub fn stride(stops: i64) -> i64 {
    if std::env::var_os("HEARTH_ALL_STEPS").is_some() { 1 } else { 3 + stops % 5 }
}
