//! A home that follows another node: the execution-apis chain, by the witnesses of a node that has
//! its state.

use crate::support::{ask, config, execution_apis, fixtures, trace};
use alloy_primitives::{B256, keccak256};
use hearth_flatkv::IndexWrite;
use hearth_node::{Mode, Node, init_follower};
use hearth_primitives::StateError;
use serde_json::{Value, json};
use std::{collections::BTreeMap, error::Error, path::Path, sync::Arc};

/// Most rounds in which a witness is completed.
const MAX_ROUNDS: usize = 8;
/// Blocks of the execution-apis chain.
const BLOCKS: u64 = 54;
/// Where homes begin that do not begin at the genesis: ommers that are children of blocks below the
/// base cannot be checked.
const BASE: u64 = 40;

/// What is fetched from the upstream for a block.
pub struct Source<'a> {
    pub upstream: &'a Arc<Node>,
    pub hash: B256,
    pub parent: Value,
    pub extra: Value,
}

impl<'a> Source<'a> {
    pub fn new(upstream: &'a Arc<Node>, number: u64) -> Self {
        let chain = upstream.chain().expect("open");
        let hash = chain.reader().canonical_hash(number).expect("reads").expect("there");
        Self { upstream, hash, parent: Value::Null, extra: json!({}) }
    }

    pub fn block(&self) -> Value {
        self.ask("getRawBlock", json!({ "block": { "blockHash": self.hash } }))
    }

    pub fn witness(&self, legacy: bool) -> Value {
        self.ask("executionWitness", json!({ "block": { "blockHash": self.hash }, "legacy": legacy }))
    }

    fn ask(&self, op: &str, args: Value) -> Value {
        ask(self.upstream, op, args).expect("the upstream answers")
    }

    /// Fetches what a block wanted.
    pub fn fetch(&mut self, wanted: &Value) {
        self.parent = wanted["parent"].clone();
        let prove = |at: &Value, account: &Value| {
            let slots = account["slots"].as_array().cloned().unwrap_or_default();
            let slots: Vec<Value> = slots.iter().map(|slot| json!({ "slot": slot, "whole": true })).collect();
            let args = json!({ "address": account["address"], "slots": slots, "block": { "blockHash": at } });
            self.ask("getProof", args)
        };
        let of = |list: &Value| list.as_array().cloned().unwrap_or_default();
        let proofs: Vec<Value> = of(&wanted["accounts"]).iter().map(|a| prove(&self.parent, a)).collect();
        let here = json!(self.hash);
        let after: Vec<Value> = of(&wanted["after"]).iter().map(|a| prove(&here, a)).collect();
        let code = |code: &Value| {
            let args = json!({ "address": code["address"], "block": { "blockHash": self.parent } });
            self.ask("getCode", args)
        };
        let codes: Vec<Value> = of(&wanted["codes"]).iter().map(code).collect();
        let header = |header: &Value| {
            let number = header["number"].as_u64().expect("a number");
            self.ask("getRawHeader", json!({ "block": format!("{number:#x}") }))
        };
        let headers: Vec<Value> = of(&wanted["headers"]).iter().map(header).collect();
        for (name, new) in [("proofs", proofs), ("after", after), ("codes", codes), ("headers", headers)] {
            let mut all = of(&self.extra[name]);
            all.extend(new);
            self.extra[name] = all.into();
        }
    }
}

/// Gives a block to a follower.
pub fn give(node: &Node, meta: &Value, block: &Value, witness: Option<&Value>, extra: &Value) -> Value {
    let [block, extra] = [block, extra].map(|value| value.to_string().into_bytes());
    let witness = witness.map(|witness| witness.to_string().into_bytes());
    given(node, meta, block, witness, Some(extra))
}

/// The answer of the thread that takes the blocks.
fn given(
    node: &Node,
    meta: &Value,
    block: Vec<u8>,
    witness: Option<Vec<u8>>,
    extra: Option<Vec<u8>>,
) -> Value {
    let (answer, answered) = std::sync::mpsc::channel();
    let meta = meta.to_string();
    node.spawn_follow(
        move |home| home.follow_block(&meta, &block, witness.as_deref(), extra.as_deref()),
        move |given| answer.send(given).expect("waits"),
    );
    serde_json::from_slice(&answered.recv().expect("answers").expect("follows")).expect("JSON")
}

