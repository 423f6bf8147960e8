//! Syncing WAL and tables in the background, for [`Fsync::Interval`].

use crate::{FlatKvError, Fsync, shared::Core};
use hearth_primitives::StateError;
use std::{
    sync::{
        Arc, Weak,
        atomic::Ordering::SeqCst,
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread::{Builder, JoinHandle},
    time::Duration,
};

/// The thread that syncs; dropping this stops it.
pub(crate) struct Syncer {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Syncer {
    /// Starts the thread if the mode has one.
    pub(crate) fn start(core: &Arc<Core>) -> Result<Option<Self>, FlatKvError> {
        let Fsync::Interval(interval) = core.fsync else { return Ok(None) };
        let interval = interval.max(Duration::from_millis(1));
        let (stop, stopped) = channel::<()>();
        let core = Arc::downgrade(core);
        let run = move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(interval) {
                let Some(core) = Weak::upgrade(&core) else { return };
                // A failure is kept by the writer, which refuses the next commit.
                let _ = core.sync_dirty();
            }
        };
        let thread = Builder::new().name("flatkv-sync".into()).spawn(run);
        let thread = thread.map_err(|error| StateError::failed("thread of the syncer", error))?;
        Ok(Some(Self { stop: Some(stop), thread: Some(thread) }))
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread answers nothing; joining only keeps it from outliving the store.
            let _ = thread.join();
        }
    }
}

impl Core {
    /// Syncs tables, then the WAL, unless nothing was appended since the last time. Commits
    /// continue meanwhile.
    fn sync_dirty(&self) -> Result<(), FlatKvError> {
        if !self.dirty.swap(false, SeqCst) {
            return Ok(());
        }
        // The tail is taken first: the tables then hold everything that its records speak of.
        // Segments before it were synced when it was started.
        let tail = self.writer.lock().wal.tail();
        let sync = || {
            self.tables.sync()?;
            tail.as_ref().map_or(Ok(()), |tail| tail.sync())
        };
        let result = sync();
        match result {
            Ok(()) => Ok(()),
            failed => self.writer.lock().fail(failed),
        }
    }
}
