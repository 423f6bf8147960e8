//! Random commits, unwinds, reopenings and kills; the store must equal the model at every height.

use crate::model::{BASE, Block, Home, Random, check, check_from};
use hearth_flatkv::{CommitmentKind, FlatKv};
use hearth_primitives::{AccountChange, Changeset, SlotChange};
use proptest::prelude::*;
use std::{collections::HashMap, sync::Arc};

#[derive(Clone, Debug)]
enum Op {
    Commit { seed: u64, session: bool },
    Unwind { part: u8 },
    Flush,
    Reopen,
    Kill,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => (any::<u64>(), any::<bool>()).prop_map(|(seed, session)| Op::Commit { seed, session }),
        2 => any::<u8>().prop_map(|part| Op::Unwind { part }),
        // Each makes a file and a mark: there are several before they are merged.
        4 => Just(Op::Flush),
        1 => Just(Op::Reopen),
        1 => Just(Op::Kill),
    ]
}

fn run(kind: CommitmentKind, history_blocks: u64, ops: &[Op]) {
    let mut home = Home::new(kind);
    home.history_blocks = history_blocks;
    let mut kv = home.open().unwrap();
    let mut chain: Vec<Block> = Vec::new();
    let mut commitments = HashMap::new();
    for op in ops {
        match op {
            Op::Commit { seed, session } => {
                let block = chain.last().map_or_else(|| Block::base(*seed), |top| top.next(*seed));
                block.commit(&kv, &home.tables, *session && kind == CommitmentKind::Mpt).unwrap();
                chain.push(block);
            }
            Op::Unwind { part } if chain.len() > 1 => {
                let kept = (kv.oldest().unwrap() - BASE) as usize + 1;
                chain.truncate(kept + usize::from(*part) * (chain.len() - kept) / 256);
                kv.unwind(chain.last().unwrap().height).unwrap();
            }
            Op::Unwind { .. } => {}
            Op::Flush => kv.flush().unwrap(),
            Op::Reopen => {
                kv.close().unwrap();
                drop(kv);
                kv = home.open().unwrap();
            }
            Op::Kill => {
                let killed = home.killed();
                // Before its folder goes with `home`: RocksDB waits a second after a flush that
                // failed.
                drop(kv);
                home = killed;
                kv = home.open().unwrap();
            }
        }
        // A block has one commitment, however the store came to it.
        if let Some(head) = kv.head() {
            assert_eq!(*commitments.entry(head.hash).or_insert(head.commitment), head.commitment);
        }
        if !matches!(op, Op::Commit { .. }) {
            compare(&kv, &chain, kind, history_blocks);
        }
    }
    compare(&kv, &chain, kind, history_blocks);
}

fn compare(kv: &Arc<FlatKv>, chain: &[Block], kind: CommitmentKind, history_blocks: u64) {
    match kv.oldest() {
        Some(oldest) if history_blocks > 0 => check_from(kv, chain, oldest),
        _ => check(kv, chain, kind),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, max_shrink_iters: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_store_with_roots_equals_the_model(ops in prop::collection::vec(op(), 1..60)) {
        run(CommitmentKind::Mpt, 0, &ops);
    }

    #[test]
    fn a_store_with_a_lattice_hash_equals_the_model(ops in prop::collection::vec(op(), 1..60)) {
        run(CommitmentKind::LtHash, 0, &ops);
    }

    #[test]
    fn a_store_with_a_window_of_history_equals_the_model(ops in prop::collection::vec(op(), 1..100)) {
        run(CommitmentKind::None, 9, &ops);
    }
}

#[test]
fn equal_states_have_equal_lattice_commitments() {
    let mut random = Random(11);
    let home = Home::new(CommitmentKind::LtHash);
    let kv = home.open().unwrap();
    let mut top = Block::base(random.next());
    top.commit(&kv, &home.tables, false).unwrap();
    let mut codes = top.changes.codes.clone();
    for _ in 0..40 {
        top = top.next(random.next());
        codes.extend(top.changes.codes.clone());
        top.commit(&kv, &home.tables, false).unwrap();
    }
    let reached = kv.head().unwrap().commitment;
    // The same state in one step: every row of the last world out of nothing.
    let mut at_once = Block::base(1);
    at_once.changes = Changeset::default();
    codes.sort();
    at_once.changes.codes = codes;
    for (address, (account, storage)) in &top.world.accounts {
        at_once.changes.accounts.push(AccountChange {
            address: *address,
            old: None,
            new: Some(*account),
            wiped: false,
            storage: storage
                .iter()
                .map(|(slot, new)| SlotChange { slot: *slot, old: Default::default(), new: *new })
                .collect(),
        });
    }
    let other = Home::new(CommitmentKind::LtHash);
    let kv = other.open().unwrap();
    at_once.commit(&kv, &other.tables, false).unwrap();
    assert_eq!(kv.head().unwrap().commitment, reached);
    top.world.check(&kv.latest().unwrap(), top.height).unwrap();
}

#[test]
fn a_partial_state_commits_to_nothing() {
    let home = Home::new(CommitmentKind::None);
    let kv = home.open().unwrap();
    let base = Block::base(1);
    let next = base.next(2);
    base.commit(&kv, &home.tables, false).unwrap();
    next.commit(&kv, &home.tables, false).unwrap();
    assert_eq!(kv.head().unwrap().commitment, alloy_primitives::B256::ZERO);
    assert!(
        kv.trie()
            .err()
            .unwrap()
            .to_string()
            .contains("there is no state trie: this data directory has only a part")
    );
    kv.unwind(base.height).unwrap();
    check(&kv, &[base], CommitmentKind::None);
}

#[test]
fn a_long_chain_survives_many_segments_and_a_kill() {
    let mut random = Random(5);
    let home = Home::new(CommitmentKind::Mpt);
    let kv = home.open().unwrap();
    let mut chain = vec![Block::base(random.next())];
    chain[0].commit(&kv, &home.tables, false).unwrap();
    for n in 0..600 {
        let next = chain[chain.len() - 1].next(random.next());
        next.commit(&kv, &home.tables, false).unwrap();
        chain.push(next);
        if n == 300 {
            let before = home.segments().len();
            kv.flush().unwrap();
            assert!(before > 10, "{before} segments");
            assert!(home.segments().len() <= 3, "segments below the flush are deleted");
        }
    }
    let killed = home.killed();
    let again = killed.open().unwrap();
    assert_eq!(again.head(), kv.head());
    for block in chain.iter().step_by(37) {
        block.world.check(&again.at(block.height).unwrap(), block.height).unwrap();
    }
    again.unwind(chain[250].height).unwrap();
    check(&again, &chain[..251], CommitmentKind::Mpt);
}
