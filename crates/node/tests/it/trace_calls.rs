//! Traced calls: the states they run on, their overrides, and how the calls of a bundle affect each
//! other.

use crate::{
    dev_chain::{open, send, sign, transfer},
    support::{ask, execution_apis, trace},
};
use alloy_consensus::TxEip1559;
use alloy_primitives::{B256, Bytes, TxKind, U256, address, hex};
use alloy_rlp::Encodable as _;
use hearth_chain::MAX_BAD_BLOCKS;
use hearth_node::{Node, NodeError};
use hearth_primitives::{Block, Header};
use serde_json::{Value, json};
use std::sync::Arc;

/// Adds one to slot 0 and returns what was there, in 32 bytes:
/// `PUSH0 SLOAD DUP1 PUSH0 MSTORE PUSH1 1 ADD PUSH0 SSTORE PUSH1 32 PUSH0 RETURN`.
const COUNTER: &str = "0x5f54805f5260010160005560205ff3";
/// Returns the block's number in 32 bytes.
const NUMBER: &str = "0x435f5260205ff3";
/// Returns the hash of the block whose number is the input.
const BLOCK_HASH: &str = "0x5f35405f5260205ff3";

const AT: &str = "0x00000000000000000000000000000000000000c0";

fn word(value: u64) -> String {
    format!("0x{value:064x}")
}

fn traced(node: &Arc<Node>, args: Value) -> Result<Value, NodeError> {
    let mut args = args;
    args["config"] = json!({ "tracer": "callTracer" });
    trace(node, "traceCall", args)
}

fn many(node: &Arc<Node>, args: Value) -> Result<Value, NodeError> {
    let mut args = args;
    args["config"] = json!({ "tracer": "callTracer" });
    trace(node, "traceCallMany", args)
}

#[test]
fn a_call_sees_overrides_of_state_and_block() {
    let (_home, node) = open();
    let call = |code: &str, block_overrides: Value, input: &str| {
        traced(
            &node,
            json!({ "transaction": { "to": AT, "input": input }, "block": "latest",
                "stateOverrides": { AT: { "code": code, "stateDiff": { word(0): word(7) } } },
                "blockOverrides": block_overrides }),
        )
        .expect("traces")
    };
    let counted = call(COUNTER, Value::Null, "0x");
    assert_eq!(counted["output"], word(7));
    assert_eq!(counted["type"], "CALL");
    assert_eq!(counted["from"], "0x0000000000000000000000000000000000000000");
    assert_eq!(counted["gas"], "0x2faf080", "the node's gas cap");
    assert_eq!(call(NUMBER, Value::Null, "0x")["output"], word(0));
    assert_eq!(call(NUMBER, json!({ "number": "0x9" }), "0x")["output"], word(9));
    // On the block after the head, the head's hash is known.
    let head = ask(&node, "getBlockByNumber", json!({ "block": "latest" })).expect("answers")["hash"].clone();
    assert_eq!(call(BLOCK_HASH, json!({ "number": "0x1" }), &word(0))["output"], head);
    assert_eq!(call(BLOCK_HASH, Value::Null, &word(0))["output"], word(0));
}

#[test]
fn a_call_in_the_past_does_not_see_what_the_chain_did_later() {
    let (_home, node) = open();
    for nonce in 0..3 {
        send(&node, sign(transfer(nonce), 0)).expect("accepted");
    }
    let hash = |number: u64| {
        let block = ask(&node, "getBlockByNumber", json!({ "block": format!("{number:#x}") }));
        block.expect("answers")["hash"].as_str().expect("a hash").to_owned()
    };
    // What BLOCKHASH gives for a block in a call on block 1, which pretends to be in another block.
    let seen = |pretended: u64, of: u64| {
        let call = json!({ "transaction": { "to": AT, "input": word(of) }, "block": "0x1",
            "stateOverrides": { AT: { "code": BLOCK_HASH } },
            "blockOverrides": { "number": format!("{pretended:#x}") } });
        traced(&node, call).expect("traces")["output"].as_str().expect("a word").to_owned()
    };
    assert_eq!(seen(1, 0), hash(0));
    assert_eq!([seen(2, 0), seen(2, 1)], [hash(0), hash(1)], "the block right after knows its parent");
    assert_eq!([seen(3, 0), seen(3, 1), seen(3, 2)], [hash(0), word(0), word(0)]);
    // A bundle after another stands on the block that the first began in.
    let bundle = json!({ "transactions": [{ "to": AT, "input": word(1) }, { "to": AT, "input": word(2) }],
        "stateOverrides": { AT: { "code": BLOCK_HASH } } });
    let answer = many(&node, json!({ "bundles": [bundle, bundle, bundle], "block": "0x1" })).expect("traces");
    let outputs = |bundle: usize| [answer[bundle][0]["output"].clone(), answer[bundle][1]["output"].clone()];
    assert_eq!(outputs(0), [json!(word(0)), json!(word(0))]);
    assert_eq!(outputs(1), [json!(hash(1)), json!(word(0))]);
    assert_eq!(outputs(2), [json!(hash(1)), json!(word(0))]);
}

