//! Events for the followers of a node: of a chain that moves between branches, of its logs, and of
//! the pool; and the pending block.

use crate::{
    dev_chain::{open, send, sign, transfer},
    support::{answer, ask, config, execution_apis},
};
use alloy_consensus::TxEip1559;
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, TxKind, U256, hex};
use hearth_chain::{Chain, ChainOptions};
use hearth_dev_chain::dev_genesis_json;
use hearth_node::{Mode, Node, dev_accounts};
use serde_json::{Value, json};
use std::sync::mpsc;

/// Code that deploys a contract of two logs a call, each with the block's number as its topic.
const TWO_LOGS: [u8; 24] = hex!("600d80600b6000396000f34360006000a14360006000a100");

/// Rounds of the walk between branches.
const ROUNDS: usize = 250;

/// All events after the first `after`.
fn events(node: &std::sync::Arc<Node>, mut after: u64) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let (sender, receiver) = mpsc::channel();
        node.events(after, false, move |answer| sender.send(answer).expect("somebody listens"));
        let bytes = receiver.recv().expect("answered").expect("open");
        let page: Value = serde_json::from_slice(&bytes).expect("JSON");
        assert_eq!(page["missed"], 0);
        let events = page["events"].as_array().expect("events");
        if events.is_empty() {
            return all;
        }
        all.extend(events.iter().cloned());
        after = page["next"].as_u64().expect("a number");
    }
}

