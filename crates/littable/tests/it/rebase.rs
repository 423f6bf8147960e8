//! Taking roots away: what moves, what is refused, and a power cut at every step of it.

use hearth_disk::{Disk, sim::SimDisk};
use hearth_littable::{Compression, Group, LittError, Littable, StoreOptions, TableOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const RECORDS: u32 = 60;
const TABLES: [&str; 2] = ["blocks", "receipts"];

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

fn options(disk: &SimDisk, roots: &[&str]) -> StoreOptions {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    StoreOptions { roots: paths(roots), disk, background_threads: 0, ..StoreOptions::new("") }
}

fn table(name: &str) -> TableOptions {
    let compression = if name == "blocks" { Compression::ZstdDict(1) } else { Compression::None };
    TableOptions { segment_keys: 8, compression, ..TableOptions::new(name) }
}

fn value(n: u32) -> Vec<u8> {
    format!("value {n} ").repeat(40).into_bytes()
}

/// A store over some roots, all of it durable.
fn filled(roots: &[&str]) -> SimDisk {
    let disk = SimDisk::new();
    let store = Littable::open(options(&disk, roots)).unwrap();
    for name in TABLES {
        let table = store.table(table(name)).unwrap();
        for n in 0..RECORDS {
            let (key, value) = (n.to_be_bytes(), value(n));
            table.put_group(&Group { number: Some(n.into()), ..Group::new(&key, &value) }).unwrap();
        }
        table.flush().unwrap();
    }
    drop(store);
    disk
}

fn check(disk: &SimDisk, roots: &[&str]) {
    let store = Littable::open(options(disk, roots)).unwrap();
    assert_eq!(store.table_names().unwrap(), TABLES);
    for name in TABLES {
        let table = store.table(table(name)).unwrap();
        for n in 0..RECORDS {
            assert_eq!(table.get(&n.to_be_bytes()).unwrap().unwrap(), value(n), "{name} {n}");
        }
        let report = table.scrub().unwrap();
        // A check adds one.
        assert!(report.records >= RECORDS.into());
        assert_eq!(report.damaged, 0);
        table.put_group(&Group::new(b"one more", b"v")).unwrap();
        table.flush().unwrap();
    }
}

#[test]
fn everything_moves_and_the_roots_are_forgotten() {
    let disk = filled(&["/a", "/b"]);
    let told = &mut Vec::new();
    let report =
        Littable::rebase(options(&disk, &["/a", "/b"]), &paths(&["/b", "/c"]), None, &mut |report| {
            told.push(report.bytes);
            true
        })
        .unwrap();
    assert_eq!((report.bytes, told.last(), told.is_sorted()), (report.total, Some(&report.total), true));
    assert!(report.files > 8, "{report:?}");
    assert_eq!(disk.files(Path::new("/a")).unwrap(), Vec::<PathBuf>::new());
    check(&disk, &["/b", "/c"]);
    let missing = Littable::open(options(&disk, &["/b"])).unwrap_err();
    assert!(matches!(&missing, LittError::RootMissing { path, .. } if path == Path::new("/c")), "{missing}");
    // All into one, which is new.
    Littable::rebase(options(&disk, &["/b", "/c"]), &paths(&["/d"]), None, &mut |_| true).unwrap();
    check(&disk, &["/d"]);
    let again = Littable::rebase(options(&disk, &["/d"]), &paths(&["/d"]), None, &mut |_| true).unwrap();
    assert_eq!(again.files, 0);
}

#[test]
fn one_table_moves_and_the_roots_stay() {
    let disk = filled(&["/a", "/b"]);
    Littable::rebase(options(&disk, &["/a", "/b"]), &paths(&["/b"]), Some("receipts"), &mut |_| true)
        .unwrap();
    assert!(!disk.exists(Path::new("/a/receipts")).unwrap());
    assert!(disk.exists(Path::new("/a/blocks")).unwrap());
    let none = Littable::rebase(options(&disk, &["/a", "/b"]), &paths(&["/b"]), Some("x"), &mut |_| true);
    assert!(matches!(none, Err(LittError::NoSuchTable(name)) if name == "x"));
    let none = Littable::rebase(options(&disk, &["/a", "/b"]), &[], None, &mut |_| true);
    assert!(matches!(none, Err(LittError::BadSetting { setting: "to", .. })));
    check(&disk, &["/a", "/b"]);
}

#[test]
fn what_was_stopped_goes_on() {
    let disk = filled(&["/a", "/b"]);
    let mut files = 3;
    let stopped = Littable::rebase(options(&disk, &["/a", "/b"]), &paths(&["/b"]), None, &mut |_| {
        files -= 1;
        files > 0
    });
    let stopped = stopped.unwrap();
    assert!(stopped.bytes < stopped.total);
    check(&disk, &["/a", "/b"]);
    Littable::rebase(options(&disk, &["/a", "/b"]), &paths(&["/b"]), None, &mut |_| true).unwrap();
    assert_eq!(disk.files(Path::new("/a")).unwrap(), Vec::<PathBuf>::new());
}

#[test]
fn a_power_cut_at_any_step_loses_nothing_and_can_resume() {
    let base = filled(&["/a", "/b", "/c"]);
    let (from, to) = (["/a", "/b", "/c"], paths(&["/b", "/d"]));
    let mut cuts = 0;
    for n in 1.. {
        let disk = base.snapshot();
        disk.die_at(disk.changes() + n);
        let done = Littable::rebase(options(&disk, &from), &to, None, &mut |_| true);
        if !disk.is_dead() {
            done.unwrap();
            break;
        }
        let cut = disk.power_cut(n);
        Littable::rebase(options(&cut, &from), &to, None, &mut |_| true)
            .unwrap_or_else(|error| panic!("cut {n}: {error}"));
        check(&cut, &["/b", "/d"]);
        cuts += 1;
    }
    assert!(cuts > 50, "{cuts}");
}
