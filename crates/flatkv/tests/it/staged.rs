//! What is applied and not committed: read with the rest, iterated in order as of one moment,
//! committed together or dropped. The store must equal the model through commits, unwinds,
//! reopenings, kills and pruning.

use crate::model::{BASE, Block, Home, World, check_from};
use alloy_primitives::{Address, U256};
use hearth_flatkv::{Commit, CommitmentKind, DataDb, FlatKv, FlatKvError, Row, RowRange, RowWrite};
use hearth_primitives::{Account, AccountChange, Changeset, Height, SlotChange, StateReader};
use proptest::prelude::*;
use std::{sync::Arc, time::Duration};

#[derive(Clone, Debug)]
enum Op {
    /// A block in one call or several.
    Block {
        seeds: Vec<u64>,
    },
    /// Applied, looked at and dropped.
    Discard {
        seed: u64,
    },
    Unwind {
        part: u8,
    },
    Flush,
    Reopen,
    Kill,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => prop::collection::vec(any::<u64>(), 1..4).prop_map(|seeds| Op::Block { seeds }),
        2 => any::<u64>().prop_map(|seed| Op::Discard { seed }),
        2 => any::<u8>().prop_map(|part| Op::Unwind { part }),
        1 => Just(Op::Flush),
        1 => Just(Op::Reopen),
        1 => Just(Op::Kill),
    ]
}

/// The keys and values that a world has in a data DB whose values are plain; of accounts the keys
/// alone.
fn expected(world: &World, db: DataDb) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let slots = world.accounts.iter().flat_map(|(address, (_, storage))| {
        storage.iter().map(|(slot, value)| {
            let key = [address.as_slice(), &slot.to_be_bytes::<32>()].concat();
            (key, Some(value.to_be_bytes_trimmed_vec()))
        })
    });
    match db {
        DataDb::Account => world.accounts.keys().map(|address| (address.to_vec(), None)).collect(),
        DataDb::Storage => slots.collect(),
        DataDb::Legacy => {
            world.legacy.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect()
        }
        DataDb::Code | DataDb::Metadata => unreachable!("not compared"),
    }
}

const COMPARED: [DataDb; 3] = [DataDb::Account, DataDb::Storage, DataDb::Legacy];

fn rows(kv: &FlatKv, db: DataDb, range: &RowRange) -> Vec<Row> {
    kv.rows(db, range).unwrap().collect::<Result<_, _>>().unwrap()
}

fn same(rows: &[Row], expected: &[(Vec<u8>, Option<Vec<u8>>)]) {
    assert_eq!(rows.len(), expected.len());
    for (row, (key, value)) in rows.iter().zip(expected) {
        assert_eq!(&row.key, key);
        assert!(value.as_ref().is_none_or(|value| *value == row.value), "{row:?}");
    }
}

/// Compares everything that shows pending rows with the world that they lead to.
fn check_pending(kv: &FlatKv, world: &World, height: Height) {
    world.check(&kv.pending(), height).unwrap();
    for db in COMPARED {
        let all = expected(world, db);
        same(&rows(kv, db, &RowRange::default()), &all);
        let mut back = rows(kv, db, &RowRange::default().reversed());
        back.reverse();
        same(&back, &all);
        if let Some((middle, _)) = all.get(all.len() / 2) {
            let from = RowRange { from: Some(middle.clone()), ..RowRange::default() };
            same(&rows(kv, db, &from), &all[all.len() / 2..]);
            let to = RowRange { to: Some(middle.clone()), reverse: true, ..RowRange::default() };
            let mut below = rows(kv, db, &to);
            below.reverse();
            same(&below, &all[..all.len() / 2]);
        }
    }
    for (key, value) in &world.legacy {
        assert_eq!(kv.pending().legacy(key).unwrap().as_ref(), Some(value));
    }
}

