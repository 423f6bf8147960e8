//! Crashes that only the inside can bring about: RocksDB on the disk without, or against, the WAL.

use crate::{Commit, CommitmentKind, FlatKv, FlatKvError, Fsync, Head, IndexWrite, NoTables, Options};
use alloy_primitives::{Address, B256, U256, keccak256};
use hearth_flatkv_storage::{
    commitment::Lattice,
    db::Family,
    rows::{account_value, meta, split_stamp},
};
use hearth_metrics::DataDb;
use hearth_primitives::{Account, AccountChange, Changeset, Height, SlotChange, StateReader};
use std::{fs, path::Path, sync::Arc};

const WHO: Address = Address::repeat_byte(7);

fn open(dir: &Path, kind: CommitmentKind) -> Result<Arc<FlatKv>, FlatKvError> {
    FlatKv::open(Options::new(dir.join("state"), dir.join("wal"), kind, Fsync::None), Arc::new(NoTables))
}

fn account(nonce: u64) -> Option<Account> {
    (nonce > 0).then(|| Account { nonce, ..Account::default() })
}

/// Commits a block in which the account's nonce and its slot 1 become `nonce`.
fn commit(kv: &FlatKv, nonce: u64) {
    let head = kv.head();
    let old = head.map_or(0, |_| kv.core.db.get(Family::Index, b"nonce").unwrap().unwrap()[0].into());
    let parent = head.map_or(B256::ZERO, |head| head.hash);
    let slot = SlotChange { slot: U256::from(1), old: U256::from(old), new: U256::from(nonce) };
    let (old, new) = (account(old), account(nonce));
    let change = AccountChange { address: WHO, old, new, wiped: false, storage: vec![slot] };
    let block = Commit {
        height: head.map_or(0, |head| head.height + 1),
        hash: keccak256([parent.as_slice(), &nonce.to_be_bytes()].concat()),
        parent,
        changes: &Changeset { accounts: vec![change], codes: vec![] },
        trie: None,
        state_root: None,
        index: vec![IndexWrite { key: b"nonce".to_vec(), value: Some(vec![nonce as u8]) }],
        positions: vec![],
    };
    if head.is_some() { kv.commit(block) } else { kv.init(block) }.unwrap();
}

fn nonce_at(kv: &Arc<FlatKv>, height: Height) -> u64 {
    let view = kv.at(height).unwrap();
    let nonce = view.account(&WHO).unwrap().map_or(0, |account| account.nonce);
    assert_eq!(view.storage(&WHO, &U256::from(1)).unwrap(), U256::from(nonce));
    nonce
}

fn nonces(kv: &Arc<FlatKv>) -> Vec<u64> {
    (0..=kv.head().unwrap().height).map(|height| nonce_at(kv, height)).collect()
}

fn wal(dir: &Path) -> Vec<u8> {
    fs::read(dir.join("wal").join("00000000000000000001.wal")).unwrap()
}

/// Closes without the flush of a clean close.
fn abandon(kv: Arc<FlatKv>) {
    kv.core.writer.lock().closed = true;
}

#[test]
fn a_manifest_whose_name_was_lost_leaves_the_one_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path(), CommitmentKind::Mpt).unwrap();
    [1, 2, 3].iter().for_each(|nonce| commit(&kv, *nonce));
    kv.core.db.flush(true).unwrap();
    commit(&kv, 4);
    abandon(kv);
    // As a cut leaves it in the middle of the next opening.
    let database = dir.path().join("state/db");
    let (current, before) = (database.join("CURRENT"), fs::read_to_string(database.join("CURRENT")).unwrap());
    fs::write(&current, "MANIFEST-000999\n").unwrap();
    let kv = open(dir.path(), CommitmentKind::Mpt).unwrap();
    assert_eq!(nonces(&kv), [1, 2, 3, 4]);
    commit(&kv, 5);
    drop(kv);
    let now = fs::read_to_string(&current).unwrap();
    assert!(now != before && database.join(now.trim_end()).exists(), "{now}");

    // A manifest that is newer than the one in CURRENT cannot result from a torn write.
    fs::write(&current, "MANIFEST-000001\n").unwrap();
    assert!(open(dir.path(), CommitmentKind::Mpt).is_err());
    fs::write(&current, now).unwrap();
    assert_eq!(nonces(&open(dir.path(), CommitmentKind::Mpt).unwrap()), [1, 2, 3, 4, 5]);
}

