//! What one transaction read and wrote, and where the time of tracing it went.

use crate::{
    dev_chain::{open, send, sign, transfer},
    support::{ask, config, execution_apis, trace},
};
use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, Bytes, TxKind, U256, hex};
use hearth_home::TraceSource;
use hearth_node::{Mode, Node, dev_accounts};
use serde_json::{Value, json};

fn word(value: u64) -> String {
    format!("0x{value:064x}")
}

/// Deploys code; gives the contract's address, lower-case.
fn deploy(node: &std::sync::Arc<Node>, nonce: u64, code: &[u8]) -> String {
    let length = u8::try_from(code.len()).expect("short");
    let init = [&[0x60, length, 0x60, 10, 0x5f, 0x39, 0x60, length, 0x5f, 0xf3][..], code].concat();
    let create = TxEip1559 {
        to: TxKind::Create,
        value: U256::ZERO,
        gas_limit: 1_000_000,
        input: init.into(),
        ..transfer(nonce)
    };
    let hash = send(node, sign(create, 0)).expect("accepted");
    let receipt = ask(node, "getTransactionReceipt", json!({ "hash": hash })).expect("answers");
    receipt["contractAddress"].as_str().expect("made").to_owned()
}

fn call(node: &std::sync::Arc<Node>, nonce: u64, to: &str, input: Bytes) -> String {
    let to: Address = to.parse().expect("an address");
    let tx =
        TxEip1559 { to: TxKind::Call(to), value: U256::ZERO, gas_limit: 200_000, input, ..transfer(nonce) };
    send(node, sign(tx, 0)).expect("accepted")
}

/// Balance of the first dev account after a block, and its nonce.
fn account(node: &std::sync::Arc<Node>, block: &str) -> (Value, Value) {
    let of = |op: &str| {
        ask(node, op, json!({ "address": dev_accounts()[0].address, "block": block })).expect("answers")
    };
    (of("getBalance"), of("getTransactionCount"))
}

#[test]
fn state_access_has_what_was_there_before_and_what_is_left() {
    let (_home, node) = open();
    // Reads slot 1, then adds one to slot 0: PUSH1 1 SLOAD POP PUSH0 SLOAD PUSH1 1 ADD PUSH0 SSTORE
    // STOP.
    let code = hex!("600154505f546001015f5500");
    let contract = deploy(&node, 0, &code);
    call(&node, 1, &contract, Bytes::new());
    let hash = call(&node, 2, &contract, Bytes::new());
    let access = trace(&node, "traceStateAccess", json!({ "hash": hash })).expect("answers");
    let sender = dev_accounts()[0].address.to_string().to_lowercase();
    let (balance, nonce) = account(&node, "0x2");
    assert_eq!(access["accounts"][&sender], json!({ "balance": balance, "nonce": nonce, "storage": {} }));
    let code = format!("0x{}", hex::encode(code));
    let read = json!({ word(0): word(1), word(1): word(0) });
    assert_eq!(
        access["accounts"][&contract],
        json!({ "balance": "0x0", "nonce": "0x1", "code": code, "storage": read })
    );
    let (balance, nonce) = account(&node, "0x3");
    assert_eq!(access["writes"][&sender], json!({ "balance": balance, "nonce": nonce, "storage": {} }));
    assert_eq!(access["writes"][&contract], json!({ "storage": { word(0): word(2) } }));
    let stats = &access["stats"];
    assert_eq!((&stats["reads"]["storage"], &stats["reads"]["code"]), (&json!(2), &json!(1)));
    assert_eq!((&stats["writes"]["storage"], &stats["writes"]["code"]), (&json!(1), &json!(0)));
    for kind in ["account", "storage", "code"] {
        assert!(stats["nanos"][kind].is_u64(), "{stats}");
    }
    assert!(stats["nanos"]["account"].as_u64() > Some(0), "{stats}");
}

#[test]
fn state_access_omits_reverts_and_has_deployed_code() {
    let (_home, node) = open();
    // Writes slot 5, then reverts.
    let reverting = deploy(&node, 0, &hex!("600160055560006000fd"));
    // Calls the address in its input, then writes slot 6.
    let caller = deploy(&node, 1, &hex!("5f5f5f5f5f5f355af150600160065500"));
    let input = reverting.parse::<Address>().expect("an address").into_word();
    let hash = call(&node, 2, &caller, input.into());
    let access = trace(&node, "traceStateAccess", json!({ "hash": hash })).expect("answers");
    assert_eq!(access["writes"][&caller]["storage"], json!({ word(6): word(1) }));
    assert_eq!(access["writes"][&reverting], Value::Null);
    assert_eq!(access["accounts"][&reverting]["storage"], json!({ word(5): word(0) }), "it was looked at");
    let made = ask(&node, "getBlockByNumber", json!({ "block": "0x1" })).expect("answers")["transactions"][0]
        .clone();
    let access = trace(&node, "traceStateAccess", json!({ "hash": made })).expect("answers");
    let code = "0x600160055560006000fd";
    assert_eq!(
        access["writes"][&reverting],
        json!({ "balance": "0x0", "nonce": "0x1", "code": code, "storage": {} })
    );
    assert_eq!(access["accounts"][&reverting], json!({ "storage": {} }), "it did not exist");
}

