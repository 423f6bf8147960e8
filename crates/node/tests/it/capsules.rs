//! Traces from capsules: the same bytes as from history, but without the state, for both branches
//! of a fork.

use crate::{
    dev_chain::{send, sign, transfer},
    support::{ask, config, execution_apis, fixtures, trace},
};
use alloy_primitives::{Bytes, U256};
use hearth_chain::{Chain, ChainOptions};
use hearth_flatkv::{Fsync, StateSettings};
use hearth_littable::{Littable, StoreOptions, TableOptions};
use hearth_node::{Caller, Mode, Node, NodeError, TraceRequest, TraceSource, TraceSourceKind};
use hearth_primitives::{Block, Transaction};
use serde_json::{Value, json};
use std::num::NonZeroU64;
use std::{path::Path, sync::Arc};

const CONFIGS: [&str; 10] = [
    r#"{"tracer":"callTracer","tracerConfig":{"withLog":true}}"#,
    r#"{"tracer":"flatCallTracer","tracerConfig":{"convertParityErrors":true,"includePrecompiles":true}}"#,
    r#"{"tracer":"prestateTracer"}"#,
    r#"{"tracer":"prestateTracer","tracerConfig":{"diffMode":true}}"#,
    r#"{"tracer":"4byteTracer"}"#,
    r#"{"tracer":"muxTracer","tracerConfig":{"callTracer":{"onlyTopCall":true},"prestateTracer":{"diffMode":true}}}"#,
    r#"{"tracer":"erc7562Tracer"}"#,
    r#"{"tracer":"keccak256PreimageTracer"}"#,
    r#"{"tracer":"opcodeTracer"}"#,
    r#"{"enableMemory":true,"enableReturnData":true}"#,
];

/// The bytes of a trace and where they came from.
fn traced(node: &Arc<Node>, op: &str, args: Value) -> Result<(Vec<u8>, Option<TraceSourceKind>), NodeError> {
    let text = json!({ "op": op, "args": args }).to_string();
    let stream = node.stream(TraceRequest::from_json(text.as_bytes())?, &Caller::default(), None);
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next()? {
        bytes.extend(chunk);
    }
    Ok((bytes, stream.origin()))
}

fn open(home: &Path, source: TraceSource) -> Arc<Node> {
    let mut config = config(home, Mode::Start);
    config.rpc.trace_source = source;
    Node::open(config).expect("opens")
}

fn counter(node: &Arc<Node>, name: &str) -> u64 {
    let all: Value = serde_json::from_str(&node.metrics_snapshot()).expect("JSON");
    find(&all, name).unwrap_or_else(|| panic!("{name} is not among the metrics"))
}

/// The value of the only series of an instrument, in any registry.
fn find(all: &Value, name: &str) -> Option<u64> {
    match all {
        Value::Array(items) => items.iter().find_map(|item| find(item, name)),
        Value::Object(fields) if fields.get("name").and_then(Value::as_str) == Some(name) => {
            fields.values().find_map(first_number)
        }
        Value::Object(fields) => match fields.get(name) {
            Some(value) => first_number(value),
            None => fields.values().find_map(|value| find(value, name)),
        },
        _ => None,
    }
}

fn first_number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::Array(items) => items.iter().find_map(first_number),
        Value::Object(fields) => fields.values().find_map(first_number),
        _ => None,
    }
}

/// What is not the same each time: nanoseconds.
fn without_times(mut answer: Value) -> Value {
    if let Some(stats) = answer.pointer_mut("/stats") {
        stats.as_object_mut().expect("an object").remove("nanos");
    }
    if let Some(answer) = answer.as_object_mut() {
        answer.remove("profile");
    }
    answer
}

