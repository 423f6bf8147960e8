//! Corner cases of the native tracers, on chains made by hand.

use crate::world::{SENDER, World};
use alloy_primitives::{Address, KECCAK256_EMPTY, keccak256};
use hearth_tracers::{
    FlatCallTracerConfig, FrameView, JsonWriter, Limits, MUX_STEPS_BYTES, Recorder, RecorderOptions, Replay,
};
use serde_json::{Value, json};

fn only(world: &World, config: &str) -> Value {
    let (text, _) = world.trace_text(config, &Limits::default()).unwrap();
    let mut all: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(all.len(), 1);
    all[0]["result"].take()
}

fn name(last_byte: u8) -> String {
    format!("{:?}", Address::with_last_byte(last_byte))
}

const SLOT: &str = "0x0000000000000000000000000000000000000000000000000000000000000007";

/// BALANCE(0x11), SLOAD(7).
const LOOKS: [u8; 7] = [0x60, 0x11, 0x31, 0x60, 7, 0x54, 0x00];

#[test]
fn prestate_names_operands_that_were_paid_for() {
    let world =
        |gas| World::london().contract(0x10, 1, 0, &LOOKS).contract(0x11, 0, 9, &[]).call(0x10, gas, &[]);
    let config = r#"{"tracer":"prestateTracer"}"#;
    let all = only(&world(100_000), config);
    assert_eq!(all[name(0x11)], json!({ "balance": "0x9" }));
    assert_eq!(all[name(0x10)]["storage"][SLOT], format!("0x{}", "0".repeat(64)));
    // 3 + 2,600 + 3 for the first three instructions: SLOAD cannot be paid for.
    let some = only(&world(21_000 + 2_700), config);
    assert_eq!(some[name(0x11)], json!({ "balance": "0x9" }));
    assert!(some[name(0x10)].get("storage").is_none(), "{some}");
    let few = only(&world(21_000 + 100), config);
    assert!(few.get(name(0x11)).is_none(), "{few}");
    // The coinbase of the block has no account: it is shown only if the configuration includes
    // empty accounts.
    let zero = format!("{:?}", Address::ZERO);
    assert!(all.get(&zero).is_none());
    let empty = only(&world(100_000), r#"{"tracer":"prestateTracer","tracerConfig":{"includeEmpty":true}}"#);
    assert_eq!(empty[&zero], json!({ "balance": "0x0" }));
}

#[test]
fn diffs_leave_out_what_stays() {
    // SSTORE(7, 5).
    let world =
        World::london().contract(0x10, 1, 0, &[0x60, 5, 0x60, 7, 0x55, 0x00]).call(0x10, 100_000, &[]);
    let diff = only(&world, r#"{"tracer":"prestateTracer","tracerConfig":{"diffMode":true}}"#);
    let five = format!("0x{}5", "0".repeat(63));
    assert_eq!(diff["post"][name(0x10)], json!({ "storage": { SLOT: five } }));
    assert!(diff["pre"][name(0x10)].get("storage").is_none(), "{diff}");
    let sender = format!("{SENDER:?}");
    assert_eq!(diff["post"][&sender], json!({ "nonce": 1 }));
    assert!(diff["pre"][&sender].get("nonce").is_none());
}

#[test]
fn a_mux_gives_each_tracer_its_own_answer() {
    // KECCAK256 of four bytes beyond the end of memory, then a call of the identity contract with
    // them.
    let code = [0x60, 4, 0x60, 0, 0x20, 0x60, 0, 0x60, 0, 0x60, 4, 0x60, 0, 0x60, 4, 0x5a, 0xfa, 0x00];
    let world = World::london().contract(0x10, 1, 0, &code).call(0x10, 100_000, &[0xde, 0xad, 0xbe, 0xef, 1]);
    let own = r#""callTracer":{"withLog":true},"4byteTracer":null,"noopTracer":{},"prestateTracer":{"diffMode":true},
        "flatCallTracer":{"includePrecompiles":true},"keccak256PreimageTracer":null,"erc7562Tracer":{},
        "opcodeTracer":{"enableMemory":true,"enableReturnData":true}"#;
    let all =
        only(&world, &format!(r#"{{"tracer":"muxTracer","tracerConfig":{{{own},"muxTracer":{{{own}}}}}}}"#));
    for (tracer, options) in
        serde_json::from_str::<Value>(&format!("{{{own}}}")).unwrap().as_object().unwrap()
    {
        let alone = only(&world, &json!({ "tracer": tracer, "tracerConfig": options }).to_string());
        assert_eq!(all[tracer], alone, "{tracer}");
        assert_eq!(all["muxTracer"][tracer], alone, "{tracer} in the inner one");
    }
    assert_eq!(all["4byteTracer"], json!({ "0xdeadbeef-1": 1 }));
    assert_eq!(all["keccak256PreimageTracer"], json!({ (keccak256([0; 4]).to_string()): "0x00000000" }));
    assert_eq!(all["erc7562Tracer"]["keccak"], json!(["0x00000000"]));
    let frames = all["flatCallTracer"].as_array().unwrap();
    assert_eq!((frames.len(), &frames[1]["traceAddress"]), (2, &json!([0])));
    let hidden = only(&world, r#"{"tracer":"flatCallTracer"}"#);
    assert_eq!((hidden.as_array().unwrap().len(), &hidden[0]["subtraces"]), (1, &json!(0)));
}

#[test]
fn a_flat_trace_without_precompiles_has_no_calls_of_theirs() {
    let call = |to: u8| [0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, to, 0x5a, 0xf1, 0x00];
    let world = World::london()
        .contract(0x10, 1, 0, &call(0x11))
        .contract(0x11, 1, 0, &call(0x12))
        .contract(0x12, 1, 0, &[0x00])
        .call(0x10, 200_000, &[]);
    let mut replay = world.replay();
    let tx = replay.seek(0, &|| false).unwrap();
    let mut recorder = Recorder::new();
    recorder.begin(RecorderOptions { nested: true, logs: false }, 0);
    replay.record(&mut recorder).unwrap();
    let flat = |recorder: &Recorder| -> Vec<Value> {
        let mut out = JsonWriter::keeping(10_000);
        FlatCallTracerConfig::default().render(recorder, &tx, &mut out);
        serde_json::from_slice(out.kept()).unwrap()
    };
    assert_eq!(flat(&recorder).len(), 3);
    // As under a state override that puts this code in the place of a precompiled contract.
    recorder.frames[1].to = Address::with_last_byte(2);
    let frames = flat(&recorder);
    assert_eq!((frames.len(), &frames[0]["subtraces"]), (1, &json!(0)));
}

#[test]
fn a_hash_whose_range_overflows_is_of_nothing() {
    // KECCAK256 of the byte at 2^63 - 1, which cannot be paid for.
    let code = [0x60, 1, 0x67, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x20];
    let world = World::london().contract(0x10, 1, 0, &code).call(0x10, 100_000, &[]);
    let preimages = only(&world, r#"{"tracer":"keccak256PreimageTracer"}"#);
    assert_eq!(preimages, json!({ (KECCAK256_EMPTY.to_string()): "0x" }));
    let frame = only(&world, r#"{"tracer":"erc7562Tracer"}"#);
    assert_eq!(frame["keccak"], json!(["0x"]));
    assert_eq!(frame["error"], "out of gas: gas uint64 overflow");
}

/// PUSH1 7 POP over and over, 100 times, and STOP.
fn hundred_pairs() -> Vec<u8> {
    [[0x60, 7, 0x50].repeat(100), vec![0]].concat()
}

#[test]
fn steps_within_a_mux_keep_to_their_limit() {
    let world = World::london().contract(0x10, 1, 0, &hundred_pairs()).call(0x10, 100_000, &[]);
    let mux = |own: &str| {
        only(
            &world,
            &format!(
                r#"{{"tracer":"muxTracer","tracerConfig":{{"opcodeTracer":{own},"4byteTracer":null}}}}"#
            ),
        )
    };
    let all = mux("null");
    assert_eq!(all["opcodeTracer"]["structLogs"].as_array().unwrap().len(), 201);
    assert_eq!(all["opcodeTracer"]["summary"]["POP"], json!({ "count": 100, "totalGas": 200 }));
    let cut = mux(r#"{"limit":1}"#);
    assert_eq!(
        cut["opcodeTracer"]["structLogs"],
        json!(all["opcodeTracer"]["structLogs"].as_array().unwrap()[..1])
    );
    assert_eq!(cut["opcodeTracer"]["summary"], all["opcodeTracer"]["summary"]);
}

#[test]
fn steps_that_exceed_a_mux_are_an_error_of_the_transaction() {
    // JUMPDEST PUSH1 7 POP PUSH1 0 JUMP: five steps of some 80 bytes for 17 gas.
    let gas = MUX_STEPS_BYTES as u64 / 70 / 5 * 17 + 100_000;
    let world = World::london()
        .contract(0x10, 1, 0, &hundred_pairs())
        .contract(0x71, 1, 0, &[0x5b, 0x60, 7, 0x50, 0x60, 0, 0x56])
        .call(0x71, gas, &[])
        .call(0x10, 100_000, &[]);
    let trace = |config: &str| -> Vec<Value> {
        let (text, _) = world.trace_text(config, &Limits::default()).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let found = trace(
        r#"{"tracer":"muxTracer","timeout":"1m","tracerConfig":{"opcodeTracer":null,"callTracer":null}}"#,
    );
    let error = found[0]["error"].as_str().unwrap();
    assert!(
        error.starts_with("the steps of opcodeTracer within muxTracer take more than 67108864 bytes"),
        "{error}"
    );
    assert!(found[0].get("result").is_none());
    // The transaction has its effects all the same, and the next one its result.
    assert_eq!(found[1]["result"]["opcodeTracer"]["structLogs"].as_array().unwrap().len(), 201);
    let limited = trace(
        r#"{"tracer":"muxTracer","timeout":"1m","tracerConfig":{"opcodeTracer":{"limit":1000},"callTracer":null}}"#,
    );
    assert!(limited[0]["result"]["opcodeTracer"]["structLogs"].as_array().unwrap().len() > 10);
    assert_eq!(limited[0]["result"]["callTracer"]["error"], "out of gas");
}

#[test]
fn tracers_that_share_a_recording_leave_out_what_is_not_theirs() {
    // LOG0 of nothing, a call of 0x11, LOG0 again.
    let log = [0x60, 0, 0x60, 0, 0xa0];
    let call = [0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0x11, 0x5a, 0xf1, 0x50];
    let code = [&log[..], &call, &log, &[0]].concat();
    let world = World::london().contract(0x10, 1, 0, &code).contract(0x11, 1, 0, &log).call(
        0x10,
        100_000,
        &[1, 2, 3, 4],
    );
    let options =
        [r#"{"withLog":true}"#, r#"{"onlyTopCall":true,"withLog":true}"#, r#"{"onlyTopCall":true}"#, "null"];
    for own in options {
        let alone = only(&world, &format!(r#"{{"tracer":"callTracer","tracerConfig":{own}}}"#));
        for other in options {
            let config = format!(
                r#"{{"tracer":"muxTracer","tracerConfig":{{"callTracer":{own},"flatCallTracer":null,
                    "muxTracer":{{"callTracer":{other},"4byteTracer":null}}}}}}"#
            );
            let all = only(&world, &config);
            assert_eq!(all["callTracer"], alone, "{own} beside {other}");
            assert_eq!(all["flatCallTracer"].as_array().unwrap().len(), 2);
            assert_eq!(all["muxTracer"]["4byteTracer"], json!({ "0x01020304-0": 1 }));
        }
    }
}
