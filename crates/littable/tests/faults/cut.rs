//! Interrupts a truncation at each of its steps: afterwards either all records behind the position
//! are gone, or none.

use crate::damage::build_noting;
use crate::row;
use crate::workload::Run;
use hearth_disk::Disk;
use hearth_disk::sim::SimDisk;
use hearth_littable::{Direction, LittError, Table};
use std::sync::Arc;

/// Groups before the position that is cut to.
const KEPT: usize = 40;
/// Power cuts after each step: what was not synced is lost, kept or torn by chance.
const CHANCES: u64 = 6;

/// How many groups there are, each with its bytes and in order.
fn groups(table: &Arc<Table>, run: &Run) -> usize {
    let mut count = 0;
    for record in table.iter(Direction::Forward).unwrap() {
        let record = record.unwrap();
        assert_eq!(record.key, run.model.log[count].key);
        assert!(record.value == run.model.log[count].value);
        count += 1;
    }
    for (at, group) in run.model.log.iter().enumerate() {
        let there = table.get(&group.key).unwrap();
        assert_eq!(there.is_some(), at < count, "group {at} of {count}");
    }
    count
}

/// Opens what is left and says how many groups it has; a scrub finds nothing wrong, and writing
/// continues.
fn left(run: &mut Run, disk: SimDisk) -> usize {
    run.disk = disk;
    let (_store, table) = run.open().unwrap();
    let count = groups(&table, run);
    let report = table.scrub().unwrap();
    assert!(report.damage.is_empty(), "{report:?}");
    for group in &run.model.log[count..] {
        table.put(&group.key, &group.value).unwrap();
    }
    table.flush().unwrap();
    assert_eq!(table.iter(Direction::Forward).unwrap().count(), run.model.log.len());
    count
}

#[test]
fn a_cut_that_is_interrupted_is_whole_or_none() {
    let (mut run, position) = build_noting(3, KEPT);
    let all = run.model.log.len();
    let before = run.disk.snapshot();
    let (mut tried, mut whole, mut none) = (0, 0, 0);
    for step in 0.. {
        let mut done = false;
        for chance in 0..=CHANCES {
            let disk = before.snapshot();
            run.disk = disk.clone();
            let (store, table) = run.open().unwrap();
            disk.die_at(disk.changes() + step);
            let cut = table.truncate(position);
            assert!(cut.is_ok() || disk.is_dead(), "{cut:?}");
            done = cut.is_ok();
            let acknowledged = cut.is_ok();
            // The last one dies with its process only.
            let next = if chance == CHANCES { disk.kill() } else { disk.power_cut(step * 100 + chance) };
            drop((table, store));
            let count = left(&mut run, next);
            assert!(count == KEPT || (count == all && !acknowledged), "step {step}: {count} groups");
            (whole, none) = (whole + u64::from(count == KEPT), none + u64::from(count == all));
            tried += 1;
        }
        if done {
            assert!(step > 10, "the cut took {step} steps");
            break;
        }
    }
    row("interrupted cut", tried, 0, 0);
    assert!(whole > CHANCES && none > CHANCES, "{whole} {none}");
}

/// A second death, while the opening ends what the first one interrupted.
#[test]
fn an_opening_that_ends_a_cut_may_be_interrupted_too() {
    let (mut run, position) = build_noting(4, KEPT);
    let all = run.model.log.len();
    let before = run.disk.snapshot();
    let mut tried = 0;
    for step in (3..60).step_by(4) {
        for second in 0..25 {
            run.disk = before.snapshot();
            let (store, table) = run.open().unwrap();
            run.disk.die_at(run.disk.changes() + step);
            let cut = table.truncate(position).is_ok();
            let next = run.disk.power_cut(step);
            drop((table, store));
            run.disk = next;
            run.disk.die_at(run.disk.changes() + second);
            drop(run.open());
            let next = run.disk.power_cut(second);
            let count = left(&mut run, next);
            assert!(count == KEPT || (count == all && !cut), "steps {step}, {second}: {count} groups");
            tried += 1;
        }
    }
    row("interrupted opening after a cut", tried, 0, 0);
}

/// A position that no record ends at is refused before anything is touched, also where the disk
/// would fail.
#[test]
fn a_cut_to_no_position_touches_nothing() {
    let (run, position) = build_noting(5, KEPT);
    let (_store, table) = run.open().unwrap();
    let changes = run.disk.changes();
    for wrong in [position + 1, position - 1, 77 << 32, u64::MAX] {
        let cut = table.truncate(wrong);
        assert!(
            matches!(cut, Err(LittError::NoSuchPosition { position, .. }) if position == wrong),
            "{cut:?}"
        );
    }
    assert_eq!(run.disk.changes(), changes);
    assert_eq!(groups(&table, &run), run.model.log.len());
    assert!(
        run.disk
            .files(std::path::Path::new("/mnt"))
            .unwrap()
            .iter()
            .all(|path| run.disk.exists(path).unwrap())
    );
}