/// Everything that can be traced of these blocks, from one source.
fn everything(home: &Path, source: TraceSource, origin: TraceSourceKind) -> Vec<(String, Vec<u8>)> {
    let node = open(home, source);
    let mut all = Vec::new();
    let (first, last) = (node.chain().expect("open").base() + 1, node.status().expect("open").head);
    for number in first..=last {
        let number = format!("{number:#x}");
        let block = ask(&node, "getBlockByNumber", json!({ "block": number, "full": false })).expect("there");
        let hashes: Vec<Value> = block["transactions"].as_array().expect("hashes").clone();
        for config in CONFIGS {
            let config: Value = serde_json::from_str(config).expect("JSON");
            let whole = traced(&node, "traceBlockByNumber", json!({ "block": number, "config": config }));
            let (bytes, from) = whole.unwrap_or_else(|error| panic!("{number} {config}: {error}"));
            assert_eq!(from, Some(origin), "{number}");
            all.push((format!("{number} {config}"), bytes));
            for hash in hashes.iter().take(1).chain(hashes.iter().skip(1).last()) {
                let one = traced(&node, "traceTransaction", json!({ "hash": hash, "config": config }));
                let (bytes, from) = one.unwrap_or_else(|error| panic!("{hash} {config}: {error}"));
                assert_eq!(from, Some(origin), "{number}");
                all.push((format!("{number} {hash} {config}"), bytes));
            }
        }
        for hash in hashes.iter().take(1).chain(hashes.iter().skip(1).last()) {
            let access = trace(&node, "traceStateAccess", json!({ "hash": hash })).expect("answers");
            let profile = trace(&node, "traceTransactionProfile", json!({ "hash": hash })).expect("answers");
            let both = without_times(access).to_string() + &without_times(profile).to_string();
            all.push((format!("{number} {hash}"), both.into_bytes()));
        }
    }
    if origin == TraceSourceKind::Capsule {
        assert_eq!(counter(&node, "trace_capsule_outside_reads"), 0);
    }
    node.close().expect("closes");
    all
}

pub fn compare(home: &Path) -> usize {
    let history = everything(home, TraceSource::History, TraceSourceKind::History);
    let capsule = everything(home, TraceSource::Capsule, TraceSourceKind::Capsule);
    assert_eq!(history.len(), capsule.len());
    for ((name, want), (_, have)) in history.iter().zip(&capsule) {
        assert!(want == have, "{name}: capsule and history differ");
    }
    history.len()
}

#[test]
fn capsules_and_history_give_the_same_bytes() {
    let Some((home, node)) = execution_apis() else { return };
    node.close().expect("closes");
    drop(node);
    let answers = compare(home.path());
    println!("{answers} answers");
    assert!(answers > 500, "{answers}");
}

#[test]
fn so_do_those_of_recorded_blocks() {
    let Some(cases) = fixtures("mainnet-blocks") else { return };
    for name in ["46147", "1920000", "2675000", "6196166", "9069000", "19932148"] {
        let case = cases.join(format!("{name}.json.gz"));
        if !case.exists() {
            continue;
        }
        let home = tempfile::tempdir().expect("a folder");
        let state = StateSettings { memory_budget_bytes: 64 << 20, ..StateSettings::default() };
        let options = ChainOptions { fsync: Fsync::None, state, ..ChainOptions::default() };
        let (chain, _) = Chain::import_case(home.path(), &case, None, &options).expect("verifies");
        chain.close().expect("closes");
        drop(chain);
        println!("{name}: {} answers", compare(home.path()));
    }
}

/// A dev chain of some blocks.
fn dev_home(blocks: u64, history: u64) -> (tempfile::TempDir, Arc<Node>, Vec<String>) {
    let home = tempfile::tempdir().expect("a folder");
    let mut config = config(home.path(), Mode::Dev);
    config.flatkv.state_history_blocks = NonZeroU64::new(history);
    config.littable.segment_keys = 16;
    let node = Node::open(config).expect("opens");
    let sent = (0..blocks).map(|nonce| send(&node, sign(transfer(nonce), 0)).expect("accepted")).collect();
    (home, node, sent)
}

#[test]
fn traces_need_no_history() {
    let (home, node, sent) = dev_home(40, 4);
    let asked = json!({ "hash": sent[1], "config": { "tracer": "callTracer" } });
    let (bytes, from) = traced(&node, "traceTransaction", asked.clone()).expect("traces");
    assert_eq!(from, Some(TraceSourceKind::Capsule));
    let answer: Value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!(answer["value"], "0x5");
    node.close().expect("closes");
    drop(node);
    let node = open(home.path(), TraceSource::History);
    let refused = traced(&node, "traceTransaction", asked).expect_err("that state is pruned");
    assert_eq!(refused.kind(), "not_retained", "{refused}");
}

