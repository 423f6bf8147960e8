//! What the tests share.

use hearth_disk::ManualClock;
use hearth_littable::{LittError, Littable, StoreOptions, Table, TableOptions};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A store in a folder of its own, whose clock stands still, and that works behind the scenes only
/// when set so.
pub struct Home {
    pub dir: tempfile::TempDir,
    pub clock: Arc<ManualClock>,
}

impl Home {
    pub fn new() -> Self {
        Self { dir: tempfile::TempDir::new().unwrap(), clock: Arc::new(ManualClock::default()) }
    }

    pub fn options(&self) -> StoreOptions {
        StoreOptions {
            background_threads: 0,
            clock: self.clock.clone(),
            ..StoreOptions::new(self.dir.path())
        }
    }

    pub fn open(&self, table: TableOptions) -> Arc<Table> {
        self.try_open(table).unwrap()
    }

    pub fn try_open(&self, table: TableOptions) -> Result<Arc<Table>, LittError> {
        Littable::open(self.options()).unwrap().table(table)
    }

    pub fn segment(&self, index: u32) -> PathBuf {
        self.dir.path().join(format!("t/00-{index:010}.seg"))
    }

    /// Files of the table with an ending, sorted.
    pub fn files(&self, ending: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.dir.path().join("t")).unwrap().map(|e| e.unwrap().path());
        let mut files: Vec<_> = entries.filter(|p| p.to_string_lossy().ends_with(ending)).collect();
        files.sort();
        files
    }
}

/// A table of small segments.
pub fn small() -> TableOptions {
    TableOptions { segment_bytes: 2000, ..TableOptions::new("t") }
}

/// A table that does not seal by itself.
pub fn large() -> TableOptions {
    TableOptions::new("t")
}

/// Value of `n`: 37 to 136 bytes that differ from those of every other `n`.
pub fn value(n: u32) -> Vec<u8> {
    let len = 37 + n as usize * 13 % 100;
    let mut bytes: Vec<u8> = (0..len).map(|i| (n as usize * 31 + i * 7) as u8).collect();
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    bytes
}

pub fn fill(table: &Table, numbers: std::ops::Range<u32>) {
    for n in numbers {
        table.put(&n.to_be_bytes(), &value(n)).unwrap();
    }
}

/// Checks that exactly these keys of `0..all` are there, with their values.
pub fn assert_holds(table: &Table, numbers: std::ops::Range<u32>, all: u32) {
    for n in 0..all {
        let there = table.get(&n.to_be_bytes()).unwrap();
        assert_eq!(there.as_deref(), numbers.contains(&n).then(|| value(n)).as_deref(), "{n}");
    }
}

pub fn flip(path: &Path, at: u64) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
}

/// Bytes that no compressor makes smaller.
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut out: Vec<u8> = (0..len.div_ceil(8)).flat_map(|_| next().to_le_bytes()).collect();
    out.truncate(len);
    out
}
