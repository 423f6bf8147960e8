//! What a table must hold, and the judge of what it holds after a fault.

use hearth_littable::{Direction, LittError, Record, Table};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// A group as it was put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    pub secondary: Vec<(Vec<u8>, Range<u32>)>,
    pub number: Option<u64>,
}

/// What the judge found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Acknowledged groups that are gone, or not whole.
    pub lost: u64,
    /// Answers that were never written, or come where they must not.
    pub wrong: u64,
    /// The first of them, in words.
    pub first: Option<String>,
}

impl Verdict {
    pub fn lost(&mut self, what: impl FnOnce() -> String) {
        self.lost += 1;
        self.first.get_or_insert_with(what);
    }

    pub fn wrong(&mut self, what: impl FnOnce() -> String) {
        self.wrong += 1;
        self.first.get_or_insert_with(what);
    }
}

/// The groups of a table in the order of their writing.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub log: Vec<Written>,
    /// Groups of `log` that survive a power cut: a flush that returned covers them.
    pub durable: usize,
    /// Groups of `log` that survive the death of the process.
    pub drained: usize,
    /// Floor that was acknowledged, and the highest one that was requested.
    pub floor: u64,
    pub floor_asked: u64,
    /// Whether survivors are a prefix of the write order: one shard.
    pub ordered: bool,
    /// Positions with the number of groups before them.
    pub positions: Vec<(u64, usize)>,
    /// Whether groups that are not durable may be errors, never other bytes: a sync that fails
    /// takes them with it.
    pub doubtful: bool,
    /// Every key that was ever tried: with what value, so that a second life of a key is noticed.
    keys: HashSet<Vec<u8>>,
}

impl Model {
    pub fn new(ordered: bool) -> Self {
        Self { ordered, ..Self::default() }
    }

    /// Notes a key as used: it is never given to another value.
    pub fn reserve(&mut self, key: &[u8]) -> bool {
        self.keys.insert(key.to_vec())
    }

    /// Whether a group may be gone because of the floor.
    fn prunable(&self, group: &Written, floor: u64) -> bool {
        group.number.is_some_and(|number| number < floor)
    }

    /// What counts, in a line for the journal.
    pub fn summary(&self) -> String {
        let Self { log, durable, drained, floor, floor_asked, .. } = self;
        format!("{} groups, {durable} durable, {drained} drained, floor {floor} of {floor_asked}", log.len())
    }

    /// Takes back everything behind the first `len` groups.
    pub fn truncate(&mut self, len: usize) {
        self.log.truncate(len);
        self.durable = self.durable.min(len);
        self.drained = self.drained.min(len);
        self.positions.retain(|(_, groups)| *groups <= len);
    }

    /// Compares a table in which a cut back to the first `groups` groups failed: those must be
    /// there, and of the others any number, in order. The model is then what the table shows; only
    /// those that had to stay are durable.
    pub fn settle_cut(&mut self, table: &Arc<Table>, groups: usize) -> Verdict {
        let (durable, drained) = (self.durable.min(groups), self.drained.min(groups));
        let floors = (self.floor, self.floor_asked);
        let there = |model: &Self, upto: usize| {
            model.log[..upto].iter().filter(|group| !model.prunable(group, floors.1)).count()
        };
        let (durable, drained) = (there(self, durable), there(self, drained));
        let safe = if self.doubtful { groups.min(self.durable) } else { groups };
        let verdict = self.judge(table, safe);
        // Settling has dropped what the floor took, and perhaps not all that it may take.
        (self.durable, self.drained) = (durable.min(self.log.len()), drained.min(self.log.len()));
        (self.floor, self.floor_asked) = floors;
        verdict
    }

    /// Compares a table that was opened after a fault with what it must hold; `safe` groups must be
    /// there. The model is then what the table holds.
    pub fn reconcile(&mut self, table: &Arc<Table>, safe: usize) -> Verdict {
        self.doubtful = false;
        self.judge(table, safe)
    }

    fn judge(&mut self, table: &Arc<Table>, safe: usize) -> Verdict {
        let mut verdict = Verdict::default();
        let floor = table.floor();
        if floor < self.floor || floor > self.floor_asked {
            let (acked, asked) = (self.floor, self.floor_asked);
            verdict.wrong(|| format!("floor is {floor}, acknowledged {acked}, asked for {asked}"));
        }
        let survivors = match read_all(table, Direction::Forward) {
            (_, Some(error)) if !self.doubtful => {
                verdict.lost(|| format!("iterator: {error}"));
                return verdict;
            }
            (survivors, _) => survivors,
        };
        let places: HashMap<&[u8], usize> =
            self.log.iter().enumerate().map(|(at, group)| (group.key.as_slice(), at)).collect();
        let mut there = vec![false; self.log.len()];
        let mut last = None;
        for record in &survivors {
            let place = places.get(record.key.as_slice()).copied();
            let same = place.is_some_and(|at| same(&self.log[at], record));
            if !same {
                verdict.wrong(|| format!("record {} was never written so", show(&record.key)));
                continue;
            }
            let Some(at) = place else { continue };
            if std::mem::replace(&mut there[at], true) {
                verdict.wrong(|| format!("record {at} comes twice"));
            }
            if self.ordered && last.is_some_and(|last| at < last) {
                verdict.wrong(|| format!("record {at} comes out of order"));
            }
            last = last.max(Some(at));
        }
        let reach = if self.ordered { last.map_or(0, |last| last + 1).max(safe) } else { safe };
        for (at, group) in self.log.iter().enumerate() {
            let excused = self.prunable(group, self.floor_asked) || self.is_doubtful(at);
            if at < reach && !there[at] && !excused {
                let (durable, len) = (self.durable, self.log.len());
                let what = || {
                    format!("record {at} of {len} is gone ({safe} safe, {durable} durable, last {last:?})")
                };
                if at < safe { verdict.lost(what) } else { verdict.wrong(what) }
            }
        }
        let mut at = 0;
        let kept_before: Vec<usize> = there
            .iter()
            .scan(0, |kept, there| {
                let before = *kept;
                *kept += usize::from(*there);
                Some(before)
            })
            .collect();
        let kept = there.iter().filter(|there| **there).count();
        self.positions.retain(|(_, groups)| last.is_some_and(|last| *groups <= last + 1));
        for (_, groups) in &mut self.positions {
            *groups = kept_before.get(*groups).copied().unwrap_or(kept);
        }
        self.log.retain(|_| {
            at += 1;
            there[at - 1]
        });
        // An open brings every tail that it accepts to the disk.
        (self.durable, self.drained) = (kept, kept);
        (self.floor, self.floor_asked) = (floor, floor);
        verdict.add(self.compare(table));
        verdict
    }

