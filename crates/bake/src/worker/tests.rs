//! The worker over a chain and a cache in memory.

use super::*;
use crate::{BakedTracer, BlockKey};
use alloy_primitives::B256;
use hearth_metrics::Registry;
use hearth_tracers::Cancel;
use parking_lot::Condvar;
use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

const CHAIN: u64 = 1337;

/// Far more than anything here takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a bake of a height does.
#[derive(Clone, Debug)]
enum Act {
    /// Waits until it is released, or to stop.
    Hang,
    Fail(BakeFailure),
    Panic,
}

#[derive(Default)]
struct World {
    /// Hash of the canonical block by height; block 0 is there from the start.
    chain: Vec<B256>,
    baked: HashSet<(B256, BakedTracer)>,
    flushed: HashSet<(B256, BakedTracer)>,
    acts: BTreeMap<Height, Act>,
    /// Every bake that began: height and tracers.
    calls: Vec<(Height, Vec<BakedTracer>)>,
    pruned_below: Height,
    damaged: Vec<Height>,
    /// Nothing can be made durable.
    full: bool,
}

/// A chain whose blocks are numbers.
#[derive(Default)]
struct Fake {
    world: Mutex<World>,
    changed: Condvar,
}

impl Fake {
    fn new(head: Height) -> Arc<Self> {
        let fake = Self::default();
        fake.world.lock().chain = (0..=head).map(|height| hash(height, 0)).collect();
        Arc::new(fake)
    }

    fn with<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        let value = act(&mut self.world.lock());
        self.changed.notify_all();
        value
    }

    /// Waits until something is so.
    fn until(&self, what: &str, so: impl Fn(&World) -> bool) {
        let end = Instant::now() + PATIENCE;
        let mut world = self.world.lock();
        while !so(&world) {
            let late = self.changed.wait_until(&mut world, end).timed_out();
            assert!(!late || so(&world), "{what} never came; calls {:?}", world.calls);
        }
    }

    fn until_baked(&self, heights: impl IntoIterator<Item = Height>, tracer: BakedTracer) {
        for height in heights {
            self.until(&format!("block {height}"), |world| {
                world.baked.contains(&(world.chain[height as usize], tracer))
            });
        }
    }

    fn baked_heights(&self) -> Vec<Height> {
        let world = self.world.lock();
        let mut heights: Vec<_> = world.calls.iter().map(|(height, _)| *height).collect();
        heights.sort_unstable();
        heights
    }

    /// Adds blocks on branch `branch` up to a height, and notifies the worker.
    fn commit(&self, worker: Option<&BakeWorker>, branch: u8, to: Height) {
        loop {
            let height = self.with(|world| {
                let height = world.chain.len() as Height;
                if height <= to {
                    world.chain.push(hash(height, branch));
                }
                height
            });
            if height > to {
                return;
            }
            if let Some(worker) = worker {
                worker.committed(height);
            }
        }
    }
}

fn hash(height: Height, branch: u8) -> B256 {
    let mut hash = B256::left_padding_from(&height.to_be_bytes());
    hash[0] = branch;
    hash
}

impl BakeSource for Fake {
    fn head(&self) -> Height {
        self.world.lock().chain.len() as Height - 1
    }

    fn first_block(&self) -> Height {
        1
    }

    fn canonical(&self, number: Height) -> Option<BlockKey> {
        let hash = *self.world.lock().chain.get(number as usize)?;
        Some(BlockKey { chain_id: CHAIN, number, hash })
    }

    fn has(&self, key: &BlockKey, tracer: BakedTracer) -> bool {
        self.world.lock().baked.contains(&(key.hash, tracer))
    }

    fn bake(&self, key: &BlockKey, tracers: &[BakedTracer], stop: &Cancel) -> Result<Baked, BakeFailure> {
        let act = self.with(|world| {
            world.calls.push((key.number, tracers.to_vec()));
            world.acts.get(&key.number).cloned()
        });
        match act {
            None => {}
            Some(Act::Fail(failure)) => return Err(failure),
            Some(Act::Panic) => std::panic::resume_unwind(Box::new("on purpose")),
            Some(Act::Hang) => {
                let mut world = self.world.lock();
                while world.acts.contains_key(&key.number) && !stop.is_cancelled() {
                    self.changed.wait_for(&mut world, Duration::from_millis(20));
                }
            }
        }
        if stop.is_cancelled() {
            return Err(BakeFailure::Stopped);
        }
        self.with(|world| world.baked.extend(tracers.iter().map(|tracer| (key.hash, *tracer))));
        Ok(Baked { bytes: 10, gas: 21_000 })
    }

