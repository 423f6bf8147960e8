//! Searches of logs and frames while blocks are replaced: an answer is of one branch.

use crate::{
    dev_chain::{open, sender_of},
    support::{ask, trace},
};
use alloy_primitives::{Address, address};
use serde_json::{Value, json};
use std::{collections::HashSet, thread};

/// Logs the value of its call as topic: CALLVALUE PUSH1 0 PUSH1 0 LOG1 STOP.
const LOGGER: Address = address!("00000000000000000000000000000000000c0006");
const LOGGER_CODE: &str = "0x3460006000a100";
/// Blocks of a branch, each with one call.
const BLOCKS: usize = 20;
/// Branches, one after the other.
const BRANCHES: u64 = 60;

/// A branch whose calls have its number as their value.
fn branch(number: u64) -> Value {
    let fee = "0xe8d4a51000";
    let transaction = json!({ "from": sender_of(0), "to": LOGGER, "value": format!("{number:#x}"), "input": "0x",
        "gas": "0x186a0", "maxFeePerGas": fee, "maxPriorityFeePerGas": "0x1" });
    let call = |block: usize| json!({ "transaction": transaction, "block": format!("{block:#x}") });
    json!({ "depth": format!("{BLOCKS:#x}"), "transactions": (0..BLOCKS).map(call).collect::<Vec<_>>() })
}

#[test]
fn logs_and_frames_are_of_one_branch_while_blocks_change() {
    let (_home, node) = open();
    ask(&node, "setAutomine", json!({ "enabled": false })).expect("answers");
    ask(&node, "setCode", json!({ "address": LOGGER, "code": LOGGER_CODE })).expect("answers");
    // The code becomes part of the block below the branches.
    let blocks = format!("{:#x}", BLOCKS + 1);
    ask(&node, "mine", json!({ "count": blocks, "first": true })).expect("answers");
    ask(&node, "reorg", branch(0)).expect("is replaced");
    let range = json!({ "fromBlock": "0x2", "toBlock": blocks, "address": LOGGER });
    let frames = json!({ "fromBlock": "0x2", "toBlock": blocks, "toAddress": [LOGGER], "maxBlocks": 50,
        "config": { "tracer": "parityTracer" } });
    let writer = {
        let node = node.clone();
        thread::spawn(move || {
            (1..=BRANCHES).for_each(|n| drop(ask(&node, "reorg", branch(n)).expect("is replaced")))
        })
    };
    // Answers of logs and of frames; while a branch is shorter there are none.
    let mut answers = [0, 0];
    let mut look = || {
        if let Ok(logs) = ask(&node, "getLogs", json!({ "filter": range })) {
            let logs = logs.as_array().expect("a list");
            let branches: HashSet<_> = logs.iter().map(|log| log["topics"][0].to_string()).collect();
            assert_eq!((logs.len(), branches.len()), (BLOCKS, 1), "{branches:?}");
            answers[0] += 1;
        }
        if let Ok(found) = trace(&node, "traceFilter", frames.clone()) {
            let found = found.as_array().expect("a list");
            let branches: HashSet<_> = found.iter().map(|one| one["action"]["value"].to_string()).collect();
            assert_eq!((found.len(), branches.len()), (BLOCKS, 1), "{branches:?}");
            answers[1] += 1;
        }
    };
    while !writer.is_finished() {
        look();
    }
    writer.join().expect("every branch is made");
    look();
    assert!(answers.iter().all(|count| *count > 0), "{answers:?}");
}
