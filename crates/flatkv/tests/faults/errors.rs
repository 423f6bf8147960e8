//! Full disks, I/O errors and short writes at any call of the whole process.

use crate::{
    amount,
    child::{Work, run},
    judge::{judge, keep},
    model::{Random, temp_dir},
    preload::{Fault, Mode},
    row, run_all, seeds,
};
use std::fs;

/// Homes in the quick, the everyday and the full test.
const HOMES: [u64; 3] = [3, 6, 100];
/// Faults of one home.
const FAULTS: u64 = 8;
/// Steps of a child that meets no fault.
const STEPS: u64 = 40;
const KINDS: [(Mode, &str); 3] =
    [(Mode::Full, "full disk"), (Mode::Io, "I/O error"), (Mode::Short, "short write")];
/// Paths that a fault may be kept to.
const ONLY: [&str; 7] = ["", "", "", ".wal", ".sst", "MANIFEST", "table"];

/// What faults of one kind found.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    tried: u64,
    lost: u64,
    wrong: u64,
    /// Faults after which a step failed; the others were in the background or were got over.
    seen: u64,
    /// Faults after which reads were refused until the next opening.
    refused_reads: u64,
}

#[derive(Debug, Default)]
struct Tally {
    kinds: [Counts; 3],
    findings: Vec<String>,
}

fn live(seed: u64) -> Tally {
    let (home, aside) = (temp_dir(), temp_dir());
    let mut work = Work { home: home.path().join("home"), seed, done: 0, steps: STEPS, bug: None };
    fs::create_dir(&work.home).unwrap();
    let (mut random, mut tally) = (Random(seed ^ 0xe440), Tally::default());
    let first = run(&work, &Fault { only: "", ..Fault::new(Mode::Count) }, aside.path());
    if let Some(what) = first.broke() {
        tally.findings.push(what);
        return tally;
    }
    work.done = first.said.done.unwrap_or(0);
    let mut calls = first.note.calls;
    for _ in 0..FAULTS {
        let kind = random.below(3) as usize;
        let only = ONLY[random.below(7) as usize];
        let most = if only.is_empty() { calls } else { calls / 6 };
        let from_start = random.below(6) == 0;
        let at = 1 + random.below(most.max(1));
        let times = [1, 1, 3, 0][random.below(4) as usize];
        let fault = Fault { at, times, only, from_start, ..Fault::new(KINDS[kind].0) };
        let end = run(&work, &fault, aside.path());
        if !end.note.was_hit() {
            work.done = end.said.done.unwrap_or(work.done);
            calls = if only.is_empty() && !from_start { end.note.calls } else { calls };
            continue;
        }
        let floor = end.said.done.unwrap_or(work.done);
        let most = end.said.begun.as_ref().map_or(floor, |(n, _)| n + 1).max(floor);
        let verdict = judge(&work.home, seed, floor..=most, &end.said);
        let wrong = end.broke().or_else(|| end.said.wrong.first().cloned()).or(verdict.wrong);
        let counts = &mut tally.kinds[kind];
        counts.tried += 1;
        counts.seen += u64::from(end.said.error.is_some() || end.said.refused.is_some());
        counts.refused_reads += u64::from(end.said.needs_opening);
        counts.lost += u64::from(verdict.lost.is_some());
        counts.wrong += u64::from(wrong.is_some());
        if let Some(what) = wrong.or(verdict.lost) {
            keep(&work.home, &format!("error-{seed}"));
            let met = end.said.error.or_else(|| end.said.begun.clone());
            tally.findings.push(format!("seed {seed}, {fault:?} at {:?}, {met:?}: {what}", end.note));
            break;
        }
        work.done = verdict.steps;
    }
    tally
}

#[test]
fn failing_calls_lose_nothing_acknowledged() {
    let homes = amount("HEARTH_FLATKV_ERRORS", HOMES);
    let (mut kinds, mut findings) = ([Counts::default(); 3], Vec::new());
    for tally in run_all(seeds(homes), live) {
        for (sum, more) in kinds.iter_mut().zip(tally.kinds) {
            sum.tried += more.tried;
            sum.lost += more.lost;
            sum.wrong += more.wrong;
            sum.seen += more.seen;
            sum.refused_reads += more.refused_reads;
        }
        findings.extend(tally.findings);
    }
    for ((_, name), counts) in KINDS.iter().zip(kinds) {
        row(name, counts.tried, counts.lost, counts.wrong);
        let Counts { tried, seen, refused_reads, .. } = counts;
        println!("faults: of {tried} faults ({name}) a step failed after {seen}");
        println!("faults: reads were refused until the next opening after {refused_reads}");
    }
    assert!(findings.is_empty(), "{findings:#?}");
    assert!(kinds[..2].iter().all(|counts| counts.tried >= homes && counts.seen > 0), "{kinds:?}");
}

/// RocksDB that fails in the background flushes no more: a thread that waits for a flush gets the
/// error.
#[test]
fn a_failure_in_the_background_is_an_error_not_a_hang() {
    let mut failed = 0;
    for seed in 0..4 {
        let (home, aside) = (temp_dir(), temp_dir());
        let work = Work { home: home.path().join("home"), seed, done: 0, steps: 3 * STEPS, bug: None };
        fs::create_dir(&work.home).unwrap();
        let fault = Fault { at: 40, times: 0, only: ".sst", ..Fault::new(Mode::Io) };
        let end = run(&work, &fault, aside.path());
        assert_eq!(end.broke(), None, "{:?}", end.note);
        failed += u64::from(end.said.error.is_some());
        let done = end.said.done.unwrap();
        let verdict = judge(&work.home, seed, done..=done + 1, &end.said);
        assert_eq!(verdict.lost.or(verdict.wrong), None);
    }
    assert_eq!(failed, 4);
}
