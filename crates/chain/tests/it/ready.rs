//! Executed blocks whose commits are made ready: what a kill leaves at every phase, and commits
//! that do not fit any more.

use crate::reorg::{MERGED, branch, hash};
use crate::support::options;
use hearth_chain::{Branch, Chain, ExecutedBlock};
use hearth_flatkv::Fsync;
use hearth_primitives::{Block, RootTracker as _};
use std::{fs, io, path::Path, sync::Arc};
use tempfile::TempDir;

/// Copies of a home that are tried before one meets no file that is being removed.
const COPIES_MAX: usize = 100;

/// What a kill would leave now: the files as the operating system has them.
fn killed(home: &Path) -> TempDir {
    fn copy(from: &Path, to: &Path) -> io::Result<()> {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let to = to.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                copy(&entry.path(), &to)?;
            } else {
                fs::copy(entry.path(), to)?;
            }
        }
        Ok(())
    }
    for _ in 0..COPIES_MAX {
        let left = TempDir::new().unwrap();
        match copy(home, left.path()) {
            Ok(()) => return left,
            // A thread of the store removed a file in between: the copy is no single moment.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => panic!("{error}"),
        }
    }
    panic!("{COPIES_MAX} copies of a home met removed files");
}

/// The head of a home after a kill now, and whether it knows a block.
fn after_kill(home: &Path, block: &Block) -> (u64, alloy_primitives::B256, bool) {
    let left = killed(home);
    let chain = Chain::open(left.path(), &options()).unwrap();
    let head = chain.head();
    let state_root = chain.head_block().unwrap().map(|block| block.block.header.state_root);
    assert_eq!(state_root, Some(head.commitment));
    (head.height, head.hash, chain.ledger().has_block(&hash(block)))
}

fn execute(chain: &Chain, block: &Block, parents: &[&Arc<ExecutedBlock>], at: &Branch) -> Arc<ExecutedBlock> {
    let blocks = parents.iter().map(|block| Arc::clone(block)).collect();
    let parent = Branch { blocks, ..at.clone() };
    Arc::new(chain.execute_on(block.clone().into(), &parent).unwrap())
}

#[test]
fn a_kill_at_any_phase_leaves_the_old_head_or_the_chosen_one() {
    for fsync in [Fsync::Block, Fsync::None] {
        let [left, right] = [1, 2].map(|coinbase| branch(MERGED, &[], &[12, 12], coinbase));
        let home = TempDir::new().unwrap();
        let chain =
            Chain::create(home.path(), MERGED, &hearth_chain::ChainOptions { fsync, ..options() }).unwrap();
        let genesis = chain.head();
        let root = Branch { fork_height: 0, fork_hash: genesis.hash, blocks: Vec::new() };
        let adopt = |blocks: &[&Arc<ExecutedBlock>]| {
            let blocks = blocks.iter().map(|block| Arc::clone(block)).collect();
            chain.adopt_branch(&Branch { blocks, ..root.clone() }).unwrap();
        };
        let (l1, r1) = (execute(&chain, &left[0], &[], &root), execute(&chain, &right[0], &[], &root));

        // Ready and not chosen: the rows are in the tables, and no index names them.
        assert!(chain.make_ready(&l1).unwrap() && chain.make_ready(&r1).unwrap());
        assert!(!chain.make_ready(&l1).unwrap(), "it is ready");
        assert_eq!((chain.head(), chain.ledger().canonical_hash(1).unwrap()), (genesis, None));
        assert!(chain.ledger().has_block(&hash(&left[0])));
        assert_eq!(after_kill(home.path(), &left[0]), (0, genesis.hash, false), "cut off with the kill");

        // Chosen: a kill right behind the answer leaves the new head.
        adopt(&[&l1]);
        assert_eq!(after_kill(home.path(), &left[0]), (1, hash(&left[0]), true));
        assert_eq!(chain.head().commitment, left[0].header.state_root);
        assert_eq!(chain.ledger().canonical_hash(1).unwrap(), Some(hash(&left[0])));
        assert_eq!(chain.ledger().receipts(&hash(&left[0])).unwrap().unwrap().receipts.len(), 0);

        // A commit that was made ready on the genesis no longer fits: the block is committed from
        // scratch.
        adopt(&[&r1]);
        assert_eq!(after_kill(home.path(), &left[0]), (1, hash(&right[0]), true));
        assert_eq!(chain.head().commitment, right[0].header.state_root);

        // Two blocks at once, of which none can be made ready on this head.
        let l2 = execute(&chain, &left[1], &[&l1], &root);
        assert!(!chain.make_ready(&l2).unwrap(), "its parent is not the head");
        adopt(&[&l1, &l2]);
        assert_eq!(after_kill(home.path(), &left[1]), (2, hash(&left[1]), true));
        chain.close().unwrap();
        drop((l1, l2, r1, chain));
        let chain = Chain::open(home.path(), &options()).unwrap();
        assert_eq!((chain.head().height, chain.head().hash), (2, hash(&left[1])));
        assert_eq!(chain.kv().verify(&mut |_| true).unwrap().findings.len(), 0);
    }
}

#[test]
fn a_block_that_is_kept_known_is_executed_again() {
    let blocks = branch(MERGED, &[], &[12, 12], 1);
    let home = TempDir::new().unwrap();
    let chain = Chain::create(home.path(), MERGED, &options()).unwrap();
    let genesis = chain.head();
    let root = Branch { fork_height: 0, fork_hash: genesis.hash, blocks: Vec::new() };
    let first = execute(&chain, &blocks[0], &[], &root);
    let second = execute(&chain, &blocks[1], &[&first], &root);
    let tip = hash(&blocks[1]);
    assert!(chain.branch_to(tip, &|_| None).unwrap().is_none());
    // The second time, the ledger has them.
    for block in [&first, &second, &first, &second] {
        chain.keep_known(block).unwrap();
    }
    assert_eq!((chain.head(), chain.ledger().canonical_hash(1).unwrap()), (genesis, None));
    let again = chain.branch_to(tip, &|_| None).unwrap().unwrap();
    assert_eq!((again.fork_hash, again.blocks.len(), again.tip()), (genesis.hash, 2, tip));
    chain.adopt_branch(&again).unwrap();
    let head = chain.head();
    assert_eq!((head.hash, head.commitment), (tip, blocks[1].header.state_root));
}

#[test]
fn roots_are_of_the_block_that_they_were_wanted_of() {
    let [left, right] = [1, 2].map(|coinbase| branch(MERGED, &[], &[12], coinbase).remove(0));
    let home = TempDir::new().unwrap();
    let chain = Chain::create(home.path(), MERGED, &options()).unwrap();
    for block in [&left, &right] {
        chain.insert_block(block.clone()).unwrap();
    }
    for (head, other) in [(&left, &right), (&right, &left)] {
        chain.set_head(&hash(head)).unwrap();
        let mut roots = chain.roots_on(1, &hash(head)).unwrap().unwrap();
        assert_eq!(roots.root().unwrap(), head.header.state_root);
        assert!(chain.roots_on(1, &hash(other)).unwrap().is_none());
    }
}
