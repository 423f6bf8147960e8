//! SIGKILL at a call of the whole process, drawn uniformly but for those aimed at short phases,
//! while a step is under way.

use crate::{
    amount,
    child::{End, Said, Work, run},
    judge::{copy_dir, judge, keep},
    model::{Random, temp_dir},
    preload::{Fault, Mode, Note},
    row, run_all, seeds,
};
use std::{collections::BTreeMap, fs, path::Path};

/// Kills in the quick, the everyday and the full test.
const KILLS: [u64; 3] = [20, 30, 1_000];
/// Kills of one home, before the next one begins from nothing.
const KILLS_OF_HOME: u64 = 10;
/// Steps of a child that is not killed.
const STEPS: u64 = 60;
/// About as many calls does an opening take.
const CALLS_OF_OPENING: u64 = 160;
/// Kills of a phase that the full suite must have.
const KILLS_OF_PHASE: u64 = 20;
/// Paths of phases with few calls, at which one kill of so many is aimed.
const AIMED: [&str; 2] = ["/mark-later", "/mark-apply"];
const AIMED_ONE_IN: u64 = 20;
/// Calls of such a phase that a child makes, about.
const CALLS_OF_AIMED: u64 = 3;
/// What the store may be doing when it is killed.
const PHASES: [&str; 11] = [
    "apply",
    "WAL",
    "batch",
    "later",
    "flush",
    "compaction",
    "snapshot",
    "prune",
    "unwind",
    "rollback",
    "import",
];

/// What kills found, by phase.
#[derive(Debug, Default)]
struct Tally {
    phases: BTreeMap<String, [u64; 3]>,
    findings: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        for (phase, [tried, lost, wrong]) in other.phases {
            let sum = self.phases.entry(phase).or_default();
            *sum = [sum[0] + tried, sum[1] + lost, sum[2] + wrong];
        }
        self.findings.extend(other.findings);
    }

    fn sum(&self, at: usize) -> u64 {
        self.phases.values().map(|counts| counts[at]).sum()
    }
}

/// What the store was at when it made a call.
fn phase(note: &Note, step: &str) -> &'static str {
    let is = |part: &str| note.path.contains(part);
    match (note.thread.as_str(), step) {
        (_, "rollback") => "rollback",
        (_, "transfer") if is("/stream") => "export",
        (_, "transfer") if is("/side-") => "import",
        ("flatkv-prune", _) => "prune",
        _ if is("/snapshots/removing-") => "prune",
        ("flatkv-snapshot", _) | (_, "snapshot") => "snapshot",
        (thread, _) if thread.starts_with("rocksdb:low") => "compaction",
        (thread, _) if thread.starts_with("rocksdb:high") => "flush",
        _ if is("/snapshots") => "snapshot",
        _ if is("/mark-apply") => "apply",
        _ if is("/mark-prune") => "prune",
        _ if is("/mark-batch") => "batch",
        _ if is("/mark-later") => "later",
        _ if is("/wal") && note.call == "unlink" => "prune",
        (_, "unwind") => "unwind",
        _ if is("/wal") => "WAL",
        _ if is("/table") => "table",
        _ if is("/state/db") => "flush",
        _ => "other",
    }
}

/// One home and what becomes of it.
struct Life {
    work: Work,
    aside: tempfile::TempDir,
    _home: tempfile::TempDir,
    random: Random,
    tally: Tally,
}

impl Life {
    fn new(seed: u64) -> Self {
        let (home, aside) = (temp_dir(), temp_dir());
        let work = Work { home: home.path().join("home"), seed, done: 0, steps: STEPS, bug: None };
        fs::create_dir(&work.home).unwrap();
        Self { work, aside, _home: home, random: Random(seed ^ 0x6b11), tally: Tally::default() }
    }

    fn find(&mut self, what: String) {
        keep(&self.work.home, &format!("kill-{}-{}", self.work.seed, self.tally.findings.len()));
        self.tally.findings.push(format!("seed {}, step {}: {what}", self.work.seed, self.work.done));
    }

    /// Runs a child; what it said, where it ended as it should.
    fn run(&mut self, fault: &Fault) -> Option<End> {
        let end = run(&self.work, fault, self.aside.path());
        let bad = end.broke().or_else(|| end.said.refused.clone()).or_else(|| {
            end.said.error.as_ref().map(|(n, error)| format!("step {n} failed without a fault: {error}"))
        });
        if let Some(what) = bad {
            self.find(what);
            return None;
        }
        Some(end)
    }

