//! Reads at earlier heights of a long chain of small blocks, beside the same path at depth 1.

use crate::chain::commit;
use crate::harness::{Bench, Fallible, Sample, Target};
use crate::open;
use crate::reads::p50;
use alloy_primitives::{Address, U256};
use hearth_flatkv::{CommitmentKind, FlatKv, bare::rocksdb_calls};
use hearth_primitives::{Account, AccountChange, Changeset, SlotChange, StateReader};
use std::sync::Arc;

const HEIGHTS: u64 = 1_000_000;
const QUICK_HEIGHTS: u64 = 20_000;
/// Pairs of a block.
const PAIRS: u64 = 16;
/// Slots that are written once, at height 1.
const ONCE: u64 = 1_000;
/// A key of this kind is written every so many heights.
const RARELY: u64 = 1_000;
const READS: usize = 5_000;
/// Depths below the head; the last is the height at which everything that is written once was
/// written.
const DEPTHS: [u64; 5] = [100, 1_000, 10_000, 100_000, HEIGHTS - 1];
const QUICK_DEPTHS: [u64; 2] = [100, 10_000];

const TOKEN: Address = Address::repeat_byte(0xcc);

/// Kinds of slots: the first nibble of the key.
#[derive(Clone, Copy)]
enum Kind {
    Often = 1,
    Rarely,
    Once,
    Never,
}

fn slot(kind: Kind, n: u64) -> U256 {
    let hash = alloy_primitives::keccak256([[kind as u8; 8], n.to_be_bytes()].concat());
    U256::from_be_bytes(hash.0)
}

/// Slots written at a height: some at every height, the rest in turn.
fn written(height: u64) -> Vec<U256> {
    let mut slots: Vec<U256> = (0..PAIRS / 2).map(|n| slot(Kind::Often, n)).collect();
    slots.extend((0..PAIRS / 2).map(|n| slot(Kind::Rarely, height % RARELY * PAIRS / 2 + n)));
    if height == 1 {
        slots.extend((0..ONCE).map(|n| slot(Kind::Once, n)));
    }
    slots.sort_unstable();
    slots
}

fn build(kv: &Arc<FlatKv>, heights: u64) -> Fallible<()> {
    let account = Some(Account::default());
    let mut values = std::collections::HashMap::new();
    for height in 0..=heights {
        let storage = match height {
            0 => Vec::new(),
            _ => written(height)
                .into_iter()
                .map(|slot| {
                    let new = U256::from(height);
                    SlotChange { slot, old: values.insert(slot, new).unwrap_or_default(), new }
                })
                .collect(),
        };
        let old = account.filter(|_| height > 0);
        let change = AccountChange { address: TOKEN, old, new: account, wiped: false, storage };
        let changes = Changeset { accounts: vec![change], codes: vec![] };
        kv.apply(&changes, &[])?;
        commit(kv, &Changeset::default())?;
    }
    Ok(kv.flush_and_compact()?)
}

pub fn rows(bench: &Bench) -> Fallible<()> {
    let depths: &[u64] = if bench.quick { &QUICK_DEPTHS } else { &DEPTHS };
    let kinds = [
        ("written at every height", Kind::Often, PAIRS / 2),
        ("written every 1,000th", Kind::Rarely, RARELY * PAIRS / 2),
        ("written once", Kind::Once, ONCE),
        ("never written", Kind::Never, 1_000),
    ];
    if !bench.wants("depth: ") {
        return Ok(());
    }
    let dir = bench.folder()?;
    let kv = open(dir.path(), CommitmentKind::None)?;
    let heights = if bench.quick { QUICK_HEIGHTS } else { HEIGHTS };
    let start = std::time::Instant::now();
    build(&kv, heights)?;
    println!("depth: {heights} heights of {PAIRS} pairs in {:.0} s", start.elapsed().as_secs_f64());
    let reads = bench.amount(READS, 1_000);
    let latest = kv.latest().ok_or("no head")?;
    for (name, kind, count) in kinds {
        let slots: Vec<_> = (0..reads as u64).map(|n| slot(kind, n * 7_919 % count)).collect();
        let at = |depth: u64| {
            let view = kv.at(heights - depth)?;
            let reads = view.for_execution().ok_or("a view has a way for executions")?;
            p50(&slots, |slot| reads.storage(&TOKEN, slot))
        };
        let alone = |depth: u64| {
            let view = kv.at(heights - depth)?;
            p50(&slots, |slot| view.storage(&TOKEN, slot))
        };
        let newest = || p50(&slots, |slot| latest.storage(&TOKEN, slot));
        for depth in depths {
            let name = format!("depth: {name}, {depth}");
            let beside = format!("{name} beside depth 1, p50");
            bench.pair(&beside, "ns", Target::RatioAtMost(1.2), || at(*depth), || at(1))?;
            let beside = format!("{name} beside latest, p50");
            bench.pair(&beside, "ns", Target::RatioAtMost(3.0), || at(*depth), newest)?;
            let beside = format!("{name}, each read on its own, beside latest, p50");
            bench.pair(&beside, "ns", Target::Shown, || alone(*depth), newest)?;
            calls(&name, reads, || at(*depth))?;
        }
        calls(&format!("depth: {name}, latest"), reads, newest)?;
    }
    let bytes = crate::harness::tree_bytes(&dir.path().join("state"))?;
    let slots = heights * PAIRS;
    let per_slot = Sample { value: bytes as f64 / slots as f64, cpu: 0.0 };
    bench.row("depth: on the disk per written slot", "bytes", Target::Shown, &[per_slot], &[]);
    Ok(())
}

/// Prints how many calls of RocksDB a read makes.
fn calls(name: &str, reads: usize, mut read: impl FnMut() -> Fallible<Sample>) -> Fallible<()> {
    let before = rocksdb_calls();
    read()?;
    println!("{name}: {:.2} calls of RocksDB a read", (rocksdb_calls() - before) as f64 / reads as f64);
    Ok(())
}
