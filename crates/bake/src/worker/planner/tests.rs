//! The plan of a chain with gaps.

use super::super::options::MAX_FINISHED_AHEAD;
use super::*;
use std::time::Duration;

const BAKED: Outcome = Outcome::Baked(Baked { bytes: 10, gas: 21_000 });

/// A plan of a chain whose baking begins at block 1, and the time at which everything happens.
fn planner() -> (Planner, Instant) {
    (Planner::new(Some(Progress::from(1)), Failures::new(Duration::ZERO)), Instant::now())
}

fn cursor(planner: &Planner) -> Height {
    planner.progress.as_ref().unwrap().cursor()
}

/// Scans up to the head where these heights are missing; first and last height of each scan.
fn scan(planner: &mut Planner, head: Height, missing: &[Height]) -> Vec<(Height, Height)> {
    let mut scans = Vec::new();
    while let Some(scan) = planner.take_scan(head) {
        let within = |height: &Height| (scan.from..=scan.to).contains(height);
        let missing: Vec<_> = missing.iter().copied().filter(within).collect();
        planner.scanned(scan, scan.to, &missing);
        scans.push((scan.from, scan.to));
    }
    scans
}

#[test]
fn a_height_given_up_does_not_restart_the_scan_with_each_block() {
    let (mut planner, now) = planner();
    let failed = Outcome::Failed(BakeFailure::Failed { reason: "on purpose".into() });
    let mut task = planner.take_committed(1).unwrap();
    while planner.finish(task, failed.clone(), now, now) != FollowUp::Failed(Verdict::GivenUp) {
        task = planner.take_other(now).unwrap();
    }
    let bake = |planner: &mut Planner, height| {
        let task = planner.take_committed(height).unwrap();
        assert_eq!(planner.finish(task, BAKED, now, now), FollowUp::Nothing);
    };
    let remembered = MAX_FINISHED_AHEAD as Height + 1;
    for height in 2..=remembered + 1 {
        bake(&mut planner, height);
    }
    let scans = scan(&mut planner, remembered + 1, &[1]);
    assert_eq!((scans[0].0, scans.len()), (1, (remembered + 1).div_ceil(SCAN_HEIGHTS) as usize));
    bake(&mut planner, remembered + 2);
    let new = remembered + 2;
    assert_eq!(scan(&mut planner, new, &[1]), [(new, new)]);
    bake(&mut planner, new + 1);
    assert_eq!(scan(&mut planner, new + 1, &[1]), [(new + 1, new + 1)]);
    assert_eq!(cursor(&planner), 0);

    planner.window_begins(2);
    assert_eq!(cursor(&planner), remembered);
    assert_eq!(scan(&mut planner, new + 1, &[]), [(remembered + 1, new + 1)]);
    assert_eq!(cursor(&planner), new + 1);
    assert!(scan(&mut planner, new + 1, &[]).is_empty());
}

#[test]
fn a_retry_that_closes_a_gap_finds_what_was_forgotten() {
    let (mut planner, now) = planner();
    let failed = Outcome::Failed(BakeFailure::Transient { reason: "on purpose".into() });
    let task = planner.take_committed(1).unwrap();
    assert_eq!(planner.finish(task, failed, now, now), FollowUp::Failed(Verdict::RetryAfter(Duration::ZERO)));
    let head = MAX_FINISHED_AHEAD as Height + 3;
    scan(&mut planner, head, &[1]);
    assert_eq!(cursor(&planner), 0);
    let task = planner.take_other(now).unwrap();
    assert_eq!((task.height, task.reason), (1, Reason::Retry));
    planner.finish(task, BAKED, now, now);
    assert_eq!(cursor(&planner), head - 2);
    assert_eq!(scan(&mut planner, head, &[]), [(head - 1, head)]);
    assert_eq!(cursor(&planner), head);
}

#[test]
fn what_a_scan_finds_above_a_gap_is_remembered() {
    let (mut planner, now) = planner();
    assert_eq!(scan(&mut planner, 10, &[1, 5]), [(1, 10)]);
    for (gap, reached) in [(1, 4), (5, 10)] {
        let task = planner.take_other(now).unwrap();
        assert_eq!((task.height, task.reason), (gap, Reason::Gap));
        planner.finish(task, BAKED, now, now);
        assert_eq!(cursor(&planner), reached);
    }
}
