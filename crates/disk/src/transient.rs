//! The machine's file system for files that are useless after their process ends.

use crate::{DirEntry, Disk, DiskFile, FsKind, Lock, LockError, Metadata, OpenMode, Parts, RealDisk};
use std::{
    io::{self, IoSlice},
    path::Path,
    sync::Arc,
};

/// The machine's file system, but nothing is synced: a power cut may lose or tear all of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TransientDisk;

impl Disk for TransientDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(TransientFile(RealDisk.create(path)?)))
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(TransientFile(RealDisk.open(path, mode)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        RealDisk.create_dir(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove_dir(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        RealDisk.list(dir)
    }

    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
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

/// A file that is never synced; the hint to begin writing says nothing either.
#[derive(Debug)]
struct TransientFile(Arc<dyn DiskFile>);

impl DiskFile for TransientFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(buf, offset)
    }

    fn write_vectored_at(&self, bufs: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        self.0.write_vectored_at(bufs, offset)
    }

    fn read_onto(&self, out: &mut Vec<u8>, len: usize, offset: u64) -> io::Result<()> {
        self.0.read_onto(out, len, offset)
    }

    fn read_parts_at(&self, parts: &Parts, heads: &mut [u8], body: &mut Vec<u8>) -> io::Result<()> {
        self.0.read_parts_at(parts, heads, body)
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_bytes_read_back_and_renames_work_as_on_disk() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("a/b");
        TransientDisk.create_dir_all(&dir).unwrap();
        let (one, two) = (dir.join("one"), dir.join("two"));
        let file = TransientDisk.create(&one).unwrap();
        assert_eq!(TransientDisk.create(&one).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        file.write_all_at(b"hello, world", 0).unwrap();
        file.set_len(5).unwrap();
        file.sync_data().unwrap();
        file.sync_all().unwrap();
        TransientDisk.rename(&one, &two).unwrap();
        TransientDisk.sync_dir(&dir).unwrap();
        // It is an ordinary file: a read by the real disk finds the same bytes.
        assert_eq!(RealDisk.read(&two).unwrap(), b"hello");
        let (mut heads, mut body) = (vec![0; 2], Vec::new());
        file.read_parts_at(&Parts { offset: 0, head: 2, part: 3, len: 3 }, &mut heads, &mut body).unwrap();
        assert_eq!((&heads[..], &body[..]), (&b"he"[..], &b"llo"[..]));
        assert_eq!(TransientDisk.list(&dir).unwrap().len(), 1);
        TransientDisk.remove_file(&two).unwrap();
        TransientDisk.remove_dir(&dir).unwrap();
        assert!(!dir.exists());
    }
}
