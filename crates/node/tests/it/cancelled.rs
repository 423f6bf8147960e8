//! Long requests under a caller who has left, and what a pending block keeps: on an open home
//! without a node's threads.

use crate::{dev_chain::sender_of, support::config};
use alloy_primitives::Address;
use hearth_home::{Home, NodeError, TraceSource};
use hearth_metrics::Registry;
use hearth_node::{Mode, Request};
use hearth_rpc::Rpc;
use hearth_tracers::Cancel;
use hearth_traces::Traces;
use serde_json::{Value, json};
use std::sync::Arc;

/// A development chain that makes blocks on request.
struct Opened {
    rpc: Rpc,
    home: Arc<Home>,
    _folder: tempfile::TempDir,
}

impl Opened {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let metrics = Registry::new();
        let mut config = config(folder.path(), Mode::Dev);
        // With a capsule nothing is executed before a transaction.
        config.rpc.trace_source = TraceSource::History;
        let home = Home::open(config, Arc::default(), metrics.clone());
        let home = Arc::new(home.expect("opens"));
        let traces = Arc::new(Traces::open(home.clone(), &metrics).expect("opens"));
        let opened = Self { rpc: Rpc::new(home.clone(), traces, None, None), home, _folder: folder };
        opened.ask("setAutomine", json!({ "enabled": false }));
        opened
    }

    fn under(&self, stop: &Cancel, op: &str, args: &Value) -> Result<Value, NodeError> {
        let text = json!({ "op": op, "args": args }).to_string();
        let answer = self.rpc.answer(Request::from_json(text.as_bytes())?, stop)?;
        Ok(serde_json::from_slice(&answer).expect("answers are JSON"))
    }

    fn ask(&self, op: &str, args: Value) -> Value {
        self.under(&Cancel::new(), op, &args).unwrap_or_else(|error| panic!("{op}: {error}"))
    }
}

#[test]
fn long_requests_end_once_their_caller_has_left() {
    let opened = Opened::new();
    let (from, to) = (sender_of(0), Address::repeat_byte(7));
    for _ in 0..2 {
        opened.ask("sendTransaction", json!({ "transaction": { "from": from, "to": to } }));
    }
    opened.ask("mine", json!({ "count": "0x1", "first": true }));
    let block = opened.ask("getBlockByNumber", json!({ "block": "0x1" }));
    assert_eq!(block["transactions"].as_array().map(Vec::len), Some(2));
    // JUMPDEST PUSH0 JUMP: the estimate of its gas executes it for long.
    let endless = json!({ "transaction": { "from": from, "data": "0x5b5f56" } });
    let page =
        json!({ "block": "0x1", "txIndex": "0x1", "address": to, "keyStart": "0x", "maxResult": "0x1" });
    let left = Cancel::new();
    left.cancel();
    for (op, args) in [
        ("fillTransaction", &endless),
        ("signTransaction", &endless),
        ("sendTransaction", &endless),
        ("sendUnsignedTransaction", &endless),
        ("feeHistory", &json!({ "blockCount": "0x1", "newestBlock": "latest" })),
        ("intermediateRoots", &json!({ "hash": block["hash"] })),
        ("storageRangeAt", &page),
        ("senderTransaction", &json!({ "address": from, "nonce": "0x0", "maxBlocks": 100 })),
    ] {
        let outcome = opened.under(&left, op, args);
        assert!(matches!(outcome, Err(NodeError::Cancelled)), "{op}: {outcome:?}");
    }
}

#[test]
fn a_pending_blocks_root_is_of_the_state_that_it_ran_on() {
    let opened = Opened::new();
    let account = sender_of(1);
    let before = opened.ask("getBalance", json!({ "address": account }));
    opened.ask("setNextBlockTimestamp", json!({ "timestamp": "0x70000000" }));
    let pending = || opened.home.pending().expect("is made").expect("there is a state");
    let root = |block: &hearth_home::PendingBlock| {
        block.block(opened.home.chain()).expect("has a root").block.header.state_root
    };
    let first = pending();
    // The root of the first one is computed beside a later edit, which is taken back then.
    opened.ask("setBalance", json!({ "address": account, "balance": "0x5" }));
    let (of_first, edited) = (root(&first), root(&pending()));
    opened.ask("setBalance", json!({ "address": account, "balance": before }));
    assert_eq!(of_first, root(&pending()));
    assert_ne!(of_first, edited);
}
