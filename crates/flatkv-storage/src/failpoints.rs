//! Bugs that tests inject to prove that the fault suite finds them, and failpoints at which the
//! suite is called. Only with the feature `failpoints`; without it there are no bugs and no calls,
//! at compile time.

/// A bug of the kind that the fault suite is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedBug {
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
pub enum Failpoint {
    /// The WAL has a record whose batch is about to be written.
    Batch,
    /// The WAL has a record and the head has moved, and the batch is about to be written by a
    /// thread of its own.
    Later,
    /// A batch of deletions from history is about to be written.
    Prune,
}

#[cfg(feature = "failpoints")]
mod on {
    use super::{Failpoint, InjectedBug};
    use std::sync::{
        OnceLock,
        atomic::{AtomicU8, Ordering::SeqCst},
    };

    static BUG: AtomicU8 = AtomicU8::new(0);
    static REACHED: OnceLock<fn(Failpoint)> = OnceLock::new();

    const fn number(bug: Option<InjectedBug>) -> u8 {
        match bug {
            None => 0,
            Some(InjectedBug::WalBeforeTables) => 1,
            Some(InjectedBug::ChecksumIgnored) => 2,
            Some(InjectedBug::FlushBeforeSync) => 3,
        }
    }

    /// Injects a bug into this process, or removes it.
    pub fn inject_bug(bug: Option<InjectedBug>) {
        BUG.store(number(bug), SeqCst);
    }

    /// Lets a function be called at every [`Failpoint`] of this process from now on. The first one
    /// counts.
    pub fn at_failpoints(call: fn(Failpoint)) {
        let _ = REACHED.set(call);
    }

    /// Whether a bug is injected.
    pub fn has(bug: InjectedBug) -> bool {
        BUG.load(SeqCst) == number(Some(bug))
    }

    /// Calls the function of [`at_failpoints`].
    pub fn failpoint(point: Failpoint) {
        if let Some(call) = REACHED.get() {
            call(point);
        }
    }
}

#[cfg(feature = "failpoints")]
pub use on::{at_failpoints, inject_bug};
#[cfg(feature = "failpoints")]
pub use on::{failpoint, has};

/// Whether a bug is injected: never.
#[cfg(not(feature = "failpoints"))]
pub const fn has(_: InjectedBug) -> bool {
    false
}

/// No call at a failpoint.
#[cfg(not(feature = "failpoints"))]
pub const fn failpoint(_: Failpoint) {}
