//! What is recorded for a script, by value, and what becomes of a transaction under one.

use crate::fake_script::{Conduct, Fake, Steps, steps};
use crate::steps::{UNPAID, unpaid};
use crate::world::{SENDER, World};
use alloy_primitives::Address;
use hearth_tracers::{Fields, Limits, ScriptVerdict};
use serde_json::{Value, json};
use std::time::Duration;

const SCRIPT: &str = r#"{"tracer":"{result:function(){},fault:function(){}}"}"#;

const ENTER: u8 = 1;
const EXIT: u8 = 2;
const FAULT: u8 = 3;
const MEMORY: u8 = 4;
const ACCOUNT: u8 = 5;
const SLOT: u8 = 6;
const STEP_ERROR: u8 = 9;

/// The only transaction's chunks, `ctx`, and the answer.
fn run(world: &World, conduct: Conduct) -> (Vec<Steps>, Value, Value) {
    let fake = Fake::new(conduct);
    let (text, _) = world.trace_text(SCRIPT, &fake.limits()).unwrap();
    let log = fake.log.lock().unwrap();
    let chunks = log.messages.iter().filter(|(kind, _)| *kind == 2).map(|(_, payload)| steps(payload));
    let end = log.messages.iter().find(|(kind, _)| *kind == 3);
    let end = end.map_or(Value::Null, |(_, payload)| serde_json::from_slice(payload).unwrap());
    (chunks.collect(), end, serde_json::from_str(&text).unwrap())
}

fn conduct(fields: Fields) -> Conduct {
    Conduct { fields, ..Conduct::default() }
}

fn kinds(steps: &Steps) -> Vec<(u32, u8)> {
    steps.events.iter().map(|(at, kind, _)| (*at, *kind)).collect()
}

/// PUSH1 3, PUSH1 4, DUP2, SWAP1, ADD, PUSH1 0, MSTORE, MLOAD with nothing on the stack but 3.
const ARITHMETIC: &[u8] = &[0x60, 3, 0x60, 4, 0x81, 0x90, 0x01, 0x60, 0, 0x52, 0x51];

#[test]
fn every_column_has_what_the_step_shows() {
    let world = World::london().contract(0x71, 0, 0, ARITHMETIC).call(0x71, 100_000, &[1, 2, 3]);
    let all = Fields(Fields::ALL.0 & !Fields::JOURNAL.0);
    let (chunks, end, answer) = run(&world, conduct(all));
    assert_eq!(chunks.len(), 1);
    let got = &chunks[0];
    assert_eq!((got.count, got.flags), (9, 1));
    assert_eq!(got.op, [0x60, 0x60, 0x81, 0x90, 0x01, 0x60, 0x52, 0x51, 0x00]);
    assert_eq!(got.pc, [0, 2, 4, 5, 6, 7, 9, 10, 11]);
    assert_eq!(got.cost, [3., 3., 3., 3., 3., 3., 6., 6., 0.]);
    let start = got.gas[0];
    let mut gas = start;
    for (step, cost) in got.cost.iter().enumerate() {
        assert_eq!(got.gas[step], gas, "step {step}");
        gas -= cost;
    }
    assert_eq!(got.depth, [1; 9]);
    assert_eq!(got.refund, [0.; 9]);
    let stacks: Vec<Vec<u64>> = vec![
        vec![],
        vec![3],
        vec![3, 4],
        vec![3, 4, 3],
        vec![3, 3, 4],
        vec![3, 7],
        vec![3, 7, 0],
        vec![3],
        vec![7 << 24],
    ];
    assert_eq!(got.stack[..8], stacks[..8]);
    assert_eq!(got.memory, [0, 0, 0, 0, 0, 0, 0, 32, 64]);
    assert_eq!(kinds(got), [(0, ENTER), (7, MEMORY), (9, EXIT)]);
    let written = &got.events[1].2;
    assert_eq!((&written[..4], written.len(), written[35]), (&[0; 4][..], 36, 7));
    assert_eq!(answer[0]["result"], json!({"is": "the result"}));
    let used = 100_000. - gas;
    assert_eq!(
        end,
        json!({
            "type": "CALL", "from": SENDER, "to": Address::with_last_byte(0x71), "input": "0x010203",
            "gas": 100_000, "gasUsed": used as u64, "gasPrice": "0", "value": "0", "output": "0x",
            "block": 1, "coinbase": Address::ZERO,
        })
    );
}

