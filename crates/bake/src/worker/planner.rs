//! What is baked next. First what was just committed, then failures whose time has come, then
//! ranges that were requested, then gaps. Knows no threads and reads no clock.

use super::{
    failures::{Failures, Verdict},
    inbox::HeadUpdate,
    options::{MAX_RANGES, SCAN_GAPS, SCAN_HEIGHTS},
    progress::Progress,
    range::{Range, RangeControl, RangeStep},
    source::{BakeFailure, Baked},
};
use hearth_primitives::Height;
use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Instant,
};

/// Why a height is baked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It was committed.
    Committed,
    /// It failed before.
    Retry,
    /// It is part of a range that was requested.
    Range(u64),
    /// It is missing.
    Gap,
}

/// A height to bake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) height: Height,
    pub(crate) reason: Reason,
    /// Number of unwinds of the chain when the task was started.
    epoch: u64,
}

/// Heights to look at for gaps, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scan {
    pub(crate) from: Height,
    pub(crate) to: Height,
    epoch: u64,
}

/// What became of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The block no longer exists.
    Gone,
    /// The cache has it already.
    Known,
    Baked(Baked),
    Failed(BakeFailure),
}

/// What the rest of the worker has to do after a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FollowUp {
    Nothing,
    /// The height failed.
    Failed(Verdict),
    /// The disk is full: nothing is baked for a while.
    DiskFull,
}

/// The plan.
#[derive(Debug)]
pub(crate) struct Planner {
    /// Without it ranges alone are baked.
    pub(crate) progress: Option<Progress>,
    failures: Failures,
    ranges: VecDeque<Range>,
    next_range: u64,
    gaps: VecDeque<Height>,
    busy: HashSet<Height>,
    /// Heights that were requested while they were being baked.
    again: HashSet<Height>,
    /// The gap scanner looks from here on.
    scan_at: Height,
    scanning: bool,
    /// Finished heights above the cursor were too many to remember.
    forgot: bool,
    /// How often the chain went back.
    epoch: u64,
    /// Nothing is baked until then: the disk is full.
    pub(crate) stalled_until: Option<Instant>,
}

impl Planner {
    pub(crate) fn new(progress: Option<Progress>, failures: Failures) -> Self {
        let scan_at = progress.as_ref().map_or(0, |progress| progress.cursor() + 1);
        Self {
            progress,
            failures,
            ranges: VecDeque::new(),
            next_range: 0,
            gaps: VecDeque::new(),
            busy: HashSet::new(),
            again: HashSet::new(),
            scan_at,
            scanning: false,
            forgot: false,
            epoch: 0,
            stalled_until: None,
        }
    }

    /// Takes note of what happened on the chain.
    pub(crate) fn absorb(&mut self, news: &HeadUpdate) {
        let Some(progress) = &mut self.progress else { return };
        if let Some(to) = news.unwound_to {
            self.epoch += 1;
            progress.unwound(to);
            self.failures.unwound(to);
            self.gaps.retain(|height| *height <= to);
            self.scan_at = self.scan_at.min(to.saturating_add(1));
        }
        if let Some(height) = news.lowest_committed {
            progress.committed(height);
        }
        if let Some(height) = news.lowest_dropped {
            self.scan_at = self.scan_at.min(height);
        }
        self.scan_at = self.scan_at.max(progress.start());
    }

    /// Heights below this one have left the window.
    pub(crate) fn window_begins(&mut self, at: Height) {
        let Some(progress) = &mut self.progress else { return };
        if at > progress.start() {
            let cursor = progress.cursor();
            progress.start_at(at);
            self.scan_at = self.scan_at.max(at);
            self.look_again(cursor);
        }
    }

    /// Finished heights that were forgotten are found again once the gap above `cursor`, where the
    /// cursor was, is closed: a scan before that could not move the cursor, and each block would
    /// begin one that is as long as the chain above the gap.
    fn look_again(&mut self, cursor: Height) {
        let Some(progress) = &self.progress else { return };
        if self.forgot && progress.cursor() > cursor {
            self.forgot = false;
            self.scan_at = self.scan_at.min(progress.cursor() + 1);
        }
    }

