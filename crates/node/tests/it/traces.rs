//! Trace streams: what is refused, what is cancelled, and that a block's trace holds each transaction's.

use crate::{
    dev_chain::{open, send, sign, transfer},
    support::{config, execution_apis, trace},
};
use alloy_consensus::TxEip1559;
use alloy_primitives::{Bytes, TxKind, U256};
use hearth_node::{CHUNK_BYTES, CHUNKS_WAITING, Mode, Node, NodeError, TraceRequest};
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

#[test]
fn closing_ends_a_trace_that_nobody_reads() {
    let (home, node) = open();
    // Logs enough data that the trace of the block is longer than the stream holds.
    let input = logger();
    let create =
        TxEip1559 { to: TxKind::Create, input, value: U256::ZERO, gas_limit: 15_000_000, ..transfer(0) };
    send(&node, sign(create, 0)).expect("accepted");
    let request = json!({ "op": "traceBlockByNumber", "args": {
        "block": "0x1", "config": { "tracer": "callTracer", "tracerConfig": { "withLog": true } } } });
    let request = || TraceRequest::from_json(request.to_string().as_bytes()).expect("reads");
    let whole = {
        let stream = node.stream(request());
        std::iter::from_fn(|| stream.next().expect("no error")).map(|chunk| chunk.len()).sum::<usize>()
    };
    assert!(whole > (CHUNKS_WAITING + 2) * CHUNK_BYTES, "only {whole} bytes");

    let unread = node.stream(request());
    assert!(unread.next().expect("begins").is_some());
    node.close().expect("does not wait for the reader");
    let mut rest = 1;
    let end = loop {
        match unread.next() {
            Ok(Some(_)) => rest += 1,
            other => break other,
        }
    };
    assert!(rest <= CHUNKS_WAITING + 2);
    assert!(matches!(end, Err(NodeError::Closed)), "{end:?}");
    drop(home);
}

/// Init code that logs 16 KiB of zeros 40 times.
fn logger() -> Bytes {
    let mut code = Vec::new();
    for _ in 0..40 {
        // PUSH2 0x4000 PUSH0 LOG0
        code.extend([0x61, 0x40, 0x00, 0x5f, 0xa0]);
    }
    code.push(0x00);
    code.into()
}