    fn flush(&self) -> Result<(), BakeFailure> {
        if self.with(|world| world.full) {
            return Err(BakeFailure::DiskFull { reason: "no space left on device".into() });
        }
        self.with(|world| world.flushed = world.baked.clone());
        Ok(())
    }

    fn damaged(&self) -> Vec<Height> {
        self.with(|world| std::mem::take(&mut world.damaged))
    }

    fn prune_below(&self, height: Height) -> Result<(), BakeFailure> {
        self.with(|world| world.pruned_below = height);
        Ok(())
    }
}

struct Home {
    _dir: tempfile::TempDir,
    file: PathBuf,
}

fn home() -> Home {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("worker.json");
    Home { _dir: dir, file }
}

fn options(file: &Path) -> BakeOptions {
    BakeOptions {
        progress_file: Some(file.to_owned()),
        retry_after: Duration::from_millis(10),
        disk_full_pause: Duration::from_millis(50),
        keep_every: Duration::from_millis(5),
        ..BakeOptions::default()
    }
}

/// A worker, its metrics, and the notices it gave.
struct Started {
    worker: BakeWorker,
    metrics: BakeMetrics,
    notices: Arc<Mutex<Vec<Notice>>>,
}

fn start(fake: &Arc<Fake>, options: BakeOptions) -> Started {
    let metrics = BakeMetrics::new(&Registry::new());
    let notices = Arc::new(Mutex::new(Vec::new()));
    let heard = notices.clone();
    let notice = move |notice| heard.lock().push(notice);
    let worker = BakeWorker::start(fake.clone(), options, metrics.clone(), notice).unwrap();
    Started { worker, metrics, notices }
}

fn eventually(what: &str, so: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < end, "{what} never came");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn baking_begins_at_the_first_commit_after_it_was_enabled() {
    let (home, fake) = (home(), Fake::new(10));
    let Started { worker, metrics, .. } = start(&fake, options(&home.file));
    fake.commit(Some(&worker), 0, 13);
    fake.until_baked(11..=13, BakedTracer::Call);
    worker.stop();
    assert_eq!(fake.baked_heights(), [11, 12, 13]);
    assert_eq!((metrics.baked.value(), metrics.stored_bytes.value(), metrics.lag.value()), (3, 30, 0));
    assert_eq!(fake.with(|world| world.flushed.len()), 3, "flushed when it stopped");
}

#[test]
fn a_window_bounds_where_baking_begins_and_what_is_kept() {
    let (home, fake) = (home(), Fake::new(10));
    let Started { worker, .. } =
        start(&fake, BakeOptions { window_blocks: std::num::NonZeroU64::new(4), ..options(&home.file) });
    fake.until_baked(7..=10, BakedTracer::Call);
    fake.commit(Some(&worker), 0, 20);
    fake.until_baked([20], BakedTracer::Call);
    fake.until("pruning", |world| world.pruned_below == 16);
    worker.stop();
    assert!(fake.baked_heights().iter().all(|height| *height >= 7));
}

#[test]
fn a_full_queue_drops_a_height_that_the_scanner_bakes_later() {
    let (home, fake) = (home(), Fake::new(1));
    fake.with(|world| world.acts.insert(2, Act::Hang));
    let Started { worker, metrics, notices } =
        start(&fake, BakeOptions { queue_size: 1, ..options(&home.file) });
    fake.commit(Some(&worker), 0, 2);
    fake.until("the first bake", |world| world.calls.len() == 1);
    let began = Instant::now();
    fake.commit(Some(&worker), 0, 6);
    assert!(began.elapsed() < PATIENCE, "a commit does not wait");
    assert_eq!((metrics.dropped.value(), metrics.queue_depth.value()), (3, 1));
    fake.with(|world| world.acts.clear());
    fake.until_baked(2..=6, BakedTracer::Call);
    eventually("no lag", || metrics.lag.value() == 0);
    worker.stop();
    assert_eq!(fake.baked_heights(), [2, 3, 4, 5, 6]);
    let dropped = notices.lock().iter().any(|notice| matches!(notice, Notice::Dropped { .. }));
    assert!(dropped, "an operator reads of it");
}

