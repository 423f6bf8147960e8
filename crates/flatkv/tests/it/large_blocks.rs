//! Blocks so large that two threads put them into RocksDB: every height reads as it was, also after
//! a kill and an unwind.

use crate::model::{Home, address};
use alloy_primitives::{B256, U256};
use hearth_flatkv::{Commit, CommitmentKind, FlatKv, Fsync, Options};
use hearth_primitives::{Account, AccountChange, Changeset, SlotChange, StateReader};
use std::sync::Arc;

/// Slots that every block changes: above a megabyte in RocksDB.
const SLOTS: u64 = 6_000;
const BLOCKS: u64 = 5;

/// What a slot holds after a block: at height 3 every other one is cleared.
fn value(slot: u64, height: u64) -> U256 {
    let cleared = height == 3 && slot.is_multiple_of(2);
    if height == 0 || cleared { U256::ZERO } else { U256::from(slot << 8 | height) }
}

fn block(height: u64) -> Changeset {
    let change = |slot| SlotChange {
        slot: U256::from(slot),
        old: value(slot, height.saturating_sub(1)),
        new: value(slot, height),
    };
    let account = |nonce| Some(Account { nonce, ..Account::default() });
    let storage = if height == 0 { vec![] } else { (0..SLOTS).map(change).collect() };
    let old = height.checked_sub(1).and_then(account);
    let change = AccountChange { address: address(1), old, new: account(height), wiped: false, storage };
    Changeset { accounts: vec![change], codes: vec![] }
}

fn commit(kv: &FlatKv, home: &Home, height: u64) {
    let hash = |height: u64| B256::from(U256::from(height + 1));
    let commit = Commit {
        height,
        hash: hash(height),
        parent: height.checked_sub(1).map_or(B256::ZERO, hash),
        changes: &block(height),
        trie: None,
        state_root: None,
        index: Vec::new(),
        positions: home.tables.append(1),
    };
    if height == 0 { kv.init(commit) } else { kv.commit(commit) }.unwrap();
}

fn check(kv: &Arc<FlatKv>, head: u64) {
    assert_eq!(kv.head().unwrap().height, head);
    for height in 0..=head {
        let view = kv.at(height).unwrap();
        assert_eq!(view.account(&address(1)).unwrap().unwrap().nonce, height);
        let slots: Vec<_> = (0..SLOTS).map(|slot| (address(1), U256::from(slot))).collect();
        let expected: Vec<_> = (0..SLOTS).map(|slot| value(slot, height)).collect();
        assert!(view.slots(&slots).unwrap() == expected, "at {height} of {head}");
    }
}

#[test]
fn large_blocks_are_whole_at_every_height() {
    for kind in [CommitmentKind::LtHash, CommitmentKind::Mpt] {
        let home = Home::new(kind);
        let kv = home.open().unwrap();
        (0..=BLOCKS).for_each(|height| commit(&kv, &home, height));
        check(&kv, BLOCKS);
        let killed = home.killed();
        let again = killed.open().unwrap();
        assert_eq!(again.head(), kv.head());
        check(&again, BLOCKS);
        again.unwind(2).unwrap();
        check(&again, 2);
        (3..=BLOCKS).for_each(|height| commit(&again, &killed, height));
        assert_eq!(again.head(), kv.head());
        assert_eq!(again.verify(&mut |_| true).unwrap().found, 0);
        check(&again, BLOCKS);
    }
}

#[test]
fn a_transient_store_takes_large_blocks_back() {
    for kind in [CommitmentKind::LtHash, CommitmentKind::Mpt] {
        let home = Home::new(kind);
        let options = Options { fsync: Fsync::Never, ..home.options() };
        let kv = FlatKv::open(options, home.tables.clone()).unwrap();
        (0..=BLOCKS).for_each(|height| commit(&kv, &home, height));
        let head = kv.head();
        // From heights at which slots are new, set and cleared, to such heights.
        for to in [4, 3, 2, 0, 1] {
            kv.unwind(to).unwrap();
            check(&kv, to);
            assert_eq!(kv.verify(&mut |_| true).unwrap().found, 0, "at {to}");
            (to + 1..=BLOCKS).for_each(|height| commit(&kv, &home, height));
            assert_eq!(kv.head(), head);
        }
        check(&kv, BLOCKS);
    }
}
