//! Limits that the settings name: of log searches and of simulated calls.

use crate::support::{ask, config, execution_apis, trace};
use hearth_node::{Mode, Node, NodeConfig, NodeError};
use serde_json::{Value, json};
use std::num::NonZeroU64;
use std::{sync::Arc, time::Instant};

/// The chain of execution-apis, opened with another configuration.
fn with(change: impl FnOnce(&mut NodeConfig)) -> Option<(tempfile::TempDir, Arc<Node>)> {
    let (home, node) = execution_apis()?;
    node.close().expect("closes");
    drop(node);
    let mut config = config(home.path(), Mode::Start);
    change(&mut config);
    let node = Node::open(config).expect("opens");
    Some((home, node))
}

fn logs(node: &Arc<Node>, from: u64, to: u64) -> Result<Vec<Value>, NodeError> {
    let filter = json!({ "fromBlock": format!("{from:#x}"), "toBlock": format!("{to:#x}") });
    let found = ask(node, "getLogs", json!({ "filter": filter }))?;
    Ok(found.as_array().expect("logs").clone())
}

fn number(value: &Value) -> u64 {
    u64::from_str_radix(&value.as_str().expect("hex")[2..], 16).expect("hex")
}

/// Heights with logs and how many each has, in order.
fn heights(node: &Arc<Node>) -> Vec<(u64, usize)> {
    let head = number(&ask(node, "blockNumber", Value::Null).expect("answers"));
    let mut heights: Vec<(u64, usize)> = Vec::new();
    for log in logs(node, 0, head).expect("fits") {
        let height = number(&log["blockNumber"]);
        match heights.last_mut() {
            Some((last, count)) if *last == height => *count += 1,
            _ => heights.push((height, 1)),
        }
    }
    heights
}

fn refusal(node: &Arc<Node>, from: u64, to: u64) -> String {
    let error = logs(node, from, to).expect_err("too much");
    assert_eq!(error.kind(), "limit_exceeded");
    error.to_string()
}

#[test]
fn too_many_logs_name_the_range_that_fits() {
    let Some((_home, open)) = execution_apis() else { return };
    let heights = heights(&open);
    assert!(heights.len() >= 3, "{heights:?}");
    // Room for the first two heights with logs, not for the third.
    let (first, third) = (heights[0].0, heights[2].0);
    let fits = heights[0].1 + heights[1].1;
    let Some((_home, node)) = with(|config| config.rpc.logs_max_results = fits) else { return };
    assert_eq!(
        refusal(&node, 0, third),
        format!("query returned more than {fits} results; try with the block range 0x0 to {:#x}", third - 1)
    );
    assert_eq!(logs(&node, 0, third - 1).expect("fits").len(), fits);
    let Some((_home, node)) = with(|config| config.rpc.logs_max_results = 1) else { return };
    let (full, count) = *heights.iter().find(|(_, count)| *count > 1).unwrap_or(&(first, 1));
    if count > 1 {
        let message = refusal(&node, full, full);
        assert!(
            message.ends_with(&format!("block {full:#x} alone has more: narrow addresses or topics")),
            "{message}"
        );
    }
}

#[test]
fn too_many_bytes_name_the_range_that_fits() {
    let Some((_home, open)) = execution_apis() else { return };
    let heights = heights(&open);
    let third = heights[2].0;
    let filter = json!({ "fromBlock": "0x0", "toBlock": format!("{:#x}", third - 1) });
    let answer = ask(&open, "getLogs", json!({ "filter": filter })).expect("fits");
    let size = serde_json::to_vec(&answer).expect("JSON").len();
    let Some((_home, node)) = with(|config| config.rpc.logs_max_bytes = size) else { return };
    assert_eq!(
        refusal(&node, 0, third),
        format!("query returned more than {size} bytes; try with the block range 0x0 to {:#x}", third - 1)
    );
    assert_eq!(logs(&node, 0, third - 1).expect("fits").len(), answer.as_array().expect("logs").len());
    let Some((_home, node)) = with(|config| config.rpc.logs_max_bytes = size - 1) else { return };
    refusal(&node, 0, third - 1);
}

#[test]
fn too_many_blocks_name_the_range_that_fits() {
    let Some((_home, node)) = with(|config| config.rpc.logs_max_block_range = NonZeroU64::new(5)) else {
        return;
    };
    assert_eq!(refusal(&node, 3, 8), "exceed maximum block range: 5; try with the block range 0x3 to 0x7");
    logs(&node, 3, 7).expect("five blocks");
}

