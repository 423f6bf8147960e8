//! Every recorded request of the execution-apis chain whose method this crate answers, by value.

use crate::support::{ask, execution_apis, fixtures, trace};
use hearth_node::{Node, NodeError};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, path::Path, sync::Arc};

/// The operation of a method and the names of its arguments in the order of its parameters.
const METHODS: [(&str, &str, &[&str]); 39] = [
    ("debug_getRawBlock", "getRawBlock", &["block"]),
    ("debug_getRawHeader", "getRawHeader", &["block"]),
    ("debug_getRawReceipts", "getRawReceipts", &["block"]),
    ("debug_getRawTransaction", "getRawTransaction", &["hash"]),
    ("eth_baseFee", "baseFee", &[]),
    ("eth_blobBaseFee", "blobBaseFee", &[]),
    ("eth_blockNumber", "blockNumber", &[]),
    ("eth_call", "call", &["transaction", "block", "stateOverrides", "blockOverrides"]),
    ("eth_capabilities", "capabilities", &[]),
    ("eth_chainId", "chainId", &[]),
    ("eth_config", "config", &[]),
    ("eth_createAccessList", "createAccessList", &["transaction", "block", "stateOverrides"]),
    ("eth_estimateGas", "estimateGas", &["transaction", "block", "stateOverrides", "blockOverrides"]),
    ("eth_feeHistory", "feeHistory", &["blockCount", "newestBlock", "rewardPercentiles"]),
    ("eth_gasPrice", "gasPrice", &[]),
    ("eth_getBalance", "getBalance", &["address", "block"]),
    ("eth_getBlockByHash", "getBlockByHash", &["hash", "full"]),
    ("eth_getBlockByNumber", "getBlockByNumber", &["block", "full"]),
    ("eth_getBlockReceipts", "getBlockReceipts", &["block"]),
    ("eth_getBlockTransactionCountByHash", "getBlockTransactionCountByHash", &["hash"]),
    ("eth_getBlockTransactionCountByNumber", "getBlockTransactionCountByNumber", &["block"]),
    ("eth_getCode", "getCode", &["address", "block"]),
    ("eth_getLogs", "getLogs", &["filter"]),
    ("eth_getStorageAt", "getStorageAt", &["address", "slot", "block"]),
    ("eth_getStorageValues", "getStorageValues", &["requests", "block"]),
    ("eth_getTransactionByBlockHashAndIndex", "getTransactionByBlockHashAndIndex", &["hash", "index"]),
    ("eth_getTransactionByBlockNumberAndIndex", "getTransactionByBlockNumberAndIndex", &["block", "index"]),
    ("eth_getTransactionByHash", "getTransactionByHash", &["hash"]),
    ("eth_getTransactionCount", "getTransactionCount", &["address", "block"]),
    ("eth_getTransactionReceipt", "getTransactionReceipt", &["hash"]),
    ("eth_sendRawTransaction", "sendRawTransaction", &["transaction"]),
    ("eth_simulateV1", "simulateV1", &["options", "block"]),
    ("eth_syncing", "syncing", &[]),
    ("net_version", "netVersion", &[]),
    ("txpool_content", "txpoolContent", &[]),
    ("txpool_contentFrom", "txpoolContentFrom", &["address"]),
    ("txpool_status", "txpoolStatus", &[]),
    ("debug_traceBlockByHash", "traceBlockByHash", &["hash", "config"]),
    ("debug_traceBlockByNumber", "traceBlockByNumber", &["block", "config"]),
];

/// Cases whose parameters do not decode in a way that only the codecs above this crate see.
const CODEC_CASES: [&str; 1] = ["debug_getRawTransaction/get-invalid-hash.io"];

/// Fewest cases that must have been compared: a folder that moved must not pass in silence.
const FEWEST_CASES: usize = 170;

#[test]
fn recorded_requests_get_the_recorded_answers() {
    let Some(dir) = fixtures("rpc-compat") else { return };
    let Some((_home, node)) = execution_apis() else { return };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for (method, op, names) in METHODS {
        for file in cases(&dir.join(method)) {
            if CODEC_CASES.iter().any(|case| file.ends_with(case)) {
                println!("skipped: {} is a matter of the codecs", file.display());
                continue;
            }
            let text = std::fs::read_to_string(&file).expect("a case");
            match replay(&node, op, names, &text) {
                Err(difference) => failures.push(format!("{}: {difference}", file.display())),
                Ok(()) => *counts.entry(method).or_default() += 1,
            }
        }
    }
    let equal: usize = counts.values().sum();
    println!("{counts:?}: {equal} equal");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(equal >= FEWEST_CASES, "only {equal} cases were compared");
}

fn cases(folder: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let files = entries.map(|entry| entry.expect("readable").path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "io")).collect();
    files.sort();
    files
}

/// Plays a case; the error says what differs.
fn replay(node: &Arc<Node>, op: &str, names: &[&str], case: &str) -> Result<(), String> {
    let schema_only = case.lines().any(|line| line.starts_with("// speconly"));
    let mut have = None;
    for line in case.lines() {
        if let Some(request) = line.strip_prefix(">> ") {
            let request: Value = serde_json::from_str(request).expect("JSON");
            let params = request["params"].as_array().cloned().unwrap_or_default();
            let named = names.iter().map(|name| name.to_string()).zip(params).collect::<Map<_, _>>();
            have = Some(answer(node, op, named));
        } else if let Some(answer) = line.strip_prefix("<< ") {
            let want: Value = serde_json::from_str(answer).expect("JSON");
            let have = have.as_ref().expect("an answer follows its request");
            compare(have, &want, schema_only)?;
        }
    }
    Ok(())
}

fn answer(node: &Arc<Node>, op: &str, args: Map<String, Value>) -> Result<Value, NodeError> {
    if op.starts_with("trace") {
        trace(node, op, Value::Object(args))
    } else {
        ask(node, op, if args.is_empty() { Value::Null } else { Value::Object(args) })
    }
}

/// Compares by value. Of errors it compares the code of the kind and the data; of cases that were
/// recorded for their shape, only whether there is a result.
fn compare(have: &Result<Value, NodeError>, want: &Value, schema_only: bool) -> Result<(), String> {
    match (have, want.get("error")) {
        (Ok(_), None) if schema_only => Ok(()),
        (Ok(have), None) if have == &want["result"] => Ok(()),
        (Ok(have), _) => Err(format!("have {have}\nwant {want}")),
        (Err(have), None) => Err(format!("have the error {have}\nwant {want}")),
        (Err(have), Some(want)) => {
            let code = match have.kind() {
                "execution_reverted" => 3,
                "invalid_params" => -32602,
                "fee_cap_too_low" => -38012,
                "intrinsic_gas_too_low" => -38013,
                "insufficient_funds" => -38014,
                "block_number_order" => -38020,
                "block_timestamp_order" => -38021,
                _ => -32000,
            };
            let mut error = json!({ "code": code });
            if let Some(data) = have.data() {
                error["data"] = data.into();
            }
            let mut want = want.clone();
            let message = want.as_object_mut().and_then(|want| want.remove("message"));
            if matches!(have, NodeError::Simulation(_)) && message != Some(Value::from(have.to_string())) {
                return Err(format!("have the message {have}\nwant {message:?}"));
            }
            if error == want { Ok(()) } else { Err(format!("have {error} ({have})\nwant {want}")) }
        }
    }
}
