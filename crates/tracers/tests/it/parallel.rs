//! Transactions of a block in parallel: the same bytes in the same order, with bounded memory, and
//! an end once the receiver is gone.

use crate::steps::PUSH_POP;
use crate::world::World;
use hearth_tracers::{
    BlockStats, KEPT_RESULT_BYTES, Limits, Sink, SinkClosed, TraceConfig, TraceError, TracePlan, trace_block,
    trace_block_in_parallel,
};
use std::sync::Mutex;
use std::thread::ThreadId;
use std::time::Duration;

fn plan(config: &str) -> TracePlan {
    TracePlan::new(&TraceConfig::parse(config).unwrap()).unwrap()
}

/// Transactions of very different lengths: the struct logs of the long ones exceed the results that
/// a thread keeps.
fn world() -> World {
    let mut world = World::london().contract(0x71, 1, 0, &PUSH_POP).contract(0x72, 1, 0, &[0x60, 0, 0x50, 0]);
    for i in 0..24 {
        world = match i % 4 {
            0 => world.call(0x71, 1_500_000, &[]),
            _ => world.call(0x72, 100_000, &[i]),
        };
    }
    world
}

fn together(
    world: &World,
    config: &str,
    helpers: usize,
    sink: &mut (dyn Sink + Send),
) -> Result<BlockStats, TraceError> {
    let count = 24;
    let replay = || Ok(world.replay());
    trace_block_in_parallel(replay, count, helpers, &plan(config), &Limits::default(), sink)
}

#[test]
fn long_and_short_results_leave_in_order() {
    let world = world();
    for config in ["{}", r#"{"tracer":"callTracer"}"#, r#"{"tracer":"prestateTracer"}"#] {
        let mut want = Vec::new();
        let stats = trace_block(&mut world.replay(), &plan(config), &Limits::default(), &mut want).unwrap();
        if config == "{}" {
            assert!(want.len() > 6 * KEPT_RESULT_BYTES, "{}", want.len());
        }
        for helpers in [0, 1, 3, 40] {
            let mut have = Vec::new();
            let parallel = together(&world, config, helpers, &mut have).unwrap();
            assert!(want == have, "{config} with {helpers} more threads");
            assert_eq!((parallel.traced, parallel.failed), (stats.traced, stats.failed));
        }
    }
}

#[test]
fn a_block_without_transactions_is_an_empty_list() {
    let (world, mut have) = (World::london(), Vec::new());
    let replay = || Ok(world.replay());
    let plan = plan("{}");
    trace_block_in_parallel(replay, 0, 2, &plan, &Limits::default(), &mut have).unwrap();
    assert_eq!(have, b"[]");
}

/// Takes so many chunks, slowly, and then no more; notes which threads bring them.
struct Closing {
    left: usize,
    threads: Mutex<Vec<ThreadId>>,
}

impl Sink for Closing {
    fn write(&mut self, _: &[u8]) -> Result<(), SinkClosed> {
        std::thread::sleep(Duration::from_millis(2));
        let mut threads = self.threads.lock().unwrap();
        let this = std::thread::current().id();
        if !threads.contains(&this) {
            threads.push(this);
        }
        self.left = self.left.checked_sub(1).ok_or(SinkClosed)?;
        Ok(())
    }
}

#[test]
fn all_threads_end_when_the_receiver_goes() {
    let world = world();
    for left in [0, 1, 7, 100] {
        let mut sink = Closing { left, threads: Mutex::default() };
        let ended = together(&world, "{}", 3, &mut sink);
        assert!(matches!(ended, Err(TraceError::Cancelled)), "{left}: {ended:?}");
    }
    let mut all = Closing { left: usize::MAX, threads: Mutex::default() };
    together(&world, "{}", 3, &mut all).unwrap();
    assert!(all.threads.into_inner().unwrap().len() > 1, "more than one thread worked");
}

#[test]
fn where_no_replay_can_be_had_there_is_an_error() {
    let replay = || Err::<hearth_tracers::BlockReplay<'_>, _>(TraceError::Replay("no state".into()));
    let (plan, mut have) = (plan("{}"), Vec::new());
    let error = trace_block_in_parallel(replay, 3, 2, &plan, &Limits::default(), &mut have).unwrap_err();
    assert_eq!(error.to_string(), "no state");
    assert_eq!(have, b"");
}
