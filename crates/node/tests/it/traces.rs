//! Trace streams: what is refused, what is cancelled, and that a block's trace holds each transaction's.

use crate::support::{config, execution_apis, trace};
use hearth_node::{Mode, Node, NodeError, TraceRequest};
use serde_json::{Value, json};

fn call_tracer() -> Value {
    json!({ "tracer": "callTracer" })
}

#[test]
fn a_blocks_trace_holds_each_transactions() {
    let Some((_home, node)) = execution_apis() else { return };
    let chain = node.chain().expect("open");
    let ledger = chain.ledger();
    let mut compared = 0;
    for number in 1..=54u64 {
        let hash = ledger.canonical_hash(number).expect("reads").expect("there");
        let by_number = json!({ "block": format!("{number:#x}"), "config": call_tracer() });
        let whole = trace(&node, "traceBlockByNumber", by_number).expect("traces");
        let by_hash = trace(&node, "traceBlockByHash", json!({ "hash": hash, "config": call_tracer() }));
        assert_eq!(whole, by_hash.expect("traces"));
        let rows = whole.as_array().expect("a row a transaction");
        let block = ledger.block(&hash).expect("reads").expect("there");
        assert_eq!(rows.len(), block.tx_hashes.len());
        for (row, tx) in rows.iter().zip(&block.tx_hashes) {
            assert_eq!(row["txHash"], json!(tx));
            let single = trace(&node, "traceTransaction", json!({ "hash": tx, "config": call_tracer() }));
            assert_eq!(row["result"], single.expect("traces"), "{tx}");
            compared += 1;
        }
    }
    assert_eq!(compared, 249);
}

#[test]
fn what_cannot_be_traced_is_refused_before_the_first_byte() {
    let home = tempfile::tempdir().expect("a folder");
    let node = Node::open(config(home.path(), Mode::Dev)).expect("opens");
    let zero = "0x0000000000000000000000000000000000000000000000000000000000000000";
    let refused = |op: &str, args: Value| trace(&node, op, args).expect_err("refused");
    let cases = [
        (
            refused("traceTransaction", json!({ "hash": zero })),
            "transaction_not_found",
            "transaction not found",
        ),
        (refused("traceBlockByHash", json!({ "hash": zero })), "block_not_found", "block not found"),
        (refused("traceBlockByNumber", json!({ "block": "0x9" })), "block_not_found", "block #9 not found"),
        (
            refused("traceBlockByNumber", json!({ "block": "0x0", "config": call_tracer() })),
            "genesis_not_traceable",
            "genesis is not traceable",
        ),
    ];
    for (error, kind, words) in cases {
        assert_eq!(error.kind(), kind);
        assert_eq!(error.to_string(), words);
    }
    let unknown =
        refused("traceBlockByNumber", json!({ "block": "latest", "config": { "tracer": "nothing" } }));
    assert!(unknown.to_string().contains("nothing"), "{unknown}");
}

#[test]
fn closing_the_node_ends_its_streams() {
    let home = tempfile::tempdir().expect("a folder");
    let node = Node::open(config(home.path(), Mode::Dev)).expect("opens");
    node.close().expect("closes");
    let request =
        TraceRequest::from_json(br#"{"op":"traceBlockByNumber","args":{"block":"latest"}}"#).expect("reads");
    assert!(matches!(node.stream(request).next(), Err(NodeError::Closed)));
}
