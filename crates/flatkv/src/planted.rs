//! Bugs that tests plant to see that the fault suite finds them, and places at which it wants to be
//! called. Only with the feature `planted`; without it there is no bug and no call, at compile
//! time.

/// A bug of the kind that the fault suite is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// The WAL is synced, and what it says acknowledged, before the joined tables are.
    WalBeforeTables,
    /// The checksums of the WAL's records are not looked at.
    ChecksumIgnored,
    /// RocksDB is flushed before tables and WAL are synced.
    FlushBeforeSync,
}

/// A place without a call to the disk, so that no fault of it would ever stop the process
/// there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The WAL has a record whose batch is about to be written.
    Batch,
    /// The WAL has a record and the head has moved, and the batch is about to be written by a
    /// thread of its own.
    Later,
    /// A batch of deletions from history is about to be written.
    Prune,
}

#[cfg(feature = "planted")]
mod on {
    use super::{Planted, Point};
    use std::sync::{
        OnceLock,
        atomic::{AtomicU8, Ordering::SeqCst},
    };

    static BUG: AtomicU8 = AtomicU8::new(0);
    static REACHED: OnceLock<fn(Point)> = OnceLock::new();

    const fn number(bug: Option<Planted>) -> u8 {
        match bug {
            None => 0,
            Some(Planted::WalBeforeTables) => 1,
            Some(Planted::ChecksumIgnored) => 2,
            Some(Planted::FlushBeforeSync) => 3,
        }
    }

    /// Plants a bug in this process, or takes it away.
    pub fn plant(bug: Option<Planted>) {
        BUG.store(number(bug), SeqCst);
    }

    /// Lets a function be called at every [`Point`] of this process from now on. The first one
    /// counts.
    pub fn at_points(call: fn(Point)) {
        let _ = REACHED.set(call);
    }

    pub(crate) fn has(bug: Planted) -> bool {
        BUG.load(SeqCst) == number(Some(bug))
    }

    pub(crate) fn reach(point: Point) {
        if let Some(call) = REACHED.get() {
            call(point);
        }
    }
}

#[cfg(feature = "planted")]
pub use on::{at_points, plant};
#[cfg(feature = "planted")]
pub(crate) use on::{has, reach};

#[cfg(not(feature = "planted"))]
pub(crate) const fn has(_: Planted) -> bool {
    false
}

#[cfg(not(feature = "planted"))]
pub(crate) const fn reach(_: Point) {}
