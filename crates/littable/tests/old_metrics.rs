//! Metrics of a table: a known workload moves each series by exactly what was done.

#![allow(clippy::unwrap_used)]

use hearth_littable::old::{Littable, TableSpec};
use hearth_metrics::{LittMetrics, Registry};

#[test]
fn each_series_moves_by_what_was_done() {
    let dir = tempfile::TempDir::new().unwrap();
    let litt = LittMetrics::new(&Registry::new());
    let specs = [TableSpec::new("a"), TableSpec::new("b")];
    let store = Littable::open(dir.path(), &specs, &litt).unwrap();
    let (a, b) = (store.table("a").unwrap(), litt.table("b"));
    let m = litt.table("a");
    a.put_group(b"k", b"value", &[(b"s", 1..4)]).unwrap();
    a.put(b"other", b"xy").unwrap();
    // Equal bytes again write nothing; a conflict, a refused key and a miss are no reads and no writes.
    a.put(b"other", b"xy").unwrap();
    a.put(b"other", b"z").unwrap_err();
    assert_eq!(a.get(b"none").unwrap(), None);
    assert_eq!((m.bytes_written.value(), m.keys_written.value(), m.write.count()), (7, 3, 2));
    assert_eq!((m.bytes_read.value(), m.keys_read.value()), (0, 0));
    assert_eq!(a.get(b"s").unwrap().unwrap(), b"alu");
    assert_eq!(a.get(b"k").unwrap().unwrap(), b"value");
    assert_eq!((m.bytes_read.value(), m.keys_read.value(), m.read.count()), (8, 2, 2));
    assert_eq!((m.cache_hits.value(), m.cache_misses.value(), m.cache_miss.count()), (0, 2, 2));
    a.flush().unwrap();
    assert_eq!((m.flush_count.value(), m.flush.count(), m.segment_flush.count()), (1, 1, 1));
    let bytes: u64 = std::fs::read_dir(dir.path().join("a"))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert_eq!((m.key_count.value(), m.size_bytes.value()), (3, bytes as i64));
    a.cut(0).unwrap();
    assert_eq!(m.key_count.value(), 0);
    assert_eq!((b.keys_written.value(), b.flush_count.value(), b.key_count.value()), (0, 0, 0));
    // An opened table tells its size at once.
    a.put(b"k", b"v").unwrap();
    drop((a, store));
    let again = LittMetrics::new(&Registry::new());
    Littable::open(dir.path(), &specs, &again).unwrap();
    assert_eq!((again.table("a").key_count.value(), again.table("a").keys_written.value()), (1, 0));
}
