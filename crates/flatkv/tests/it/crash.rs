//! What a crash or damage leaves, and what opening makes of it.

use crate::model::{Block, Home, Random, check};
use hearth_flatkv::{CommitmentKind, FlatKvError};
use std::fs;

/// A home with a chain that was never flushed after its first block, in one WAL segment; the ends
/// of its records.
fn unflushed(blocks: usize) -> (Home, Vec<Block>, Vec<u64>) {
    let home = Home::new(CommitmentKind::Mpt);
    let mut options = home.options();
    options.segment_bytes = 1 << 30;
    let kv = hearth_flatkv::FlatKv::open(options, home.tables.clone()).unwrap();
    let mut random = Random(3);
    let mut chain = vec![Block::base(random.next())];
    chain[0].commit(&kv, &home.tables, false).unwrap();
    let mut ends = vec![wal_len(&home)];
    for _ in 1..blocks {
        let next = chain[chain.len() - 1].next(random.next());
        next.commit(&kv, &home.tables, false).unwrap();
        chain.push(next);
        ends.push(wal_len(&home));
    }
    let killed = home.killed();
    (killed, chain, ends)
}

fn wal_len(home: &Home) -> u64 {
    fs::metadata(&home.segments()[0]).unwrap().len()
}

/// The home with its WAL changed.
fn with_wal(home: &Home, change: impl FnOnce(&mut Vec<u8>)) -> Home {
    let copy = home.killed();
    let path = &copy.segments()[0];
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
    copy
}

#[test]
fn a_tail_torn_at_any_byte_is_cut_and_the_chain_goes_on() {
    let (home, chain, ends) = unflushed(6);
    for cut in ends[3]..=ends[5] {
        // The borders and some bytes between; the WAL's own tests cut at every byte.
        if ends.iter().all(|end| end.abs_diff(cut) > 1) && cut % 24 != 0 {
            continue;
        }
        let torn = with_wal(&home, |bytes| bytes.truncate(cut as usize));
        let kv = torn.open().unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        let whole = ends.iter().filter(|end| **end <= cut).count();
        assert_eq!(kv.head().unwrap().hash, chain[whole - 1].hash, "cut at {cut}");
        assert_eq!(wal_len(&torn), ends[whole - 1], "the torn tail is gone from the file");
        if cut % 16 == 0 {
            check(&kv, &chain[..whole], CommitmentKind::Mpt);
            let next = chain[whole - 1].next(cut);
            next.commit(&kv, &torn.tables, true).unwrap();
            drop(kv);
            let grown: Vec<_> = chain[..whole].iter().cloned().chain([next]).collect();
            check(&torn.open().unwrap(), &grown, CommitmentKind::Mpt);
        }
    }
}

#[test]
fn a_tail_of_zeros_or_noise_is_cut() {
    let (home, chain, _) = unflushed(4);
    let mut random = Random(9);
    let noise: Vec<u8> = (0..5000).map(|_| random.next() as u8).collect();
    for tail in [vec![0; 5000], noise, b"HWR1".to_vec(), b"HWR1HWR1HWR1HWR1HWR1HWR1HWR1".to_vec()] {
        let torn = with_wal(&home, |bytes| bytes.extend(&tail));
        check(&torn.open().unwrap(), &chain, CommitmentKind::Mpt);
    }
}

#[test]
fn a_flipped_byte_before_a_sound_record_is_refused() {
    let (home, _, ends) = unflushed(5);
    for at in (32..ends[3]).step_by(23).chain([ends[2], ends[2] + 4, ends[2] + 8, ends[2] + 16, ends[3] - 1])
    {
        let damaged = with_wal(&home, |bytes| bytes[at as usize] ^= 0x40);
        let before = fs::read(&damaged.segments()[0]).unwrap();
        let start = ends.iter().rev().find(|end| **end <= at).copied().unwrap_or(32);
        match damaged.open().err() {
            Some(FlatKvError::WalDamaged { path, offset, .. }) => {
                assert_eq!((path, offset), (damaged.segments()[0].clone(), start), "flip at {at}");
            }
            other => panic!("flip at {at}: {other:?}"),
        }
        assert_eq!(fs::read(&damaged.segments()[0]).unwrap(), before);
    }
    let header = with_wal(&home, |bytes| bytes[14] ^= 1);
    let error = header.open().err().unwrap();
    let (text, finding) = (error.to_string(), error.finding());
    assert!(finding.ends_with("byte 0 (segment header)"), "{finding}");
    assert_eq!(text, format!("{finding}; run `hearth db repair`"));
}