#[test]
fn a_manifest_that_rocksdb_would_read_for_ever_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path(), CommitmentKind::Mpt).unwrap();
    commit(&kv, 1);
    kv.close().unwrap();
    drop(kv);
    let database = dir.path().join("state/db");
    let manifest = database.join(fs::read_to_string(database.join("CURRENT")).unwrap().trim_end());
    let mut bytes = fs::read(&manifest).unwrap();
    // The type of the first record: changed from a full record to a full record of a recycled file.
    assert_eq!(bytes[6], 1);
    bytes[6] = 5;
    fs::write(&manifest, &bytes).unwrap();
    let refused = open(dir.path(), CommitmentKind::Mpt).err().map(|error| error.to_string()).unwrap();
    assert!(refused.contains("at byte 0 it has a record type that no MANIFEST has"), "{refused}");
    bytes[6] = 1;
    fs::write(&manifest, &bytes).unwrap();
    assert_eq!(nonces(&open(dir.path(), CommitmentKind::Mpt).unwrap()), [1]);
}

#[test]
fn rocksdb_ahead_of_the_wal_is_unwound() {
    for kind in [CommitmentKind::Mpt, CommitmentKind::LtHash] {
        let dir = tempfile::tempdir().unwrap();
        let kv = open(dir.path(), kind).unwrap();
        [1, 2, 3].iter().for_each(|nonce| commit(&kv, *nonce));
        let (short, then) = (wal(dir.path()), kv.head());
        [4, 5].iter().for_each(|nonce| commit(&kv, *nonce));
        kv.core.db.flush(true).unwrap();
        abandon(kv);
        fs::write(dir.path().join("wal").join("00000000000000000001.wal"), short).unwrap();
        let kv = open(dir.path(), kind).unwrap();
        assert_eq!(kv.head(), then);
        assert_eq!(nonces(&kv), [1, 2, 3]);
        assert_eq!(kv.index_get(b"nonce").unwrap(), Some(vec![3]));
        commit(&kv, 6);
        assert_eq!(nonces(&kv), [1, 2, 3, 6]);
    }
}

#[test]
fn rocksdb_on_another_branch_returns_to_the_common_block() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path(), CommitmentKind::Mpt).unwrap();
    [1, 2, 3, 4, 5].iter().for_each(|nonce| commit(&kv, *nonce));
    let (short, then) = (wal(dir.path()), kv.head());
    kv.unwind(1).unwrap();
    [7, 0, 9, 10, 11].iter().for_each(|nonce| commit(&kv, *nonce));
    assert_eq!(nonces(&kv), [1, 2, 7, 0, 9, 10, 11]);
    kv.core.db.flush(true).unwrap();
    abandon(kv);
    fs::write(dir.path().join("wal").join("00000000000000000001.wal"), short).unwrap();
    let kv = open(dir.path(), CommitmentKind::Mpt).unwrap();
    assert_eq!(kv.head(), then);
    assert_eq!(nonces(&kv), [1, 2, 3, 4, 5]);
}