/// The writes of a transaction are the reads of the next that looks.
#[test]
fn state_access_is_of_one_transaction_alone() {
    let Some((_home, node)) = execution_apis() else { return };
    let mut seen = 0;
    for number in 1..=54u64 {
        let block =
            ask(&node, "getBlockByNumber", json!({ "block": format!("{number:#x}") })).expect("answers");
        let mut left: serde_json::Map<String, Value> = serde_json::Map::new();
        for hash in block["transactions"].as_array().expect("a list") {
            let access = trace(&node, "traceStateAccess", json!({ "hash": hash })).expect("answers");
            for (address, entry) in access["accounts"].as_object().expect("an object") {
                let Some(before) = left.get(address) else { continue };
                for field in ["balance", "nonce"] {
                    if let Some(value) = before.get(field) {
                        assert_eq!(entry.get(field), Some(value), "{hash} {address}");
                        seen += 1;
                    }
                }
            }
            for (address, entry) in access["writes"].as_object().expect("an object") {
                let known =
                    left.entry(address).or_insert_with(|| json!({})).as_object_mut().expect("an object");
                known.extend(entry.as_object().expect("an object").clone());
            }
        }
    }
    assert!(seen > 100, "only {seen}");
}

#[test]
fn earlier_transactions_run_within_the_time_of_the_call() {
    let home = tempfile::tempdir().expect("a folder");
    let mut settings = config(home.path(), Mode::Dev);
    settings.rpc.trace_timeout_ms = 0;
    settings.rpc.trace_source = TraceSource::History;
    let node = Node::open(settings).expect("opens");
    ask(&node, "setAutomine", json!({ "enabled": false })).expect("answers");
    let hashes = [0, 1].map(|nonce| send(&node, sign(transfer(nonce), 0)).expect("accepted"));
    ask(&node, "mine", json!({ "count": "0x1", "first": true })).expect("answers");
    // The traced ones have no instruction, before which the time would be compared.
    let (hash, to) = (&hashes[1], Address::repeat_byte(7));
    let config = json!({ "tracer": "callTracer", "timeout": "1ns" });
    let call = json!({ "transaction": { "to": to }, "block": "0x1", "txIndex": "0x1", "config": config });
    for (op, args) in [
        ("traceStateAccess", json!({ "hash": hash })),
        ("traceTransactionProfile", json!({ "hash": hash, "config": config })),
        ("traceCall", call),
    ] {
        let error = trace(&node, op, args).expect_err(op).to_string();
        assert!(error.contains("trace call timeout"), "{op}: {error}");
    }
}

#[test]
fn a_profile_holds_the_trace_and_the_phases() {
    let (_home, node) = open();
    let contract = deploy(&node, 0, &hex!("600154505f546001015f5500"));
    let hash = call(&node, 1, &contract, Bytes::new());
    for config in [json!({ "tracer": "callTracer" }), json!({})] {
        let args = json!({ "hash": hash, "config": config });
        let answer = trace(&node, "traceTransactionProfile", args.clone()).expect("answers");
        assert_eq!(answer["trace"], trace(&node, "traceTransaction", args).expect("traces"));
        let profile = &answer["profile"];
        let nanos = |value: &Value| value.as_u64().expect("a number");
        let phases = profile["phases"].as_object().expect("an object");
        let mut names: Vec<&str> = phases.keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "buildBlockContextNanos",
                "executionNanos",
                "loadBlockNanos",
                "lookupTransactionNanos",
                "prepareTxNanos",
                "replayHistoricalTxsNanos",
                "traceResultNanos"
            ]
        );
        let total = nanos(&profile["totalNanos"]);
        assert!(phases.values().map(nanos).sum::<u64>() <= total, "{profile}");
        let (lookups, execution) =
            (nanos(&profile["historicalDbLookupNanos"]), nanos(&phases["executionNanos"]));
        assert!(execution > 0 && lookups > 0, "{profile}");
        // Lookups within the execution are not taken off twice.
        let other = nanos(&profile["otherNanos"]);
        assert!(other <= total - execution && other + execution + lookups >= total, "{profile}");
        assert!(nanos(&profile["store"]["reads"]["storage"]) >= 2, "{profile}");
    }
    let unknown = json!({ "hash": format!("0x{}", "11".repeat(32)) });
    let refused = trace(&node, "traceTransactionProfile", unknown.clone()).expect_err("refused");
    assert_eq!(refused.to_string(), "transaction not found");
    assert_eq!(
        trace(&node, "traceStateAccess", unknown).expect_err("refused").to_string(),
        "transaction not found"
    );
}
