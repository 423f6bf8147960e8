//! What benches leave out of commits, to measure what it costs.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether blocks are put without history and without what unwinding them needs.
static WITHOUT_HISTORY: AtomicBool = AtomicBool::new(false);

/// Leaves history out of all stores of this process, or puts it in again. Such a store can only be
/// measured.
pub fn leave_out_history(out: bool) {
    WITHOUT_HISTORY.store(out, Ordering::SeqCst);
}

pub(crate) fn has_history() -> bool {
    !WITHOUT_HISTORY.load(Ordering::SeqCst)
}

/// Whether every batch is written whole, by one thread.
static WHOLE_BATCHES: AtomicBool = AtomicBool::new(false);

/// Writes every batch of all stores of this process whole, or large ones in two halves again.
pub fn write_whole_batches(whole: bool) {
    WHOLE_BATCHES.store(whole, Ordering::SeqCst);
}

pub(crate) fn has_halves() -> bool {
    !WHOLE_BATCHES.load(Ordering::SeqCst)
}
