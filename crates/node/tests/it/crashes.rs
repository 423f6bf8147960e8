//! Death at every step of a block, and what both sides have after it: CometBFT stores the block, FinalizeBlock, Commit, CometBFT
//! saves its state.

use crate::{
    comet::{Comet, Decided},
    consensus::{genesis, transfer},
};
use hearth_abci::{Timestamp, pb};
use hearth_chain::operate;

fn block(height: i64, txs: Vec<Vec<u8>>) -> Decided {
    let time = Timestamp { seconds: 1_700_000_000 + height, nanos: 0 };
    Decided { height, time, proposer: vec![1; 20], txs }
}

/// A block of a transfer.
fn filled(height: i64) -> Decided {
    block(height, vec![transfer(0, u64::try_from(height - 1).expect("a height"), 0)])
}

fn commit(comet: &mut Comet, decided: Decided) -> pb::ResponseFinalizeBlock {
    let answer = comet.finalize(&decided).expect("executes");
    comet.commit().expect("commits");
    comet.store.push(decided);
    comet.told(comet.store.len() - 1, &answer.app_hash);
    comet.state = comet.store.len();
    answer
}

/// A chain of three blocks.
fn chain() -> Comet {
    let mut comet = Comet::begin(1, &genesis());
    (1..=3).for_each(|height| drop(commit(&mut comet, filled(height))));
    comet
}

#[test]
fn before_the_block_is_stored() {
    let mut comet = chain();
    assert!(comet.process(&filled(4)));
    comet.restart();
    assert_eq!(comet.info().last_block_height, 3);
    // The next round may decide on another block.
    let other = block(4, Vec::new());
    assert!(comet.process(&other));
    commit(&mut comet, other);
    let head = comet.node.chain().expect("open").head();
    assert_eq!((head.height, head.hash.as_slice()), (4, comet.app_hashes[3].as_slice()));
}

#[test]
fn after_the_block_is_stored_and_before_finalize_block() {
    let (mut comet, mut other) = (chain(), chain());
    let expected = commit(&mut other, filled(4)).app_hash;
    assert!(comet.process(&filled(4)));
    comet.store.push(filled(4));
    // What was executed as a proposal went with the process.
    comet.restart();
    assert_eq!((comet.info().last_block_height, comet.app_hashes[3].as_slice()), (4, expected.as_ref()));
}

#[test]
fn in_commit_before_the_record_of_the_block() {
    let mut comet = chain();
    let before = comet.finalize(&filled(4)).expect("executes");
    comet.store.push(filled(4));
    comet.told(3, &before.app_hash);
    comet.restart();
    let mut again = chain();
    // Codes, gas and data are hashed into the next header.
    assert_eq!(commit(&mut again, filled(4)), before);
    assert_eq!(comet.app_hashes[3], before.app_hash);
}

#[test]
fn in_commit_after_the_record_of_the_block() {
    let mut comet = chain();
    let answer = comet.finalize(&filled(4)).expect("executes");
    comet.store.push(filled(4));
    comet.told(3, &answer.app_hash);
    comet.commit().expect("commits");
    // CometBFT did not save that: it replays the block with the answer that it stored.
    comet.restart();
    let info = comet.info();
    assert_eq!((info.last_block_height, info.last_block_app_hash), (4, answer.app_hash));
    commit(&mut comet, filled(5));
}

#[test]
fn the_application_lost_its_last_blocks() {
    let mut comet = chain();
    (4..=8).for_each(|height| drop(commit(&mut comet, filled(height))));
    let hashes = comet.app_hashes.clone();
    // A power cut, or `hearth db rollback`, while CometBFT keeps what it has.
    comet.state = 0;
    comet.restart_after(|home| {
        let options = hearth_chain::ChainOptions::default();
        let done = operate::roll_back(home, &options, 5, false).expect("rolls back");
        assert_eq!((done.0.from.height, done.1.height), (8, 5));
    });
    assert_eq!(comet.info().last_block_height, 8, "CometBFT gave blocks 6 to 8 again");
    assert_eq!(comet.app_hashes, hashes);
    commit(&mut comet, filled(9));
}