    /// Compares reads of every kind with what the table must hold.
    pub fn compare(&self, table: &Arc<Table>) -> Verdict {
        let mut verdict = Verdict::default();
        let floor = self.floor;
        for (at, group) in self.log.iter().enumerate() {
            let key = || show(&group.key);
            let below = self.prunable(group, floor);
            let doubtful = self.is_doubtful(at);
            match table.get(&group.key) {
                Err(LittError::Corrupt { .. } | LittError::Io { .. }) if doubtful => {}
                Ok(Some(value)) if *value == *group.value => {}
                Ok(None) | Err(LittError::Pruned { .. }) if below => continue,
                Ok(Some(_)) => verdict.wrong(|| format!("get {}: other bytes", key())),
                Ok(None) => verdict.lost(|| format!("get {}: nothing", key())),
                Err(error) => verdict.lost(|| format!("get {}: {error}", key())),
            }
            if below {
                continue;
            }
            for (key, range) in &group.secondary {
                let part = &group.value[range.start as usize..range.end as usize];
                match table.get(key) {
                    Err(LittError::Corrupt { .. } | LittError::Io { .. }) if doubtful => {}
                    Ok(Some(value)) if *value == *part => {}
                    Ok(Some(_)) => verdict.wrong(|| format!("get of secondary {}: other bytes", show(key))),
                    Ok(None) => verdict.lost(|| format!("get of secondary {}: nothing", show(key))),
                    Err(error) => verdict.lost(|| format!("get of secondary {}: {error}", show(key))),
                }
            }
            let (third, end) = (group.value.len() as u32 / 3, group.value.len() as u32);
            match table.get_range(&group.key, third..end) {
                Err(LittError::Corrupt { .. } | LittError::Io { .. }) if doubtful => {}
                Ok(Some(part)) if *part == group.value[third as usize..] => {}
                Err(error) => verdict.lost(|| format!("get_range of {}: {error}", key())),
                other => verdict.wrong(|| format!("get_range of {}: {other:?}", key())),
            }
        }
        for direction in [Direction::Forward, Direction::Reverse] {
            let (records, error) = read_all(table, direction);
            // Where nothing is in doubt there is no error; else what is not in doubt comes all the
            // same.
            let error = error.filter(|_| !self.is_doubtful(self.log.len()));
            error.into_iter().for_each(|error| verdict.lost(|| format!("iterator: {error}")));
            self.compare_order(records, direction, &mut verdict);
        }
        match table.get(b"never written") {
            Ok(None) => {}
            other => verdict.wrong(|| format!("a key that was never written: {other:?}")),
        }
        verdict
    }

    /// Whether a group may be an error.
    fn is_doubtful(&self, at: usize) -> bool {
        self.doubtful && at >= self.durable
    }

    fn compare_order(&self, mut records: Vec<Record>, direction: Direction, verdict: &mut Verdict) {
        if direction == Direction::Reverse {
            records.reverse();
        }
        if !self.ordered {
            let place = |key: &[u8]| self.log.iter().position(|group| group.key == key);
            records.sort_by_key(|record| place(&record.key));
        }
        let mut records = records.iter().peekable();
        for (at, group) in self.log.iter().enumerate() {
            if records.peek().is_some_and(|record| same(group, record)) {
                records.next();
            } else if !self.prunable(group, self.floor) && !self.is_doubtful(at) {
                verdict.lost(|| format!("the {direction:?} iterator lacks {}", show(&group.key)));
            }
        }
        if let Some(record) = records.next() {
            verdict.wrong(|| format!("the {direction:?} iterator has {} too many", show(&record.key)));
        }
    }
}

impl Verdict {
    pub fn add(&mut self, other: Self) {
        self.lost += other.lost;
        self.wrong += other.wrong;
        self.first = self.first.take().or(other.first);
    }
}

/// The records that an iterator gives, and its first error.
fn read_all(table: &Arc<Table>, direction: Direction) -> (Vec<Record>, Option<LittError>) {
    let (mut records, mut first) = (Vec::new(), None);
    match table.iter(direction) {
        Ok(iter) => {
            for record in iter {
                match record {
                    Ok(record) => records.push(record),
                    Err(error) => first = first.or(Some(error)),
                }
            }
        }
        Err(error) => first = Some(error),
    }
    (records, first)
}

fn same(group: &Written, record: &Record) -> bool {
    let mut expected: Vec<_> = group.secondary.clone();
    let mut found: Vec<_> =
        record.secondary.iter().map(|(key, range)| (key.clone(), range.clone())).collect();
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    found.sort_by(|a, b| a.0.cmp(&b.0));
    group.key == record.key
        && *group.value == *record.value
        && expected == found
        && group.number == record.number
}

pub fn show(key: &[u8]) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}
