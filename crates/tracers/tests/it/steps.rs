//! Struct logs of small programs: their bounds, how they end early, and the summary of
//! opcodeTracer.

use crate::world::World;
use hearth_tracers::{
    HELD_BACK_BYTES, Limits, Sink, SinkClosed, TraceConfig, TraceError, TracePlan, trace_block,
    trace_transaction,
};
use serde_json::{Value, json};
use std::num::NonZeroU64;

/// JUMPDEST PUSH1 7 POP PUSH1 0 JUMP: runs until its gas or its time is over.
pub const PUSH_POP: [u8; 7] = [0x5b, 0x60, 7, 0x50, 0x60, 0, 0x56];

/// Slot 1 becomes 5, is read, and 32 bytes of memory are returned.
const STORE: [u8; 14] = [0x60, 5, 0x60, 1, 0x55, 0x60, 1, 0x54, 0x60, 0, 0x52, 0x60, 32, 0x60];

fn store() -> World {
    World::london().contract(0x71, 1, 0, &[&STORE[..], &[0, 0xf3]].concat()).call(0x71, 100_000, &[])
}

fn plan(config: &str) -> TracePlan {
    TracePlan::new(&TraceConfig::parse(config).unwrap()).unwrap()
}

fn trace(world: &World, config: &str) -> Value {
    let mut out = Vec::new();
    trace_transaction(&mut world.replay(), 0, &plan(config), &Limits::default(), &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn steps_have_what_was_there_before_and_what_they_cost() {
    let log = trace(&store(), r#"{"enableMemory":true}"#);
    let words = |n: u64| format!("0x{n:064x}");
    assert_eq!(log["structLogs"].as_array().unwrap().len(), 10);
    assert_eq!(
        log["structLogs"][2],
        json!({"pc": 4, "op": "SSTORE", "gas": 78_994, "gasCost": 22_100, "depth": 1, "stack": ["0x5", "0x1"],
            "storage": {words(1): words(5)}})
    );
    assert_eq!(
        log["structLogs"][4],
        json!({"pc": 7, "op": "SLOAD", "gas": 56_891, "gasCost": 100, "depth": 1, "stack": ["0x1"],
            "storage": {words(1): words(5)}})
    );
    assert_eq!(
        log["structLogs"][9],
        json!({"pc": 15, "op": "RETURN", "gas": 56_776, "gasCost": 0, "depth": 1, "stack": ["0x20", "0x0"],
            "memory": [words(5)]})
    );
    assert_eq!(log["gas"], 43_224);
    assert_eq!(log["failed"], false);
    assert_eq!(log["returnValue"], words(5));
}

#[test]
fn what_is_disabled_is_absent() {
    let log = trace(&store(), r#"{"disableStack":true,"disableStorage":true}"#);
    for step in log["structLogs"].as_array().unwrap() {
        let keys: Vec<&str> = step.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["depth", "gas", "gasCost", "op", "pc"]);
    }
}

#[test]
fn the_limit_is_in_bytes_of_steps() {
    let all = trace(&store(), "{}");
    let sizes: Vec<usize> =
        all["structLogs"].as_array().unwrap().iter().map(|s| s.to_string().len()).collect();
    for (limit, steps) in
        [(1, 1), (sizes[0], 2), (sizes[0] + sizes[1] - 1, 2), (sizes[0] + sizes[1], 3), (1 << 40, 10)]
    {
        let cut = trace(&store(), &format!("{{\"limit\":{limit}}}"));
        assert_eq!(cut["structLogs"], json!(all["structLogs"].as_array().unwrap()[..steps]), "limit {limit}");
        assert_eq!((&cut["gas"], &cut["returnValue"]), (&all["gas"], &all["returnValue"]));
    }
    assert_eq!(trace(&store(), r#"{"limit":-1}"#)["structLogs"], json!([]));
}

#[test]
fn the_opcode_tracer_counts_by_name() {
    let mut log = trace(&store(), r#"{"tracer":"opcodeTracer","tracerConfig":{"limit":1}}"#);
    let summary = log.as_object_mut().unwrap().remove("summary").unwrap();
    assert_eq!(log, trace(&store(), r#"{"limit":1}"#));
    assert_eq!(
        summary,
        json!({"PUSH1": {"count": 6, "totalGas": 18}, "SSTORE": {"count": 1, "totalGas": 22_100},
            "SLOAD": {"count": 1, "totalGas": 100}, "MSTORE": {"count": 1, "totalGas": 6},
            "RETURN": {"count": 1, "totalGas": 0}})
    );
}

/// A sink that remembers its largest chunk.
#[derive(Default)]
struct Chunks {
    text: Vec<u8>,
    chunks: usize,
}

impl Sink for Chunks {
    fn write(&mut self, chunk: &[u8]) -> Result<(), SinkClosed> {
        self.text.extend_from_slice(chunk);
        self.chunks += 1;
        Ok(())
    }
}

/// Traces under longer and longer timeouts until enough was written before the timeout: a fast
/// machine writes 100 MB of steps in 50 ms, and a busy one nothing.
pub fn after_timeouts<T>(mut trace: impl FnMut(&TracePlan) -> Option<T>) -> T {
    let mut timeouts = (0..10).map(|doublings| 5 << doublings);
    timeouts.find_map(|ms: u32| trace(&plan(&format!(r#"{{"timeout":"{ms}ms"}}"#)))).unwrap()
}

#[test]
fn an_early_failure_leaves_nothing_and_a_late_one_a_whole_value() {
    let world = World::london().contract(0x71, 1, 0, &PUSH_POP).call(0x71, 500_000_000, &[]);
    let mut early = Chunks::default();
    let now = plan(r#"{"timeout":"1ns"}"#);
    let error = trace_transaction(&mut world.replay(), 0, &now, &Limits::default(), &mut early).unwrap_err();
    assert!(matches!(error, TraceError::ExecutionTimeout), "{error}");
    assert_eq!(early.chunks, 0);
    let late = after_timeouts(|soon| {
        let mut late = Chunks::default();
        let error =
            trace_transaction(&mut world.replay(), 0, soon, &Limits::default(), &mut late).unwrap_err();
        assert!(matches!(error, TraceError::ExecutionTimeout), "{error}");
        (late.text.len() > HELD_BACK_BYTES).then_some(late)
    });
    assert!(late.text.starts_with(b"{\"structLogs\":[{") && late.text.ends_with(b"}]}"));
    let log: Value = serde_json::from_slice(&late.text).unwrap();
    assert_eq!(log.as_object().unwrap().len(), 1);
    let last = log["structLogs"].as_array().unwrap().last().unwrap();
    assert!(last["gasCost"].is_u64(), "{last}");
}

#[test]
fn a_late_failure_in_a_block_stands_beside_its_result() {
    let world = World::london()
        .contract(0x71, 1, 0, &PUSH_POP)
        .contract(0x72, 1, 0, &[0x60, 0, 0x50, 0])
        .call(0x72, 100_000, &[])
        .call(0x71, 400_000_000, &[])
        .call_with_nonce(0x72, 100_000, &[], 1);
    // The last transaction depends on the aborted one, whose nonce it has; the aborted one is
    // executed all the same.
    let block = after_timeouts(|soon| {
        let mut out = Vec::new();
        let stats = trace_block(&mut world.replay(), soon, &Limits::default(), &mut out).unwrap();
        let block: Value = serde_json::from_slice(&out).unwrap();
        (stats.traced == 1 && !block[1]["result"].is_null()).then_some(block)
    });
    assert_eq!(block[0]["result"]["structLogs"].as_array().unwrap().len(), 3);
    assert_eq!(block[1]["error"], json!({"code": -32000, "message": "execution timeout"}));
    assert!(block[1]["result"]["structLogs"].as_array().unwrap().len() > 1_000);
    assert!(block[2]["error"].as_str().unwrap().contains("nonce too low"), "{}", block[2]);
    assert!(block[2]["result"].is_null());
}

#[test]
fn a_store_that_cannot_be_paid_for_costs_what_its_fork_asks() {
    // SSTORE(1, 5), SSTORE(1, 6): the second one changes what the transaction has changed.
    let code = [0x60, 5, 0x60, 1, 0x55, 0x60, 6, 0x60, 1, 0x55, 0x00];
    let last = |forks: &str| {
        let early =
            r#""homesteadBlock":0,"eip150Block":0,"eip155Block":0,"eip158Block":0,"byzantiumBlock":0"#;
        let world = World::new(&format!("{{\"chainId\":1,{early},\"constantinopleBlock\":0,{forks}}}"));
        let world = world.contract(0x71, 1, 0, &code).call(0x71, 21_000 + 12 + 20_000 + 150, &[]);
        trace(&world, "{}")["structLogs"].as_array().unwrap().last().unwrap().clone()
    };
    for (forks, cost) in [
        (r#""petersburgBlock":100"#, 200),
        (r#""petersburgBlock":0"#, 5_000),
        (r#""petersburgBlock":0,"istanbulBlock":0"#, 0),
    ] {
        let step = last(forks);
        let got = json!([step["op"], step["gas"], step["gasCost"]]);
        assert_eq!(got, json!(["SSTORE", 150, cost]), "{forks}: {step}");
    }
}

/// The opcode, gas and cost of the last step, and the refund of all so far.
fn last_step(world: &World) -> Value {
    let step = trace(world, "{}")["structLogs"].as_array().unwrap().last().unwrap().clone();
    json!([step["op"], step["gas"], step["gasCost"], step["refund"]])
}

#[test]
fn selfdestruct_without_gas_for_its_heir_names_its_cost() {
    // SELFDESTRUCT to an account that is not there, with 20,000 gas.
    let last = |forks: &str, balance: u64| {
        let config = format!(r#"{{"chainId":1,"homesteadBlock":0,"eip150Block":0{forks}}}"#);
        let world = World::new(&config).contract(0x71, 1, balance, &[0x60, 0x99, 0xff]);
        last_step(&world.call(0x71, 21_000 + 3 + 20_000, &[]))
    };
    let berlin = r#","eip155Block":0,"eip158Block":0,"byzantiumBlock":0,"constantinopleBlock":0,
        "petersburgBlock":0,"istanbulBlock":0,"berlinBlock":0"#;
    let london = format!(r#"{berlin},"londonBlock":0"#);
    // 5,000, from Berlin on 2,600 for a cold account, and 25,000 for a new one.
    assert_eq!(last("", 0), json!(["SELFDESTRUCT", 20_000, 30_000, 24_000]));
    assert_eq!(last(berlin, 7), json!(["SELFDESTRUCT", 20_000, 32_600, 24_000]));
    assert_eq!(last(&london, 7), json!(["SELFDESTRUCT", 20_000, 32_600, null]));
}

/// Programs that cannot pay for the last instruction, which wants a word of memory; the gas that
/// they have, the instruction and its cost in London.
pub const UNPAID: [(&[u8], u64, &str, u64); 3] = [
    // CALL with 1 wei of an account that is not there: 100, 2,500, 9,000, 25,000, and memory.
    (&[0x60, 32, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 1, 0x60, 0x99, 0x60, 0, 0xf1], 5_000, "CALL", 36_603),
    // CREATE2 of a word: 32,000, 6 for its hash, and memory.
    (&[0x60, 0, 0x60, 32, 0x60, 0, 0x60, 0, 0xf5], 32_005, "CREATE2", 32_009),
    // EXTCODECOPY of a word: 100, 2,500, 3 for the copy, and memory.
    (&[0x60, 32, 0x60, 0, 0x60, 0, 0x60, 0x99, 0x3c], 2_000, "EXTCODECOPY", 2_606),
];

/// A world in which one of these fails.
pub fn unpaid(code: &[u8], gas: u64) -> World {
    let pushes = (code.len() as u64 - 1) / 2;
    World::london().contract(0x71, 1, 1, code).call(0x71, 21_000 + 3 * pushes + gas, &[])
}

#[test]
fn an_unpaid_instruction_costs_the_memory_that_it_wanted() {
    for (code, gas, name, cost) in UNPAID {
        assert_eq!(last_step(&unpaid(code, gas)), json!([name, gas, cost, null]));
    }
}

#[test]
fn steps_that_write_much_are_cut_soon() {
    // MSTORE8 at 65,535, then a loop; each step shows 64 KiB of memory as some 137 KB of text.
    let code = [0x60, 7, 0x61, 0xff, 0xff, 0x53, 0x5b, 0x60, 7, 0x50, 0x60, 6, 0x56];
    let world = World::london().contract(0x71, 1, 0, &code).call(0x71, 37_000, &[]);
    let limits = Limits { struct_log_bytes: NonZeroU64::new(4 << 20), ..Limits::default() };
    let (memory, mut out) = (plan(r#"{"enableMemory":true}"#), Vec::new());
    let error = trace_transaction(&mut world.replay(), 0, &memory, &limits, &mut out).unwrap_err();
    assert!(matches!(error, TraceError::StructLogsTooLarge { limit_bytes: 4_194_304 }), "{error}");
    // Looked at only every 4,096 instructions, it would have been all of it: 60 MB.
    assert!((4 << 20..6 << 20).contains(&out.len()), "{}", out.len());
}
