//! The elements of a block trace one by one: the same bytes as the whole answer, and only errors
//! that every run would meet.

use crate::steps::PUSH_POP;
use crate::world::World;
use alloy_primitives::B256;
use hearth_tracers::{
    ElementSink, JsonWriter, Limits, Sink, SinkClosed, TraceConfig, TraceError, TracePlan, trace_block,
    trace_elements,
};

const CONFIGS: [&str; 4] = [
    r#"{"tracer":"callTracer"}"#,
    r#"{"tracer":"prestateTracer"}"#,
    r#"{"tracer":"flatCallTracer"}"#,
    r#"{"tracer":"callTracer","tracerConfig":{"withLog":true}}"#,
];

/// Puts the elements together again.
#[derive(Default)]
struct Whole {
    text: Vec<u8>,
    keyed: bool,
    elements: usize,
}

impl Sink for Whole {
    fn write(&mut self, chunk: &[u8]) -> Result<(), SinkClosed> {
        if !std::mem::replace(&mut self.keyed, true) {
            self.text.extend_from_slice(b",\"result\":");
        }
        self.text.extend_from_slice(chunk);
        Ok(())
    }
}

impl ElementSink for Whole {
    fn begin(&mut self, tx: &B256) {
        let before = if self.elements == 0 { "[" } else { "," };
        self.text.extend_from_slice(format!("{before}{{\"txHash\":\"{tx:#x}\"").as_bytes());
        self.keyed = false;
    }

    fn fail(&mut self, error: &str) {
        self.text.extend_from_slice(b",\"error\":");
        let mut json = JsonWriter::new(&mut self.text);
        json.string(error);
        json.finish().unwrap();
    }

    fn end(&mut self) {
        self.text.push(b'}');
        self.elements += 1;
    }
}

fn plans(configs: &[&str]) -> Vec<TracePlan> {
    configs.iter().map(|text| TracePlan::new(&TraceConfig::parse(text).unwrap()).unwrap()).collect()
}

fn elements(world: &World, configs: &[&str], limits: &Limits) -> Result<Vec<String>, TraceError> {
    let mut wholes: Vec<Whole> = configs.iter().map(|_| Whole::default()).collect();
    let mut sinks: Vec<&mut dyn ElementSink> =
        wholes.iter_mut().map(|whole| whole as &mut dyn ElementSink).collect();
    trace_elements(&mut world.replay(), &plans(configs), limits, &mut sinks)?;
    Ok(wholes.into_iter().map(|whole| String::from_utf8(whole.text).unwrap() + "]").collect())
}

/// What a trace of the whole block writes under one plan.
fn alone(world: &World, config: &str, limits: &Limits) -> String {
    let mut text = Vec::new();
    trace_block(&mut world.replay(), &plans(&[config])[0], limits, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn elements_are_those_of_the_whole_answer() {
    // A call that stores and logs, one that reverts, and a nonce that does not follow.
    let world = World::london()
        .contract(0x10, 1, 0, &[0x60, 5, 0x60, 1, 0x55, 0x60, 0, 0x60, 0, 0xa0, 0x00])
        .contract(0x11, 1, 0, &[0x60, 1, 0x60, 0, 0xfd])
        .call(0x10, 100_000, &[9, 8, 7])
        .call(0x11, 100_000, &[])
        .call_with_nonce(0x10, 100_000, &[], 9);
    let limits = Limits::default();
    let texts = elements(&world, &CONFIGS, &limits).unwrap();
    for (config, text) in CONFIGS.iter().zip(&texts) {
        assert_eq!(*text, alone(&world, config, &limits), "{config}");
        assert!(text.contains(",\"error\":\"tracing failed: nonce too high"), "{text}");
    }
}

#[test]
fn what_another_run_might_not_meet_is_no_element() {
    let world = World::london()
        .contract(0x71, 1, 0, &PUSH_POP)
        .contract(0x72, 1, 0, &[0x60, 0, 0x60, 0, 0xfd])
        .call(0x72, 100_000, &[])
        .call(0x71, 900_000_000, &[]);
    let hurried = r#"{"tracer":"callTracer","timeout":"1ms"}"#;
    let error = elements(&world, &[hurried], &Limits::default()).unwrap_err();
    assert!(matches!(error, TraceError::ExecutionTimeout), "{error}");
    let limits = Limits::default();
    limits.cancel.cancel();
    assert!(matches!(elements(&world, &[CONFIGS[0]], &limits).unwrap_err(), TraceError::Cancelled));
}

#[test]
fn a_recording_that_is_too_large_is_one_tracers_element() {
    // Calls the identity contract with 10,000 bytes, again and again.
    let code = [0x5b, 0x60, 0, 0x60, 0, 0x61, 0x27, 0x10, 0x60, 0, 0x60, 4, 0x5a, 0xfa, 0x50, 0x60, 0, 0x56];
    let world = World::london().contract(0x71, 1, 0, &code).call(0x71, 1_000_000, &[]);
    let limits = Limits { recording_bytes: 100_000, ..Limits::default() };
    let texts = elements(&world, &CONFIGS[..1], &limits).unwrap();
    assert_eq!(texts[0], alone(&world, CONFIGS[0], &limits));
    assert!(texts[0].contains("\"error\":\"trace is larger than 100000 bytes\""), "{}", texts[0]);
    // Two of them might only be too large together.
    let error = elements(&world, &CONFIGS[..2], &limits).unwrap_err();
    assert!(matches!(error, TraceError::TooLarge { limit_bytes: 100_000 }), "{error}");
}
