//! Reading: keys in random order beside pread(2) at places that are known.

use crate::harness::{Bench, Fallible, Sample, Target, device_bytes_read, timed};
use crate::noise::{Noise, Pool, key};
use hearth_littable::{Littable, StoreOptions, Table, TableOptions};
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Bytes of values that warm reads are spread over: more than processors cache, less than memory.
const SPREAD_BYTES: usize = 512 << 20;
const QUICK_BYTES: usize = 32 << 20;
/// Bytes that a measured run of warm reads takes at most, and its reads.
const RUN_BYTES: usize = 1 << 30;
const RUN_READS: usize = 200_000;
/// Cold reads of a run.
const COLD_READS: usize = 2_000;
/// Keys of the rows that compare numbers of segments.
const SEGMENT_KEYS: usize = 200_000;

/// A sealed table of equal values, and a plain file with the same ones.
struct Warm {
    _folder: tempfile::TempDir,
    _store: Littable,
    table: Arc<Table>,
    file: File,
    count: usize,
    len: usize,
}

fn build(
    dir: &Path,
    pool: &Pool,
    options: TableOptions,
    count: usize,
    len: usize,
) -> Fallible<(Littable, Arc<Table>)> {
    let store = Littable::open(StoreOptions { max_open_files: 16_384, ..StoreOptions::new(dir) })?;
    let table = store.table(options)?;
    for n in 0..count {
        table.put(&key(n), pool.value(n, len))?;
    }
    table.seal()?;
    table.finish_upkeep()?;
    table.flush()?;
    Ok((store, table))
}

impl Warm {
    fn new(bench: &Bench, pool: &Pool, len: usize, cache: usize) -> Fallible<Self> {
        let folder = bench.folder()?;
        let count = bench.amount(SPREAD_BYTES, QUICK_BYTES) / len.max(1024);
        let options = TableOptions { read_cache_bytes: cache, ..TableOptions::new("t") };
        let (store, table) = build(folder.path(), pool, options, count, len)?;
        let path = folder.path().join("plain");
        let mut file = std::io::BufWriter::with_capacity(1 << 20, File::create_new(&path)?);
        for n in 0..count {
            file.write_all(pool.value(n, len))?;
        }
        file.into_inner().map_err(|error| error.into_error())?.sync_all()?;
        let file = File::open(path)?;
        let warm = Self { _folder: folder, _store: store, table, file, count, len };
        // Everything is in memory and was checked once.
        for n in 0..count {
            if warm.table.get(&key(n))?.is_none_or(|value| *value != *pool.value(n, len)) {
                return Err("a value is not what was put".into());
            }
        }
        Ok(warm)
    }

    fn reads(&self, bench: &Bench) -> usize {
        bench.amount((RUN_BYTES / self.len).min(RUN_READS), 2_000)
    }

    /// Microseconds of one get.
    fn get(&self, bench: &Bench) -> Fallible<Sample> {
        let keys = keys(self.reads(bench), self.count);
        each(keys.len(), || {
            for key in &keys {
                black_box(self.table.get(key)?.ok_or("a key is missing")?.len());
            }
            Ok(())
        })
    }

    /// Microseconds of one pread into memory that is used again, with or without a checksum of it.
    fn pread(&self, bench: &Bench, checksum: bool) -> Fallible<Sample> {
        let mut noise = Noise::new(3);
        let places: Vec<u64> =
            (0..self.reads(bench)).map(|_| (noise.below(self.count) * self.len) as u64).collect();
        let mut buffer = vec![0; self.len];
        each(places.len(), || {
            for place in &places {
                self.file.read_exact_at(&mut buffer, *place)?;
                if checksum {
                    black_box(crc32fast::hash(&buffer));
                }
                black_box(&buffer);
            }
            Ok(())
        })
    }
}

fn keys(reads: usize, count: usize) -> Vec<[u8; 32]> {
    let mut noise = Noise::new(3);
    (0..reads).map(|_| key(noise.below(count))).collect()
}

fn each(reads: usize, work: impl FnOnce() -> Fallible<()>) -> Fallible<Sample> {
    let (seconds, cpu, ()) = timed(work)?;
    Ok(Sample { value: seconds * 1e6 / reads as f64, cpu })
}

/// Lets the system forget the pages of a folder's files.
fn forget(dir: &Path) -> Fallible<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            forget(&entry.path())?;
        } else {
            let file = File::open(entry.path())?;
            file.sync_all()?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
    }
    Ok(())
}

