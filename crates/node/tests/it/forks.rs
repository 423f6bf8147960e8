//! Two branches in one home: what the canonical one answers, and what the other still can.

use crate::{
    dev_chain::{open, send, sign, transfer},
    support::{ask, trace},
};
use alloy_primitives::{B256, U256};
use hearth_node::{Node, dev_accounts};
use serde_json::{Value, json};

fn hashes(node: &std::sync::Arc<Node>, last: u64) -> Vec<B256> {
    let chain = node.chain().expect("open");
    (0..=last).map(|n| chain.reader().canonical_hash(n).expect("reads").expect("there")).collect()
}

#[test]
fn the_branch_that_lost_keeps_its_blocks_but_not_its_state() {
    // Branch a: two blocks of account 0. Branch b: three of account 1, made elsewhere.
    let (_home, node) = open();
    let (_other_home, other) = open();
    let lost_txs: Vec<String> =
        (0..2).map(|n| send(&node, sign(transfer(n), 0)).expect("accepted")).collect();
    let won_txs: Vec<String> =
        (0..3).map(|n| send(&other, sign(transfer(n), 1)).expect("accepted")).collect();
    let (lost, won) = (hashes(&node, 2), hashes(&other, 3));
    assert_eq!(lost[0], won[0]);
    let (chain, source) = (node.chain().expect("open"), other.chain().expect("open"));
    for hash in &won[1..] {
        let block = source.reader().block(hash).expect("reads").expect("there");
        chain.insert_block(block.block.clone()).expect("verifies");
    }
    chain.set_head(&won[3]).expect("known");

    let number = ask(&node, "blockNumber", Value::Null).expect("answers");
    assert_eq!(number, "0x3");
    // The losing branch: blocks by hash, no transactions by hash, no state after its blocks.
    let block = ask(&node, "getBlockByHash", json!({ "hash": lost[1], "full": true })).expect("answers");
    assert_eq!(block["transactions"][0]["hash"], json!(lost_txs[0]));
    let receipts = ask(&node, "getBlockReceipts", json!({ "block": lost[1] })).expect("answers");
    assert_eq!(receipts[0]["transactionHash"], json!(lost_txs[0]));
    // Raw receipts: `requireCanonical` does not count, and an unknown hash has none.
    let raw = |hash: B256| {
        let block = json!({ "blockHash": hash, "requireCanonical": true });
        ask(&node, "getRawReceipts", json!({ "block": block })).expect("answers")
    };
    assert_eq!(raw(lost[1]).as_array().map(Vec::len), Some(1));
    assert_eq!(raw(B256::repeat_byte(1)), json!([]));
    for tx in &lost_txs {
        assert_eq!(ask(&node, "getTransactionByHash", json!({ "hash": tx })).expect("answers"), Value::Null);
        assert_eq!(ask(&node, "getTransactionReceipt", json!({ "hash": tx })).expect("answers"), Value::Null);
    }
    let balance = |block: Value| {
        ask(&node, "getBalance", json!({ "address": dev_accounts()[1].address, "block": block }))
    };
    let not_canonical =
        balance(json!({ "blockHash": lost[1], "requireCanonical": true })).expect_err("refused");
    assert_eq!(not_canonical.to_string(), "hash is not currently canonical");
    let no_state = balance(json!({ "blockHash": lost[1] })).expect_err("refused");
    assert_eq!(no_state.kind(), "not_retained");
    assert!(no_state.to_string().contains("height 1"), "{no_state}");
    assert!(balance(json!(won[1])).is_ok());
    let unknown = balance(json!({ "blockHash": B256::repeat_byte(1) })).expect_err("refused");
    assert_eq!(unknown.to_string(), "header for hash not found");
    assert_eq!(balance(json!("0x4")).expect_err("above the head").to_string(), "header not found");

    // Each block of the losing branch has its capsule, also the one whose parent's state was
    // unwound.
    let config = json!({ "tracer": "callTracer" });
    for (hash, tx) in lost[1..].iter().zip(&lost_txs) {
        let traced = trace(&node, "traceBlockByHash", json!({ "hash": hash, "config": config }));
        assert_eq!(traced.expect("traces")[0]["txHash"], json!(tx));
    }
    for (hash, tx) in won[1..].iter().zip(&won_txs) {
        let traced = trace(&node, "traceBlockByHash", json!({ "hash": hash, "config": config }));
        assert_eq!(traced.expect("traces")[0]["txHash"], json!(tx));
    }
    let traced =
        trace(&node, "traceTransaction", json!({ "hash": won_txs[2], "config": config })).expect("traces");
    assert_eq!(traced["value"], "0x5");

    // And back: everything of the first branch is there again.
    chain.set_head(&lost[2]).expect("known");
    assert_eq!(ask(&node, "blockNumber", Value::Null).expect("answers"), "0x2");
    let receipt = ask(&node, "getTransactionReceipt", json!({ "hash": lost_txs[1] })).expect("answers");
    assert_eq!(receipt["blockHash"], json!(lost[2]));
    let spent = ask(&node, "getBalance", json!({ "address": dev_accounts()[1].address })).expect("answers");
    assert_eq!(spent, json!(format!("{:#x}", U256::from(10_000) * U256::from(10).pow(U256::from(18)))));
    // The dev chain continues where the head is now.
    send(&node, sign(transfer(2), 0)).expect("accepted");
    assert_eq!(ask(&node, "blockNumber", Value::Null).expect("answers"), "0x3");
}
