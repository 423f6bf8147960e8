//! The suite proves itself: bugs of the kind that it is there for are planted, and it must find
//! each.

use crate::{flips::flips, power::cuts};
use hearth_flatkv::failpoints::{InjectedBug, inject_bug};
use std::{env, process::Command};

/// Runs after which a bug counts as not found.
const RUNS: u64 = 60;
const FLIPS: u64 = 40;

#[track_caller]
fn is_found_by_a_power_cut(bug: InjectedBug) {
    let found =
        (0..RUNS).map(|seed| (seed, cuts(seed, Some(bug)))).find(|(_, tally)| tally.lost + tally.wrong > 0);
    let Some((seed, tally)) = found else { panic!("{bug:?} went unnoticed in {RUNS} runs") };
    println!("faults: planted | {bug:?} | found after {} runs: {}", seed + 1, tally.findings[0]);
    let without = cuts(seed, None);
    assert_eq!(without.lost + without.wrong, 0, "the same run without the bug: {:?}", without.findings);
}

#[test]
fn a_wal_that_is_synced_before_the_tables_is_found() {
    is_found_by_a_power_cut(InjectedBug::WalBeforeTables);
}

#[test]
fn a_flush_before_the_sync_is_found() {
    is_found_by_a_power_cut(InjectedBug::FlushBeforeSync);
}

/// Run alone in a process of its own: the bug is there for all of it.
#[test]
#[ignore = "run by the test below"]
fn flips_without_checksums() {
    if env::var_os("HEARTH_FAULT_WORK").is_none() {
        return;
    }
    inject_bug(Some(InjectedBug::ChecksumIgnored));
    let (counts, findings) = flips(FLIPS, 0, Some("WAL"));
    let count = counts["WAL"];
    println!("~served {} of {} {:?}", count.served + count.harmless, count.tried, findings.first());
}

#[test]
fn a_checksum_that_is_ignored_is_found() {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "planted::flips_without_checksums", "--nocapture", "--ignored"]);
    let out = command.env("HEARTH_FAULT_WORK", "").output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    let line = text.lines().find_map(|line| line.split_once("~served ")).map(|(_, rest)| rest);
    let line = line.unwrap_or_else(|| panic!("{text}\n{}", String::from_utf8_lossy(&out.stderr)));
    let served: u64 = line.split(' ').next().unwrap().parse().unwrap();
    assert!(served > 0, "{line}");
    println!(
        "faults: planted | ChecksumIgnored | found: {line} flips in the WAL were served or went unnoticed"
    );
    let (counts, findings) = flips(FLIPS, 0, Some("WAL"));
    assert_eq!(counts["WAL"].detected, counts["WAL"].tried, "the same flips without the bug: {findings:?}");
}
