//! What the store holds for ten minutes, and the open loop: commits that come at fixed times,
//! whether the one before is done or not.

use crate::chain::{commit, pairs};
use crate::commits::{Ours, TRANSFERS};
use crate::harness::{Bench, Fallible, Sample, Target, median, timed, tree_bytes};
use hearth_flatkv::{CommitmentKind, FlatKv, bare::Compacted};
use std::{
    thread,
    time::{Duration, Instant},
};

/// Seconds for which blocks follow each other without a pause, unless `HEARTH_BENCH_LOOP_SECONDS`
/// has another number.
const SATURATED_SECONDS: usize = 600;
/// Commits of the open loop, unless `HEARTH_BENCH_LOOP_COMMITS` has another number.
const COMMITS: usize = 20_000;
/// The part of what the store holds at which they come, unless `HEARTH_BENCH_LOOP_RATE` has pairs a
/// second.
const LOAD: f64 = 0.7;
/// Where a machine is so slow that they take longer, fewer are made, and the line above the rows
/// says how many.
const LONGEST: Duration = Duration::from_secs(1_000);
/// Commits one by one on a store that has nothing else to do.
const IDLE_COMMITS: usize = 50;
/// Pause after each of them.
const IDLE_PAUSE: Duration = Duration::from_millis(100);
/// Time between two lines of progress.
const TELL_EVERY: Duration = Duration::from_secs(60);
/// Pairs a second that the store should hold.
const HELD: f64 = 200_000.0;
/// Bytes written for a byte that is flushed.
const AMPLIFICATION: f64 = 4.0;
/// Milliseconds that 99 of 100 commits to a schedule may take, and the last one.
const P99_MS: f64 = 250.0;
/// Milliseconds that none of them may take longer.
const MOST_MS: f64 = 500.0;
/// The 99th percentile over the median of single commits on an idle store.
const P99_OVER_IDLE: f64 = 3.0;

pub fn rows(bench: &Bench) -> Fallible<()> {
    if !bench.wants("loop: ") {
        return Ok(());
    }
    // Each part has its own store, so that the disk need not hold both.
    let held = held(bench, &mut Ours::new(bench, CommitmentKind::LtHash)?)?;
    schedule(bench, &mut Ours::new(bench, CommitmentKind::LtHash)?, held)
}

/// Pairs a second that the store takes in for ten minutes, until nothing of it is left to be
/// flushed or compacted. The blocks are made in between, on the same processors.
fn held(bench: &Bench, ours: &mut Ours) -> Fallible<f64> {
    let length = Duration::from_secs(asked("SECONDS")?.unwrap_or(bench.amount(SATURATED_SECONDS, 1)) as u64);
    let before = ours.kv.compacted()?;
    let (mut count, mut blocks, mut making) = (0, 0, Duration::ZERO);
    let (seconds, cpu, (looped, behind)) = timed(|| {
        let (began, mut reported) = (Instant::now(), TELL_EVERY);
        while began.elapsed() < length {
            let start = Instant::now();
            let changes = ours.chain.block(TRANSFERS);
            making += start.elapsed();
            commit(&ours.kv, &changes)?;
            count += pairs(&changes);
            blocks += 1;
            if began.elapsed() >= reported {
                let (bytes, files) = ours.kv.behind()?;
                println!(
                    "loop: {:.0} s: {:.0} pairs/s, {:.1} MiB to compact, {files} flushed files",
                    reported.as_secs_f64(),
                    count as f64 / began.elapsed().as_secs_f64(),
                    mib(bytes)
                );
                reported += TELL_EVERY;
            }
        }
        let (looped, behind) = (began.elapsed(), ours.kv.behind()?);
        ours.kv.flush_and_compact()?;
        Ok((looped, behind))
    })?;
    println!(
        "loop: {blocks} blocks without a pause in {:.0} s, of which {:.0} s went into making them; {:.1} MiB to compact and {} flushed files then, which took {:.1} s more",
        looped.as_secs_f64(),
        making.as_secs_f64(),
        mib(behind.0),
        behind.1,
        seconds - looped.as_secs_f64()
    );
    let held = count as f64 / seconds;
    let name = "loop: held without a pause, all flushed and compacted at the end";
    bench.row(name, "pairs/s", Target::ValueAtLeast(HELD), &[Sample { value: held, cpu }], &[]);
    amplification(bench, &ours.kv, before, "without a pause")?;
    Ok(held)
}