#[test]
fn what_cannot_be_called_has_go_ethereums_words() {
    let (_home, node) = open();
    send(&node, sign(transfer(0), 0)).expect("accepted");
    let refused = |args: Value| traced(&node, args).expect_err("refused").to_string();
    let poor = json!({ "transaction": { "from": AT, "to": AT, "value": "0x1" }, "block": "latest" });
    assert_eq!(
        refused(poor),
        "tracing failed: insufficient funds for gas * price + value: address 0x00000000000000000000000000000000000000C0 have 0 want 1"
    );
    let call = |block: &str, index: Value| {
        refused(json!({ "transaction": { "to": AT }, "block": block, "txIndex": index }))
    };
    assert_eq!(call("pending", Value::Null), "tracing on top of pending is not supported");
    assert_eq!(call("0x63", Value::Null), "block #99 not found");
    assert_eq!(call("0x0", json!("0x0")), "no transaction in genesis");
    let hash = ask(&node, "getBlockByNumber", json!({ "block": "0x1" })).expect("answers")["hash"].clone();
    let hash = hash.as_str().expect("a hash");
    assert_eq!(call("0x1", json!("0x1")), format!("transaction index 1 out of range for block {hash}"));
    let both =
        json!({ "transaction": { "to": AT, "gasPrice": "0x1", "maxFeePerGas": "0x1" }, "block": "latest" });
    assert_eq!(refused(both), "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified");
}

/// Every transaction of the recorded chain as a call right before its own position: it has the same
/// effect.
#[test]
fn a_transaction_called_before_itself_does_what_it_did() {
    let Some((_home, node)) = execution_apis() else { return };
    let mut compared = 0;
    for number in 1..=54u64 {
        let block = json!({ "block": format!("{number:#x}"), "full": true });
        let block = ask(&node, "getBlockByNumber", block).expect("answers");
        for (index, tx) in block["transactions"].as_array().expect("a list").iter().enumerate() {
            // Calls check blobs and authorizations by other rules; two of each kind are compared
            // separately below.
            let mut call = json!({ "from": tx["from"], "to": tx["to"], "gas": tx["gas"], "value": tx["value"],
                "input": tx["input"], "accessList": tx["accessList"] });
            if tx["type"] == "0x0" || tx["type"] == "0x1" {
                call["gasPrice"] = tx["gasPrice"].clone();
            } else {
                call["maxFeePerGas"] = tx["maxFeePerGas"].clone();
                call["maxPriorityFeePerGas"] = tx["maxPriorityFeePerGas"].clone();
            }
            if tx["type"] == "0x3" || tx["type"] == "0x4" {
                continue;
            }
            let asked =
                json!({ "transaction": call, "block": block["hash"], "txIndex": format!("{index:#x}") });
            let config = json!({ "tracer": "callTracer" });
            let single = trace(&node, "traceTransaction", json!({ "hash": tx["hash"], "config": config }));
            assert_eq!(traced(&node, asked).expect("traces"), single.expect("traces"), "{tx}");
            compared += 1;
        }
    }
    assert!(compared > 200, "only {compared}");
}

#[test]
fn bundles_carry_their_state() {
    let (_home, node) = open();
    let call = json!({ "to": AT });
    let overrides = json!({ AT: { "code": COUNTER } });
    let answer = many(
        &node,
        json!({ "bundles": [
            { "transactions": [call, call] },
            { "transactions": [] },
            { "transactions": [call], "stateOverrides": { AT: { "code": NUMBER } }, "blockOverrides": { "number": "0x5" } },
            { "transactions": [call], "stateOverrides": { AT: { "code": COUNTER } } },
            { "transactions": [{ "to": AT, "input": word(2) }], "stateOverrides": { AT: { "code": BLOCK_HASH } },
              "blockOverrides": { "number": "0x5" }, "blockHashes": [["0x2", word(77)]] },
        ], "stateOverrides": overrides }),
    )
    .expect("traces");
    let outputs: Vec<Vec<&str>> = answer
        .as_array()
        .expect("bundles")
        .iter()
        .map(|bundle| {
            bundle.as_array().expect("calls").iter().map(|c| c["output"].as_str().expect("bytes")).collect()
        })
        .collect();
    let words = |values: &[u64]| values.iter().map(|v| word(*v)).collect::<Vec<_>>();
    assert_eq!(outputs, [words(&[0, 1]), words(&[]), words(&[5]), words(&[2]), words(&[77])]);
    assert_eq!(many(&node, json!({ "bundles": [] })).expect("traces"), json!([]));
}

