//! Opening again after a kill: what RocksDB had in memory comes from the log.

use crate::chain::{Chain, commit};
use crate::harness::{Bench, Fallible, Sample, Target, timed};
use crate::open;
use hearth_flatkv::CommitmentKind;

/// Accounts of the stores; the time depends on the blocks.
const ACCOUNTS: usize = 100_000;
const QUICK_ACCOUNTS: usize = 2_000;
/// Times that each store is left and opened again.
const TIMES: usize = 5;
/// Blocks below which a store that commits small ones does not flush.
const SMALL_BLOCKS: usize = 4_400;
/// Blocks below which a store that commits large ones does not flush.
const LARGE_BLOCKS: usize = 45;
/// What opening may take, in seconds: so many, and one for so many blocks.
const SECONDS: f64 = 1.0;
const BLOCKS_A_SECOND: f64 = 10_000.0;

pub fn rows(bench: &Bench) -> Fallible<()> {
    let small = bench.amount(SMALL_BLOCKS, 100);
    let large = bench.amount(LARGE_BLOCKS, 5);
    for (kind, blocks, transfers) in [
        (CommitmentKind::LtHash, small, 4),
        (CommitmentKind::Mpt, small, 4),
        (CommitmentKind::LtHash, large, 1_024),
        (CommitmentKind::Mpt, large, 1_024),
    ] {
        let name = format!("reopen after a kill: {blocks} blocks of {} pairs, {kind}", transfers * 4);
        if bench.wants(&name) {
            row(bench, &name, kind, blocks, transfers)?;
        }
    }
    Ok(())
}

fn row(bench: &Bench, name: &str, kind: CommitmentKind, blocks: usize, transfers: usize) -> Fallible<()> {
    let dir = bench.folder()?;
    let mut chain = Chain::new(bench.amount(ACCOUNTS, QUICK_ACCOUNTS));
    let mut kv = open(dir.path(), kind)?;
    chain.genesis().try_for_each(|changes| commit(&kv, &changes))?;
    let (mut samples, mut replayed) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        kv.flush_and_compact()?;
        for _ in 0..blocks {
            commit(&kv, &chain.block(transfers))?;
        }
        let head = kv.head();
        kv.abandon();
        drop(kv);
        let (seconds, cpu, opened) = timed(|| open(dir.path(), kind))?;
        assert_eq!(opened.head(), head);
        replayed.push(opened.replayed());
        samples.push(Sample { value: seconds, cpu });
        kv = opened;
    }
    println!("{name}: replayed {replayed:?}");
    let limit = SECONDS + blocks as f64 / BLOCKS_A_SECOND;
    bench.row(name, "s", Target::ValueAtMost(limit), &samples, &[]);
    Ok(())
}
