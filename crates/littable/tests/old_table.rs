//! Tables as callers see them: groups, conflicts, reopening, cuts, damage, threads.

#![allow(clippy::unwrap_used)]

use hearth_littable::old::{LittError, Littable, Table, TableSpec};
use hearth_metrics::{LittMetrics, Registry};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

const SMALL: TableSpec = TableSpec { name: "t", segment_bytes: 400 };
const LARGE: TableSpec = TableSpec::new("t");

fn open(dir: &Path, spec: TableSpec) -> Arc<Table> {
    try_open(dir, spec).unwrap()
}

fn try_open(dir: &Path, spec: TableSpec) -> Result<Arc<Table>, LittError> {
    Ok(Littable::open(dir, &[spec], &LittMetrics::new(&Registry::new()))?.table("t").unwrap())
}

/// Value of `n`: 37 to 136 bytes that differ from those of every other `n`.
fn value(n: u32) -> Vec<u8> {
    let len = 37 + n as usize * 13 % 100;
    (0..len).map(|i| (n as usize * 31 + i * 7) as u8).collect()
}

fn fill(table: &Table, numbers: std::ops::Range<u32>) {
    for n in numbers {
        table.put(&n.to_be_bytes(), &value(n)).unwrap();
    }
}

fn segment(dir: &Path, index: u32) -> PathBuf {
    dir.join(format!("t/{index:010}.seg"))
}

fn flip(path: &Path, at: u64) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
}

#[test]
fn groups_are_found_by_every_key() {
    let dir = TempDir::new().unwrap();
    let table = open(dir.path(), LARGE);
    table
        .put_group(b"whole", b"one two three", &[(b"one", 0..3), (b"three", 8..13), (b"none", 4..4)])
        .unwrap();
    for table in [table, open(dir.path(), LARGE)] {
        assert_eq!(table.get(b"whole").unwrap().unwrap(), b"one two three");
        assert_eq!(table.get(b"one").unwrap().unwrap(), b"one");
        assert_eq!(table.get(b"three").unwrap().unwrap(), b"three");
        assert_eq!(table.get(b"none").unwrap().unwrap(), b"");
        assert_eq!(table.get(b"two").unwrap(), None);
        assert!(table.exists(b"one") && !table.exists(b"two"));
        assert_eq!(table.key_count(), 4);
    }
}

#[test]
fn equal_bytes_are_fine_and_other_bytes_conflict() {
    let dir = TempDir::new().unwrap();
    let table = open(dir.path(), LARGE);
    table.put_group(b"a", b"12345", &[(b"b", 1..3)]).unwrap();
    let position = table.position();
    table.put_group(b"a", b"12345", &[(b"b", 1..3)]).unwrap();
    table.put(b"b", b"23").unwrap();
    assert_eq!(table.position(), position, "nothing is written again");
    for group in [
        table.put(b"a", b"12346"),
        table.put(b"new", b"x").and_then(|()| table.put_group(b"new2", b"99", &[(b"b", 0..2)])),
    ] {
        assert!(matches!(group, Err(LittError::Conflict { table: "t", .. })), "{group:?}");
    }
    assert!(!table.exists(b"new2"), "a group with a conflict leaves nothing");
    assert_eq!(table.get(b"b").unwrap().unwrap(), b"23");
}

#[test]
fn limits_are_errors() {
    let dir = TempDir::new().unwrap();
    let table = open(dir.path(), LARGE);
    let long = vec![0; hearth_littable::old::format::MAX_KEY_BYTES + 1];
    assert!(matches!(table.put(&long, b""), Err(LittError::TooLarge { size: 1025, limit: 1024, .. })));
    table.put(&long[1..], b"").unwrap();
    let range = table.put_group(b"k", b"abc", &[(b"s", 2..4)]);
    assert!(matches!(range, Err(LittError::BadRange { start: 2, end: 4, len: 3, .. })));
    let keys: Vec<[u8; 4]> =
        (0..hearth_littable::old::format::MAX_GROUP_KEYS as u32).map(u32::to_be_bytes).collect();
    let many: Vec<(&[u8], _)> = keys.iter().map(|k| (&k[..], 0..0)).collect();
    assert!(matches!(table.put_group(b"k", b"", &many), Err(LittError::TooLarge { limit: 65536, .. })));
    table.put_group(b"k", b"", &many[1..]).unwrap();
    assert_eq!(open(dir.path(), LARGE).key_count(), 65537);
    let name = Littable::open(dir.path(), &[TableSpec::new("../x")], &LittMetrics::new(&Registry::new()));
    assert!(matches!(name, Err(LittError::BadName("../x"))));
}