#[test]
fn each_bundle_is_a_block_further() {
    let (_home, node) = open();
    // NUMBER or TIMESTAMP, returned.
    let of =
        |code: &str| json!({ "transactions": [{ "to": AT }], "stateOverrides": { AT: { "code": code } } });
    let (number, time) = (of(NUMBER), of("0x425f5260205ff3"));
    let mut named = number.clone();
    named["blockOverrides"] = json!({ "number": "0x9" });
    let answer =
        many(&node, json!({ "bundles": [number, time, number, time, named, number] })).expect("traces");
    let value = |bundle: usize| {
        let text = answer[bundle][0]["output"].as_str().expect("a word");
        u64::from_str_radix(&text[50..], 16).expect("hex")
    };
    assert_eq!([value(0), value(2), value(4), value(5)], [0, 2, 9, 5]);
    assert_eq!(value(3) - value(1), 24);
}

#[test]
fn one_bad_call_of_a_bundle_does_not_spoil_the_rest() {
    let (_home, node) = open();
    let poor = json!({ "from": AT, "to": AT, "value": "0x1" });
    let answer = many(
        &node,
        json!({ "bundles": [{ "transactions": [poor, { "to": AT }] }, { "transactions": [{ "to": AT }] }] }),
    );
    let answer = answer.expect("traces");
    let error = answer[0][0]["error"].as_str().expect("an error");
    assert!(error.starts_with("tracing failed: insufficient funds"), "{error}");
    assert_eq!(answer[0][1]["type"], "CALL");
    assert_eq!(answer[1][0]["type"], "CALL");
}

#[test]
fn gas_counts_over_all_calls_of_all_bundles() {
    let (_home, node) = open();
    // An endless loop uses all the gas that it gets. The cap is 50,000,000.
    let bundle = |gas: &[u64]| {
        let calls: Vec<_> = gas.iter().map(|gas| json!({ "to": AT, "gas": format!("{gas:#x}") })).collect();
        json!({ "transactions": calls })
    };
    let bundles = json!([bundle(&[100_000, 49_800_000]), bundle(&[300_000]), bundle(&[60_000])]);
    let looping = json!({ AT: { "code": "0x5b5f56" } });
    let answer = many(&node, json!({ "bundles": bundles, "stateOverrides": looping })).expect("traces");
    let used = |bundle: usize, call: usize| answer[bundle][call]["gasUsed"].as_str().expect("a quantity");
    assert_eq!([used(0, 0), used(0, 1), used(1, 0)], ["0x186a0", "0x2f7e340", "0x186a0"]);
    assert_eq!(answer[1][0]["error"], "out of gas", "it got what was left");
    assert_eq!(answer[2][0], json!({ "error": "err: gas limit reached (supplied gas 60000)" }));
    // The next request has all of it again.
    let again = json!({ "bundles": [bundle(&[49_900_000])], "stateOverrides": looping });
    assert_eq!(many(&node, again).expect("traces")[0][0]["gasUsed"], "0x2f969e0");
}

#[test]
fn no_call_runs_once_the_time_of_the_request_is_over() {
    let (_home, node) = open();
    let bundle = json!({ "transactions": [{ "to": AT }, { "to": AT }] });
    let args = json!({ "bundles": [bundle, bundle], "config": { "tracer": "callTracer", "timeout": "0s" } });
    let late = json!({ "error": "execution timeout" });
    assert_eq!(trace(&node, "traceCallMany", args).expect("answers"), json!([[late, late], [late, late]]));
}

#[test]
fn bundles_that_contradict_themselves_are_refused() {
    let (_home, node) = open();
    let both = json!({ AT: { "state": {}, "stateDiff": {} } });
    let call = json!({ "to": AT });
    let bundles = json!([{ "transactions": [call] }, { "transactions": [call], "stateOverrides": both }]);
    let refused = many(&node, json!({ "bundles": bundles })).expect_err("refused");
    assert!(refused.to_string().ends_with("has both 'state' and 'stateDiff'"), "{refused}");
    let calls = vec![call; 10_001];
    let refused = many(&node, json!({ "bundles": [{ "transactions": calls }] })).expect_err("refused");
    assert_eq!(refused.to_string(), "10001 calls, at most 10000 are allowed");
}