    fn start_task(&mut self, height: Height, reason: Reason) -> Option<Task> {
        if self.busy.insert(height) {
            return Some(Task { height, reason, epoch: self.epoch });
        }
        self.again.insert(height);
        None
    }

    /// A height that was committed is to be baked, unless that happens already.
    pub(crate) fn take_committed(&mut self, height: Height) -> Option<Task> {
        self.start_task(height, Reason::Committed)
    }

    /// What is to be baked where nothing was committed.
    pub(crate) fn take_other(&mut self, now: Instant) -> Option<Task> {
        while let Some(height) = self.failures.take_due(now) {
            if let Some(task) = self.start_task(height, Reason::Retry) {
                return Some(task);
            }
        }
        if let Some(task) = self.take_of_range() {
            return Some(task);
        }
        let start = self.progress.as_ref().map_or(0, Progress::start);
        while let Some(height) = self.gaps.pop_front() {
            if height >= start
                && let Some(task) = self.start_task(height, Reason::Gap)
            {
                return Some(task);
            }
        }
        None
    }

    fn take_of_range(&mut self) -> Option<Task> {
        let epoch = self.epoch;
        let mut taken = None;
        for range in &mut self.ranges {
            if let Some(height) = range.take() {
                taken = Some((height, range.id));
                break;
            }
        }
        self.ranges.retain(|range| !range.is_over());
        let (height, id) = taken?;
        // A height that is being baked for another reason is baked once more: the second finds it
        // there, or both put the same bytes.
        self.busy.insert(height);
        Some(Task { height, reason: Reason::Range(id), epoch })
    }

    /// Heights to look at for gaps, unless a search is running.
    pub(crate) fn take_scan(&mut self, head: Height) -> Option<Scan> {
        let wanted =
            self.progress.is_some() && !self.scanning && self.scan_at <= head && self.gaps.is_empty();
        if !wanted {
            return None;
        }
        self.scanning = true;
        let to = head.min(self.scan_at.saturating_add(SCAN_HEIGHTS - 1));
        Some(Scan { from: self.scan_at, to, epoch: self.epoch })
    }

    /// What a scan found: the heights up to `reached` that are missing, at most [`SCAN_GAPS`] of
    /// them.
    pub(crate) fn scanned(&mut self, scan: Scan, reached: Height, missing: &[Height]) {
        self.scanning = false;
        let Some(progress) = &mut self.progress else { return };
        if scan.epoch != self.epoch {
            return;
        }
        let cursor = progress.cursor();
        if scan.from <= cursor + 1 {
            progress.done_up_to(missing.first().map_or(reached, |first| first - 1));
        }
        // What was found above a gap: the cursor moves over it when the gap is closed.
        for height in scan.from.max(progress.cursor() + 1)..=reached {
            if missing.binary_search(&height).is_err() && !progress.done(height) {
                self.forgot = true;
            }
        }
        // Where it went down meanwhile, something was dropped below.
        if self.scan_at == scan.from {
            self.scan_at = reached + 1;
        }
        self.look_again(cursor);
        debug_assert!(missing.len() <= SCAN_GAPS);
        self.gaps.extend(missing.iter().filter(|height| !self.failures.knows(**height)));
    }

