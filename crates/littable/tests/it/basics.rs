use crate::support::{Home, assert_holds, fill, flip, large, noise, small, value};
use hearth_littable::{
    Compression, Group, Keys, LittError, Littable, MAX_GROUP_KEYS, MAX_KEY_BYTES, StoreOptions, TableOptions,
};
use std::fs;
use std::time::Duration;

#[test]
fn groups_are_found_by_every_key() {
    let home = Home::new();
    let secondary: [(&[u8], _); 3] = [(b"one", 0..3), (b"three", 8..13), (b"none", 4..4)];
    let group = Group { secondary: &secondary, ..Group::new(b"whole", b"one two three") };
    let check = |table: &hearth_littable::Table| {
        assert_eq!(table.get(b"whole").unwrap().unwrap(), b"one two three");
        assert_eq!(table.get(b"one").unwrap().unwrap(), b"one");
        assert_eq!(table.get(b"three").unwrap().unwrap(), b"three");
        assert_eq!(table.get(b"none").unwrap().unwrap(), b"");
        assert_eq!(table.get(b"two").unwrap(), None);
        assert!(table.exists(b"one").unwrap() && !table.exists(b"two").unwrap());
        assert_eq!(table.len(), 4);
        assert_eq!(table.get_range(b"three", 1..3).unwrap().unwrap(), b"hr");
        let outside = table.get_range(b"three", 1..6);
        assert!(matches!(outside, Err(LittError::BadRange { start: 1, end: 6, len: 5, .. })), "{outside:?}");
        let many = table.multi_get(&[b"one", b"two", b"three"]);
        let many: Vec<_> = many.into_iter().map(|v| v.unwrap().map(|v| v.to_vec())).collect();
        assert_eq!(many, [Some(b"one".to_vec()), None, Some(b"three".to_vec())]);
    };
    let table = home.open(large());
    table.put_group(&group).unwrap();
    check(&table);
    drop(table);
    let table = home.open(large());
    check(&table);
    table.seal().unwrap();
    check(&table);
    assert_eq!((table.info().runs, table.info().segments), (1, 2));
    drop(table);
    check(&home.open(large()));
}

#[test]
fn equal_bytes_are_fine_and_other_bytes_conflict() {
    for sealed in [false, true] {
        let home = Home::new();
        let table = home.open(large());
        let secondary: [(&[u8], _); 1] = [(b"b", 1..3)];
        let group = Group { secondary: &secondary, ..Group::new(b"a", b"12345") };
        table.put_group(&group).unwrap();
        if sealed {
            table.seal().unwrap();
        }
        let (position, size) = (table.position().unwrap(), table.size());
        table.put_group(&group).unwrap();
        table.put(b"b", b"23").unwrap();
        assert_eq!((table.position().unwrap(), table.size()), (position, size), "nothing is written again");
        let other: [(&[u8], _); 1] = [(b"b", 0..2)];
        for group in [
            Group::new(b"a", b"12346"),
            Group::new(b"a", b"1234"),
            Group { secondary: &other, ..Group::new(b"new", b"99") },
            Group { secondary: &[(b"x", 0..1), (b"x", 1..2)], ..Group::new(b"new", b"12") },
        ] {
            let put = table.put_group(&group);
            assert!(matches!(put, Err(LittError::Conflict { .. })), "{put:?}");
        }
        assert!(!table.exists(b"new").unwrap(), "a group with a conflict leaves nothing");
        assert_eq!(table.get(b"b").unwrap().unwrap(), b"23");
    }
}

