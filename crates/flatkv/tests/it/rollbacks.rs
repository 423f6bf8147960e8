//! Operator rollback: from history and through a snapshot, stopped at every step, and what is
//! refused.

use crate::{
    model::{BASE, Block, Home, Random, check},
    snapshots::{at, grow},
    steps::{StopDisk, stride},
};
use hearth_flatkv::{CommitmentKind, FlatKv, FlatKvError, JoinedTables, Options, RollbackSource, roll_back};
use std::num::NonZeroU64;
use std::sync::Arc;

fn tables(home: &Home) -> Arc<dyn JoinedTables> {
    home.tables.clone()
}

/// A closed home with heights 7 to 30, with or without snapshots at 12 and 20.
fn home(kind: CommitmentKind, seed: u64, snapshots: bool) -> (Home, Vec<Block>) {
    let home = Home::new(kind);
    let kv = home.open().unwrap();
    let (mut chain, mut random) = (Vec::new(), Random(seed));
    for height in [12, 20] {
        grow(&kv, &home, &mut chain, height, &mut random);
        if snapshots {
            kv.snapshot().unwrap();
        }
    }
    grow(&kv, &home, &mut chain, 30, &mut random);
    kv.close().unwrap();
    (home, chain)
}

#[test]
fn a_height_is_reached_from_history_and_from_a_snapshot() {
    for kind in [CommitmentKind::Mpt, CommitmentKind::LtHash, CommitmentKind::None] {
        for (from_snapshot, to) in
            [(false, 9), (false, 25), (true, 15), (true, 25), (true, 20), (true, 10), (false, 30)]
        {
            let (home, mut chain) = home(kind, to, true);
            let top = chain.clone();
            let head = roll_back(&home.options(), &tables(&home), to, from_snapshot).unwrap();
            chain.truncate((to - BASE + 1) as usize);
            assert_eq!((head.height, head.hash), (to, at(&top, to).hash));
            let kv = home.open().unwrap();
            check(&kv, &chain, kind);
            let heights: Vec<_> = kv.snapshots().iter().map(|snapshot| snapshot.height).collect();
            assert!(heights.iter().all(|height| *height <= to), "{heights:?}");
            assert_eq!(heights.last(), Some(&to), "one of the new head");
            // The same blocks again give the same state and the same commitments.
            for block in &top[chain.len()..] {
                block.commit(&kv, &home.tables, false).unwrap();
            }
            check(&kv, &top, kind);
            kv.close().unwrap();
            drop(kv);
            check(&home.open().unwrap(), &top, kind);
        }
    }
}

#[test]
fn what_cannot_be_reached_is_refused_before_anything_changes() {
    let (home, chain) = home(CommitmentKind::Mpt, 3, true);
    let kv = home.open().unwrap();
    assert_eq!(kv.rollback_source(&home.options(), 9, false).unwrap(), RollbackSource::History);
    let RollbackSource::Snapshot(base) = kv.rollback_source(&home.options(), 15, true).unwrap() else {
        panic!("history")
    };
    assert_eq!(base.height, 20, "the newest one that has the height");
    let locked = roll_back(&home.options(), &tables(&home), 9, false).unwrap_err();
    assert!(matches!(locked, FlatKvError::Locked(_)), "{locked}");
    drop(kv);
    for (to, from_snapshot) in [(31, false), (31, true), (6, false), (6, true)] {
        let refused = roll_back(&home.options(), &tables(&home), to, from_snapshot).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!(
                "the state store cannot be taken back to height {to}: \
                 it has heights 7 to 30, its snapshots 7 to 12, 7 to 20"
            )
        );
    }
    check(&home.open().unwrap(), &chain, CommitmentKind::Mpt);
}

#[test]
fn an_interrupted_rollback_opens_at_the_old_or_the_new_head() {
    let to = 16;
    for from_snapshot in [false, true] {
        let (mut stops, mut finished, mut kept) = (0, 0, 0);
        let (whole, blocks) = home(CommitmentKind::Mpt, 1, true);
        loop {
            let (home, mut chain) = (whole.killed(), blocks.clone());
            let disk = StopDisk::after(stops);
            let options = Options { disk: Arc::new(disk.clone()), ..home.options() };
            let result = roll_back(&options, &tables(&home), to, from_snapshot);
            if !disk.stopped() {
                result.unwrap();
                break;
            }
            // What the stopped process had in memory is gone with it.
            let killed = home.killed();
            drop(home);
            let kv = killed.open().unwrap();
            let head = kv.head().unwrap();
            match head.height {
                height if result.is_ok() => assert_eq!(height, to, "stop {stops}"),
                16 => finished += 1,
                30 => kept += 1,
                other => panic!("head {other} after stop {stops}"),
            }
            chain.truncate((head.height - BASE + 1) as usize);
            check(&kv, &chain, CommitmentKind::Mpt);
            drop(kv);
            stops += stride(stops);
            if stops % 3 > 0 {
                continue;
            }
            // Done again it ends where it was to.
            let head = roll_back(&killed.options(), &tables(&killed), to, from_snapshot).unwrap();
            assert_eq!(head.height, to);
            let leftovers =
                ["intent", "db.new", "db.old"].map(|name| killed.options().dir.join(name).exists());
            assert_eq!(leftovers, [false; 3]);
            check(
                &FlatKv::open(killed.options(), killed.tables.clone()).unwrap(),
                &chain[..10],
                CommitmentKind::Mpt,
            );
        }
        assert!(
            finished > 2 && kept > 2,
            "anew {from_snapshot}: {stops} stops, {finished} finished, {kept} as before"
        );
    }
}

#[test]
fn below_what_history_retains_a_snapshot_is_brought_forward() {
    for kind in [CommitmentKind::Mpt, CommitmentKind::LtHash] {
        for (to, base) in [(13, Some(12)), (17, Some(20)), (36, None)] {
            let home = Home::new(kind);
            let options = home.options_with(|settings| {
                settings.state_history_blocks = NonZeroU64::new(5);
                settings.wal_max_bytes = NonZeroU64::new(1 << 30);
            });
            let (mut chain, mut random) = (Vec::new(), Random(to));
            let kv = FlatKv::open(options.clone(), home.tables.clone()).unwrap();
            for height in [12, 20] {
                grow(&kv, &home, &mut chain, height, &mut random);
                kv.snapshot().unwrap();
            }
            grow(&kv, &home, &mut chain, 40, &mut random);
            assert_eq!(kv.oldest(), Some(35));
            let last = kv.head();
            let found = match kv.rollback_source(&options, to, false).unwrap() {
                RollbackSource::History => None,
                RollbackSource::Snapshot(snapshot) => Some(snapshot.height),
            };
            assert_eq!(found, base);
            assert!(matches!(kv.rollback_source(&options, 6, false), Err(FlatKvError::Unreachable { .. })));
            kv.close().unwrap();
            drop(kv);
            let head = roll_back(&options, &tables(&home), to, false).unwrap();
            assert_eq!((head.height, head.hash), (to, at(&chain, to).hash));
            let kv = FlatKv::open(options, home.tables.clone()).unwrap();
            at(&chain, to).world.check(&kv.at(to).unwrap(), to).unwrap();
            assert_eq!(kv.verify(&mut |_| true).unwrap().findings, [], "{kind} at {to}");
            for block in &chain[(to - BASE + 1) as usize..] {
                block.commit(&kv, &home.tables, false).unwrap();
            }
            assert_eq!(kv.head(), last);
            assert_eq!(kv.verify(&mut |_| true).unwrap().findings, [], "{kind} again");
        }
    }
}
