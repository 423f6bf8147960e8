//! Bounds: time, size, cancelling, and what they leave behind.

use crate::world::World;
use hearth_tracers::{
    Cancel, Limits, Sink, SinkClosed, TraceConfig, TraceError, TracePlan, trace_block, trace_transaction,
};
use serde_json::Value;

const CALL_TRACER: &str = r#"{"tracer":"callTracer"}"#;

/// JUMPDEST PUSH1 0 JUMP.
const LOOP: [u8; 4] = [0x5b, 0x60, 0, 0x56];

/// Adds one to slot 0 and returns it, so that the output of a call shows the number of calls before
/// it.
const COUNTER: [u8; 17] =
    [0x60, 0, 0x54, 0x60, 1, 0x01, 0x80, 0x60, 0, 0x55, 0x60, 0, 0x52, 0x60, 32, 0x60, 0];

fn counter() -> Vec<u8> {
    [&COUNTER[..], &[0xf3]].concat()
}

fn parse(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_transaction_out_of_time_fails_and_the_rest_completes() {
    let world = World::london()
        .contract(0x71, 1, 0, &LOOP)
        .contract(0x72, 1, 0, &counter())
        .call(0x72, 100_000, &[])
        .call(0x71, 30_000_000, &[])
        .call(0x72, 100_000, &[]);
    let (text, stats) =
        world.trace_text(r#"{"tracer":"callTracer","timeout":"1ns"}"#, &Limits::default()).unwrap();
    let traces = parse(&text);
    // The clock is checked every few thousand instructions, which the first and the last
    // transaction do not reach.
    assert_eq!((stats.traced, stats.failed, stats.bytes), (2, 1, text.len() as u64));
    assert_eq!(traces[1]["error"], "execution timeout");
    assert!(traces[1]["result"].is_null());
    let output = traces[2]["result"]["output"].as_str().unwrap();
    assert!(output.ends_with("02"), "the last one runs on the state after the first: {output}");
    let (text, _) = world.trace_text(CALL_TRACER, &Limits::default()).unwrap();
    assert_eq!(parse(&text)[1]["result"]["error"], "out of gas");
    assert_eq!(parse(&text)[2], traces[2]);
}

#[test]
fn a_recording_that_grows_too_large_is_refused() {
    // Calls the identity contract with 10,000 bytes, again and again.
    let code = [0x5b, 0x60, 0, 0x60, 0, 0x61, 0x27, 0x10, 0x60, 0, 0x60, 4, 0x5a, 0xfa, 0x50, 0x60, 0, 0x56];
    let world = World::london()
        .contract(0x71, 1, 0, &code)
        .contract(0x72, 1, 0, &counter())
        .call(0x71, 1_000_000, &[])
        .call(0x72, 100_000, &[]);
    let limits = Limits { recording_bytes: 100_000, ..Limits::default() };
    let (text, stats) = world.trace_text(CALL_TRACER, &limits).unwrap();
    assert_eq!((stats.traced, stats.failed), (1, 1));
    assert_eq!(parse(&text)[0]["error"], "trace is larger than 100000 bytes");
    // Only the top call is small.
    let top = r#"{"tracer":"callTracer","tracerConfig":{"onlyTopCall":true}}"#;
    assert_eq!(world.trace_text(top, &limits).unwrap().1.traced, 2);
}

#[test]
fn an_invalid_transaction_spoils_only_what_follows() {
    let world = World::london()
        .contract(0x72, 1, 0, &counter())
        .call(0x72, 100_000, &[])
        .call_with_nonce(0x72, 100_000, &[], 9)
        .call_with_nonce(0x72, 100_000, &[], 1);
    let (text, stats) = world.trace_text(CALL_TRACER, &Limits::default()).unwrap();
    let traces = parse(&text);
    assert_eq!((traces.len(), stats.traced, stats.failed), (3, 1, 2));
    assert!(
        traces[1]["error"].as_str().unwrap().starts_with("tracing failed: nonce too high"),
        "{}",
        traces[1]
    );
    assert!(traces[2]["error"].as_str().unwrap().contains("nonce too high"), "{}", traces[2]);
}

#[test]
fn whoever_asks_can_stop_it() {
    let world = World::london().contract(0x71, 1, 0, &LOOP).call(0x71, 30_000_000, &[]);
    let cancel = Cancel::new();
    cancel.cancel();
    let limits = Limits { cancel, ..Limits::default() };
    assert!(matches!(world.trace_text(CALL_TRACER, &limits), Err(TraceError::Cancelled)));

    struct Gone;
    impl Sink for Gone {
        fn write(&mut self, _: &[u8]) -> Result<(), SinkClosed> {
            Err(SinkClosed)
        }
    }
    let plan = TracePlan::new(&TraceConfig::parse(CALL_TRACER).unwrap()).unwrap();
    let outcome = trace_block(&mut world.replay(), &plan, &Limits::default(), &mut Gone);
    assert!(matches!(outcome, Err(TraceError::Cancelled)));
}

#[test]
fn an_index_beyond_the_block_is_an_error() {
    let world = World::london().contract(0x72, 1, 0, &counter()).call(0x72, 100_000, &[]);
    let plan = TracePlan::new(&TraceConfig::parse(CALL_TRACER).unwrap()).unwrap();
    let mut out = Vec::new();
    let outcome = trace_transaction(&mut world.replay(), 1, &plan, &Limits::default(), &mut out);
    assert!(matches!(outcome, Err(TraceError::IndexOutOfRange { index: 1, count: 1 })));
    assert!(out.is_empty());
}

#[test]
fn an_empty_block_is_an_empty_list() {
    let (text, stats) = World::london().trace_text(CALL_TRACER, &Limits::default()).unwrap();
    assert_eq!((text.as_str(), stats.traced), ("[]", 0));
}
