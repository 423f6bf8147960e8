//! Snapshots: taken by interval and on demand, beside commits; pruned; read beside the store; whole
//! or not there.

use crate::{
    model::{BASE, Block, Home, Random},
    proofs::{as_part_of_run, destroys},
    steps::{StopDisk, stride},
};
use hearth_flatkv::{
    CommitmentKind, FlatKv, FlatKvError, JoinedTables, Options, Snapshot, list_snapshots, roll_back,
};
use hearth_primitives::{Height, RootTracker as _, StateError};
use std::num::NonZeroU64;
use std::{
    fs,
    sync::Arc,
    thread::sleep,
    time::{Duration, Instant},
};

/// Commits blocks on a chain until it has one of this height.
pub fn grow(kv: &Arc<FlatKv>, home: &Home, chain: &mut Vec<Block>, to: Height, random: &mut Random) {
    while chain.last().is_none_or(|top| top.height < to) {
        let block = match chain.last() {
            Some(top) => top.next(random.next()),
            None => Block::base(random.next()),
        };
        block.commit(kv, &home.tables, false).unwrap();
        chain.push(block);
    }
}

/// The block of a height.
pub fn at(chain: &[Block], height: Height) -> &Block {
    &chain[(height - BASE) as usize]
}

fn wait_for(kv: &FlatKv, height: Height) -> Snapshot {
    let began = Instant::now();
    loop {
        if let Some(found) = kv.snapshots().into_iter().find(|snapshot| snapshot.height >= height) {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "no snapshot of height {height}");
        sleep(Duration::from_millis(2));
    }
}

/// Every height of a snapshot against the chain.
fn check(options: Options, chain: &[Block], snapshot: &Snapshot) {
    let kv = FlatKv::open_in(options, snapshot).unwrap();
    assert_eq!(kv.head(), Some(snapshot.head()));
    for height in BASE..=snapshot.height {
        at(chain, height).world.check(&kv.at(height).unwrap(), height).unwrap();
    }
    match kv.at(snapshot.height + 1) {
        Err(StateError::NotRetained { oldest: BASE, newest, .. }) => assert_eq!(newest, snapshot.height),
        _ => panic!("a height above the snapshot"),
    }
}

#[test]
fn one_is_taken_at_each_interval_and_the_newest_are_kept() {
    for kind in [CommitmentKind::Mpt, CommitmentKind::LtHash, CommitmentKind::None] {
        let home = Home::new(kind);
        let options = home.options_with(|settings| settings.snapshot_interval_blocks = NonZeroU64::new(10));
        let kv = FlatKv::open(options.clone(), home.tables.clone()).unwrap();
        let (mut chain, mut random) = (Vec::new(), Random(5));
        for due in [10, 20, 30, 40] {
            grow(&kv, &home, &mut chain, due, &mut random);
            let snapshot = wait_for(&kv, due);
            assert_eq!((snapshot.height, snapshot.hash), (due, at(&chain, due).hash), "{kind}");
            assert_eq!((snapshot.oldest, snapshot.kind), (BASE, kind));
            assert_eq!(snapshot.wal_sequence, due - BASE + 1);
            grow(&kv, &home, &mut chain, due + 3, &mut random);
        }
        wait_for(&kv, 40);
        while kv.snapshots().len() > 2 {
            sleep(Duration::from_millis(2));
        }
        let there = kv.snapshots();
        assert_eq!(there.iter().map(|snapshot| snapshot.height).collect::<Vec<_>>(), [30, 40]);
        assert_eq!(list_snapshots(&options).unwrap(), there);
        for snapshot in &there {
            check(options.clone(), &chain, snapshot);
        }
        // Opened again, the store knows them.
        kv.close().unwrap();
        drop(kv);
        let kv = FlatKv::open(options, home.tables.clone()).unwrap();
        assert_eq!(kv.snapshots(), there);
    }
}

#[test]
fn one_is_taken_where_the_interval_ends_within_a_run() {
    let home = Home::new(CommitmentKind::Mpt);
    let options = home.options_with(|settings| settings.snapshot_interval_blocks = NonZeroU64::new(10));
    let kv = FlatKv::open(options.clone(), home.tables.clone()).unwrap();
    let (mut chain, mut random) = (Vec::new(), Random(6));
    for (below, last, is_due) in [(7, 13, true), (18, 19, false), (19, 24, true)] {
        grow(&kv, &home, &mut chain, below, &mut random);
        let first = chain.len();
        let mut trie = kv.trie().unwrap();
        while chain.last().is_none_or(|top| top.height < last) {
            let top = &chain[chain.len() - 1];
            let next = (0..).map(|_| top.next(random.next())).find(|block| !destroys(block)).unwrap();
            trie.apply(&next.changes).unwrap();
            chain.push(next);
        }
        let run = chain[first..].iter().map(|block| as_part_of_run(block, &home)).collect();
        kv.commit_run(run, Some(trie.into_update().unwrap())).unwrap();
        if is_due {
            let snapshot = wait_for(&kv, last);
            assert_eq!((snapshot.height, snapshot.hash), (last, at(&chain, last).hash));
            check(options.clone(), &chain, &snapshot);
        }
    }
    assert_eq!(kv.snapshots().len(), 2);
}

