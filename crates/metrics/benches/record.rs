//! What a recording costs, in batches of a million, and what a scrape costs.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hearth_metrics::{DataDb, FlatkvMetrics, LittMetrics, Registry, RocksdbMetrics};
use std::hint::black_box;

/// Recordings of one sample.
const CALLS: u64 = 1_000_000;

fn recording(c: &mut Criterion) {
    let registry = Registry::new();
    let (flatkv, litt) = (FlatkvMetrics::new(&registry), LittMetrics::new(&registry));
    let table = litt.table("blocks");
    let mut group = c.benchmark_group("million");
    group.throughput(Throughput::Elements(CALLS)).sample_size(20);
    group.bench_function("counter", |b| {
        b.iter(|| (0..CALLS).for_each(|i| table.bytes_read.add(black_box(i))));
    });
    group.bench_function("gauge", |b| {
        b.iter(|| (0..CALLS).for_each(|i| flatkv.current_version.set_unsigned(black_box(i))));
    });
    // Latencies over the whole range of the buckets, so that no branch is learnt by heart.
    let latencies: Vec<f64> =
        (0..4096_u32).map(|i| 1e-6 * 1.005_f64.powi((i.wrapping_mul(2_654_435_761) % 4096) as i32)).collect();
    group.bench_function("histogram", |b| {
        b.iter(|| (0..CALLS as usize).for_each(|i| table.read.record(black_box(latencies[i % 4096]))));
    });
    group.bench_function("histogram by db and success", |b| {
        let dbs = DataDb::ALL;
        b.iter(|| {
            (0..CALLS as usize).for_each(|i| {
                let db = dbs[black_box(i) % dbs.len()];
                flatkv.commit_batch[db].of(i % 7 != 0).record(latencies[i % 4096]);
            })
        });
    });
    group.bench_function("timer with both clock readings", |b| {
        b.iter(|| (0..CALLS).for_each(|_| flatkv.apply_changesets.timer().succeed()));
    });
    group.finish();
}

fn scraping(c: &mut Criterion) {
    let registry = Registry::new();
    let (_flatkv, litt) = (FlatkvMetrics::new(&registry), LittMetrics::new(&registry));
    let _rocksdb = RocksdbMetrics::new(&registry);
    let tables = ["blocks", "receipts", "capsules", "traces"].map(|name| litt.table(name));
    tables.iter().for_each(|table| (0..10_000).for_each(|i| table.read.record(f64::from(i) * 1e-4)));
    let bytes = registry.snapshot_json().len();
    println!("snapshot: {bytes} bytes");
    c.bench_function("snapshot of all series", |b| b.iter(|| registry.snapshot_json()));
}

criterion_group!(benches, recording, scraping);
criterion_main!(benches);
