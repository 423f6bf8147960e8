//! go-ethereum's tracer tests: every file under every configuration of callTracer.

use crate::answers::{CONFIGS, Table, digest, files, first_difference, fixtures, read_json};
use crate::cases::TraceTest;
use hearth_tracers::{Limits, TraceConfig, TracePlan, trace_transaction};
use serde_json::Value;

const FOLDERS: [&str; 5] = [
    "call_tracer",
    "call_tracer_withLog",
    "call_tracer_flat",
    "prestate_tracer",
    "prestate_tracer_with_diff_mode",
];

fn trace(case: &Value, config: &TraceConfig) -> Value {
    let test = TraceTest::parse(case);
    let plan = TracePlan::new(config).unwrap();
    let mut out = Vec::new();
    trace_transaction(&mut test.replay(), 0, &plan, &Limits::default(), &mut out).unwrap();
    serde_json::from_slice(&out).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&out)))
}

#[test]
fn every_file_under_every_configuration() {
    let Some(dir) = fixtures() else { return };
    let mut table = Table::default();
    let mut expected = 0;
    for folder in FOLDERS {
        for file in files(&dir.join("tracetest").join(folder), ".json") {
            let name = format!("{folder}/{}", file.file_stem().unwrap().to_string_lossy());
            let case = read_json(&file);
            let want = read_json(&dir.join(format!("geth-answers/tracetest/{name}.json.gz")));
            for (config, json) in CONFIGS {
                let Some(wanted) = want["digests"].get(config) else { continue };
                expected += 1;
                let have = trace(&case, &TraceConfig::parse(json).unwrap());
                let difference =
                    (digest(&have) != wanted.as_str().unwrap()).then(|| match want["answers"].get(config) {
                        Some(answer) => first_difference(&have, answer, "$")
                            .unwrap_or_else(|| "only the digest differs".to_owned()),
                        None => "digest differs".to_owned(),
                    });
                table.check(&format!("{name} {config}"), difference);
            }
        }
    }
    table.finish(expected);
    assert_eq!(expected, 700);
}

/// go-ethereum parses the expected logs into a structure in which an absent index is zero.
fn with_log_indexes(result: &mut Value) {
    for log in result.get_mut("logs").and_then(Value::as_array_mut).into_iter().flatten() {
        log.as_object_mut().unwrap().entry("index").or_insert_with(|| "0x0".into());
    }
    for call in result.get_mut("calls").and_then(Value::as_array_mut).into_iter().flatten() {
        with_log_indexes(call);
    }
}

#[test]
fn results_in_the_files_themselves() {
    let Some(dir) = fixtures() else { return };
    let mut table = Table::default();
    for folder in &FOLDERS[..2] {
        for file in files(&dir.join("tracetest").join(folder), ".json") {
            let mut case = read_json(&file);
            with_log_indexes(&mut case["result"]);
            let options = case.get("tracerConfig").map(ToString::to_string);
            let config = TraceConfig {
                tracer: Some("callTracer".into()),
                tracer_config: options,
                ..Default::default()
            };
            let have = trace(&case, &config);
            table.check(&file.display().to_string(), first_difference(&have, &case["result"], "$"));
        }
    }
    table.finish(21);
}

/// go-ethereum parses the expected frames into a structure in which absent members are empty, and
/// gives its own frames no block or transaction context: those four members are left out.
fn without_context(result: &mut Value) {
    for frame in result.as_array_mut().into_iter().flatten() {
        let frame = frame.as_object_mut().unwrap();
        for key in ["blockHash", "blockNumber", "transactionHash", "transactionPosition"] {
            frame.remove(key);
        }
        for part in ["action", "result"] {
            if let Some(members) = frame.get_mut(part).and_then(Value::as_object_mut) {
                let zero = alloy_primitives::Address::ZERO.to_string();
                members.retain(|_, value| *value != "0x" && *value != "0x0" && *value != zero.as_str());
            }
        }
        frame.retain(|_, value| !value.is_null() && value.as_object().is_none_or(|o| !o.is_empty()));
    }
}

#[test]
fn results_of_other_tracers_in_the_files_themselves() {
    let Some(dir) = fixtures() else { return };
    let mut table = Table::default();
    for (folder, tracer) in FOLDERS[2..].iter().zip(["flatCallTracer", "prestateTracer", "prestateTracer"]) {
        for file in files(&dir.join("tracetest").join(folder), ".json") {
            let mut case = read_json(&file);
            let config = TraceConfig {
                tracer: Some(tracer.into()),
                tracer_config: case.get("tracerConfig").map(ToString::to_string),
                ..Default::default()
            };
            let mut have = trace(&case, &config);
            without_context(&mut have);
            without_context(&mut case["result"]);
            table.check(&file.display().to_string(), first_difference(&have, &case["result"], "$"));
        }
    }
    table.finish(29);
}
