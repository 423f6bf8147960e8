//! What keeping costs: expiry, space, and memory of indexes.

use crate::harness::{Bench, Fallible, Sample, Target, disk_bytes, timed};
use crate::noise::{Pool, key};
use hearth_littable::{Group, Littable, StoreOptions, TableOptions};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const MIB: f64 = 1_048_576.0;
/// An operation that takes longer than this counts as stalled for the rest of its time.
const SMOOTH: Duration = Duration::from_millis(1);

/// Gets for each put: a writer that keeps the disk busy all the time is stalled by the disk, expiry
/// or not.
const GETS: usize = 64;

/// Time above `SMOOTH` that single operations took.
#[derive(Default)]
struct Stalls {
    gets: Duration,
    puts: Duration,
}

impl Stalls {
    fn all(&self) -> Duration {
        self.gets + self.puts
    }
}

/// Adds the time above `SMOOTH` that an operation takes.
fn note<T>(sum: &mut Duration, work: impl FnOnce() -> Fallible<T>) -> Fallible<()> {
    let start = Instant::now();
    black_box(work()?);
    *sum += start.elapsed().saturating_sub(SMOOTH);
    Ok(())
}

/// Puts and gets continue while a GiB expires.
fn expire_row(bench: &Bench, pool: &Pool) -> Fallible<()> {
    let name = "stall of gets and puts while 1 GiB expires";
    if !bench.wants(name) {
        return Ok(());
    }
    let (mut expiring, mut quiet, mut passes, mut gets) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.amount(10, 1) {
        let folder = bench.folder()?;
        let store = Littable::open(StoreOptions {
            gc_period: Duration::from_secs(3600),
            ..StoreOptions::new(folder.path())
        })?;
        let table = store.table(TableOptions::new("t"))?;
        let old = bench.amount(1 << 30, 128 << 20) / (64 << 10);
        for n in 0..2 * old {
            let number = Some(u64::from(n >= old));
            let (key, value) = (key(n), pool.value(n, 64 << 10));
            if n == old {
                table.seal()?;
            }
            table.put_group(&Group { number, ..Group::new(&key, value) })?;
        }
        table.seal()?;
        table.finish_upkeep()?;
        table.flush()?;
        let mut next = 2 * old;
        let mut work = |until: &dyn Fn() -> bool| -> Fallible<Stalls> {
            let mut stalls = Stalls::default();
            while !until() {
                for n in 0..GETS {
                    note(&mut stalls.gets, || Ok(table.get(&key(old + (next * GETS + n) % old))?.is_some()))?;
                }
                note(&mut stalls.puts, || Ok(table.put(&key(next), pool.value(next, 4 << 10))?))?;
                next += 1;
            }
            Ok(stalls)
        };
        let done = AtomicBool::new(false);
        let (cpu, pass, during) = std::thread::scope(|scope| -> Fallible<_> {
            let collector = scope.spawn(|| {
                let removed = timed(|| {
                    table.set_floor(1)?;
                    Ok(table.collect()?)
                })
                .map_err(|error| error.to_string());
                done.store(true, Ordering::SeqCst);
                removed
            });
            let during = work(&|| done.load(Ordering::SeqCst));
            let (pass, cpu, removed) = collector.join().map_err(|_| "the collector panicked")??;
            if removed == 0 {
                return Err("nothing expired".into());
            }
            Ok((cpu, pass, during?))
        })?;
        let until = Instant::now() + Duration::from_secs_f64(pass);
        let after = work(&|| Instant::now() >= until)?;
        let sample = |stall: Duration, cpu| Sample { value: stall.as_secs_f64() * 1e3, cpu };
        expiring.push(sample(during.all(), cpu));
        quiet.push(sample(after.all(), 0.0));
        gets.push(sample(during.gets, 0.0));
        passes.push(Sample { value: pass * 1e3, cpu });
    }
    bench.row(name, "ms", Target::OverAtMost(10.0), &expiring, &quiet);
    bench.row("  of it, stall of gets", "ms", Target::Shown, &gets, &[]);
    bench.row("  time of the collection", "ms", Target::Shown, &passes, &[]);
    Ok(())
}

fn space_row(bench: &Bench, pool: &Pool) -> Fallible<()> {
    for (name, len) in [
        ("space of 1 KiB values beside keys and values", 1 << 10),
        ("space of 64 KiB values beside keys and values", 64 << 10),
    ] {
        if !bench.wants(name) {
            continue;
        }
        let folder = bench.folder()?;
        let store = Littable::open(StoreOptions::new(folder.path()))?;
        let table = store.table(TableOptions::new("t"))?;
        let count = bench.amount(1 << 30, 64 << 20) / len;
        let (_, cpu, ()) = timed(|| {
            for n in 0..count {
                table.put(&key(n), pool.value(n, len))?;
            }
            table.seal()?;
            table.finish_upkeep()?;
            Ok(table.flush()?)
        })?;
        let taken = disk_bytes(&folder.path().join("t"))? as f64 / MIB;
        let given = (count * (len + 32)) as f64 / MIB;
        let (ours, theirs) = (Sample { value: taken, cpu }, Sample { value: given, cpu: 0.0 });
        bench.row(name, "MiB", Target::RatioAtMost(1.05), &[ours], &[theirs]);
    }
    Ok(())
}

fn memory_row(bench: &Bench) -> Fallible<()> {
    let count = bench.amount(10_000_000, 500_000);
    let name = "index memory of 10,000,000 keys";
    if !bench.wants(name) {
        return Ok(());
    }
    let folder = bench.folder()?;
    let store =
        Littable::open(StoreOptions { index_memory_bytes: 32 << 20, ..StoreOptions::new(folder.path()) })?;
    let table = store.table(TableOptions::new("t"))?;
    let mut most = 0;
    let (seconds, cpu, ()) = timed(|| {
        for n in 0..count {
            table.put(&key(n), &n.to_le_bytes())?;
            if n % (count / 100) == 0 {
                most = most.max(table.info().index_memory_bytes);
            }
        }
        table.finish_upkeep()?;
        Ok(table.flush()?)
    })?;
    most = most.max(table.info().index_memory_bytes);
    bench.row(name, "MiB", Target::ValueAtMost(32.0), &[Sample { value: most as f64 / MIB, cpu }], &[]);
    let rate = Sample { value: count as f64 / seconds, cpu };
    bench.row("  keys taken meanwhile", "keys/s", Target::Shown, &[rate], &[]);
    Ok(())
}

pub fn run(bench: &Bench) -> Fallible<()> {
    let pool = Pool::new();
    expire_row(bench, &pool)?;
    space_row(bench, &pool)?;
    memory_row(bench)
}
