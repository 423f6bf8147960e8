//! The suite proves itself: bugs of the kind that it is there for are planted, and it must find
//! each.

use crate::damage;
use crate::workload::{Tally, run};
use hearth_littable::failpoints::{InjectedBug, inject_bug};

/// Runs after which a bug counts as not found.
const RUNS: u64 = 2_000;

/// The first seed whose run fails with a bug in place, and how.
fn found(bug: InjectedBug) -> Option<(u64, Tally)> {
    inject_bug(Some(bug));
    let found = (0..RUNS).map(|seed| (seed, run(seed))).find(|(_, tally)| tally.failures() > 0);
    inject_bug(None);
    found
}

#[track_caller]
fn is_found(bug: InjectedBug) {
    let Some((seed, tally)) = found(bug) else { panic!("{bug:?} went unnoticed in {RUNS} runs") };
    println!(
        "faults: planted | {bug:?} | found after {} runs: {}",
        seed + 1,
        tally.first.unwrap_or_default()
    );
    assert_eq!(run(seed).failures(), 0, "the same run without the bug");
}

#[test]
fn a_sync_that_is_skipped_is_found() {
    is_found(InjectedBug::SyncSkipped);
}

#[test]
fn a_sync_of_a_folder_that_is_skipped_is_found() {
    is_found(InjectedBug::DirSyncSkipped);
}

#[test]
fn an_unsynced_tail_that_is_accepted_is_found() {
    is_found(InjectedBug::UnsyncedTailAccepted);
}

#[test]
fn a_floor_that_is_written_after_the_unlink_is_found() {
    is_found(InjectedBug::FloorAfterUnlink);
}

#[test]
fn a_checksum_that_is_ignored_is_found() {
    inject_bug(Some(InjectedBug::ChecksumIgnored));
    let report = damage::flips(400, 1);
    inject_bug(None);
    assert!(report.served > 0, "{report:?}");
    println!(
        "faults: planted | ChecksumIgnored | found: {} of {} flips were served",
        report.served, report.tried
    );
    assert_eq!(damage::flips(400, 1).served, 0, "the same flips without the bug");
}
