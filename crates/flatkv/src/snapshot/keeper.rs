//! The thread that takes the snapshots that are due by interval.

use crate::{FlatKvError, shared::Core};
use hearth_metrics::{Level, LogEntry};
use hearth_primitives::StateError;
use std::{
    sync::{Arc, Weak, mpsc::sync_channel},
    thread::{Builder, JoinHandle},
};

/// The thread; dropping this ends it, after the snapshot under way.
pub(crate) struct Keeper {
    core: Weak<Core>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts the thread where the options have an interval of snapshots.
    pub(crate) fn start(core: &Arc<Core>) -> Result<Option<Self>, FlatKvError> {
        if !core.snapshots.are_automatic() {
            return Ok(None);
        }
        // One signal waits at most: several that became due meanwhile are one.
        let (wake, woken) = sync_channel::<()>(1);
        let weak = Arc::downgrade(core);
        let run = move || {
            while woken.recv().is_ok() {
                let Some(core) = Weak::upgrade(&weak) else { return };
                // The next one that is due tries again. Commits do not depend on it.
                if let Err(error) = core.snapshot_flushed() {
                    let entry = LogEntry::new(Level::Warn, "stores", "no snapshot could be taken");
                    core.metrics.log.add(entry.text("why", error));
                }
            }
        };
        let thread = Builder::new().name("flatkv-snapshot".into()).spawn(run);
        let thread = thread.map_err(|error| StateError::failed("thread of the snapshots", error))?;
        *core.snapshots.wake.lock() = Some(wake);
        Ok(Some(Self { core: Arc::downgrade(core), thread: Some(thread) }))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(core) = self.core.upgrade() {
            drop(core.snapshots.wake.lock().take());
        }
        if let Some(thread) = self.thread.take() {
            // The thread answers nothing; joining only keeps it from outliving the store.
            let _ = thread.join();
        }
    }
}