pub fn meta(hash: B256, source: &str) -> Value {
    json!({ "hash": hash, "form": "raw", "source": source, "reorgBlocks": 128 })
}

/// Gives a block, completing its witness as often as it is wanted. The answer, and how many rounds
/// it took.
pub fn follow(node: &Node, source: &mut Source<'_>, witness: Option<&Value>, by: &str) -> (Value, usize) {
    let block = source.block();
    for round in 0..MAX_ROUNDS {
        let answer = give(node, &meta(source.hash, by), &block, witness, &source.extra);
        if answer["status"] != "wanted" {
            return (answer, round);
        }
        source.fetch(&answer);
    }
    panic!("block {} wants more after {MAX_ROUNDS} rounds", source.hash)
}

/// A home that follows the execution-apis chain from the block after `base` on.
pub fn follower(home: &Path, upstream: &Arc<Node>, base: u64) -> Arc<Node> {
    let genesis = fixtures("rpc-compat").expect("there").join("genesis.json");
    let genesis = std::fs::read_to_string(genesis).expect("genesis");
    let header = ask(upstream, "getRawHeader", json!({ "block": format!("{base:#x}") })).expect("a header");
    let options = json!({ "home": home, "chain": { "genesis": genesis }, "base": header });
    let made = init_follower(&options.to_string()).expect("makes a home");
    let made: Value = serde_json::from_slice(&made).expect("JSON");
    assert_eq!(made["base"]["number"], json!(base));
    Node::open(config(home, Mode::Start)).expect("opens")
}

fn same_traces(upstream: &Arc<Node>, node: &Arc<Node>, number: u64) -> usize {
    let mut compared = 0;
    let block = format!("{number:#x}");
    let tracers = ["callTracer", "prestateTracer", "4byteTracer", "flatCallTracer", "noopTracer"];
    let mut configs: Vec<Value> = tracers.iter().map(|name| json!({ "tracer": name })).collect();
    configs.push(json!({}));
    configs.push(json!({ "tracer": "prestateTracer", "tracerConfig": { "diffMode": true } }));
    configs.push(json!({ "tracer": "callTracer", "tracerConfig": { "withLog": true } }));
    for config in configs {
        let args = json!({ "block": block, "config": config });
        let [theirs, ours] = [upstream, node].map(|node| trace(node, "traceBlockByNumber", args.clone()));
        assert_eq!(ours.expect("traces"), theirs.expect("traces"), "block {number}, {config}");
        compared += 1;
    }
    for (op, args) in [
        ("getBlockReceipts", json!({ "block": block })),
        ("getBlockByNumber", json!({ "block": block, "full": true })),
        ("getLogs", json!({ "filter": { "fromBlock": block, "toBlock": block } })),
        ("getRawBlock", json!({ "block": block })),
        ("getRawReceipts", json!({ "block": block })),
    ] {
        let [theirs, ours] = [upstream, node].map(|node| ask(node, op, args.clone()));
        assert_eq!(ours.expect("answers"), theirs.expect("answers"), "{op} of block {number}");
        compared += 1;
    }
    compared
}

#[test]
fn a_follower_answers_as_the_node_that_it_follows() {
    let Some((_home, upstream)) = execution_apis() else { return };
    let home = tempfile::tempdir().expect("a folder");
    let node = follower(home.path(), &upstream, 0);
    let mut rounds = BTreeMap::new();
    for number in 1..=BLOCKS {
        let mut source = Source::new(&upstream, number);
        let witness = source.witness(number % 2 == 0);
        let (answer, taken) = follow(&node, &mut source, Some(&witness), "witness");
        assert_eq!(answer["status"], "followed", "block {number}: {answer}");
        assert_eq!(answer["verified"], "proven", "block {number}: {answer}");
        assert_eq!(answer["number"], json!(number));
        *rounds.entry(taken).or_insert(0) += 1;
        let known = give(&node, &meta(source.hash, "witness"), &source.block(), None, &json!({}));
        assert_eq!(known, json!({ "status": "known" }));
    }
    println!("blocks by rounds: {rounds:?}");
    let compared: usize = (1..=BLOCKS).map(|number| same_traces(&upstream, &node, number)).sum();
    assert_eq!(compared, 13 * BLOCKS as usize);
    let state: Value = serde_json::from_slice(&node.followed_state().expect("state")).expect("JSON");
    assert_eq!(state["verified"], json!({ "proven": BLOCKS, "executed": 0 }));
    assert_eq!((&state["holes"], &state["head"]["number"]), (&json!(0), &json!(BLOCKS)));
    // A state is never here, and what is not here is never zero.
    let who = "0x0000000000000000000000000000000000000001";
    for (op, args) in [
        ("getBalance", json!({ "address": who })),
        ("getCode", json!({ "address": who })),
        ("getTransactionCount", json!({ "address": who })),
        ("getStorageAt", json!({ "address": who, "slot": "0x0" })),
        ("call", json!({ "transaction": { "to": who } })),
        ("estimateGas", json!({ "transaction": { "to": who } })),
        ("getBalance", json!({ "address": who, "block": "0x5" })),
        ("createAccessList", json!({ "transaction": { "to": who } })),
        ("simulateV1", json!({ "options": { "blockStateCalls": [{}] } })),
    ] {
        let error = ask(&node, op, args).expect_err(op);
        assert_eq!(error.kind(), "state_elsewhere", "{op}: {error}");
    }
}

