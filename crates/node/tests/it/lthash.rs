//! A chain whose genesis sets `bft.commitment` to `lthash`: the state root of its headers is the
//! checksum of a lattice hash, and what needs the state trie is refused.

use crate::{
    comet::{Comet, Decided},
    consensus::{genesis, sink, transfer},
    support::answer,
};
use alloy_primitives::B256;
use hearth_abci::Timestamp;
use hearth_chain::{Chain, ChainError, ChainOptions, Inserted, operate};
use hearth_evm::{BlockError, Field};
use hearth_flatkv::CommitmentKind;
use hearth_node::NodeError;
use hearth_primitives::{RootTracker as _, StateReader as _};
use hearth_rpc::Request;
use serde_json::{Value, json};

const NO_TRIE: &str = "there is no state trie: the genesis sets bft.commitment to lthash, a checksum of the state that proves no account";

/// The genesis of the other tests, with the lattice hash.
pub fn lthash_genesis() -> String {
    let mut genesis: Value = serde_json::from_str(&genesis()).expect("JSON");
    genesis["config"]["bft"]["commitment"] = json!("lthash");
    genesis.to_string()
}

/// Two transfers of one wei each.
fn block(height: i64) -> Decided {
    let time = Timestamp { seconds: 1_700_000_000 + height, nanos: 0 };
    let nonce = u64::try_from(height - 1).expect("a height");
    Decided { height, time, proposer: vec![1; 20], txs: vec![transfer(0, nonce, 0), transfer(1, nonce, 0)] }
}

fn commit(comet: &mut Comet, height: i64) {
    let decided = block(height);
    assert!(comet.process(&decided));
    let answer = comet.finalize(&decided).expect("executes");
    assert!(answer.tx_results.iter().all(|result| result.code == 0), "{:?}", answer.tx_results);
    comet.commit().expect("commits");
    comet.store.push(decided);
    comet.told(comet.store.len() - 1, &answer.app_hash);
    comet.state = comet.store.len();
}

fn chain(genesis: &str, blocks: i64) -> Comet {
    let mut comet = Comet::begin(1, genesis);
    (1..=blocks).for_each(|height| commit(&mut comet, height));
    comet
}

fn header(comet: &Comet, height: i64) -> Value {
    comet.ask("getBlockByNumber", &json!({ "block": format!("{height:#x}"), "full": false }))
}

