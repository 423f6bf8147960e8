//! A table does what a map and a list would do, over reopening, cuts, retention and iterators that
//! are held.

use crate::support::{Home, noise};
use hearth_littable::{Compression, Direction, Group, Keys, LittError, Record, TableIter, TableOptions};
use proptest::prelude::*;
use std::collections::HashMap;
use std::time::Duration;

#[derive(Clone, Debug)]
enum Op {
    Put { key: u8, len: u32, secondary: Vec<(u8, u16, u16)>, number: Option<u8> },
    PutAgain(u8),
    PutOther(u8),
    Get(u8),
    Range(u8, u16, u16),
    Flush,
    Drain,
    Seal,
    Settle,
    Reopen,
    Note,
    Cut(u8),
    Floor(u8),
    Collect,
    Iterate(bool),
    IterateFrom(u8, bool),
    Hold(bool),
    Step(u8),
    Release,
    Scrub,
}

fn op() -> impl Strategy<Value = Op> {
    let len = prop_oneof![8 => 0_u32..300, 2 => 300_u32..5000, 1 => 60_000_u32..200_000];
    let secondary = prop::collection::vec((any::<u8>(), any::<u16>(), any::<u16>()), 0..3);
    prop_oneof![
        12 => (any::<u8>(), len, secondary, prop::option::of(any::<u8>()))
            .prop_map(|(key, len, secondary, number)| Op::Put { key, len, secondary, number }),
        1 => any::<u8>().prop_map(Op::PutAgain),
        1 => any::<u8>().prop_map(Op::PutOther),
        4 => any::<u8>().prop_map(Op::Get),
        2 => (any::<u8>(), any::<u16>(), any::<u16>()).prop_map(|(k, a, b)| Op::Range(k, a, b)),
        1 => Just(Op::Flush),
        1 => Just(Op::Drain),
        1 => Just(Op::Seal),
        1 => Just(Op::Settle),
        1 => Just(Op::Reopen),
        1 => Just(Op::Note),
        1 => any::<u8>().prop_map(Op::Cut),
        1 => any::<u8>().prop_map(Op::Floor),
        1 => Just(Op::Collect),
        1 => any::<bool>().prop_map(Op::Iterate),
        1 => (any::<u8>(), any::<bool>()).prop_map(|(k, d)| Op::IterateFrom(k, d)),
        1 => any::<bool>().prop_map(Op::Hold),
        2 => any::<u8>().prop_map(Op::Step),
        1 => Just(Op::Release),
        1 => Just(Op::Scrub),
    ]
}

fn options() -> impl Strategy<Value = TableOptions> {
    let compression = prop_oneof![
        Just(Compression::None),
        Just(Compression::Zstd(1)),
        Just(Compression::ZstdDict(1)),
        Just(Compression::PassThrough)
    ];
    let keys = prop_oneof![Just(Keys::Hash), Just(Keys::Sequence)];
    (compression, keys, 500_u64..20_000, 4_u32..40, prop_oneof![Just(0_usize), Just(30_000)], 1_usize..5000)
        .prop_map(|(compression, keys, segment_bytes, segment_keys, cache, write_buffer_bytes)| {
            TableOptions {
                compression,
                keys,
                segment_bytes,
                segment_keys,
                write_buffer_bytes,
                read_cache_bytes: cache,
                write_cache_bytes: cache,
                ..TableOptions::new("t")
            }
        })
}

#[derive(Default)]
struct Model {
    /// Groups in the order of writing.
    groups: Vec<Record>,
    floor: u64,
    /// Positions with the number of groups before them.
    noted: Vec<(u64, usize)>,
}

impl Model {
    fn pruned(&self, record: &Record) -> bool {
        record.number.is_some_and(|n| n < self.floor)
    }

    fn keys(&self) -> HashMap<Vec<u8>, (usize, Vec<u8>)> {
        let mut keys = HashMap::new();
        for (at, record) in self.groups.iter().enumerate() {
            keys.insert(record.key.clone(), (at, record.value.clone()));
            for (key, range) in &record.secondary {
                let bytes = record.value[range.start as usize..range.end as usize].to_vec();
                keys.insert(key.clone(), (at, bytes));
            }
        }
        keys
    }

