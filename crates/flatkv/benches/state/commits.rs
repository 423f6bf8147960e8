//! Commits of blocks of token transfers, beside bare RocksDB that writes the same latest rows.

use crate::chain::{Chain, commit, pairs};
use crate::harness::{Bench, Fallible, Sample, Target, timed};
use crate::{open, options};
use hearth_flatkv::bare::{BareDb, BareRows, leave_out_history, write_whole_batches};
use hearth_flatkv::{CommitmentKind, FlatKv, Fsync};
use std::sync::Arc;
use tempfile::TempDir;

pub const ACCOUNTS: usize = 1_000_000;
pub const QUICK_ACCOUNTS: usize = 50_000;
pub const TRANSFERS: usize = 1_024;
/// Blocks of one sample: several flushes, so that these continue beside commits as they do in a
/// node.
pub const BLOCKS: usize = 200;
/// Samples of ours alone.
const SAMPLES: usize = 5;
/// Blocks of one sample with state roots, each of which takes several times as long.
const ROOT_BLOCKS: usize = 50;

/// The stores of a run, each made for the first row that needs it: they begin with the same million
/// accounts.
pub struct Stores<'a> {
    bench: &'a Bench,
    ours: [Option<Ours>; 3],
    theirs: Option<Theirs>,
}

impl<'a> Stores<'a> {
    pub fn new(bench: &'a Bench) -> Self {
        Self { bench, ours: Default::default(), theirs: None }
    }

    /// The store of a commitment.
    pub fn ours(&mut self, kind: CommitmentKind) -> Fallible<&mut Ours> {
        made(&mut self.ours[kind as usize], || Ours::new(self.bench, kind))
    }

    /// The store of a commitment, and bare RocksDB.
    pub fn both(&mut self, kind: CommitmentKind) -> Fallible<(&mut Ours, &mut Theirs)> {
        let ours = made(&mut self.ours[kind as usize], || Ours::new(self.bench, kind))?;
        Ok((ours, made(&mut self.theirs, || Theirs::new(self.bench))?))
    }
}

/// The existing store, or one that is made now.
fn made<T>(slot: &mut Option<T>, make: impl FnOnce() -> Fallible<T>) -> Fallible<&mut T> {
    if slot.is_none() {
        *slot = Some(make()?);
    }
    slot.as_mut().ok_or_else(|| "not made".into())
}

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
        kv.flush_and_compact()?;
        Ok(Self { kv, chain, dir })
    }

    /// Pairs a second over some blocks, flushes and compactions included.
    pub fn sample(&mut self, blocks: usize) -> Fallible<Sample> {
        let changes: Vec<_> = (0..blocks).map(|_| self.chain.block(TRANSFERS)).collect();
        let pairs: usize = changes.iter().map(pairs).sum();
        let (seconds, cpu, committed) = timed(|| {
            let (committed, ..) = timed(|| changes.iter().try_for_each(|changes| commit(&self.kv, changes)))?;
            self.kv.flush_and_compact()?;
            Ok(committed)
        })?;
        println!(
            "{pairs} pairs: commits {committed:.2} s, flush and compaction {:.2} s",
            seconds - committed
        );
        Ok(Sample { value: pairs as f64 / seconds, cpu })
    }
}

/// RocksDB with its chain.
pub struct Theirs {
    pub db: BareDb,
    chain: Chain,
    height: u64,
    _dir: TempDir,
}

impl Theirs {
    pub fn new(bench: &Bench) -> Fallible<Self> {
        let dir = bench.folder()?;
        let chain = Chain::new(bench.amount(ACCOUNTS, QUICK_ACCOUNTS));
        let db = BareDb::open(&options(dir.path(), CommitmentKind::None, Fsync::None))?;
        chain.genesis().try_for_each(|changes| db.write(&BareRows::of(0, &changes)))?;
        db.flush_and_compact()?;
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
            Ok(self.db.flush_and_compact()?)
        })?;
        Ok(Sample { value: count as f64 / seconds, cpu })
    }
}

pub fn rows(bench: &Bench, stores: &mut Stores<'_>) -> Fallible<()> {
    use CommitmentKind::{LtHash, Mpt, None};
    let (blocks, root_blocks) = (bench.amount(BLOCKS, 5), bench.amount(ROOT_BLOCKS, 5));
    for (name, kind, history, blocks, target) in [
        ("commit: everything on", LtHash, true, blocks, Target::RatioAtLeast(0.4)),
        ("commit: without history", LtHash, false, blocks, Target::Shown),
        ("commit: without lthash", None, true, blocks, Target::Shown),
        ("commit: latest rows and log only", None, false, blocks, Target::RatioAtLeast(0.85)),
        ("commit: state roots (mpt) for lthash", Mpt, true, root_blocks, Target::Shown),
    ] {
        if !bench.wants(name) {
            continue;
        }
        let (ours, theirs) = stores.both(kind)?;
        leave_out_history(!history);
        let measured = bench.pair(name, "pairs/s", target, || ours.sample(blocks), || theirs.sample(blocks));
        leave_out_history(false);
        measured?;
    }
    let name = "commit: batches in two halves, for whole ones";
    if bench.wants(name) {
        let ours = std::cell::RefCell::new(Ours::new(bench, None)?);
        let whole = || {
            write_whole_batches(true);
            let sample = ours.borrow_mut().sample(blocks);
            write_whole_batches(false);
            sample
        };
        bench.pair(name, "pairs/s", Target::Shown, || ours.borrow_mut().sample(blocks), whole)?;
    }
    let name = "commit: everything on, three times another system's 88,000";
    if bench.wants(name) {
        let ours = stores.ours(LtHash)?;
        let samples: Vec<_> = (0..SAMPLES).map(|_| ours.sample(blocks)).collect::<Fallible<_>>()?;
        bench.row(name, "pairs/s", Target::ValueAtLeast(3.0 * 88_000.0), &samples, &[]);
    }
    Ok(())
}