#[test]
fn limits_are_errors() {
    let home = Home::new();
    let table = home.open(large());
    let long = vec![0; MAX_KEY_BYTES + 1];
    assert!(matches!(table.put(&long, b""), Err(LittError::TooLarge { size: 4097, limit: 4096, .. })));
    assert_eq!(table.get(&long).unwrap(), None);
    table.put(&long[1..], b"").unwrap();
    let range = table.put_group(&Group { secondary: &[(b"s", 2..4)], ..Group::new(b"k", b"abc") });
    assert!(matches!(range, Err(LittError::BadRange { start: 2, end: 4, len: 3, .. })));
    let keys: Vec<[u8; 4]> = (0..MAX_GROUP_KEYS as u32).map(u32::to_be_bytes).collect();
    let many: Vec<(&[u8], _)> = keys.iter().map(|k| (&k[..], 0..0)).collect();
    let put = table.put_group(&Group { secondary: &many, ..Group::new(b"k", b"") });
    assert!(matches!(put, Err(LittError::TooLarge { limit: 65536, .. })));
    table.put_group(&Group { secondary: &many[1..], ..Group::new(b"k", b"") }).unwrap();
    assert_eq!(table.len(), 65537);
    drop(table);
    assert_eq!(home.open(large()).len(), 65537);
    let name = home.try_open(TableOptions::new("../x"));
    assert!(matches!(name, Err(LittError::BadName(name)) if name == "../x"));
    let keys = home.try_open(TableOptions { keys: Keys::Sequence, ..large() });
    assert!(matches!(keys, Err(LittError::BadSetting { setting: "keys", .. })), "{keys:?}");
    let shards = home.try_open(TableOptions { shards: 3, ..large() });
    assert!(matches!(shards, Err(LittError::BadSetting { setting: "shards", .. })), "{shards:?}");
}

#[test]
fn reopened_tables_go_on_over_segments_and_add_none() {
    let home = Home::new();
    for round in 0..4 {
        let table = home.open(small());
        fill(&table, round * 100..round * 100 + 100);
        table.flush().unwrap();
        assert_holds(&table, 0..round * 100 + 100, 500);
    }
    let segments = home.files(".seg").len();
    assert!(segments > 15, "segments are small: {segments}");
    let sizes =
        |ending| home.files(ending).iter().map(|p| fs::metadata(p).unwrap().len()).collect::<Vec<_>>();
    let before = (sizes(".seg"), sizes(".idx"));
    for _ in 0..5 {
        assert_holds(&home.open(small()), 0..400, 500);
    }
    assert_eq!((sizes(".seg"), sizes(".idx")), before, "opening and closing writes nothing");
    let table = home.open(small());
    table.put(b"larger than a segment", &[7; 5000]).unwrap();
    table.put(b"after", b"x").unwrap();
    drop(table);
    let table = home.open(small());
    assert_eq!(table.get(b"larger than a segment").unwrap().unwrap(), vec![7; 5000]);
    assert_eq!(table.get(b"after").unwrap().unwrap(), b"x");
    assert_holds(&table, 0..400, 500);
}

#[test]
fn every_compression_gives_back_what_was_put() {
    let text =
        |n: u64, len| format!("receipt {n} of many, with a status and logs; ").repeat(len).into_bytes();
    for compression in
        [Compression::None, Compression::PassThrough, Compression::Zstd(3), Compression::ZstdDict(3)]
    {
        let home = Home::new();
        let options = TableOptions { compression, segment_bytes: 300_000, ..large() };
        let table = home.open(options.clone());
        let mut values = Vec::new();
        for n in 0..3000_u64 {
            values.push(text(n, 2 + n as usize % 3));
        }
        for n in 0..6 {
            values.push(text(n, 5000));
            values.push(noise(n, 200_000));
            values.push(b"\x28\xb5\x2f\xfdcompressed".to_vec());
        }
        for (n, value) in values.iter().enumerate() {
            let secondary: [(&[u8], _); 1] = [(&(n as u64).to_le_bytes(), 1..value.len() as u32)];
            let key = (n as u32).to_be_bytes();
            table.put_group(&Group { secondary: &secondary, ..Group::new(&key, value) }).unwrap();
        }
        table.flush().unwrap();
        let raw: u64 = values.iter().map(|v| v.len() as u64).sum();
        let size = table.size();
        match compression {
            Compression::None | Compression::PassThrough => assert!(size > raw),
            _ => assert!(size < raw * 6 / 10, "{size} of {raw}"),
        }
        drop(table);
        let table = home.open(options);
        for (n, value) in values.iter().enumerate() {
            assert_eq!(table.get(&(n as u32).to_be_bytes()).unwrap().unwrap(), value, "{n}");
            assert_eq!(table.get(&(n as u64).to_le_bytes()).unwrap().unwrap(), &value[1..], "{n}");
            let end = value.len() as u32;
            for range in [0..end, 0..1, end / 2..end, end - 1..end, end / 3..end / 2] {
                let bytes = table.get_range(&(n as u32).to_be_bytes(), range.clone()).unwrap().unwrap();
                assert_eq!(bytes, &value[range.start as usize..range.end as usize], "{n} {range:?}");
            }
        }
        let dictionaries = home.files(".dict").len();
        assert_eq!(dictionaries, usize::from(compression == Compression::ZstdDict(3)));
        assert_eq!(table.scrub().unwrap().damaged, 0);
    }
}

