use crate::support::{Home, fill, large, value};
use hearth_disk::{ManualClock, sim::SimDisk};
use hearth_littable::{Direction, Group, LittError, Littable, StoreOptions, Table, TableOptions};
use std::sync::Arc;
use std::time::Duration;

fn numbered(table: &Table, n: u32, number: u64) -> Result<(), LittError> {
    let key = n.to_be_bytes();
    table.put_group(&Group { number: Some(number), ..Group::new(&key, &value(n)) })
}

/// Ten segments of ten records, numbered like their keys.
fn hundred(home: &Home, options: &TableOptions) -> Arc<Table> {
    let table = home.open(options.clone());
    (0..100).for_each(|n| numbered(&table, n, n.into()).unwrap());
    table.seal().unwrap();
    table
}

fn ten() -> TableOptions {
    TableOptions { segment_keys: 10, ..large() }
}

#[test]
fn reads_below_the_floor_fail_and_segments_are_collected() {
    let home = Home::new();
    let mut table = hundred(&home, &ten());
    table.set_floor(35).unwrap();
    table.set_floor(20).unwrap();
    for reopened in [false, true] {
        if reopened {
            drop(table);
            table = home.open(ten());
        }
        assert_eq!(table.floor(), 35, "a floor does not sink");
        for n in 0..100_u32 {
            let got = table.get_numbered(&n.to_be_bytes(), n.into());
            match n < 35 {
                true => assert!(matches!(got, Err(LittError::Pruned { floor: 35, .. })), "{n}: {got:?}"),
                false => assert_eq!(got.unwrap().unwrap(), value(n)),
            }
            assert_eq!(table.exists(&n.to_be_bytes()).unwrap(), n >= 35);
        }
        assert!(matches!(numbered(&table, 7, 34), Err(LittError::Pruned { floor: 35, .. })));
    }
    let files = home.files(".seg").len();
    let size = table.size();
    assert_eq!(
        table.collect().unwrap(),
        3,
        "thirty records in three segments; the fourth has some that stay"
    );
    assert_eq!(home.files(".seg").len(), files - 3);
    assert!(table.size() < size && table.len() == 70);
    assert_eq!(table.collect().unwrap(), 0);
    drop(table);
    let table = home.open(ten());
    assert_eq!(table.len(), 70);
    for n in 30..35_u32 {
        let got = table.get(&n.to_be_bytes());
        assert!(
            matches!(got, Err(LittError::Pruned { floor: 35, .. })),
            "still in a segment that stays: {got:?}"
        );
    }
    // A collected key can be put again.
    numbered(&table, 7, 50).unwrap();
    assert_eq!(table.get(&7_u32.to_be_bytes()).unwrap().unwrap(), value(7));
    assert_eq!(table.iter(Direction::Forward).unwrap().count(), 66);
}

#[test]
fn segments_go_in_any_order() {
    let home = Home::new();
    let table = home.open(ten());
    // The first segment keeps a high number; those behind go before it.
    for n in 0..50_u32 {
        numbered(&table, n, if n == 3 { 1000 } else { n.into() }).unwrap();
    }
    table.seal().unwrap();
    table.finish_upkeep().unwrap();
    table.set_floor(40).unwrap();
    assert_eq!(table.collect().unwrap(), 3);
    drop(table);
    let table = home.open(ten());
    assert_eq!(table.get(&3_u32.to_be_bytes()).unwrap().unwrap(), value(3));
    assert!(!matches!(table.get(&15_u32.to_be_bytes()), Ok(Some(_))));
    table.set_floor(1001).unwrap();
    assert_eq!(table.collect().unwrap(), 2);
    assert_eq!(table.len(), 0);
    assert_eq!(home.files(".idx").len(), 0);
    drop(table);
    let table = home.open(ten());
    fill(&table, 60..80);
    assert_eq!(table.len(), 20);
}

