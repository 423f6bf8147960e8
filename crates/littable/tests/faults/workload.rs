//! A run: a store on a simulated disk, a workload out of a seed, and an end by power cut or death,
//! several times.

use crate::model::{Model, Verdict, Written};
use hearth_disk::sim::{Call, Fault, Rng, SimDisk};
use hearth_disk::{Disk, ManualClock};
use hearth_littable::{Compression, Group, Keys, LittError, Littable, StoreOptions, Table, TableOptions};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Ends of one run.
pub const ROUNDS: u64 = 4;
/// Most steps between two ends.
const STEPS: u64 = 60;

/// Kinds of faults, as the closing table lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    PowerCut,
    Kill,
    Full,
    Io,
}

/// What runs tried and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub tried: [u64; 4],
    pub lost: [u64; 4],
    pub wrong: [u64; 4],
    pub first: Option<String>,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        for kind in 0..4 {
            self.tried[kind] += other.tried[kind];
            self.lost[kind] += other.lost[kind];
            self.wrong[kind] += other.wrong[kind];
        }
        self.first = self.first.take().or(other.first);
    }

    fn judge(&mut self, kind: Kind, verdict: Verdict) {
        self.lost[kind as usize] += verdict.lost;
        self.wrong[kind as usize] += verdict.wrong;
        self.first = self.first.take().or(verdict.first);
    }

    pub fn failures(&self) -> u64 {
        self.lost.iter().chain(&self.wrong).sum()
    }
}

/// A store on a simulated disk with one table.
pub struct Run {
    pub rng: Rng,
    pub disk: SimDisk,
    pub clock: Arc<ManualClock>,
    pub roots: Vec<PathBuf>,
    pub options: TableOptions,
    pub model: Model,
    pub tally: Tally,
    /// Whether records carry numbers, which a floor needs.
    numbered: bool,
    /// Numbers the keys.
    next: u64,
    /// A cut back that failed on the way: to how many groups.
    half_cut: Option<usize>,
    /// Groups that must be there at the next open.
    safe: usize,
    /// The kind of fault that the next judgement is about.
    last: Kind,
}

/// Whether the table takes more writes.
#[derive(PartialEq, Eq)]
enum After {
    Goes,
    Ended,
}

impl Run {
    pub fn new(seed: u64) -> Self {
        hearth_littable::failpoints::seed(seed);
        let mut rng = Rng::new(seed);
        let disk = SimDisk::new();
        let roots: Vec<PathBuf> = (0..1 + rng.below(2)).map(|n| format!("/mnt/{n}").into()).collect();
        disk.create_dir_all(Path::new("/mnt")).unwrap();
        let options = TableOptions {
            shards: if rng.chance(1, 6) { 3 } else { 1 },
            keys: if rng.chance(1, 2) { Keys::Sequence } else { Keys::Hash },
            compression: [Compression::None, Compression::Zstd(1), Compression::PassThrough]
                [rng.below(3) as usize],
            segment_bytes: 2_000 << rng.below(5),
            segment_keys: 8 << rng.below(5) as u32,
            write_buffer_bytes: [0, 700, 1 << 16][rng.below(3) as usize],
            read_cache_bytes: [0, 1 << 16][rng.below(2) as usize],
            write_cache_bytes: [0, 1 << 16][rng.below(2) as usize],
            ..TableOptions::new("t")
        };
        let model = Model::new(options.shards == 1);
        if rng.chance(1, 4) {
            disk.short_calls(3, rng.next_u64());
        }
        Self {
            numbered: rng.chance(1, 2),
            rng,
            disk,
            clock: Arc::default(),
            roots,
            options,
            model,
            tally: Tally::default(),
            next: 0,
            half_cut: None,
            safe: 0,
            last: Kind::PowerCut,
        }
    }

    pub fn store_options(&self) -> StoreOptions {
        StoreOptions {
            roots: self.roots.clone(),
            background_threads: 0,
            max_open_files: 16,
            disk: Arc::new(self.disk.clone()),
            clock: self.clock.clone(),
            ..StoreOptions::new("/")
        }
    }

    pub fn open(&self) -> Result<(Littable, Arc<Table>), LittError> {
        let store = Littable::open(self.store_options())?;
        let table = store.table(self.options.clone())?;
        Ok((store, table))
    }

