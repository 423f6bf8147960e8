//! What the threads share, and what each of them does.

use super::{
    failures::{Failures, Verdict},
    inbox::Inbox,
    notice::Notice,
    options::{BakeOptions, SCAN_GAPS},
    planner::{FollowUp, Outcome, Planner, Scan, Task},
    progress::{Kept, Progress},
    range::RangeControl,
    source::{BakeFailure, BakeSource},
};
use crate::{BakeError, BlockKey};
use hearth_metrics::BakeMetrics;
use hearth_primitives::Height;
use hearth_priority::lower_priority;
use hearth_tracers::Cancel;
use parking_lot::Mutex;
use std::num::NonZeroU64;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

/// The nice value of a thread that bakes: it gets what others leave, and a little where they leave
/// nothing, so that it never holds a lock for long without running.
const NICE: i32 = 19;

/// Drops between two notices of drops.
const DROPS_A_NOTICE: u64 = 256;

/// What a thread does next.
enum Next {
    Bake(Task),
    Scan(Scan),
    Keep,
    Wait(Duration),
    Stop,
}

/// What was made durable last.
#[derive(Debug)]
struct KeptState {
    due: Instant,
    written: Option<Kept>,
    /// Something was baked since.
    dirty: bool,
    pruned_below: Height,
}

pub(crate) struct Shared {
    source: Arc<dyn BakeSource>,
    options: BakeOptions,
    metrics: BakeMetrics,
    notice: Box<dyn Fn(Notice) + Send + Sync>,
    stop: Cancel,
    pub(crate) inbox: Inbox,
    planner: Mutex<Planner>,
    kept: Mutex<KeptState>,
}

impl Shared {
    pub(crate) fn new(
        source: Arc<dyn BakeSource>,
        options: BakeOptions,
        metrics: BakeMetrics,
        notice: Box<dyn Fn(Notice) + Send + Sync>,
    ) -> Result<Self, BakeError> {
        let progress = options.progress_file.as_deref().map(|path| progress_of(&*source, &options, path));
        let inbox = Inbox::new(options.queue_size, metrics.queue_depth.clone(), metrics.dropped.clone());
        let planner = Planner::new(progress, Failures::new(options.retry_after));
        let kept = KeptState { due: Instant::now(), written: None, dirty: false, pruned_below: 0 };
        let stop = Cancel::new();
        let (planner, kept) = (Mutex::new(planner), Mutex::new(kept));
        let shared = Self { source, options, metrics, notice, stop, inbox, planner, kept };
        shared.note_progress()?;
        Ok(shared)
    }

    /// What each thread does until the end.
    pub(crate) fn run(&self) {
        lower_priority(NICE);
        loop {
            let (next, seen) = self.next();
            match next {
                Next::Bake(task) => self.bake(task),
                Next::Scan(scan) => self.scan(scan),
                Next::Keep => self.keep(),
                Next::Wait(at_most) => self.inbox.wait(seen, at_most),
                Next::Stop => return,
            }
        }
    }

