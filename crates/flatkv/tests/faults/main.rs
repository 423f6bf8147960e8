//! The fault suite of the whole store, RocksDB's C++ included: kills, power cuts, full disks, I/O
//! errors, flipped bits.
//!
//! A child process, this binary again, works on a home under a small preloaded library
//! (`tests/preload`) and says through a pipe what it begins and what is done; the parent opens what
//! is left and compares it with a model. `npm run test:faults` runs all of it, `npm test` a share.
//! Everything comes out of seeds; threads of the store and of RocksDB make the number of a call
//! differ a little from run to run. `HEARTH_FLATKV_KILLS`, `HEARTH_FLATKV_CUTS`,
//! `HEARTH_FLATKV_NAMES`, `HEARTH_FLATKV_ERRORS` and `HEARTH_FLATKV_FLIPS` say how much is tried,
//! `HEARTH_FAULT_FROM` is the first seed, and `HEARTH_FAULT_KEEP` a folder that keeps the homes of
//! failures.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod child;
mod errors;
mod flips;
mod home;
mod journal;
mod judge;
mod kill;
#[allow(dead_code)]
#[path = "../it/model.rs"]
mod model;
mod planted;
mod power;
mod preload;
mod story;
mod tables;

use std::{
    ops::Range,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// One line of the closing table, which the test command gathers.
pub fn row(kind: &str, tried: u64, lost: u64, wrong: u64) {
    println!("faults: flatkv | {kind} | {tried} | {lost} | {wrong}");
}

/// A number out of the environment.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// How much is tried: what a variable says, or what belongs to the mode of the tests.
pub fn amount(name: &str, [quick, usual, full]: [u64; 3]) -> u64 {
    number(name).unwrap_or_else(|| match std::env::var("HEARTH_TEST").as_deref() {
        Ok("quick") => quick,
        Ok("full") => full,
        _ => usual,
    })
}

/// Seeds from the first one on.
pub fn seeds(count: u64) -> Range<u64> {
    let from = number("HEARTH_FAULT_FROM").unwrap_or(0);
    from..from + count
}

/// Runs seeds on all processors; gives what they found in the order of the seeds.
pub fn run_all<T: Send>(seeds: Range<u64>, run: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let next = AtomicU64::new(seeds.start);
    let done = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let found = run(seed);
                    done.lock().unwrap().push((seed, found));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(seed, _)| *seed);
    done.into_iter().map(|(_, found)| found).collect()
}