#[test]
fn a_flipped_byte_in_the_last_record_is_a_torn_tail() {
    let (home, chain, ends) = unflushed(5);
    let damaged = with_wal(&home, |bytes| bytes[ends[3] as usize + 30] ^= 1);
    check(&damaged.open().unwrap(), &chain[..4], CommitmentKind::Mpt);
}

#[test]
fn a_record_that_was_synced_is_never_given_up() {
    let (home, chain, ends) = unflushed(5);
    let kv = home.open().unwrap();
    kv.flush().unwrap();
    let flushed = home.killed();
    let torn = with_wal(&flushed, |bytes| bytes.truncate(ends[3] as usize + 10));
    match torn.open().err() {
        Some(FlatKvError::WalTruncated { last, synced, .. }) => assert_eq!((last, synced), (4, 5)),
        other => panic!("{other:?}"),
    }
    let emptied = flushed.killed();
    fs::remove_file(&emptied.segments()[0]).unwrap();
    match emptied.open().err() {
        Some(FlatKvError::WalTruncated { last, synced, .. }) => assert_eq!((last, synced), (0, 5)),
        other => panic!("{other:?}"),
    }
    let lost = flushed.killed();
    lost.tables.lose_last();
    assert!(matches!(lost.open().err(), Some(FlatKvError::WalTruncated { last: 4, synced: 5, .. })));
    check(&flushed.open().unwrap(), &chain, CommitmentKind::Mpt);
}

#[test]
fn table_positions_that_do_not_verify_choose_an_earlier_record() {
    let (home, chain, _) = unflushed(6);
    home.tables.lose_last();
    home.tables.lose_last();
    let kv = home.open().unwrap();
    check(&kv, &chain[..4], CommitmentKind::Mpt);
    // WAL and tables continue from there.
    let next = chain[3].next(99);
    next.commit(&kv, &home.tables, true).unwrap();
    kv.close().unwrap();
    drop(kv);
    let grown: Vec<_> = chain[..4].iter().cloned().chain([next]).collect();
    check(&home.open().unwrap(), &grown, CommitmentKind::Mpt);
}

#[test]
fn rows_of_other_branches_survive_a_clean_close_but_not_a_kill() {
    use hearth_flatkv::JoinedTables;
    let (home, chain, _) = unflushed(3);
    let kv = home.open().unwrap();
    let before = home.tables.positions();
    let after = home.tables.append(77);
    let killed = home.killed();
    check(&killed.open().unwrap(), &chain, CommitmentKind::Mpt);
    assert_eq!(killed.tables.positions(), before);
    kv.close().unwrap();
    drop(kv);
    check(&home.open().unwrap(), &chain, CommitmentKind::Mpt);
    assert_eq!(home.tables.positions(), after);
}

#[test]
fn a_missing_segment_is_a_gap() {
    let home = Home::new(CommitmentKind::None);
    let kv = home.open().unwrap();
    let mut top = Block::base(1);
    top.commit(&kv, &home.tables, false).unwrap();
    while home.segments().len() < 4 {
        top = top.next(top.height);
        top.commit(&kv, &home.tables, false).unwrap();
    }
    let killed = home.killed();
    fs::remove_file(&killed.segments()[2]).unwrap();
    match killed.open().err() {
        Some(FlatKvError::WalDamaged { path, what, .. }) => {
            assert_eq!(path, killed.segments()[2]);
            assert!(what.contains("is missing"), "{what}");
        }
        other => panic!("{other:?}"),
    }
    // The head of the WAL is gone: RocksDB was flushed after the first block only, so nothing can
    // lead on from it.
    let headless = home.killed();
    fs::remove_file(&headless.segments()[0]).unwrap();
    fs::remove_file(&headless.segments()[0]).unwrap();
    assert!(matches!(headless.open().err(), Some(FlatKvError::Diverged { store: 7, .. })));
}