#[test]
fn a_view_of_the_head_does_not_see_a_commit_that_is_under_way() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path(), CommitmentKind::None).unwrap();
    commit(&kv, 5);
    let head = kv.head().unwrap();
    let view = kv.latest().unwrap();
    let other = Address::repeat_byte(9);
    let change = |address, old, new, storage| AccountChange { address, old, new, wiped: false, storage };
    let gone = SlotChange { slot: U256::from(1), old: U256::from(5), new: U256::ZERO };
    let accounts = vec![change(WHO, account(5), None, vec![gone]), change(other, None, account(1), vec![])];
    let next = Head { height: 1, hash: B256::repeat_byte(1), ..head };
    // As in a commit: announced, written, not yet published.
    kv.core.upcoming.store(1, std::sync::atomic::Ordering::SeqCst);
    let mut batch = kv.core.db.batch().unwrap();
    let mut rows = hearth_flatkv_storage::measure::BatchRows::default();
    let changes = Changeset { accounts, codes: vec![] };
    let block_rows = hearth_flatkv_storage::rows::BlockRows { changes: &changes, legacy: &[] };
    let block = crate::commit::Block { head: &next, rows: block_rows, index: &[], first: false, oldest: 0 };
    crate::commit::put_block(&mut batch, &block, &mut rows);
    batch.write().unwrap();
    assert_eq!(kv.head(), Some(head));
    for view in [view, kv.latest().unwrap()] {
        assert_eq!(view.account(&WHO).unwrap(), account(5));
        assert_eq!(view.storage(&WHO, &U256::from(1)).unwrap(), U256::from(5));
        assert_eq!(view.storage_of(&WHO).unwrap(), [(U256::from(1), U256::from(5))]);
        assert_eq!(view.account(&other).unwrap(), None);
    }
    abandon(kv);
}

#[test]
fn unwind_restores_height_stamps() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path(), CommitmentKind::Mpt).unwrap();
    [1, 2, 2, 0, 4].iter().for_each(|nonce| commit(&kv, *nonce));
    let row = |kv: &FlatKv| kv.core.db.get(Family::Account, WHO.as_slice()).unwrap().map(|row| row.to_vec());
    let expect = |kv: &FlatKv, stamp, nonce| {
        let row = row(kv).unwrap();
        assert_eq!(split_stamp(&row).unwrap(), (stamp, account_value(&account(nonce).unwrap()).as_slice()));
    };
    expect(&kv, 4, 4);
    kv.unwind(3).unwrap();
    assert_eq!(row(&kv), None);
    kv.unwind(2).unwrap();
    expect(&kv, 1, 2);
    kv.unwind(0).unwrap();
    expect(&kv, 0, 1);
    // Nothing above the head is left in history or changes.
    assert_eq!(count(&kv, Family::History), 2, "one history row for the account, one for its slot");
}

#[test]
fn a_vector_of_all_data_dbs_becomes_one_for_each() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path(), CommitmentKind::LtHash).unwrap();
    [1, 2].iter().for_each(|nonce| commit(&kv, *nonce));
    let vectors = |kv: &FlatKv| {
        let row = |name| kv.core.db.get(Family::Metadata, name).unwrap().map(|row| row.to_vec());
        (Lattice::DBS.map(|of| row(meta::lattice(of))), row(meta::LATTICE))
    };
    let (each, none) = vectors(&kv);
    assert!(each.iter().all(Option::is_some) && each[0] != each[1] && none.is_none());
    // As an older version left it.
    let total = kv.core.writer.lock().lattice.as_ref().unwrap().total();
    let mut batch = kv.core.db.batch().unwrap();
    Lattice::DBS.iter().for_each(|of| batch.delete(Family::Metadata, meta::lattice(*of)));
    batch.put(Family::Metadata, meta::LATTICE, &total.to_bytes());
    batch.write().unwrap();
    assert_eq!(kv.verify(&mut |_| true).unwrap().findings, []);
    let then = kv.head();
    kv.close().unwrap();
    drop(kv);
    let kv = open(dir.path(), CommitmentKind::LtHash).unwrap();
    assert_eq!((kv.head(), vectors(&kv)), (then, (each, None)));
    assert_eq!(kv.verify(&mut |_| true).unwrap().findings, []);
    commit(&kv, 3);
    kv.unwind(1).unwrap();
    assert_eq!(kv.head(), then);
    kv.close().unwrap();
    drop(kv);
    let kv = open(dir.path(), CommitmentKind::LtHash).unwrap();
    // One of them gone is damage.
    let mut batch = kv.core.db.batch().unwrap();
    batch.delete(Family::Metadata, meta::lattice(DataDb::Legacy));
    batch.write().unwrap();
    assert_eq!(kv.verify(&mut |_| true).unwrap().findings.len(), 1);
    kv.close().unwrap();
    drop(kv);
    assert!(open(dir.path(), CommitmentKind::LtHash).is_err());
}

