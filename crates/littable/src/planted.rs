//! Bugs that tests plant to see that the fault suite finds them, and chance out of a seed, so that
//! its runs can be repeated. Only with the feature `planted`; without it every question is answered
//! with no at compile time.

/// A bug of the kind that the fault suite is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
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

#[cfg(feature = "planted")]
mod on {
    use super::Planted;
    use std::cell::Cell;

    thread_local! {
        static BUG: Cell<Option<Planted>> = const { Cell::new(None) };
        static CHANCE: Cell<Option<u64>> = const { Cell::new(None) };
    }

    /// Plants a bug for this thread, or takes it away.
    pub fn plant(bug: Option<Planted>) {
        BUG.set(bug);
    }

    /// Draws salts and secrets of this thread out of a seed.
    pub fn seed(seed: u64) {
        CHANCE.set(Some(seed));
    }

    pub(crate) fn word() -> Option<u64> {
        // An odd step and a multiplication by an odd number: no word comes twice in 2^64.
        let next = CHANCE.get()?.wrapping_add(0x9e37_79b9_7f4a_7c15);
        CHANCE.set(Some(next));
        Some((next ^ (next >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9))
    }

    pub(crate) fn has(bug: Planted) -> bool {
        BUG.get() == Some(bug)
    }
}

#[cfg(feature = "planted")]
pub(crate) use on::{has, word};
#[cfg(feature = "planted")]
pub use on::{plant, seed};

#[cfg(not(feature = "planted"))]
pub(crate) const fn has(_: Planted) -> bool {
    false
}

#[cfg(not(feature = "planted"))]
pub(crate) const fn word() -> Option<u64> {
    None
}
