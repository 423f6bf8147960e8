//! Proofs at every retained height, checked by alloy against roots from scratch.

use crate::model::{ACCOUNTS, BASE, Block, Home, Random, SLOTS, address, slot};
use alloy_primitives::{B256, U256, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles, TrieAccount, proof::verify_proof};
use hearth_flatkv::{Commit, CommitmentKind, FlatKv, FlatKvError, Fsync};
use hearth_primitives::{Account, RootTracker, StateError};
use hearth_trie::StateTrie;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// Blocks of a chain whose every height is proved.
const BLOCKS: u64 = 60;

/// With the second one, nodes of the trie are in memory at first.
const STORES: [Fsync; 2] = [Fsync::None, Fsync::Never];

fn open(home: &Home, fsync: Fsync) -> Arc<FlatKv> {
    let mut options = home.options();
    options.fsync = fsync;
    FlatKv::open(options, home.tables.clone()).unwrap()
}

/// Checks what is proved of each account and slot after a block, those that are not there included.
fn check(kv: &Arc<FlatKv>, block: &Block) {
    let slots: Vec<U256> = (0..SLOTS + 2).map(slot).collect();
    let root = block.world.root();
    for address in (0..ACCOUNTS + 2).map(address) {
        let proof = kv.prove(block.height, &address, &slots).unwrap();
        let expected = block.world.accounts.get(&address);
        assert_eq!(proof.state_root, root, "block {}", block.height);
        assert_eq!(proof.account, expected.map(|(account, _)| *account));
        let leaf = proof.account.map(|Account { nonce, balance, code_hash }| {
            alloy_rlp::encode(TrieAccount { nonce, balance, storage_root: proof.storage_root, code_hash })
        });
        verify(root, keccak256(address), leaf, &proof.nodes);
        assert_eq!(proof.slots.len(), slots.len());
        for (proved, slot) in proof.slots.iter().zip(&slots) {
            let value = expected.and_then(|(_, storage)| storage.get(slot)).copied().unwrap_or_default();
            assert_eq!((proved.slot, proved.value), (*slot, value));
            let leaf = (!value.is_zero()).then(|| alloy_rlp::encode(value));
            if proof.storage_root == EMPTY_ROOT_HASH {
                assert!(proved.nodes.is_empty());
            } else {
                verify(proof.storage_root, keccak256(slot.to_be_bytes::<32>()), leaf, &proved.nodes);
            }
        }
    }
}

fn verify(root: B256, key: B256, leaf: Option<Vec<u8>>, nodes: &[alloy_primitives::Bytes]) {
    if root == EMPTY_ROOT_HASH {
        return assert!(nodes.is_empty() && leaf.is_none());
    }
    verify_proof(root, Nibbles::unpack(key), leaf, nodes).unwrap();
    // Every node counts: with one less the rest proves nothing, or is not complete.
    assert_eq!(keccak256(&nodes[0]), root);
}

fn chain(home: &Home, kv: &Arc<FlatKv>, blocks: u64, seed: u64) -> Vec<Block> {
    let mut random = Random(seed);
    let mut chain = vec![Block::base(random.next())];
    for _ in 1..blocks {
        let next = chain.last().unwrap().next(random.next());
        chain.push(next);
    }
    for block in &chain {
        block.commit(kv, &home.tables, false).unwrap();
    }
    chain
}

#[test]
fn every_retained_height_is_proved() {
    for (seed, fsync) in (0..3).flat_map(|seed| STORES.map(|fsync| (seed, fsync))) {
        let home = Home::new(CommitmentKind::Mpt);
        let kv = open(&home, fsync);
        let chain = chain(&home, &kv, BLOCKS, seed);
        for block in &chain {
            check(&kv, block);
        }
        let above = kv.prove(BASE + BLOCKS, &address(0), &[]).unwrap_err();
        let StateError::NotRetained { height, oldest, newest } = above else { panic!("{above}") };
        assert_eq!((height, oldest, newest), (BASE + BLOCKS, BASE, BASE + BLOCKS - 1));
    }
}

#[test]
fn the_trie_of_an_earlier_block_goes_on_as_the_chain_did() {
    let home = Home::new(CommitmentKind::Mpt);
    let kv = home.open().unwrap();
    let chain = chain(&home, &kv, 20, 9);
    let mut trie = kv.trie_at(chain[3].height).unwrap();
    for (block, next) in chain[3..].iter().zip(&chain[4..]) {
        assert_eq!(trie.root().unwrap(), block.world.root());
        trie.apply(&next.changes).unwrap();
    }
    assert_eq!(trie.root().unwrap(), chain[19].world.root());
}

/// Checks what the nodes of an earlier block say of each account and slot.
fn check_nodes(kv: &Arc<FlatKv>, block: &Block) {
    let (root, nodes) = kv.nodes_at(block.height).unwrap();
    assert_eq!(root, block.world.root(), "block {}", block.height);
    let mut trie = StateTrie::new(Arc::new(nodes), root);
    for address in (0..ACCOUNTS + 2).map(address) {
        let expected = block.world.accounts.get(&address);
        assert_eq!(trie.account(&address).unwrap(), expected.map(|(account, _)| *account));
        for slot in (0..SLOTS + 2).map(slot) {
            let value = expected.and_then(|(_, storage)| storage.get(&slot)).copied().unwrap_or_default();
            assert_eq!(trie.slot(&address, &slot).unwrap(), value, "block {}", block.height);
        }
    }
}