#[test]
fn a_ttl_counts_open_time_in_bounded_steps() {
    let home = Home::new();
    let options = TableOptions { ttl: Some(Duration::from_secs(60)), segment_keys: 10, ..large() };
    let table = home.open(options.clone());
    fill(&table, 0..20);
    table.seal().unwrap();
    home.clock.advance(Duration::from_secs(1_000_000));
    assert_eq!(table.collect().unwrap(), 0, "a jump counts as two periods of 10 s at most");
    drop(table);
    home.clock.advance(Duration::from_secs(1_000_000));
    let table = home.open(options);
    assert_eq!(table.collect().unwrap(), 0, "time while it was closed does not count");
    for _ in 0..3 {
        home.clock.advance(Duration::from_secs(10));
        assert_eq!(table.collect().unwrap(), 0);
    }
    home.clock.advance(Duration::from_secs(10));
    assert_eq!(table.collect().unwrap(), 2, "20 s and four times 10 s");
    // Both must hold for records with a number.
    (30..40).for_each(|n| numbered(&table, n, n.into()).unwrap());
    table.seal().unwrap();
    for _ in 0..10 {
        home.clock.advance(Duration::from_secs(10));
        assert_eq!(table.collect().unwrap(), 0);
    }
    table.set_floor(40).unwrap();
    assert_eq!(table.collect().unwrap(), 1);
    (40..50).for_each(|n| numbered(&table, n, n.into()).unwrap());
    table.seal().unwrap();
    table.set_floor(50).unwrap();
    assert_eq!(table.collect().unwrap(), 0, "too young");
    table.set_ttl(None);
    assert_eq!(table.collect().unwrap(), 1);
}

#[test]
fn a_ttl_that_is_set_later_counts_from_the_writing() {
    let home = Home::new();
    let table = home.open(ten());
    assert_eq!(pass(&home.clock, &table, 60), 0);
    fill(&table, 0..20);
    table.seal().unwrap();
    table.set_ttl(Some(Duration::from_secs(30)));
    assert_eq!(pass(&home.clock, &table, 20), 0, "the table is 80 s old, its records 20 s");
    assert_eq!(pass(&home.clock, &table, 10), 2);
}

/// Lives of a store with a TTL of ten minutes, each of which ends with a kill.
struct Lives {
    disk: SimDisk,
    clock: Arc<ManualClock>,
}

impl Lives {
    fn new() -> Self {
        Self { disk: SimDisk::new(), clock: Arc::default() }
    }

    /// Lets the store live; gives what `live` does.
    fn next<T>(&mut self, live: impl FnOnce(&Table) -> T) -> T {
        let options = StoreOptions {
            background_threads: 0,
            clock: self.clock.clone(),
            disk: Arc::new(self.disk.clone()),
            ..StoreOptions::new("/store")
        };
        let store = Littable::open(options).unwrap();
        let table = store.table(TableOptions { ttl: Some(Duration::from_secs(600)), ..ten() }).unwrap();
        let lived = live(&table);
        self.disk = self.disk.kill();
        lived
    }
}

/// Lets time pass, with a collection every ten seconds; says how many segments went.
fn pass(clock: &ManualClock, table: &Table, seconds: u64) -> u32 {
    let mut removed = 0;
    for _ in 0..seconds / 10 {
        clock.advance(Duration::from_secs(10));
        removed += table.collect().unwrap();
    }
    removed
}

#[test]
fn lives_that_end_with_a_kill_count_for_the_ttl() {
    let mut lives = Lives::new();
    let clock = lives.clock.clone();
    let removed = [0, 1, 2].map(|life| {
        lives.next(|table| {
            fill(table, life * 20..life * 20 + 20);
            table.seal().unwrap();
            pass(&clock, table, 540)
        })
    });
    assert_eq!(removed, [0, 2, 2]);
}

#[test]
fn a_sealed_segment_says_how_old_the_table_was() {
    let mut lives = Lives::new();
    let clock = lives.clock.clone();
    lives.next(|table| {
        assert_eq!(pass(&clock, table, 50), 0);
        fill(table, 0..10);
        table.seal().unwrap();
        fill(table, 10..15);
        table.drain().unwrap();
    });
    // Less than a minute was lost, and all of it is counted from the sealed segment on. The other
    // one may be as young as its table.
    lives.next(|table| {
        table.seal().unwrap();
        assert_eq!(pass(&clock, table, 590), 0);
        assert_eq!(pass(&clock, table, 10), 2);
    });
}