#[test]
fn a_script_that_only_counts_gets_no_column() {
    let world = World::london().contract(0x71, 0, 0, ARITHMETIC).call(0x71, 100_000, &[]);
    let (chunks, _, _) = run(&world, conduct(Fields::STEP));
    assert_eq!((chunks.len(), chunks[0].count), (1, 9));
    assert!(chunks[0].op.is_empty() && chunks[0].gas.is_empty() && chunks[0].stack.is_empty());
    let (chunks, _, _) = run(&world, conduct(Fields::STEP | Fields::OP));
    assert_eq!(chunks[0].op, [0x60, 0x60, 0x81, 0x90, 0x01, 0x60, 0x52, 0x51, 0x00]);
    let (chunks, _, _) = run(&world, conduct(Fields::FRAMES));
    assert_eq!((chunks[0].count, kinds(&chunks[0])), (0, vec![(0, ENTER), (0, EXIT)]));
}

#[test]
fn failures_are_steps_with_an_error_or_faults() {
    let text = |steps: &Steps, kind: u8| {
        let found = steps.events.iter().find(|event| event.1 == kind);
        found.map(|(at, _, text)| (*at, String::from_utf8(text.clone()).unwrap()))
    };
    let fields = Fields::STEP | Fields::OP | Fields::COST;
    // ADD on an empty stack: the fault is reported with the step.
    let world = World::london().contract(0x71, 0, 0, &[0x01]).call(0x71, 100_000, &[]);
    let (chunks, end, _) = run(&world, conduct(fields));
    let underflow = "stack underflow (0 <=> 2)".to_owned();
    assert_eq!(text(&chunks[0], STEP_ERROR), Some((0, underflow.clone())));
    assert_eq!((text(&chunks[0], FAULT), &chunks[0].cost[..]), (None, &[3.][..]));
    assert_eq!(end["error"], underflow);
    // A jump to nowhere: a fault.
    let world = World::london().contract(0x71, 0, 0, &[0x60, 9, 0x56]).call(0x71, 100_000, &[]);
    let (chunks, _, _) = run(&world, conduct(fields));
    assert_eq!(text(&chunks[0], FAULT), Some((2, "invalid jump destination".to_owned())));
    assert_eq!((text(&chunks[0], STEP_ERROR), &chunks[0].cost[..]), (None, &[3., 8.][..]));
    // REVERT with a byte of memory: a fault too, and its data is the output.
    let world = World::london().contract(0x71, 0, 0, &[0x60, 1, 0x60, 0, 0xfd]).call(0x71, 100_000, &[]);
    let (chunks, end, _) = run(&world, conduct(Fields::STEP));
    assert_eq!(text(&chunks[0], FAULT), Some((3, "execution reverted".to_owned())));
    assert_eq!((&end["error"], &end["output"]), (&json!("execution reverted"), &json!("0x00")));
}

#[test]
fn an_unpaid_step_costs_the_memory_that_it_wanted() {
    for (code, gas, name, cost) in UNPAID {
        let (chunks, _, _) = run(&unpaid(code, gas), conduct(Fields::STEP | Fields::COST));
        assert_eq!(chunks[0].cost.last(), Some(&(cost as f64)), "{name}");
    }
}

/// MSTORE8(0, 0xef), RETURN(0, 1): EIP-3541 refuses the code.
const REFUSED: [u8; 10] = [0x60, 0xef, 0x60, 0, 0x53, 0x60, 1, 0x60, 0, 0xf3];

#[test]
fn refused_code_is_the_output_of_its_creation() {
    // MSTORE(0, init code), CREATE(0, 22, 10), STOP.
    let create = [0x60, 0, 0x52, 0x60, 10, 0x60, 22, 0x60, 0, 0xf0, 0x00];
    let code = [&[0x69][..], &REFUSED, &create].concat();
    let world = World::london().contract(0x71, 1, 0, &code).call(0x71, 200_000, &[]);
    let (chunks, _, _) = run(&world, conduct(Fields::FRAMES));
    let (_, _, exit) = chunks[0].events.iter().find(|event| event.1 == EXIT).unwrap();
    // Shown and failed; behind the gas come the error and the output.
    assert_eq!(exit[0], 1 | 2);
    assert_eq!(exit[16..], [&b"invalid code: must not begin with 0xef"[..], &[0xef]].concat());
}

/// Calls contract 2 with 1 wei, and stops.
const CALLER: &[u8] = &[0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 1, 0x60, 0x72, 0x5a, 0xf1, 0x00];