#[test]
fn a_snapshot_on_demand_is_of_the_head_and_is_read_only() {
    let home = Home::new(CommitmentKind::Mpt);
    let kv = home.open().unwrap();
    assert!(matches!(kv.snapshot(), Err(FlatKvError::Empty)));
    let none = FlatKv::open_snapshot(home.options(), None).err().unwrap();
    assert!(none.to_string().starts_with("there is no snapshot in "), "{none}");
    let (mut chain, mut random) = (Vec::new(), Random(8));
    grow(&kv, &home, &mut chain, 12, &mut random);
    let first = kv.snapshot().unwrap();
    assert_eq!((first.height, first.commitment), (12, at(&chain, 12).world.root()));
    assert_eq!(kv.snapshot().unwrap(), first, "nothing was committed since");
    grow(&kv, &home, &mut chain, 15, &mut random);
    check(home.options(), &chain, &first);
    let second = kv.snapshot().unwrap();
    assert_eq!(second.height, 15);

    let newest = FlatKv::open_snapshot(home.options(), None).unwrap();
    assert_eq!(newest.head(), kv.head());
    assert!(matches!(newest.unwind(12), Err(FlatKvError::ReadOnly)));
    assert!(matches!(newest.flush(), Err(FlatKvError::ReadOnly)));
    assert!(matches!(newest.snapshot(), Err(FlatKvError::ReadOnly)));
    let block = at(&chain, 15).next(1);
    assert!(matches!(newest.commit(block.as_commit(&home.tables.copy())), Err(FlatKvError::ReadOnly)));
    let missing = FlatKv::open_snapshot(home.options(), Some(16)).err().unwrap().to_string();
    assert!(missing.starts_with("no snapshot has height 16: those in "), "{missing}");
    assert!(missing.ends_with("have heights 7 to 12, 7 to 15"), "{missing}");
    // A reader of a snapshot continues on its open files after the store deleted the snapshot.
    let old = FlatKv::open_snapshot(home.options(), Some(12)).unwrap();
    for height in [16, 17] {
        grow(&kv, &home, &mut chain, height, &mut random);
        kv.snapshot().unwrap();
    }
    assert!(!first.dir.exists());
    at(&chain, 12).world.check(&old.at(12).unwrap(), 12).unwrap();
}

#[test]
fn unwound_blocks_leave_a_snapshot_that_still_reads() {
    let home = Home::new(CommitmentKind::Mpt);
    let kv = home.open().unwrap();
    let (mut chain, mut random) = (Vec::new(), Random(11));
    grow(&kv, &home, &mut chain, 14, &mut random);
    let stale = kv.snapshot().unwrap();
    let old_chain = chain.clone();
    kv.unwind(10).unwrap();
    chain.truncate((10 - BASE + 1) as usize);
    grow(&kv, &home, &mut chain, 14, &mut random);
    let fresh = kv.snapshot().unwrap();
    assert_eq!(stale.height, fresh.height);
    assert_ne!((stale.hash, &stale.dir), (fresh.hash, &fresh.dir));
    check(home.options(), &chain, &fresh);
    fs::remove_dir_all(&fresh.dir).unwrap();
    check(home.options(), &old_chain, &stale);
}

#[test]
fn the_wal_reaches_the_oldest_snapshot_and_is_bounded() {
    let home = Home::new(CommitmentKind::None);
    const WAL_MAX_BYTES: u64 = 64 << 10;
    let options = home.options_with(|settings| settings.wal_max_bytes = NonZeroU64::new(WAL_MAX_BYTES));
    let kv = FlatKv::open(options.clone(), home.tables.clone()).unwrap();
    let (mut chain, mut random) = (Vec::new(), Random(21));
    let bytes = || home.segments().iter().map(|path| fs::metadata(path).unwrap().len()).sum::<u64>();
    let mut most = 0;
    for round in 1..=60 {
        grow(&kv, &home, &mut chain, BASE + round * 20, &mut random);
        kv.flush().unwrap();
        most = most.max(bytes());
        // A snapshot that was forced may still be under way; it is waited for, so that the bound is
        // exact.
        if most > WAL_MAX_BYTES {
            kv.snapshot().unwrap();
            kv.flush().unwrap();
        }
        let oldest = kv.snapshots().first().map_or(0, |oldest| oldest.wal_sequence);
        let first = &home.segments()[0];
        let first: u64 = first.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        assert!(first <= oldest + 1, "record {} is gone, the oldest snapshot has {oldest}", oldest + 1);
    }
    assert!(!kv.snapshots().is_empty(), "no snapshot was forced");
    assert!(bytes() <= WAL_MAX_BYTES + 3 * (2 << 10) + (8 << 10), "{} bytes of WAL", bytes());
}

