//! Every cut and every flip of a small WAL.

use super::{
    record::{RecordHead, SEGMENT_HEADER_BYTES, commit_body},
    *,
};
use crate::{
    Head,
    rows::{BlockRows, EncodedChanges},
};
use alloy_primitives::B256;
use hearth_disk::RealDisk;
use std::fs::{self, OpenOptions};

fn scan(dir: &Path) -> Result<WalScan, FlatKvError> {
    WalScan::read(&(Arc::new(RealDisk) as Arc<dyn Disk>), dir, 0)
}

/// A WAL with one record a height; the borders of its records when it is one segment.
fn write(dir: &Path, records: u64, segment_bytes: u64) -> Vec<usize> {
    let mut wal = Wal::resume(scan(dir).unwrap(), segment_bytes).unwrap();
    let mut ends = vec![SEGMENT_HEADER_BYTES];
    for height in 0..records {
        let hash = |height: u64| B256::from(alloy_primitives::U256::from(height));
        let head = Head { height, hash: hash(height + 1), commitment: B256::ZERO };
        let record = RecordHead {
            unwind: false,
            head,
            parent: hash(height),
            positions: vec![height * 1000],
            oldest: 0,
        };
        let changes = Default::default();
        let rows = BlockRows { changes: &changes, legacy: &[] };
        let bytes = wal
            .append(&record.commit_payload(&commit_body(&EncodedChanges::of(&changes), rows, &[])))
            .unwrap();
        ends.push(ends[ends.len() - 1] + bytes as usize);
    }
    assert_eq!(wal.last(), records);
    ends
}

fn numbers(dir: &Path) -> Result<Vec<u64>, FlatKvError> {
    let scan = scan(dir)?;
    scan.records.iter().for_each(|found| assert_eq!(found.head.head.height + 1, found.number));
    Ok(scan.records.iter().map(|found| found.number).collect())
}

#[test]
fn a_cut_at_any_byte_leaves_the_whole_records_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let ends = write(dir.path(), 4, u64::MAX);
    let path = segment_path(dir.path(), 1);
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes.len(), ends[4]);
    for cut in 0..bytes.len() {
        fs::write(&path, &bytes[..cut]).unwrap();
        let whole = ends.iter().filter(|end| **end <= cut).count().saturating_sub(1);
        let expected: Vec<u64> = (1..=whole as u64).collect();
        assert_eq!(numbers(dir.path()).unwrap(), expected, "cut at {cut}");
        // The tail may have been allocated and never written.
        let zeros = [&bytes[..cut], &[0; 64]].concat();
        fs::write(&path, zeros).unwrap();
        if cut == 0 || cut >= SEGMENT_HEADER_BYTES {
            // The record's own last bytes may be zeros, which then are there after all.
            assert!(numbers(dir.path()).unwrap().starts_with(&expected), "zeros from {cut}");
        }
    }
}

#[test]
fn a_flip_of_any_byte_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let ends = write(dir.path(), 4, u64::MAX);
    let path = segment_path(dir.path(), 1);
    let sound = fs::read(&path).unwrap();
    for at in 0..sound.len() {
        let mut bytes = sound.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, &bytes).unwrap();
        match numbers(dir.path()) {
            Ok(numbers) => {
                assert!(at >= ends[3], "a flip at {at} went unnoticed");
                assert_eq!(numbers, [1, 2, 3]);
            }
            Err(FlatKvError::WalDamaged { offset, .. }) => {
                let start = ends.iter().rev().find(|end| **end <= at).map_or(0, |end| *end as u64);
                assert!(at < ends[3], "a flip at {at} in the last record");
                assert_eq!(offset, start, "flip at {at}");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_bad_record_in_an_older_segment_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), 6, 100);
    let paths: Vec<_> = (1..=6).map(|first| segment_path(dir.path(), first)).collect();
    assert_eq!(numbers(dir.path()).unwrap(), [1, 2, 3, 4, 5, 6]);
    let cut =
        |path: &Path, len: u64| OpenOptions::new().write(true).open(path).unwrap().set_len(len).unwrap();
    cut(&paths[4], 60);
    assert!(matches!(numbers(dir.path()), Err(FlatKvError::WalDamaged { offset: 32, .. })));
    cut(&paths[5], 40);
    assert_eq!(numbers(dir.path()).unwrap(), [1, 2, 3, 4], "both tails are torn");
    let mut scan = scan(dir.path()).unwrap();
    scan.truncate(Some(3)).unwrap();
    assert_eq!(paths.iter().filter(|path| path.exists()).count(), 4);
    let mut wal = Wal::resume(scan, 100).unwrap();
    assert_eq!(wal.last(), 4);
    wal.prune(3).unwrap();
    assert_eq!(paths.iter().filter(|path| path.exists()).count(), KEEP_SEGMENTS);
    assert_eq!(numbers(dir.path()).unwrap(), [2, 3, 4]);
}

