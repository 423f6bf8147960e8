//! History below the oldest height goes, in the background.
//!
//! A commit raises [`Core::oldest`] and its WAL record says so; views below it refuse from then on.
//! Only then, and a bounded number of rows at a time, are the rows deleted that no height from
//! there on can read: of each row that a block at or below the oldest height changed, what it was
//! before. How far that went stands in the metadata, written with the deletions, so that after a
//! crash it continues where it was.

use crate::{FlatKvError, shared::Core};
use hearth_flatkv_storage::{
    db::{Db, Family},
    failpoints::{Failpoint, failpoint},
    rows::{BlockChanges, account_history, at_height, legacy_history, meta, slot_history},
};
use hearth_metrics::{Level, LogEntry};
use hearth_primitives::{Height, StateError};
use std::{
    sync::{
        Arc, Weak,
        atomic::Ordering::SeqCst,
        mpsc::{Receiver, RecvTimeoutError, sync_channel},
    },
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

/// Rows of history looked up, and at most about as many deleted, in one step: commits wait for a
/// step's write.
const STEP_ROWS: usize = 1024;
/// Pause after a step, so that pruning a long chain leaves time for everything else.
const STEP_PAUSE: Duration = Duration::from_millis(1);
/// Pause after a step that failed, before the next try.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Least time between two lines of the log: at the head of a chain, each block lets one go.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// The thread that prunes; dropping this ends it, after the step under way.
pub(crate) struct Pruner {
    core: Weak<Core>,
    thread: Option<JoinHandle<()>>,
}

impl Pruner {
    /// Starts the thread where there is, or will be, anything to prune.
    pub(crate) fn start(core: &Arc<Core>) -> Result<Option<Self>, FlatKvError> {
        if core.history_blocks.is_none() && core.pruning.pruned.load(SeqCst) >= core.oldest.load(SeqCst) {
            return Ok(None);
        }
        let (wake, woken) = sync_channel(1);
        // What a crash left undone is done without a commit.
        let _ = wake.try_send(());
        *core.pruning.wake.lock() = Some(wake);
        let weak = Arc::downgrade(core);
        let thread = Builder::new().name("flatkv-prune".into()).spawn(move || run(&weak, &woken));
        let thread = thread.map_err(|error| StateError::failed("thread of pruning", error))?;
        Ok(Some(Self { core: Arc::downgrade(core), thread: Some(thread) }))
    }
}

impl Drop for Pruner {
    fn drop(&mut self) {
        if let Some(core) = self.core.upgrade() {
            drop(core.pruning.wake.lock().take());
        }
        if let Some(thread) = self.thread.take() {
            // The thread answers nothing; joining only keeps it from outliving the store.
            let _ = thread.join();
        }
    }
}

/// Pruned rows that are not in the log yet.
struct Unreported {
    from: Height,
    rows: u64,
    took: Duration,
    /// Time of the last line of the log, or of the start of the thread.
    last: Instant,
    /// Whether there was no line yet.
    first: bool,
}

impl Unreported {
    fn since(from: Height, first: bool) -> Self {
        Self { from, rows: 0, took: Duration::ZERO, last: Instant::now(), first }
    }

    /// Writes a line to the log, where anything was pruned and the last time is long enough ago, or
    /// all is done for the first time.
    fn report(&mut self, core: &Core, more: bool) {
        let pruned = core.pruning.pruned.load(SeqCst);
        let due = self.last.elapsed() >= TELL_EVERY || (self.first && !more);
        if pruned == self.from || !due {
            return;
        }
        let entry = LogEntry::new(Level::Info, "stores", "old history was pruned").number("height", pruned);
        let entry = entry.count("blocks", pruned - self.from).count("rows", self.rows);
        core.metrics.log.add(entry.seconds(self.took));
        *self = Self::since(pruned, false);
    }
}

/// Waits until the next try; false where the store is closed meanwhile.
fn pause(woken: &Receiver<()>) -> bool {
    let until = Instant::now() + RETRY_PAUSE;
    loop {
        match woken.recv_timeout(until.saturating_duration_since(Instant::now())) {
            // What the commit lets go is part of the next try.
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}

/// Whether no later try can succeed. The store failed or is closed: the next opening continues. A
/// block whose changes do not read is left to `hearth db verify`; nothing is deleted without them.
fn is_final(error: &FlatKvError) -> bool {
    use FlatKvError::{Closed, Failed, ReadOnly};
    error.is_damage() || matches!(error, Closed | Failed { .. } | ReadOnly)
}

fn run(core: &Weak<Core>, woken: &Receiver<()>) {
    let mut block = None;
    let mut warned: Option<Instant> = None;
    let pruned = core.upgrade().map_or(0, |core| core.pruning.pruned.load(SeqCst));
    let mut unreported = Unreported::since(pruned, true);
    while woken.recv().is_ok() {
        loop {
            let Some(core) = core.upgrade() else { return };
            // The thread is to end as soon as no thread can wake it any more.
            if core.pruning.wake.lock().is_none() {
                return;
            }
            let began = Instant::now();
            let step = core.prune_step(&mut block);
            unreported.took += began.elapsed();
            match step {
                Ok(Pruned { rows, more }) => {
                    unreported.rows += rows;
                    unreported.report(&core, more);
                    if !more {
                        break;
                    }
                }
                Err(error) => {
                    if core.pruning.wake.lock().is_none() {
                        return;
                    }
                    let ends = is_final(&error);
                    if ends || warned.is_none_or(|last| last.elapsed() >= TELL_EVERY) {
                        let message = match ends {
                            true => "pruning of history stopped",
                            false => "pruning of history failed and is tried again",
                        };
                        let entry = LogEntry::new(Level::Warn, "stores", message);
                        core.metrics.log.add(entry.text("why", error));
                        warned = Some(Instant::now());
                    }
                    if ends {
                        return;
                    }
                    // Rows that the step took from it are not deleted.
                    block = None;
                    drop(core);
                    if !pause(woken) {
                        return;
                    }
                    continue;
                }
            }
            drop(core);
            std::thread::sleep(STEP_PAUSE);
        }
    }
}

/// What a step did.
pub(crate) struct Pruned {
    /// Rows of history that went.
    rows: u64,
    /// Whether there are more.
    more: bool,
}

/// A block whose predecessors' rows are being deleted.
pub(crate) struct PrunedBlock {
    height: Height,
    /// What the history rows of each row begin with that the block changed, and whether it deleted
    /// the row.
    rows: std::vec::IntoIter<(Vec<u8>, bool)>,
}

impl PrunedBlock {
    fn new(height: Height, changes: BlockChanges) -> Self {
        let mut rows = Vec::new();
        for change in changes.accounts {
            if change.old != change.new {
                rows.push((account_history(&change.address), change.new.is_none()));
            }
            let slots = change.storage.iter();
            rows.extend(slots.map(|slot| (slot_history(&change.address, &slot.slot), slot.new.is_zero())));
        }
        let legacy = changes.legacy.iter();
        rows.extend(legacy.map(|row| (legacy_history(&row.write.key), row.write.value.is_none())));
        Self { height, rows: rows.into_iter() }
    }

    fn read(db: &Db, height: Height) -> Result<Self, StateError> {
        Ok(Self::new(height, crate::unwind::block_changes(db, height)?))
    }
}

impl Core {
    /// Deletes some of the rows that no height from the oldest on can read.
    pub(crate) fn prune_step(&self, block: &mut Option<PrunedBlock>) -> Result<Pruned, FlatKvError> {
        let (pruned, oldest) = (self.pruning.pruned.load(SeqCst), self.oldest.load(SeqCst));
        let mut gone = 0;
        if pruned >= oldest {
            return Ok(Pruned { rows: gone, more: false });
        }
        let height = pruned + 1;
        let block = match block {
            Some(block) if block.height == height => block,
            block => block.insert(PrunedBlock::read(&self.db, height)?),
        };
        let mut batch = self.db.batch()?;
        for (prefix, deleted) in block.rows.by_ref().take(STEP_ROWS) {
            let mut rows = self.db.history(&prefix, &at_height(prefix.clone(), pruned))?;
            while let Some((key, _)) = rows.row() {
                batch.delete(Family::History, key);
                gone += 1;
                rows.next();
            }
            rows.finish()?;
            if deleted {
                // Without any row there is none at this height either.
                batch.delete(Family::History, &at_height(prefix, height));
                gone += 1;
            }
        }
        let done = block.rows.len() == 0;
        if done {
            // The block at the oldest height stays known: an unwind may end there.
            batch.delete(Family::Changes, &pruned.to_be_bytes());
            batch.put(Family::Metadata, meta::PRUNED, &height.to_be_bytes());
        }
        let mut writer = self.lock_writer();
        writer.check()?;
        writer.unflushed.fill(batch.bytes());
        failpoint(Failpoint::Prune);
        let written = batch.write().map_err(FlatKvError::from);
        writer.fail(written)?;
        if done {
            self.pruning.pruned.store(height, SeqCst);
        }
        self.after_write(&mut writer);
        Ok(Pruned { rows: gone, more: self.pruning.pruned.load(SeqCst) < oldest })
    }
}