#[test]
fn shards_keep_the_order_of_writing() {
    let home = Home::new();
    let options = TableOptions { shards: 4, ..small() };
    let table = home.open(options.clone());
    fill(&table, 0..300);
    table.flush().unwrap();
    assert!(matches!(table.position(), Err(LittError::Sharded { shards: 4, .. })));
    drop(table);
    let table = home.open(options);
    fill(&table, 300..400);
    assert_holds(&table, 0..400, 500);
    assert_eq!(table.len(), 400);
    for shard in 0..4 {
        assert!(home.files(".seg").iter().any(|p| p.to_string_lossy().contains(&format!("/{shard:02}-"))));
    }
    let keys: Vec<_> =
        table.iter(hearth_littable::Direction::Forward).unwrap().map(|r| r.unwrap().key).collect();
    assert_eq!(keys, (0..400_u32).map(|n| n.to_be_bytes().to_vec()).collect::<Vec<_>>());
}

#[test]
fn sequence_keys_are_found_and_bounded() {
    let home = Home::new();
    let options = TableOptions { keys: Keys::Sequence, segment_bytes: 3000, ..large() };
    let table = home.open(options.clone());
    let key = |n: u64| n.to_be_bytes();
    for n in 0..1000 {
        table.put(&key(n * 3), &value(n as u32)).unwrap();
    }
    table.put(b"ab", b"short").unwrap();
    table.put(b"ab\0", b"longer").unwrap();
    drop(table);
    let table = home.open(options);
    let before = table.info().index_reads;
    for n in 0..1000 {
        assert_eq!(table.get(&key(n * 3)).unwrap().unwrap(), value(n as u32));
    }
    assert!(table.info().index_reads - before <= 1000, "one page each");
    assert_eq!(table.get(&key(1)).unwrap(), None);
    assert_eq!(table.get(b"ab").unwrap().unwrap(), b"short");
    assert_eq!(table.get(b"ab\0").unwrap().unwrap(), b"longer");
    assert!(matches!(table.put(&[1; 12], b""), Err(LittError::TooLarge { limit: 11, .. })));
}

#[test]
fn cut_drops_what_lies_behind() {
    for keep in (0..60).step_by(7) {
        let home = Home::new();
        let table = home.open(small());
        fill(&table, 0..keep);
        let position = table.position().unwrap();
        assert!(table.verify(position).unwrap());
        fill(&table, keep..60);
        let end = table.position().unwrap();
        let wrong = table.truncate(position + 1);
        assert!(matches!(wrong, Err(LittError::NoSuchPosition { .. })), "{wrong:?}");
        assert_eq!(table.position().unwrap(), end, "a refused cut drops nothing");
        table.truncate(position).unwrap();
        assert_eq!(table.position().unwrap(), position);
        assert_holds(&table, 0..keep, 60);
        assert_eq!(table.len(), u64::from(keep));
        assert!(!table.verify(end).unwrap() && table.verify(position).unwrap());
        drop(table);
        let table = home.open(small());
        assert_holds(&table, 0..keep, 60);
        fill(&table, keep..60);
        drop(table);
        assert_holds(&home.open(small()), 0..60, 60);
    }
}

#[test]
fn positions_are_ends_of_records_and_nothing_else() {
    let home = Home::new();
    let table = home.open(small());
    let mut ends = vec![0];
    for n in 0..40 {
        fill(&table, n..n + 1);
        ends.push(table.position().unwrap());
    }
    assert!(ends.is_sorted());
    for end in &ends {
        for position in end.saturating_sub(2)..end + 3 {
            assert_eq!(table.verify(position).unwrap(), ends.contains(&position), "{position:x}");
        }
    }
}