#[test]
fn nodes_of_earlier_blocks_are_right_in_any_order() {
    for (seed, fsync) in (0..4).flat_map(|seed| STORES.map(|fsync| (seed, fsync))) {
        let home = Home::new(CommitmentKind::Mpt);
        let kv = open(&home, fsync);
        let mut chain = chain(&home, &kv, BLOCKS, seed);
        let mut random = Random(seed + 50);
        // In the order of a follower that catches up, some beside later ones, some back.
        chain.iter().for_each(|block| check_nodes(&kv, block));
        (0..60).for_each(|_| check_nodes(&kv, &chain[(random.next() % BLOCKS) as usize]));
        for pair in chain[10..50].chunks(2) {
            pair.iter().rev().for_each(|block| check_nodes(&kv, block));
        }
        // Another branch, whose head is as high.
        kv.unwind(chain[40].height).unwrap();
        chain.truncate(41);
        while chain.len() < BLOCKS as usize {
            let next = chain.last().unwrap().next(random.next());
            next.commit(&kv, &home.tables, false).unwrap();
            chain.push(next);
            let at = (random.next() % chain.len() as u64) as usize;
            chain[at..].iter().take(3).for_each(|block| check_nodes(&kv, block));
        }
        thread::scope(|scope| {
            for lane in 0..4 {
                let (kv, chain) = (&kv, &chain);
                scope.spawn(move || {
                    chain.iter().skip(lane).step_by(4).for_each(|block| check_nodes(kv, block))
                });
            }
        });
    }
}

#[test]
fn commits_and_unwinds_do_not_disturb_a_proof() {
    STORES.into_iter().for_each(prove_beside_commits);
}

fn prove_beside_commits(fsync: Fsync) {
    let home = Home::new(CommitmentKind::Mpt);
    let kv = open(&home, fsync);
    let chain = chain(&home, &kv, 20, 4);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let prover = scope.spawn(|| {
            let mut proved = 0;
            while !over.load(Ordering::SeqCst) || proved == 0 {
                // Below the block that the writer unwinds to.
                check(&kv, &chain[5]);
                proved += 1;
            }
            proved
        });
        let mut random = Random(77);
        for _ in 0..30 {
            kv.unwind(chain[8].height).unwrap();
            let mut top = chain[8].clone();
            for _ in 0..10 {
                top = top.next(random.next());
                top.commit(&kv, &home.tables, false).unwrap();
            }
        }
        over.store(true, Ordering::SeqCst);
        assert!(prover.join().unwrap() > 0);
    });
}

#[test]
fn nodes_in_memory_are_on_disk_after_a_close() {
    let home = Home::new(CommitmentKind::Mpt);
    let kv = open(&home, Fsync::Never);
    let chain = chain(&home, &kv, BLOCKS, 21);
    kv.unwind(chain[30].height).unwrap();
    kv.close().unwrap();
    drop(kv);
    let kv = open(&home, Fsync::None);
    assert_eq!(kv.verify(&mut |_| true).unwrap().findings.len(), 0);
    chain[..31].iter().for_each(|block| check(&kv, block));
    chain[31..].iter().for_each(|block| block.commit(&kv, &home.tables, false).unwrap());
    check(&kv, &chain[BLOCKS as usize - 1]);
}

#[test]
fn a_snapshot_has_the_nodes_that_are_in_memory() {
    let home = Home::new(CommitmentKind::Mpt);
    let kv = open(&home, Fsync::Never);
    let chain = chain(&home, &kv, 20, 22);
    let snapshot = kv.snapshot().unwrap();
    let top = &chain[19];
    assert_eq!(snapshot.height, top.height);
    top.next(5).commit(&kv, &home.tables, false).unwrap();
    let kept = FlatKv::open_snapshot(home.options(), None).unwrap();
    check(&kept, top);
}

