use crate::support::{Home, fill, small, value};
use hearth_littable::{Direction, Group, Record, TableOptions};

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