#[test]
fn ranges_of_logs_around_the_head_are_as_upstream() {
    let Some((_home, node)) = execution_apis() else { return };
    let head = number(&ask(&node, "blockNumber", Value::Null).expect("answers"));
    let answer = |from: &str, to: &str| {
        let filter = json!({ "fromBlock": from, "toBlock": to });
        match ask(&node, "getLogs", json!({ "filter": filter })) {
            Ok(logs) => logs.to_string(),
            Err(error) => error.to_string(),
        }
    };
    let at = |height: u64| format!("{height:#x}");
    assert_eq!(answer(&at(head + 1), "latest"), "invalid block range params");
    assert_eq!(answer(&at(head + 2), &at(head + 1)), "invalid block range params");
    assert_eq!(answer(&at(head + 1), &at(head + 2)), "block range extends beyond current head block");
    assert_eq!(answer(&at(head), &at(head + 1)), "block range extends beyond current head block");
    assert_eq!(answer("latest", &at(head)), "[]");
    assert_eq!(answer("latest", &at(head + 1)), "[]");
    assert_eq!(answer(&at(head), "0x0"), "[]");
    assert_eq!(answer("latest", "latest"), answer(&at(head), &at(head)));
}

#[test]
fn histories_of_fees_are_checked_in_the_order_of_upstream() {
    let Some((_home, node)) = execution_apis() else { return };
    let head = number(&ask(&node, "blockNumber", Value::Null).expect("answers"));
    let history = |count: &str, percentiles: &[f64]| {
        let args = json!({ "blockCount": count, "newestBlock": "0xffff", "rewardPercentiles": percentiles });
        ask(&node, "feeHistory", args)
    };
    let nothing = json!({ "oldestBlock": "0x0", "gasUsedRatio": null });
    assert_eq!(history("0x0", &[101.0; 101]).expect("answers"), nothing);
    for (percentiles, text) in [
        (&[101.0; 101][..], "invalid reward percentile: over the query limit 100".to_owned()),
        (&[101.0][..], "invalid reward percentile: 101.000000".to_owned()),
        (&[][..], format!("request beyond head block: requested 65535, head {head}")),
    ] {
        let error = history("0x1", percentiles).expect_err("refused");
        assert_eq!((error.kind(), error.to_string()), ("unsupported", text));
    }
}

#[test]
fn struct_logs_over_their_cap_are_an_error_and_never_cut() {
    let Some((_home, open)) = execution_apis() else { return };
    let code = "0x60ff5b600190038060025700";
    let args = json!({
        "transaction": { "to": AT },
        "block": "latest",
        "stateOverrides": { AT: { "code": code } },
    });
    let whole = trace(&open, "traceCall", args.clone()).expect("no cap");
    assert!(whole["structLogs"].as_array().expect("steps").len() > 1000);
    let size = serde_json::to_vec(&whole["structLogs"]).expect("JSON").len() as u64;
    let capped = |cap: u64| with(move |config| config.rpc.struct_log_max_bytes = NonZeroU64::new(cap));
    let Some((_home, node)) = capped(size * 2) else { return };
    assert_eq!(trace(&node, "traceCall", args.clone()).expect("fits"), whole);
    let Some((_home, node)) = capped(size / 2) else { return };
    let error = trace(&node, "traceCall", args).expect_err("too large");
    assert_eq!(error.kind(), "trace");
    assert!(error.to_string().contains(&format!("{} bytes", size / 2)), "{error}");
}

const AT: &str = "0x00000000000000000000000000000000000000aa";

/// Output of a call of this code.
fn run(node: &Arc<Node>, code: &str, gas: Option<&str>) -> Result<Value, NodeError> {
    let transaction = json!({ "to": AT, "gas": gas });
    let args =
        json!({ "transaction": transaction, "block": "latest", "stateOverrides": { AT: { "code": code } } });
    ask(node, "call", args)
}

#[test]
fn a_call_gets_the_gas_and_the_time_that_are_allowed() {
    let Some((_home, node)) = with(|config| config.rpc.gas_cap = NonZeroU64::new(100_000)) else { return };
    // GAS, MSTORE at 0, RETURN 32 bytes: the gas left after the transaction's 21,000 and the
    // instruction itself.
    let left = json!(format!("0x{:064x}", 100_000 - 21_000 - 2));
    for gas in [None, Some("0xffffffff")] {
        assert_eq!(run(&node, "0x5a60005260206000f3", gas).expect("runs"), left);
    }
    let slow = with(|config| {
        config.rpc.gas_cap = NonZeroU64::new(1_000_000_000_000_000);
        config.rpc.call_timeout_ms = NonZeroU64::new(50);
    });
    let Some((_home, node)) = slow else { return };
    let began = Instant::now();
    // JUMPDEST, PUSH1 0, JUMP: forever.
    let error = run(&node, "0x5b600056", None).expect_err("never ends");
    assert!(error.to_string().contains("timeout = 50ms"), "{error}");
    assert!(began.elapsed().as_millis() >= 50);
}
