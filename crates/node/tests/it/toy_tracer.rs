//! A tracer that is one file and one row of the table of tracers (the feature `toy-tracer`): every
//! part of a node knows it by its row.

use crate::{
    dev_chain::{open, send, sign, transfer},
    replay::transfer_file,
    support::{config, trace},
};
use hearth_node::{Mode, Node, NodeError, Replay, tracer_table};
use serde_json::{Value, json};

fn toy(greeting: &str) -> Value {
    json!({ "tracer": "toyTracer", "tracerConfig": { "greeting": greeting } })
}

#[test]
fn the_table_for_settings_and_docs_has_the_row() {
    let table: Vec<Value> = serde_json::from_str(&tracer_table()).expect("JSON");
    let row = json!({ "name": "toyTracer", "options": ["greeting"], "baked": null });
    assert_eq!(table.iter().filter(|known| **known == row).count(), 1);
}

#[test]
fn every_method_traces_under_it() {
    let (_home, node) = open();
    let hash = send(&node, sign(transfer(0), 0)).expect("accepted");
    let config = toy("hi");
    let whole = trace(&node, "traceBlockByNumber", json!({ "block": "0x1", "config": config }));
    assert_eq!(whole.expect("traces"), json!([{ "txHash": hash, "result": "hi 1" }]));
    let one = trace(&node, "traceTransaction", json!({ "hash": hash, "config": { "tracer": "toyTracer" } }));
    assert_eq!(one.expect("traces"), json!("hello 1"));
    let mux = json!({ "tracer": "muxTracer", "tracerConfig": { "toyTracer": {}, "noopTracer": {} } });
    let both = trace(&node, "traceTransaction", json!({ "hash": hash, "config": mux }));
    assert_eq!(both.expect("traces"), json!({ "toyTracer": "hello 1", "noopTracer": {} }));
    let bad = json!({ "tracer": "toyTracer", "tracerConfig": { "greeting": 1 } });
    let refused = trace(&node, "traceTransaction", json!({ "hash": hash, "config": bad }));
    assert!(matches!(refused, Err(NodeError::Unsupported { .. })), "{refused:?}");
}

#[test]
fn a_replay_traces_under_it_alone_and_beside_others() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = transfer_file(dir.path());
    let job = json!({ "files": [file], "traces": [toy("hi"), { "tracer": "noopTracer" }], "tx": null });
    let stream = Replay::from_json(job.to_string().as_bytes()).expect("reads").start();
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next().expect("traces") {
        bytes.extend(chunk);
    }
    assert_eq!(String::from_utf8(bytes).expect("text"), "\"hi 1\"\n{}\n");
}

#[test]
fn it_cannot_be_baked_and_the_error_names_those_that_can() {
    let home = tempfile::tempdir().expect("a folder");
    let mut config = config(home.path(), Mode::Dev);
    config.bake.enabled = true;
    config.bake.tracers = vec!["toyTracer".to_owned()];
    let refused = Node::open(config).err().expect("refused").to_string();
    let known = "known: callTracer, prestateTracer, flatCallTracer";
    assert_eq!(refused, format!("configuration: bake.tracers: \"toyTracer\" cannot be baked; {known}"));
}
