use crate::support::{Home, fill, large, small, value};
use hearth_disk::Clock;
use hearth_littable::{Direction, Group, Littable, Record, StoreOptions, Table, TableOptions};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

#[test]
fn both_directions_from_either_end_and_from_a_key() {
    for shards in [1, 3] {
        let home = Home::new();
        let options = TableOptions { shards, ..small() };
        let table = home.open(options);
        let all: Vec<Record> = (0..200_u32)
            .map(|n| {
                let secondary =
                    vec![(format!("s{n}").into_bytes(), 2..9), (format!("e{n}").into_bytes(), 5..5)];
                let number = (n % 3 == 0).then_some(u64::from(n) * 7);
                Record { key: n.to_le_bytes().to_vec(), value: value(n), secondary, number }
            })
            .collect();
        for record in &all {
            let secondary: Vec<(&[u8], _)> =
                record.secondary.iter().map(|(k, r)| (&k[..], r.clone())).collect();
            let Record { key, value, number, .. } = record;
            table.put_group(&Group { key, value, secondary: &secondary, number: *number }).unwrap();
        }
        let forward: Vec<_> = table.iter(Direction::Forward).unwrap().map(|r| r.unwrap()).collect();
        assert_eq!(forward, all);
        let mut reverse: Vec<_> = table.iter(Direction::Reverse).unwrap().map(|r| r.unwrap()).collect();
        reverse.reverse();
        assert_eq!(reverse, all);
        for from in [0, 1, 57, 198, 199] {
            for key in
                [all[from].key.clone(), format!("s{from}").into_bytes(), format!("e{from}").into_bytes()]
            {
                let forward = table.iter_from(&key, Direction::Forward).unwrap().unwrap();
                let forward: Vec<_> = forward.map(|r| r.unwrap()).collect();
                assert!(forward == all[from..], "{shards} {from} {key:?}: {}", forward.len());
                let reverse = table.iter_from(&key, Direction::Reverse).unwrap().unwrap();
                let mut reverse: Vec<_> = reverse.map(|r| r.unwrap()).collect();
                reverse.reverse();
                assert!(reverse == all[..=from], "{shards} {from} {key:?}: {}", reverse.len());
            }
        }
        assert!(table.iter_from(b"none", Direction::Forward).unwrap().is_none());
    }
}

#[test]
fn what_comes_later_is_not_seen() {
    let home = Home::new();
    let table = home.open(small());
    fill(&table, 0..100);
    let iter = table.iter(Direction::Forward).unwrap();
    let segments = table.info().segments;
    fill(&table, 100..200);
    table.finish_upkeep().unwrap();
    assert_eq!(iter.map(|r| r.unwrap().value).collect::<Vec<_>>(), (0..100).map(value).collect::<Vec<_>>());
    let after = table.info().segments;
    drop(table.iter(Direction::Reverse).unwrap());
    assert!(after > segments && table.info().segments == after, "an iterator seals nothing");
}

/// A clock that stands still. A look at it collects the segments of the table that it was given.
#[derive(Debug, Default)]
struct CollectingClock(Mutex<Option<Arc<Table>>>);

impl Clock for CollectingClock {
    fn monotonic(&self) -> Duration {
        let table = self.0.lock().unwrap().take();
        if let Some(table) = table {
            assert_eq!(table.collect().unwrap(), 2);
        }
        Duration::ZERO
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

#[test]
fn a_collection_beside_a_new_iterator_takes_nothing_of_it() {
    let home = Home::new();
    let clock = Arc::new(CollectingClock::default());
    let store = Littable::open(StoreOptions { clock: clock.clone(), ..home.options() }).unwrap();
    let table = store.table(TableOptions { segment_keys: 10, ..large() }).unwrap();
    for n in 0..40_u32 {
        let key = n.to_be_bytes();
        table.put_group(&Group { number: Some(n.into()), ..Group::new(&key, &value(n)) }).unwrap();
    }
    table.seal().unwrap();
    table.set_floor(20).unwrap();
    // The lease of the iterator is what looks at the clock.
    *clock.0.lock().unwrap() = Some(table.clone());
    let iter = table.iter(Direction::Forward).unwrap();
    assert!(clock.0.lock().unwrap().is_none(), "the collection came in between");
    let values: Vec<_> = iter.map(|record| record.unwrap().value).collect();
    assert_eq!(values, (20..40).map(value).collect::<Vec<_>>());
}