#[test]
fn a_damaged_root_node_or_vector_is_found_at_open() {
    for (kind, family, key) in [
        (CommitmentKind::Mpt, Family::Trie, [0].as_slice()),
        (CommitmentKind::LtHash, Family::Metadata, meta::lattice(DataDb::Account)),
        (CommitmentKind::LtHash, Family::Metadata, meta::lattice(DataDb::Storage)),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let kv = open(dir.path(), kind).unwrap();
        commit(&kv, 1);
        let mut row = kv.core.db.get(family, key).unwrap().unwrap().to_vec();
        row[40] ^= 1;
        let mut batch = kv.core.db.batch().unwrap();
        batch.put(family, key, &row);
        batch.write().unwrap();
        let head = kv.head().unwrap();
        kv.close().unwrap();
        drop(kv);
        match open(dir.path(), kind).err() {
            Some(FlatKvError::BadCommitment { height: 0, recorded, .. }) => {
                assert_eq!(recorded, head.commitment)
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn flushes_keep_the_replay_short_though_blocks_are_tiny() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path(), CommitmentKind::None).unwrap();
    (0..12_000).for_each(|n| commit(&kv, n % 200 + 1));
    let synced = kv.core.db.get(Family::Metadata, meta::SYNCED).unwrap().unwrap().to_vec();
    let synced = u64::from_be_bytes(synced.try_into().unwrap());
    assert!(12_000 - synced < 4_500, "the last flush was started at record {synced}");
    // What is on the disk without a clean close leads to the head.
    let killed = tempfile::tempdir().unwrap();
    for folder in ["state", "state/db", "wal"] {
        fs::create_dir(killed.path().join(folder)).unwrap();
        for entry in fs::read_dir(dir.path().join(folder)).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                fs::copy(entry.path(), killed.path().join(folder).join(entry.file_name())).unwrap();
            }
        }
    }
    let again = open(killed.path(), CommitmentKind::None).unwrap();
    assert_eq!(again.head(), kv.head());
    assert_eq!([0, 1, 6_000, 11_999].map(|height| nonce_at(&again, height)), [1, 2, 1, 200]);
}

#[test]
fn a_newer_format_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path(), CommitmentKind::Mpt).unwrap();
    let mut batch = kv.core.db.batch().unwrap();
    batch.put(Family::Metadata, meta::FORMAT, &9u32.to_be_bytes());
    batch.write().unwrap();
    drop(kv);
    let error = open(dir.path(), CommitmentKind::Mpt).err().unwrap();
    assert!(matches!(error, FlatKvError::NewerFormat { found: 9, supported: 2 }), "{error}");
}

#[test]
fn a_failed_write_refuses_changes_until_the_next_opening() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path(), CommitmentKind::Mpt).unwrap();
    commit(&kv, 1);
    let failed: Result<(), FlatKvError> = Err(FlatKvError::Closed);
    kv.core.writer.lock().fail(failed).unwrap_err();
    assert!(matches!(kv.unwind(0), Err(FlatKvError::Failed { .. })));
    let then: Option<Head> = kv.head();
    drop(kv);
    let kv = open(dir.path(), CommitmentKind::Mpt).unwrap();
    assert_eq!(kv.head(), then);
    commit(&kv, 2);
    assert_eq!(nonces(&kv), [1, 2]);
}

