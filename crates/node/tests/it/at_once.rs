//! Short reads that are answered on the caller's thread: the same bytes as on a worker thread, or
//! `None`.

use crate::dev_chain::{open, send, sign, transfer};
use crate::support::answer;
use alloy_consensus::TxEip1559;
use alloy_primitives::{TxKind, U256};
use hearth_node::{Node, Request, dev_accounts};
use serde_json::{Value, json};

/// The answer at once, and by the ordinary way.
fn both(node: &std::sync::Arc<Node>, op: &str, args: Value) -> (Option<String>, String) {
    let text =
        if args.is_null() { json!({ "op": op }) } else { json!({ "op": op, "args": args }) }.to_string();
    let request = || Request::from_json(text.as_bytes()).expect("a request");
    let shown = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let ordinary = answer(node, request()).map_or_else(|error| error.to_string(), shown);
    (node.at_once(&request()).map(shown), ordinary)
}

#[test]
fn what_memory_knows_of_the_head_is_answered_at_once() {
    let (_home, node) = open();
    let who = dev_accounts()[0].address;
    let nobody = "0x00000000000000000000000000000000000000aa";
    let mut former = format!("0x{}", "11".repeat(32));
    for nonce in 0..3 {
        let hash = send(&node, sign(transfer(nonce), 0)).expect("is taken");
        // Beside commits the answers stay those of the head.
        let table = [
            ("blockNumber", Value::Null, true),
            ("chainId", Value::Null, true),
            ("netVersion", Value::Null, true),
            ("syncing", Value::Null, true),
            ("getBalance", json!({ "address": who }), true),
            ("getBalance", json!({ "address": who, "block": "latest" }), true),
            ("getBalance", json!({ "address": who, "block": "safe" }), true),
            ("getTransactionCount", json!({ "address": who, "block": "finalized" }), true),
            ("getCode", json!({ "address": who, "block": "latest" }), true),
            ("getTransactionByHash", json!({ "hash": hash }), true),
            ("getTransactionReceipt", json!({ "hash": hash }), true),
            // History, the pending block, hashes, what is not there: by the ordinary way.
            ("getBalance", json!({ "address": who, "block": "0x0" }), false),
            ("getBalance", json!({ "address": who, "block": "earliest" }), false),
            ("getBalance", json!({ "address": who, "block": "pending" }), false),
            ("getTransactionCount", json!({ "address": who, "block": "pending" }), false),
            (
                "getBalance",
                json!({ "address": who, "block": { "blockHash": format!("0x{}", "11".repeat(32)) } }),
                false,
            ),
            ("getBalance", json!({ "address": nobody, "block": "latest" }), false),
            ("getStorageAt", json!({ "address": who, "slot": "0x0", "block": "latest" }), false),
            ("gasPrice", Value::Null, false),
            ("getTransactionByHash", json!({ "hash": former }), false),
            ("getTransactionReceipt", json!({ "hash": former }), false),
        ];
        for (op, args, now) in table {
            let (at_once, ordinary) = both(&node, op, args.clone());
            assert_eq!(at_once, now.then_some(ordinary), "{op} {args} after {nonce}");
        }
        former = hash;
    }
    let text = json!({ "op": "chainId" }).to_string();
    node.close().expect("closes");
    let request = Request::from_json(text.as_bytes()).expect("a request");
    assert_eq!(node.at_once(&request), None, "a closed node says so by the ordinary way");
}

/// Whether the transaction, and whether its receipt, is answered at once; the answers are those of
/// the ordinary way.
fn is_at_once(node: &std::sync::Arc<Node>, hash: &str) -> [bool; 2] {
    ["getTransactionByHash", "getTransactionReceipt"].map(|op| {
        let (at_once, ordinary) = both(node, op, json!({ "hash": hash }));
        assert!(at_once.as_ref().is_none_or(|text| *text == ordinary), "{op}");
        at_once.is_some()
    })
}

#[test]
fn long_transactions_and_receipts_go_the_ordinary_way() {
    let (_home, node) = open();
    // The code of a creation that makes logs without data: PUSH0, PUSH0, LOG0 each.
    let logs = |count: usize| [0x5f, 0x5f, 0xa0].repeat(count);
    // One that makes a log of so many bytes: PUSH2 of them, PUSH0, LOG0.
    let data = |bytes: u16| [&[0x61], &bytes.to_be_bytes()[..], &[0x5f, 0xa0]].concat();
    let table = [
        (logs(16), [true, true]),
        (logs(17), [true, false]),
        (data(4096), [true, true]),
        (data(4097), [true, false]),
        (vec![0; 3900], [true, true]),
        (vec![0; 4096], [false, true]),
    ];
    for (nonce, (input, expected)) in (0..).zip(table) {
        let creation = TxEip1559 {
            gas_limit: 1_000_000,
            to: TxKind::Create,
            value: U256::ZERO,
            input: input.into(),
            ..transfer(nonce)
        };
        let hash = send(&node, sign(creation, 0)).expect("is taken");
        assert_eq!(is_at_once(&node, &hash), expected, "creation {nonce}");
    }
}