    /// Whether anything waits for an idle worker at this moment.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.failures.next_due()
    }

    /// Adds a range of heights, both included. `None` where too many wait already.
    pub(crate) fn add_range(&mut self, from: Height, to: Height) -> Option<Arc<RangeControl>> {
        if self.ranges.len() >= MAX_RANGES {
            return None;
        }
        let range = Range::new(self.next_range, from, to);
        self.next_range += 1;
        let control = range.control.clone();
        self.ranges.push_back(range);
        Some(control)
    }

    /// Ends every range.
    pub(crate) fn stop_ranges(&mut self, reason: &str) {
        for range in &mut self.ranges {
            range.stop(reason);
        }
        self.ranges.retain(|range| !range.is_over());
    }

    /// Finishes every range, also one whose heights are still being baked: the threads are gone.
    pub(crate) fn finish_ranges(&mut self, reason: &str) {
        for mut range in self.ranges.drain(..) {
            range.stop(reason);
            range.abandon();
        }
    }

    /// Baked rows of these heights were found to be damaged, and dropped. Those for which there is
    /// no room are reported again.
    pub(crate) fn damaged(&mut self, heights: &[Height]) {
        if self.progress.is_none() {
            return;
        }
        for height in heights {
            let wanted = !self.failures.knows(*height) && !self.gaps.contains(height);
            if wanted && self.gaps.len() < SCAN_GAPS {
                self.gaps.push_back(*height);
            }
        }
    }

    /// A task is over.
    pub(crate) fn finish(
        &mut self,
        task: Task,
        outcome: Outcome,
        now: Instant,
        stall_until: Instant,
    ) -> FollowUp {
        let height = task.height;
        self.busy.remove(&height);
        if self.again.remove(&height) {
            self.gaps.push_front(height);
        }
        if let Reason::Range(id) = task.reason {
            return self.finish_of_range(id, height, outcome, stall_until);
        }
        match outcome {
            Outcome::Gone | Outcome::Failed(BakeFailure::Stopped) => {
                self.failures.forget(height);
                FollowUp::Nothing
            }
            Outcome::Known | Outcome::Baked(_) => {
                self.failures.forget(height);
                self.succeeded(task);
                FollowUp::Nothing
            }
            Outcome::Failed(BakeFailure::DiskFull { .. }) => {
                self.gaps.push_front(height);
                self.stalled_until = Some(stall_until);
                FollowUp::DiskFull
            }
            Outcome::Failed(BakeFailure::Transient { .. } | BakeFailure::Failed { .. }) => {
                if self.epoch != task.epoch {
                    // Perhaps the chain went back while it ran. The present rows are looked at
                    // afresh.
                    self.scan_at = self.scan_at.min(height);
                    return FollowUp::Nothing;
                }
                FollowUp::Failed(self.failures.add(height, now))
            }
        }
    }

    fn succeeded(&mut self, task: Task) {
        self.stalled_until = None;
        let Some(progress) = &mut self.progress else { return };
        if task.epoch != self.epoch {
            self.scan_at = self.scan_at.min(task.height).max(progress.start());
            return;
        }
        let cursor = progress.cursor();
        let closes_gap = task.height == cursor + 1;
        let remembered = progress.done(task.height);
        if !remembered {
            self.forgot = true;
        } else if closes_gap && task.reason != Reason::Committed {
            // What lies above the gap was baked before, by a scan that could not move the cursor
            // over the gap.
            self.scan_at = self.scan_at.min(progress.cursor() + 1);
        }
        self.look_again(cursor);
    }

    fn finish_of_range(
        &mut self,
        id: u64,
        height: Height,
        outcome: Outcome,
        stall_until: Instant,
    ) -> FollowUp {
        let Some(range) = self.ranges.iter_mut().find(|range| range.id == id) else {
            return FollowUp::Nothing;
        };
        let follow_up = match outcome {
            Outcome::Gone => {
                range.done(height, RangeStep::Failed("there is no such block".to_owned()));
                FollowUp::Nothing
            }
            Outcome::Known => {
                range.done(height, RangeStep::Known);
                FollowUp::Nothing
            }
            Outcome::Baked(Baked { bytes, gas }) => {
                range.done(height, RangeStep::Baked { gas, bytes });
                self.stalled_until = None;
                FollowUp::Nothing
            }
            Outcome::Failed(failure) => {
                let reason = failure.to_string();
                let follow_up = match failure {
                    BakeFailure::Stopped => FollowUp::Nothing,
                    BakeFailure::DiskFull { .. } => FollowUp::DiskFull,
                    BakeFailure::Transient { .. } | BakeFailure::Failed { .. } => {
                        FollowUp::Failed(Verdict::GivenUp)
                    }
                };
                if follow_up != FollowUp::Failed(Verdict::GivenUp) {
                    range.stop(&reason);
                }
                range.done(height, RangeStep::Failed(reason));
                follow_up
            }
        };
        if follow_up == FollowUp::DiskFull {
            self.stalled_until = Some(stall_until);
        }
        self.ranges.retain(|range| !range.is_over());
        follow_up
    }
}

#[cfg(test)]
mod tests;