#[test]
fn reopened_tables_go_on_over_segments() {
    let dir = TempDir::new().unwrap();
    for round in 0..4 {
        let table = open(dir.path(), SMALL);
        fill(&table, round * 10..round * 10 + 10);
        table.flush().unwrap();
        for n in 0..round * 10 + 10 {
            assert_eq!(table.get(&n.to_be_bytes()).unwrap().unwrap(), value(n));
        }
    }
    assert!(segment(dir.path(), 5).exists(), "segments are small");
    let table = open(dir.path(), SMALL);
    table.put(b"larger than a segment", &[7; 5000]).unwrap();
    table.put(b"after", b"x").unwrap();
    let table = open(dir.path(), SMALL);
    assert_eq!(table.get(b"larger than a segment").unwrap().unwrap(), [7; 5000]);
    assert_eq!(table.get(b"after").unwrap().unwrap(), b"x");
}

/// A file torn at any byte of its last record opens without that record and takes it again.
#[test]
fn torn_tails_are_cut_at_open() {
    let dir = TempDir::new().unwrap();
    let table = open(dir.path(), LARGE);
    fill(&table, 0..3);
    let before = table.position();
    table.put_group(b"last", b"value of the last", &[(b"part", 0..5)]).unwrap();
    let whole = fs::read(segment(dir.path(), 0)).unwrap();
    drop(table);
    for len in before..whole.len() as u64 {
        for junk in [&b""[..], &[0; 50]] {
            fs::write(segment(dir.path(), 0), [&whole[..len as usize], junk].concat()).unwrap();
            let table = open(dir.path(), LARGE);
            let complete = junk.len() as u64 + len >= whole.len() as u64;
            if complete {
                // Zeros where the end of the value should be: the length is right, the checksum is not.
                assert!(!table.verify(table.position()) || table.get(b"last").unwrap().is_none());
                table.cut(before).unwrap();
            }
            assert_eq!(table.position(), before, "torn at {len}");
            assert!(!table.exists(b"last") && !table.exists(b"part"));
            table.put_group(b"last", b"value of the last", &[(b"part", 0..5)]).unwrap();
            assert_eq!(table.get(b"part").unwrap().unwrap(), b"value");
            assert_eq!(table.get(&1u32.to_be_bytes()).unwrap().unwrap(), value(1));
            assert_eq!(table.position(), whole.len() as u64);
        }
    }
}

/// The process may die while it makes a segment: a file shorter than the header is no damage.
#[test]
fn torn_new_segments_are_dropped() {
    for len in [0, 1, 37] {
        let dir = TempDir::new().unwrap();
        let table = open(dir.path(), SMALL);
        fill(&table, 0..10);
        let position = table.position();
        let next = (0..).find(|i| !segment(dir.path(), *i).exists()).unwrap();
        fs::write(segment(dir.path(), next), vec![0; len]).unwrap();
        let table = open(dir.path(), SMALL);
        assert_eq!(table.position(), position);
        fill(&table, 10..20);
        let table = open(dir.path(), SMALL);
        assert_eq!(table.get(&19u32.to_be_bytes()).unwrap().unwrap(), value(19));
    }
}

#[test]
fn cut_drops_what_lies_behind() {
    for keep in 0..30 {
        let dir = TempDir::new().unwrap();
        let table = open(dir.path(), SMALL);
        fill(&table, 0..keep);
        let position = table.position();
        assert!(table.verify(position));
        fill(&table, keep..30);
        let end = table.position();
        let wrong = table.cut(position + 1);
        assert!(matches!(wrong, Err(LittError::NoSuchPosition { .. })), "{wrong:?}");
        assert_eq!(table.position(), end, "a refused cut drops nothing");
        table.cut(position).unwrap();
        for table in [table, open(dir.path(), SMALL)] {
            assert_eq!(table.position(), position);
            assert!(!table.verify(end) && table.verify(position));
            for n in 0..30u32 {
                let there = table.get(&n.to_be_bytes()).unwrap();
                assert_eq!(there, (n < keep).then(|| value(n)), "{n} of {keep}");
            }
        }
        let table = open(dir.path(), SMALL);
        fill(&table, keep..30);
        assert_eq!(open(dir.path(), SMALL).get(&29u32.to_be_bytes()).unwrap().unwrap(), value(29));
    }
}

#[test]
fn positions_are_ends_of_records_and_nothing_else() {
    let dir = TempDir::new().unwrap();
    let table = open(dir.path(), SMALL);
    let mut ends = vec![0];
    for n in 0..30u32 {
        fill(&table, n..n + 1);
        ends.push(table.position());
    }
    assert!(ends.is_sorted());
    for position in 0..table.position() + 100 {
        assert_eq!(table.verify(position), ends.contains(&position), "{position}");
    }
}

