//! Runs of empty blocks, which are committed together, against the same blocks one by one.

use crate::model::{limits, open, transfer, who};
use alloy_primitives::{U256, keccak256};
use hearth_chain::{AccountEdit, Chain, ChainOptions, StateAt};
use hearth_dev_chain::{DevChain, MiningOptions, Steps, dev_genesis_json};
use hearth_evm::{BEACON_ROOTS_ADDRESS, HISTORY_ADDRESS};
use hearth_flatkv::Fsync;
use hearth_pool::TransactionPool;
use hearth_primitives::{Height, StateReader as _};
use std::{num::NonZeroU64, path::Path, sync::Arc};

/// More blocks than one commit takes at first.
const MANY: u64 = 1_500;
/// More blocks than the ring buffers of EIP-2935 and EIP-4788 have entries (8,191), in commits of
/// several sizes.
const AROUND: u64 = 8_700;
const STEP: Steps = Steps { interval: Some(3), first: true };

fn mine(dev: &DevChain, count: u64) {
    let mined = dev.mine_blocks(count, STEP, &|| false).unwrap().unwrap();
    assert_eq!(mined.count() as u64, count);
}

/// Opens the chain of a genesis that several homes may have.
fn open_same(home: &Path, genesis: &str) -> (Arc<Chain>, DevChain) {
    let options = ChainOptions { fsync: Fsync::Never, ..ChainOptions::default() };
    let chain = Arc::new(Chain::create(home, genesis, &options).unwrap());
    let pool = Arc::new(TransactionPool::new(chain.spec().clone(), chain.next_chain_id().clone(), limits()));
    let dev =
        DevChain::new(chain.clone(), pool, &MiningOptions { automine: true, ..MiningOptions::default() });
    (chain, dev)
}

/// Whether a block has a trace capsule.
fn has_capsule(chain: &Chain, height: Height) -> bool {
    let hash = chain.ledger().canonical_hash(height).unwrap().unwrap();
    chain.ledger().capsule(&hash).unwrap().is_some()
}

/// The effects of a block: hash, state root, receipts and capsule, and the storage of the system
/// contracts.
fn facts(chain: &Chain, height: Height) -> String {
    let block = chain.ledger().canonical_block(height).unwrap().unwrap();
    let receipts = chain.ledger().receipts(&block.hash).unwrap();
    let capsule = chain.ledger().capsule(&block.hash).unwrap();
    let state = chain.state_at(height).unwrap();
    let time = block.block.header.timestamp;
    let slot = |address, slot: u64| state.storage(&address, &U256::from(slot)).unwrap();
    let slots = [
        slot(HISTORY_ADDRESS, (height - 1) % 8191),
        slot(HISTORY_ADDRESS, height % 8191),
        slot(BEACON_ROOTS_ADDRESS, time % 8191),
        slot(BEACON_ROOTS_ADDRESS, (time + 3) % 8191),
    ];
    format!("{block:?} {receipts:?} {capsule:?} {slots:?}")
}

fn root_of(state: &StateAt) -> U256 {
    state.storage(&HISTORY_ADDRESS, &U256::ZERO).unwrap()
}