#[test]
fn changes_of_state_come_before_the_step_that_sees_them() {
    // Contract 2: SSTORE(5, 6), then fails by an empty stack.
    let failing = [0x60, 6, 0x60, 5, 0x55, 0x60, 7, 0x50, 0x50];
    let world = World::london().contract(0x71, 1, 10, CALLER).contract(0x72, 1, 0, &failing);
    let (chunks, _, _) = run(&world.call(0x71, 200_000, &[]), conduct(Fields::STEP | Fields::JOURNAL));
    let got = &chunks[0];
    let balance = |payload: &[u8]| payload[63];
    let one = Address::with_last_byte(0x71);
    let two = Address::with_last_byte(0x72);
    let of = |address: Address, kind: u8| -> Vec<(u32, u8)> {
        let events = got.events.iter().filter(|event| event.1 == kind && event.2[..20] == address[..]);
        events
            .map(|(at, _, payload)| (*at, if kind == ACCOUNT { balance(payload) } else { payload[83] }))
            .collect()
    };
    // Eight steps up to the call; the value has moved when the callee's first step is shown.
    assert_eq!(of(one, ACCOUNT).last(), Some(&(8, 9)));
    assert_eq!(of(two, ACCOUNT).last(), Some(&(8, 1)));
    assert_eq!(of(two, SLOT), [(11, 6)]);
    let exits: Vec<(u32, u8)> =
        got.events.iter().filter(|event| event.1 == EXIT).map(|(at, _, payload)| (*at, payload[0])).collect();
    // The callee's effects are undone with it; the caller continues.
    assert_eq!(exits, [(14, 1 | 2), (15, 0)]);
    let sender = of(SENDER, ACCOUNT);
    assert_eq!(sender[0].0, 0, "gas is bought and the nonce raised before the first step");
}

#[test]
fn accounts_that_are_only_touched_exist_until_the_end() {
    // CALL of 0x97 and STATICCALL of 0x98, CALL of 0x72, which destroys itself in favour of 0x99.
    let call = |to: u8| [0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, to, 0x5a, 0xf1];
    let look = [0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0x98, 0x5a, 0xfa];
    let code = [&call(0x97)[..], &look, &call(0x72)].concat();
    let world = World::london().contract(0x71, 1, 0, &code).contract(0x72, 1, 0, &[0x60, 0x99, 0xff]);
    let (chunks, _, _) = run(&world.call(0x71, 200_000, &[]), conduct(Fields::STEP | Fields::JOURNAL));
    let exists = |last_byte: u8| -> Vec<u8> {
        let address = Address::with_last_byte(last_byte);
        let events = chunks.iter().flat_map(|chunk| &chunk.events);
        let of_account = events.filter(|event| event.1 == ACCOUNT && event.2[..20] == address[..]);
        of_account.map(|event| event.2[20]).collect()
    };
    assert!(exists(0x97).iter().all(|exists| *exists == 0));
    for touched in [0x98, 0x99] {
        let states = exists(touched);
        assert_eq!((states.first(), states.last()), (Some(&1), Some(&0)), "{touched:#x}");
    }
}

#[test]
fn reads_in_steps_see_the_state_before_in_results_after() {
    // SSTORE(5, 6)
    let world = World::london().contract(0x71, 1, 10, &[0x60, 6, 0x60, 5, 0x55]).call(0x71, 100_000, &[]);
    let slot = [&[1][..], Address::with_last_byte(0x71).as_slice(), &[0; 31], &[5]].concat();
    let account = [&[0][..], Address::with_last_byte(0x71).as_slice()].concat();
    let nobody = [&[0][..], Address::with_last_byte(0x77).as_slice()].concat();
    let code = [&[2][..], Address::with_last_byte(0x71).as_slice()].concat();
    let reads = vec![slot.clone(), account, nobody, code];
    let fake =
        Fake::new(Conduct { fields: Fields::STEP, reads, late_reads: vec![slot], ..Conduct::default() });
    world.trace_text(SCRIPT, &fake.limits()).unwrap();
    let log = fake.log.lock().unwrap();
    let answers: Vec<&Vec<u8>> =
        log.messages.iter().filter(|(kind, _)| *kind == 4).map(|(_, payload)| payload).collect();
    assert_eq!((answers[0].len(), answers[0][31]), (32, 0), "not stored yet");
    assert_eq!((answers[1][0], &answers[1][8..16], answers[1][47]), (1, &1f64.to_le_bytes()[..], 10));
    assert_eq!((answers[2].len(), answers[2][0]), (80, 0));
    assert_eq!(answers[3], &[0x60, 6, 0x60, 5, 0x55]);
    assert_eq!(answers[4][31], 6, "stored");
    assert_eq!(log.verdicts, [ScriptVerdict::Clean]);
}

