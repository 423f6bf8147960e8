//! Tables that are open for reading, beside the writer.

use crate::support::{Home, assert_holds, fill, large, value};
use hearth_littable::{Direction, Group, LittError, Littable, Table, TableOptions};
use std::sync::Arc;

/// A writer of five segments of ten records, numbered like their keys, and a reader beside it.
fn both(home: &Home) -> (Arc<Table>, Arc<Table>) {
    let options = TableOptions { segment_keys: 10, ..large() };
    let writer = home.open(options.clone());
    for n in 0..50_u32 {
        let key = n.to_be_bytes();
        writer.put_group(&Group { number: Some(n.into()), ..Group::new(&key, &value(n)) }).unwrap();
    }
    writer.seal().unwrap();
    let reader = Littable::open_read_only(home.options()).unwrap().table(options).unwrap();
    (writer, reader)
}

#[test]
fn a_reader_finds_what_its_writer_merged() {
    let home = Home::new();
    let (writer, reader) = both(&home);
    assert_eq!(home.files(".idx").len(), 5);
    writer.finish_upkeep().unwrap();
    assert_eq!(home.files(".idx").len(), 1);
    assert_holds(&reader, 0..50, 60);
}

#[test]
fn what_a_writer_collected_is_pruned_and_no_damage() {
    let home = Home::new();
    let (writer, reader) = both(&home);
    // One index of all segments, which stays when some of them go.
    writer.finish_upkeep().unwrap();
    reader.refresh().unwrap();
    writer.set_floor(30).unwrap();
    assert_eq!(writer.collect().unwrap(), 3);
    let gone = reader.get(&7_u32.to_be_bytes());
    assert!(matches!(gone, Err(LittError::Pruned { floor: 30, .. })), "{gone:?}");
    assert_eq!(reader.get(&45_u32.to_be_bytes()).unwrap().unwrap(), value(45));
    let report = reader.scrub().unwrap();
    assert_eq!((report.damaged, report.records), (0, 20), "{:?}", report.damage);
}

#[test]
fn a_readers_iterator_goes_on_behind_collected_segments() {
    let home = Home::new();
    let (writer, reader) = both(&home);
    let iter = reader.iter(Direction::Forward).unwrap();
    writer.set_floor(30).unwrap();
    assert_eq!(writer.collect().unwrap(), 3);
    // The file of the first segment is open.
    let (read, gone): (Vec<_>, Vec<_>) = iter.partition(Result::is_ok);
    let read: Vec<_> = read.into_iter().map(|record| record.unwrap().value).collect();
    assert_eq!(read, (0..10).chain(30..50).map(value).collect::<Vec<_>>());
    assert_eq!(gone.len(), 2, "{gone:?}");
    assert!(gone.iter().all(|error| matches!(error, Err(LittError::Pruned { floor: 30, .. }))), "{gone:?}");
}

#[test]
fn the_position_of_a_refreshed_reader_is_the_writers() {
    let home = Home::new();
    let writer = home.open(large());
    fill(&writer, 0..10);
    writer.drain().unwrap();
    let reader = Littable::open_read_only(home.options()).unwrap().table(large()).unwrap();
    let before = writer.position().unwrap();
    fill(&writer, 10..20);
    writer.drain().unwrap();
    assert_eq!(reader.position().unwrap(), before);
    reader.refresh().unwrap();
    assert_eq!(reader.position().unwrap(), writer.position().unwrap());
    assert_eq!(reader.len(), 20);
}