#[test]
fn blocks_of_a_run_are_those_that_are_made_alone() {
    let genesis = dev_genesis_json(30_000_000);
    let (together, alone) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ((one, run), (other, single)) =
        (open_same(together.path(), &genesis), open_same(alone.path(), &genesis));
    mine(&run, AROUND);
    for _ in 0..AROUND {
        mine(&single, 1);
    }
    assert_eq!(one.head(), other.head());
    assert_eq!(one.head().height, AROUND);
    for height in
        (1..=AROUND).step_by(97).chain([2, 512, 513, 4_096, 4_097, 8_191, 8_192, 8_193, AROUND - 1, AROUND])
    {
        assert_eq!(facts(&one, height), facts(&other, height), "block {height}");
    }
    // After a run everything works as after single blocks: blocks, unwinds into the run, and out of
    // it.
    for (chain, home) in [(&run, &one), (&single, &other)] {
        chain
            .edit(&[(who(1), AccountEdit { balance: Some(U256::from(50)), ..AccountEdit::default() })])
            .unwrap();
        chain.set_next(|next| next.base_fee = Some(0));
        chain.submit(transfer(0, 1, 2, 7).into(), Some(who(1))).unwrap().unwrap();
        mine(chain, 40);
        let with_transaction = AROUND + 1;
        assert_eq!([AROUND, with_transaction].map(|height| has_capsule(home, height)), [false, true]);
        chain.rollback(700).unwrap();
        mine(chain, 25);
    }
    assert_eq!(one.head(), other.head());
    let head = one.head().height;
    assert_eq!(head, AROUND + 41 - 700 + 25);
    for height in [head - 26, head - 25, head - 24, head] {
        assert_eq!(facts(&one, height), facts(&other, height), "block {height}");
    }
    assert_eq!(root_of(&one.state_at(head).unwrap()), root_of(&other.state_at(head).unwrap()));
}

#[test]
fn a_run_forgets_old_capsules_wherever_it_ends() {
    let home = tempfile::tempdir().unwrap();
    let mut options = ChainOptions { fsync: Fsync::Never, ..ChainOptions::default() };
    options.ledger.settings.capsule_window_blocks = NonZeroU64::new(10);
    let chain = Arc::new(Chain::create(home.path(), &dev_genesis_json(30_000_000), &options).unwrap());
    let pool = Arc::new(TransactionPool::new(chain.spec().clone(), chain.next_chain_id().clone(), limits()));
    let mining = MiningOptions { automine: true, ..MiningOptions::default() };
    let dev = DevChain::new(chain.clone(), pool, &mining);
    dev.set_next(|next| next.base_fee = Some(0));
    dev.submit(transfer(0, 1, 2, 0).into(), Some(who(1))).unwrap().unwrap();
    assert!(has_capsule(&chain, 1));
    mine(&dev, 130);
    assert_eq!(chain.head().height, 131, "no multiple of 64");
    assert!(!has_capsule(&chain, 1));
}

#[test]
fn a_run_is_there_after_a_restart_and_in_snapshots() {
    let home = tempfile::tempdir().unwrap();
    let (before, snapshot) = {
        let (chain, _pool, dev) = open(home.path());
        mine(&dev, 5);
        let snapshot = dev.snapshot();
        mine(&dev, MANY);
        assert!(dev.revert(snapshot).unwrap());
        assert_eq!(chain.head().height, 5);
        mine(&dev, MANY);
        let middle: Vec<String> = [6, 700, 5 + MANY].map(|height| facts(&chain, height)).into();
        chain.close().unwrap();
        (middle, snapshot)
    };
    assert_eq!(snapshot, 0);
    let options = ChainOptions { fsync: Fsync::Never, ..ChainOptions::default() };
    let chain = Chain::open(home.path(), &options).unwrap();
    assert_eq!(chain.head().height, 5 + MANY);
    let after: Vec<String> = [6, 700, 5 + MANY].map(|height| facts(&chain, height)).into();
    assert_eq!(before, after);
    // Their missing capsules are no damage.
    let repaired = chain.make_capsules(&mut |_| true).unwrap();
    assert_eq!((repaired.made, repaired.left), (0, 0));
    chain.close().unwrap();
}

#[test]
fn a_run_ends_where_it_is_told_to() {
    let home = tempfile::tempdir().unwrap();
    let (chain, _pool, dev) = open(home.path());
    let asked = std::sync::atomic::AtomicU64::new(0);
    let stop = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= 300;
    assert!(matches!(dev.mine_blocks(MANY, STEP, &stop), Err(hearth_chain::ChainError::Cancelled)));
    let head = chain.head().height;
    assert!((1..=300).contains(&head), "{head} blocks were made until then");
    assert_eq!(chain.head_block().unwrap().unwrap().block.header.state_root, chain.head().commitment);
    mine(&dev, 3);
    assert_eq!(chain.head().height, head + 3);
}