#[test]
fn stored_bytes_do_not_pass_for_a_record() {
    // A torn record whose payload holds a whole record of another WAL, with a number that would
    // fit.
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ends = write(other.path(), 3, u64::MAX);
    let foreign = fs::read(segment_path(other.path(), 1)).unwrap()[ends[1]..].to_vec();
    write(dir.path(), 1, u64::MAX);
    let path = segment_path(dir.path(), 1);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend(b"HWR1 torn");
    bytes.extend(foreign);
    fs::write(&path, bytes).unwrap();
    assert_eq!(numbers(dir.path()).unwrap(), [1]);
}

/// Preallocated behind a log of a few records.
const FIRST_EXTENT: u64 = *preallocation::EXTENT_BYTES.start();

#[test]
fn preallocated_space_is_written_over_and_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let ends = write(dir.path(), 2, u64::MAX);
    let path = segment_path(dir.path(), 1);
    let len = || fs::metadata(&path).unwrap().len();
    let mut wal = Wal::resume(scan(dir.path()).unwrap(), u64::MAX).unwrap();
    let again = fs::read(&path).unwrap()[ends[1]..ends[2]].to_vec();
    let payload = again[record::RECORD_HEADER_BYTES..].to_vec();
    wal.preallocate();
    // The thread is waited for, so that its end is known.
    wal.join_preallocation();
    assert_eq!((len(), wal.preallocated_bytes()), (ends[2] as u64 + FIRST_EXTENT, FIRST_EXTENT));
    wal.append(&payload).unwrap();
    wal.sync().unwrap();
    assert_eq!(len(), ends[2] as u64 + FIRST_EXTENT, "the record is within");
    assert_eq!(wal.preallocated_bytes(), FIRST_EXTENT - again.len() as u64);
    // There is enough left: nothing is written.
    wal.preallocate();
    wal.join_preallocation();
    assert_eq!(len(), ends[2] as u64 + FIRST_EXTENT);
    // The process dies here.
    std::mem::forget(wal);
    let mut scanned = scan(dir.path()).unwrap();
    assert_eq!(scanned.records.len(), 3);
    scanned.truncate(Some(2)).unwrap();
    assert_eq!(len(), (ends[2] + again.len()) as u64);
    let mut wal = Wal::resume(scanned, u64::MAX).unwrap();
    wal.preallocate();
    wal.cut_preallocation().unwrap();
    assert_eq!((len(), wal.preallocated_bytes()), ((ends[2] + again.len()) as u64, 0));
    // A segment that another one follows has none.
    let mut wal = Wal { segment_bytes: len() + 1, ..wal };
    wal.preallocate();
    wal.append(&payload).unwrap();
    wal.preallocate();
    wal.append(&payload).unwrap();
    assert_eq!(len(), (ends[2] + 2 * again.len()) as u64);
    let found = scan(dir.path()).unwrap().records;
    assert_eq!(found.iter().map(|found| found.number).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
}