/// Applies a block's parts, looks at each, and commits them.
fn commit_parts(kv: &Arc<FlatKv>, home: &Home, top: Option<&Block>, seeds: &[u64]) -> Block {
    let mut parts = Block::parts(top, seeds);
    let last = parts.len() - 1;
    for (n, part) in parts.iter().enumerate() {
        // The last changes may also come with the commit; legacy rows come through `apply` alone.
        let none = Changeset::default();
        let changes = if n == last && seeds[0].is_multiple_of(2) { &none } else { &part.changes };
        kv.apply(changes, &part.legacy).unwrap();
        if n != last || seeds[0] % 2 == 1 {
            check_pending(kv, &part.world, part.height);
        }
    }
    let block = parts.pop().unwrap();
    let nothing = Changeset::default();
    let mut commit = block.as_commit(&home.tables);
    if seeds[0] % 2 == 1 {
        commit.changes = &nothing;
    }
    if home.kind == CommitmentKind::Mpt {
        commit.state_root = Some(block.world.root());
    }
    // Made before the commit, read after it: the rows of that moment.
    let pending = kv.rows(DataDb::Legacy, &RowRange::default()).unwrap();
    if kv.head().is_none() { kv.init(commit) } else { kv.commit(commit) }.unwrap();
    let of_then: Vec<_> = pending.collect::<Result<_, _>>().unwrap();
    same(&of_then, &expected(&block.world, DataDb::Legacy));
    assert!(of_then.iter().all(|row| row.height != Some(block.height)), "committed after it was made");
    block
}

fn run(kind: CommitmentKind, kept: u64, ops: &[Op]) {
    let mut home = Home::new(kind);
    home.history_blocks = kept;
    let mut kv = home.open().unwrap();
    let mut chain: Vec<Block> = Vec::new();
    let mut oldest = BASE;
    let mut commitments = std::collections::HashMap::new();
    for op in ops {
        match op {
            Op::Block { seeds } => {
                let block = commit_parts(&kv, &home, chain.last(), seeds);
                if kept > 0 {
                    oldest = oldest.max(block.height.saturating_sub(kept));
                }
                chain.push(block);
            }
            Op::Discard { seed } => {
                let part = &Block::parts(chain.last(), &[*seed])[0];
                kv.apply(&part.changes, &part.legacy).unwrap();
                check_pending(&kv, &part.world, part.height);
                kv.discard();
                check_pending(&kv, &chain.last().map(|top| top.world.clone()).unwrap_or_default(), 0);
            }
            Op::Unwind { part } if !chain.is_empty() => {
                let lowest = (oldest - BASE) as usize;
                chain.truncate(lowest + 1 + usize::from(*part) * (chain.len() - 1 - lowest) / 256);
                let top = chain.last().unwrap();
                let applied = &Block::parts(Some(top), &[u64::from(*part)])[0];
                let moves = top.height != kv.head().unwrap().height;
                if moves {
                    // What is applied on the head goes with it.
                    let _ = kv.apply(&Changeset::default(), &applied.legacy);
                }
                kv.unwind(top.height).unwrap();
                check_pending(&kv, &top.world, top.height);
                if oldest > BASE {
                    let below = kv.unwind(oldest - 1);
                    assert!(matches!(below, Err(FlatKvError::UnwindTarget { .. })), "{below:?}");
                }
            }
            Op::Unwind { .. } => {}
            Op::Flush => kv.flush().unwrap(),
            Op::Reopen => {
                kv.close().unwrap();
                drop(kv);
                kv = home.open().unwrap();
            }
            Op::Kill => {
                // What is only applied does not survive.
                kv.apply(&Changeset::default(), &[RowWrite { key: vec![1], value: Some(vec![1]) }]).unwrap();
                let killed = home.killed();
                drop(kv);
                home = killed;
                kv = home.open().unwrap();
                assert_eq!(kv.pending().legacy(&[1]).unwrap(), None);
            }
        }
        // A block has one commitment, however the store came to it.
        if let Some(head) = kv.head() {
            assert_eq!(*commitments.entry(head.hash).or_insert(head.commitment), head.commitment);
            check_from(&kv, &chain, oldest);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 64, ..ProptestConfig::default() })]

    #[test]
    fn applied_blocks_equal_the_model_with_roots(ops in prop::collection::vec(op(), 1..40), kept in 0..6u64) {
        run(CommitmentKind::Mpt, kept, &ops);
    }

    #[test]
    fn applied_blocks_equal_the_model_with_a_lattice_hash(ops in prop::collection::vec(op(), 1..40), kept in 0..6u64) {
        run(CommitmentKind::LtHash, kept, &ops);
    }
}

