//! Fixtures, parallel runs, and a table of what passed.

use alloy_primitives::B256;
use hearth_chain::import::{ImportJob, ImportReport};
use hearth_chain::{Chain, ChainError, ChainOptions, ExportRange};
use hearth_flatkv::{Fsync, StateSettings};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A folder of the fixtures; `None`, with a line that says so, where it is missing.
pub fn fixtures(folder: &str) -> Option<PathBuf> {
    let root = std::env::var_os("HEARTH_FIXTURES").map(PathBuf::from);
    let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures"));
    let path = root.join(folder);
    if !path.exists() {
        println!("skipped: {folder}: {} is missing (HEARTH_FIXTURES)", path.display());
        return None;
    }
    Some(path)
}

/// Whether this is `npm run test:full`, in which every case runs in every way.
pub fn is_full() -> bool {
    std::env::var("HEARTH_TEST").is_ok_and(|mode| mode == "full")
}

/// Every file below a folder whose name ends so, in order.
pub fn files(dir: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.to_str().unwrap().ends_with(end) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A file's text, unzipped where it is gzip.
pub fn text(path: &Path) -> String {
    let bytes = fs::read(path).unwrap();
    let mut text = String::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    text
}

/// Options for tests: nothing is synced, caches are small.
pub fn options() -> ChainOptions {
    ChainOptions {
        fsync: Fsync::None,
        state: StateSettings { memory_budget_bytes: 64 << 20, ..StateSettings::default() },
        ..ChainOptions::default()
    }
}

/// A folder for a short-lived home: in memory if the system has such a place, since thousands of
/// them are made.
pub fn light_home() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = tempfile::TempDir::new_in(memory).or_else(|_| tempfile::TempDir::new());
    made.unwrap()
}

/// The execution-apis chain: text of its genesis file, and its blocks as one file.
pub fn rpc_chain() -> Option<(String, PathBuf)> {
    let dir = fixtures("rpc-compat")?;
    Some((text(&dir.join("genesis.json")), dir.join("chain.rlp")))
}

/// Imports block files without looking at the progress.
pub fn import(chain: &Chain, files: &[&Path]) -> Result<ImportReport, ChainError> {
    import_to(chain, files, None)
}

/// Imports block files and chooses a head at the end.
pub fn import_to(chain: &Chain, files: &[&Path], head: Option<B256>) -> Result<ImportReport, ChainError> {
    let job = ImportJob { files: files.iter().map(|f| f.to_path_buf()).collect(), head };
    chain.import(&job, &mut |_| {}, &AtomicBool::new(false))
}

/// The canonical chain as a block file's bytes.
pub fn export(chain: &Chain, range: &ExportRange) -> Result<Vec<u8>, ChainError> {
    let mut out = Vec::new();
    chain.export(range, Path::new("memory"), &mut out, &mut |_, _| {}, &AtomicBool::new(false))?;
    Ok(out)
}

/// Splits a block file into its blocks' bytes.
pub fn split(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut blocks = Vec::new();
    while !rest.is_empty() {
        let before = rest;
        let header = alloy_rlp::Header::decode(&mut rest).unwrap();
        rest = &rest[header.payload_length..];
        blocks.push(&before[..before.len() - rest.len()]);
    }
    blocks
}

/// Counts by row, and the failures by name.
#[derive(Default)]
pub struct Table {
    rows: Mutex<BTreeMap<String, (usize, usize)>>,
    failures: Mutex<Vec<String>>,
}

impl Table {
    /// Adds one case; the error is why it failed.
    pub fn add(&self, row: &str, name: &str, result: Result<(), String>) {
        let mut rows = self.rows.lock().unwrap();
        let counts = rows.entry(row.to_owned()).or_default();
        counts.0 += 1;
        if let Err(why) = result {
            counts.1 += 1;
            self.failures.lock().unwrap().push(format!("{name}: {why}"));
        }
    }

    /// Prints the table and gives the number of cases and of failures.
    pub fn print(&self, title: &str) -> (usize, usize) {
        let rows = self.rows.lock().unwrap();
        let mut failures = self.failures.lock().unwrap();
        failures.sort();
        println!("{title}");
        println!("  {:<44} {:>6} {:>6}", "", "cases", "failed");
        let mut sum = (0, 0);
        for (row, (cases, failed)) in rows.iter() {
            println!("  {row:<44} {cases:>6} {failed:>6}");
            sum = (sum.0 + cases, sum.1 + failed);
        }
        println!("  {:<44} {:>6} {:>6}", "all", sum.0, sum.1);
        for failure in failures.iter() {
            println!("  failed: {failure}");
        }
        sum
    }
}

/// Runs a job for every item on all cores, in any order.
pub fn in_parallel<T: Sync>(items: &[T], job: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    job(item);
                }
            });
        }
    });
}