    /// The live bytes of a key.
    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let (at, bytes) = self.keys().remove(key)?;
        (!self.pruned(&self.groups[at])).then_some(bytes)
    }

    fn visible(&self) -> Vec<Record> {
        self.groups.iter().filter(|record| !self.pruned(record)).cloned().collect()
    }
}

fn check(table: &hearth_littable::Table, model: &Model, key: &[u8]) {
    match (table.get(key), model.get(key)) {
        (Ok(there), expected) => assert_eq!(there.as_deref(), expected.as_deref(), "{key:?}"),
        // What was below the floor is refused, or forgotten once it was collected.
        (Err(LittError::Pruned { floor, .. }), None) => assert_eq!(floor, model.floor),
        (Err(error), expected) => panic!("{key:?}: {error}, expected {expected:?}"),
    }
    assert_eq!(table.exists(key).unwrap(), model.get(key).is_some());
}

fn run(options: TableOptions, ops: Vec<Op>) {
    let home = Home::new();
    let mut table = home.open(options.clone());
    let mut model = Model::default();
    let mut held: Option<(TableIter, Vec<Record>)> = None;
    let primary = |key: u8| vec![b'p', key];
    for (number, op) in ops.into_iter().enumerate() {
        match op {
            Op::Put { key, len, secondary, number: height } => {
                let value = noise(number as u64 + 1, len as usize);
                let value = if number % 3 == 0 { value.repeat(3)[..len as usize].to_vec() } else { value };
                let range = |a: u16, b: u16| {
                    let (a, b) = (u32::from(a) * 7 % (len + 1), u32::from(b) * 11 % (len + 1));
                    a.min(b)..a.max(b)
                };
                let mut aliases: Vec<(Vec<u8>, std::ops::Range<u32>)> =
                    secondary.iter().map(|(k, a, b)| (vec![b's', *k], range(*a, *b))).collect();
                aliases.dedup_by_key(|(key, _)| key.clone());
                let record =
                    Record { key: primary(key), value, secondary: aliases, number: height.map(u64::from) };
                put(&table, &mut model, record);
            }
            Op::PutAgain(at) => {
                if let Some(record) = pick(&model.visible(), at).cloned() {
                    put(&table, &mut model, record);
                }
            }
            Op::PutOther(at) => {
                if let Some(record) = pick(&model.visible(), at) {
                    let current = model.get(&record.key);
                    let put = table.put(&record.key, b"something that was never written");
                    match current {
                        Some(_) => assert!(matches!(put, Err(LittError::Conflict { .. })), "{put:?}"),
                        None => unreachable!("visible records are there"),
                    }
                }
            }
            Op::Get(key) => {
                check(&table, &model, &primary(key));
                check(&table, &model, &[b's', key]);
            }
            Op::Range(key, a, b) => {
                if let Some(bytes) = model.get(&primary(key)) {
                    let len = bytes.len() as u32;
                    let (a, b) = (u32::from(a) * 5 % (len + 1), u32::from(b) * 3 % (len + 1));
                    let range = a.min(b)..a.max(b);
                    let there = table.get_range(&primary(key), range.clone()).unwrap().unwrap();
                    assert_eq!(there, &bytes[range.start as usize..range.end as usize]);
                }
            }
            Op::Flush => table.flush().unwrap(),
            Op::Drain => table.drain().unwrap(),
            Op::Seal => table.seal().unwrap(),
            Op::Settle => table.finish_upkeep().unwrap(),
            Op::Reopen => {
                held = None;
                let position = table.position().unwrap();
                drop(table);
                table = home.open(options.clone());
                // After a cut to a place in a collected segment, with nothing behind it, no file
                // has the position any more.
                let is_start = table.position().unwrap() == 0;
                assert!(is_start == (position == 0) || is_start && table.is_empty());
                assert_eq!(table.floor(), model.floor);
            }
            Op::Note => model.noted.push((table.position().unwrap(), model.groups.len())),
            Op::Cut(at) => {
                held = None;
                let at = match model.noted.len() {
                    0 => continue,
                    len => at as usize % len,
                };
                let (position, groups) = model.noted[at];
                // Also where its segment was collected: the position counts as its end.
                table.truncate(position).unwrap();
                model.groups.truncate(groups);
                model.noted.truncate(at + 1);
                assert_eq!(table.position().unwrap(), position);
                assert!(table.verify(position).unwrap());
            }
            Op::Floor(floor) => {
                table.set_floor(u64::from(floor) / 2).unwrap();
                model.floor = model.floor.max(u64::from(floor) / 2);
            }
            Op::Collect => {
                table.collect().unwrap();
            }
            Op::Iterate(forward) => {
                let iter = table.iter(direction(forward)).unwrap();
                compare(iter, model.visible(), forward);
            }
            Op::IterateFrom(key, forward) => {
                let key = primary(key);
                let visible = model.visible();
                match table.iter_from(&key, direction(forward)) {
                    Ok(None) => assert!(model.get(&key).is_none()),
                    Ok(Some(iter)) => {
                        let at = visible.iter().rposition(|record| record.key == key).unwrap();
                        let expected = if forward { visible[at..].to_vec() } else { visible[..=at].to_vec() };
                        compare(iter, expected, forward);
                    }
                    Err(LittError::Pruned { .. }) => assert!(model.get(&key).is_none()),
                    Err(error) => panic!("{error}"),
                }
            }
            Op::Hold(forward) => {
                let mut expected = model.visible();
                if forward {
                    expected.reverse();
                }
                held = Some((table.iter(direction(forward)).unwrap(), expected));
            }
            Op::Step(steps) => {
                if let Some((iter, expected)) = &mut held {
                    for _ in 0..steps % 8 {
                        let next = iter.next().map(|record| record.unwrap());
                        assert_eq!(next, expected.pop());
                    }
                }
            }
            Op::Release => {
                if let Some((mut iter, _)) = held.take() {
                    home.clock.advance(Duration::from_secs(600));
                    assert!(matches!(iter.next(), None | Some(Err(LittError::LeaseExpired { .. }))));
                }
            }
            Op::Scrub => {
                let report = table.scrub().unwrap();
                assert_eq!(report.damaged, 0, "{report:?}");
            }
        }
    }
    for key in 0..=255 {
        check(&table, &model, &primary(key));
        check(&table, &model, &[b's', key]);
    }
    compare(table.iter(Direction::Forward).unwrap(), model.visible(), true);
}