#[test]
fn iterators_hold_segments_until_their_lease_ends() {
    let home = Home::new();
    let table = hundred(&home, &ten());
    let mut forward = table.iter(Direction::Forward).unwrap();
    let mut leaked = table.iter(Direction::Reverse).unwrap();
    for n in 0..15_u32 {
        assert_eq!(forward.next().unwrap().unwrap().key, n.to_be_bytes());
    }
    assert_eq!(leaked.next().unwrap().unwrap().key, 99_u32.to_be_bytes());
    table.set_floor(60).unwrap();
    let files = home.files(".seg").len();
    assert_eq!(table.collect().unwrap(), 6);
    assert_eq!(home.files(".seg").len(), files, "held by the iterators");
    assert!(!table.exists(&5_u32.to_be_bytes()).unwrap(), "but out of sight");
    for n in 15..100_u32 {
        assert_eq!(forward.next().unwrap().unwrap().value, value(n));
    }
    assert!(forward.next().is_none());
    drop(forward);
    home.clock.advance(Duration::from_secs(599));
    assert_eq!(leaked.next().unwrap().unwrap().key, 98_u32.to_be_bytes());
    table.collect().unwrap();
    assert_eq!(home.files(".seg").len(), files);
    home.clock.advance(Duration::from_secs(1));
    table.collect().unwrap();
    assert_eq!(home.files(".seg").len(), files - 6);
    assert!(matches!(leaked.next(), Some(Err(LittError::LeaseExpired { seconds: 600, .. }))));
    assert!(leaked.next().is_none());
}

/// A commit may name a position whose segment was collected since: what was put last need not have
/// the highest number, a block of a side branch for example. Going back to it must drop what came
/// behind, and what is collected stays so: that is no error. Where in its segment the
/// position lies makes no difference, for nothing of that is left.
#[test]
fn a_cut_into_a_collected_segment_drops_all_behind_it() {
    for (reopened, middle) in [(false, false), (false, true), (true, false), (true, true)] {
        let home = Home::new();
        let mut table = home.open(ten());
        (0..10).for_each(|n| numbered(&table, n, 100 + u64::from(n)).unwrap());
        let mut collected = Vec::new();
        for n in 10..20_u32 {
            numbered(&table, n, n.into()).unwrap();
            collected.push(table.position().unwrap());
        }
        (20..35).for_each(|n| numbered(&table, n, 100 + u64::from(n)).unwrap());
        let end = table.position().unwrap();
        table.seal().unwrap();
        table.set_floor(50).unwrap();
        assert_eq!(table.collect().unwrap(), 1);
        if reopened {
            drop(table);
            table = home.open(ten());
        }
        let position = if middle { collected[4] } else { collected[9] };
        assert!(table.verify(position).unwrap());
        table.truncate(position).unwrap();
        assert_eq!(table.position().unwrap(), position);
        for again in [false, true] {
            if again {
                drop(table);
                table = home.open(ten());
                assert!(table.verify(position).unwrap());
            }
            for n in 0..35_u32 {
                let there = table.get(&n.to_be_bytes());
                match n {
                    0..10 => assert_eq!(there.unwrap().unwrap(), value(n), "{n}"),
                    10..20 => assert!(!matches!(there, Ok(Some(_))), "{n}: {there:?}"),
                    _ => assert_eq!(there.unwrap(), None, "{n}"),
                }
            }
            assert!(!table.verify(end).unwrap());
            assert_eq!(table.len(), 10);
            assert_eq!(table.iter(Direction::Forward).unwrap().count(), 10);
        }
        // It continues from there, in segments of its own.
        (20..45).for_each(|n| numbered(&table, n, 100 + u64::from(n)).unwrap());
        drop(table);
        let table = home.open(ten());
        assert_eq!(table.len(), 35);
        assert_eq!(table.get(&44_u32.to_be_bytes()).unwrap().unwrap(), value(44));
        assert_eq!(table.scrub().unwrap().damaged, 0);
        // A segment that never was is another matter.
        assert!(matches!(
            table.truncate(u64::from(u32::MAX) << 32 | 500),
            Err(LittError::NoSuchPosition { .. })
        ));
    }
}
