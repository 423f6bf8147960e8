//! The fault suite: power cuts, deaths, full disks, I/O errors, damage, missing files and volumes,
//! clocks that jump.
//!
//! `npm run test:faults` runs all of it, `npm test` a share. Every run is a seed:
//! `HEARTH_SEED=n cargo test -p hearth-littable --test faults power -- --nocapture` runs one again
//! and shows the disk's calls. `HEARTH_FAULT_RUNS` is the number of runs and `HEARTH_FAULT_FROM`
//! the first seed. A run ends five times: three times out of four by a power cut (3.75 a run), else
//! by a kill of the process.

#![allow(clippy::unwrap_used)]

mod clock;
mod cut;
mod damage;
mod model;
mod planted;
mod process;
mod workload;

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use workload::{Tally, run};

/// Runs in the quick, the everyday and the full test, by the variable `HEARTH_TEST`.
const RUNS: [u64; 3] = [150, 2_000, 10_000];
const KINDS: [&str; 4] = ["power cut", "kill", "full disk", "I/O error"];

/// One line of the closing table, which the test command gathers.
pub fn row(kind: &str, tried: u64, lost: u64, wrong: u64) {
    println!("faults: littable | {kind} | {tried} | {lost} | {wrong}");
}

/// A number out of the environment.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Failing runs after which a search ends.
const MAX_FAILED: usize = 50;

/// How much is tried: what a variable says, or what belongs to the mode of the tests.
pub fn amount(name: &str, [quick, usual, full]: [u64; 3]) -> u64 {
    number(name).unwrap_or_else(|| match std::env::var("HEARTH_TEST").as_deref() {
        Ok("quick") => quick,
        Ok("full") => full,
        _ => usual,
    })
}

/// Runs seeds on all processors until they are through or many have failed; those that failed, with
/// the first finding.
pub fn run_all(seeds: Range<u64>, run: impl Fn(u64) -> Tally + Sync) -> (Tally, Vec<(u64, String)>) {
    let (next, failed) = (AtomicU64::new(seeds.start), Mutex::new(Vec::new()));
    let all = Mutex::new(Tally::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut mine = Tally::default();
                while failed.lock().unwrap().len() < MAX_FAILED {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        break;
                    }
                    let tally = run(seed);
                    if tally.failures() > 0 {
                        failed.lock().unwrap().push((seed, tally.first.clone().unwrap_or_default()));
                    }
                    mine.add(tally);
                }
                all.lock().unwrap().add(mine);
            });
        }
    });
    (all.into_inner().unwrap(), failed.into_inner().unwrap())
}

#[test]
fn power_cuts_and_deaths_lose_nothing_acknowledged() {
    if let Some(seed) = number("HEARTH_SEED") {
        let mut run = workload::Run::new(seed);
        run.disk.keep_journal(10_000);
        run.go();
        println!("{}\n{:?}\n{:?}", run.disk.journal().join("\n"), run.options, run.tally);
        assert_eq!(run.tally.failures(), 0);
        return;
    }
    let runs = amount("HEARTH_FAULT_RUNS", RUNS);
    let from = number("HEARTH_FAULT_FROM").unwrap_or(0);
    let (all, failed) = run_all(from..from + runs, run);
    for (kind, name) in KINDS.iter().enumerate() {
        row(name, all.tried[kind], all.lost[kind], all.wrong[kind]);
    }
    assert!(failed.is_empty(), "HEARTH_SEED, first finding: {failed:#?}");
    assert!(all.tried[0] > 3 * runs, "{all:?}");
    assert!(all.tried.iter().all(|tried| *tried > runs / 8), "{all:?}");
}

#[test]
fn a_run_is_its_seed() {
    assert!((0..10).all(|seed| run(seed) == run(seed)));
}
