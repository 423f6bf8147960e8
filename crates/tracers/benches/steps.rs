//! Steps per second of the struct logger, in process.
//!
//! `cargo bench -p hearth-tracers --bench steps`. A loop of small instructions, the same under a
//! deep stack, and with memory; each next to the plain execution. The output is discarded.
#![allow(clippy::unwrap_used, dead_code, missing_docs)]

#[path = "../tests/it/answers.rs"]
mod answers;
#[path = "../tests/it/cases.rs"]
mod cases;
#[path = "../tests/it/world.rs"]
mod world;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hearth_tracers::{
    Limits, NoopTracer, Replay as _, Sink, SinkClosed, TraceConfig, TracePlan, trace_transaction,
};
use std::time::Duration;
use world::World;

/// Steps of one run.
const STEPS: u64 = 1_000_000;

/// Takes the bytes and forgets them.
struct Nowhere;

impl Sink for Nowhere {
    fn write(&mut self, chunk: &[u8]) -> Result<(), SinkClosed> {
        std::hint::black_box(chunk);
        Ok(())
    }
}

/// A program that does `setup` and then JUMPDEST PUSH1 7 POP PUSH1 JUMP until its gas is used up,
/// with gas for [`STEPS`].
fn looping(setup: &[u8]) -> World {
    let start = u8::try_from(setup.len()).unwrap();
    let code = [setup, &[0x5b, 0x60, 7, 0x50, 0x60, start, 0x56]].concat();
    // 1 + 3 + 2 + 3 + 8 gas for five steps.
    World::london().contract(0x71, 1, 0, &code).call(0x71, 100_000 + STEPS / 5 * 17, &[])
}

fn steps(criterion: &mut Criterion) {
    // Twelve words of the size of an address.
    let deep: Vec<u8> = (0..12).flat_map(|i| [&[0x73][..], &[0x80 + i; 20]].concat()).collect();
    // PUSH2 1024 MSIZE MSIZE CODECOPY.
    let memory = [0x61, 0x04, 0x00, 0x59, 0x59, 0x39];
    for (name, setup, config) in [
        ("push/pop", &[][..], "{}"),
        ("deep stack", &deep[..], "{}"),
        ("no stack", &[][..], r#"{"disableStack":true}"#),
        ("1 KiB of memory", &memory[..], r#"{"enableMemory":true}"#),
        ("push/pop, opcodeTracer", &[][..], r#"{"tracer":"opcodeTracer"}"#),
    ] {
        let world = looping(setup);
        let plan = TracePlan::new(&TraceConfig::parse(config).unwrap()).unwrap();
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10).warm_up_time(Duration::from_millis(500));
        group.measurement_time(Duration::from_secs(2));
        group.throughput(Throughput::Elements(STEPS));
        group.bench_function("steps", |bencher| {
            bencher.iter(|| {
                trace_transaction(&mut world.replay(), 0, &plan, &Limits::default(), &mut Nowhere).unwrap()
            });
        });
        group.bench_function("execution under noopTracer", |bencher| {
            bencher.iter(|| {
                let mut replay = world.replay();
                replay.seek(0, &|| false).unwrap();
                replay.record(&mut NoopTracer).unwrap().gas_used
            });
        });
        group.finish();
    }
}

criterion_group!(benches, steps);
criterion_main!(benches);
