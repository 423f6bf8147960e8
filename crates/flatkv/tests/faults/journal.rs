//! The journal of a child's calls, played again on a simulated disk, whose power is cut wherever
//! one likes.

use hearth_disk::{Disk, DiskFile, EntryKind, OpenMode, sim::SimDisk};
use std::{
    collections::HashMap,
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
};

const HEAD_BYTES: usize = 32;
const O_CREAT: i64 = 0o100;
const O_TRUNC: i64 = 0o1000;
const AT_HOME: &str = "/home";

/// One call, or a message of the process.
#[derive(Debug)]
pub struct Record {
    op: u32,
    fd: i32,
    numbers: [i64; 2],
    first: Vec<u8>,
    second: Vec<u8>,
}

impl Record {
    /// What the process said, where it is that.
    pub fn message(&self) -> Option<String> {
        (self.op == 11)
            .then(|| String::from_utf8_lossy(&self.first).trim().trim_start_matches('~').to_owned())
    }

    /// Whether it gives a file another name.
    pub fn renames(&self) -> bool {
        self.op == 6
    }
}

/// Reads a journal.
pub fn read(path: &Path) -> io::Result<Vec<Record>> {
    let bytes = fs::read(path)?;
    let mut rest = bytes.as_slice();
    let mut records = Vec::new();
    while let Some((head, behind)) = rest.split_first_chunk::<HEAD_BYTES>() {
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap());
        let long = |at: usize| i64::from_le_bytes(head[at..at + 8].try_into().unwrap());
        let (first, second) = (word(24) as usize, word(28) as usize);
        let (first, behind) = behind.split_at(first);
        let (second, behind) = behind.split_at(second);
        let numbers = [long(8), long(16)];
        records.push(Record {
            op: word(0),
            fd: word(4) as i32,
            numbers,
            first: first.into(),
            second: second.into(),
        });
        rest = behind;
    }
    Ok(records)
}

/// A file or folder that the process has open.
enum Opened {
    File(Arc<dyn DiskFile>),
    Dir(PathBuf),
}

/// A home on a simulated disk, while a journal is played.
pub struct Played {
    disk: SimDisk,
    home: PathBuf,
    open: HashMap<i32, Opened>,
}

impl Played {
    /// A disk with what a home has, all of it durable.
    pub fn new(home: &Path) -> io::Result<Self> {
        let disk = SimDisk::new();
        load(&disk, home, Path::new(AT_HOME))?;
        Ok(Self { disk, home: home.to_owned(), open: HashMap::new() })
    }

    /// Where a path of the process lies on the disk.
    fn place(&self, path: &[u8]) -> Option<PathBuf> {
        let path = Path::new(OsStr::from_bytes(path));
        Some(Path::new(AT_HOME).join(path.strip_prefix(&self.home).ok()?))
    }

    /// Carries out a call. Files that the C library's streams made, such as RocksDB's text log, are
    /// not in the journal; what is done with them later is passed over.
    pub fn play(&mut self, record: &Record) -> io::Result<()> {
        let Record { op, fd, numbers, first, second } = record;
        let done = match op {
            1 => self.open(*fd, numbers[0], first),
            2 => {
                self.open.remove(fd);
                Ok(())
            }
            3 => match self.open.get(fd) {
                Some(Opened::File(file)) => file.write_all_at(first, numbers[0] as u64),
                _ => Ok(()),
            },
            4 => match self.open.get(fd) {
                Some(Opened::File(file)) => file.set_len(numbers[0] as u64),
                _ => Ok(()),
            },
            5 => match self.open.get(fd) {
                Some(Opened::File(file)) => file.sync_data(),
                Some(Opened::Dir(dir)) => self.disk.sync_dir(dir),
                None => Ok(()),
            },
            6..=10 => self.names(*op, first, second),
            _ => Ok(()),
        };
        match done {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn names(&self, op: u32, first: &[u8], second: &[u8]) -> io::Result<()> {
        let Some(path) = self.place(first) else { return Ok(()) };
        let other = self.place(second);
        match (op, other) {
            (6, Some(to)) => self.disk.rename(&path, &to),
            (7, _) => self.disk.remove_file(&path),
            (8, Some(to)) => self.disk.link(&path, &to),
            (9, _) => self.disk.create_dir(&path),
            (10, _) => self.disk.remove_dir(&path),
            _ => Ok(()),
        }
    }

    fn open(&mut self, fd: i32, flags: i64, path: &[u8]) -> io::Result<()> {
        let Some(path) = self.place(path) else { return Ok(()) };
        let opened = match self.disk.metadata(&path) {
            Ok(of) if of.kind == EntryKind::Dir => Opened::Dir(path),
            Ok(_) => {
                let file = self.disk.open(&path, OpenMode::ReadWrite)?;
                if flags & O_TRUNC != 0 {
                    file.set_len(0)?;
                }
                Opened::File(file)
            }
            Err(_) if flags & O_CREAT != 0 => Opened::File(self.disk.create(&path)?),
            Err(error) => return Err(error),
        };
        self.open.insert(fd, opened);
        Ok(())
    }

    /// Writes what a power cut at this moment leaves into a folder; the play can continue.
    pub fn cut(&self, seed: u64, to: &Path) -> io::Result<()> {
        let left = self.disk.snapshot().power_cut(seed);
        store(&left, Path::new(AT_HOME), to)
    }

    /// Writes the present contents into a folder, as the death of the process would leave it.
    pub fn now(&self, to: &Path) -> io::Result<()> {
        store(&self.disk.snapshot(), Path::new(AT_HOME), to)
    }
}

fn load(disk: &SimDisk, from: &Path, to: &Path) -> io::Result<()> {
    disk.create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            load(disk, &entry.path(), &target)?;
        } else {
            let file = disk.create(&target)?;
            file.write_all_at(&fs::read(entry.path())?, 0)?;
            file.sync_all()?;
        }
    }
    disk.sync_dir(to)
}

fn store(disk: &SimDisk, from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in disk.list(from)? {
        let (source, target) = (from.join(&entry.name), to.join(&entry.name));
        match entry.kind {
            EntryKind::Dir => store(disk, &source, &target)?,
            _ => fs::write(target, disk.read(&source)?)?,
        }
    }
    Ok(())
}
