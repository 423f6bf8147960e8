//! The open loop: commits that come at fixed times, whether the one before is done or not.

use crate::chain::{commit, pairs};
use crate::commits::{BLOCKS, Ours, Stores, TRANSFERS};
use crate::harness::{Bench, Fallible, Sample, Target, timed, tree_bytes};
use hearth_flatkv::CommitmentKind;
use std::{
    thread,
    time::{Duration, Instant},
};

/// Commits of the open loop, unless `HEARTH_BENCH_LOOP_COMMITS` has another number.
const COMMITS: usize = 20_000;
/// The part of what the store can do at which they come.
const LOAD: f64 = 0.7;
/// Samples that measure what the store can do; flushes and compactions are in them.
const SATURATED: usize = 4;
/// Where a machine is so slow that they take longer, fewer are made, and the line above the rows
/// says how many.
const LONGEST: Duration = Duration::from_secs(1_000);
/// Commits between two lines of progress.
const TELL_EVERY: usize = 2_000;

pub fn rows(bench: &Bench, stores: &mut Stores<'_>) -> Fallible<()> {
    let (p99, over) = ("loop: commit to a schedule, p99", "loop: commit to a schedule, p99 over p50");
    if !bench.wants(p99) && !bench.wants(over) {
        return Ok(());
    }
    let ours = stores.ours(CommitmentKind::LtHash)?;
    let every = pace(bench, ours)?;
    let asked = std::env::var("HEARTH_BENCH_LOOP_COMMITS").ok().map(|asked| asked.parse()).transpose()?;
    let commits = asked.unwrap_or(bench.amount(COMMITS, 40));
    let (seconds, cpu, mut times) = timed(|| follow(ours, commits, every))?;
    let (slowest, made) = (slowest(&times), times.len());
    times.sort_by(f64::total_cmp);
    let at = |part: usize| times[(times.len() - 1) * part / 1_000];
    println!(
        "loop: {made} of {commits} commits in {seconds:.0} s, one every {:.2} ms; p50 {:.2} ms, p90 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms, most {:.2} ms at {slowest}",
        every.as_secs_f64() * 1e3,
        at(500),
        at(900),
        at(990),
        at(999),
        at(1_000)
    );
    bench.row(p99, "ms", Target::Shown, &[Sample { value: at(990), cpu }], &[]);
    bench.row(over, "times", Target::ValueAtMost(5.0), &[Sample { value: at(990) / at(500), cpu }], &[]);
    let bytes = tree_bytes(&ours.dir.path().join("state"))?;
    println!("loop: state on the disk: {:.1} MiB", bytes as f64 / f64::from(1 << 20));
    Ok(())
}

/// Time from one commit to the next at that part of what the store can do.
fn pace(bench: &Bench, ours: &mut Ours) -> Fallible<Duration> {
    let (blocks, samples) = (bench.amount(BLOCKS, 5), bench.amount(SATURATED, 1));
    // Once before, so that caches are warm.
    ours.sample(blocks)?;
    let mut seconds_a_pair = 0.0;
    for _ in 0..samples {
        seconds_a_pair += 1.0 / ours.sample(blocks)?.value / samples as f64;
    }
    let pairs_a_block = pairs(&ours.chain.clone().block(TRANSFERS)) as f64;
    println!("loop: saturated at {:.0} pairs/s, flushes and compactions included", 1.0 / seconds_a_pair);
    Ok(Duration::from_secs_f64(pairs_a_block * seconds_a_pair / LOAD))
}

/// Milliseconds from when each commit was due until it was done.
fn follow(ours: &mut Ours, commits: usize, every: Duration) -> Fallible<Vec<f64>> {
    let mut times = Vec::with_capacity(commits);
    let began = Instant::now();
    let mut due = began;
    for n in 1..=commits {
        if began.elapsed() > LONGEST {
            break;
        }
        let changes = ours.chain.block(TRANSFERS);
        due += every;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        commit(&ours.kv, &changes)?;
        times.push(due.elapsed().as_secs_f64() * 1e3);
        if n % TELL_EVERY == 0 {
            println!("loop: {n} commits");
        }
    }
    Ok(times)
}

/// The commit that took longest.
fn slowest(times: &[f64]) -> usize {
    let most = times.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    most.map_or(0, |(at, _)| at)
}