/// Whatever bit flips in a segment, each key is answered with its own bytes or with an error, also after reopening.
#[test]
fn flipped_bits_never_give_wrong_bytes() {
    let dir = TempDir::new().unwrap();
    let table = open(dir.path(), SMALL);
    fill(&table, 0..6);
    let files: Vec<_> = (0..).map(|i| segment(dir.path(), i)).take_while(|p| p.exists()).collect();
    assert!(files.len() > 1);
    for path in &files {
        for at in 0..fs::metadata(path).unwrap().len() {
            flip(path, at);
            let mut corrupt = 0;
            for n in 0..6u32 {
                match table.get(&n.to_be_bytes()) {
                    Ok(there) => assert_eq!(there.unwrap(), value(n)),
                    Err(LittError::Corrupt { .. }) => corrupt += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            assert!(corrupt <= 1);
            let copy = TempDir::new().unwrap();
            fs::create_dir(copy.path().join("t")).unwrap();
            files.iter().for_each(|f| {
                fs::copy(f, copy.path().join("t").join(f.file_name().unwrap())).unwrap();
            });
            reopened_is_right(copy.path(), at);
            flip(path, at);
        }
    }
}

fn reopened_is_right(dir: &Path, at: u64) {
    let table = match try_open(dir, SMALL) {
        Ok(table) => table,
        Err(error) => return assert!(matches!(error, LittError::Corrupt { .. }) && at < 38, "{at}: {error}"),
    };
    let mut good = 0;
    for n in 0..6u32 {
        match table.get(&n.to_be_bytes()) {
            Ok(Some(there)) => {
                assert_eq!(there, value(n));
                good += 1;
            }
            // A damaged head at the very end cannot be told from a torn one, and is cut.
            Ok(None) => assert_eq!(n, 5),
            Err(LittError::Corrupt { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(good >= 5, "one bit at {at} costs at most one record");
    // What was lost can be written again.
    fill(&table, 0..6);
    for n in 0..6u32 {
        assert_eq!(table.get(&n.to_be_bytes()).unwrap().unwrap(), value(n));
    }
    let table = open(dir, SMALL);
    for n in 0..6u32 {
        assert_eq!(table.get(&n.to_be_bytes()).unwrap().unwrap(), value(n));
    }
}

/// A value that holds the bytes of another table's record is never taken for one.
#[test]
fn records_inside_values_are_not_found() {
    let dir = TempDir::new().unwrap();
    let forged = {
        let other = TempDir::new().unwrap();
        open(other.path(), LARGE).put(b"victim", b"forged").unwrap();
        fs::read(segment(other.path(), 0)).unwrap()[38..].to_vec()
    };
    let table = open(dir.path(), LARGE);
    table.put(b"first", &forged.repeat(3)).unwrap();
    table.put(b"second", b"x").unwrap();
    flip(&segment(dir.path(), 0), 40);
    let table = open(dir.path(), LARGE);
    assert!(matches!(table.get(b"victim"), Err(LittError::Corrupt { .. })));
    assert_eq!(table.get(b"second").unwrap().unwrap(), b"x");
    assert!(!table.exists(b"victim"));
}

#[test]
fn newer_formats_and_missing_segments_are_refused() {
    let dir = TempDir::new().unwrap();
    fill(&open(dir.path(), SMALL), 0..20);
    let path = segment(dir.path(), 1);
    let bytes = fs::read(&path).unwrap();
    let mut newer = bytes.clone();
    newer[5] = 9;
    let crc = crc32fast::hash(&newer[..34]).to_be_bytes();
    newer[34..38].copy_from_slice(&crc);
    fs::write(&path, newer).unwrap();
    let error = try_open(dir.path(), SMALL).unwrap_err();
    assert!(matches!(error, LittError::NewerFormat { found: 9, known: 1, .. }), "{error}");
    fs::remove_file(&path).unwrap();
    assert!(matches!(try_open(dir.path(), SMALL), Err(LittError::Corrupt { segment: 2, .. })));
}

/// A failed write leaves the table as it was; reads go on.
#[test]
fn readers_and_a_writer_do_not_wait_for_each_other() {
    const COUNT: u32 = 3000;
    let dir = TempDir::new().unwrap();
    let table = open(dir.path(), TableSpec { name: "t", segment_bytes: 20_000 });
    std::thread::scope(|scope| {
        for half in 0..2 {
            let table = &table;
            scope.spawn(move || (0..COUNT).filter(|n| n % 2 == half).for_each(|n| fill(table, n..n + 1)));
            scope.spawn(move || {
                let mut seen = 0;
                while seen < COUNT {
                    match table.get(&seen.to_be_bytes()).unwrap() {
                        Some(there) => {
                            assert_eq!(there, value(seen));
                            seen += 1;
                        }
                        None => std::thread::yield_now(),
                    }
                }
            });
        }
        scope.spawn(|| (0..20).for_each(|_| table.flush().unwrap()));
    });
    let table = open(dir.path(), LARGE);
    assert_eq!(table.key_count(), COUNT as usize);
    assert!(table.verify(table.position()));
}