fn direction(forward: bool) -> Direction {
    if forward { Direction::Forward } else { Direction::Reverse }
}

fn pick(records: &[Record], at: u8) -> Option<&Record> {
    (!records.is_empty()).then(|| &records[at as usize % records.len()])
}

fn put(table: &hearth_littable::Table, model: &mut Model, record: Record) {
    let secondary: Vec<(&[u8], _)> = record.secondary.iter().map(|(k, r)| (&k[..], r.clone())).collect();
    let Record { key, value, number, .. } = &record;
    let result = table.put_group(&Group { key, value, secondary: &secondary, number: *number });
    let mut bytes: Vec<(Vec<u8>, Vec<u8>)> = vec![(key.clone(), value.clone())];
    for (key, range) in &record.secondary {
        bytes.push((key.clone(), value[range.start as usize..range.end as usize].to_vec()));
    }
    let inner =
        bytes.iter().enumerate().any(|(i, (k, v))| bytes[..i].iter().any(|(k2, v2)| k == k2 && v != v2));
    let there: Vec<Option<Vec<u8>>> = bytes.iter().map(|(key, _)| model.get(key)).collect();
    let conflict =
        there.iter().zip(&bytes).any(|(there, (_, new))| there.as_ref().is_some_and(|there| there != new));
    if number.is_some_and(|n| n < model.floor) {
        assert!(matches!(result, Err(LittError::Pruned { .. })), "{result:?}");
    } else if conflict || inner {
        assert!(matches!(result, Err(LittError::Conflict { .. })), "{result:?}");
    } else {
        result.unwrap();
        if there.iter().any(Option::is_none) {
            model.groups.push(record);
        }
    }
}

fn compare(iter: TableIter, mut expected: Vec<Record>, forward: bool) {
    if !forward {
        expected.reverse();
    }
    let there: Vec<Record> = iter.map(|record| record.unwrap()).collect();
    let keys = |records: &[Record]| records.iter().map(|r| r.key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&there), keys(&expected));
    assert!(there == expected);
}

/// Cases of a run; `HEARTH_MODEL_CASES` sets more.
fn cases() -> u32 {
    std::env::var("HEARTH_MODEL_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(150)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_table_does_what_a_list_does(options in options(), ops in prop::collection::vec(op(), 1..120)) {
        run(options, ops);
    }
}
