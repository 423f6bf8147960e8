//! Keccak-256 of many inputs beside one after the other and the scalar permutation, at the sizes of
//! trie nodes: a leaf of an account (one permutation) and a full branch (four).

use alloy_primitives::utils::keccak256_uncached;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hearth_keccak::{keccak256_many, keccak256_one};
use std::hint::black_box;

const LEAF_BYTES: usize = 110;
const BRANCH_BYTES: usize = 532;

fn hashes(c: &mut Criterion) {
    for (name, len) in [("leaf", LEAF_BYTES), ("branch", BRANCH_BYTES)] {
        let mut group = c.benchmark_group(name);
        for count in [1, 2, 4, 5, 8, 16, 256] {
            let inputs: Vec<Vec<u8>> = (0..count).map(|n| vec![n as u8; len]).collect();
            group.throughput(Throughput::Elements(count));
            group.bench_with_input(BenchmarkId::new("many", count), &inputs, |b, inputs| {
                b.iter(|| keccak256_many(black_box(inputs)));
            });
            group.bench_with_input(BenchmarkId::new("one by one", count), &inputs, |b, inputs| {
                b.iter(|| black_box(inputs).iter().map(keccak256_one).collect::<Vec<_>>());
            });
            group.bench_with_input(BenchmarkId::new("scalar", count), &inputs, |b, inputs| {
                b.iter(|| black_box(inputs).iter().map(keccak256_uncached).collect::<Vec<_>>());
            });
        }
        group.finish();
    }
}

criterion_group!(benches, hashes);
criterion_main!(benches);
