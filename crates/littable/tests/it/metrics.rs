use crate::support::{Home, fill, large, value};
use hearth_littable::{Direction, Group, LittError, Littable, StoreOptions, TableOptions};
use hearth_metrics::{LittMetrics, Registry};

#[test]
fn instruments_change_by_what_was_done() {
    let home = Home::new();
    let metrics = LittMetrics::new(&Registry::new());
    let store = StoreOptions { metrics: metrics.clone(), ..home.options() };
    let store = Littable::open(store).unwrap();
    let options =
        TableOptions { segment_keys: 11, read_cache_bytes: 1 << 20, write_cache_bytes: 1 << 20, ..large() };
    let table = store.table(options).unwrap();
    let m = metrics.table("t");
    let all = || {
        let counters =
            [&m.bytes_read, &m.keys_read, &m.cache_hits, &m.cache_misses, &m.bytes_written, &m.keys_written];
        let counters = counters.map(|c| c.value());
        let samples = [&m.read, &m.cache_miss, &m.write, &m.flush, &m.segment_flush, &m.keymap_flush];
        (counters, samples.map(|h| h.count()), m.flush_count.value(), m.garbage_collection.count())
    };
    assert_eq!(all(), ([0; 6], [0; 6], 0, 0));
    assert_eq!((m.key_count.value(), m.open_iterators.value()), (0, 0));

    // Ten groups of two keys: one segment of eleven keys holds five.
    for n in 0..10_u32 {
        let (key, alias) = (n.to_be_bytes(), n.to_le_bytes());
        let secondary: [(&[u8], _); 1] = [(&[&alias[..], b"x"].concat(), 0..4)];
        table
            .put_group(&Group {
                secondary: &secondary,
                number: Some(n.into()),
                ..Group::new(&key, &value(n))
            })
            .unwrap();
    }
    let bytes: u64 = (0..10).map(|n| value(n).len() as u64).sum();
    assert_eq!(all(), ([0, 0, 0, 0, bytes, 20], [0, 0, 10, 0, 0, 1], 0, 0), "one segment was sealed");
    assert_eq!(m.key_count.value(), 20);
    assert_eq!(m.size_bytes.value() as u64, table.size());
    let size: u64 = home.files(".idx").iter().map(|p| std::fs::metadata(p).unwrap().len()).sum();
    assert!(table.size() > size + bytes);
    assert_eq!(metrics.chunk_write.keys_added.value(), 10);
    assert_eq!(metrics.chunk_write.key_count.value(), 10);
    // The same again, and what is refused, writes nothing.
    let key = 3_u32.to_be_bytes();
    table.put(&key, &value(3)).unwrap();
    assert!(matches!(table.put(&key, b"other"), Err(LittError::Conflict { .. })));
    let before = all();
    table.flush().unwrap();
    assert_eq!(all(), (before.0, [0, 0, before.1[2], 1, 1, 2], 1, 0));

    // What was put lately is in the cache of puts.
    assert_eq!(table.get(&key).unwrap().unwrap(), value(3));
    assert_eq!(table.get(b"none").unwrap(), None);
    assert!(table.exists(&key).unwrap());
    assert_eq!(table.get_range(&key, 1..3).unwrap().unwrap().len(), 2);
    let (counters, samples, ..) = all();
    assert_eq!(counters[..4], [value(3).len() as u64 + 2, 2, 2, 0]);
    assert_eq!(samples[..2], [2, 0]);

    drop(table);
    assert_eq!(metrics.chunk_write.key_count.value(), 0);
    let table = store.table(TableOptions { read_cache_bytes: 1 << 20, segment_keys: 11, ..large() }).unwrap();
    for hits in 2..5 {
        assert_eq!(table.get(&key).unwrap().unwrap(), value(3));
        assert_eq!((m.cache_hits.value(), m.cache_misses.value(), m.cache_miss.count()), (hits, 1, 1));
    }
    assert_eq!(metrics.chunk_read.keys_added.value(), 1);
    assert_eq!(metrics.chunk_read.key_count.value(), 1);

    let iter = table.iter(Direction::Forward).unwrap();
    assert_eq!(m.open_iterators.value(), 1);
    drop(iter);
    assert_eq!(m.open_iterators.value(), 0);

    assert_eq!(table.collect().unwrap(), 0);
    assert_eq!(m.garbage_collection.count(), 0, "a pass that finds nothing is none");
    table.set_floor(5).unwrap();
    assert_eq!(table.collect().unwrap(), 1);
    assert_eq!(m.garbage_collection.count(), 1);
    assert_eq!(m.key_count.value(), 10);
    assert_eq!(m.size_bytes.value() as u64, table.size());
    assert_eq!(metrics.chunk_read.key_count.value(), 0, "dropped with its segment");
    assert_eq!(metrics.chunk_read.eviction.count(), 1);
    let other = store.table(TableOptions::new("u")).unwrap();
    fill(&other, 0..3);
    assert_eq!(metrics.table("u").keys_written.value(), 3);
    assert_eq!(m.keys_written.value(), 20);
}

#[test]
fn a_dropped_table_counts_in_no_gauge() {
    let home = Home::new();
    let metrics = LittMetrics::new(&Registry::new());
    let store = Littable::open(StoreOptions { metrics: metrics.clone(), ..home.options() }).unwrap();
    let table = store.table(large()).unwrap();
    fill(&table, 0..3);
    let gauges = || (metrics.table("t").key_count.value(), metrics.table("t").size_bytes.value());
    assert_eq!(gauges(), (3, table.size() as i64));
    drop(table);
    store.drop_table("t").unwrap();
    assert_eq!(gauges(), (0, 0));
}
