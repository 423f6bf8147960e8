use crate::support::{Home, assert_holds, fill, large, noise, small, value};
use hearth_littable::{Compression, Direction, Group, Littable, StoreOptions, TableOptions};

const FRAME: u64 = 64 << 10;

/// A range touches the frames that it covers: no more bytes than itself and two frames.
#[test]
fn ranges_read_only_the_frames_they_cover() {
    for compression in [Compression::None, Compression::Zstd(1)] {
        let home = Home::new();
        let options = TableOptions { compression, ..large() };
        let table = home.open(options.clone());
        // Half of it gets smaller, so that compressed frames differ in length.
        let value: Vec<u8> =
            (0..20).flat_map(|n| [noise(n, 50_000), vec![n as u8; 50_000]].concat()).collect();
        let secondary: [(&[u8], _); 2] = [(b"part", 700_000..900_000), (b"byte", 1_234_567..1_234_568)];
        table.put_group(&Group { secondary: &secondary, ..Group::new(b"v", &value) }).unwrap();
        drop(table);
        let table = home.open(options);
        table.seal().unwrap();
        let read = |key: &[u8], range: Option<std::ops::Range<u32>>| {
            let before = table.info();
            let bytes = match range {
                Some(range) => table.get_range(key, range).unwrap().unwrap(),
                None => table.get(key).unwrap().unwrap(),
            };
            let after = table.info();
            assert!(after.index_reads - before.index_reads <= 1, "the page is read once, and kept");
            (bytes, after.value_bytes_read - before.value_bytes_read, after.value_reads - before.value_reads)
        };
        for start in (0..2_000_000).step_by(173_001) {
            for len in [1, 100, 65_536, 200_000] {
                let range = start..(start + len).min(value.len() as u32);
                let (bytes, touched, _) = read(b"v", Some(range.clone()));
                assert_eq!(bytes, &value[range.start as usize..range.end as usize]);
                assert!(touched <= u64::from(range.end - range.start) + 2 * FRAME, "{range:?}: {touched}");
            }
        }
        for (key, range) in [(&b"part"[..], 700_000..900_000), (b"byte", 1_234_567..1_234_568)] {
            let (bytes, touched, reads) = read(key, None);
            assert_eq!(bytes, &value[range.clone()]);
            assert!(touched <= range.len() as u64 + 2 * FRAME, "{range:?}: {touched}");
            assert_eq!(reads, 1);
        }
        let (bytes, _, reads) = read(b"v", None);
        assert_eq!((bytes == value, reads), (true, 1));
    }
}

/// One page of an index and one read of the value, however many segments there are.
#[test]
fn cold_reads_cost_one_read_of_the_index_and_one_of_the_value() {
    const KEYS: u32 = 20_000;
    let home = Home::new();
    let options = TableOptions { segment_keys: 100, ..large() };
    let table = home.open(options.clone());
    fill(&table, 0..KEYS);
    table.seal().unwrap();
    table.finish_upkeep().unwrap();
    drop(table);
    let store = Littable::open(home.options()).unwrap();
    let table = store.table(options.clone()).unwrap();
    assert!(table.info().segments >= 200 && table.info().runs < 8, "{:?}", table.info());
    let (mut last, mut more) = (table.info(), 0);
    for n in 0..KEYS {
        assert_eq!(table.get(&n.to_be_bytes()).unwrap().unwrap(), value(n));
        let info = table.info();
        assert_eq!(info.value_reads - last.value_reads, 1);
        // A filter is wrong now and then: three in a thousand for each run beside the right one.
        more += u32::from(info.index_reads - last.index_reads > 1);
        last = info;
    }
    assert!(more < KEYS / 50, "{more} gets read more than one page");
    let pages = last.index_reads;
    assert!((100..u64::from(KEYS) / 20).contains(&pages), "{pages} pages were read, each once");
    assert_holds(&table, 0..KEYS, KEYS);
    assert_eq!(table.info().index_reads, pages, "pages that were read are kept");
    let before = table.info();
    for n in KEYS..2 * KEYS {
        assert_eq!(table.get(&n.to_be_bytes()).unwrap(), None);
    }
    assert_eq!(table.info().value_reads, before.value_reads);
    drop((table, store));
    // Without memory for pages each get reads one.
    let store = Littable::open(StoreOptions { index_memory_bytes: 100 << 10, ..home.options() }).unwrap();
    let table = store.table(options).unwrap();
    assert_holds(&table, 0..KEYS, KEYS);
    let reads = table.info().index_reads;
    assert!((u64::from(KEYS) / 2..u64::from(KEYS) * 102 / 100).contains(&reads), "{reads}");
    for n in KEYS..2 * KEYS {
        assert_eq!(table.get(&n.to_be_bytes()).unwrap(), None);
    }
    assert!(table.info().index_reads - reads < u64::from(KEYS) / 20, "keys that are not there");
    assert!(store.index_memory_bytes() <= 100 << 10, "{}", store.index_memory_bytes());
}

