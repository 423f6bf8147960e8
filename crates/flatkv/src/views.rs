//! The heights that have views, so that an unwind can end those above it.

use hearth_primitives::Height;
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

/// Heights with views from which on those without are swept out.
const SWEEP_FROM: usize = 64;

/// State that all views at one height share.
pub(crate) struct Cell {
    pub(crate) height: Height,
    pub(crate) unwound: AtomicBool,
}

/// The heights that have views.
#[derive(Default)]
pub(crate) struct Views {
    cells: BTreeMap<Height, Weak<Cell>>,
    sweep_at: usize,
}

impl Views {
    /// The cell of all views at a height.
    pub(crate) fn at(&mut self, height: Height) -> Arc<Cell> {
        if let Some(cell) = self.cells.get(&height).and_then(Weak::upgrade) {
            return cell;
        }
        if self.cells.len() >= self.sweep_at.max(SWEEP_FROM) {
            self.cells.retain(|_, cell| cell.strong_count() > 0);
            self.sweep_at = self.cells.len() * 2;
        }
        let cell = Arc::new(Cell { height, unwound: AtomicBool::new(false) });
        self.cells.insert(height, Arc::downgrade(&cell));
        cell
    }

    /// Ends all views above a height.
    pub(crate) fn unwind(&mut self, to: Height) {
        for (_, cell) in self.cells.split_off(&to.saturating_add(1)) {
            if let Some(cell) = cell.upgrade() {
                cell.unwound.store(true, SeqCst);
            }
        }
    }
}