#[test]
fn a_batch_that_takes_long_refuses_one_change() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path(), CommitmentKind::Mpt).unwrap();
    commit(&kv, 1);
    {
        let mut writer = kv.core.lock_writer();
        writer.late = true;
        let refused = writer.check().unwrap_err().to_string();
        assert!(refused.contains("not written after 60 s"), "{refused}");
    }
    commit(&kv, 2);
    assert_eq!(nonces(&kv), [1, 2]);
}

#[test]
fn commits_after_a_panic_are_synced_one_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let (state, wal) = (dir.path().join("state"), dir.path().join("wal"));
    let options = Options::new(state, wal, CommitmentKind::None, Fsync::Block);
    let kv = FlatKv::open(options, Arc::new(NoTables)).unwrap();
    let is_synced = || !kv.core.dirty.load(std::sync::atomic::Ordering::SeqCst);
    commit(&kv, 1);
    assert!(is_synced());
    let work = || -> Result<(), FlatKvError> {
        commit(&kv, 2);
        panic!("planned")
    };
    let together = std::panic::AssertUnwindSafe(|| kv.sync_together(work));
    std::panic::catch_unwind(together).unwrap_err();
    assert!(!is_synced(), "the panic came before the sync");
    commit(&kv, 3);
    assert!(is_synced());
    assert_eq!(nonces(&kv), [1, 2, 3]);
}

#[test]
fn unwritten_rows_of_the_head_refuse_reads_until_a_replay() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path(), CommitmentKind::Mpt).unwrap();
    [1, 2, 3].iter().for_each(|nonce| commit(&kv, *nonce));
    // What a commit leaves whose batch fails behind its answer.
    let view = kv.latest().unwrap();
    kv.core.db.gate.close().open::<()>(&Err(hearth_primitives::StateError::Store("no space".to_owned())));
    for error in [
        kv.index_get(b"nonce").unwrap_err().to_string(),
        view.account(&WHO).unwrap_err().to_string(),
        kv.prove(2, &WHO, &[]).err().unwrap().to_string(),
    ] {
        assert!(error.contains("no space); start the node again"), "{error}");
    }
    let refused = kv.unwind(0).unwrap_err();
    assert!(matches!(&refused, FlatKvError::Failed { cause } if cause.contains("no space")), "{refused}");
    drop(view);
    kv.close().unwrap();
    drop(kv);
    let kv = open(dir.path(), CommitmentKind::Mpt).unwrap();
    assert_eq!(nonces(&kv), [1, 2, 3]);
    commit(&kv, 4);
}

/// Number of rows of a family.
#[test]
fn half_a_batch_hides_index_and_trie_until_the_next_opening() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path(), CommitmentKind::Mpt).unwrap();
    [1, 2, 3].iter().for_each(|nonce| commit(&kv, *nonce));
    // What is left of the next block where RocksDB took one half of it and then failed.
    let mut half = kv.core.db.batch().unwrap();
    half.put(Family::Index, b"nonce", &[4]);
    half.write().unwrap();
    kv.core.db.was_halved();
    for error in [
        kv.index_get(b"nonce").unwrap_err().to_string(),
        kv.index_range(&[], &[0xff], 9).unwrap_err().to_string(),
        kv.prove(2, &WHO, &[]).unwrap_err().to_string(),
    ] {
        assert!(error.contains("start the node again"), "{error}");
    }
    assert_eq!(nonces(&kv), [1, 2, 3]);
    abandon(kv);
    let kv = open(dir.path(), CommitmentKind::Mpt).unwrap();
    assert_eq!(nonces(&kv), [1, 2, 3]);
    assert_eq!(kv.index_get(b"nonce").unwrap(), Some(vec![3]));
    assert_eq!(kv.prove(2, &WHO, &[]).unwrap().account.unwrap().nonce, 3);
}

fn count(kv: &FlatKv, family: Family) -> usize {
    let mut rows = kv.core.db.prefix(family, b"").unwrap();
    let mut count = 0;
    while rows.row().is_some() {
        rows.next();
        count += 1;
    }
    count
}

