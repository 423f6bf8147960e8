//! Homes that begin in the middle of mainnet, at a recorded block: served and traced like any other
//! home.

use crate::support::{ask, config, fixtures, trace};
use hearth_chain::{Chain, ChainOptions};
use hearth_flatkv::{Fsync, StateSettings};
use hearth_node::{Mode, Node};
use serde_json::{Value, json};
use std::{fs::File, io::Read, path::Path, sync::Arc};

/// Blocks from Frontier to Cancun, among them the DAO fork and first blocks of forks.
const BLOCKS: [&str; 8] =
    ["46147", "1920000", "2675000", "6196166", "9069000", "13287210", "17034869", "19426587"];

fn read(path: &Path) -> Value {
    let mut text = String::new();
    flate2::read::GzDecoder::new(File::open(path).expect("there")).read_to_string(&mut text).expect("gzip");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn recorded_blocks_are_served_and_traced() {
    let Some(cases) = fixtures("mainnet-blocks") else { return };
    let Some(answers) = fixtures("geth-answers/mainnet-blocks") else { return };
    for name in BLOCKS {
        let case = cases.join(format!("{name}.json.gz"));
        let home = tempfile::tempdir().expect("a folder");
        let options = ChainOptions {
            fsync: Fsync::None,
            state: StateSettings { memory_budget_bytes: 64 << 20, ..StateSettings::default() },
            ..ChainOptions::default()
        };
        let (chain, _) = Chain::import_case(home.path(), &case, None, &options).expect("verifies");
        chain.close().expect("closes");
        drop(chain);
        let node = Node::open(config(home.path(), Mode::Start)).expect("opens");
        let block = &read(&case)["block"];
        serves(&node, block, name);
        let asked = json!({ "tracer": "callTracer", "tracerConfig": { "withLog": true } });
        let have = trace(&node, "traceBlockByNumber", json!({ "block": block["number"], "config": asked }));
        let want = read(&answers.join(name).join("callTracer.withLog.json.gz"));
        assert_eq!(have.expect("traces"), want, "{name}");
        println!("{name}: {} transactions", want.as_array().map_or(0, Vec::len));
    }
}

fn serves(node: &Arc<Node>, block: &Value, name: &str) {
    let number = block["number"].as_str().expect("hex");
    assert_eq!(ask(node, "blockNumber", Value::Null).expect("answers"), block["number"]);
    for tag in ["latest", "safe", "finalized", "pending", number] {
        let have = ask(node, "getBlockByNumber", json!({ "block": tag, "full": false })).expect("answers");
        assert_eq!(have["hash"], block["hash"], "{name} {tag}");
        assert_eq!(have["uncles"], block["uncles"], "{name}");
    }
    let earliest = ask(node, "getBlockByNumber", json!({ "block": "earliest" })).expect("answers");
    assert_eq!(earliest["hash"], block["hash"], "{name}: the earliest block that this home has");
    // Every log of the block is found from the first block on, and the bloom matches the receipts.
    let receipts = ask(node, "getBlockReceipts", json!({ "block": number })).expect("answers");
    let receipts = receipts.as_array().expect("receipts");
    assert_eq!(Some(receipts.len()), block["transactions"].as_array().map(Vec::len));
    let logs: Vec<&Value> = receipts.iter().flat_map(|r| r["logs"].as_array().expect("logs")).collect();
    let found = ask(node, "getLogs", json!({ "filter": { "fromBlock": "earliest" } })).expect("answers");
    assert_eq!(found.as_array().expect("logs").iter().collect::<Vec<_>>(), logs, "{name}");
    let history =
        ask(node, "feeHistory", json!({ "blockCount": "0x5", "newestBlock": "latest" })).expect("answers");
    assert_eq!(history["oldestBlock"], block["number"], "the only block there is");
    let refused = ask(node, "getBalance", json!({ "address": block["miner"], "block": "0x1" }));
    let refused = refused.expect_err("below the first block");
    assert_eq!(refused.kind(), "evm_not_supported");
    let height = u64::from_str_radix(number.trim_start_matches("0x"), 16).expect("hex");
    let said = format!("block 1 is before the first block of this node, which is block {height}");
    assert_eq!(refused.to_string(), said);
    let above = ask(node, "getBlockByNumber", json!({ "block": format!("{:#x}", height + 1) }));
    assert_eq!(above.expect("answers"), Value::Null, "{name}: a block that is yet to come");
    assert!(ask(node, "gasPrice", Value::Null).is_ok());
}