    /// A new key: short enough for every kind of table.
    fn key(&mut self) -> Vec<u8> {
        self.next += 1;
        let key = match self.options.keys {
            // Mostly growing, as heights are.
            Keys::Sequence => (self.next * 16 + self.rng.below(16)).to_be_bytes().to_vec(),
            Keys::Hash => {
                let mut key = vec![0; 4 + self.rng.below(40) as usize];
                self.rng.fill(&mut key);
                key[..4].copy_from_slice(&(self.next as u32).to_le_bytes());
                key
            }
        };
        assert!(self.model.reserve(&key));
        key
    }

    pub fn group(&mut self) -> Written {
        let key = self.key();
        let len = match self.rng.below(20) {
            0 => 0,
            1..=3 => 1_000 + self.rng.below(7_000) as usize,
            4 if self.rng.chance(1, 8) => 66_000 + self.rng.below(70_000) as usize,
            _ => self.rng.below(300) as usize,
        };
        let mut value = vec![0; len];
        // Half of a value compresses.
        let half = len / 2;
        self.rng.fill(&mut value[half..]);
        let secondary = match self.rng.below(4) {
            0 => (0..1 + self.rng.below(5)).map(|_| (self.key(), self.range(len))).collect(),
            _ => Vec::new(),
        };
        // Not quite in order, and never below the floor, where a put is refused.
        let number = self.model.log.len() as u64 + 10 - self.rng.below(5);
        let number = self.numbered.then(|| number.max(self.model.floor_asked));
        Written { key, value, secondary, number }
    }

    fn range(&mut self, len: usize) -> Range<u32> {
        let start = self.rng.below(len as u64 + 1);
        let end = start + self.rng.below(len as u64 - start + 1);
        start as u32..end as u32
    }

    /// Puts groups in one batch. Where that fails, the table says which of them it has.
    fn put(&mut self, table: &Arc<Table>, groups: Vec<Written>) -> Result<(), LittError> {
        let secondary: Vec<Vec<(&[u8], Range<u32>)>> = groups
            .iter()
            .map(|g| g.secondary.iter().map(|(key, range)| (key.as_slice(), range.clone())).collect())
            .collect();
        let refs: Vec<Group<'_>> = groups
            .iter()
            .zip(&secondary)
            .map(|(g, secondary)| Group { key: &g.key, value: &g.value, secondary, number: g.number })
            .collect();
        let result = match &refs[..] {
            [one] => table.put_group(one),
            _ => table.put_batch(&refs),
        };
        let dead = self.disk.is_dead();
        for group in groups {
            let there = result.is_ok() || dead || matches!(table.get(&group.key), Ok(Some(_)));
            if there {
                self.model.log.push(group);
            }
        }
        result
    }

    fn step(&mut self, table: &Arc<Table>) -> After {
        let before = self.model.log.len();
        let what = self.rng.below(100);
        let result = match what {
            0..=39 => {
                let group = self.group();
                self.put(table, vec![group])
            }
            40..=54 => {
                let count = 2 + self.rng.below(6);
                let groups = (0..count).map(|_| self.group()).collect();
                self.put(table, groups)
            }
            55..=69 => table.flush().inspect(|()| {
                self.model.durable = before;
                self.model.drained = before;
            }),
            70..=73 => table.drain().inspect(|()| self.model.drained = before),
            74..=75 => table.seal(),
            76..=78 => table.finish_upkeep(),
            79..=81 => table.collect().map(drop),
            82..=85 if self.numbered => {
                let to = self.model.floor
                    + self.rng.below(before as u64 + 10 - self.model.floor.min(before as u64));
                self.model.floor_asked = self.model.floor_asked.max(to);
                table.set_floor(to).inspect(|()| self.model.floor = self.model.floor.max(to))
            }
            86..=88 if self.model.ordered => {
                table.position().map(|at| self.model.positions.push((at, before)))
            }
            89..=91 if self.model.ordered => self.truncate(table),
            92..=94 => self.put_again(table),
            95 => self.conflict(table),
            96..=97 => {
                self.clock.advance(Duration::from_millis(self.rng.below(100_000)));
                Ok(())
            }
            _ => {
                let verdict = self.model.compare(table);
                if !self.disk.is_dead() {
                    self.tally.judge(self.last, verdict);
                }
                Ok(())
            }
        };
        self.disk.remark(|| format!("-- step {what}: {result:?}; {}", self.model.summary()));
        match result {
            Ok(()) => After::Goes,
            Err(error) => self.failed(table, &error),
        }
    }

