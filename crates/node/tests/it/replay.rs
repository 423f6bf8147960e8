//! Files traced without a home.

use crate::support::fixtures;
use hearth_node::{NodeError, Replay};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Lines of a replay, and how it ended.
fn lines(files: &[&Path], traces: Value, tx: Option<usize>) -> (Vec<Value>, Option<NodeError>) {
    let job = json!({ "files": files, "traces": traces, "tx": tx }).to_string();
    let stream = Replay::from_json(job.as_bytes()).expect("reads").start();
    let mut bytes = Vec::new();
    let end = loop {
        match stream.next() {
            Ok(Some(chunk)) => bytes.extend(chunk),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    let text = String::from_utf8(bytes).expect("text");
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    (text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect(), end)
}

fn tracer_test(input: &str) -> Value {
    json!({
        "genesis": {
            "config": { "chainId": 1, "homesteadBlock": 0, "eip150Block": 0, "eip155Block": 0, "eip158Block": 0,
                "byzantiumBlock": 0, "constantinopleBlock": 0, "petersburgBlock": 0, "istanbulBlock": 0 },
            "alloc": { "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F": { "balance": "0xde0b6b3a7640000000", "nonce": "0x9" } },
        },
        "context": { "number": "7", "timestamp": "9", "miner": "0x00000000000000000000000000000000000000bb",
            "gasLimit": "30000000", "difficulty": "3" },
        "input": input,
    })
}

/// The signed example of EIP-155: nonce 9, 20 gwei, one ether to 0x3535….
const EIP_155: &str = "0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83";

fn write(dir: &Path, name: &str, value: &Value) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, value.to_string()).expect("writes");
    path
}

/// A tracer test of one transfer.
pub fn transfer_file(dir: &Path) -> PathBuf {
    write(dir, "test.json", &tracer_test(EIP_155))
}

#[test]
fn a_tracer_test_gives_one_bare_result_a_configuration() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = write(dir.path(), "test.json", &tracer_test(EIP_155));
    let call = json!({ "from": "0x9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f", "gas": "0x5208", "gasUsed": "0x5208",
        "to": "0x3535353535353535353535353535353535353535", "input": "0x", "value": "0xde0b6b3a7640000", "type": "CALL" });
    let traces = json!([{ "tracer": "callTracer" }, {}, { "tracer": "callTracer", "tracerConfig": { "onlyTopCall": true } }]);
    let (found, end) = lines(&[&file, &file], traces, None);
    assert!(end.is_none(), "{end:?}");
    let steps = json!({ "gas": 21000, "failed": false, "returnValue": "0x", "structLogs": [] });
    let each = [call.clone(), steps.clone(), call];
    assert_eq!(found, [each.clone(), each].concat());
    assert_eq!(lines(&[&file], json!([]), Some(0)).0, [steps], "the struct logger is the default");
}

#[test]
fn what_cannot_be_replayed_is_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let good = write(dir.path(), "good.json", &tracer_test(EIP_155));
    let traces = json!([{ "tracer": "callTracer" }]);
    let refused = |file: &Path, traces: Value, tx| {
        let (found, end) = lines(&[file], traces, tx);
        assert!(found.is_empty(), "{found:?}");
        end.expect("refused").to_string()
    };
    let name = good.display();
    assert_eq!(
        refused(&good, traces.clone(), Some(1)),
        format!("{name}: transaction index 1 is out of range: the block has 1")
    );
    assert!(refused(&good, json!([{ "tracer": "nothing" }]), None).contains("nothing"));
    let bad = write(dir.path(), "bad.json", &json!({ "pre": {} }));
    assert!(refused(&bad, traces.clone(), None).contains("neither a tracer test"));
    let cut = write(dir.path(), "cut.json", &tracer_test("0x01"));
    assert!(refused(&cut, traces.clone(), None).contains("input is 0x01"));
    assert!(refused(&dir.path().join("none.json"), traces, None).contains("No such file"));
}

#[test]
fn a_trace_that_fails_has_a_line_and_the_rest_follows() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut test = tracer_test(EIP_155);
    test["genesis"]["alloc"] = json!({});
    let poor = write(dir.path(), "poor.json", &test);
    let good = write(dir.path(), "good.json", &tracer_test(EIP_155));
    let (found, end) = lines(&[&poor, &good], json!([{ "tracer": "callTracer" }]), None);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0]["error"]["code"], -32000);
    let message = found[0]["error"]["message"].as_str().expect("words");
    assert!(message.starts_with("tracing failed: nonce too high"), "{message}");
    assert_eq!(found[1]["gasUsed"], "0x5208");
    assert_eq!(end.expect("told").to_string(), format!("{}: {message}", poor.display()));
}

#[test]
fn a_recorded_block_gives_an_array_or_one_of_its_transactions() {
    let Some(dir) = fixtures("mainnet-blocks") else { return };
    let file = dir.join("116525.json.gz");
    let traces = json!([{ "tracer": "callTracer" }, {}, { "tracer": "prestateTracer" }]);
    let (whole, end) = lines(&[&file], traces.clone(), None);
    assert!(end.is_none(), "{end:?}");
    assert_eq!(whole.len(), 3);
    for (line, config) in whole.iter().zip(traces.as_array().expect("a list")) {
        // An execution of its own gives the same.
        assert_eq!(lines(&[&file], json!([config]), None).0, std::slice::from_ref(line));
    }
    let rows: Vec<&Vec<Value>> =
        whole.iter().map(|line| line.as_array().expect("a row a transaction")).collect();
    assert!(!rows[0].is_empty());
    for index in 0..rows[0].len() {
        assert_eq!(rows[0][index]["txHash"].as_str().map(str::len), Some(66));
        let each: Vec<Value> = rows.iter().map(|rows| rows[index]["result"].clone()).collect();
        assert_eq!(lines(&[&file], traces.clone(), Some(index)).0, each);
    }
}