#[test]
fn a_witness_is_sorted_minimal_and_its_forms_agree() {
    let Some((_home, upstream)) = execution_apis() else { return };
    let mut dropped = 0;
    for number in 1..=BLOCKS {
        let source = Source::new(&upstream, number);
        let (witness, legacy) = (source.witness(false), source.witness(true));
        for list in ["state", "codes"] {
            let texts: Vec<&str> =
                witness[list].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
            assert!(texts.is_sorted(), "{list} of block {number}");
            assert!(texts.windows(2).all(|pair| pair[0] != pair[1]));
            assert_eq!(witness[list], legacy[list]);
        }
        let rlp = |header: &Value| {
            let bytes = alloy_primitives::hex::decode(header.as_str().expect("hex")).expect("hex");
            keccak256(bytes)
        };
        let hashes = |list: &Value, of: &dyn Fn(&Value) -> Value| {
            list.as_array().expect("a list").iter().map(of).collect::<Vec<_>>()
        };
        let ours = hashes(&witness["headers"], &|header| json!(rlp(header)));
        assert_eq!(ours, hashes(&legacy["headers"], &|header| header["hash"].clone()));
        assert_eq!(legacy["keys"], Value::Null);
        let nodes = witness["state"].as_array().expect("a list");
        if number % 3 != 0 || nodes.is_empty() {
            continue;
        }
        // Traces look at more than the execution: only where they do not, a missing node shows at
        // once.
        let [whole, home] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let whole = follower(whole.path(), &upstream, number - 1);
        let meta = meta(source.hash, "witness");
        if give(&whole, &meta, &source.block(), Some(&witness), &json!({}))["status"] != "followed" {
            continue;
        }
        let node = follower(home.path(), &upstream, number - 1);
        for index in (0..nodes.len()).step_by(1 + nodes.len() / 10) {
            let mut without = witness.clone();
            without["state"].as_array_mut().expect("a list").remove(index);
            let answer = give(&node, &meta, &source.block(), Some(&without), &json!({}));
            dropped += 1;
            assert_eq!(answer["status"], "wanted", "block {number} without node {index}: {answer}");
        }
    }
    println!("{dropped} nodes were left out, and all were missing");
    assert!(dropped > 30, "{dropped}");
}

/// Gives a block whose state is claimed, completing the claims.
fn follow_claimed(node: &Node, source: &mut Source<'_>) -> Value {
    let block = source.block();
    source.extra = json!({ "prestate": {}, "codes": [] });
    for _ in 0..MAX_ROUNDS * 4 {
        let answer = give(node, &meta(source.hash, "prestate"), &block, None, &source.extra);
        if answer["status"] != "wanted" {
            return answer;
        }
        let at = json!({ "blockHash": answer["parent"] });
        for account in answer["accounts"].as_array().expect("a list") {
            let address = account["address"].as_str().expect("an address");
            let of = |args: Value| {
                let mut args = args;
                args["address"] = json!(address);
                args["block"] = at.clone();
                args
            };
            let known = source.extra["prestate"][address]["storage"].as_object().cloned().unwrap_or_default();
            let mut storage = known;
            for slot in account["slots"].as_array().expect("a list") {
                let value = source.ask("getStorageAt", of(json!({ "slot": slot })));
                storage.insert(slot.as_str().expect("hex").to_owned(), value);
            }
            source.extra["prestate"][address] = json!({
                "balance": source.ask("getBalance", of(json!({}))),
                "nonce": source.ask("getTransactionCount", of(json!({}))),
                "code": source.ask("getCode", of(json!({}))),
                "storage": storage,
            });
        }
        for code in answer["codes"].as_array().expect("a list") {
            let args = json!({ "address": code["address"], "block": at });
            let code = source.ask("getCode", args);
            source.extra["codes"].as_array_mut().expect("a list").push(code);
        }
    }
    panic!("block {} wants ever more", source.hash)
}