#[test]
fn a_block_in_rlp_is_traced_as_the_one_that_is_known() {
    let Some((_home, node)) = execution_apis() else { return };
    let config = json!({ "tracer": "callTracer" });
    for number in [1u64, 20, 40, 54] {
        let block = format!("{number:#x}");
        let rlp = ask(&node, "getRawBlock", json!({ "block": block })).expect("answers");
        let given = trace(&node, "traceBlock", json!({ "rlp": rlp, "config": config })).expect("traces");
        assert_eq!(
            given,
            trace(&node, "traceBlockByNumber", json!({ "block": block, "config": config })).expect("traces")
        );
    }
    let refused = |rlp: &Value| {
        trace(&node, "traceBlock", json!({ "rlp": rlp, "config": config })).expect_err("refused")
    };
    assert!(refused(&json!("0x01")).to_string().starts_with("could not decode block: "));
    let genesis = ask(&node, "getRawBlock", json!({ "block": "0x0" })).expect("answers");
    assert_eq!(refused(&genesis).to_string(), "genesis is not traceable");
    // Changes the parent hash: bytes 4 to 36 of a block, the header's first field after the two
    // list heads.
    let raw = ask(&node, "getRawBlock", json!({ "block": "0x2" })).expect("answers");
    let parent =
        ask(&node, "getBlockByNumber", json!({ "block": "0x2" })).expect("answers")["parentHash"].clone();
    let unknown = "11".repeat(32);
    let raw = raw.as_str().expect("hex").replacen(&parent.as_str().expect("hex")[2..], &unknown, 1);
    assert_eq!(refused(&json!(raw)).to_string(), format!("block 0x{unknown} not found"));
    let longer = refused(&json!(format!("{raw}00"))).to_string();
    assert_eq!(longer, "could not decode block: rlp: input contains more than one value");
    let header = Header { number: 100, parent_hash: B256::repeat_byte(0x11), ..Header::default() };
    let beyond = Bytes::from(alloy_rlp::encode(Block::uncle(header)));
    assert_eq!(refused(&json!(beyond)).to_string(), "block #99 not found");
}

#[test]
fn the_root_after_the_last_transaction_is_the_blocks() {
    let Some((_home, node)) = execution_apis() else { return };
    let mut equal = 0;
    for number in 1..=54u64 {
        let block =
            ask(&node, "getBlockByNumber", json!({ "block": format!("{number:#x}") })).expect("answers");
        let roots = ask(&node, "intermediateRoots", json!({ "hash": block["hash"] })).expect("answers");
        // As in go-ethereum, a block without transactions has no list.
        let roots = roots.as_array().cloned().unwrap_or_default();
        assert_eq!(roots.len(), block["transactions"].as_array().expect("a list").len());
        // Rewards, withdrawals and request contracts change the state after the last transaction.
        let ends = block["difficulty"] == "0x0"
            && block["requestsHash"].is_null()
            && block["withdrawals"].as_array().is_none_or(Vec::is_empty);
        if ends && !roots.is_empty() {
            assert_eq!(roots.last(), Some(&block["stateRoot"]), "block {number}");
            equal += 1;
        }
    }
    let genesis = ask(&node, "getBlockByNumber", json!({ "block": "0x0" })).expect("answers");
    let refused = ask(&node, "intermediateRoots", json!({ "hash": genesis["hash"] })).expect_err("refused");
    assert_eq!(refused.to_string(), "genesis is not traceable");
    assert!(equal >= 5, "only {equal} blocks end with their last transaction");
    let unknown = format!("0x{}", "22".repeat(32));
    let refused = ask(&node, "intermediateRoots", json!({ "hash": unknown })).expect_err("refused");
    assert_eq!(refused.to_string(), format!("block {unknown} not found"));
}