    /// Judges the home, or a copy of it, so that the next child finds what the kill left.
    fn judge(&mut self, end: &End, phase: &str) -> bool {
        let floor = end.said.done.unwrap_or(self.work.done);
        let most = end.said.begun.as_ref().map_or(floor, |(n, _)| n + 1).max(floor);
        let copy = temp_dir();
        let on_copy = self.random.below(2) == 0;
        let home = if on_copy {
            let to = copy.path().join("home");
            copy_dir(&self.work.home, &to).unwrap();
            to
        } else {
            self.work.home.clone()
        };
        let verdict = judge(&home, self.work.seed, floor..=most, &end.said);
        let counts = self.tally.phases.entry(phase.to_owned()).or_default();
        counts[0] += 1;
        counts[1] += u64::from(verdict.lost.is_some());
        counts[2] += u64::from(verdict.wrong.is_some());
        if let Some(what) = verdict.lost.clone().or(verdict.wrong.clone()) {
            self.find(format!("{what}; killed at {:?}", end.note));
            return false;
        }
        self.work.done = verdict.steps;
        true
    }

    /// Steps from nothing, uncounted kills of openings among them; calls that a child makes.
    fn begin(&mut self) -> Option<u64> {
        let at = 1 + self.random.below(CALLS_OF_OPENING);
        self.kill_opening(at)?;
        let end = self.run(&Fault { at: u64::MAX, ..Fault::new(Mode::Count) })?;
        self.work.done = end.said.done.unwrap_or(self.work.done);
        Some(end.note.calls)
    }

    /// A kill at a call from the start on, which mostly is one of the opening.
    fn kill_opening(&mut self, at: u64) -> Option<()> {
        let fault = Fault { at, how: self.random.below(3), from_start: true, ..Fault::new(Mode::Kill) };
        let end = self.run(&fault)?;
        self.judge(&end, "opening").then_some(())
    }

    fn live(&mut self, kills: u64) -> Option<()> {
        let mut calls = self.begin()?;
        let mut killed = 0;
        while killed < kills {
            let only = match self.random.below(AIMED_ONE_IN) {
                0 => AIMED[self.random.below(AIMED.len() as u64) as usize],
                _ => "",
            };
            let most = if only.is_empty() { calls.max(1) } else { CALLS_OF_AIMED };
            let at = 1 + self.random.below(most);
            let how = self.random.below(3);
            let end = self.run(&Fault { at, how, only, ..Fault::new(Mode::Kill) })?;
            if !end.was_killed() {
                // It had fewer calls to make this time.
                self.work.done = end.said.done.unwrap_or(self.work.done);
                calls = if only.is_empty() { end.note.calls } else { calls };
                continue;
            }
            let Said { begun, done, .. } = &end.said;
            let in_flight = begun.as_ref().is_some_and(|(n, _)| done.is_none_or(|done| *n >= done));
            let step = begun.as_ref().map_or("", |(_, step)| step.as_str());
            // Threads of the background continue while the process ends: that is one more kind,
            // beside the requested number.
            let phase = if in_flight { phase(&end.note, step) } else { "nothing" };
            killed += u64::from(in_flight);
            if !self.judge(&end, phase) {
                return None;
            }
            if self.random.below(6) == 0 {
                let at = 1 + self.random.below(CALLS_OF_OPENING);
                self.kill_opening(at)?;
            }
        }
        Some(())
    }
}

/// Kills one home again and again.
fn live(seed: u64, kills: u64) -> Tally {
    let mut life = Life::new(seed);
    life.live(kills);
    life.tally
}

#[test]
fn kills_at_any_call_lose_nothing_acknowledged() {
    let kills = amount("HEARTH_FLATKV_KILLS", KILLS);
    let homes = kills.div_ceil(KILLS_OF_HOME);
    let mut all = Tally::default();
    for tally in run_all(seeds(homes), |seed| live(seed, KILLS_OF_HOME)) {
        all.add(tally);
    }
    for (phase, [tried, lost, wrong]) in &all.phases {
        row(&format!("killed in {phase}"), *tried, *lost, *wrong);
    }
    row("kill", all.sum(0), all.sum(1), all.sum(2));
    assert!(all.findings.is_empty(), "{:#?}", all.findings);
    assert!(all.sum(0) >= kills, "{all:?}");
    if kills >= KILLS[2] {
        for phase in PHASES {
            let tried = all.phases.get(phase).map_or(0, |counts| counts[0]);
            assert!(tried >= KILLS_OF_PHASE, "only {tried} kills in {phase}");
        }
    }
}

/// Which library stands where: RocksDB's own calls are among those that are counted.
#[test]
fn calls_of_rocksdb_are_seen() {
    let (home, aside) = (temp_dir(), temp_dir());
    let calls = |only: &'static str, seed: u64| {
        let home = home.path().join(format!("{only}{seed}"));
        fs::create_dir(&home).unwrap();
        let work = Work { home, seed, done: 0, steps: STEPS, bug: None };
        let fault = Fault { only, from_start: true, ..Fault::new(Mode::Count) };
        let end = run(&work, &fault, Path::new(aside.path()));
        assert_eq!(end.broke(), None);
        end.note.calls
    };
    for only in [".sst", "MANIFEST", "CURRENT", ".wal", "table"] {
        assert!(calls(only, 1) > 4, "{only}");
    }
}