/// Commits to a schedule at a part of the rate that the store holds.
fn schedule(bench: &Bench, ours: &mut Ours, held: f64) -> Fallible<()> {
    let idle = idle(bench, ours)?;
    let pairs_a_block = pairs(&ours.chain.clone().block(TRANSFERS)) as f64;
    let rate = match std::env::var("HEARTH_BENCH_LOOP_RATE") {
        Ok(asked) => asked.parse()?,
        Err(_) => held * LOAD,
    };
    let every = Duration::from_secs_f64(pairs_a_block / rate);
    let commits = asked("COMMITS")?.unwrap_or(bench.amount(COMMITS, 40));
    let before = ours.kv.compacted()?;
    let (seconds, cpu, mut times) = timed(|| follow(ours, commits, every))?;
    let (slowest, made) = (slowest(&times), times.len());
    let last = times.last().copied().ok_or("no commits")?;
    times.sort_by(f64::total_cmp);
    let at = |part: usize| times[(times.len() - 1) * part / 1_000];
    println!(
        "loop: {made} of {commits} commits in {seconds:.0} s, one every {:.2} ms, {rate:.0} pairs/s; p50 {:.2} ms, p90 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms, most {:.2} ms at {slowest}, last {last:.2} ms; {:.1} MiB to compact at the end",
        every.as_secs_f64() * 1e3,
        at(500),
        at(900),
        at(990),
        at(999),
        at(1_000),
        mib(ours.kv.behind()?.0)
    );
    let row = |name: &str, unit, target, value| {
        bench.row(&format!("loop: {name}"), unit, target, &[Sample { value, cpu }], &[]);
    };
    row("single commits on an idle store, p50", "ms", Target::Shown, idle);
    row("commit to a schedule, p50", "ms", Target::Shown, at(500));
    row("commit to a schedule, p99", "ms", Target::ValueAtMost(P99_MS), at(990));
    let over = "commit to a schedule, p99 over p50 of single commits on an idle store";
    row(over, "times", Target::ValueAtMost(P99_OVER_IDLE), at(990) / idle);
    row("commit to a schedule, slowest", "ms", Target::ValueAtMost(MOST_MS), at(1_000));
    row("commit to a schedule, last", "ms", Target::ValueAtMost(P99_MS), last);
    amplification(bench, &ours.kv, before, "to a schedule")?;
    let bytes = tree_bytes(&ours.dir.path().join("state"))?;
    println!("loop: state on the disk: {:.1} MiB", mib(bytes));
    Ok(())
}

/// Milliseconds of single commits, each after a pause, on a store with nothing else to do.
fn idle(bench: &Bench, ours: &mut Ours) -> Fallible<f64> {
    let mut times = Vec::new();
    for _ in 0..bench.amount(IDLE_COMMITS, 5) {
        let changes = ours.chain.block(TRANSFERS);
        thread::sleep(IDLE_PAUSE);
        let start = Instant::now();
        commit(&ours.kv, &changes)?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    ours.kv.flush_and_compact()?;
    Ok(median(&times))
}

/// Bytes that flushes and compactions wrote since `before` for a byte that was flushed.
fn amplification(bench: &Bench, kv: &FlatKv, before: (Compacted, Compacted), what: &str) -> Fallible<()> {
    let now = kv.compacted()?;
    let ((all, past), times) =
        ((now.0 - before.0, now.1 - before.1), |of: Compacted| of.written / of.flushed);
    println!(
        "loop: {what}: {:.1} MiB flushed, written {:.2} times, {:.1} s of processors; history {:.1} MiB, {:.2} times, {:.1} s",
        all.flushed / f64::from(1 << 20),
        times(all),
        all.cpu,
        past.flushed / f64::from(1 << 20),
        times(past),
        past.cpu
    );
    let name = format!("loop: {what}, bytes written by flushes and compactions for a flushed one");
    let sample = Sample { value: times(all), cpu: all.cpu };
    bench.row(&name, "times", Target::ValueAtMost(AMPLIFICATION), &[sample], &[]);
    Ok(())
}

/// Milliseconds from when each commit was due until it was done.
fn follow(ours: &mut Ours, commits: usize, every: Duration) -> Fallible<Vec<f64>> {
    let mut times = Vec::with_capacity(commits);
    let (began, mut reported) = (Instant::now(), TELL_EVERY);
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
        if began.elapsed() >= reported {
            println!("loop: {n} commits, the last one {:.1} ms", due.elapsed().as_secs_f64() * 1e3);
            reported += TELL_EVERY;
        }
    }
    Ok(times)
}

/// The commit that took longest.
fn slowest(times: &[f64]) -> usize {
    let most = times.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    most.map_or(0, |(at, _)| at)
}

/// The number in a variable of the environment of the open loop.
fn asked(name: &str) -> Fallible<Option<usize>> {
    let asked = std::env::var(format!("HEARTH_BENCH_LOOP_{name}")).ok();
    Ok(asked.map(|asked| asked.parse()).transpose()?)
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