#[test]
fn the_checksum_of_an_earlier_block_continues_as_the_chain_did() {
    let home = Home::new(CommitmentKind::LtHash);
    let kv = home.open().unwrap();
    let mut random = Random(11);
    let (mut chain, mut checksums) = (vec![Block::base(random.next())], Vec::new());
    for index in 0..BLOCKS as usize {
        let block = &chain[index];
        // What a header would name is computed before the commit.
        let root = (index > 0).then(|| {
            let mut roots = kv.roots().unwrap();
            roots.apply(&block.changes).unwrap();
            let root = roots.root().unwrap();
            assert!(roots.into_update().unwrap().is_none(), "there is no trie");
            root
        });
        if let Some(root) = root {
            let mut wrong = block.as_commit(&home.tables);
            wrong.state_root = Some(B256::repeat_byte(1));
            let refused = kv.commit(wrong).unwrap_err();
            assert!(matches!(refused, FlatKvError::StateRoot { got, .. } if got == root), "{refused}");
        }
        let mut commit = block.as_commit(&home.tables);
        commit.state_root = root;
        if index == 0 {
            kv.init(commit).unwrap()
        } else {
            kv.commit(commit).unwrap()
        }
        checksums.push(kv.head().unwrap().commitment);
        chain.push(block.next(random.next()));
    }
    for (index, block) in chain[..BLOCKS as usize].iter().enumerate() {
        let mut roots = kv.roots_at(block.height).unwrap();
        assert_eq!(roots.root().unwrap(), checksums[index], "block {}", block.height);
        for (next, checksum) in chain[index + 1..BLOCKS as usize].iter().zip(&checksums[index + 1..]).take(5)
        {
            roots.apply(&next.changes).unwrap();
            assert_eq!(roots.root().unwrap(), *checksum);
        }
    }
    let above = kv.roots_at(BASE + BLOCKS).err().unwrap();
    assert!(matches!(above, StateError::NotRetained { .. }), "{above}");
}

#[test]
fn a_home_without_a_trie_proves_nothing() {
    let home = Home::new(CommitmentKind::LtHash);
    let kv = home.open().unwrap();
    chain(&home, &kv, 3, 1);
    let refused = kv.prove(BASE + 1, &address(0), &[]).unwrap_err().to_string();
    assert!(
        refused.contains("there is no state trie: the genesis sets bft.commitment to lthash"),
        "{refused}"
    );
}

/// Whether a block destroys an account, which no block of a run does.
pub fn destroys(block: &Block) -> bool {
    block.changes.accounts.iter().any(|change| change.wiped)
}

/// A block without rows of the index, of which a block of the model writes some twice.
pub fn as_part_of_run<'a>(block: &'a Block, home: &Home) -> Commit<'a> {
    let state_root = Some(block.world.root());
    Commit { state_root, index: Vec::new(), ..block.as_commit(&home.tables) }
}

#[test]
fn nodes_that_come_later_prove_what_others_prove() {
    let home = Home::new(CommitmentKind::Mpt);
    let kv = open(&home, Fsync::Never);
    assert!(kv.takes_late_nodes());
    let mut chain = chain(&home, &kv, 10, 31);
    let mut random = Random(78);
    let mut trie = kv.trie().unwrap();
    let mut late = 0;
    for _ in 0..200 {
        let top = chain[chain.len() - 1].next(random.next());
        if destroys(&top) {
            top.commit(&kv, &home.tables, false).unwrap();
            trie = kv.trie().unwrap();
        } else {
            trie.apply(&top.changes).unwrap();
            let is_late = !random.next().is_multiple_of(4);
            let update = if is_late { trie.take_root_update() } else { trie.take_update() };
            late += u32::from(is_late);
            kv.commit_run(vec![as_part_of_run(&top, &home)], Some(update.unwrap())).unwrap();
        }
        chain.push(top);
        match random.next() % 16 {
            // The session continues: its next nodes are those of all blocks since its last ones.
            0 => check(&kv, &chain[chain.len() - 1 - random.next() as usize % 8]),
            1 => trie = kv.trie().unwrap(),
            2 => {
                chain.truncate(chain.len() - 1 - random.next() as usize % 4);
                kv.unwind(chain[chain.len() - 1].height).unwrap();
                trie = kv.trie().unwrap();
            }
            _ => {}
        }
    }
    assert!(late > 20, "{late} blocks without nodes");
    chain.iter().for_each(|block| check(&kv, block));
    assert_eq!(kv.verify(&mut |_| true).unwrap().findings.len(), 0);
}

#[test]
fn updates_without_nodes_are_refused_where_they_must_have_them() {
    // Pruning deletes the changes by which late nodes are brought up to the head.
    for (fsync, history_blocks, takes) in
        [(Fsync::None, 0, false), (Fsync::Never, 0, true), (Fsync::Never, 3, false)]
    {
        let home = Home { history_blocks, ..Home::new(CommitmentKind::Mpt) };
        let kv = open(&home, fsync);
        assert_eq!(kv.takes_late_nodes(), takes);
        let chain = chain(&home, &kv, 5, 32);
        let head = kv.head();
        let next = (0..).map(|seed| chain[4].next(seed)).find(|block| !destroys(block)).unwrap();
        let update = || {
            let mut trie = kv.trie().unwrap();
            trie.apply(&next.changes).unwrap();
            trie.take_root_update().unwrap()
        };
        let alone = Commit { trie: Some(update()), ..as_part_of_run(&next, &home) };
        let refused = kv.commit(alone).unwrap_err().to_string();
        assert!(refused.contains("a commit of one block has the nodes of its trie"), "{refused}");
        if !takes {
            let run = vec![as_part_of_run(&next, &home)];
            let refused = kv.commit_run(run, Some(update())).unwrap_err().to_string();
            assert!(refused.contains("nodes of the trie may not be late in a store that"), "{refused}");
        }
        assert_eq!(kv.head(), head);
        next.commit(&kv, &home.tables, true).unwrap();
        check(&kv, &next);
    }
}
