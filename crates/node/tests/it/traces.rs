//! Trace streams: refusals, cancellation, and that the trace of a block contains that of each
//! transaction.

use crate::{
    dev_chain::{open, send, sign, transfer},
    support::{config, execution_apis, trace},
};
use alloy_consensus::TxEip1559;
use alloy_primitives::{Bytes, TxKind, U256};
use hearth_node::{
    CHUNK_BYTES, CHUNKS_WAITING, Caller, Mode, Node, NodeError, Request, TraceRequest, WorkerConfig,
};
use serde_json::{Value, json};
use std::sync::mpsc;

fn call_tracer() -> Value {
    json!({ "tracer": "callTracer" })
}

#[test]
fn a_blocks_trace_holds_each_transactions() {
    let Some((_home, node)) = execution_apis() else { return };
    let chain = node.chain().expect("open");
    let reader = chain.reader();
    let mut compared = 0;
    for number in 1..=54u64 {
        let hash = reader.canonical_hash(number).expect("reads").expect("there");
        let by_number = json!({ "block": format!("{number:#x}"), "config": call_tracer() });
        let whole = trace(&node, "traceBlockByNumber", by_number).expect("traces");
        let by_hash = trace(&node, "traceBlockByHash", json!({ "hash": hash, "config": call_tracer() }));
        assert_eq!(whole, by_hash.expect("traces"));
        let rows = whole.as_array().expect("a row a transaction");
        let block = reader.block(&hash).expect("reads").expect("there");
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
        (
            refused("traceBlockByHash", json!({ "hash": zero })),
            "block_not_found",
            "block 0x0000000000000000000000000000000000000000000000000000000000000000 not found",
        ),
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
    assert!(matches!(node.stream(request, &Caller::default(), None).next(), Err(NodeError::Closed)));
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
        let stream = node.stream(request(), &Caller::default(), None);
        std::iter::from_fn(|| stream.next().expect("no error")).map(|chunk| chunk.len()).sum::<usize>()
    };
    assert!(whole > (CHUNKS_WAITING + 2) * CHUNK_BYTES, "only {whole} bytes");

    let unread = node.stream(request(), &Caller::default(), None);
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

#[test]
fn a_full_heavy_pool_is_busy_while_short_reads_go_on() {
    let home = tempfile::tempdir().expect("a folder");
    let mut settings = config(home.path(), Mode::Dev);
    settings.workers.heavy = WorkerConfig { threads: 1, queue: 1 };
    let node = Node::open(settings).expect("opens");
    let create = TxEip1559 {
        to: TxKind::Create,
        input: logger(),
        value: U256::ZERO,
        gas_limit: 15_000_000,
        ..transfer(0)
    };
    send(&node, sign(create, 0)).expect("accepted");
    let config = json!({ "tracer": "callTracer", "tracerConfig": { "withLog": true } });
    let request =
        json!({ "op": "traceBlockByNumber", "args": { "block": "0x1", "config": config } }).to_string();
    let unread =
        node.stream(TraceRequest::from_json(request.as_bytes()).expect("reads"), &Caller::default(), None);
    assert!(unread.next().expect("begins").is_some(), "the only heavy thread is taken");

    let (told, answers) = mpsc::channel();
    let spawn = |text: &str| {
        let told = told.clone();
        let request = Request::from_json(text.as_bytes()).expect("reads");
        node.spawn(request, move |result| told.send(result).expect("test waits"));
    };
    let logs = r#"{"op":"getLogs","args":{"filter":{"fromBlock":"0x0","toBlock":"0x0"}}}"#;
    spawn(logs);
    spawn(logs);
    let busy = answers.recv().expect("refused at once").expect_err("refused");
    assert_eq!(busy.to_string(), "node is busy: the heavy queue is full (1 waiting)");
    spawn(r#"{"op":"chainId"}"#);
    assert_eq!(answers.recv().expect("answers").expect("short"), b"\"0x7a69\"");
    drop(unread);
    assert_eq!(answers.recv().expect("the thread is free again").expect("found"), b"[]");
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
