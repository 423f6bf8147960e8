//! Power cuts and deaths at every step of what is published by names: snapshots taken and deleted,
//! parts of the store replaced. RocksDB's own files are plain ones here.

use crate::{
    CommitmentKind, FlatKvError, Fsync, Options, Snapshot,
    intent::{Intent, Moves, NEW_DATABASE, Replaced, StorePath, finish_files},
    open::ROCKS_DIR,
    snapshot::{folder, list, remove_unfinished},
};
use alloy_primitives::B256;
use hearth_disk::{
    Disk,
    sim::{Call, Fault, SimDisk},
};
use hearth_flatkv_storage::files::sync_tree;
use std::{path::Path, sync::Arc};

const STATE: &str = "/home/data/state";
const SNAPSHOTS: &str = "/home/data/state/snapshots";
/// Ways in which each cut is tried.
const SEEDS: u64 = 24;

fn put(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<(), FlatKvError> {
    disk.create(path).and_then(|file| file.write_all_at(bytes, 0)).map_err(FlatKvError::io(path))
}

/// What a database's file holds; of more than one sector, so that a cut can tear it.
fn content(of: u64, file: &str) -> Vec<u8> {
    format!("{file} of {of} ").repeat(200).into_bytes()
}

fn database(disk: &dyn Disk, dir: &Path, of: u64) -> Result<(), FlatKvError> {
    disk.create_dir(dir).map_err(FlatKvError::io(dir))?;
    ["000007.sst", "CURRENT"].iter().try_for_each(|name| put(disk, &dir.join(name), &content(of, name)))
}

/// Whether a database is the whole one of this number.
fn is_whole(disk: &dyn Disk, dir: &Path, of: u64) -> bool {
    ["000007.sst", "CURRENT"]
        .iter()
        .all(|name| disk.read(&dir.join(name)).is_ok_and(|bytes| bytes == content(of, name)))
}

fn take(disk: &dyn Disk, number: u64) -> Result<Snapshot, FlatKvError> {
    let making = folder::begin(disk, Path::new(SNAPSHOTS))?;
    database(disk, &making.join(folder::DATABASE), number)?;
    let snapshot = Snapshot {
        height: number,
        hash: B256::ZERO,
        kind: CommitmentKind::Mpt,
        commitment: B256::ZERO,
        oldest: 0,
        wal_sequence: number,
        positions: vec![number, 7],
        dir: making.clone(),
    };
    folder::publish(disk, &making, snapshot)
}

/// Takes a second snapshot and deletes the first; returns how far that came: 0, 1 the second is
/// there, 2 both is done.
fn replace_snapshot(disk: &dyn Disk, first: &Snapshot) -> u64 {
    if take(disk, 2).is_err() {
        return 0;
    }
    1 + u64::from(folder::remove(disk, first).is_ok())
}

/// Failures over all steps and seeds; `ignored` syncs do nothing.
fn snapshots(ignored: Option<Call>) -> u64 {
    let (mut failures, mut at) = (0, 0);
    loop {
        let mut died = false;
        for seed in 0..SEEDS {
            let disk = SimDisk::new();
            disk.create_dir_all(Path::new(STATE)).unwrap();
            let first = take(&disk, 1).unwrap();
            if let Some(call) = ignored {
                disk.ignore(call);
            }
            disk.die_at(disk.changes() + at);
            let done = replace_snapshot(&disk, &first);
            died |= disk.is_dead();
            let disk = if seed == 0 { disk.kill() } else { disk.power_cut(seed) };
            let opened = remove_unfinished(&disk, Path::new(SNAPSHOTS))
                .and_then(|()| list(&disk, Path::new(SNAPSHOTS)));
            let found = opened.unwrap_or_default();
            let numbers: Vec<_> = found.iter().map(|snapshot| snapshot.wal_sequence).collect();
            let right = match done {
                0 => numbers == [1] || numbers == [1, 2],
                1 => numbers == [1, 2] || numbers == [2],
                _ => numbers == [2],
            };
            let whole =
                found.iter().all(|snapshot| is_whole(&disk, &snapshot.database(), snapshot.wal_sequence));
            failures += u64::from(!right || !whole);
        }
        if !died {
            return failures;
        }
        at += 1;
    }
}

#[test]
fn a_snapshot_is_complete_or_absent_and_replaces_the_older() {
    assert_eq!(snapshots(None), 0);
}

#[test]
fn syncs_of_snapshots_that_do_nothing_are_found_out() {
    assert!(snapshots(Some(Call::Sync)) > 0);
    assert!(snapshots(Some(Call::SyncDir)) > 0);
}

#[test]
fn a_deletion_that_failed_is_finished_by_the_next_call() {
    let calls = [
        (Call::Rename, 0),
        (Call::SyncDir, 0),
        (Call::SyncDir, 1),
        (Call::Remove, 0),
        (Call::Remove, 2),
        (Call::RemoveDir, 0),
        (Call::RemoveDir, 1),
    ];
    for (call, good) in calls {
        let disk = SimDisk::new();
        disk.create_dir_all(Path::new(STATE)).unwrap();
        let snapshot = take(&disk, 1).unwrap();
        disk.fail(call, good, Fault::Io);
        folder::remove(&disk, &snapshot).unwrap_err();
        folder::remove(&disk, &snapshot).unwrap();
        let left = disk.list(Path::new(SNAPSHOTS)).unwrap();
        assert!(left.is_empty(), "{call:?} {good}: {left:?}");
    }
}

/// Replaces database 1 by database 2; returns whether the child reported that as done.
fn replace_database(options: &Options) -> bool {
    let disk = &*options.disk;
    let new = options.dir.join(NEW_DATABASE);
    let place = |name: &str| StorePath::State(name.to_owned());
    let replaced = vec![Replaced {
        new: place(NEW_DATABASE),
        at: place(ROCKS_DIR),
        aside: StorePath::Beside("state.bad-1".to_owned()),
    }];
    let moves = Moves { replaced, ..Moves::default() };
    let made = database(disk, &new, 2).and_then(|()| sync_tree(disk, &new));
    let done = made.and_then(|()| Intent::Move(moves).write(options)).and_then(|()| finish_files(options));
    done.is_ok()
}

fn replacements(ignored: Option<Call>) -> u64 {
    let (mut failures, mut at) = (0, 0);
    loop {
        let mut died = false;
        for seed in 0..SEEDS {
            let disk = SimDisk::new();
            let options = |disk: &SimDisk| Options {
                disk: Arc::new(disk.clone()),
                ..Options::new(STATE, "/home/data/wal", CommitmentKind::Mpt, Fsync::None)
            };
            for dir in [STATE, "/home/data/wal"] {
                disk.create_dir_all(Path::new(dir)).unwrap();
            }
            let state = Path::new(STATE);
            database(&disk, &state.join(ROCKS_DIR), 1).unwrap();
            sync_tree(&disk, state).unwrap();
            if let Some(call) = ignored {
                disk.ignore(call);
            }
            disk.die_at(disk.changes() + at);
            let done = replace_database(&options(&disk));
            died |= disk.is_dead();
            let mut disk = if seed == 0 { disk.kill() } else { disk.power_cut(seed) };
            // The opening dies as well, once, and is cut as well.
            disk.die_at(disk.changes() + seed % 7);
            if finish_files(&options(&disk)).is_err() {
                disk = disk.power_cut(seed + 1);
            } else {
                disk = disk.kill();
            }
            let finished = finish_files(&options(&disk)).is_ok();
            let whole = |dir: &Path, of| is_whole(&disk, dir, of);
            let (db, bad) = (state.join(ROCKS_DIR), Path::new("/home/data/state.bad-1"));
            let old = whole(&db, 1) && !done;
            let new = whole(&db, 2) && whole(bad, 1);
            failures += u64::from(!finished || !(old || new));
        }
        if !died {
            return failures;
        }
        at += 1;
    }
}

#[test]
fn a_replaced_database_is_the_old_one_or_the_new_one() {
    assert_eq!(replacements(None), 0);
}

#[test]
fn syncs_of_a_replacement_that_do_nothing_are_found_out() {
    assert!(replacements(Some(Call::Sync)) > 0);
    assert!(replacements(Some(Call::SyncDir)) > 0);
}