#[test]
fn proofs_alone_prove_and_claims_are_told_from_them() {
    let Some((_home, upstream)) = execution_apis() else { return };
    let [by_proofs, by_claims] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let proven = follower(by_proofs.path(), &upstream, BASE);
    let executed = follower(by_claims.path(), &upstream, BASE);
    let mut most = 0;
    for number in BASE + 1..=BLOCKS {
        let mut source = Source::new(&upstream, number);
        let (answer, rounds) = follow(&proven, &mut source, None, "proof");
        assert_eq!(answer["verified"], "proven", "block {number}: {answer}");
        most = most.max(rounds);
        let answer = follow_claimed(&executed, &mut Source::new(&upstream, number));
        assert_eq!(answer["verified"], "executed", "block {number}: {answer}");
        same_traces(&upstream, &proven, number);
        same_traces(&upstream, &executed, number);
    }
    println!("proofs took {most} rounds at most");
    let state: Value = serde_json::from_slice(&executed.followed_state().expect("state")).expect("JSON");
    assert_eq!(state["verified"], json!({ "proven": 0, "executed": BLOCKS - BASE }));
    assert_eq!(state["base"]["number"], json!(BASE));
    for (op, args) in
        [("getBlockByNumber", json!({ "block": "0x28" })), ("getBlockReceipts", json!({ "block": "0x28" }))]
    {
        let error = ask(&executed, op, args).expect_err("the base has no body here");
        assert_eq!(error.kind(), "evm_not_supported", "{op}: {error}");
    }
}

#[test]
fn what_is_wrong_is_refused_or_completed_and_never_stored() {
    let Some((_home, upstream)) = execution_apis() else { return };
    let home = tempfile::tempdir().expect("a folder");
    let node = follower(home.path(), &upstream, BASE);
    let state = || -> Value { serde_json::from_slice(&node.followed_state().expect("state")).expect("JSON") };
    let mut filled = 0;
    for number in BASE + 1..=BLOCKS {
        let source = || Source::new(&upstream, number);
        let (hash, block, witness) = (source().hash, source().block(), source().witness(false));
        let before = state();
        let meta = meta(hash, "witness");
        let bytes = alloy_primitives::hex::decode(block.as_str().expect("hex")).expect("hex");
        for (index, flipped) in bytes.iter().enumerate().step_by(1 + bytes.len() / 60) {
            let mut other = bytes.clone();
            other[index] = flipped ^ 1;
            let other = json!(alloy_primitives::hex::encode_prefixed(other));
            let answer = give(&node, &meta, &other, Some(&witness), &json!({}));
            assert_eq!(answer["status"], "refused", "byte {index}: {answer}");
        }
        let refused = |block: &[u8], witness: &[u8]| {
            let answer = given(&node, &meta, block.to_vec(), Some(witness.to_vec()), None);
            assert_eq!(answer["status"], "refused", "{answer}");
            answer["field"].as_str().expect("a word").to_owned()
        };
        let (whole, given) = (block.to_string(), witness.to_string());
        assert_eq!(refused(&whole.as_bytes()[..whole.len() / 2], given.as_bytes()), "body");
        assert_eq!(refused(whole.as_bytes(), &given.as_bytes()[..given.len() / 2]), "witness");
        assert_eq!(refused(whole.as_bytes(), b"[]"), "witness");
        assert_eq!(refused(b"null", given.as_bytes()), "body");
        let mut other_root = json!({ "hash": B256::repeat_byte(1), "form": "raw", "source": "witness" });
        other_root["reorgBlocks"] = json!(128);
        let answer = give(&node, &other_root, &block, Some(&witness), &json!({}));
        assert_eq!(answer["field"], "hash");
        assert_eq!(state(), before, "nothing was stored");
        // A witness of another block, and one with a flipped byte in each code and node, is
        // completed by proofs.
        let spoilt = spoilt(&witness);
        let other = Source::new(&upstream, number - 30).witness(true);
        let witness = [&spoilt, &other, &witness][number as usize % 3];
        let mut completed = source();
        let (answer, rounds) = follow(&node, &mut completed, Some(witness), "witness");
        assert_eq!(answer["verified"], "proven", "block {number}: {answer}");
        filled += usize::from(rounds > 0);
    }
    assert!(filled > 5, "{filled}");
    for number in BASE + 1..=BLOCKS {
        same_traces(&upstream, &node, number);
    }
}