#[test]
fn storage_comes_in_pages_as_of_a_transaction() {
    let (_home, node) = open();
    // Init code that sets slots 1 to 5 to their numbers, then deploys COUNTER.
    let mut init = Vec::new();
    for slot in 1..=5u8 {
        init.extend([0x60, slot, 0x60, slot, 0x55]);
    }
    let code = hex::decode(COUNTER).expect("hex");
    let at = u8::try_from(init.len() + 11).expect("short");
    let length = u8::try_from(code.len()).expect("short");
    init.extend([0x60, length, 0x60, at, 0x5f, 0x39, 0x60, length, 0x5f, 0xf3, 0x00]);
    init.extend(&code);
    let create = TxEip1559 {
        to: TxKind::Create,
        value: U256::ZERO,
        gas_limit: 1_000_000,
        input: init.into(),
        ..transfer(0)
    };
    send(&node, sign(create, 0)).expect("accepted");
    let contract = address!("0x5FbDB2315678afecb367f032d93F642f64180aa3");
    let count =
        TxEip1559 { to: TxKind::Call(contract), value: U256::ZERO, gas_limit: 100_000, ..transfer(1) };
    send(&node, sign(count, 0)).expect("accepted");
    let range = |block: &str, start: &str, max: u64| {
        ask(&node, "storageRangeAt", json!({ "block": block, "txIndex": "0x0", "address": contract, "keyStart": start, "maxResult": max }))
            .expect("answers")
    };
    assert_eq!(range("0x1", "0x", 10), json!({ "storage": null, "nextKey": null }), "before it was made");
    let mut seen = Vec::new();
    let mut start = "0x".to_owned();
    loop {
        let page = range("0x2", &start, 2);
        for (hashed, entry) in page["storage"].as_object().expect("an object") {
            let key: U256 = entry["key"].as_str().expect("a word").parse().expect("a word");
            assert_eq!(*hashed, alloy_primitives::keccak256(key.to_be_bytes::<32>()).to_string());
            assert_eq!(entry["key"], entry["value"]);
            seen.push(key.to::<u64>());
        }
        match page["nextKey"].as_str() {
            Some(next) => start = next.to_owned(),
            None => break,
        }
    }
    seen.sort_unstable();
    // Slot 0 was still zero before transaction 0 of block 2.
    assert_eq!(seen, [1, 2, 3, 4, 5]);
}

#[test]
fn refused_blocks_are_kept_and_traced() {
    let (home, node) = open();
    send(&node, sign(transfer(0), 0)).expect("accepted");
    let config = json!({ "tracer": "callTracer" });
    let good =
        trace(&node, "traceBlockByNumber", json!({ "block": "0x1", "config": config })).expect("traces");
    assert_eq!(ask(&node, "getBadBlocks", Value::Null).expect("answers"), json!([]));
    let chain = node.chain().expect("open");
    let hash = chain.reader().canonical_hash(1).expect("reads").expect("there");
    let block = chain.reader().block(&hash).expect("reads").expect("there").block.clone();
    let mut hashes = Vec::new();
    for number in 0..=MAX_BAD_BLOCKS {
        let mut bad = block.clone();
        bad.header.state_root = B256::with_last_byte(u8::try_from(number).expect("few"));
        hashes.push(bad.header.hash_slow());
        // The same again changes nothing.
        for _ in 0..2 {
            let refused = chain.insert_block(bad.clone()).expect_err("refused").to_string();
            assert!(refused.contains("state root"), "{refused}");
        }
    }
    drop(chain);
    node.close().expect("closes");
    drop(node);
    let node = Node::open(crate::support::config(home.path(), hearth_node::Mode::Dev)).expect("opens");
    let listed = ask(&node, "getBadBlocks", Value::Null).expect("answers");
    let listed = listed.as_array().expect("a list");
    // They have one height: the oldest comes first.
    let kept: Vec<Value> = hashes.iter().skip(1).map(|hash| json!(hash)).collect();
    assert_eq!(listed.iter().map(|row| row["hash"].clone()).collect::<Vec<_>>(), kept);
    let last = &listed[MAX_BAD_BLOCKS - 1];
    assert_eq!(last["block"]["hash"], last["hash"]);
    assert_eq!(last["block"]["transactions"][0]["hash"], good[0]["txHash"]);
    let mut rlp = Vec::new();
    let newest = {
        let mut bad = block;
        bad.header.state_root = B256::with_last_byte(MAX_BAD_BLOCKS as u8);
        bad
    };
    newest.encode(&mut rlp);
    assert_eq!(last["rlp"], format!("0x{}", hex::encode(rlp)));
    let traced = |hash: &B256| trace(&node, "traceBadBlock", json!({ "hash": hash, "config": config }));
    assert_eq!(traced(&hashes[MAX_BAD_BLOCKS]).expect("traces"), good);
    let roots = |hash: &Value| ask(&node, "intermediateRoots", json!({ "hash": hash }));
    assert_eq!(
        roots(&last["hash"]).expect("of a refused block"),
        roots(&json!(hash)).expect("of the good one")
    );
    // The oldest made room for the others.
    let refused = traced(&hashes[0]).expect_err("refused").to_string();
    assert_eq!(refused, format!("bad block {} not found", hashes[0]));
}