#[test]
fn a_start_catches_up_with_blocks_committed_while_it_was_off() {
    let (home, fake) = (home(), Fake::new(3));
    let Started { worker, .. } = start(&fake, options(&home.file));
    fake.commit(Some(&worker), 0, 5);
    fake.until_baked(4..=5, BakedTracer::Call);
    worker.stop();
    fake.commit(None, 0, 9);
    let Started { worker, .. } = start(&fake, options(&home.file));
    fake.until_baked(4..=9, BakedTracer::Call);
    worker.stop();
    assert_eq!(fake.baked_heights(), [4, 5, 6, 7, 8, 9], "each once, and none before the start");
}

#[test]
fn a_new_tracer_makes_every_height_a_gap_for_it_only() {
    let (home, fake) = (home(), Fake::new(3));
    let Started { worker, .. } = start(&fake, options(&home.file));
    fake.commit(Some(&worker), 0, 6);
    fake.until_baked(4..=6, BakedTracer::Call);
    worker.stop();
    let both = vec![BakedTracer::Call, BakedTracer::Prestate];
    let Started { worker, .. } = start(&fake, BakeOptions { tracers: both.clone(), ..options(&home.file) });
    fake.until_baked(4..=6, BakedTracer::Prestate);
    fake.commit(Some(&worker), 0, 7);
    fake.until_baked([7], BakedTracer::Prestate);
    worker.stop();
    let calls = fake.with(|world| world.calls.split_off(3));
    let prestate = |height| (height, vec![BakedTracer::Prestate]);
    assert_eq!(calls, [prestate(4), prestate(5), prestate(6), (7, both)]);
}

#[test]
fn a_failed_height_is_retried_and_again_after_the_next_start() {
    let (home, fake) = (home(), Fake::new(1));
    let failure = BakeFailure::Transient { reason: "execution timeout".into() };
    fake.with(|world| world.acts.insert(2, Act::Fail(failure)));
    let Started { worker, metrics, notices } = start(&fake, options(&home.file));
    fake.commit(Some(&worker), 0, 4);
    eventually("the end of the retries", || metrics.given_up.value() == 1);
    fake.until_baked(3..=4, BakedTracer::Call);
    worker.stop();
    assert_eq!(metrics.failed.value(), 1 + u64::from(MAX_RETRIES));
    assert_eq!(metrics.lag.value(), 3, "the cursor stays below it");
    let first = notices.lock().first().cloned();
    let again_after = Some(Duration::from_millis(10));
    assert_eq!(first, Some(Notice::Failed { height: 2, reason: "execution timeout".into(), again_after }));
    fake.with(|world| world.acts.clear());
    let Started { worker, metrics, .. } = start(&fake, options(&home.file));
    fake.until_baked([2], BakedTracer::Call);
    eventually("no lag", || metrics.lag.value() == 0);
    worker.stop();
}

#[test]
fn a_panic_is_a_failure_and_the_thread_goes_on() {
    let (home, fake) = (home(), Fake::new(1));
    fake.with(|world| world.acts.insert(2, Act::Panic));
    let Started { worker, notices, .. } = start(&fake, options(&home.file));
    fake.commit(Some(&worker), 0, 3);
    fake.until_baked([3], BakedTracer::Call);
    fake.with(|world| world.acts.clear());
    fake.until_baked([2], BakedTracer::Call);
    worker.stop();
    assert!(
        matches!(&notices.lock()[0], Notice::Failed { height: 2, reason, .. } if reason == "a panic: on purpose")
    );
}

