//! What the main thread writes and the watchdog reads.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// How many numbers there are.
pub const CELLS: usize = 4;

/// Numbers that the main thread stores by position: 0 counts beats of the event loop, 1 is what was
/// begun since the last beat, 2 what was begun before it, both by the positions of names, 3 is the
/// phase: 0 opening, 1 serving, 2 closing, 3 closed.
#[derive(Debug, Default)]
pub struct Cells([AtomicU32; CELLS]);

/// In static memory, so that a writer may keep the address as long as the library is loaded.
static SHARED: Cells = Cells::new();

/// What the process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Opening,
    Serving,
    /// Every answer has ended; the stores are being closed.
    Closing,
    /// The stores are closed; the process ends.
    Closed,
}

impl Cells {
    const fn new() -> Self {
        Self([const { AtomicU32::new(0) }; CELLS])
    }

    /// Those of the process.
    pub(crate) fn shared() -> &'static Self {
        &SHARED
    }

    /// Where the first one lies; the others follow.
    pub fn address(&'static self) -> *mut u32 {
        self.0[0].as_ptr()
    }

    #[cfg(test)]
    pub(crate) fn set(&self, at: usize, value: u32) {
        self.0[at].store(value, Relaxed);
    }

    fn at(&self, at: usize) -> u32 {
        self.0[at].load(Relaxed)
    }

    pub(crate) fn beats(&self) -> u32 {
        self.at(0)
    }

    pub(crate) fn began(&self) -> u32 {
        self.at(1)
    }

    pub(crate) fn before(&self) -> u32 {
        self.at(2)
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.at(3) {
            0 => Phase::Opening,
            1 => Phase::Serving,
            2 => Phase::Closing,
            _ => Phase::Closed,
        }
    }
}