fn refused(comet: &Comet, op: &str, args: &Value) -> String {
    let text = format!(r#"{{"op":"{op}","args":{args}}}"#);
    let request = Request::from_json(text.as_bytes()).expect("a request");
    let error = answer(&comet.node, request).expect_err("the request is refused");
    assert!(matches!(error, NodeError::Unsupported { .. }), "{error:?}");
    error.to_string()
}

#[test]
fn headers_have_the_checksum_and_blocks_do_the_same() {
    let (comet, trie) = (chain(&lthash_genesis(), 4), chain(&genesis(), 4));
    let chain = comet.node.chain().expect("open");
    for height in 0..=4 {
        let (block, other) = (header(&comet, height), header(&trie, height));
        let mut roots = chain.kv().roots_at(height as u64).expect("a commitment");
        let checksum = roots.root().expect("a checksum");
        assert_eq!(block["stateRoot"], json!(checksum), "height {height}");
        assert_ne!(block["stateRoot"], other["stateRoot"], "height {height}");
        assert_eq!(block["receiptsRoot"], other["receiptsRoot"], "height {height}");
        assert_eq!(block["transactionsRoot"], other["transactionsRoot"], "height {height}");
    }
    let head = chain.head();
    assert_eq!(header(&comet, 4)["stateRoot"], json!(head.commitment));
    assert_eq!(head.hash.as_slice(), comet.app_hashes[3], "the app hash is the block's");
    let balance = json!({ "address": sink(0), "block": "latest" });
    assert_eq!(comet.ask("getBalance", &balance), json!("0x4"));
    let report = chain.kv().verify(&mut |_| true).expect("verifies");
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[test]
fn what_needs_a_trie_says_why_it_is_refused() {
    let comet = chain(&lthash_genesis(), 2);
    for block in ["latest", "0x1"] {
        let args = json!({ "address": sink(0), "slots": [], "block": block });
        assert_eq!(refused(&comet, "getProof", &args), NO_TRIE);
    }
    let hash = header(&comet, 2)["hash"].clone();
    assert_eq!(refused(&comet, "intermediateRoots", &json!({ "hash": hash })), NO_TRIE);
    // A simulated block and the pending block have the checksum too.
    let options = json!({ "blockStateCalls": [{}] });
    let simulated = comet.ask("simulateV1", &json!({ "options": options, "block": "latest" }));
    let root: B256 = simulated[0]["stateRoot"].as_str().expect("a root").parse().expect("32 bytes");
    let chain = comet.node.chain().expect("open");
    assert_ne!(root, chain.head().commitment, "EIP-2935 wrote a block hash");
    let pending = comet.ask("getBlockByNumber", &json!({ "block": "pending", "full": false }));
    let root: B256 = pending["stateRoot"].as_str().expect("a root").parse().expect("32 bytes");
    assert!(root != chain.head().commitment && !root.is_zero());
}

#[test]
fn deaths_rollbacks_and_a_replay_end_with_the_same_blocks() {
    let genesis = lthash_genesis();
    let expected = chain(&genesis, 9).app_hashes.clone();
    let mut comet = chain(&genesis, 5);
    // The block is stored by CometBFT, and its execution goes with the process.
    assert!(comet.process(&block(6)));
    comet.store.push(block(6));
    comet.restart();
    // Between FinalizeBlock and Commit.
    comet.finalize(&block(7)).expect("executes");
    comet.store.push(block(7));
    comet.restart();
    // After Commit, before CometBFT saves its state.
    comet.finalize(&block(8)).expect("executes");
    comet.store.push(block(8));
    comet.commit().expect("commits");
    comet.app_hashes.push(expected[7].clone());
    comet.restart();
    commit(&mut comet, 9);
    assert_eq!(comet.app_hashes, expected);
    // `hearth db rollback`; CometBFT replays the blocks above.
    for to in [6, 0] {
        comet.state = 0;
        comet.restart_after(|home| {
            let done = operate::roll_back(home, &ChainOptions::default(), to, false).expect("rolls back");
            assert_eq!((done.0.from.height, done.1.height), (9, to));
        });
        assert_eq!(comet.app_hashes, expected, "rolled back to {to}");
    }
    let report = comet.node.chain().expect("open").kv().verify(&mut |_| true).expect("verifies");
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[test]
fn blocks_are_imported_and_a_wrong_checksum_is_refused() {
    let genesis = lthash_genesis();
    let comet = chain(&genesis, 3);
    let from = comet.node.chain().expect("open");
    let blocks = (1..=3).map(|height| {
        let hash = from.ledger().canonical_hash(height).expect("reads").expect("a block");
        from.ledger().block(&hash).expect("reads").expect("a block").block.clone()
    });
    let blocks: Vec<_> = blocks.collect();
    let home = tempfile::tempdir().expect("a folder");
    let chain = Chain::create(home.path(), &genesis, &ChainOptions::default()).expect("a home");
    for block in &blocks[..2] {
        assert!(matches!(chain.insert_block(block.clone()).expect("verifies"), Inserted::Added { .. }));
    }
    let mut wrong = blocks[2].clone();
    wrong.header.state_root = B256::repeat_byte(1);
    let ChainError::Refused { source, .. } = chain.insert_block(wrong).unwrap_err() else {
        panic!("refused")
    };
    assert!(matches!(source, BlockError::Mismatch { field: Field::StateRoot, .. }), "{source}");
    chain.insert_block(blocks[2].clone()).expect("verifies");
    assert_eq!(chain.head().hash.as_slice(), comet.app_hashes[2]);
    let nonce =
        chain.kv().latest().expect("a state").account(&crate::dev_chain::sender_of(0)).expect("reads");
    assert_eq!(nonce.expect("an account").nonce, 3);
    chain.close().expect("closes");
    // A home keeps its commitment: a genesis with another one is not that of its chain.
    let other = crate::consensus::genesis();
    std::fs::write(home.path().join("config/genesis.json"), &other).expect("writes");
    let error = Chain::open(home.path(), &ChainOptions::default()).err().expect("refused");
    let ChainError::OtherChain { what, there, given, .. } = &error else { panic!("{error}") };
    let kinds = [CommitmentKind::LtHash, CommitmentKind::Mpt].map(|kind| kind.to_string());
    assert_eq!((*what, [there.clone(), given.clone()]), ("commitment", kinds));
}
