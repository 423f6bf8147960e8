//! Commits of blocks of token transfers, beside bare RocksDB that writes the same latest rows.

use crate::chain::{Chain, commit, pairs};
use crate::harness::{Bench, Fallible, Sample, Target, timed};
use crate::{open, options};
use hearth_flatkv::bare::{Bare, BareRows, leave_out_history};
use hearth_flatkv::{CommitmentKind, FlatKv, Fsync};
use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

pub const ACCOUNTS: usize = 1_000_000;
const QUICK_ACCOUNTS: usize = 50_000;
const TRANSFERS: usize = 1_024;
/// Blocks of one sample: several flushes, so that these go on beside commits as they do in a node.
const BLOCKS: usize = 200;
/// Samples of ours alone.
const SAMPLES: usize = 5;
/// Commits of the open loop, and the part of what the store can do at which they come.
const PACED: usize = 20_000;
const LOAD: f64 = 0.7;

/// A store with its chain.
pub struct Ours {
    pub kv: Arc<FlatKv>,
    pub chain: Chain,
    pub dir: TempDir,
}

impl Ours {
    pub fn new(bench: &Bench, kind: CommitmentKind) -> Fallible<Self> {
        let dir = bench.folder()?;
        let chain = Chain::new(bench.amount(ACCOUNTS, QUICK_ACCOUNTS));
        let kv = open(dir.path(), kind)?;
        chain.genesis().try_for_each(|changes| commit(&kv, &changes))?;
        kv.settle()?;
        Ok(Self { kv, chain, dir })
    }

    /// Pairs a second over some blocks, flushes and compactions included.
    fn sample(&mut self, blocks: usize) -> Fallible<Sample> {
        let changes: Vec<_> = (0..blocks).map(|_| self.chain.block(TRANSFERS)).collect();
        let pairs: usize = changes.iter().map(pairs).sum();
        let (seconds, cpu, ()) = timed(|| {
            changes.iter().try_for_each(|changes| commit(&self.kv, changes))?;
            Ok(self.kv.settle()?)
        })?;
        Ok(Sample { value: pairs as f64 / seconds, cpu })
    }
}

/// RocksDB with its chain.
pub struct Theirs {
    pub db: Bare,
    chain: Chain,
    height: u64,
    _dir: TempDir,
}

impl Theirs {
    pub fn new(bench: &Bench) -> Fallible<Self> {
        let dir = bench.folder()?;
        let chain = Chain::new(bench.amount(ACCOUNTS, QUICK_ACCOUNTS));
        let db = Bare::open(&options(dir.path(), CommitmentKind::None, Fsync::None))?;
        chain.genesis().try_for_each(|changes| db.write(&BareRows::of(0, &changes)))?;
        db.settle()?;
        Ok(Self { db, chain, height: 0, _dir: dir })
    }

    fn sample(&mut self, blocks: usize) -> Fallible<Sample> {
        let (mut rows, mut count) = (Vec::with_capacity(blocks), 0);
        for _ in 0..blocks {
            let changes = self.chain.block(TRANSFERS);
            self.height += 1;
            count += pairs(&changes);
            rows.push(BareRows::of(self.height, &changes));
        }
        let (seconds, cpu, ()) = timed(|| {
            rows.iter().try_for_each(|rows| self.db.write(rows))?;
            Ok(self.db.settle()?)
        })?;
        Ok(Sample { value: count as f64 / seconds, cpu })
    }
}

pub fn rows(bench: &Bench) -> Fallible<()> {
    use CommitmentKind::{LtHash, Mpt, None};
    let headline = "commit: everything on (lthash, history, log)";
    for (name, kind, history, target) in [
        (headline, LtHash, true, Target::RatioAtLeast(0.4)),
        ("commit: without lthash", None, true, Target::Shown),
        ("commit: without history", LtHash, false, Target::Shown),
        ("commit: latest rows and log only", None, false, Target::RatioAtLeast(0.85)),
        ("commit: state roots (mpt), history, log", Mpt, true, Target::Shown),
    ] {
        if !bench.wants(name) {
            continue;
        }
        let (mut ours, mut theirs) = (Ours::new(bench, kind)?, Theirs::new(bench)?);
        let blocks = bench.amount(BLOCKS, 5);
        leave_out_history(!history);
        bench.pair(name, "pairs/s", target, || ours.sample(blocks), || theirs.sample(blocks))?;
        leave_out_history(false);
        if name == headline {
            let name = "commit: everything on, three times another system's 88,000";
            let samples: Vec<_> = (0..SAMPLES).map(|_| ours.sample(blocks)).collect::<Fallible<_>>()?;
            bench.row(name, "pairs/s", Target::ValueAtLeast(3.0 * 88_000.0), &samples, &[]);
        }
    }
    paced(bench)
}

/// Commits that come at fixed times, whether the one before is done or not.
fn paced(bench: &Bench) -> Fallible<()> {
    let (name, worst) = ("commit: open loop, p99", "commit: open loop, p99 over p50");
    if !bench.wants(name) && !bench.wants(worst) {
        return Ok(());
    }
    let mut ours = Ours::new(bench, CommitmentKind::LtHash)?;
    let (blocks, commits) = (bench.amount(BLOCKS, 5), bench.amount(PACED, 40));
    // Twice: the first time warms caches.
    ours.sample(blocks)?;
    let saturated = ours.sample(blocks)?.value;
    let pairs_a_block = pairs(&ours.chain.clone().block(TRANSFERS)) as f64;
    let every = Duration::from_secs_f64(pairs_a_block / (saturated * LOAD));
    let (seconds, cpu, mut times) = timed(|| {
        let mut times = Vec::with_capacity(commits);
        let mut due = Instant::now();
        for _ in 0..commits {
            let changes = ours.chain.block(TRANSFERS);
            due += every;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            commit(&ours.kv, &changes)?;
            times.push(due.elapsed().as_secs_f64() * 1e3);
        }
        Ok(times)
    })?;
    times.sort_by(f64::total_cmp);
    let at = |part: usize| times[(times.len() - 1) * part / 1000];
    println!(
        "open loop: {commits} commits in {seconds:.0} s, one every {:.2} ms, p50 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms",
        every.as_secs_f64() * 1e3,
        at(500),
        at(990),
        at(999)
    );
    bench.row(name, "ms", Target::Shown, &[Sample { value: at(990), cpu }], &[]);
    bench.row(worst, "times", Target::ValueAtMost(5.0), &[Sample { value: at(990) / at(500), cpu }], &[]);
    let bytes = crate::harness::tree_bytes(&ours.dir.path().join("state"))?;
    println!("state on the disk: {:.1} MiB", bytes as f64 / f64::from(1 << 20));
    Ok(())
}