    /// Requests the end of the threads; running bakes are cancelled.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
        self.planner.lock().stop_ranges("stopped");
        self.inbox.ring();
    }

    pub(crate) fn bake_range(&self, from: Height, to: Height) -> Option<Arc<RangeControl>> {
        let control = {
            let mut planner = self.planner.lock();
            // Under the lock that ends the ranges when the worker stops: no range begins after
            // that, for it would never finish.
            let wanted = from <= to && !self.stop.is_cancelled();
            wanted.then(|| planner.add_range(from, to)).flatten()
        };
        self.inbox.ring();
        control
    }

    fn next(&self) -> (Next, u64) {
        let head = self.source.head();
        let mut planner = self.planner.lock();
        let seen = self.absorb(&mut planner, head);
        (self.choose(&mut planner, head), seen)
    }

    /// Brings the plan up to date with the chain; a number to wait with.
    fn absorb(&self, planner: &mut Planner, head: Height) -> u64 {
        let (news, seen) = self.inbox.news();
        planner.absorb(&news);
        if let Some(oldest) = self.oldest_wanted(head) {
            planner.window_begins(oldest);
        }
        if let Some(height) = news.lowest_dropped {
            let total = self.metrics.dropped.value();
            if total / DROPS_A_NOTICE != (total - news.dropped) / DROPS_A_NOTICE || total == news.dropped {
                (self.notice)(Notice::Dropped { height, total });
            }
        }
        seen
    }

    /// Lowest height of the window; `None` where everything is kept.
    fn oldest_wanted(&self, head: Height) -> Option<Height> {
        self.options.window_blocks.map(|window| head.saturating_add(1).saturating_sub(window.get()))
    }

    fn choose(&self, planner: &mut Planner, head: Height) -> Next {
        let now = Instant::now();
        if self.stop.is_cancelled() {
            return Next::Stop;
        }
        if let Some(until) = planner.stalled_until.filter(|until| *until > now) {
            return Next::Wait(until - now);
        }
        let keep_due = self.keep_due();
        if keep_due <= now {
            return Next::Keep;
        }
        while let Some(height) = self.inbox.pop() {
            if self.is_wanted(height, head)
                && let Some(task) = planner.take_committed(height)
            {
                return Next::Bake(task);
            }
        }
        if let Some(task) = planner.take_other(now) {
            return Next::Bake(task);
        }
        if let Some(scan) = planner.take_scan(head) {
            return Next::Scan(scan);
        }
        let until = planner.next_due().map_or(keep_due, |due| due.min(keep_due));
        Next::Wait(until.saturating_duration_since(now))
    }

    /// Whether the window has not passed a height that waited long.
    fn is_wanted(&self, height: Height, head: Height) -> bool {
        self.oldest_wanted(head).is_none_or(|oldest| height >= oldest)
    }

    fn bake(&self, task: Task) {
        let began = Instant::now();
        let outcome = self.outcome(task.height);
        self.measure(&outcome, began);
        let stall = began + self.options.disk_full_pause;
        let (follow_up, was_stalled) = {
            let head = self.source.head();
            let mut planner = self.planner.lock();
            let was_stalled = planner.stalled_until.is_some();
            self.absorb(&mut planner, head);
            let follow_up = planner.finish(task, outcome.clone(), Instant::now(), stall.max(Instant::now()));
            self.measure_lag(&planner, head);
            (follow_up, was_stalled)
        };
        self.report(task.height, follow_up, &outcome, was_stalled);
    }

    /// Bakes what is missing of a height.
    fn outcome(&self, height: Height) -> Outcome {
        let Some(key) = self.source.canonical(height) else { return Outcome::Gone };
        let missing: Vec<_> =
            self.options.tracers.iter().copied().filter(|tracer| !self.source.has(&key, *tracer)).collect();
        if missing.is_empty() {
            return self.known();
        }
        let baked = catch_unwind(AssertUnwindSafe(|| self.source.bake(&key, &missing, &self.stop)));
        match baked {
            Ok(Ok(baked)) => Outcome::Baked(baked),
            Ok(Err(_)) if self.stop.is_cancelled() => Outcome::Failed(BakeFailure::Stopped),
            Ok(Err(failure)) => Outcome::Failed(failure),
            Err(panic) => {
                let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
                let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
                Outcome::Failed(BakeFailure::Failed { reason: format!("a panic: {text}") })
            }
        }
    }

    /// A block that is there. After the disk was full it may be one whose bytes could not be
    /// written then and wait in memory: only if they can be written now, there is room again.
    fn known(&self) -> Outcome {
        if self.planner.lock().stalled_until.is_none() {
            return Outcome::Known;
        }
        match self.source.flush() {
            Err(full @ BakeFailure::DiskFull { .. }) => Outcome::Failed(full),
            _ => Outcome::Known,
        }
    }

    fn measure_lag(&self, planner: &Planner, head: Height) {
        let cursor = planner.progress.as_ref().map(Progress::cursor);
        self.metrics.lag.set_unsigned(cursor.map_or(0, |cursor| head.saturating_sub(cursor)));
    }

    fn measure(&self, outcome: &Outcome, began: Instant) {
        match outcome {
            Outcome::Baked(baked) => {
                self.metrics.baked.add(1);
                self.metrics.stored_bytes.add(baked.bytes);
                self.metrics.block.record_duration(began.elapsed());
                self.kept.lock().dirty = true;
            }
            Outcome::Failed(BakeFailure::Transient { .. } | BakeFailure::Failed { .. }) => {
                self.metrics.failed.add(1);
            }
            Outcome::Known => self.kept.lock().dirty = true,
            Outcome::Gone | Outcome::Failed(_) => {}
        }
    }

    fn report(&self, height: Height, follow_up: FollowUp, outcome: &Outcome, was_stalled: bool) {
        let reason = match outcome {
            Outcome::Failed(failure) => failure.to_string(),
            _ => String::new(),
        };
        match follow_up {
            FollowUp::DiskFull => {
                self.metrics.stopped.set(1);
                if !was_stalled {
                    let again_after = self.options.disk_full_pause;
                    (self.notice)(Notice::DiskFull { reason, again_after });
                }
            }
            FollowUp::Failed(Verdict::GivenUp) => {
                self.metrics.given_up.add(1);
                (self.notice)(Notice::GivenUp { height, reason });
            }
            FollowUp::Failed(Verdict::RetryAfter(after)) => {
                (self.notice)(Notice::Failed { height, reason, again_after: Some(after) });
            }
            FollowUp::Nothing if was_stalled && matches!(outcome, Outcome::Baked(_) | Outcome::Known) => {
                self.metrics.stopped.set(0);
                (self.notice)(Notice::Resumed);
            }
            FollowUp::Nothing => {}
        }
    }

    /// Looks for heights that are missing, up to the first few.
    fn scan(&self, scan: Scan) {
        let mut missing = Vec::new();
        let mut reached = scan.from - 1;
        for height in scan.from..=scan.to {
            if missing.len() == SCAN_GAPS || self.stop.is_cancelled() {
                break;
            }
            reached = height;
            let baked = self.source.canonical(height).is_some_and(|key| self.is_baked(&key));
            if !baked {
                missing.push(height);
            }
        }
        let head = self.source.head();
        let mut planner = self.planner.lock();
        planner.scanned(scan, reached, &missing);
        self.measure_lag(&planner, head);
        drop(planner);
        self.kept.lock().dirty = true;
        self.inbox.ring();
    }

    fn is_baked(&self, key: &BlockKey) -> bool {
        self.options.tracers.iter().all(|tracer| self.source.has(key, *tracer))
    }

    /// When it is time for [`Self::keep`].
    fn keep_due(&self) -> Instant {
        self.kept.lock().due
    }

    /// Makes durable what was baked and how far that is, prunes, and requests damaged rows again.
    pub(crate) fn keep(&self) {
        let damaged = self.source.damaged();
        if !damaged.is_empty() {
            self.planner.lock().damaged(&damaged);
        }
        let dirty = {
            let mut kept = self.kept.lock();
            kept.due = Instant::now() + self.options.keep_every;
            std::mem::take(&mut kept.dirty)
        };
        if dirty {
            self.make_durable();
        }
    }

    /// The threads are gone: ranges that one of them left behind are finished, and what they did is
    /// made durable.
    pub(crate) fn close(&self) {
        self.planner.lock().finish_ranges("stopped");
        self.make_durable();
    }

    fn make_durable(&self) {
        let follow_up = |error: &dyn std::fmt::Display| Notice::Progress { reason: error.to_string() };
        let done = self.source.flush().map_err(|error| follow_up(&error));
        let done = done.and_then(|()| self.note_progress().map_err(|error| follow_up(&error)));
        let done = done.and_then(|()| self.prune().map_err(|error| follow_up(&error)));
        if let Err(notice) = done {
            (self.notice)(notice);
        }
    }

    /// Writes how far baking is, where that is new.
    fn note_progress(&self) -> Result<(), BakeError> {
        let Some(path) = &self.options.progress_file else { return Ok(()) };
        let (start, cursor) = {
            let planner = self.planner.lock();
            let Some(progress) = &planner.progress else { return Ok(()) };
            (progress.start(), progress.cursor())
        };
        // Below the first block there is none to name; nothing is baked then.
        let at = self.source.canonical(cursor).or_else(|| self.source.canonical(self.source.head()));
        let Some(key) = at else { return Ok(()) };
        let key = BlockKey { number: cursor, ..key };
        let now = Kept::new(start, &key, &self.options.tracers);
        let mut kept = self.kept.lock();
        if kept.written.as_ref() != Some(&now) {
            now.write(path)?;
            kept.written = Some(now);
        }
        Ok(())
    }

    /// Forgets blocks that are older than the head minus the window.
    fn prune(&self) -> Result<(), BakeFailure> {
        let Some(window) = self.options.window_blocks else { return Ok(()) };
        let below = self.source.head().saturating_sub(window.get());
        if below <= self.kept.lock().pruned_below {
            return Ok(());
        }
        self.source.prune_below(below)?;
        self.kept.lock().pruned_below = below;
        Ok(())
    }
}

/// Where baking stands in a home: as its file says; from the next block on (or from where the
/// window begins) where it has none.
fn progress_of(source: &dyn BakeSource, options: &BakeOptions, path: &std::path::Path) -> Progress {
    let head = source.head();
    let lowest = source.first_block();
    let chain_id = source.canonical(head).map(|key| key.chain_id);
    let baked = |key: &BlockKey| {
        source.canonical(key.number) == Some(*key)
            && options.tracers.iter().all(|tracer| source.has(key, *tracer))
    };
    let kept = Kept::read(path).zip(chain_id);
    let mut progress = kept
        .and_then(|(kept, chain_id)| kept.progress(chain_id, &options.tracers, baked))
        .unwrap_or_else(|| {
            let next = head.saturating_add(1);
            let begins = |window: NonZeroU64| next.saturating_sub(window.get()).max(lowest);
            Progress::from(options.window_blocks.map_or(next, begins))
        });
    progress.committed(head.saturating_add(1));
    progress
}