/// Lines of `blockLogs`.
fn logs(node: &std::sync::Arc<Node>, hash: &Value, removed: bool) -> Vec<Value> {
    let args = json!({ "op": "blockLogs", "args": { "hash": hash, "filter": {}, "removed": removed } });
    let request = hearth_node::Request::from_json(args.to_string().as_bytes()).expect("reads");
    let lines = String::from_utf8(answer(node, request).expect("answers")).expect("UTF-8");
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn nonce(node: &std::sync::Arc<Node>) -> u64 {
    let count = ask(node, "getTransactionCount", json!({ "address": dev_accounts()[0].address }));
    u64::from_str_radix(&count.expect("answers").as_str().expect("hex")[2..], 16).expect("a number")
}

#[test]
fn a_walk_between_branches_is_reported_block_by_block() {
    let (_home, node) = open();
    let deploy = TxEip1559 {
        to: TxKind::Create,
        input: TWO_LOGS.into(),
        gas_limit: 200_000,
        value: U256::ZERO,
        ..transfer(0)
    };
    send(&node, sign(deploy, 0)).expect("accepted");
    let contract = dev_accounts()[0].address.create(0);
    let chain = node.chain().expect("open");
    let mut known = vec![chain.head().hash];
    let mut seed = 7u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let began = events(&node, 0).len() as u64;
    let at_start = chain.head();
    for round in 0..ROUNDS {
        if random(4) == 0 {
            // Another branch, or another place on this one.
            let recent = known.len().saturating_sub(12);
            let target = known[recent + random(known.len() - recent)];
            chain.set_head(&target).expect("known");
            continue;
        }
        // The gas limit makes each block another one than those beside it.
        let call = TxEip1559 {
            to: TxKind::Call(contract),
            gas_limit: 60_000 + round as u64,
            value: U256::ZERO,
            ..transfer(nonce(&node))
        };
        send(&node, sign(call, 0)).expect("accepted");
        known.push(chain.head().hash);
    }

    let told = events(&node, began);
    let mut stack = vec![json!(at_start.hash)];
    let mut alive: Vec<Value> = logs(&node, &json!(at_start.hash), false);
    let (mut added, mut removed) = (0, 0);
    for event in &told {
        match event[0].as_str().expect("a kind") {
            "added" => {
                let block = ask(&node, "getBlockByHash", json!({ "hash": event[2] })).expect("answers");
                assert_eq!(Some(&block["parentHash"]), stack.last(), "it joins at the head");
                let number = event[1].as_u64().expect("a height");
                assert_eq!(block["number"], format!("{number:#x}"));
                stack.push(event[2].clone());
                alive.extend(logs(&node, &event[2], false));
                added += 1;
            }
            "removed" => {
                // The walk never goes below where it began, so the stack is never empty.
                assert_eq!(stack.pop().as_ref(), Some(&event[2]), "the head leaves first");
                for mut log in logs(&node, &event[2], true) {
                    assert_eq!(log["removed"], true);
                    log["removed"] = false.into();
                    assert_eq!(alive.pop(), Some(log), "the last log leaves first");
                }
                removed += 1;
            }
            _ => {}
        }
    }
    assert!(added > ROUNDS / 2 && removed > ROUNDS / 8, "{added} joined and {removed} left");
    let canonical: Vec<Value> = (at_start.height..=chain.head().height)
        .map(|height| json!(chain.reader().canonical_hash(height).expect("reads").expect("there")))
        .collect();
    assert_eq!(stack, canonical);
    let found = ask(&node, "getLogs", json!({ "filter": { "fromBlock": "0x1" } })).expect("answers");
    assert_eq!(Value::from(alive), found);
}

#[test]
fn a_branch_that_is_worked_on_and_not_chosen_is_not_told() {
    let (_home, node) = open();
    let (_other_home, other) = open();
    send(&node, sign(transfer(0), 0)).expect("accepted");
    send(&other, sign(transfer(0), 1)).expect("accepted");
    let began = events(&node, 0).len() as u64;
    let (chain, source) = (node.chain().expect("open"), other.chain().expect("open"));
    let foreign = source.head_block().expect("reads").expect("there");
    let own = chain.head().hash;
    chain.insert_off_head(foreign.block.clone()).expect("verifies");
    chain.set_head(&own).expect("known");
    assert_eq!(events(&node, began), Vec::<Value>::new());
    chain.set_head(&foreign.hash).expect("known");
    let want = [json!(["removed", 1, own]), json!(["added", 1, foreign.hash, 1])];
    assert_eq!(events(&node, began), want);
}

#[test]
fn the_logs_of_a_block_match_a_filter_and_its_heights() {
    let (_home, node) = open();
    let deploy = TxEip1559 {
        to: TxKind::Create,
        input: TWO_LOGS.into(),
        gas_limit: 200_000,
        value: U256::ZERO,
        ..transfer(0)
    };
    send(&node, sign(deploy, 0)).expect("accepted");
    let contract = dev_accounts()[0].address.create(0);
    let call = TxEip1559 { to: TxKind::Call(contract), gas_limit: 60_000, value: U256::ZERO, ..transfer(1) };
    send(&node, sign(call, 0)).expect("accepted");
    let hash = node.chain().expect("open").head().hash;
    let count = |filter: Value| {
        let args = json!({ "op": "blockLogs", "args": { "hash": hash, "filter": filter, "removed": false } });
        let request = hearth_node::Request::from_json(args.to_string().as_bytes()).expect("reads");
        answer(&node, request).expect("answers").iter().filter(|byte| **byte == b'\n').count()
    };
    assert_eq!(count(json!({})), 2);
    assert_eq!(count(json!({ "address": contract, "topics": [B256::with_last_byte(2)] })), 2);
    assert_eq!(count(json!({ "topics": [B256::with_last_byte(3)] })), 0);
    assert_eq!(count(json!({ "address": Address::ZERO })), 0);
    assert_eq!(count(json!({ "fromBlock": "0x2", "toBlock": "0x2" })), 2);
    assert_eq!(count(json!({ "fromBlock": "0x3" })), 0);
    assert_eq!(count(json!({ "toBlock": "0x1" })), 0);
    assert_eq!(count(json!({ "fromBlock": "latest" })), 2);
    let unknown = ask(&node, "blockLogs", json!({ "hash": B256::ZERO, "filter": {}, "removed": false }));
    assert_eq!(unknown.expect_err("refused").to_string(), "unknown block");
}

/// A home of the development chain's genesis that makes no blocks by itself.
fn waiting() -> (tempfile::TempDir, std::sync::Arc<Node>) {
    let home = tempfile::tempdir().expect("a folder");
    let made = Chain::create(home.path(), &dev_genesis_json(30_000_000), &ChainOptions::default());
    made.expect("a new home").close().expect("closes");
    let node = Node::open(config(home.path(), Mode::Start)).expect("opens");
    (home, node)
}

#[test]
fn the_pending_block_is_made_of_what_waits_and_changes_with_it() {
    let (_home, node) = waiting();
    let to = Address::repeat_byte(7);
    let asked = |op: &str, args: Value| ask(&node, op, args).expect("answers");
    let balance = |block: &str| asked("getBalance", json!({ "address": to, "block": block }));
    let pending = |full: bool| asked("getBlockByNumber", json!({ "block": "pending", "full": full }));
    let empty = pending(false);
    assert_eq!(
        (&empty["number"], &empty["hash"], &empty["miner"]),
        (&json!("0x1"), &Value::Null, &Value::Null)
    );
    assert_eq!((&empty["nonce"], &empty["transactions"]), (&Value::Null, &json!([])));
    let first = send(&node, sign(transfer(0), 0)).expect("waits");
    let gapped = send(&node, sign(transfer(2), 0)).expect("waits behind a gap");
    assert_eq!(events(&node, 0), [json!(["transaction", first])]);
    assert_eq!(pending(false)["transactions"], json!([first]));
    assert_eq!((balance("latest"), balance("pending")), (json!("0x0"), json!("0x5")));
    let second = send(&node, sign(transfer(1), 0)).expect("fills the gap");
    let tip =
        TxEip1559 { max_fee_per_gas: 9_000_000_000, max_priority_fee_per_gas: 5_000_000_000, ..transfer(0) };
    let best = send(&node, sign(tip, 1)).expect("waits");
    assert_eq!(pending(false)["transactions"], json!([best, first, second, gapped]));
    assert_eq!(balance("pending"), "0x14");
    assert_eq!(asked("getBlockTransactionCountByNumber", json!({ "block": "pending" })), "0x4");
    let whole = pending(true);
    assert_eq!(whole["transactions"][3]["nonce"], "0x2");
    let third = asked("getTransactionByBlockNumberAndIndex", json!({ "block": "pending", "index": "0x2" }));
    assert_eq!(third["hash"], json!(second));
    let header = asked("getHeaderByNumber", json!({ "block": "pending" }));
    assert_eq!((&header["gasUsed"], &header["hash"]), (&json!(format!("{:#x}", 4 * 21_000)), &Value::Null));
    let raw = asked("getRawTransaction", json!({ "hash": second }));
    assert_eq!(asked("getRawTransactionByIndex", json!({ "block": "pending", "index": "0x2" })), raw);
    let receipts = asked("getBlockReceipts", json!({ "block": "pending" }));
    assert_eq!(receipts.as_array().map(Vec::len), Some(4));
    assert_eq!(receipts[2]["transactionHash"], json!(second));
    assert_eq!(receipts[2]["cumulativeGasUsed"], json!(format!("{:#x}", 3 * 21_000)));
    assert_eq!(receipts[2]["effectiveGasPrice"], Value::Null);
    let simulated =
        asked("simulateV1", json!({ "options": { "blockStateCalls": [{}] }, "block": "pending" }));
    assert_eq!(simulated[0]["number"], "0x2");
    let history = asked(
        "feeHistory",
        json!({ "blockCount": "0x2", "newestBlock": "pending", "rewardPercentiles": [100] }),
    );
    assert_eq!(
        (&history["oldestBlock"], &history["baseFeePerGas"][1]),
        (&json!("0x0"), &header["baseFeePerGas"])
    );
    assert_eq!(history["baseFeePerGas"].as_array().map(Vec::len), Some(3));
    assert_eq!(history["reward"], json!([["0x0"], ["0x12a05f200"]]));
    // Calls see the pending state and the pending block. The overridden code is NUMBER, MSTORE,
    // RETURN.
    let overrides = json!({ Address::repeat_byte(8).to_string(): { "code": "0x4360005260206000f3" } });
    let call = json!({ "transaction": { "to": Address::repeat_byte(8) }, "block": "pending", "stateOverrides": overrides });
    assert_eq!(asked("call", call), json!(B256::with_last_byte(1)));
    let events_so_far = events(&node, 1);
    assert_eq!(
        events_so_far,
        [json!(["transaction", second]), json!(["transaction", gapped]), json!(["transaction", best])]
    );
    let mined = asked("getTransactionByHash", json!({ "hash": best }));
    assert_eq!(asked("pendingTransaction", json!({ "hash": best })), mined);
}

#[test]
fn a_bounded_pool_answer_has_executable_ones_first() {
    let (_home, node) = waiting();
    for (who, nonce) in [(0, 0), (0, 1), (0, 3), (0, 4), (1, 0), (1, 1), (1, 2)] {
        send(&node, sign(transfer(nonce), who)).expect("waits");
    }
    let count = |part: &Value| {
        let accounts = part.as_object().expect("accounts").values();
        accounts.map(|queue| queue.as_object().expect("a queue").len()).sum::<usize>()
    };
    let content = ask(&node, "txpoolContent", Value::Null).expect("answers");
    assert_eq!((count(&content["pending"]), count(&content["queued"])), (5, 0));
    let inspect = ask(&node, "txpoolInspect", Value::Null).expect("answers");
    assert_eq!((count(&inspect["pending"]), count(&inspect["queued"])), (5, 0));
    send(&node, sign(transfer(5), 0)).expect("waits");
    send(&node, sign(transfer(6), 0)).expect("waits");
    let from =
        ask(&node, "txpoolContentFrom", json!({ "address": dev_accounts()[0].address })).expect("answers");
    assert_eq!(
        (from["pending"].as_object().map(|p| p.len()), from["queued"].as_object().map(|q| q.len())),
        (Some(2), Some(3))
    );
    let status = ask(&node, "txpoolStatus", Value::Null).expect("answers");
    assert_eq!((&status["pending"], &status["queued"]), (&json!("0x5"), &json!("0x4")));
}

#[test]
fn a_block_can_be_built_on_the_head_alone_and_leaves_no_trace() {
    let (_home, node) = waiting();
    let head = node.chain().expect("open").head().hash;
    let attributes = json!({
        "timestamp": "0x77777777",
        "prevRandao": B256::ZERO,
        "suggestedFeeRecipient": Address::repeat_byte(1),
        "withdrawals": [],
        "parentBeaconBlockRoot": B256::ZERO,
    });
    let build = |parent: B256, transactions: Value| {
        let args = json!({ "parent": parent, "attributes": attributes, "transactions": transactions });
        ask(&node, "buildBlock", args)
    };
    let raw = Bytes::from(sign(transfer(0), 0).encoded_2718_bytes());
    let waits = send(&node, sign(transfer(0), 1)).expect("waits");
    let given = build(head, json!([raw])).expect("builds");
    assert_eq!(given["executionPayload"]["transactions"], json!([raw]));
    assert_eq!(given["executionPayload"]["gasUsed"], "0x5208");
    assert_eq!(given["blockValue"], json!(format!("{:#x}", 21_000u64 * 1_000_000_000)));
    let none = build(head, json!([])).expect("builds");
    assert_eq!(none["executionPayload"]["transactions"], json!([]));
    let from_pool = build(head, Value::Null).expect("builds");
    let raw_of_waiting = ask(&node, "getRawTransaction", json!({ "hash": waits })).expect("answers");
    assert_eq!(from_pool["executionPayload"]["transactions"], json!([raw_of_waiting]));
    let refused = build(B256::repeat_byte(1), json!([])).expect_err("refused").to_string();
    assert_eq!(refused, "parentHash is not current head");
    let high = Bytes::from(sign(transfer(3), 0).encoded_2718_bytes());
    let refused = build(head, json!([high])).expect_err("refused").to_string();
    assert!(refused.starts_with("nonce too high: address 0xf39F"), "{refused}");
    assert_eq!(ask(&node, "blockNumber", Value::Null).expect("answers"), "0x0");
}

/// The bytes of a signed transaction.
trait Encoded {
    fn encoded_2718_bytes(self) -> Vec<u8>;
}

impl Encoded for alloy_consensus::Signed<TxEip1559> {
    fn encoded_2718_bytes(self) -> Vec<u8> {
        hearth_primitives::PooledTransaction::from(self).encoded_2718()
    }
}

#[test]
fn headers_and_ommers_are_those_of_the_blocks() {
    let Some((_home, node)) = execution_apis() else { return };
    for number in ["0x1", "0x10", "latest"] {
        let block = ask(&node, "getBlockByNumber", json!({ "block": number })).expect("answers");
        let header = ask(&node, "getHeaderByNumber", json!({ "block": number })).expect("answers");
        for (key, value) in header.as_object().expect("an object") {
            assert_eq!(&block[key], value, "{number} {key}");
        }
        assert!(header.get("transactions").is_none() && header.get("size").is_none());
        let by_hash = ask(&node, "getHeaderByHash", json!({ "hash": block["hash"] })).expect("answers");
        assert_eq!(by_hash, header);
        let notice = ask(&node, "headNotice", json!({ "hash": block["hash"] })).expect("answers");
        assert_eq!(notice["stateRoot"], block["stateRoot"]);
        assert!(notice.as_object().expect("an object").contains_key("requestsHash"), "absent ones are null");
        let count = ask(&node, "getUncleCount", json!({ "block": number })).expect("answers");
        let uncles = block["uncles"].as_array().expect("hashes");
        assert_eq!(count, json!(format!("{:#x}", uncles.len())), "{number}");
        for index in 0..=uncles.len() {
            let args = json!({ "block": number, "index": format!("{index:#x}") });
            let uncle = ask(&node, "getUncle", args).expect("answers");
            assert_eq!(uncle.get("hash"), uncles.get(index), "{number} {index}");
            assert!(uncle.is_null() || (uncle["uncles"] == json!([]) && uncle.get("transactions").is_none()));
        }
    }
    assert_eq!(ask(&node, "getHeaderByNumber", json!({ "block": "0xffff" })).expect("answers"), Value::Null);
    assert_eq!(ask(&node, "getUncleCount", json!({ "block": "0xffff" })).expect("answers"), Value::Null);
}
