//! The machine's file system.

use crate::{
    DirEntry, Disk, DiskFile, EntryKind, FsKind, Lock, LockError, Metadata, OpenMode, Parts, fs_kind, lock,
    no_wait::may_wait,
};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, IoSlice},
    mem::MaybeUninit,
    os::{
        fd::AsRawFd,
        unix::fs::{FileExt, OpenOptionsExt},
    },
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
        let file = match mode {
            OpenMode::Read => open_to_read(path),
            OpenMode::ReadWrite => OpenOptions::new().read(true).write(true).open(path),
        };
        Ok(Arc::new(RealFile(file?)))
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
            // Links are followed; one that leads nowhere, or a file that went meanwhile, is still a
            // name.
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

/// Opens a file whose time of last reading is of no interest: noting it would be a write, for which
/// a read may have to wait. Who does not own the file may not use that.
fn open_to_read(path: &Path) -> io::Result<File> {
    let quiet = OpenOptions::new().read(true).custom_flags(libc::O_NOATIME).open(path);
    match quiet {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(path),
        opened => opened,
    }
}

#[derive(Debug)]
struct RealFile(File);

impl DiskFile for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        match may_wait() {
            true => self.0.read_at(buf, offset),
            // SAFETY: the vector is the caller's buffer.
            false => unsafe { read_now(&self.0, &[head_of(buf)], offset) },
        }
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(buf, offset)
    }

    fn write_vectored_at(&self, bufs: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        Ok(rustix::io::pwritev(&self.0, bufs, offset)?)
    }

    fn start_writing(&self, offset: u64, len: u64) {
        // SAFETY: the call takes numbers only, and the descriptor is open as long as the file is.
        // An error with the bytes is returned by the sync.
        unsafe {
            libc::sync_file_range(self.0.as_raw_fd(), offset as i64, len as i64, libc::SYNC_FILE_RANGE_WRITE)
        };
    }

    fn read_onto(&self, out: &mut Vec<u8>, len: usize, offset: u64) -> io::Result<()> {
        out.reserve(len);
        let end = out.len() + len;
        // SAFETY: the vector is spare capacity of the caller's buffer, which nothing else uses.
        unsafe { read_all(&self.0, &mut [part_of(&mut out.spare_capacity_mut()[..len])], offset)? };
        // SAFETY: the capacity was reserved, and all bytes up to there have been read into.
        unsafe { out.set_len(end) };
        Ok(())
    }

    fn read_parts_at(&self, parts: &Parts, heads: &mut [u8], body: &mut Vec<u8>) -> io::Result<()> {
        // With fewer heads, parts at the end would have no vector, and would be counted as read.
        parts.check(heads)?;
        body.reserve(parts.len);
        let end = body.len() + parts.len;
        // Nothing is zeroed first that the system fills anyway.
        let spare = &mut body.spare_capacity_mut()[..parts.len];
        let (mut one, mut many);
        let vectors = if parts.count() == 1 {
            one = [head_of(heads), part_of(spare)];
            &mut one[..]
        } else {
            let heads = heads.chunks_exact_mut(parts.head).map(head_of);
            let bodies = spare.chunks_mut(parts.part).map(part_of);
            many = heads.zip(bodies).flat_map(|(head, body)| [head, body]).collect::<Vec<_>>();
            &mut many[..]
        };
        // SAFETY: the vectors are the caller's heads and spare capacity of its buffer, each byte
        // once.
        unsafe { read_all(&self.0, vectors, parts.offset)? };
        // SAFETY: the capacity was reserved, there are as many heads as parts, and all of them have
        // been read into.
        unsafe { body.set_len(end) };
        Ok(())
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

fn head_of(bytes: &mut [u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() }
}

fn part_of(bytes: &mut [MaybeUninit<u8>]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() }
}

/// Most buffers of one call, as Linux has it.
const MAX_VECTORS: usize = 1024;

