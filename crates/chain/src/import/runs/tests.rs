use super::*;
use crate::{BlockNumHash, ChainOptions, ChainWatcher, build::AllOf};
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, Bytes};
use hearth_flatkv::{FlatKvError, Fsync};
use hearth_primitives::{Height, TraceCapsule};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
    thread,
};

const GENESIS: &str = r#"{
    "config": {"chainId": 5, "terminalTotalDifficulty": 0, "shanghaiTime": 0, "homesteadBlock": 0,
        "eip150Block": 0, "eip155Block": 0, "eip158Block": 0, "byzantiumBlock": 0,
        "constantinopleBlock": 0, "petersburgBlock": 0, "istanbulBlock": 0, "berlinBlock": 0,
        "londonBlock": 0},
    "difficulty": "0x0", "gasLimit": "0x1c9c380", "alloc": {}
}"#;

fn chain(home: &Path) -> Chain {
    let options = ChainOptions { fsync: Fsync::None, ..ChainOptions::default() };
    Chain::create(home, GENESIS, &options).unwrap()
}

/// Blocks on the genesis block, each with a withdrawal to an address of its own.
fn blocks(count: u64) -> Vec<Built> {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain(dir.path());
    let mut parent = chain.head_block().unwrap().unwrap().block.header.clone();
    let build = |number: u64| {
        let attributes = crate::BlockAttributes {
            timestamp: parent.timestamp + 12,
            beneficiary: Address::ZERO,
            prev_randao: B256::ZERO,
            parent_beacon_block_root: B256::ZERO,
            withdrawals: Vec::new(),
            extra_data: Bytes::new(),
            gas_limit: parent.gas_limit,
            misbehavior: Bytes::new(),
        };
        let header = chain.header_after(&parent, &attributes);
        let address = Address::repeat_byte(number as u8);
        let withdrawal = Withdrawal { index: number, validator_index: 1, address, amount: number };
        let state = chain.state_at(parent.number).unwrap();
        let draft = chain.draft(header, &[withdrawal], &state, &mut AllOf::new(&[])).unwrap().unwrap();
        let mut roots = chain.kv().roots().unwrap();
        roots.apply(&draft.output.changes).unwrap();
        let block = draft.complete(roots.root().unwrap());
        let hash = chain.commit_built(&block, &draft.output, roots.into_update().unwrap()).unwrap();
        parent = block.header.clone();
        Built { hash, block, output: BuiltOutput::Executed(Box::new(draft.output)) }
    };
    (1..=count).map(build).collect()
}

fn place(index: u64) -> Place {
    Place { file: Path::new("chain.rlp").into(), index, offset: 0, bytes: 1, bytes_done: 0 }
}

fn ahead(built: Built) -> AheadBlock {
    let place = place(built.block.header.number - 1);
    AheadBlock { built, place, total_difficulty: U256::ZERO }
}

#[test]
fn blocks_below_one_that_cannot_be_committed_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let (chain, mut blocks) = (chain(dir.path()), blocks(4));
    let second = blocks[1].hash;
    // The state store refuses a height that does not follow.
    blocks[2].block.header.number = 9;
    let mut run = Run::new(&chain);
    run.places = (0..4).map(place).collect();
    run.blocks = blocks;
    let done = run.commit();
    assert_eq!(done.run.iter().map(|built| built.block.header.number).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(done.last.map(|last| last.index), Some(1));
    let (at, error) = done.failed.unwrap();
    assert_eq!(at.index, 2);
    let refused = matches!(error, ChainError::Store(FlatKvError::Height { expected: 3, got: 9 }));
    assert!(refused, "{error:?}");
    assert_eq!((chain.head().height, chain.head().hash), (2, second));
    // Later blocks build on the one that was not committed.
    run.add(ahead(self::blocks(1).remove(0)));
    assert!(run.blocks.is_empty());
}

#[test]
fn a_block_with_another_state_root_ends_the_run_below_it() {
    let dir = tempfile::tempdir().unwrap();
    let (chain, mut blocks) = (chain(dir.path()), blocks(3));
    blocks[1].block.header.state_root = B256::repeat_byte(7);
    let mut run = Run::new(&chain);
    blocks.into_iter().for_each(|built| run.add(ahead(built)));
    let done = run.commit();
    assert_eq!((done.run.len(), done.last.map(|last| last.index)), (1, Some(0)));
    let (at, error) = done.failed.unwrap();
    let refused =
        matches!(&error, ChainError::Refused { number: 2, source: BlockError::Mismatch { .. }, .. });
    assert!(at.index == 1 && refused, "{error:?}");
    assert_eq!(chain.head().height, 1);
}

/// Panics at the first block.
struct Panics;

impl ChainWatcher for Panics {
    fn committed(&self, _: Height, _: B256, _: Option<&Arc<TraceCapsule>>) {
        panic!("a watcher panics");
    }

    fn head_moved(&self, _: &[BlockNumHash], _: &[crate::AddedBlock]) {}
}

#[test]
fn a_panic_of_the_commit_thread_reaches_the_thread_that_waits() {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain(dir.path());
    let watcher: Arc<dyn ChainWatcher> = Arc::new(Panics);
    chain.watch(&watcher);
    let wait = || {
        thread::scope(|scope| {
            let mut runs = Runs::start(scope, &chain);
            assert!(runs.wait().is_none(), "nothing is committed yet");
            blocks(2).into_iter().for_each(|built| runs.check(ahead(built)));
            runs.commit();
            let waited = catch_unwind(AssertUnwindSafe(|| runs.wait().is_some()));
            // The thread is gone: neither call waits for it.
            runs.commit();
            assert!(matches!(runs.wait(), Some(Err(ChainError::Cancelled))));
            waited.unwrap_err().downcast_ref::<&str>().copied()
        })
    };
    assert_eq!(wait(), Some("a watcher panics"));
}
