//! Flipped bits in every kind of file, files cut short, garbage, and files and volumes that are
//! missing.

use crate::model::{Model, show};
use crate::workload::Run;
use crate::{amount, row};
use hearth_disk::sim::{Rng, SimDisk};
use hearth_disk::{Disk, OpenMode};
use hearth_littable::{Direction, LittError, Table};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Flips in the quick, the everyday and the full test.
const FLIPS: [u64; 3] = [400, 2_000, 8_000];

/// What flips did.
#[derive(Debug, Default)]
pub struct Report {
    pub tried: u64,
    /// Flips after which wrong bytes were an answer.
    pub served: u64,
    /// Flips after which records were missing without a word.
    pub silent: u64,
    /// Flips that an error named with file and offset.
    pub named: u64,
    /// Flips that cost nothing: there is a second copy, or it is made again.
    pub healed: u64,
    /// Flips after which a record in another place could not be read.
    pub spread: u64,
    /// Kinds of files that were tried.
    pub kinds: BTreeMap<String, u64>,
    pub first: Option<String>,
}

/// A store with sealed segments, an open one, merged indexes and a floor, closed in good order.
pub fn build(seed: u64) -> Run {
    build_noting(seed, 0).0
}

/// The same, with the position behind so many groups.
pub fn build_noting(seed: u64, noted: usize) -> (Run, u64) {
    let mut position = 0;
    let mut run = Run::new(seed);
    run.options.segment_bytes = 6_000;
    run.options.shards = 1;
    run.model = Model::new(true);
    let (store, table) = run.open().unwrap();
    for n in 0..120 {
        let group = run.group();
        let secondary: Vec<_> =
            group.secondary.iter().map(|(key, range)| (key.as_slice(), range.clone())).collect();
        let put = hearth_littable::Group {
            key: &group.key,
            value: &group.value,
            secondary: &secondary,
            number: group.number,
        };
        table.put_group(&put).unwrap();
        run.model.log.push(group);
        if run.model.log.len() == noted {
            position = table.position().unwrap();
        }
        if n == 80 {
            table.finish_upkeep().unwrap();
        }
    }
    table.flush().unwrap();
    drop((table, store));
    (run, position)
}