#[test]
fn a_reorg_is_baked_again_on_the_new_branch() {
    let (home, fake) = (home(), Fake::new(1));
    let Started { worker, metrics, .. } = start(&fake, options(&home.file));
    fake.commit(Some(&worker), 0, 6);
    fake.until_baked(2..=6, BakedTracer::Call);
    fake.with(|world| world.chain.truncate(4));
    worker.unwound(3);
    fake.commit(Some(&worker), 1, 7);
    fake.until_baked(4..=7, BakedTracer::Call);
    eventually("no lag", || metrics.lag.value() == 0);
    worker.stop();
    let again = fake.baked_heights();
    assert_eq!(again, [2, 3, 4, 4, 5, 5, 6, 6, 7]);
}

#[test]
fn a_reorg_during_baking_does_not_count_the_old_block() {
    let (home, fake) = (home(), Fake::new(1));
    fake.with(|world| world.acts.insert(2, Act::Hang));
    let Started { worker, metrics, .. } = start(&fake, options(&home.file));
    fake.commit(Some(&worker), 0, 2);
    fake.until("the first bake", |world| world.calls.len() == 1);
    fake.with(|world| world.chain.truncate(2));
    worker.unwound(1);
    fake.commit(Some(&worker), 1, 2);
    fake.with(|world| world.acts.clear());
    fake.until_baked([2], BakedTracer::Call);
    eventually("no lag", || metrics.lag.value() == 0);
    worker.stop();
    assert!(fake.with(|world| world.baked.contains(&(hash(2, 1), BakedTracer::Call))));
}

#[test]
fn after_a_rollback_below_the_first_height_baking_resumes() {
    let (home, fake) = (home(), Fake::new(10));
    let Started { worker, .. } = start(&fake, options(&home.file));
    fake.commit(Some(&worker), 0, 12);
    fake.until_baked(11..=12, BakedTracer::Call);
    worker.stop();
    fake.with(|world| world.chain.truncate(6));
    let Started { worker, metrics, .. } = start(&fake, options(&home.file));
    fake.commit(Some(&worker), 1, 8);
    fake.until_baked(6..=8, BakedTracer::Call);
    eventually("no lag", || metrics.lag.value() == 0);
    worker.stop();
    assert_eq!(fake.baked_heights(), [6, 7, 8, 11, 12]);
}

#[test]
fn a_deleted_cache_is_filled_again_from_the_first_height() {
    let (home, fake) = (home(), Fake::new(1));
    let Started { worker, .. } = start(&fake, options(&home.file));
    fake.commit(Some(&worker), 0, 4);
    fake.until_baked(2..=4, BakedTracer::Call);
    worker.stop();
    fake.with(|world| world.baked.clear());
    let Started { worker, .. } = start(&fake, options(&home.file));
    fake.until_baked(2..=4, BakedTracer::Call);
    worker.stop();
}

#[test]
fn a_full_disk_stops_baking_until_there_is_room() {
    let (home, fake) = (home(), Fake::new(1));
    let full = BakeFailure::DiskFull { reason: "no space left on device".into() };
    fake.with(|world| world.acts.extend([(2, Act::Fail(full.clone())), (3, Act::Fail(full))]));
    let Started { worker, metrics, notices } = start(&fake, options(&home.file));
    fake.commit(Some(&worker), 0, 3);
    eventually("the stop", || metrics.stopped.value() == 1);
    std::thread::sleep(Duration::from_millis(150));
    assert_eq!(metrics.failed.value(), 0, "a full disk is no failure of the block");
    fake.with(|world| world.acts.clear());
    fake.until_baked(2..=3, BakedTracer::Call);
    eventually("baking that goes on", || metrics.stopped.value() == 0);
    worker.stop();
    let notices = notices.lock().clone();
    let [Notice::DiskFull { .. }, Notice::Resumed] = &notices[..] else { panic!("{notices:?}") };
}

