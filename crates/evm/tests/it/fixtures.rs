//! Finding and reading fixtures, and the table of results.

use flate2::read::GzDecoder;
use std::{
    collections::BTreeMap,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

/// The directory of fixtures with this name; `None`, with a printed line, if it is missing.
pub fn folder(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("HEARTH_FIXTURES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures"),
        PathBuf::from,
    );
    let folder = root.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: {} is missing", folder.display());
    None
}

/// Every `.json.gz` below a folder, sorted.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("folder is readable").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(".json.gz") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Text of a gzip file.
pub fn read(path: &Path) -> String {
    let mut text = String::new();
    GzDecoder::new(File::open(path).expect("file opens"))
        .read_to_string(&mut text)
        .expect("file is gzip of UTF-8");
    text
}

/// Results by group: passed, failed, and what failed.
#[derive(Default)]
pub struct Table {
    rows: BTreeMap<String, (usize, usize)>,
    pub failures: Vec<String>,
}

impl Table {
    pub fn add(&mut self, group: &str, name: &str, result: Result<(), String>) {
        let row = self.rows.entry(group.to_string()).or_default();
        match result {
            Ok(()) => row.0 += 1,
            Err(error) => {
                row.1 += 1;
                self.failures.push(format!("{group} {name}: {error}"));
            }
        }
    }

    pub fn merge(mut self, other: Self) -> Self {
        for (group, (passed, failed)) in other.rows {
            let row = self.rows.entry(group).or_default();
            row.0 += passed;
            row.1 += failed;
        }
        self.failures.extend(other.failures);
        self
    }

    /// Prints the table and the first failures; gives the sums of passed and failed.
    pub fn print(&self, title: &str) -> (usize, usize) {
        println!("{title}");
        let mut sum = (0, 0);
        for (group, (passed, failed)) in &self.rows {
            println!("  {group:<48} {passed:>6} passed {failed:>5} failed");
            sum = (sum.0 + passed, sum.1 + failed);
        }
        for failure in self.failures.iter().take(60) {
            println!("  FAILED {failure}");
        }
        println!("  {:<48} {:>6} passed {:>5} failed", "all", sum.0, sum.1);
        sum
    }
}