/// A witness with one bit of every node and code flipped.
fn spoilt(witness: &Value) -> Value {
    let mut witness = witness.clone();
    for list in ["state", "codes"] {
        for (index, item) in witness[list].as_array_mut().expect("a list").iter_mut().enumerate() {
            let mut bytes = alloy_primitives::hex::decode(item.as_str().expect("hex")).expect("hex");
            let at = index % bytes.len().max(1);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 0x10;
            }
            *item = json!(alloy_primitives::hex::encode_prefixed(bytes));
        }
    }
    witness
}

#[test]
fn a_block_without_a_source_is_a_hole_that_breaks_nothing() {
    let Some((_home, upstream)) = execution_apis() else { return };
    let home = tempfile::tempdir().expect("a folder");
    let node = follower(home.path(), &upstream, BASE);
    for number in BASE + 1..=BLOCKS {
        let mut source = Source::new(&upstream, number);
        if number % 4 != 0 {
            let witness = source.witness(false);
            assert_eq!(follow(&node, &mut source, Some(&witness), "witness").0["status"], "followed");
            continue;
        }
        let answer = give(&node, &meta(source.hash, "none"), &source.block(), None, &json!({}));
        assert_eq!(answer["status"], "hole", "{answer}");
        let block = json!({ "block": format!("{number:#x}") });
        for op in ["getBlockReceipts", "getRawReceipts"] {
            assert_eq!(ask(&node, op, block.clone()).expect_err("elsewhere").kind(), "state_elsewhere");
        }
        let args = json!({ "block": format!("{number:#x}"), "config": { "tracer": "callTracer" } });
        assert_eq!(
            trace(&node, "traceBlockByNumber", args).expect_err("elsewhere").kind(),
            "state_elsewhere"
        );
        let range = json!({ "filter": { "fromBlock": "0x29", "toBlock": format!("{number:#x}") } });
        assert_eq!(ask(&node, "getLogs", range).expect_err("elsewhere").kind(), "state_elsewhere");
    }
    let state: Value = serde_json::from_slice(&node.followed_state().expect("state")).expect("JSON");
    assert_eq!((&state["holes"], &state["verified"]["proven"]), (&json!(3), &json!(BLOCKS - BASE - 3)));
    // Open again: the counts are those of the rows.
    node.close().expect("closes");
    drop(node);
    let node = Node::open(config(home.path(), Mode::Start)).expect("opens");
    let again: Value = serde_json::from_slice(&node.followed_state().expect("state")).expect("JSON");
    assert_eq!(again, state);
    same_traces(&upstream, &node, 45);
}

#[test]
fn a_damaged_mark_is_an_error_with_its_cause() {
    let Some((_home, upstream)) = execution_apis() else { return };
    let home = tempfile::tempdir().expect("a folder");
    let node = follower(home.path(), &upstream, BASE);
    let before = node.followed_state().expect("state");
    // A mark of a kind that there is not; `v` and a height are the key (chain/src/follow/marks.rs).
    let key = [&b"v"[..], &(BASE + 1).to_be_bytes()].concat();
    node.close().expect("closes");
    let node = Node::open(config(home.path(), Mode::Start)).expect("opens");
    let write = |value| {
        let row = IndexWrite { key: key.clone(), value };
        node.chain().expect("open").kv().index_fill(&[row]).expect("writes");
    };
    write(Some(vec![9]));
    let error = node.followed_state().expect_err("damaged");
    let mut cause: &(dyn Error + 'static) = &error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let cause = cause.downcast_ref::<StateError>();
    assert!(matches!(cause, Some(StateError::Damaged { what: "mark" })), "{error:?}");
    write(None);
    assert_eq!(node.followed_state().expect("state again"), before);
}
