//! The cost of recording and rendering on top of plain execution, on recorded mainnet blocks.
//!
//! `cargo bench -p hearth-tracers`. Each block is executed plainly and under callTracer, one after
//! the other, so that both rows of a pair run under the same conditions. The output is discarded.
#![allow(clippy::unwrap_used, dead_code, missing_docs)]

#[path = "../tests/it/answers.rs"]
mod answers;
#[path = "../tests/it/cases.rs"]
mod cases;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hearth_evm::{ChainSpec, recover_senders};
use hearth_tracers::{
    BlockReplay, Limits, Replay as _, Sink, SinkClosed, TraceConfig, TracePlan, trace_block,
};

/// Blocks of different ages and kinds: early, many small calls, deep call trees.
const BLOCKS: [&str; 4] = ["2462997", "6137495", "14396881", "19932148"];

/// Takes the bytes and forgets them.
struct Nowhere;

impl Sink for Nowhere {
    fn write(&mut self, chunk: &[u8]) -> Result<(), SinkClosed> {
        std::hint::black_box(chunk);
        Ok(())
    }
}

fn call_tracer(criterion: &mut Criterion) {
    let Some(dir) = answers::fixtures() else { return };
    let spec = ChainSpec::mainnet();
    for name in BLOCKS {
        let case = cases::MainnetCase::parse(&answers::read_json(
            &dir.join(format!("mainnet-blocks/{name}.json.gz")),
        ));
        let environment = hearth_evm::BlockEnvironment::from_header(&spec, &case.block.header);
        let senders = recover_senders(&spec, &environment, &case.block.body.transactions).unwrap();
        let replay =
            || BlockReplay::new(&spec, &case.block, Some(&senders), &case.state, &case.state).unwrap();
        let mut group = criterion.benchmark_group(name);
        group.sample_size(20);
        group.throughput(Throughput::Elements(case.block.header.gas_used));
        group.bench_function("plain", |bencher| {
            bencher.iter(|| {
                let mut replay = replay();
                // There is no transaction after the last one, so the seek fails, after it has
                // executed them all.
                replay.seek(replay.count(), &|| false).unwrap_err()
            });
        });
        for (config, json) in answers::CONFIGS {
            let plan = TracePlan::new(&TraceConfig::parse(json).unwrap()).unwrap();
            group.bench_function(config, |bencher| {
                bencher.iter(|| trace_block(&mut replay(), &plan, &Limits::default(), &mut Nowhere).unwrap());
            });
        }
        group.finish();
    }
}

criterion_group!(benches, call_tracer);
criterion_main!(benches);
