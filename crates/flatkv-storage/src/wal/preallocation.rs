//! Preallocated space behind the end of the log: zeros on the disk, over which the next records are
//! written.
//!
//! A record that extends its file is durable only once the journal of the file system has the new
//! size and the new blocks, and waits with it for what other files have in the same transaction.
//! A record written over zeros that are on the disk already needs its own bytes alone: what
//! PostgreSQL and RocksDB (`recycle_log_file_num`) reuse old segments for.
//!
//! Opening takes the zeros for the torn tail that they are, and cuts them off. Two records that
//! are written over zeros and not synced in between could reach the disk in any order, and opening
//! refuses a sound record behind a torn one: before appends that no sync separates the zeros are
//! cut off, see [`super::Wal::cut_preallocation`].

use super::Tail;
use std::{
    io,
    ops::RangeInclusive,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{Builder, JoinHandle, park_timeout},
    time::Duration,
};

/// Most and fewest bytes that are preallocated at once: as many as the segment has, so that a small
/// log stays small.
pub(super) const EXTENT_BYTES: RangeInclusive<u64> = 256 << 10..=16 << 20;
/// More are preallocated as soon as fewer than this part of such an extent are left.
const LEAST_PART: u64 = 2;
/// Bytes of one write of zeros, after each of which the thread may be stopped.
const WRITE_BYTES: usize = 256 << 10;
/// Delay of the first zeros, in which the answer to the commit before them has the processor.
const START_AFTER: Duration = Duration::from_millis(5);
/// Pause after each write of zeros: they reach the disk one by one (a quarter of a GiB a second),
/// so that the sync of the next record finds few of them that are not there yet.
const WRITE_PAUSE: Duration = Duration::from_millis(1);

/// What is preallocated of the segment that is being written.
#[derive(Default)]
pub(super) struct Preallocation {
    /// Where the zeros end in the file; at or before the end of the log where there are none.
    end: u64,
    maker: Option<Maker>,
    /// Whether a thread began to write zeros since the file was last cut to the end of the log. One
    /// that failed may have left some.
    began: bool,
}

/// The thread that writes zeros behind `from`.
struct Maker {
    from: u64,
    pace: Arc<Pace>,
    thread: JoinHandle<Option<u64>>,
}

/// How the thread is to continue.
#[derive(Default)]
struct Pace {
    /// It is to end after the write at hand.
    stop: AtomicBool,
    /// A caller waits for it: it pauses no more.
    hurry: AtomicBool,
}

impl Pace {
    /// Pauses, unless a caller waits for the thread.
    fn pause(&self, time: Duration) {
        if !self.hurry.load(Relaxed) {
            park_timeout(time);
        }
    }
}

impl Preallocation {
    /// Preallocated bytes behind the end of the log.
    pub(super) fn left(&self, log_end: u64) -> u64 {
        self.end.saturating_sub(log_end)
    }

    /// Starts to preallocate behind the end of the log where little is left. Without a thread to be
    /// had nothing is: the next record extends the file.
    pub(super) fn extend(&mut self, tail: &Arc<Tail>, log_end: u64, most: u64) {
        if self.maker.as_ref().is_some_and(|maker| !maker.thread.is_finished()) {
            return;
        }
        self.join();
        let from = self.end.max(log_end);
        let extent = log_end.clamp(*EXTENT_BYTES.start(), *EXTENT_BYTES.end());
        let to = (from + extent).min(most);
        if self.left(log_end) >= extent / LEAST_PART || to <= from {
            return;
        }
        let (tail, pace) = (tail.clone(), Arc::<Pace>::default());
        let of_thread = pace.clone();
        let run = move || make(&tail, from, to, &of_thread).ok();
        if let Ok(thread) = Builder::new().name("flatkv-prealloc".into()).spawn(run) {
            self.maker = Some(Maker { from, pace, thread });
            self.began = true;
        }
    }

    /// Waits for the thread where a record up to `end` would reach what it writes.
    pub(super) fn before_write(&mut self, end: u64) {
        if self.maker.as_ref().is_some_and(|maker| end > maker.from) {
            self.join();
        }
    }

    /// Waits for the thread, and counts what it made.
    pub(super) fn join(&mut self) {
        let Some(maker) = self.maker.take() else { return };
        maker.pace.hurry.store(true, Relaxed);
        maker.thread.thread().unpark();
        // What a thread that failed wrote does not count: the next record is written over it, and
        // finds out whether that fails too. A sync that failed is kept by the tail.
        if let Ok(Some(end)) = maker.thread.join() {
            self.end = self.end.max(end);
        }
    }

    /// Stops the thread; nothing counts as preallocated afterwards. Returns whether the file may be
    /// longer than the log.
    pub(super) fn clear(&mut self, log_end: u64) -> bool {
        if let Some(maker) = &self.maker {
            maker.pace.stop.store(true, Relaxed);
        }
        self.join();
        let had = self.began || self.end > log_end;
        self.end = 0;
        had
    }

    /// The file was cut to the end of the log after a call of [`Self::clear`].
    pub(super) fn was_cut(&mut self) {
        self.began = false;
    }
}

impl Drop for Preallocation {
    fn drop(&mut self) {
        // The lock of the store is free after this: nothing may write to the file then.
        self.clear(0);
    }
}

/// Writes zeros and syncs them; returns where they end.
fn make(tail: &Tail, from: u64, to: u64, pace: &Pace) -> io::Result<u64> {
    pace.pause(START_AFTER);
    let zeros = vec![0; WRITE_BYTES];
    let mut at = from;
    while at < to && !pace.stop.load(Relaxed) {
        let len = (to - at).min(WRITE_BYTES as u64);
        tail.file.write_all_at(&zeros[..len as usize], at)?;
        tail.file.start_writing(at, len);
        at += len;
        pace.pause(WRITE_PAUSE);
    }
    tail.sync().map_err(io::Error::other)?;
    Ok(at)
}