#[test]
fn stores_are_locked_and_know_their_roots() {
    let (one, two, three) = (Home::new(), Home::new(), Home::new());
    let roots = |homes: &[&Home]| StoreOptions {
        roots: homes.iter().map(|h| h.dir.path().to_owned()).collect(),
        ..one.options()
    };
    let store = Littable::open(roots(&[&one, &two])).unwrap();
    let Err(LittError::Locked(held)) = Littable::open(roots(&[&one, &two])) else { panic!("opened twice") };
    assert!(held.to_string().contains(&std::process::id().to_string()), "{held}");
    let table = store.table(small()).unwrap();
    assert!(matches!(store.table(small()), Err(LittError::AlreadyOpen(name)) if name == "t"));
    fill(&table, 0..200);
    drop((store, table));
    assert!(one.files(".seg").len() > 3 && two.files(".seg").len() > 3);
    let missing = Littable::open(roots(&[&one])).unwrap_err();
    let at = two.dir.path();
    assert!(matches!(&missing, LittError::RootMissing { path, .. } if path == at), "{missing}");
    let missing = Littable::open(roots(&[&one, &three])).unwrap_err();
    assert!(
        matches!(missing, LittError::RootMissing { .. }),
        "an empty folder in the place of a mount: {missing}"
    );
    let store = Littable::open(roots(&[&three, &two, &one])).unwrap();
    let table = store.table(small()).unwrap();
    fill(&table, 200..300);
    assert_holds(&table, 0..300, 300);
    drop((store, table));
    assert!(three.files(".seg").len() > 1);
    let foreign = Home::new();
    fs::write(foreign.dir.path().join("x"), b"").unwrap();
    let error = Littable::open(roots(&[&one, &two, &three, &foreign])).unwrap_err();
    assert!(matches!(error, LittError::ForeignRoot { .. }), "{error}");
    assert_eq!(Littable::open(roots(&[&two, &three, &one])).unwrap().table_names().unwrap(), ["t"]);
}

#[test]
fn dropped_tables_are_gone_and_can_be_made_again() {
    let home = Home::new();
    let store = Littable::open(home.options()).unwrap();
    let table = store.table(small()).unwrap();
    fill(&table, 0..50);
    assert!(matches!(store.drop_table("t"), Err(LittError::AlreadyOpen(_))));
    drop(table);
    store.drop_table("t").unwrap();
    assert!(!home.dir.path().join("t").exists());
    assert!(matches!(store.drop_table("t"), Err(LittError::NoSuchTable(_))));
    assert_holds(&store.table(small()).unwrap(), 0..0, 50);
}

#[test]
fn readers_see_what_the_writer_handed_over() {
    let home = Home::new();
    let table = home.open(small());
    fill(&table, 0..100);
    table.drain().unwrap();
    let reader = Littable::open_read_only(home.options()).unwrap();
    let read = reader.table(small()).unwrap();
    assert_holds(&read, 0..100, 200);
    fill(&table, 100..200);
    table.drain().unwrap();
    assert_holds(&read, 0..100, 200);
    read.refresh().unwrap();
    assert_holds(&read, 0..200, 200);
    assert!(matches!(read.put(b"x", b""), Err(LittError::ReadOnly { .. })));
    assert!(matches!(read.flush(), Err(LittError::ReadOnly { .. })));
    table.finish_upkeep().unwrap();
    assert_holds(&read, 0..200, 200);
    read.refresh().unwrap();
    assert_holds(&read, 0..200, 200);
    let none = reader.table(TableOptions::new("u"));
    assert!(matches!(none, Err(LittError::NoSuchTable(name)) if name == "u"));
}

#[test]
fn segments_are_sealed_by_age_and_count() {
    let home = Home::new();
    let options = TableOptions { segment_keys: 10, ..large() };
    let table = home.open(options);
    fill(&table, 0..95);
    assert_eq!(table.info().segments, 10);
    drop(table);
    let store = StoreOptions { background_threads: 1, gc_period: Duration::from_millis(5), ..home.options() };
    let store = Littable::open(store).unwrap();
    let table = store.table(TableOptions { segment_age: Some(Duration::from_secs(60)), ..large() }).unwrap();
    fill(&table, 95..100);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(table.info().segments, 10, "no time has passed");
    home.clock.advance(Duration::from_secs(61));
    let sealed = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        table.info().segments == 11 && table.info().open_segments == 1
    });
    assert!(sealed);
    assert_holds(&table, 0..100, 100);
}

