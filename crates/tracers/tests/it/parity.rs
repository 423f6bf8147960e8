//! Traces in OpenEthereum's form, with values worked out by hand.

use crate::world::{SENDER, World};
use alloy_primitives::Address;
use hearth_tracers::{Limits, TraceConfig, TracePlan, trace_transaction};
use serde_json::{Value, json};

const ALL: &str = r#"["trace","stateDiff","vmTrace"]"#;
/// Intrinsic gas of a transaction without data.
const INTRINSIC: u64 = 21_000;

fn run(world: &World, types: &str) -> Value {
    let config = format!(r#"{{"tracer":"parityTracer","tracerConfig":{{"types":{types}}}}}"#);
    let plan = TracePlan::new(&TraceConfig::parse(&config).unwrap()).unwrap();
    let mut out = Vec::new();
    trace_transaction(&mut world.replay(), 0, &plan, &Limits::default(), &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

fn address(last_byte: u8) -> String {
    format!("0x{:0>40}", format!("{last_byte:x}"))
}

#[test]
fn what_is_not_wanted_is_null_and_no_list_is_empty_by_chance() {
    let world = World::london().contract(0x71, 1, 0, &[0x60, 1, 0x60, 2, 0x55]).call(0x71, 100_000, &[]);
    let nothing = run(&world, "[]");
    assert_eq!(nothing, json!({"output": "0x", "stateDiff": null, "trace": [], "vmTrace": null}));
    let result = run(&world, ALL);
    // PUSH1 1 PUSH1 2 SSTORE of a cold slot that was zero: 3 + 3 + 22,100.
    assert_eq!(
        result["trace"],
        json!([{
            "action": {"callType": "call", "from": SENDER, "to": address(0x71), "gas": format!("0x{:x}", 100_000 - INTRINSIC),
                "input": "0x", "value": "0x0"},
            "result": {"gasUsed": format!("0x{:x}", 22_106), "output": "0x"},
            "subtraces": 0, "traceAddress": [], "type": "call"
        }])
    );
    let slot = |last: u8| format!("0x{:064x}", last);
    assert_eq!(
        result["stateDiff"][address(0x71)],
        json!({"balance": "=", "code": "=", "nonce": "=", "storage": {slot(2): {"*": {"from": slot(0), "to": slot(1)}}}})
    );
    let nonce = &result["stateDiff"][SENDER.to_string().to_lowercase()]["nonce"];
    assert_eq!(*nonce, json!({"*": {"from": "0x0", "to": "0x1"}}));
    let left = 100_000 - INTRINSIC;
    // The STOP behind the end of the code is in no list.
    assert_eq!(
        result["vmTrace"],
        json!({"code": "0x6001600255", "ops": [
            {"pc": 0, "cost": 3, "ex": {"mem": null, "push": ["0x1"], "store": null, "used": left - 3}, "sub": null},
            {"pc": 2, "cost": 3, "ex": {"mem": null, "push": ["0x2"], "store": null, "used": left - 6}, "sub": null},
            {"pc": 4, "cost": 22_100, "ex": {"mem": null, "push": [], "store": {"key": "0x2", "val": "0x1"}, "used": left - 22_106},
                "sub": null}
        ]})
    );
}

#[test]
fn a_frame_stands_within_the_instruction_that_entered_it() {
    // CALL 0x72 with 100 gas, 32 bytes of output at 0.
    let call = [0x60, 32, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0x72, 0x60, 100, 0xf1];
    // MSTORE8 of 7 at 31, RETURN of the word.
    let callee = [0x60, 7, 0x60, 31, 0x53, 0x60, 32, 0x60, 0, 0xf3];
    let world =
        World::london().contract(0x71, 1, 0, &call).contract(0x72, 1, 0, &callee).call(0x71, 100_000, &[]);
    let result = run(&world, ALL);
    let paths: Vec<_> =
        result["trace"].as_array().unwrap().iter().map(|t| t["traceAddress"].clone()).collect();
    assert_eq!(paths, [json!([]), json!([0])]);
    assert_eq!(result["trace"][0]["subtraces"], 1);
    assert_eq!(result["trace"][1]["action"]["gas"], "0x64");
    let seven = format!("0x{:064x}", 7);
    assert_eq!(result["trace"][1]["result"]["output"], seven);
    let ops = result["vmTrace"]["ops"].as_array().unwrap();
    let entered = ops.last().unwrap();
    // A cold account, memory of one word, and the gas that goes along.
    assert_eq!((&entered["pc"], &entered["cost"]), (&json!(14), &json!(2_600 + 3 + 100)));
    assert_eq!(entered["ex"]["mem"], json!({"data": seven, "off": 0}));
    assert_eq!(entered["ex"]["push"], json!(["0x1"]));
    let inner = entered["sub"]["ops"].as_array().unwrap();
    assert_eq!(inner.len(), 6);
    assert_eq!(inner[2]["ex"]["mem"], json!({"data": "0x07", "off": 31}));
    assert_eq!(inner[5]["cost"], 0);
}

#[test]
fn failures_have_the_words_of_openethereum() {
    let failing = |code: &[u8], gas: u64| {
        let result = run(&World::london().contract(0x71, 1, 0, code).call(0x71, gas, &[]), ALL);
        assert!(result["trace"][0]["result"].is_null(), "{result}");
        (result["trace"][0].clone(), result["vmTrace"]["ops"].clone(), result["output"].clone())
    };
    let error = |code: &[u8]| failing(code, 100_000).0["error"].as_str().unwrap().to_owned();
    assert_eq!(error(&[0xfe]), "Bad instruction");
    assert_eq!(error(&[0x01]), "Stack underflow");
    assert_eq!(error(&[0x60, 0xff, 0x56]), "Bad jump destination");
    // What does not exist or has no operands is left out.
    assert_eq!(failing(&[0x60, 1, 0x01], 100_000).1.as_array().unwrap().len(), 1);
    // A jump to nowhere was paid.
    let (_, jump, _) = failing(&[0x60, 0xff, 0x56], 100_000);
    assert_eq!(jump[1]["cost"], 8);
    assert_eq!(
        jump[1]["ex"],
        json!({"mem": null, "push": [], "store": null, "used": 100_000 - INTRINSIC - 11})
    );
    // What cannot be paid has its full cost and no effect: CREATE with one word of memory.
    let (trace, ops, _) = failing(&[0x60, 32, 0x60, 0, 0x60, 0, 0xf0], 30_000);
    assert_eq!(trace["error"], "Out of gas");
    assert_eq!(ops[3], json!({"pc": 6, "cost": 32_003, "ex": null, "sub": null}));
    // PUSH1 9 PUSH1 0 MSTORE8 PUSH1 1 PUSH1 0 REVERT.
    let (trace, _, output) = failing(&[0x60, 9, 0x60, 0, 0x53, 0x60, 1, 0x60, 0, 0xfd], 100_000);
    assert_eq!((&trace["error"], &trace["revertReason"]), (&json!("Reverted"), &json!("0x09")));
    assert_eq!(output, "0x09");
}

#[test]
fn a_destroyed_contract_loses_its_code_and_its_heir_is_new() {
    // PUSH1 0x99 SELFDESTRUCT.
    let world = World::london().contract(0x71, 1, 7, &[0x60, 0x99, 0xff]).call(0x71, 100_000, &[]);
    let result = run(&world, ALL);
    assert_eq!(
        result["trace"][1],
        json!({"action": {"address": address(0x71), "balance": "0x7", "refundAddress": address(0x99)}, "result": null,
            "subtraces": 0, "traceAddress": [0], "type": "suicide"})
    );
    assert_eq!(
        result["stateDiff"][address(0x71)],
        json!({"balance": {"-": "0x7"}, "code": {"-": "0x6099ff"}, "nonce": {"-": "0x1"}, "storage": {}})
    );
    assert_eq!(
        result["stateDiff"][address(0x99)],
        json!({"balance": {"+": "0x7"}, "code": {"+": "0x"}, "nonce": {"+": "0x0"}, "storage": {}})
    );
}

#[test]
fn a_new_contract_is_all_new() {
    // SSTORE 1 at 0, then RETURN of the one byte 0x00 as code; CREATE of it from memory.
    let init = [0x60, 1, 0x60, 0, 0x55, 0x60, 1, 0x60, 0, 0xf3];
    let code = [&[0x69][..], &init, &[0x60, 0, 0x52, 0x60, 10, 0x60, 22, 0x60, 0, 0xf0]].concat();
    let result = run(&World::london().contract(0x71, 1, 0, &code).call(0x71, 200_000, &[]), ALL);
    let made = result["trace"][1]["result"]["address"].as_str().unwrap();
    assert_eq!(result["trace"][1]["action"]["creationMethod"], "create");
    assert_eq!(result["trace"][1]["result"]["code"], "0x00");
    let word = |last: u8| format!("0x{:064x}", last);
    assert_eq!(
        result["stateDiff"][made],
        json!({"balance": {"+": "0x0"}, "code": {"+": "0x00"}, "nonce": {"+": "0x1"}, "storage": {word(0): {"+": word(1)}}})
    );
    let entered = result["vmTrace"]["ops"].as_array().unwrap().last().unwrap();
    assert_eq!(entered["sub"]["code"], "0x600160005560016000f3");
    let number = format!("0x{}", made.trim_start_matches("0x").trim_start_matches('0'));
    assert_eq!(entered["ex"]["push"], json!([number]));
}

#[test]
fn calls_are_counted_as_the_frames_of_the_call_tracer() {
    let call = |to: u8| [0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, to, 0x5a, 0xf1];
    // Two calls of an empty account, and one of a precompiled contract, which is left out.
    let code = [call(0x81), call(4), call(0x81)].concat();
    let world = World::london().contract(0x71, 1, 0, &code).call(0x71, 200_000, &[]);
    let result = run(&world, ALL);
    assert_eq!(result["trace"].as_array().unwrap().len(), 3);
    assert_eq!(result["trace"][0]["subtraces"], 2);
    assert_eq!(result["trace"][2]["traceAddress"], json!([1]));
    assert_eq!(world.only()["calls"].as_array().unwrap().len(), 3);
    let entered: Vec<_> =
        result["vmTrace"]["ops"].as_array().unwrap().iter().filter(|op| !op["sub"].is_null()).collect();
    assert_eq!(entered.len(), 3);
    assert!(entered.iter().all(|op| op["sub"] == json!({"code": "0x", "ops": []})));
}

fn form(world: &World, form: &str) -> Value {
    let config = format!(r#"{{"tracer":"parityTracer","tracerConfig":{{"form":"{form}"}}}}"#);
    let plan = TracePlan::new(&TraceConfig::parse(&config).unwrap()).unwrap();
    let mut out = Vec::new();
    trace_transaction(&mut world.replay(), 0, &plan, &Limits::default(), &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn the_forms_of_otterscan_list_calls_and_moved_value() {
    // CALL 0x72 with 7 wei, DELEGATECALL 0x72, CREATE of nothing with 1 wei, SELFDESTRUCT to 0x73.
    let code = [
        [0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 7, 0x60, 0x72, 0x5a, 0xf1, 0x50].as_slice(),
        &[0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0x72, 0x5a, 0xf4, 0x50],
        &[0x60, 0, 0x60, 0, 0x60, 1, 0xf0, 0x50],
        &[0x60, 0x73, 0xff],
    ]
    .concat();
    let world =
        World::london().contract(0x71, 1, 100, &code).contract(0x72, 1, 0, &[0x00]).call(0x71, 400_000, &[]);
    let operations = form(&world, "operations");
    let moved: Vec<_> =
        operations.as_array().unwrap().iter().map(|o| (o["type"].clone(), o["value"].clone())).collect();
    assert_eq!(moved, [(json!(0), json!("0x7")), (json!(2), json!("0x1")), (json!(1), json!("0x5c"))]);
    assert_eq!(
        (&operations[0]["from"], &operations[0]["to"]),
        (&json!(address(0x71)), &json!(address(0x72)))
    );
    let calls = form(&world, "calls");
    let kinds: Vec<_> = calls
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (c["type"].clone(), c["depth"].clone(), c["value"].clone()))
        .collect();
    let call = |kind: &str, depth: u8, value: Value| (json!(kind), json!(depth), value);
    assert_eq!(
        kinds,
        [
            call("CALL", 0, json!("0x0")),
            call("CALL", 1, json!("0x7")),
            call("DELEGATECALL", 1, Value::Null),
            call("CREATE", 1, json!("0x1")),
            call("SELFDESTRUCT", 1, json!("0x5c")),
        ]
    );
    assert_eq!(form(&world, "failure"), "0x");
    let reverting = World::london().contract(0x71, 0, 0, &[0x60, 9, 0x60, 0, 0x53, 0x60, 1, 0x60, 0, 0xfd]);
    assert_eq!(form(&reverting.call(0x71, 100_000, &[]), "failure"), "0x09");
}

#[test]
fn a_creation_that_never_began_names_its_account() {
    // CREATE with more wei than there is, then by a nonce at its end.
    let poor = World::london().contract(0x71, 1, 0, &[0x60, 0, 0x60, 0, 0x60, 9, 0xf0, 0x50]);
    let last = World::london().contract(0x71, u64::MAX, 0, &[0x60, 0, 0x60, 0, 0x60, 0, 0xf0, 0x50]);
    for (world, nonce) in [(poor, 1), (last, u64::MAX)] {
        let world = world.call(0x71, 200_000, &[]);
        let made = Address::with_last_byte(0x71).create(nonce).to_string().to_lowercase();
        assert_eq!(form(&world, "operations")[0]["to"], made);
        assert_eq!(form(&world, "calls")[1]["to"], made);
    }
}

#[test]
fn a_creation_by_a_nonce_at_its_end_has_no_sub() {
    let create = [0x60, 0, 0x60, 0, 0x60, 0, 0xf0, 0x50];
    for (nonce, sub) in [(1, json!({"code": "0x", "ops": []})), (u64::MAX, Value::Null)] {
        let world = World::london().contract(0x71, nonce, 0, &create).call(0x71, 200_000, &[]);
        let entered = run(&world, ALL)["vmTrace"]["ops"][3].clone();
        assert_eq!((&entered["pc"], &entered["sub"]), (&json!(6), &sub), "{entered}");
    }
}

/// JUMPDEST PUSH1 7 POP PUSH1 0 JUMP: runs until its gas or its time is over.
const LOOP: [u8; 7] = [0x5b, 0x60, 7, 0x50, 0x60, 0, 0x56];

fn vm_plan(timeout: &str) -> TracePlan {
    let config = format!(
        r#"{{"tracer":"parityTracer","timeout":"{timeout}","tracerConfig":{{"types":["vmTrace"]}}}}"#
    );
    TracePlan::new(&TraceConfig::parse(&config).unwrap()).unwrap()
}

#[test]
fn instructions_leave_while_they_run() {
    /// Counts bytes and looks at the memory that a recording of them would take.
    #[derive(Default)]
    struct Counted {
        bytes: usize,
        largest: usize,
    }
    impl hearth_tracers::Sink for Counted {
        fn write(&mut self, chunk: &[u8]) -> Result<(), hearth_tracers::SinkClosed> {
            self.bytes += chunk.len();
            self.largest = self.largest.max(chunk.len());
            Ok(())
        }
    }
    // 2 million steps, some hundred megabytes of text.
    let world = World::london().contract(0x71, 1, 0, &LOOP).call(0x71, 21_000 + 17 * 400_000, &[]);
    let mut sink = Counted::default();
    // A recording may take 1 MiB: the text alone would be far beyond.
    let limits = Limits { recording_bytes: 1 << 20, ..Limits::default() };
    trace_transaction(&mut world.replay(), 0, &vm_plan("300s"), &limits, &mut sink).unwrap();
    assert!(sink.bytes > 100 << 20, "{}", sink.bytes);
    assert!(sink.largest <= 64 << 10);
}

#[test]
fn instructions_that_are_cut_short_are_a_whole_value() {
    // CALL 0x73, which ends, then CALL 0x72, which loops.
    let call = |to: u8| [0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, to, 0x5a, 0xf1, 0x50];
    let code = [&call(0x73)[..], &call(0x72)[..]].concat();
    let world = World::london()
        .contract(0x71, 1, 0, &code)
        .contract(0x72, 1, 0, &LOOP)
        .contract(0x73, 1, 0, &[0x60, 1, 0x50])
        .call(0x71, 1_000_000_000_000, &[]);
    let mut out = Vec::new();
    let error = trace_transaction(&mut world.replay(), 0, &vm_plan("200ms"), &Limits::default(), &mut out)
        .unwrap_err();
    assert!(matches!(error, hearth_tracers::TraceError::ExecutionTimeout), "{error}");
    assert!(out.len() > hearth_tracers::HELD_BACK_BYTES);
    let value: Value = serde_json::from_slice(&out).unwrap();
    let ops = value["vmTrace"]["ops"].as_array().unwrap();
    let calls: Vec<&Value> = ops.iter().filter(|op| !op["sub"].is_null()).collect();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0]["sub"]["ops"].as_array().unwrap().len(), 2);
    assert!(calls[0]["ex"].is_object() && calls[1]["ex"].is_null());
    assert!(calls[1]["sub"]["ops"].as_array().unwrap().len() > 1_000);
}