/// The kind of a file: its ending, or its name without one.
fn kind(path: &Path) -> String {
    let name = path.extension().or(path.file_name()).unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Reads everything; says what was wrong, what was missing in silence, and the errors.
struct Reading {
    served: Vec<String>,
    silent: Vec<String>,
    errors: Vec<LittError>,
    good: usize,
}

fn read_all(table: &Arc<Table>, model: &Model) -> Reading {
    let mut reading = Reading { served: Vec::new(), silent: Vec::new(), errors: Vec::new(), good: 0 };
    let keys = model.log.iter().flat_map(|group| {
        let secondary = group
            .secondary
            .iter()
            .map(|(key, range)| (key, &group.value[range.start as usize..range.end as usize]));
        std::iter::once((&group.key, &group.value[..])).chain(secondary)
    });
    for (key, bytes) in keys {
        match table.get(key) {
            Ok(Some(value)) if *value == *bytes => reading.good += 1,
            Ok(Some(_)) => reading.served.push(show(key)),
            Ok(None) => reading.silent.push(show(key)),
            Err(error) => reading.errors.push(error),
        }
    }
    match table.iter(Direction::Forward) {
        Ok(records) => {
            for record in records {
                match record {
                    Ok(record) => {
                        let written = model.log.iter().find(|group| group.key == *record.key);
                        if written.is_none_or(|group| *group.value != *record.value) {
                            reading.served.push(format!("iterator: {}", show(&record.key)));
                        }
                    }
                    Err(error) => reading.errors.push(error),
                }
            }
        }
        Err(error) => reading.errors.push(error),
    }
    if let Ok(report) = table.scrub() {
        reading.errors.extend(report.damage);
    }
    reading
}

/// Flips single bits in files of a store, evenly over the kinds of files.
pub fn flips(count: u64, seed: u64) -> Report {
    let run = build(seed);
    let files = run.disk.files(Path::new("/mnt")).unwrap();
    let mut by_kind: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for file in files {
        if run.disk.metadata(&file).unwrap().len > 0 {
            by_kind.entry(kind(&file)).or_default().push(file);
        }
    }
    let mut report = Report::default();
    let mut rng = Rng::new(seed);
    let total: usize = run.model.log.iter().map(|group| 1 + group.secondary.len()).sum();
    for n in 0..count {
        let (kind, paths) = by_kind.iter().nth(n as usize % by_kind.len()).unwrap();
        let path = &paths[rng.below(paths.len() as u64) as usize];
        let offset = rng.below(run.disk.metadata(path).unwrap().len);
        let disk = run.disk.snapshot();
        disk.flip(path, offset, 1 << rng.below(8)).unwrap();
        report.tried += 1;
        *report.kinds.entry(kind.clone()).or_default() += 1;
        let here = format!("flip at byte {offset} of {}", path.display());
        let damaged = shell(&run, disk);
        let reading = match damaged.open() {
            Ok((_store, table)) => read_all(&table, &run.model),
            Err(error) => Reading { served: vec![], silent: vec![], errors: vec![error], good: 0 },
        };
        let named = reading.errors.iter().any(|error| names(error, path));
        let note = |what: &str, first: &mut Option<String>| {
            first.get_or_insert_with(|| format!("{here}: {what}"));
        };
        if !reading.served.is_empty() {
            report.served += 1;
            note(&format!("served {:?}", reading.served), &mut report.first);
        } else if named {
            report.named += 1;
            if reading.good == 0 && kind == "seg" {
                report.spread += 1;
                note("nothing else can be read", &mut report.first);
            }
        } else if reading.errors.is_empty() && reading.good == total {
            report.healed += 1;
        } else {
            report.silent += 1;
            let Reading { silent, errors, .. } = reading;
            note(&format!("missing {silent:?}, errors {errors:?}"), &mut report.first);
        }
    }
    report
}

/// A run with the settings of another on another disk.
fn shell(run: &Run, disk: SimDisk) -> Run {
    let mut shell = Run::new(0);
    shell.roots.clone_from(&run.roots);
    shell.options = run.options.clone();
    shell.disk = disk;
    shell
}

fn names(error: &LittError, file: &Path) -> bool {
    match error {
        LittError::Corrupt { path, .. } | LittError::NewerFormat { path, .. } => path == file,
        _ => false,
    }
}

#[test]
fn every_flip_is_found_and_none_is_served() {
    let count = amount("HEARTH_FAULT_FLIPS", FLIPS);
    let mut all = Report::default();
    let stores = count.div_ceil(400);
    for seed in 0..stores {
        let report = flips(400, seed);
        all.tried += report.tried;
        all.served += report.served;
        all.silent += report.silent;
        all.named += report.named;
        all.healed += report.healed;
        all.spread += report.spread;
        report.kinds.into_iter().for_each(|(kind, n)| *all.kinds.entry(kind).or_default() += n);
        all.first = all.first.or(report.first);
    }
    row("flip", all.tried, all.silent + all.spread, all.served);
    println!("faults: flips by file {:?}, named {}, healed {}", all.kinds, all.named, all.healed);
    assert_eq!((all.served, all.silent, all.spread), (0, 0, 0), "{:?}", all.first);
    assert!(all.kinds.len() >= 4, "segments, indexes, manifest, state: {:?}", all.kinds);
    assert!(all.named > all.tried / 8);
}

/// What opening and reading a changed store may do: anything but panic or serve what was never
/// written.
fn survives(run: &Run, disk: SimDisk, what: &str) {
    let damaged = shell(run, disk);
    let outcome = catch_unwind(AssertUnwindSafe(|| match damaged.open() {
        Ok((_store, table)) => read_all(&table, &run.model).served,
        Err(_) => Vec::new(),
    }));
    match outcome {
        Ok(served) => assert!(served.is_empty(), "{what}: served {served:?}"),
        Err(_) => panic!("{what}: panicked"),
    }
}

#[test]
fn files_of_any_bytes_are_refused_without_a_panic() {
    let mut rng = Rng::new(7);
    for seed in 0..4 {
        let run = build(seed);
        for path in run.disk.files(Path::new("/mnt")).unwrap() {
            let len = run.disk.metadata(&path).unwrap().len;
            for n in 0..24 {
                let disk = run.disk.snapshot();
                let file = disk.open(&path, OpenMode::ReadWrite).unwrap();
                let at = rng.below(len.max(1));
                match n % 4 {
                    0 => file.set_len(at).unwrap(),
                    1 => file.set_len(len + 1 + rng.below(5_000)).unwrap(),
                    // Lengths and counts that a decoder might believe.
                    2 => file.write_all_at(&[0xff; 8], at).unwrap(),
                    _ => {
                        let mut bytes = vec![0; 1 + rng.below(600) as usize];
                        rng.fill(&mut bytes);
                        file.write_all_at(&bytes, at).unwrap();
                    }
                }
                survives(&run, disk, &format!("change {n} at byte {at} of {}", path.display()));
            }
        }
    }
}

#[test]
fn a_missing_file_is_an_error_or_costs_nothing() {
    let (mut tried, mut lost) = (0, 0);
    let mut kinds = BTreeSet::new();
    for seed in 0..4 {
        let run = build(seed);
        for path in run.disk.files(Path::new("/mnt")).unwrap() {
            tried += 1;
            kinds.insert(kind(&path));
            let disk = run.disk.snapshot();
            disk.remove_file(&path).unwrap();
            let damaged = shell(&run, disk);
            match damaged.open() {
                Err(_) => {}
                Ok((_store, table)) => {
                    let reading = read_all(&table, &run.model);
                    assert_eq!(reading.served, Vec::<String>::new(), "{}", path.display());
                    if !reading.silent.is_empty() && reading.errors.is_empty() {
                        lost += 1;
                        println!(
                            "{} is gone and {} keys with it, in silence",
                            path.display(),
                            reading.silent.len()
                        );
                    }
                }
            }
        }
    }
    row("missing file", tried, lost, 0);
    assert_eq!(lost, 0);
    assert!(kinds.contains("seg") && kinds.contains("idx"), "{kinds:?}");
}

#[test]
fn a_missing_volume_is_an_error_and_not_an_empty_store() {
    let run = (0..).map(build).find(|run| run.roots.len() == 2).unwrap();
    let mut tried = 0;
    for missing in &run.roots {
        // A folder without what was mounted on it.
        let disk = run.disk.snapshot();
        for file in disk.files(missing).unwrap() {
            disk.remove_file(&file).unwrap();
        }
        let tables = disk.list(missing).unwrap();
        for entry in tables.into_iter().filter(|entry| entry.kind == hearth_disk::EntryKind::Dir) {
            remove_tree(&disk, &missing.join(entry.name));
        }
        let mut damaged = shell(&run, disk.clone());
        let error = damaged.open().map(drop).unwrap_err();
        assert!(matches!(&error, LittError::RootMissing { path, .. } if path == missing), "{error}");
        // A setting that forgets it.
        damaged.disk = run.disk.snapshot();
        damaged.roots.retain(|root| root != missing);
        let error = damaged.open().map(drop).unwrap_err();
        assert!(matches!(&error, LittError::RootMissing { path, .. } if path == missing), "{error}");
        tried += 2;
    }
    row("missing volume", tried, 0, 0);
}

fn remove_tree(disk: &SimDisk, dir: &Path) {
    for entry in disk.list(dir).unwrap() {
        let path = dir.join(&entry.name);
        match entry.kind {
            hearth_disk::EntryKind::Dir => remove_tree(disk, &path),
            _ => disk.remove_file(&path).unwrap(),
        }
    }
    disk.remove_dir(dir).unwrap();
}

/// Power cuts after each step of putting a damaged group again.
const CHANCES: u64 = 4;

/// Puts a damaged group again and dies at each step: the group is damaged as before or whole, and
/// nothing else changes.
#[test]
fn a_damaged_group_that_is_put_again_is_whole_after_a_cut() {
    let run = build(7);
    let group = &run.model.log[0];
    let secondary: Vec<_> =
        group.secondary.iter().map(|(key, range)| (key.as_slice(), range.clone())).collect();
    let put = hearth_littable::Group {
        key: &group.key,
        value: &group.value,
        secondary: &secondary,
        number: group.number,
    };
    // A byte of the group's value: the first flip after which it does not read.
    let is_hit = |disk: SimDisk| {
        let (_store, table) = shell(&run, disk).open().unwrap();
        matches!(table.get(&group.key), Err(LittError::Corrupt { .. }))
    };
    let flipped = run.disk.files(Path::new("/mnt")).unwrap().into_iter().find_map(|path| {
        let len = run.disk.metadata(&path).unwrap().len.min(4_000);
        (kind(&path) == "seg").then_some(())?;
        (72..len).find_map(|offset| {
            let disk = run.disk.snapshot();
            disk.flip(&path, offset, 1).unwrap();
            is_hit(disk.snapshot()).then_some(disk)
        })
    });
    let before = flipped.expect("a byte of the first group");
    let others = |table: &Arc<Table>| {
        run.model.log[1..]
            .iter()
            .all(|group| table.get(&group.key).unwrap().is_some_and(|is| *is == *group.value))
    };
    let (mut healed, mut damaged) = (0, 0);
    for step in 0.. {
        let mut done = false;
        for chance in 0..=CHANCES {
            let disk = before.snapshot();
            let (store, table) = shell(&run, disk.clone()).open().unwrap();
            disk.die_at(disk.changes() + step);
            let again = table.put_group(&put).and_then(|()| table.flush());
            assert!(again.is_ok() || disk.is_dead(), "{again:?}");
            done = again.is_ok();
            let next = if chance == CHANCES { disk.kill() } else { disk.power_cut(step * 100 + chance) };
            drop((table, store));
            let (_store, table) = shell(&run, next).open().unwrap();
            match table.get(&group.key) {
                Ok(Some(value)) => {
                    assert!(*value == *group.value, "step {step}");
                    let report = table.scrub().unwrap();
                    assert_eq!((report.damaged, report.replaced), (0, 1), "step {step}: {report:?}");
                    healed += 1;
                }
                Err(LittError::Corrupt { .. }) => {
                    assert!(!done, "step {step}: what was acknowledged is gone");
                    damaged += 1;
                }
                other => panic!("step {step}: {:?}", other.map(|value| value.is_some())),
            }
            assert!(others(&table), "step {step}: another group changed");
        }
        if done {
            break;
        }
    }
    row("group put again", healed + damaged, 0, 0);
    assert!(healed > 0 && damaged > 0, "{healed} {damaged}");
}