#[test]
fn a_flip_in_the_files_beside_the_segments_costs_nothing() {
    let home = Home::new();
    let table = home.open(small());
    fill(&table, 0..200);
    table.finish_upkeep().unwrap();
    drop(table);
    let runs: Vec<_> = home.files(".idx").iter().map(|f| (f.clone(), fs::read(f).unwrap())).collect();
    let mut files = home.files(".idx");
    files.push(home.dir.path().join("t/table.state"));
    files.push(home.dir.path().join("littable.manifest"));
    for path in files {
        let len = fs::metadata(&path).unwrap().len();
        for at in (0..len).step_by(1 + len as usize / 40) {
            let before = fs::read(&path).unwrap();
            flip(&path, at);
            {
                let table = home.open(small());
                let mut wrong = 0;
                for n in 0..200 {
                    match table.get(&u32::to_be_bytes(n)) {
                        Ok(there) => assert_eq!(there.as_deref(), Some(&value(n)[..])),
                        Err(LittError::Corrupt { path: named, .. }) => {
                            assert_eq!(named, path);
                            wrong += 1;
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
                let report = table.scrub().unwrap();
                assert_eq!(report.damaged > 0, wrong > 0, "{path:?} {at}: {report:?}");
                assert_holds(&table, 0..200, 200);
            }
            home.files(".idx").iter().for_each(|f| fs::remove_file(f).unwrap());
            runs.iter().for_each(|(file, original)| fs::write(file, original).unwrap());
            fs::write(&path, before).unwrap();
        }
    }
}

#[test]
fn background_work_is_no_use_of_a_table_that_was_closed() {
    let home = Home::new();
    let options = StoreOptions { gc_period: Duration::from_millis(1), ..home.options() };
    let store = Littable::open(StoreOptions { background_threads: 2, ..options }).unwrap();
    for round in 0..200 {
        let table = store.table(small()).unwrap();
        fill(&table, 0..40);
        table.set_floor(20).unwrap();
        drop(table);
        let again = store.table(small()).unwrap_or_else(|error| panic!("round {round}: {error}"));
        drop(again);
        store.drop_table("t").unwrap_or_else(|error| panic!("round {round}: {error}"));
    }
}

#[test]
fn a_run_of_groups_is_that_of_single_puts() {
    let (together, alone) = (Home::new(), Home::new());
    let options = || TableOptions { segment_bytes: 20_000, write_buffer_bytes: 3_000, ..large() };
    let (run, single) = (together.open(options()), alone.open(options()));
    let keys: Vec<_> = (0..600_u32).map(u32::to_be_bytes).collect();
    let values: Vec<_> = (0..600).map(|n| value(n % 500)).collect();
    let secondary: Vec<[(&[u8], _); 1]> = keys.iter().map(|key| [(&key[1..], 0..2)]).collect();
    let mut groups: Vec<_> = keys
        .iter()
        .zip(&values)
        .zip(&secondary)
        .map(|((key, value), secondary)| Group { secondary, number: Some(7), ..Group::new(key, value) })
        .collect();
    // One that is there already, and one twice.
    groups.insert(400, groups[3]);
    for table in [&run, &single] {
        table.put_group(&groups[2]).unwrap();
    }
    let ends: Vec<_> = groups
        .iter()
        .map(|group| {
            single.put_group(group).unwrap();
            single.position().unwrap()
        })
        .collect();
    assert_eq!(run.put_run(&groups).unwrap(), ends);
    assert_eq!((run.info().segments > 3, run.len()), (true, single.len()));
    assert_eq!(run.put_run(&groups).unwrap(), vec![ends[600]; 601], "nothing is written again");
    // A conflict keeps what comes before it.
    let (new, other) = (Group::new(b"new", b"1"), Group::new(&keys[5], b"other"));
    let last = Group::new(b"last", b"1");
    assert!(matches!(run.put_run(&[new, other, last]), Err(LittError::Conflict { .. })));
    assert!(run.exists(b"new").unwrap() && !run.exists(b"last").unwrap());
    drop(run);
    let run = together.open(options());
    for (key, value) in keys.iter().zip(&values) {
        assert_eq!(run.get(key).unwrap().unwrap(), *value);
        assert_eq!(run.get(&key[1..]).unwrap().unwrap(), value[..2].to_vec());
    }
    drop(run);
    let sharded = together.open(TableOptions { shards: 2, ..TableOptions::new("sharded") });
    assert!(matches!(sharded.put_run(&groups), Err(LittError::Sharded { shards: 2, .. })));
}
