//! Ranges of heights that were requested: `hearth bake`.

use hearth_primitives::Height;
use parking_lot::{Condvar, Mutex};
use serde::Serialize;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// Failures of a range that are kept in words.
pub const MAX_RANGE_FAILURES: usize = 16;

/// A block of a range that was not baked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RangeFailure {
    /// Its height.
    pub height: Height,
    /// Why not.
    pub reason: String,
}

/// How far a range is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RangeProgress {
    /// Heights of the range.
    pub total: u64,
    /// Heights that were looked at: those below, together.
    pub done: u64,
    /// Blocks baked now.
    pub baked: u64,
    /// Blocks that were baked already.
    pub known: u64,
    /// Blocks that could not be baked.
    pub failed: u64,
    /// Gas of the blocks baked now.
    pub gas: u64,
    /// Bytes that their answers take.
    pub bytes: u64,
    /// The last height that was looked at.
    pub height: Option<Height>,
    /// The first failures, in words.
    pub failures: Vec<RangeFailure>,
    /// Nothing more will happen.
    pub finished: bool,
    /// It ended before its last height: it was stopped, or the disk is full.
    pub stopped: Option<String>,
}

/// A range under way, shared by the worker and its observers.
#[derive(Debug, Default)]
pub struct RangeControl {
    progress: Mutex<RangeProgress>,
    changed: Condvar,
    cancelled: AtomicBool,
}

impl RangeControl {
    /// How far it is.
    pub fn progress(&self) -> RangeProgress {
        self.progress.lock().clone()
    }

    /// Takes no further height of it.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Waits until the range is finished, at most for a time; how far it is then.
    pub fn wait(&self, at_most: Duration) -> RangeProgress {
        let mut progress = self.progress.lock();
        if !progress.finished {
            self.changed.wait_for(&mut progress, at_most);
        }
        progress.clone()
    }

    fn update(&self, change: impl FnOnce(&mut RangeProgress)) {
        change(&mut self.progress.lock());
        self.changed.notify_all();
    }
}

/// What became of one height of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RangeStep {
    Baked { gas: u64, bytes: u64 },
    Known,
    Failed(String),
}

/// A range as the planner has it.
#[derive(Debug)]
pub(crate) struct Range {
    pub(crate) id: u64,
    next: Height,
    to: Height,
    /// Heights of it that are being baked.
    busy: u64,
    pub(crate) control: Arc<RangeControl>,
}

impl Range {
    /// A range of heights, both included; `from` is not above `to`.
    pub(crate) fn new(id: u64, from: Height, to: Height) -> Self {
        let control = Arc::new(RangeControl::default());
        control.update(|progress| progress.total = (to - from).saturating_add(1));
        Self { id, next: from, to, busy: 0, control }
    }

    /// The next height to bake.
    pub(crate) fn take(&mut self) -> Option<Height> {
        if self.control.cancelled.load(Ordering::Relaxed) {
            self.stop("stopped");
        }
        if self.next > self.to {
            return None;
        }
        let height = self.next;
        self.next += 1;
        self.busy += 1;
        Some(height)
    }

    /// A height that was taken is done.
    pub(crate) fn done(&mut self, height: Height, step: RangeStep) {
        self.busy = self.busy.saturating_sub(1);
        self.control.update(|progress| {
            progress.done += 1;
            progress.height = Some(height);
            match step {
                RangeStep::Baked { gas, bytes } => {
                    progress.baked += 1;
                    progress.gas += gas;
                    progress.bytes += bytes;
                }
                RangeStep::Known => progress.known += 1,
                RangeStep::Failed(reason) => {
                    progress.failed += 1;
                    if progress.failures.len() < MAX_RANGE_FAILURES {
                        progress.failures.push(RangeFailure { height, reason });
                    }
                }
            }
        });
    }

    /// Takes no further height.
    pub(crate) fn stop(&mut self, reason: &str) {
        if self.next <= self.to {
            self.next = self.to.saturating_add(1);
            self.control.update(|progress| progress.stopped = Some(reason.to_owned()));
        }
    }

    /// Finishes the range without the heights that are being baked.
    pub(crate) fn abandon(self) {
        self.control.update(|progress| progress.finished = true);
    }

    /// Whether everything of it is done; reported to the watchers.
    pub(crate) fn is_over(&self) -> bool {
        let over = self.next > self.to && self.busy == 0;
        if over {
            self.control.update(|progress| progress.finished = true);
        }
        over
    }
}
