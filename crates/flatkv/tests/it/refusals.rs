//! Bad input gets a typed error, and nothing is written.

use crate::model::{BASE, Block, Home, Tables, check};
use alloy_primitives::B256;
use hearth_flatkv::{CommitmentKind, FlatKv, FlatKvError, Fsync, Holder, JoinedTables, LockError};
use hearth_primitives::{RootTracker, StateError, StateReader};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

#[test]
fn a_second_opener_is_told_that_the_home_is_open() {
    let home = Home::new(CommitmentKind::Mpt);
    let kv = home.open().unwrap();
    match home.open().err() {
        Some(error @ FlatKvError::Locked(_)) => {
            let path = home.options().dir.join("hearth.lock");
            let me = Holder::this_process();
            assert_eq!(me.pid, std::process::id());
            assert_eq!(
                error.to_string(),
                format!("{} is held by process {} on {}", path.display(), me.pid, me.host)
            );
            let FlatKvError::Locked(LockError::Held { holder, .. }) = error else { panic!("{error}") };
            assert_eq!(holder, Some(me));
        }
        other => panic!("{other:?}"),
    }
    drop(kv);
    home.open().unwrap();
}

#[test]
fn another_commitment_is_refused() {
    let mut home = Home::new(CommitmentKind::Mpt);
    drop(home.open().unwrap());
    home.kind = CommitmentKind::LtHash;
    let error = home.open().err().unwrap();
    assert_eq!(
        error.to_string(),
        "this data directory was made with commitment \"mpt\" and cannot be opened with \"lthash\""
    );
}

#[test]
fn commits_that_do_not_follow_the_head_are_refused() {
    let home = Home::new(CommitmentKind::Mpt);
    let kv = home.open().unwrap();
    let base = Block::base(1);
    let changing = |seed: &u64| base.next(*seed).world.accounts != base.world.accounts;
    let next = base.next((2..).find(changing).unwrap());
    assert!(matches!(kv.commit(base.as_commit(&home.tables)), Err(FlatKvError::Empty)));
    assert!(matches!(kv.unwind(3), Err(FlatKvError::Empty)));
    assert!(kv.latest().is_none());
    base.commit(&kv, &home.tables, false).unwrap();
    assert!(matches!(kv.init(base.as_commit(&home.tables)), Err(FlatKvError::NotEmpty { head: BASE })));
    assert!(matches!(
        kv.commit(next.next(3).as_commit(&home.tables)),
        Err(FlatKvError::Height { expected: 8, got: 9 })
    ));
    let mut stranger = next.clone();
    stranger.parent = B256::ZERO;
    assert!(matches!(
        kv.commit(stranger.as_commit(&home.tables)),
        Err(FlatKvError::Parent { height: 8, got: B256::ZERO, .. })
    ));
    let mut wrong = next.as_commit(&home.tables);
    wrong.state_root = Some(B256::repeat_byte(1));
    match kv.commit(wrong) {
        Err(FlatKvError::StateRoot { height: 8, expected, got }) => {
            assert_eq!((expected, got), (B256::repeat_byte(1), next.world.root()));
        }
        other => panic!("{other:?}"),
    }
    let mut stale = kv.trie().unwrap();
    stale.apply(&next.changes).unwrap();
    let stale = stale.into_update().unwrap();
    next.commit(&kv, &home.tables, true).unwrap();
    let after = next.next(5);
    let mut reused = after.as_commit(&home.tables);
    reused.trie = Some(stale);
    assert!(matches!(kv.commit(reused), Err(FlatKvError::TrieBase { .. })));
    for to in [BASE - 1, 9] {
        match kv.unwind(to) {
            Err(FlatKvError::UnwindTarget { to: got, oldest: BASE, newest: 8 }) => assert_eq!(got, to),
            other => panic!("{other:?}"),
        }
    }
    check(&kv, &[base, next], CommitmentKind::Mpt);
}

#[test]
fn a_closed_store_takes_nothing_and_still_reads() {
    let home = Home::new(CommitmentKind::Mpt);
    let kv = home.open().unwrap();
    let base = Block::base(1);
    base.commit(&kv, &home.tables, false).unwrap();
    kv.close().unwrap();
    kv.close().unwrap();
    assert!(matches!(base.next(2).commit(&kv, &home.tables, false), Err(FlatKvError::Closed)));
    assert!(matches!(kv.flush(), Err(FlatKvError::Closed)));
    check(&kv, &[base], CommitmentKind::Mpt);
}

