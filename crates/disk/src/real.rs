//! The machine's file system.

use crate::{
    DirEntry, Disk, DiskFile, EntryKind, FsKind, Lock, LockError, Metadata, OpenMode, fs_kind, lock,
};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, IoSlice},
    os::unix::fs::FileExt,
    path::Path,
    sync::Arc,
};

/// The machine's file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

fn metadata(of: &fs::Metadata) -> Metadata {
    let kind = match of.file_type() {
        kind if kind.is_file() => EntryKind::File,
        kind if kind.is_dir() => EntryKind::Dir,
        _ => EntryKind::Other,
    };
    Metadata { kind, len: of.len() }
}

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        Ok(Arc::new(RealFile(file)))
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(mode == OpenMode::ReadWrite).open(path)?;
        Ok(Arc::new(RealFile(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            // Links are followed; one that leads nowhere, or a file that went meanwhile, is still a name.
            let found = fs::metadata(entry.path()).map(|of| metadata(&of));
            let Metadata { kind, len } = match found {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    Metadata { kind: EntryKind::Other, len: 0 }
                }
                found => found?,
            };
            entries.push(DirEntry { name: entry.file_name(), kind, len });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        fs::metadata(path).map(|of| metadata(&of))
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        let stat = rustix::fs::statvfs(path)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn fs_kind(&self, path: &Path) -> io::Result<FsKind> {
        fs_kind::fs_kind(path)
    }

    fn lock(&self, path: &Path) -> Result<Lock, LockError> {
        lock::lock(path)
    }
}

#[derive(Debug)]
struct RealFile(File);

impl DiskFile for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(buf, offset)
    }

    fn write_vectored_at(&self, bufs: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        Ok(rustix::io::pwritev(&self.0, bufs, offset)?)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.0.metadata().map(|of| of.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_on_the_real_disk() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("a/b");
        RealDisk.create_dir_all(&dir).unwrap();
        RealDisk.create_dir_all(&dir).unwrap();
        let path = dir.join("one");
        let file = RealDisk.create(&path).unwrap();
        assert_eq!(RealDisk.create(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        file.write_all_at(b"hello", 3).unwrap();
        let mut parts = [IoSlice::new(b""), IoSlice::new(b", "), IoSlice::new(b""), IoSlice::new(b"world")];
        file.write_all_vectored_at(&mut parts, 8).unwrap();
        file.sync_data().unwrap();
        RealDisk.sync_dir(&dir).unwrap();
        assert_eq!(RealDisk.read(&path).unwrap(), b"\0\0\0hello, world");
        let mut long = [0; 16];
        assert_eq!(file.read_exact_at(&mut long, 0).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        file.set_len(5).unwrap();
        assert_eq!(file.len().unwrap(), 5);

        RealDisk.create(&dir.join("two")).unwrap();
        RealDisk.rename(&path, &dir.join("two")).unwrap();
        RealDisk.create_dir(&dir.join("three")).unwrap();
        let found: Vec<_> =
            RealDisk.list(&dir).unwrap().into_iter().map(|e| (e.name, e.kind, e.len)).collect();
        assert_eq!(found[0].0, "three");
        assert_eq!(found[0].1, EntryKind::Dir);
        assert_eq!(found[1], ("two".into(), EntryKind::File, 5));
        assert_eq!(found.len(), 2);

        let reader = RealDisk.open(&dir.join("two"), OpenMode::Read).unwrap();
        assert!(reader.write_at(b"x", 0).is_err());
        RealDisk.remove_file(&dir.join("two")).unwrap();
        assert!(!RealDisk.exists(&dir.join("two")).unwrap());
        RealDisk.remove_dir(&dir.join("three")).unwrap();
        assert_eq!(RealDisk.list(&dir).unwrap(), []);
        assert!(RealDisk.free_bytes(&dir).unwrap() > 0);
    }
}