#[test]
fn a_block_has_the_same_commitment_in_one_step_and_in_many() {
    for kind in [CommitmentKind::Mpt, CommitmentKind::LtHash] {
        let (many, once) = (Home::new(kind), Home::new(kind));
        let (split, whole) = (many.open().unwrap(), once.open().unwrap());
        let mut top: Option<Block> = None;
        for seed in 0..60u64 {
            let parts = Block::parts(top.as_ref(), &[seed * 3, seed * 3 + 1, seed * 3 + 2]);
            for part in &parts {
                split.apply(&part.changes, &part.legacy).unwrap();
            }
            let block = parts.last().unwrap().clone();
            // The same in one call: what changed between the worlds.
            let before = top.as_ref().map(|top| top.world.clone()).unwrap_or_default();
            let (changes, legacy) = difference(&before, &block.world, &parts);
            whole.apply(&changes, &legacy).unwrap();
            for (kv, tables) in [(&split, &many.tables), (&whole, &once.tables)] {
                let nothing = Changeset::default();
                let commit = Commit { changes: &nothing, ..block.as_commit(tables) };
                if kv.head().is_none() { kv.init(commit) } else { kv.commit(commit) }.unwrap();
            }
            assert_eq!(split.head(), whole.head(), "{kind} at {}", block.height);
            top = Some(block);
        }
        for db in COMPARED {
            let (split, whole) =
                (rows(&split, db, &RowRange::default()), rows(&whole, db, &RowRange::default()));
            assert_eq!(
                split.iter().map(|row| &row.value).collect::<Vec<_>>(),
                whole.iter().map(|row| &row.value).collect::<Vec<_>>()
            );
        }
    }
}

/// What takes one world to the other. An account that was destroyed on the way is so here.
fn difference(before: &World, after: &World, parts: &[Block]) -> (Changeset, Vec<RowWrite>) {
    let mut changes = Changeset::default();
    let all: std::collections::BTreeSet<_> = before.accounts.keys().chain(after.accounts.keys()).collect();
    for address in all {
        let none = (Account::default(), Default::default());
        let (old, new) = (before.accounts.get(address), after.accounts.get(address));
        let ((_, was), (_, is)) = (old.unwrap_or(&none), new.unwrap_or(&none));
        let touched =
            parts.iter().flat_map(|part| &part.changes.accounts).filter(|change| change.address == *address);
        let wiped = touched.clone().any(|change| change.wiped);
        let slots: std::collections::BTreeSet<_> = was.keys().chain(is.keys()).copied().collect();
        let slot = |slot: U256| SlotChange {
            slot,
            old: was.get(&slot).copied().unwrap_or_default(),
            new: is.get(&slot).copied().unwrap_or_default(),
        };
        let storage: Vec<_> =
            slots.into_iter().map(slot).filter(|slot| wiped || slot.old != slot.new).collect();
        let (old, new) = (old.map(|(account, _)| *account), new.map(|(account, _)| *account));
        if old != new || !storage.is_empty() {
            changes.accounts.push(AccountChange { address: *address, old, new, wiped, storage });
        }
    }
    changes.codes = parts.iter().flat_map(|part| part.changes.codes.clone()).collect();
    changes.codes.sort();
    let legacy = parts.iter().flat_map(|part| part.legacy.clone()).collect();
    (changes, legacy)
}

