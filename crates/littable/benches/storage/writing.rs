//! Writing: values of several sizes, durable each 32 MiB.

use crate::harness::{Bench, Fallible, Sample, Target, timed};
use crate::noise::{Pool, key};
use crate::rivals::Rival;

/// Bytes of values between two syncs.
const SYNC_BYTES: usize = 32 << 20;
/// Bytes of values that each side writes in a run: ten runs are 8 GiB.
const RUN_BYTES: usize = 832 << 20;
const QUICK_BYTES: usize = 64 << 20;
/// Keys a second of 1 KiB values that the replaced system takes on such a machine.
const REPLACED_KEYS: f64 = 39_800.0;

/// What is read off a run.
#[derive(Clone, Copy)]
enum Unit {
    MiB,
    Keys,
}

fn write(bench: &Bench, pool: &Pool, rival: Rival, len: usize, unit: Unit) -> Fallible<Sample> {
    let folder = bench.folder()?;
    let mut side = rival.open(folder.path())?;
    let count = bench.amount(RUN_BYTES, QUICK_BYTES) / len;
    let each = SYNC_BYTES / len;
    let (seconds, cpu, ()) = timed(|| {
        for n in 0..count {
            side.put(&key(n), pool.value(n, len))?;
            if (n + 1) % each == 0 || n + 1 == count {
                side.sync()?;
            }
        }
        Ok(())
    })?;
    let amount = match unit {
        Unit::MiB => (count * len) as f64 / f64::from(1 << 20),
        Unit::Keys => count as f64,
    };
    Ok(Sample { value: amount / seconds, cpu })
}

pub fn run(bench: &Bench) -> Fallible<()> {
    let pool = Pool::new();
    // The disk's first writes are not like the later ones.
    write(bench, &pool, Rival::File, 1 << 20, Unit::MiB)?;
    let rows = [
        ("write 2 MiB values beside write(2)", 2 << 20, Rival::File, Target::RatioAtLeast(0.9)),
        ("write 1 MiB values beside write(2)", 1 << 20, Rival::File, Target::RatioAtLeast(0.9)),
        ("write 64 KiB values beside write(2)", 64 << 10, Rival::File, Target::RatioAtLeast(0.9)),
        ("write 1 KiB values beside write(2)", 1 << 10, Rival::File, Target::RatioAtLeast(0.8)),
        (
            "write 1 KiB values beside write(2) of 1 MiB",
            1 << 10,
            Rival::GatheredFile,
            Target::RatioAtLeast(0.8),
        ),
        ("write 1 KiB values beside RocksDB with its log", 1 << 10, Rival::Rocks, Target::RatioAtLeast(3.0)),
        ("write 1 KiB values beside BlobDB", 1 << 10, Rival::Blob, Target::Shown),
        ("write 1 KiB values beside RocksDB without log", 1 << 10, Rival::RocksNoLog, Target::Shown),
    ];
    for (name, len, rival, target) in rows {
        if bench.wants(name) {
            let side = |rival| write(bench, &pool, rival, len, Unit::MiB);
            bench.pair(name, "MiB/s", target, || side(Rival::Ours), || side(rival))?;
        }
    }
    let name = "write keys of 1 KiB values";
    if bench.wants(name) {
        let ours = || write(bench, &pool, Rival::Ours, 1 << 10, Unit::Keys);
        let samples = (0..bench.amount(3, 1)).map(|_| ours()).collect::<Fallible<Vec<_>>>()?;
        bench.row(name, "keys/s", Target::ValueAtLeast(5.0 * REPLACED_KEYS), &samples, &[]);
    }
    Ok(())
}
