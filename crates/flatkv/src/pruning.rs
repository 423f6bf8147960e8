//! How far the pruning of history is.

use hearth_primitives::Height;
use parking_lot::Mutex;
use std::sync::{atomic::AtomicU64, mpsc::SyncSender};

/// How far pruning is, and what wakes it.
#[derive(Default)]
pub(crate) struct Pruning {
    /// Height at and below which everything is gone that no view can read.
    pub(crate) pruned: AtomicU64,
    pub(crate) wake: Mutex<Option<SyncSender<()>>>,
}

impl Pruning {
    pub(crate) fn new(pruned: Height) -> Self {
        Self { pruned: AtomicU64::new(pruned), wake: Mutex::default() }
    }

    /// The oldest height was raised.
    pub(crate) fn wake(&self) {
        if let Some(wake) = &*self.wake.lock() {
            // A thread that has the message already, or has ended, needs none.
            let _ = wake.try_send(());
        }
    }
}