#[test]
fn what_cannot_be_applied_leaves_what_is_applied_as_it_was() {
    let home = Home::new(CommitmentKind::Mpt);
    let kv = home.open().unwrap();
    let base = Block::base(1);
    base.commit(&kv, &home.tables, false).unwrap();
    let who = |byte: u8| Address::repeat_byte(byte);
    let account = |nonce| Some(Account { nonce, ..Account::default() });
    let change = |address, old, new, storage| AccountChange { address, old, new, wiped: false, storage };
    let set = |accounts| Changeset { accounts, codes: vec![] };
    let slot = |slot: u64, old: u64, new: u64| SlotChange {
        slot: U256::from(slot),
        old: U256::from(old),
        new: U256::from(new),
    };
    let legacy =
        |key: &[u8], value: Option<&[u8]>| RowWrite { key: key.to_vec(), value: value.map(<[u8]>::to_vec) };
    kv.apply(&set(vec![change(who(1), None, account(1), vec![slot(1, 0, 5)])]), &[legacy(b"k", Some(b"v"))])
        .unwrap();

    let good = || change(who(9), None, account(9), vec![]);
    let stale = kv.apply(&set(vec![change(who(1), None, account(2), vec![]), good()]), &[]);
    assert!(
        matches!(stale, Err(FlatKvError::Stale { slot: None, address }) if address == who(1)),
        "{stale:?}"
    );
    let stale =
        kv.apply(&set(vec![change(who(1), account(1), account(2), vec![slot(1, 4, 6)]), good()]), &[]);
    assert!(
        matches!(stale, Err(FlatKvError::Stale { slot: Some(s), .. }) if s == U256::from(1)),
        "{stale:?}"
    );
    let unordered = kv.apply(&set(vec![good(), change(who(2), None, account(1), vec![])]), &[]);
    assert!(matches!(unordered, Err(FlatKvError::Unordered)), "{unordered:?}");
    let twice =
        kv.apply(&set(vec![change(who(3), None, account(1), vec![slot(7, 0, 1), slot(7, 1, 2)])]), &[]);
    assert!(matches!(twice, Err(FlatKvError::Unordered)), "{twice:?}");
    for (key, value) in [(&b""[..], Some(&b"v"[..])), (b"k", Some(b"")), (&[7; 4097], Some(b"v"))] {
        let refused = kv.apply(&set(vec![good()]), &[legacy(key, value)]);
        let sizes = (key.len(), value.map(<[u8]>::len));
        assert!(
            matches!(refused, Err(FlatKvError::LegacyRow { key, value }) if (key, value) == sizes),
            "{refused:?}"
        );
    }
    assert_eq!(kv.pending().account(&who(9)).unwrap(), None);
    assert_eq!(kv.pending().account(&who(1)).unwrap(), account(1));
    assert_eq!(kv.pending().legacy(b"k").unwrap().as_deref(), Some(&b"v"[..]));
    assert_eq!(kv.latest().unwrap().account(&who(1)).unwrap(), None, "views see what is committed");

    // A refused commit leaves the changeset applied; the next commit includes it.
    let nothing = Changeset::default();
    let mut next = base.next(2);
    next.changes = Changeset::default();
    let mut wrong = next.as_commit(&home.tables);
    wrong.state_root = Some(alloy_primitives::B256::ZERO);
    assert!(matches!(kv.commit(wrong), Err(FlatKvError::StateRoot { .. })));
    kv.commit(Commit { changes: &nothing, ..next.as_commit(&home.tables) }).unwrap();
    let latest = kv.latest().unwrap();
    assert_eq!(latest.account(&who(1)).unwrap(), account(1));
    assert_eq!(latest.storage(&who(1), &U256::from(1)).unwrap(), U256::from(5));
    assert_eq!(latest.legacy(b"k").unwrap().as_deref(), Some(&b"v"[..]));
    assert_eq!(kv.at(BASE).unwrap().legacy(b"k").unwrap(), None);
    let row = Row { key: b"k".to_vec(), value: b"v".to_vec(), height: Some(next.height) };
    assert_eq!(rows(&kv, DataDb::Legacy, &RowRange::prefix(b"k")), [row]);
}

#[test]
fn an_iterator_that_is_too_old_says_so_and_lets_go() {
    let home = Home::new(CommitmentKind::None);
    let kv = home.open().unwrap();
    Block::base(1).commit(&kv, &home.tables, false).unwrap();
    let write = |n: u8| RowWrite { key: vec![n], value: Some(vec![n]) };
    kv.apply(&Changeset::default(), &[write(1), write(2)]).unwrap();
    let mut rows =
        kv.rows(DataDb::Legacy, &RowRange::default()).unwrap().with_max_age(Duration::from_millis(200));
    assert_eq!(rows.next().unwrap().unwrap().key, [1]);
    std::thread::sleep(Duration::from_millis(300));
    match rows.next() {
        Some(Err(FlatKvError::IteratorExpired { after })) => assert_eq!(after, Duration::from_millis(200)),
        other => panic!("{other:?}"),
    }
    assert!(rows.next().is_none());
}