fn warm_rows(bench: &Bench, pool: &Pool) -> Fallible<()> {
    let rows = [
        ("warm get of 256 B beside pread", 256, Target::OverAtMost(2.0)),
        ("warm get of 1 KiB beside pread", 1 << 10, Target::OverAtMost(2.0)),
        ("warm get of 4 KiB beside pread", 4 << 10, Target::OverAtMost(2.0)),
        ("warm get of 16 KiB beside pread and checksum", 16 << 10, Target::RatioAtMost(1.25)),
        ("warm get of 64 KiB beside pread and checksum", 64 << 10, Target::RatioAtMost(1.25)),
        ("warm get of 256 KiB beside pread and checksum", 256 << 10, Target::RatioAtMost(1.25)),
        ("warm get of 1 MiB beside pread and checksum", 1 << 20, Target::RatioAtMost(1.25)),
        ("warm get of 2 MiB beside pread and checksum", 2 << 20, Target::RatioAtMost(1.25)),
    ];
    for (name, len, target) in rows {
        if bench.wants(name) {
            let warm = Warm::new(bench, pool, len, 0)?;
            let checksum = matches!(target, Target::RatioAtMost(_));
            bench.pair(name, "us", target, || warm.get(bench), || warm.pread(bench, checksum))?;
        }
    }
    let name = "cached get of 1 KiB beside pread";
    if bench.wants(name) {
        let warm = Warm::new(bench, pool, 1 << 10, 2 << 30)?;
        bench.pair(name, "us", Target::OverAtMost(2.0), || warm.get(bench), || warm.pread(bench, false))?;
    }
    Ok(())
}

fn cold_row(bench: &Bench, pool: &Pool) -> Fallible<()> {
    let name = "cold get of 1 KiB beside cold pread";
    if !bench.wants(name) {
        return Ok(());
    }
    let warm = Warm::new(bench, pool, 1 << 10, 0)?;
    let reads = bench.amount(COLD_READS, 200);
    let (mut ours_bytes, mut theirs_bytes) = (Vec::new(), Vec::new());
    let ours = || {
        forget(warm._folder.path())?;
        let keys = keys(reads, warm.count);
        let before = device_bytes_read();
        let sample = each(reads, || {
            for key in &keys {
                black_box(warm.table.get(key)?.ok_or("a key is missing")?.len());
            }
            Ok(())
        })?;
        ours_bytes.push((device_bytes_read() - before) as f64 / reads as f64);
        Ok(sample)
    };
    let theirs = || {
        forget(warm._folder.path())?;
        let mut noise = Noise::new(3);
        let mut buffer = vec![0; warm.len];
        let before = device_bytes_read();
        let sample = each(reads, || {
            for _ in 0..reads {
                warm.file.read_exact_at(&mut buffer, (noise.below(warm.count) * warm.len) as u64)?;
            }
            Ok(())
        })?;
        theirs_bytes.push((device_bytes_read() - before) as f64 / reads as f64);
        Ok(sample)
    };
    // One read of an index page, one of the value.
    bench.pair(name, "us", Target::RatioAtMost(2.5), ours, theirs)?;
    let samples =
        |values: &[f64]| values.iter().map(|value| Sample { value: *value, cpu: 0.0 }).collect::<Vec<_>>();
    let name = "  bytes that the device read for each";
    bench.row(name, "B", Target::RatioAtMost(2.5), &samples(&ours_bytes), &samples(&theirs_bytes));
    Ok(())
}

/// Warm gets over many segments and over few, of as many keys.
fn segments_row(bench: &Bench, pool: &Pool) -> Fallible<()> {
    let name = "warm get with 10,000 segments beside 10";
    if !bench.wants(name) {
        return Ok(());
    }
    let count = bench.amount(SEGMENT_KEYS, 20_000);
    let many = bench.amount(10_000, 1_000);
    let make = |segments: usize| -> Fallible<_> {
        let folder = bench.folder()?;
        let options = TableOptions { segment_keys: (count / segments) as u32, ..TableOptions::new("t") };
        let (store, table) = build(folder.path(), pool, options, count, 1 << 10)?;
        if table.info().segments < segments as u64 {
            return Err(format!("{} segments instead of {segments}", table.info().segments).into());
        }
        Ok((folder, store, table))
    };
    let (few, lots) = (make(10)?, make(many)?);
    let keys = keys(bench.amount(RUN_READS, 2_000), count);
    let get = |table: &Table| {
        each(keys.len(), || {
            for key in &keys {
                black_box(table.get(key)?.ok_or("a key is missing")?.len());
            }
            Ok(())
        })
    };
    bench.pair(name, "us", Target::RatioAtMost(1.5), || get(&lots.2), || get(&few.2))?;
    // With fewer open files than segments most gets open one.
    let (folder, store, table) = lots;
    let options = TableOptions { segment_keys: (count / many) as u32, ..TableOptions::new("t") };
    drop((table, store));
    let store = Littable::open(StoreOptions::new(folder.path()))?;
    let table = store.table(options)?;
    let name = "  the same with 256 open files";
    bench.pair(name, "us", Target::RatioAtMost(1.5), || get(&table), || get(&few.2))
}

pub fn run(bench: &Bench) -> Fallible<()> {
    let pool = Pool::new();
    warm_rows(bench, &pool)?;
    cold_row(bench, &pool)?;
    segments_row(bench, &pool)
}