#[test]
fn views_of_unwound_blocks_say_so_and_the_others_go_on() {
    let home = Home::new(CommitmentKind::Mpt);
    let kv = home.open().unwrap();
    let mut chain = vec![Block::base(1)];
    chain[0].commit(&kv, &home.tables, false).unwrap();
    for seed in 0..10 {
        let next = chain[chain.len() - 1].next(seed);
        next.commit(&kv, &home.tables, false).unwrap();
        chain.push(next);
    }
    let (kept, gone) = (kv.at(chain[4].height).unwrap(), kv.at(chain[5].height).unwrap());
    let (clone, latest) = (gone.clone(), kv.latest().unwrap());
    kv.unwind(chain[4].height).unwrap();
    let mut other = chain[4].next(77);
    for seed in 0..5 {
        other.commit(&kv, &home.tables, true).unwrap();
        other = other.next(seed);
    }
    for view in [gone, clone, latest] {
        let answer = view.account(&crate::model::address(1));
        assert!(matches!(answer, Err(StateError::Unwound { height }) if height == view.height()));
        assert!(view.storage_of(&crate::model::address(1)).is_err());
    }
    chain[4].world.check(&kept, chain[4].height).unwrap();
}

#[test]
fn every_fsync_mode_keeps_commits() {
    for fsync in [Fsync::Block, Fsync::Interval(Duration::from_millis(1)), Fsync::None] {
        let home = Home::new(CommitmentKind::Mpt);
        let mut options = home.options();
        options.fsync = fsync;
        let kv = hearth_flatkv::FlatKv::open(options, home.tables.clone()).unwrap();
        let mut chain = vec![Block::base(1)];
        chain[0].commit(&kv, &home.tables, false).unwrap();
        for seed in 0..30 {
            let next = chain[chain.len() - 1].next(seed);
            next.commit(&kv, &home.tables, false).unwrap();
            chain.push(next);
        }
        check(&home.killed().open().unwrap(), &chain, CommitmentKind::Mpt);
    }
}

#[test]
fn missing_code_is_named_and_the_index_has_bounds() {
    let home = Home::new(CommitmentKind::Mpt);
    let kv = home.open().unwrap();
    Block::base(1).commit(&kv, &home.tables, false).unwrap();
    let hash = B256::repeat_byte(9);
    let error = kv.latest().unwrap().code(&hash).unwrap_err();
    assert_eq!(error.to_string(), format!("code {hash} is missing from the store"));
    assert_eq!(kv.index_get(b"absent").unwrap(), None);
    assert_eq!(kv.index_get(b"n7").unwrap(), Some(1u64.to_be_bytes().to_vec()));
    assert_eq!(kv.index_range(b"n7", b"n8", 10).unwrap().len(), 1);
    assert_eq!(kv.index_range(b"n7", b"n8", 0).unwrap().len(), 0);
    assert_eq!(kv.index_range(b"n7", b"n7", 10).unwrap().len(), 0);
    assert_eq!(kv.index_range(b"z", b"a", 10).unwrap().len(), 0);
}

/// Tables that cannot be read the first time.
struct FailsOnce {
    tables: Arc<Tables>,
    fails: AtomicBool,
}

impl JoinedTables for FailsOnce {
    fn verify(&self, positions: &[u64]) -> Result<bool, StateError> {
        if self.fails.swap(false, SeqCst) {
            return Err(StateError::Store("the disk of the tables does not answer".to_owned()));
        }
        self.tables.verify(positions)
    }

    fn truncate(&self, positions: &[u64]) -> Result<(), StateError> {
        self.tables.truncate(positions)
    }

    fn sync(&self) -> Result<(), StateError> {
        self.tables.sync()
    }

    fn positions(&self) -> Vec<u64> {
        self.tables.positions()
    }
}

#[test]
fn nothing_is_cut_off_where_tables_cannot_be_read() {
    let home = Home::new(CommitmentKind::Mpt);
    let kv = home.open().unwrap();
    let mut chain = vec![Block::base(1)];
    chain[0].commit(&kv, &home.tables, false).unwrap();
    for seed in 0..4 {
        let next = chain[chain.len() - 1].next(seed);
        next.commit(&kv, &home.tables, false).unwrap();
        chain.push(next);
    }
    let killed = home.killed();
    let tables = Arc::new(FailsOnce { tables: killed.tables.clone(), fails: AtomicBool::new(true) });
    let error = FlatKv::open(killed.options(), tables.clone()).err().unwrap().to_string();
    assert!(error.contains("the disk of the tables does not answer"), "{error}");
    check(&FlatKv::open(killed.options(), tables).unwrap(), &chain, CommitmentKind::Mpt);
}

#[test]
fn a_store_whose_state_is_gone_is_not_taken_for_a_new_one() {
    let home = Home::new(CommitmentKind::Mpt);
    let kv = home.open().unwrap();
    let base = Block::base(1);
    base.commit(&kv, &home.tables, false).unwrap();
    drop(kv);
    let options = home.options();
    std::fs::remove_dir_all(&options.dir).unwrap();
    std::fs::remove_dir_all(&options.wal_dir).unwrap();
    let positions = home.tables.positions();
    let Some(FlatKvError::Gone { dir }) = home.open().err() else { panic!("taken for a new store") };
    assert_eq!(dir, options.dir);
    assert_eq!(home.tables.positions(), positions, "what the tables hold stays");
    // A store that was begun and holds nothing yet is no such case.
    home.tables.truncate(&[0]).unwrap();
    drop(home.open().unwrap());
    home.tables.append(5);
    assert_eq!(home.open().unwrap().head(), None);
    assert_eq!(home.tables.positions(), [0]);
}