#[test]
fn pruning_leaves_exactly_what_the_kept_heights_need() {
    // By height; the account and its slot change at each. In the second chain they are deleted at
    // the oldest height.
    for (values, kept_rows) in [([1, 2, 0, 5, 6, 7], 6), ([1, 2, 3, 0, 5, 6], 4)] {
        let dir = tempfile::tempdir().unwrap();
        let mut options =
            Options::new(dir.path().join("state"), dir.path().join("wal"), CommitmentKind::Mpt, Fsync::None);
        options.settings.state_history_blocks = std::num::NonZeroU64::new(2);
        let kv = FlatKv::open(options, Arc::new(NoTables)).unwrap();
        values.iter().for_each(|nonce| commit(&kv, *nonce));
        assert_eq!(kv.oldest(), Some(3));
        let start = std::time::Instant::now();
        while kv.pruned() < 3 {
            assert!(start.elapsed().as_secs() < 120, "pruned to {}", kv.pruned());
            std::thread::yield_now();
        }
        assert_eq!((count(&kv, Family::History), count(&kv, Family::Changes)), (kept_rows, 3));
        assert_eq!([3, 4, 5].map(|height| nonce_at(&kv, height)), [values[3], values[4], values[5]]);
        kv.unwind(3).unwrap();
        assert_eq!(nonce_at(&kv, 3), values[3]);
    }
}

#[test]
fn pruning_goes_on_after_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let (state, wal) = (dir.path().join("state"), dir.path().join("wal"));
    let mut options = Options::new(state, wal, CommitmentKind::Mpt, Fsync::None);
    options.settings.state_history_blocks = std::num::NonZeroU64::new(2);
    let kv = FlatKv::open(options, Arc::new(NoTables)).unwrap();
    let wait_for = |what: &dyn Fn() -> bool| {
        let start = std::time::Instant::now();
        while !what() {
            assert!(start.elapsed().as_secs() < 120, "pruned to {}", kv.pruned());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    };
    [1, 2, 3].iter().for_each(|nonce| commit(&kv, *nonce));
    // The thread cannot read what the block at height 1 changed.
    let failed = Err(hearth_primitives::StateError::Store("no reads for now".to_owned()));
    kv.core.db.gate.close().open::<()>(&failed);
    kv.core.oldest.store(1, std::sync::atomic::Ordering::SeqCst);
    kv.core.pruning.wake();
    let failure = "pruning of history failed and is tried again";
    wait_for(&|| kv.core.metrics.log.take().iter().any(|entry| entry.message == failure));
    assert_eq!(kv.pruned(), 0);
    kv.core.db.gate.close().open(&Ok(()));
    [4, 5].iter().for_each(|nonce| commit(&kv, *nonce));
    assert_eq!(kv.oldest(), Some(2));
    wait_for(&|| kv.pruned() == 2);
    assert_eq!(count(&kv, Family::Changes), 3);
    assert_eq!([2, 3, 4].map(|height| nonce_at(&kv, height)), [3, 4, 5]);
}

#[test]
fn rocksdb_ends_without_writes_unless_flushed() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path(), CommitmentKind::Mpt).unwrap();
    [1, 2, 3].iter().for_each(|nonce| commit(&kv, *nonce));
    abandon(kv);
    let options = Options::new(dir.path(), dir.path(), CommitmentKind::Mpt, Fsync::None);
    let flushed = {
        let db = hearth_flatkv_storage::db::Db::open(&dir.path().join("state/db"), &options).unwrap();
        let head = db.get(Family::Metadata, meta::HEAD).unwrap().unwrap();
        hearth_flatkv_storage::rows::read_head(&head).unwrap().height
    };
    // The first commit is flushed; the others are in the WAL alone.
    assert_eq!(flushed, 0);
    assert_eq!(nonces(&open(dir.path(), CommitmentKind::Mpt).unwrap()), [1, 2, 3]);
}