/// Fills all buffers from an offset on.
///
/// # Safety
/// The vectors point at memory that the caller holds exclusively until this returns, and do not
/// overlap. It need not be initialised, and is once this has returned `Ok`.
unsafe fn read_all(file: &File, mut vectors: &mut [libc::iovec], mut offset: u64) -> io::Result<()> {
    while let Some(first) = vectors.first() {
        if first.iov_len == 0 {
            vectors = &mut vectors[1..];
            continue;
        }
        let count = vectors.len().min(MAX_VECTORS);
        // SAFETY: some of the caller's vectors.
        let read = unsafe {
            match may_wait() {
                true => read_vectors(file, &vectors[..count], offset),
                false => read_now(file, &vectors[..count], offset),
            }
        };
        let mut read = match read {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        offset += read as u64;
        while read > 0 {
            let filled = read.min(vectors[0].iov_len);
            // SAFETY: it stays within the buffer, or points right behind it.
            vectors[0].iov_base = unsafe { vectors[0].iov_base.cast::<u8>().add(filled) }.cast();
            vectors[0].iov_len -= filled;
            read -= filled;
            if vectors[0].iov_len == 0 {
                vectors = &mut vectors[1..];
            }
        }
    }
    Ok(())
}

/// One read to where the vectors point, as many bytes as the system gives.
///
/// # Safety
/// As of [`read_all`].
unsafe fn read_vectors(file: &File, vectors: &[libc::iovec], offset: u64) -> io::Result<usize> {
    let (fd, offset) = (file.as_raw_fd(), offset as libc::off_t);
    // SAFETY: the caller vouches for the vectors; the system writes no more than their lengths.
    let read = unsafe {
        match vectors {
            [one] => libc::pread(fd, one.iov_base, one.iov_len, offset),
            _ => libc::preadv(fd, vectors.as_ptr(), vectors.len() as libc::c_int, offset),
        }
    };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// As [`read_vectors`], out of the system's memory alone: `WouldBlock` where the device would have
/// to be read, or where the file system does not report it.
///
/// # Safety
/// As of [`read_all`].
unsafe fn read_now(file: &File, vectors: &[libc::iovec], offset: u64) -> io::Result<usize> {
    let (fd, count) = (file.as_raw_fd(), vectors.len() as libc::c_int);
    // SAFETY: as in `read_vectors`.
    let read = unsafe { libc::preadv2(fd, vectors.as_ptr(), count, offset as libc::off_t, libc::RWF_NOWAIT) };
    usize::try_from(read).map_err(|_| match io::Error::last_os_error() {
        error if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS)) => {
            io::ErrorKind::WouldBlock.into()
        }
        error => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::without_waiting;

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

        // Parts behind heads come together, in one call or in several, and a file that ends too
        // early says so.
        let framed = RealDisk.create(&dir.join("framed")).unwrap();
        let bytes: Vec<u8> = (0..9_000_u32).flat_map(|n| n.to_le_bytes()).collect();
        framed.write_all_at(&bytes, 0).unwrap();
        framed.start_writing(0, bytes.len() as u64);
        for (offset, head, part, len) in
            [(0, 4, 6, 20_000), (7, 8, 1_000, 1_000), (7, 8, 1_000, 999), (0, 1, 1, 0)]
        {
            let parts = Parts { offset, head, part, len };
            let (mut heads, mut body) = (vec![0; parts.heads_len()], vec![9]);
            framed.read_parts_at(&parts, &mut heads, &mut body).unwrap();
            let (mut expected_heads, mut expected_body, mut rest) =
                (Vec::new(), vec![9], &bytes[offset as usize..]);
            for n in 0..parts.count() {
                let (head, behind) = rest.split_at(head);
                let (part, behind) = behind.split_at(part.min(len - n * part));
                expected_heads.extend_from_slice(head);
                expected_body.extend_from_slice(part);
                rest = behind;
            }
            assert_eq!((heads, body), (expected_heads, expected_body));
        }
        // Bytes at the end of others.
        for (offset, len) in [(0, 36_000), (7, 1), (36_000, 0)] {
            let mut out = vec![7];
            framed.read_onto(&mut out, len, offset).unwrap();
            assert_eq!((out[0], &out[1..]), (7, &bytes[offset as usize..][..len]));
        }
        let beyond = framed.read_onto(&mut Vec::new(), 2, 35_999);
        assert_eq!(beyond.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        let late = Parts { offset: 35_000, head: 8, part: 600, len: 1_200 };
        let read = framed.read_parts_at(&late, &mut [0; 16], &mut Vec::new());
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        RealDisk.remove_file(&dir.join("framed")).unwrap();

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

    #[test]
    fn heads_of_another_length_than_the_parts_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let file = RealDisk.create(&root.path().join("framed")).unwrap();
        file.write_all_at(&[7; 64], 0).unwrap();
        let parts = Parts { offset: 0, head: 4, part: 6, len: 20 };
        assert_eq!((parts.count(), parts.heads_len()), (4, 16));
        for room in [0, 4, 12, 15, 17, 20] {
            let (mut heads, mut body) = (vec![0; room], vec![9]);
            let refused = file.read_parts_at(&parts, &mut heads, &mut body).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
            assert_eq!(
                refused.to_string(),
                format!("4 heads of 4 bytes do not fill a buffer of {room} bytes")
            );
            assert_eq!(body, [9], "no byte of the heap is shown");
        }
        for parts in [Parts { head: 0, ..parts }, Parts { part: 0, ..parts }] {
            let refused = file.read_parts_at(&parts, &mut [], &mut Vec::new()).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
        }
        let huge = Parts { offset: 0, head: usize::MAX, part: 1, len: 2 };
        let refused = file.read_parts_at(&huge, &mut [0; 4], &mut Vec::new()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn reads_without_waiting_have_the_bytes_or_refuse() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("one");
        let file = RealDisk.create(&path).unwrap();
        let bytes: Vec<u8> = (0..200_000_u32).map(|n| n as u8).collect();
        file.write_all_at(&bytes, 0).unwrap();
        file.sync_data().unwrap();
        let read = |from: usize, len: usize| {
            let mut out = Vec::new();
            let mut exact = vec![0; len];
            let first = file.read_onto(&mut out, len, from as u64).map(|()| out);
            let second = file.read_exact_at(&mut exact, from as u64).map(|()| exact);
            (first, second)
        };
        // What was just written is in memory, unless this file system cannot say so.
        for (from, len) in [(0, 200_000), (70_001, 5), (199_999, 1), (3, 0)] {
            let (first, second) = without_waiting(|| read(from, len));
            for had in [first, second] {
                match had {
                    Ok(had) => assert_eq!(had, bytes[from..from + len]),
                    Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
                }
            }
        }
        // Out of memory with it: then it is refused, or was kept all the same.
        // SAFETY: advice about an open descriptor.
        unsafe {
            libc::posix_fadvise(File::open(&path).unwrap().as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED)
        };
        if let Err(error) = without_waiting(|| read(0, 200_000)).0 {
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        }
        // Behind it, and after work that panicked, reads wait as ever.
        assert!(std::panic::catch_unwind(|| without_waiting(|| panic!("planted"))).is_err());
        assert!(may_wait());
        assert_eq!(read(0, 200_000).0.unwrap(), bytes);
        let beyond = without_waiting(|| file.read_onto(&mut Vec::new(), 1, 200_000)).unwrap_err();
        assert!(
            matches!(beyond.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::WouldBlock),
            "{beyond}"
        );
    }
}
