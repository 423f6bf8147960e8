//! Death at every step of a block, and the state of both sides after it: CometBFT stores the block,
//! FinalizeBlock, Commit, CometBFT saves its state.

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

#[test]
fn the_chain_was_rolled_back() {
    let mut comet = chain();
    (4..=8).for_each(|height| drop(commit(&mut comet, filled(height))));
    let hashes = comet.app_hashes.clone();
    comet.state = 0;
    // As far as the genesis: CometBFT begins the chain again with InitChain and gives all its
    // blocks.
    comet.restart_after(|home| {
        let options = hearth_chain::ChainOptions::default();
        let done = operate::roll_back(home, &options, 0, false).expect("rolls back");
        assert_eq!((done.0.from.height, done.1.height), (8, 0));
    });
    assert_eq!(comet.app_hashes, hashes);
    commit(&mut comet, filled(9));
}

#[test]
fn the_data_of_cometbft_is_older_than_the_chain() {
    let mut comet = chain();
    // Restores the folder cometbft of height 1: CometBFT must stop because of the height in Info,
    // and no block is executed twice.
    let info = comet.info();
    assert_eq!((info.last_block_height, info.last_block_app_hash), (3, comet.app_hashes[2].clone().into()));
    assert_eq!(comet.finalize(&filled(2)).unwrap_err(), "FinalizeBlock of height 2, and the next block is 4");
    let again = comet.init_chain(&genesis(), "hearth-31337", 30_000_000).unwrap_err();
    assert!(again.contains("has blocks up to 3"), "{again}");
    // Once the chain is rolled back to what CometBFT has, both continue.
    comet.store.truncate(1);
    comet.app_hashes.truncate(1);
    comet.state = 1;
    comet.restart_after(|home| {
        let options = hearth_chain::ChainOptions::default();
        operate::roll_back(home, &options, 1, false).expect("rolls back");
    });
    commit(&mut comet, block(2, Vec::new()));
    assert_eq!(comet.info().last_block_height, 2);
}

#[test]
fn no_block_may_be_dropped_that_a_power_cut_takes_here() {
    const KEEP: u64 = 20;
    let mut comet = Comet::begin_keeping(1, &genesis(), KEEP);
    for height in 1..=200 {
        comet.finalize(&block(height, Vec::new())).expect("executes");
        let retained = comet.commit().expect("commits");
        // Every hundredth block, once the log is on the disk up to here.
        let wanted = if height % 100 == 0 { height - KEEP as i64 } else { 0 };
        assert_eq!(retained, wanted, "height {height}");
        comet.store.push(block(height, Vec::new()));
    }
}

#[test]
fn a_chain_with_blocks_becomes_a_network() {
    let mut before = chain();
    (4..=5).for_each(|height| drop(commit(&mut before, filled(height))));
    let head = before.app_hashes[4].clone();
    // The same chain, whose blocks CometBFT decides on from 6 on.
    let mut text: serde_json::Value = serde_json::from_str(&genesis()).expect("JSON");
    text["config"]["bft"]["initialHeight"] = 6.into();
    let later = text.to_string();
    before.store.clear();
    before.app_hashes.clear();
    before.state = 0;
    before.restart_as(&later);
    let info = before.info();
    assert_eq!((info.last_block_height, info.last_block_app_hash.len()), (0, 0), "InitChain comes");
    let wrong = before.init_chain_from(&later, 5).unwrap_err();
    assert!(wrong.contains("initial_height: have 5, want 6"), "{wrong}");
    let begun = before.init_chain_from(&later, 6).expect("the same chain");
    assert_eq!(begun.app_hash, head);
    let answer = before.finalize(&filled(6)).expect("executes");
    before.commit().expect("commits");
    assert_eq!(before.info().last_block_app_hash, answer.app_hash);
    let told = before.ask("getBlockByNumber", &serde_json::json!({ "block": "0x6", "full": false }));
    assert_eq!(
        told["parentBeaconBlockRoot"],
        format!("0x{}", "0".repeat(64)),
        "block 5 is none of CometBFT's"
    );
    // A home without those blocks cannot begin the network by itself.
    let mut empty = Comet::begin_empty(2, &later);
    let alone = empty.init_chain_from(&later, 6).unwrap_err();
    assert!(alone.contains("--trust-height"), "{alone}");
}
