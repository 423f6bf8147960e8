//! Bugs that tests inject to prove that the fault suite finds them, and seeded randomness, so that
//! its runs can be repeated. Only with the feature `failpoints`; without it every check is false at
//! compile time.

/// A bug of the kind that the fault suite is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedBug {
    /// Segments are not synced by a flush.
    SyncSkipped,
    /// Folders are not synced.
    DirSyncSkipped,
    /// The checksums of values are not looked at.
    ChecksumIgnored,
    /// What an open finds behind the last sync is taken for durable.
    UnsyncedTailAccepted,
    /// Collected segments are unlinked before the floor and their end are noted.
    FloorAfterUnlink,
}

#[cfg(feature = "failpoints")]
mod on {
    use super::InjectedBug;
    use std::cell::Cell;

    thread_local! {
        static BUG: Cell<Option<InjectedBug>> = const { Cell::new(None) };
        static CHANCE: Cell<Option<u64>> = const { Cell::new(None) };
    }

    /// Injects a bug into this thread, or removes it.
    pub fn inject_bug(bug: Option<InjectedBug>) {
        BUG.set(bug);
    }

    /// Draws salts and secrets of this thread from a seed.
    pub fn seed(seed: u64) {
        CHANCE.set(Some(seed));
    }

    pub(crate) fn word() -> Option<u64> {
        // An odd step and a multiplication by an odd number: no word comes twice in 2^64.
        let next = CHANCE.get()?.wrapping_add(0x9e37_79b9_7f4a_7c15);
        CHANCE.set(Some(next));
        Some((next ^ (next >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9))
    }

    pub(crate) fn has(bug: InjectedBug) -> bool {
        BUG.get() == Some(bug)
    }
}

#[cfg(feature = "failpoints")]
pub(crate) use on::{has, word};
#[cfg(feature = "failpoints")]
pub use on::{inject_bug, seed};

#[cfg(not(feature = "failpoints"))]
pub(crate) const fn has(_: InjectedBug) -> bool {
    false
}

#[cfg(not(feature = "failpoints"))]
pub(crate) const fn word() -> Option<u64> {
    None
}