#[test]
fn without_capsules_history_serves() {
    let (home, node, sent) = dev_home(3, 0);
    node.close().expect("closes");
    drop(node);
    let store = Littable::open(StoreOptions::new(home.path().join("data/ledger"))).expect("opens");
    let table = store.table(TableOptions::new("capsules")).expect("there");
    table.set_floor(1_000).expect("forgets");
    drop((table, store));
    let asked = json!({ "hash": sent[2], "config": { "tracer": "callTracer" } });
    let node = open(home.path(), TraceSource::Auto);
    let (_, from) = traced(&node, "traceTransaction", asked.clone()).expect("traces");
    assert_eq!(from, Some(TraceSourceKind::History));
    drop(node);
    let node = open(home.path(), TraceSource::Capsule);
    let refused = traced(&node, "traceTransaction", asked).expect_err("there is no capsule");
    assert!(refused.to_string().contains("block 3 "), "{refused}");
    assert!(refused.to_string().contains("no trace capsule"), "{refused}");
}

#[test]
fn a_damaged_capsule_is_passed_and_made_again() {
    let (home, node, sent) = dev_home(40, 0);
    node.close().expect("closes");
    drop(node);
    let dir = home.path().join("data/ledger/capsules");
    let mut segments: Vec<_> = std::fs::read_dir(&dir)
        .expect("there")
        .map(|entry| entry.expect("reads").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "seg"))
        .collect();
    segments.sort();
    assert!(segments.len() > 2, "{segments:?}");
    let mut bytes = std::fs::read(&segments[0]).expect("reads");
    // Everything behind the header of the oldest segment.
    bytes[64..1024].iter_mut().for_each(|byte| *byte ^= 0x55);
    std::fs::write(&segments[0], bytes).expect("writes");
    let node = open(home.path(), TraceSource::Auto);
    let ask = |hash: &str| {
        let asked = json!({ "hash": hash, "config": { "tracer": "callTracer" } });
        traced(&node, "traceTransaction", asked).expect("traces")
    };
    let (want, from) = ask(&sent[0]);
    assert_eq!(from, Some(TraceSourceKind::History));
    assert_eq!(counter(&node, "trace_capsule_unreadable"), 1);
    let (have, from) = ask(&sent[0]);
    assert_eq!((have, from), (want, Some(TraceSourceKind::Capsule)), "it was made again");
    assert_eq!(ask(&sent[39]).1, Some(TraceSourceKind::Capsule), "the others are as they were");
    assert_eq!(counter(&node, "trace_capsule_unreadable"), 1);
}

#[test]
fn old_capsules_are_forgotten_as_the_setting_says() {
    let home = tempfile::tempdir().expect("a folder");
    let mut config = config(home.path(), Mode::Dev);
    config.littable.capsule_window_blocks = NonZeroU64::new(10);
    config.rpc.trace_source = TraceSource::Auto;
    let node = Node::open(config).expect("opens");
    let sent: Vec<String> =
        (0..70).map(|nonce| send(&node, sign(transfer(nonce), 0)).expect("accepted")).collect();
    let from = |height: usize| {
        let asked = json!({ "hash": sent[height - 1], "config": { "tracer": "callTracer" } });
        traced(&node, "traceTransaction", asked).expect("traces").1
    };
    // Forgetting goes by whole steps of 64 blocks: at 64 what is below 55 went.
    assert_eq!([1, 54].map(from), [Some(TraceSourceKind::History); 2]);
    assert_eq!([55, 64, 70].map(from), [Some(TraceSourceKind::Capsule); 3]);
    node.close().expect("closes");
}

#[test]
fn a_known_header_with_another_body_is_another_block() {
    let (_home, node, _) = dev_home(2, 0);
    let block = node.chain().expect("open").head_block().expect("reads").expect("there").block.clone();
    let rlp = |block: &Block| json!(Bytes::from(alloy_rlp::encode(block)));
    let asked = |block: &Block| {
        let args = json!({ "rlp": rlp(block), "config": { "tracer": "prestateTracer" } });
        traced(&node, "traceBlock", args).expect("traces")
    };
    let (known, from) = asked(&block);
    assert_eq!(from, Some(TraceSourceKind::Capsule));
    let mut other = block.clone();
    let value = U256::from(77);
    let instead = sign(alloy_consensus::TxEip1559 { value, ..transfer(1) }, 0);
    other.body.transactions = vec![Transaction::Eip1559(instead)];
    let (given, from) = asked(&other);
    assert_eq!(from, Some(TraceSourceKind::History));
    let hash = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).expect("JSON")[0]["txHash"].clone();
    assert_eq!(hash(&given), json!(other.body.transactions[0].tx_hash()));
    assert_ne!(hash(&given), hash(&known));
}