#[test]
fn a_script_that_reaches_for_more_gets_it_by_another_execution() {
    let world = World::london()
        .contract(0x71, 1, 10, &[0x60, 6, 0x60, 5, 0x55])
        .call(0x71, 100_000, &[])
        .call(0x71, 100_000, &[]);
    let needs = Some(Fields::OP);
    let fake = Fake::new(Conduct { fields: Fields::STEP, needs, ..Conduct::default() });
    let (text, stats) = world.trace_text(SCRIPT, &fake.limits()).unwrap();
    assert_eq!((stats.traced, stats.failed), (2, 0), "{text}");
    let log = fake.log.lock().unwrap();
    let begun: Vec<Value> = log
        .messages
        .iter()
        .filter(|(kind, _)| *kind == 1)
        .map(|(_, payload)| serde_json::from_slice::<Value>(payload).unwrap()["fields"].clone())
        .collect();
    assert_eq!(begun, [Value::Null, json!(3), json!(3)], "the second transaction is recorded so at once");
    let chunks: Vec<Steps> =
        log.messages.iter().filter(|(kind, _)| *kind == 2).map(|(_, payload)| steps(payload)).collect();
    assert_eq!(chunks.iter().map(|chunk| chunk.op.len()).collect::<Vec<_>>(), [0, 4, 4]);
    assert_eq!((log.opened, &log.verdicts[..]), (1, &[ScriptVerdict::Clean][..]));
}

#[test]
fn what_a_script_says_is_the_error_of_its_transaction_alone() {
    let world =
        World::london().contract(0x71, 1, 10, &[0x00]).call(0x71, 100_000, &[]).call(0x71, 100_000, &[]);
    let fake =
        Fake::new(Conduct { fields: Fields::STEP, fails: Some("boom    in …"), ..Conduct::default() });
    let (text, stats) = world.trace_text(SCRIPT, &fake.limits()).unwrap();
    assert_eq!(stats.failed, 2);
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer[0]["error"], "boom    in …");
    assert_eq!(answer[1]["error"], "boom    in …");
    assert_eq!(fake.log.lock().unwrap().verdicts, [ScriptVerdict::Clean]);
}

#[test]
fn a_script_that_hangs_is_stopped_at_its_time() {
    let world = World::london().contract(0x71, 1, 10, &[0x00]).call(0x71, 100_000, &[]);
    let fake = Fake::new(Conduct { hangs: true, ..Conduct::default() });
    let config = SCRIPT.replace("{\"tracer\"", "{\"timeout\":\"30ms\",\"tracer\"");
    let began = std::time::Instant::now();
    let (text, stats) = world.trace_text(&config, &fake.limits()).unwrap();
    assert!(began.elapsed() < Duration::from_secs(60));
    assert_eq!(stats.failed, 1);
    assert!(text.contains("\"error\":\"execution timeout\""), "{text}");
    assert_eq!(fake.log.lock().unwrap().verdicts, [ScriptVerdict::Late]);
    let none = world.trace_text(SCRIPT, &Limits::default()).unwrap_err().to_string();
    assert!(none.starts_with("JavaScript tracers are not available"), "{none}");
}

#[test]
fn a_mux_takes_scripts_beside_the_others() {
    let world = World::london().contract(0x71, 1, 10, ARITHMETIC).call(0x71, 100_000, &[]);
    let fake = Fake::new(Conduct { fields: Fields::STEP, needs: Some(Fields::ALL), ..Conduct::default() });
    let config = r#"{"tracer":"muxTracer","tracerConfig":{"callTracer":null,"opcountTracer":null}}"#;
    let (text, _) = world.trace_text(config, &fake.limits()).unwrap();
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer[0]["result"]["opcountTracer"], json!({"is": "the result"}));
    assert_eq!(answer[0]["result"]["callTracer"]["type"], "CALL");
    let log = fake.log.lock().unwrap();
    let begin: Value = serde_json::from_slice(&log.messages[0].1).unwrap();
    assert_eq!((&begin["name"], &begin["source"]), (&json!("opcountTracer"), &Value::Null));
}
