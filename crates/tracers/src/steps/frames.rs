//! Numbers of frames, in the order in which callTracer lists them.

/// The open frames of an execution.
#[derive(Debug, Default)]
pub(super) struct OpenFrames {
    /// Numbers of the open frames, the innermost last.
    open: Vec<u32>,
    /// The number of the next frame.
    next: u32,
}

impl OpenFrames {
    /// Opens a frame: its number and that of its parent.
    pub(super) fn enter(&mut self) -> (u32, Option<u32>) {
        let (number, parent) = (self.next, self.open.last().copied());
        self.next = self.next.saturating_add(1);
        self.open.push(number);
        (number, parent)
    }

    /// Closes the innermost frame: its number.
    pub(super) fn leave(&mut self) -> Option<u32> {
        self.open.pop()
    }

    /// The innermost frame; that of the transaction where none is open.
    #[inline(always)]
    pub(super) fn innermost(&self) -> u32 {
        self.open.last().copied().unwrap_or_default()
    }

    /// Number of open frames: the depth of the running one, from 1 on.
    #[inline(always)]
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }
}