/// The scale of the requirement is ten million keys under 32 MiB; `HEARTH_FULL=1` runs that.
#[test]
fn many_keys_take_little_memory() {
    let full = std::env::var_os("HEARTH_FULL").is_some();
    let (keys, bound): (u32, u64) = if full { (10_000_000, 32 << 20) } else { (300_000, 2 << 20) };
    let home = Home::new();
    let store = StoreOptions { index_memory_bytes: 32 << 20, background_threads: 2, ..home.options() };
    let segment_keys = if full { 65_536 } else { 4_000 };
    let options = TableOptions { segment_keys, ..large() };
    let store = Littable::open(store).unwrap();
    let table = store.table(options).unwrap();
    let mut most = 0;
    for n in 0..keys {
        table.put(&n.to_be_bytes(), &n.to_le_bytes()).unwrap();
        if n % (keys / 50) == 0 {
            most = most.max(table.info().index_memory_bytes);
        }
    }
    table.flush().unwrap();
    table.finish_upkeep().unwrap();
    let info = table.info();
    assert_eq!(info.keys, u64::from(keys));
    most = most.max(info.index_memory_bytes);
    assert!(store.index_memory_bytes() >= info.index_memory_bytes);
    assert!(most < bound, "{most} bytes for {keys} keys");
    for n in (0..keys).step_by(997) {
        assert_eq!(table.get(&n.to_be_bytes()).unwrap().unwrap(), &n.to_le_bytes());
    }
    assert!(store.index_memory_bytes() <= 32 << 20, "pages that were read included");
}

/// Where memory does not suffice for filters, pages are read instead: answers stay right.
#[test]
fn without_memory_for_filters_answers_are_the_same() {
    let home = Home::new();
    let store = StoreOptions { index_memory_bytes: 0, ..home.options() };
    let table = Littable::open(store).unwrap().table(small()).unwrap();
    fill(&table, 0..500);
    table.finish_upkeep().unwrap();
    assert_holds(&table, 0..500, 700);
}

#[test]
fn many_segments_share_few_handles() {
    let home = Home::new();
    let store = StoreOptions { max_open_files: 16, ..home.options() };
    let store = Littable::open(store).unwrap();
    let table = store.table(TableOptions { segment_keys: 5, ..large() }).unwrap();
    fill(&table, 0..3000);
    let before = std::fs::read_dir("/proc/self/fd").unwrap().count();
    for round in 0..3 {
        for n in (round..3000_u32).step_by(7) {
            assert_eq!(table.get(&n.to_be_bytes()).unwrap().unwrap(), value(n));
        }
    }
    let after = std::fs::read_dir("/proc/self/fd").unwrap().count();
    // Other tests of this process open files too, so the bound is loose; six hundred segments are
    // not open.
    assert!(after < before + 200, "{before} -> {after}");
}

#[test]
fn cached_frames_are_shared_and_dropped_with_their_segment() {
    let home = Home::new();
    let options = TableOptions { read_cache_bytes: 4 << 20, segment_keys: 10, ..large() };
    let table = home.open(options);
    for n in 0..30_u32 {
        let key = n.to_be_bytes();
        table.put_group(&Group { number: Some(n.into()), ..Group::new(&key, &value(n)) }).unwrap();
    }
    table.seal().unwrap();
    let one = table.get(&3_u32.to_be_bytes()).unwrap().unwrap();
    let two = table.get(&3_u32.to_be_bytes()).unwrap().unwrap();
    assert!(one.shares_memory_with(&two), "the second read points into the cached frame");
    let reads = table.info().value_reads;
    assert_eq!(table.get(&3_u32.to_be_bytes()).unwrap().unwrap(), value(3));
    assert_eq!(table.info().value_reads, reads);
    table.set_floor(10).unwrap();
    assert_eq!(table.collect().unwrap(), 1);
    assert!(!matches!(table.get(&3_u32.to_be_bytes()), Ok(Some(_))));
    assert_eq!(one, value(3), "a guard keeps its bytes");
}

#[test]
fn readers_and_writers_do_not_wait_for_each_other() {
    const COUNT: u32 = 3000;
    let home = Home::new();
    let store = StoreOptions { background_threads: 2, ..home.options() };
    let store = Littable::open(store).unwrap();
    let table = store.table(TableOptions { segment_bytes: 20_000, ..large() }).unwrap();
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
    drop((table, store));
    let table = home.open(large());
    assert_eq!(table.len(), u64::from(COUNT));
    assert_holds(&table, 0..COUNT, COUNT);
    assert_eq!(table.iter(Direction::Forward).unwrap().count(), COUNT as usize);
    assert_eq!(table.scrub().unwrap().damaged, 0);
}
