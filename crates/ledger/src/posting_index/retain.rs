//! What goes from an index: the pages below its window, and all of it before it is rebuilt.

use super::bits::{page_of, start_of};
use super::merge::{Merger, Progress, ROWS_AT_ONCE, Shared, fill_error};
use super::rows::number_of;
use crate::LedgerError;
use hearth_flatkv::IndexWrite;
use hearth_primitives::Height;
use std::sync::atomic::Ordering;

/// The floor rises by an eighth of the window at once: a sweep reads every row of the index, so
/// each row is read about eight times before it goes.
const SWEEPS_A_WINDOW: u64 = 8;

/// Result of rebuilding an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RebuiltIndex {
    /// Pages of 256 blocks that were merged.
    pub pages: u64,
    /// Blocks in them of which nothing says what they hold: a search looks at each of them.
    pub unknown: u64,
}

/// How far building an index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexProgress {
    /// Heights that are done.
    pub done: u64,
    /// Heights in all.
    pub total: u64,
}

impl Shared {
    /// Raises the floor to the window and removes what lies below it, where enough does.
    pub fn retain(&self) -> Result<(), LedgerError> {
        let (Some(head), Some(window)) = (self.kv.head(), self.window) else { return Ok(()) };
        let first = {
            let mut progress = self.progress.lock();
            // The floor is known once the progress is.
            self.merged(&mut progress)?;
            progress.first.unwrap_or(0)
        };
        let kept = page_of((head.height + 1).saturating_sub(window.get()));
        let step = (page_of(window.get()) / SWEEPS_A_WINDOW).max(1);
        if kept < self.floor.load(Ordering::SeqCst).max(first) + step {
            return Ok(());
        }
        let row = IndexWrite { key: self.kind.floor_key(), value: Some(kept.to_be_bytes().to_vec()) };
        self.kv.index_fill(&[row]).map_err(fill_error)?;
        self.floor.fetch_max(kept, Ordering::SeqCst);
        self.sweep(Some(kept))
    }

    /// The lowest page whose rows are kept, as its row says.
    pub fn read_floor(&self) -> Result<u64, LedgerError> {
        self.get(&self.kind.floor_key())?.map_or(Ok(0), |row| number_of(&row))
    }

    /// Removes the rows of pages below one, or all rows.
    fn sweep(&self, below: Option<u64>) -> Result<(), LedgerError> {
        let letters = self.kind.letters();
        let heights = |number: u64| below.is_none_or(|page| page_of(number) < page);
        let pages = |number: u64| below.is_none_or(|page| number < page);
        self.remove(letters.block, &heights)?;
        self.remove(letters.merged, &pages)?;
        self.remove(letters.postings, &pages)
    }

    /// Removes the rows under a first byte whose number, at the end of the key, goes.
    fn remove(&self, letter: u8, goes: &dyn Fn(u64) -> bool) -> Result<(), LedgerError> {
        let mut from = vec![letter];
        loop {
            let rows = self.range(&from, &[letter + 1], ROWS_AT_ONCE)?;
            let Some((last, _)) = rows.last() else { return Ok(()) };
            // The key right behind the last one.
            from = [last.as_slice(), &[0]].concat();
            let whole = rows.len() == ROWS_AT_ONCE;
            let mut gone = Vec::new();
            for (key, _) in rows {
                if goes(number_of(&key)?) {
                    gone.push(IndexWrite { key, value: None });
                }
            }
            if !gone.is_empty() {
                self.kv.index_fill(&gone).map_err(fill_error)?;
            }
            if !whole || self.stopping.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }
}

impl Merger {
    /// Removes all rows of the index and merges every page again that is due, on this thread.
    /// `watch` hears of each page and says whether to continue; `None` where it said no: what is
    /// missing then is merged in the background.
    pub fn rebuild(
        &self,
        watch: &mut dyn FnMut(IndexProgress) -> bool,
    ) -> Result<Option<RebuiltIndex>, LedgerError> {
        self.stop();
        let shared = &self.shared;
        // Nothing is merged in the background meanwhile.
        *shared.progress.lock() = Progress { running: true, ..Progress::default() };
        shared.stopping.store(false, Ordering::Relaxed);
        let rebuilt = shared.rebuild(watch);
        shared.progress.lock().running = false;
        rebuilt
    }
}

impl Shared {
    fn rebuild(
        &self,
        watch: &mut dyn FnMut(IndexProgress) -> bool,
    ) -> Result<Option<RebuiltIndex>, LedgerError> {
        self.sweep(None)?;
        let row = IndexWrite { key: self.kind.floor_key(), value: None };
        self.kv.index_fill(&[row]).map_err(fill_error)?;
        self.floor.store(0, Ordering::SeqCst);
        self.retain()?;
        let head: Height = self.kv.head().map_or(0, |head| head.height);
        let (mut rebuilt, mut first) = (RebuiltIndex::default(), None);
        loop {
            let due = self.due(&mut self.progress.lock())?;
            let Some(page) = due else { return Ok(Some(rebuilt)) };
            let first = *first.get_or_insert(page);
            let done = start_of(page) - start_of(first);
            let total = (head + 1).saturating_sub(start_of(first));
            if !watch(IndexProgress { done, total }) {
                return Ok(None);
            }
            let Some(unknown) = self.merge(page)? else { return Ok(None) };
            rebuilt.pages += 1;
            rebuilt.unknown += unknown;
        }
    }
}