/// What the state root of the head proves of a slot that each block writes.
fn check_proof(chain: &Chain) {
    let head = chain.head();
    let slot = U256::from((head.height - 1) % 8191);
    let proof = chain.kv().prove(head.height, &HISTORY_ADDRESS, &[slot]).unwrap();
    let state = chain.state_at(head.height).unwrap();
    let value = state.storage(&HISTORY_ADDRESS, &slot).unwrap();
    assert!(!value.is_zero());
    assert_eq!((proof.state_root, proof.slots[0].value), (head.commitment, value));
    assert_eq!(keccak256(&proof.slots[0].nodes[0]), proof.storage_root);
}

/// Whether every row and node is what the head says.
fn check_store(chain: &Chain) {
    let report = chain.kv().verify(&mut |_| true).unwrap();
    assert!(report.is_sound(), "{report:?}");
}

#[test]
fn proofs_inside_a_long_run_and_behind_it() {
    let home = tempfile::tempdir().unwrap();
    let (chain, _pool, dev) = open(home.path());
    let heads = std::cell::RefCell::new(Vec::new());
    let asked = std::cell::Cell::new(0);
    // Runs that were committed by then have no nodes of their own.
    let look = || {
        asked.set(asked.get() + 1);
        if [3_000, 3_001, 6_000].contains(&asked.get()) {
            check_proof(&chain);
            heads.borrow_mut().push(chain.head().height);
        }
        false
    };
    dev.mine_blocks(AROUND, STEP, &look).unwrap().unwrap();
    assert!(heads.borrow()[0] > 500 && heads.borrow()[2] > 3_000, "{heads:?}");
    assert_eq!(chain.head().height, AROUND);
    check_proof(&chain);
    check_store(&chain);
    dev.rollback(5_000).unwrap();
    check_proof(&chain);
    mine(&dev, 1);
    check_store(&chain);
}

/// Mines until the first of a run's blocks was to be made, so that the runs before it are committed
/// without nodes.
fn mine_to_the_end_of_a_run(chain: &Chain, dev: &DevChain) {
    let first = chain.head().height;
    let asked = std::cell::Cell::new(0);
    let stop = || asked.replace(asked.get() + 1) > 511 + 512 + 768;
    let stopped = dev.mine_blocks(20_000, STEP, &stop);
    assert!(matches!(stopped, Err(hearth_chain::ChainError::Cancelled)));
    assert_eq!(chain.head().height, first + 511 + 512 + 768);
}

#[test]
fn runs_without_nodes_can_be_all_that_was_committed() {
    let uses: [fn(&Chain, &DevChain); 5] = [
        |chain, _| check_proof(chain),
        |_, dev| dev.rollback(1_000).unwrap(),
        |_, dev| mine(dev, 1),
        |_, dev| mine(dev, 600),
        |chain, _| drop(chain.kv().snapshot().unwrap()),
    ];
    for first_use in uses {
        let home = tempfile::tempdir().unwrap();
        let (chain, _pool, dev) = open(home.path());
        mine_to_the_end_of_a_run(&chain, &dev);
        first_use(&chain, &dev);
        check_proof(&chain);
        check_store(&chain);
    }
}

#[test]
fn a_store_closed_behind_runs_without_nodes_has_them() {
    let home = tempfile::tempdir().unwrap();
    let (chain, pool, dev) = open(home.path());
    mine_to_the_end_of_a_run(&chain, &dev);
    let head = chain.head();
    chain.close().unwrap();
    drop((chain, pool, dev));
    let options = ChainOptions { fsync: Fsync::Never, ..ChainOptions::default() };
    let chain = Chain::open(home.path(), &options).unwrap();
    assert_eq!(chain.head(), head);
    check_proof(&chain);
    check_store(&chain);
}