#[test]
fn a_row_in_memory_does_not_count_as_disk_space() {
    let (home, fake) = (home(), Fake::new(1));
    let full = BakeFailure::DiskFull { reason: "no space left on device".into() };
    fake.with(|world| {
        world.acts.insert(2, Act::Fail(full));
        world.full = true;
    });
    let Started { worker, metrics, notices } = start(&fake, options(&home.file));
    fake.commit(Some(&worker), 0, 2);
    eventually("the stop", || metrics.stopped.value() == 1);
    // What could not be written is found there, but only in memory.
    fake.with(|world| world.baked.insert((hash(2, 0), BakedTracer::Call)));
    std::thread::sleep(Duration::from_millis(150));
    assert_eq!(metrics.stopped.value(), 1);
    fake.with(|world| world.full = false);
    eventually("baking that goes on", || metrics.stopped.value() == 0 && metrics.lag.value() == 0);
    worker.stop();
    assert_eq!(notices.lock().last(), Some(&Notice::Resumed));
}

#[test]
fn stopping_cancels_what_is_being_baked() {
    let (home, fake) = (home(), Fake::new(1));
    fake.with(|world| world.acts.insert(2, Act::Hang));
    let Started { worker, metrics, .. } = start(&fake, options(&home.file));
    fake.commit(Some(&worker), 0, 2);
    fake.until("the first bake", |world| world.calls.len() == 1);
    let range = worker.bake_range(1, 2).unwrap();
    let began = Instant::now();
    worker.stop();
    assert!(began.elapsed() < PATIENCE);
    assert_eq!((metrics.baked.value(), metrics.failed.value()), (0, 0));
    assert_eq!(range.progress().stopped.as_deref(), Some("stopped"));
    assert!(range.progress().finished);
}

#[test]
fn a_range_bakes_what_is_missing_and_says_what_failed() {
    let fake = Fake::new(9);
    let failure = BakeFailure::Failed { reason: "no state".into() };
    fake.with(|world| {
        world.acts.insert(5, Act::Fail(failure));
        world.baked.insert((hash(3, 0), BakedTracer::Call));
    });
    let alone = BakeOptions { workers: 3, ..BakeOptions::default() };
    let Started { worker, .. } = start(&fake, alone);
    assert!(worker.bake_range(7, 6).is_none());
    let range = worker.bake_range(2, 12).unwrap();
    let end = Instant::now() + PATIENCE;
    while !range.wait(Duration::from_millis(50)).finished {
        assert!(Instant::now() < end);
    }
    let mut progress = range.progress();
    progress.failures.sort_by_key(|failure| failure.height);
    let failed = |height, reason: &str| RangeFailure { height, reason: reason.into() };
    let none = "there is no such block";
    let failures = [failed(5, "no state"), failed(10, none), failed(11, none), failed(12, none)];
    assert_eq!(progress.failures, failures);
    let counts = (progress.total, progress.done, progress.baked, progress.known, progress.failed);
    assert_eq!(counts, (11, 11, 6, 1, 4));
    assert_eq!((progress.gas, progress.bytes, progress.stopped), (6 * 21_000, 60, None));
    worker.stop();
}

#[test]
fn a_row_that_was_damaged_is_baked_again() {
    let (home, fake) = (home(), Fake::new(1));
    let Started { worker, .. } = start(&fake, options(&home.file));
    fake.commit(Some(&worker), 0, 3);
    fake.until_baked(2..=3, BakedTracer::Call);
    fake.with(|world| {
        world.baked.remove(&(hash(2, 0), BakedTracer::Call));
        world.damaged.push(2);
    });
    fake.until_baked([2], BakedTracer::Call);
    worker.stop();
}

#[test]
fn several_threads_bake_each_block_once() {
    let (home, fake) = (home(), Fake::new(1));
    let Started { worker, metrics, .. } = start(&fake, BakeOptions { workers: 4, ..options(&home.file) });
    fake.commit(Some(&worker), 0, 400);
    fake.until_baked(2..=400, BakedTracer::Call);
    eventually("no lag", || metrics.lag.value() == 0);
    worker.stop();
    assert_eq!(fake.baked_heights(), (2..=400).collect::<Vec<_>>());
}

#[test]
fn no_range_begins_once_the_worker_stopped() {
    let (home, fake) = (home(), Fake::new(5));
    let Started { worker, .. } = start(&fake, options(&home.file));
    let range = worker.bake_range(1, 2).unwrap();
    worker.stop();
    assert!(range.wait(Duration::from_secs(60)).finished);
    assert!(worker.bake_range(3, 4).is_none());
}
