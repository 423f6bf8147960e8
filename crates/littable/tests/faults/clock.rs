//! Clocks that jump: retention by age counts time that passed while the store was open, and nothing
//! else.

use crate::row;
use crate::workload::Run;
use std::time::{Duration, SystemTime};

const HOUR: Duration = Duration::from_secs(3_600);
const YEAR: Duration = Duration::from_secs(365 * 24 * 3_600);

#[test]
fn a_clock_that_jumps_expires_nothing() {
    let mut tried = 0;
    for seed in 0..8 {
        let mut run = Run::new(seed);
        run.options.ttl = Some(HOUR);
        run.options.segment_bytes = 2_000;
        let (store, table) = run.open().unwrap();
        for n in 0..60_u64 {
            let value = vec![n as u8; 300];
            table.put(&n.to_be_bytes(), &value).unwrap();
        }
        table.finish_upkeep().unwrap();
        table.flush().unwrap();
        let there = |table: &hearth_littable::Table| {
            (0..60_u64).filter(|n| matches!(table.get(&n.to_be_bytes()), Ok(Some(_)))).count()
        };
        // The time of day goes a century forth and back.
        for wall in [SystemTime::UNIX_EPOCH + 100 * YEAR, SystemTime::UNIX_EPOCH] {
            run.clock.set_wall(wall);
            assert_eq!(table.collect().unwrap(), 0);
            tried += 1;
        }
        // The machine sleeps for a year: one step counts as one look at the clock.
        run.clock.advance(YEAR);
        assert_eq!(table.collect().unwrap(), 0, "seed {seed}");
        assert_eq!(there(&table), 60);
        tried += 1;
        // The store is closed for a year.
        drop((table, store));
        run.clock.advance(YEAR);
        let (_store, table) = run.open().unwrap();
        assert_eq!(table.collect().unwrap(), 0, "seed {seed}");
        assert_eq!(there(&table), 60);
        tried += 1;
        // And time that does pass does count.
        for _ in 0..2_000 {
            run.clock.advance(Duration::from_secs(5));
            table.collect().unwrap();
        }
        assert!(there(&table) < 60, "seed {seed}: nothing ever goes");
    }
    row("clock jump", tried, 0, 0);
}