    /// Cuts back to a position that was recorded.
    fn truncate(&mut self, table: &Arc<Table>) -> Result<(), LittError> {
        let choices = self.model.positions.len() as u64;
        if choices == 0 {
            return Ok(());
        }
        let (position, groups) = self.model.positions[self.rng.below(choices) as usize];
        let result = table.truncate(position);
        // Those behind it, also where all that lies between was collected.
        self.model.positions.retain(|(at, _)| *at <= position);
        match &result {
            Ok(()) => self.model.truncate(groups),
            // It was read-only before.
            Err(LittError::ReadOnly { .. }) => {}
            // Any part of what was to go may be gone.
            Err(_) => {
                self.model.durable = self.model.durable.min(groups);
                self.model.drained = self.model.drained.min(groups);
                self.half_cut = Some(groups);
            }
        }
        result
    }

    /// A second put with equal bytes changes nothing.
    fn put_again(&mut self, table: &Arc<Table>) -> Result<(), LittError> {
        let Some(group) = self.pick() else { return Ok(()) };
        let secondary: Vec<(&[u8], Range<u32>)> =
            group.secondary.iter().map(|(key, range)| (key.as_slice(), range.clone())).collect();
        table.put_group(&Group {
            key: &group.key,
            value: &group.value,
            secondary: &secondary,
            number: group.number,
        })
    }

