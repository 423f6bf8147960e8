//! Pairs, medians, and the table that comes of them.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tempfile::TempDir;

pub type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// Pairs of a row. They alternate: ours first, theirs first, theirs first, ours first.
const PAIRS: usize = 10;
const QUICK_PAIRS: usize = 2;

/// One measured run.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// What the row is about: operations a second, microseconds, and so on.
    pub value: f64,
    /// Processor seconds of this process, all threads.
    pub cpu: f64,
}

/// What the ratio of ours to theirs, or our value alone, should be.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    RatioAtLeast(f64),
    RatioAtMost(f64),
    /// Ours may be more than theirs by so much.
    OverAtMost(f64),
    ValueAtLeast(f64),
    ValueAtMost(f64),
    /// Printed for comparison; less than theirs is losing.
    Shown,
}

/// Settings of a run, and the rows so far.
pub struct Bench {
    pub quick: bool,
    names: Vec<String>,
    dir: PathBuf,
    losing: RefCell<Vec<String>>,
    began: Instant,
}

impl Bench {
    pub fn from_args() -> Fallible<Self> {
        let args: Vec<String> = std::env::args().skip(1).collect();
        let names = args.iter().filter(|arg| !arg.starts_with('-')).cloned().collect();
        let dir = std::env::var_os("HEARTH_BENCH_DIR")
            .map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from);
        std::fs::create_dir_all(&dir)?;
        let quick =
            args.iter().any(|arg| arg == "--quick") || std::env::var_os("HEARTH_BENCH_QUICK").is_some();
        println!(
            "{} in {}{}",
            env!("CARGO_PKG_NAME"),
            dir.display(),
            if quick { ", quick: figures mean nothing" } else { "" }
        );
        println!("{:<58} {:>28} {:>28} {:>22}  CPU s ours/theirs", "row", "ours", "theirs", "ratio");
        Ok(Self { quick, names, dir, losing: RefCell::default(), began: Instant::now() })
    }

    /// Whether a row is requested.
    pub fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|part| name.contains(part.as_str()))
    }

    /// A new folder on the disk that is measured; it goes with the value.
    pub fn folder(&self) -> Fallible<TempDir> {
        Ok(tempfile::Builder::new().prefix("hearth-bench-").tempdir_in(&self.dir)?)
    }

    /// A full or a quick amount.
    pub fn amount(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }

    /// Runs both sides in turn and prints the row.
    pub fn pair(
        &self,
        name: &str,
        unit: &str,
        target: Target,
        mut ours: impl FnMut() -> Fallible<Sample>,
        mut theirs: impl FnMut() -> Fallible<Sample>,
    ) -> Fallible<()> {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for pair in 0..self.amount(PAIRS, QUICK_PAIRS) {
            // A B B A A B B A …
            if pair % 2 == 0 {
                a.push(ours()?);
                b.push(theirs()?);
            } else {
                b.push(theirs()?);
                a.push(ours()?);
            }
        }
        self.row(name, unit, target, &a, &b);
        Ok(())
    }

    /// Prints a row and notes whether it loses.
    pub fn row(&self, name: &str, unit: &str, target: Target, ours: &[Sample], theirs: &[Sample]) {
        let values = |samples: &[Sample]| samples.iter().map(|sample| sample.value).collect::<Vec<_>>();
        let cpu = |samples: &[Sample]| samples.iter().map(|sample| sample.cpu).sum::<f64>();
        let (a, b) = (values(ours), values(theirs));
        let ratios: Vec<f64> =
            a.iter().zip(&b).map(|(a, b)| a / b).filter(|ratio| ratio.is_finite()).collect();
        let (good, wanted) = match target {
            Target::RatioAtLeast(x) => (median(&ratios) >= x, format!("at least {x} times")),
            Target::RatioAtMost(x) => (median(&ratios) <= x, format!("at most {x} times")),
            Target::OverAtMost(x) => (median(&a) - median(&b) <= x, format!("at most {x} {unit} more")),
            Target::ValueAtLeast(x) => (median(&a) >= x, format!("at least {x} {unit}")),
            Target::ValueAtMost(x) => (worst(&a) <= x, format!("at most {x} {unit}")),
            Target::Shown => (median(&ratios) >= 1.0 || b.is_empty(), "shown".to_owned()),
        };
        let label = format!("{name} ({unit})");
        let (left, right) = (spread(&a), if b.is_empty() { String::new() } else { spread(&b) });
        let ratio = if ratios.is_empty() { String::new() } else { spread(&ratios) };
        let note = if good { "" } else { "  LOSING" };
        println!(
            "{label:<58} {left:>28} {right:>28} {ratio:>22}  {:.1}/{:.1}  {wanted}{note}",
            cpu(ours),
            cpu(theirs)
        );
        println!(
            "bench: {label} | {left} | {right} | {ratio} | {:.1} | {:.1} | {wanted}{note}",
            cpu(ours),
            cpu(theirs)
        );
        if !good {
            self.losing.borrow_mut().push(label);
        }
    }

    /// The last line.
    pub fn close(&self) -> Fallible<()> {
        let losing = self.losing.borrow();
        println!("{:.0} s; losing rows: {}", self.began.elapsed().as_secs_f64(), losing.len());
        losing.iter().for_each(|row| println!("LOSING {row}"));
        Ok(())
    }
}

/// Runs work and says how long it took and what it cost.
pub fn timed<T>(work: impl FnOnce() -> Fallible<T>) -> Fallible<(f64, f64, T)> {
    let (cpu, start) = (cpu_seconds()?, Instant::now());
    let result = work()?;
    let seconds = start.elapsed().as_secs_f64();
    Ok((seconds, cpu_seconds()? - cpu, result))
}

/// Processor seconds of this process and its threads so far.
fn cpu_seconds() -> Fallible<f64> {
    /// Clock ticks a second, which is what Linux shows to programs on all its machines.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 =
        fields.split_whitespace().skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum();
    Ok(ticks as f64 / TICKS)
}

/// Bytes that this process had read from devices so far; 0 where the system does not say.
pub fn device_bytes_read() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("read_bytes: "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

/// Bytes that the files of a folder take on the disk.
pub fn disk_bytes(dir: &Path) -> Fallible<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut sum = 0;
    for entry in std::fs::read_dir(dir)? {
        let metadata = entry?.metadata()?;
        if metadata.is_file() {
            sum += metadata.blocks() * 512;
        }
    }
    Ok(sum)
}

/// Bytes that a folder takes on the disk, with what is below it.
pub fn tree_bytes(dir: &Path) -> Fallible<u64> {
    let mut sum = disk_bytes(dir)?;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sum += tree_bytes(&entry.path())?;
        }
    }
    Ok(sum)
}

pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

fn worst(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::MIN, f64::max)
}

/// `median (lowest to highest)`.
fn spread(values: &[f64]) -> String {
    let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
    let digits = if high >= 1000.0 {
        0
    } else if high >= 20.0 {
        1
    } else {
        2
    };
    format!("{:.digits$} ({low:.digits$} to {high:.digits$})", median(values))
}
