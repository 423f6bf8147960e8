//! Several plans over one execution give what each gives alone.

use crate::steps::{PUSH_POP, after_timeouts};
use crate::world::World;
use hearth_tracers::{
    HELD_BACK_BYTES, Limits, Replay as _, Sink, SinkClosed, TraceConfig, TraceError, TracePlan, trace_block,
    trace_block_under_several, trace_transaction, trace_transaction_under_several,
};

const CONFIGS: [&str; 9] = [
    "{}",
    r#"{"tracer":"callTracer"}"#,
    r#"{"enableMemory":true,"enableReturnData":true,"limit":2000}"#,
    r#"{"tracer":"opcodeTracer"}"#,
    r#"{"tracer":"callTracer","tracerConfig":{"onlyTopCall":true}}"#,
    r#"{"tracer":"flatCallTracer"}"#,
    r#"{"tracer":"prestateTracer","tracerConfig":{"diffMode":true}}"#,
    r#"{"tracer":"muxTracer","tracerConfig":{"opcodeTracer":null,"callTracer":{"withLog":true},"prestateTracer":null}}"#,
    r#"{"tracer":"callTracer"}"#,
];

fn plans(configs: &[&str]) -> Vec<TracePlan> {
    let plan = |text: &&str| TracePlan::new(&TraceConfig::parse(text).unwrap()).unwrap();
    configs.iter().map(plan).collect()
}

/// SSTORE(1, 5), SLOAD(1), memory, a call of 0x11 that reverts, and LOG0.
fn world() -> World {
    let code = [
        &[0x60, 5, 0x60, 1, 0x55, 0x60, 1, 0x54, 0x60, 0, 0x52][..],
        &[0x60, 32, 0x60, 0, 0x60, 4, 0x60, 0, 0x60, 0, 0x60, 0x11, 0x5a, 0xf1, 0x50],
        &[0x60, 0, 0x60, 0, 0xa0, 0x00],
    ]
    .concat();
    World::london()
        .contract(0x10, 1, 0, &code)
        .contract(0x11, 1, 0, &[0x60, 1, 0x60, 0, 0xfd])
        .call(0x10, 100_000, &[9, 8, 7, 6, 5])
        .call(0x11, 100_000, &[])
        // A nonce that does not follow: the error of the third one.
        .call_with_nonce(0x10, 100_000, &[], 9)
}

fn sinks(texts: &mut [Vec<u8>]) -> Vec<&mut dyn Sink> {
    texts.iter_mut().map(|text| text as &mut dyn Sink).collect()
}

#[test]
fn each_line_is_as_if_it_was_alone() {
    let (world, plans) = (world(), plans(&CONFIGS));
    let limits = Limits::default();
    let mut texts = vec![Vec::new(); plans.len()];
    trace_block_under_several(&mut world.replay(), &plans, &limits, sinks(&mut texts)).unwrap();
    for (plan, text) in plans.iter().zip(&texts) {
        let mut alone = Vec::new();
        assert_eq!(trace_block(&mut world.replay(), plan, &limits, &mut alone).unwrap().traced, 2);
        assert_eq!(String::from_utf8_lossy(text), String::from_utf8_lossy(&alone), "{plan:?}");
    }
    for index in 0..2 {
        let mut texts = vec![Vec::new(); plans.len()];
        let done =
            trace_transaction_under_several(&mut world.replay(), index, &plans, &limits, sinks(&mut texts));
        done.unwrap();
        for (plan, text) in plans.iter().zip(&texts) {
            let mut alone = Vec::new();
            trace_transaction(&mut world.replay(), index, plan, &limits, &mut alone).unwrap();
            assert_eq!(String::from_utf8_lossy(text), String::from_utf8_lossy(&alone), "{plan:?}");
        }
    }
}

#[test]
fn a_failure_leaves_nothing_or_a_whole_value_on_each_line() {
    let hurried = plans(&[r#"{"tracer":"callTracer","timeout":"1ms"}"#]);
    let world = World::london().contract(0x71, 1, 0, &PUSH_POP).call(0x71, 900_000_000, &[]);
    let limits = Limits::default();
    let (plans, mut texts) = after_timeouts(|soon| {
        let plans = [soon.clone(), hurried[0].clone()];
        let mut texts = vec![Vec::new(); 2];
        let error =
            trace_transaction_under_several(&mut world.replay(), 0, &plans, &limits, sinks(&mut texts));
        let error = error.unwrap_err();
        assert!(matches!(error, TraceError::ExecutionTimeout), "{error}");
        assert!(texts[1].is_empty());
        (texts[0].len() > HELD_BACK_BYTES).then_some((plans, texts))
    });
    let log: StructLogs = serde_json::from_slice(&texts[0]).unwrap();
    assert!(log.steps.len() > 1_000);
    let error = trace_transaction_under_several(&mut world.replay(), 7, &plans, &limits, sinks(&mut texts));
    let error = error.unwrap_err();
    assert!(matches!(error, TraceError::IndexOutOfRange { index: 7, count: 1 }), "{error}");
    let texts = after_timeouts(|soon| {
        let plans = [soon.clone(), hurried[0].clone()];
        let mut texts = vec![Vec::new(); 2];
        trace_block_under_several(&mut world.replay(), &plans, &limits, sinks(&mut texts)).unwrap();
        (texts[0].len() > HELD_BACK_BYTES).then_some(texts)
    });
    let failed: Vec<FailedElement> =
        texts.iter().flat_map(|text| serde_json::from_slice::<[FailedElement; 1]>(text).unwrap()).collect();
    assert_eq!(failed[0].error["message"], "execution timeout");
    assert_eq!(failed[1].error, "execution timeout");
}

/// A whole struct log of which only the number of steps is kept: half a second of steps as
/// `serde_json::Value` took all memory of a fast machine.
#[derive(serde::Deserialize)]
struct StructLogs {
    #[serde(rename = "structLogs")]
    steps: Vec<serde::de::IgnoredAny>,
}

/// An element of a traced block of which only the error is kept.
#[derive(serde::Deserialize)]
struct FailedElement {
    error: serde_json::Value,
}

#[test]
fn a_sink_that_takes_no_more_ends_all() {
    struct Closed;
    impl Sink for Closed {
        fn write(&mut self, _: &[u8]) -> Result<(), SinkClosed> {
            Err(SinkClosed)
        }
    }
    let world = World::london().contract(0x71, 1, 0, &PUSH_POP).call(0x71, 900_000_000, &[]);
    let plans = plans(&[r#"{"tracer":"callTracer","timeout":"1m"}"#, r#"{"timeout":"1m"}"#]);
    let (mut text, mut closed) = (Vec::new(), Closed);
    let mut replay = world.replay();
    let sinks: Vec<&mut dyn Sink> = vec![&mut text, &mut closed];
    let error = trace_block_under_several(&mut replay, &plans, &Limits::default(), sinks).unwrap_err();
    assert!(matches!(error, TraceError::Cancelled), "{error}");
    assert_eq!(replay.count(), 1);
    assert!(text.is_empty());
}