    /// One with other bytes is refused.
    fn conflict(&mut self, table: &Arc<Table>) -> Result<(), LittError> {
        let Some(group) = self.pick() else { return Ok(()) };
        let other = [&group.value[..], b"!"].concat();
        let put = Group { number: group.number, ..Group::new(&group.key, &other) };
        match table.put_group(&put) {
            Err(LittError::Conflict { .. }) => Ok(()),
            Ok(()) => {
                let mut verdict = Verdict::default();
                verdict.wrong(|| "a key took other bytes".into());
                self.tally.judge(self.last, verdict);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// A group that no floor has taken.
    fn pick(&mut self) -> Option<Written> {
        let floor = self.model.floor_asked;
        let kept: Vec<&Written> =
            self.model.log.iter().filter(|group| group.number.is_none_or(|number| number >= floor)).collect();
        let at = self.rng.below(kept.len().max(1) as u64) as usize;
        kept.get(at).map(|group| (*group).clone())
    }

    /// An error is only right where the disk gave one. Reads continue; a table that is read-only
    /// has to be opened again.
    fn failed(&mut self, table: &Arc<Table>, error: &LittError) -> After {
        if self.disk.is_dead() {
            return After::Ended;
        }
        let mut verdict = Verdict::default();
        match error {
            LittError::Io { .. } | LittError::ReadOnly { .. } if self.last != Kind::PowerCut => {}
            error => verdict.wrong(|| format!("refused without a fault: {error}")),
        }
        let before = self.model.clone();
        verdict.add(match self.half_cut.take() {
            Some(groups) => self.model.settle_cut(table, groups),
            None => self.model.compare(table),
        });
        if self.disk.is_dead() {
            self.model = before;
            return After::Ended;
        }
        self.tally.judge(self.last, verdict);
        let group = self.group();
        match self.put(table, vec![group]) {
            Err(LittError::ReadOnly { .. }) => After::Ended,
            _ => After::Goes,
        }
    }
}

/// The disk's side of a run: what fails, how a round ends, what is left.
impl Run {
    fn disturb(&mut self) {
        match self.rng.below(3) {
            0 => {
                self.last = Kind::Full;
                self.disk.set_capacity(self.disk.used() + self.rng.below(6_000));
            }
            1 => {
                self.last = Kind::Io;
                let call =
                    [Call::Write, Call::Create, Call::Rename, Call::Remove][self.rng.below(4) as usize];
                self.disk.fail(call, self.rng.below(8), Fault::Io);
            }
            _ => {
                self.last = Kind::Io;
                self.model.doubtful = true;
                let call = [Call::Sync, Call::SyncDir][self.rng.below(2) as usize];
                self.disk.fail(call, self.rng.below(8), Fault::Io);
            }
        }
        self.tally.tried[self.last as usize] += 1;
        self.disk.remark(|| format!("-- disturbed: {:?}", self.last));
    }

    /// One round: open, judge, work, end.
    fn round(&mut self, cut_off: bool) {
        if cut_off {
            let more = match self.rng.below(4) {
                0 => self.rng.below(20),
                _ => self.rng.below(250),
            };
            self.disk.die_at(more);
        }
        let safe = self.safe;
        let opened = self.open();
        let (store, table) = match opened {
            Ok(opened) => opened,
            Err(_) if self.disk.is_dead() => return self.end(),
            Err(error) => {
                let mut verdict = Verdict::default();
                verdict.lost(|| format!("refused to open: {error}"));
                self.tally.judge(self.last, verdict);
                return self.end();
            }
        };
        let before = self.model.clone();
        let verdict = self.model.reconcile(&table, safe);
        if self.disk.is_dead() {
            // It died under the judge's hands: what was found counts for nothing.
            self.model = before;
            drop((table, store));
            return self.end();
        }
        self.disk.remark(|| format!("-- opened: {verdict:?}; {}", self.model.summary()));
        self.tally.judge(self.last, verdict);
        self.last = Kind::PowerCut;
        self.half_cut = None;
        let disturbed = self.rng.chance(1, 3).then(|| self.rng.below(STEPS));
        for step in 0..1 + self.rng.below(STEPS) {
            if disturbed == Some(step) {
                self.disturb();
            }
            // What a dead disk answers acknowledges nothing: a flush has nothing to do after a put
            // that failed.
            if self.step(&table) == After::Ended || self.disk.is_dead() {
                break;
            }
            if self.last == Kind::Full && self.rng.chance(1, 8) {
                self.make_room(&table);
            }
        }
        self.disk.fail_no_more();
        self.disk.set_capacity(u64::MAX);
        // A store that is dropped flushes; dead disks are what this suite is about, so most are
        // dropped dead.
        if self.rng.chance(1, 8) {
            drop((table, store));
            if !self.disk.is_dead() && !self.tally_is_io() {
                self.model.drained = self.model.log.len();
            }
            return self.end();
        }
        self.end_with((table, store));
    }

    fn tally_is_io(&self) -> bool {
        self.last != Kind::PowerCut
    }

    /// Space comes back: writes have to resume.
    fn make_room(&mut self, table: &Arc<Table>) {
        self.disk.set_capacity(u64::MAX);
        let result = table.flush();
        if self.disk.is_dead() {
            return;
        }
        match result {
            Ok(()) => {
                self.model.durable = self.model.log.len();
                self.model.drained = self.model.log.len();
            }
            Err(error) => {
                let mut verdict = Verdict::default();
                verdict.wrong(|| format!("no writes though there is space again: {error}"));
                self.tally.judge(Kind::Full, verdict);
            }
        }
        self.last = Kind::PowerCut;
    }

    fn end(&mut self) {
        self.end_with(());
    }

    /// The machine or the process dies; what was open is dropped on a dead disk.
    fn end_with<T>(&mut self, open: T) {
        let seed = self.rng.next_u64();
        self.disk.remark(|| format!("-- end; {}", self.model.summary()));
        if self.model.doubtful {
            // A sync that fails leaves nothing in the system's hands: what was not durable may be
            // lost to it.
            self.model.drained = self.model.durable;
        }
        let next = if self.rng.chance(1, 4) {
            self.last = Kind::Kill;
            // What was handed to the operating system survives this; a power cut before the next
            // open may take it still.
            self.safe = self.model.durable.max(self.model.drained);
            self.disk.kill()
        } else {
            self.last = Kind::PowerCut;
            self.model.drained = self.model.durable;
            self.safe = self.model.durable;
            self.disk.power_cut(seed)
        };
        self.tally.tried[self.last as usize] += 1;
        next.remark(|| format!("-- {:?}, {} groups are safe", self.last, self.safe));
        drop(open);
        self.disk = next;
    }

    pub fn go(&mut self) {
        for _ in 0..ROUNDS {
            let cut_off = self.rng.chance(3, 4);
            self.round(cut_off);
        }
        self.round(false);
        // The store is as good as new: every kind of read, and a scrub.
        if let Ok((_store, table)) = self.open() {
            let safe = self.model.durable;
            let mut verdict = self.model.reconcile(&table, safe);
            self.disk.remark(|| format!("-- opened at last: {verdict:?}; {}", self.model.summary()));
            match table.scrub() {
                Ok(report) if report.damage.is_empty() => {}
                Ok(report) => verdict.wrong(|| format!("scrub finds {:?}", report.damage)),
                Err(error) => verdict.wrong(|| format!("scrub: {error}")),
            }
            self.tally.judge(self.last, verdict);
        }
    }
}

/// A whole run.
pub fn run(seed: u64) -> Tally {
    let mut run = Run::new(seed);
    run.go();
    run.tally
}