#[test]
fn whatever_step_a_snapshot_stops_at_it_is_whole_or_not_there() {
    let (mut stops, mut published) = (0, 0);
    loop {
        let home = Home::new(CommitmentKind::Mpt);
        let (mut chain, mut random) = (Vec::new(), Random(stops as u64 + 1));
        {
            let kv = home.open().unwrap();
            grow(&kv, &home, &mut chain, 11, &mut random);
            kv.snapshot().unwrap();
            grow(&kv, &home, &mut chain, 13, &mut random);
            kv.close().unwrap();
        }
        // One is kept, so the older one goes: taking and pruning both stop somewhere.
        let disk = StopDisk::after(i64::MAX);
        let options = Options {
            disk: Arc::new(disk.clone()),
            ..home.options_with(|settings| settings.snapshot_keep = 1)
        };
        let kv = FlatKv::open(options, home.tables.clone()).unwrap();
        grow(&kv, &home, &mut chain, 14, &mut random);
        kv.flush().unwrap();
        disk.stop_after(stops);
        let taken = kv.snapshot();
        let done = !disk.stopped();
        assert_eq!(taken.is_ok(), done, "{taken:?}");
        let killed = home.killed();
        drop(kv);

        let kv = killed.open().unwrap();
        let names = fs::read_dir(killed.options().dir.join("snapshots")).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(names.len(), kv.snapshots().len(), "leftovers: {names:?}");
        assert!(!kv.snapshots().is_empty());
        for snapshot in kv.snapshots() {
            assert!([11, 14].contains(&snapshot.height));
            published += u64::from(snapshot.height == 14 && !done);
            check(killed.options(), &chain, &snapshot);
        }
        crate::model::check(&kv, &chain, CommitmentKind::Mpt);
        assert_eq!(kv.snapshot().unwrap().height, 14);
        if done {
            break;
        }
        stops += stride(stops);
    }
    assert!(stops > 20 && published > 0, "{stops} stops, {published} of them behind the publishing");
}

#[test]
fn a_snapshot_that_fails_leaves_no_copy_behind() {
    let home = Home::new(CommitmentKind::Mpt);
    let kv = home.open().unwrap();
    let (mut chain, mut random) = (Vec::new(), Random(14));
    grow(&kv, &home, &mut chain, 12, &mut random);
    let dir = home.options().dir.join("snapshots");
    let name = dir.join(format!("{:020}-{:020}", 12, 12 - BASE + 1));
    // A folder that is not empty cannot be replaced by the snapshot.
    fs::create_dir_all(name.join("other")).unwrap();
    kv.snapshot().unwrap_err();
    let left: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, std::slice::from_ref(&name));
    fs::remove_dir_all(&name).unwrap();
    assert_eq!((kv.snapshot().unwrap().height, name.exists()), (12, true));
}

#[test]
fn an_opening_skips_the_log_that_only_snapshots_need() {
    let home = Home::new(CommitmentKind::Mpt);
    let options = home.options_with(|settings| settings.wal_max_bytes = NonZeroU64::new(1 << 30));
    let tables: Arc<dyn JoinedTables> = home.tables.clone();
    let (mut chain, mut random) = (Vec::new(), Random(33));
    {
        let kv = FlatKv::open(options.clone(), home.tables.clone()).unwrap();
        grow(&kv, &home, &mut chain, 12, &mut random);
        kv.snapshot().unwrap();
        grow(&kv, &home, &mut chain, 120, &mut random);
        kv.close().unwrap();
    }
    let segments = home.segments();
    assert!(segments.len() > 10, "{} segments", segments.len());
    let middle = &segments[segments.len() / 2];
    let sound = fs::read(middle).unwrap();
    let mut spoilt = sound.clone();
    spoilt[100] ^= 1;
    fs::write(middle, &spoilt).unwrap();
    let kv = FlatKv::open(options.clone(), home.tables.clone()).unwrap();
    crate::model::check(&kv, &chain, CommitmentKind::Mpt);
    assert_eq!(home.segments(), segments, "none is gone while the snapshot needs them");
    drop(kv);
    let refused = roll_back(&options, &tables, 100, true).unwrap_err();
    assert!(matches!(refused, FlatKvError::WalDamaged { .. }), "{refused}");
    fs::write(middle, &sound).unwrap();
    assert_eq!(roll_back(&options, &tables, 100, true).unwrap().height, 100);
    chain.truncate((100 - BASE + 1) as usize);
    crate::model::check(&home.open().unwrap(), &chain, CommitmentKind::Mpt);
}
