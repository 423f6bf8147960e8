//! Merging pages of blocks into posting lists, in the background.

use super::bits::{Bits, PAGE_HEIGHTS, end_of, page_of, start_of};
use super::id::{BlockIds, IndexId};
use super::kind::IndexKind;
use super::rows::number_of;
use crate::index::{NUMBER, decode_hash, number_key};
use crate::{LedgerError, LedgerTables};
use alloy_primitives::B256;
use hearth_flatkv::{FlatKv, FlatKvError, IndexWrite};
use hearth_metrics::AddressIndexMetrics;
use hearth_primitives::Height;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// Blocks above a page before it is merged: reorganisations are seldom deeper, and one into a
/// merged page means merging it again.
pub const MERGE_LAG: u64 = 64;
/// Rows that are written at once. A commit waits for no more than that.
pub(super) const ROWS_AT_ONCE: usize = 4096;
/// Marks that are read at once.
const MARKS_AT_ONCE: usize = 1024;

/// Knows which pages are merged, and merges those that are due.
pub(crate) struct Merger {
    pub(super) shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

pub(super) struct Shared {
    pub kind: IndexKind,
    pub kv: Arc<FlatKv>,
    pub(super) tables: Arc<LedgerTables>,
    lag: u64,
    /// Newest blocks whose rows are kept at least; those of all without it.
    pub window: Option<NonZeroU64>,
    /// The lowest page whose rows are kept. It rises, in its row, before any row goes.
    pub floor: AtomicU64,
    pub progress: Mutex<Progress>,
    pub stopping: AtomicBool,
    /// Counts of the address index; other indexes have none.
    metrics: Option<AddressIndexMetrics>,
}

#[derive(Default)]
pub(super) struct Progress {
    /// The page of the first canonical block; not known while there is none.
    pub first: Option<u64>,
    /// Pages from the first one that is kept that were merged when it was looked at last,
    /// exclusive.
    pub merged: u64,
    /// Whether the thread runs.
    pub running: bool,
}

impl Merger {
    /// A merger of one index, whose pages are merged `lag` blocks below the head and kept for the
    /// newest `window` blocks at least, for all without it.
    pub fn new(
        kind: IndexKind,
        kv: Arc<FlatKv>,
        tables: Arc<LedgerTables>,
        lag: u64,
        window: Option<NonZeroU64>,
    ) -> Self {
        let (progress, stopping, floor) = (Mutex::default(), AtomicBool::new(false), AtomicU64::new(0));
        let registry = (kind == IndexKind::Accounts).then(|| tables.metrics().clone());
        let metrics = registry.as_ref().map(AddressIndexMetrics::new);
        let shared = Shared { kind, kv, tables, lag, window, floor, progress, stopping, metrics };
        let merger = Self { shared: Arc::new(shared), thread: Mutex::default() };
        if let Some(registry) = registry {
            merger.register(&registry);
        }
        merger
    }

    /// Starts merging where a page is due and nothing is being merged.
    pub fn nudge(&self) {
        let mut thread = self.thread.lock();
        let mut progress = self.shared.progress.lock();
        if progress.running || self.shared.stopping.load(Ordering::Relaxed) {
            return;
        }
        // An error here is returned by the next search that meets it.
        if !matches!(self.shared.due(&mut progress), Ok(Some(_))) {
            return;
        }
        let shared = self.shared.clone();
        let spawned = std::thread::Builder::new()
            .name(shared.kind.thread_name().to_owned())
            .spawn(move || shared.work());
        if let Ok(spawned) = spawned {
            progress.running = true;
            // The one before has ended: it is not running.
            *thread = Some(spawned);
        }
    }

    /// What a search may read of the index now.
    pub fn extent(&self) -> Result<Extent<'_>, LedgerError> {
        let merged_below = start_of(self.shared.merged(&mut self.shared.progress.lock())?);
        let Shared { kind, kv, floor, .. } = &*self.shared;
        Ok(Extent { kind: *kind, kv, floor, merged_below })
    }

    /// Heights below this one are answered by posting lists; the first height where nothing is
    /// merged.
    #[cfg(test)]
    pub fn merged_below(&self) -> Result<Height, LedgerError> {
        Ok(self.extent()?.merged_below)
    }

    /// Ends merging, after the rows that are being written.
    pub fn stop(&self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            // A panic there is no reason for one here.
            let _ = thread.join();
        }
    }

    /// Merges nothing in the background from now on.
    #[cfg(test)]
    pub fn by_hand(&self) {
        self.shared.progress.lock().running = true;
    }

    /// Merges all that is due, on this thread.
    #[cfg(test)]
    pub fn merge_due(&self) -> Result<(), LedgerError> {
        self.shared.retain()?;
        while let Some(page) = { self.shared.due(&mut self.shared.progress.lock())? } {
            if self.shared.merge(page)?.is_none() {
                break;
            }
        }
        Ok(())
    }
}

/// An index as of one moment.
#[derive(Clone, Copy)]
pub(crate) struct Extent<'a> {
    pub(super) kind: IndexKind,
    pub(super) kv: &'a FlatKv,
    floor: &'a AtomicU64,
    /// Heights below this one are answered by posting lists.
    pub merged_below: Height,
}

impl Extent<'_> {
    /// Lowest height that the index has now.
    pub fn first(&self) -> Height {
        start_of(self.floor.load(Ordering::SeqCst))
    }

    /// Fails where rows of a height may be gone. Called after each read: the floor rises before
    /// rows are removed.
    pub(super) fn check(&self, from: Height) -> Result<(), LedgerError> {
        let first = self.first();
        if from < first { Err(LedgerError::IndexPruned { height: from, first }) } else { Ok(()) }
    }
}

impl Drop for Merger {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn work(&self) {
        // As below: what fails is tried again.
        let _ = self.retain();
        loop {
            let page = {
                let mut progress = self.progress.lock();
                let due = match self.stopping.load(Ordering::Relaxed) {
                    false => self.due(&mut progress).ok().flatten(),
                    true => None,
                };
                match due {
                    Some(page) => page,
                    None => {
                        progress.running = false;
                        return;
                    }
                }
            };
            // What failed (a full disk, a closed store) is tried again with the next nudge; until
            // then blocks of the page are looked at one by one.
            if !matches!(self.merge(page), Ok(Some(_))) {
                self.progress.lock().running = false;
                return;
            }
        }
    }

    /// The next page to merge, if one lies deep enough.
    pub fn due(&self, progress: &mut Progress) -> Result<Option<u64>, LedgerError> {
        let Some(head) = self.kv.head() else { return Ok(None) };
        let page = self.merged(progress)?;
        Ok((progress.first.is_some() && end_of(page).saturating_add(self.lag) <= head.height).then_some(page))
    }

    /// Pages that are merged and hold, exclusive.
    pub fn merged(&self, progress: &mut Progress) -> Result<u64, LedgerError> {
        let first = match progress.first {
            Some(first) => first,
            None => {
                let Some(first) = self.first_page()? else { return Ok(0) };
                self.floor.fetch_max(self.read_floor()?, Ordering::SeqCst);
                progress.merged = self.last_marked(first.max(self.floor.load(Ordering::SeqCst)))?;
                *progress.first.insert(first)
            }
        };
        let first = first.max(self.floor.load(Ordering::SeqCst));
        if progress.merged < first {
            progress.merged = self.last_marked(first)?;
        }
        // A merged page is valid only for the blocks that it was built from, which the hash of its
        // last block identifies.
        while progress.merged > first && !self.holds(progress.merged - 1)? {
            progress.merged -= 1;
        }
        // Commits of several blocks merge pages too.
        while self.holds(progress.merged)? {
            progress.merged += 1;
        }
        Ok(progress.merged)
    }

    fn holds(&self, page: u64) -> Result<bool, LedgerError> {
        let mark = self.get(&self.kind.merged_key(page))?;
        Ok(mark.is_some() && mark == self.get(&number_key(end_of(page)))?)
    }

    fn first_page(&self) -> Result<Option<u64>, LedgerError> {
        let rows = self.range(&number_key(0), &[NUMBER + 1], 1)?;
        rows.first().map(|(key, _)| number_of(key).map(page_of)).transpose()
    }

    /// The end of the row of marks that begins with the first page.
    fn last_marked(&self, first: u64) -> Result<u64, LedgerError> {
        let mut next = first;
        loop {
            let marks =
                self.range(&self.kind.merged_key(next), &self.kind.merged_key(u64::MAX), MARKS_AT_ONCE)?;
            for (key, _) in &marks {
                if number_of(key)? != next {
                    return Ok(next);
                }
                next += 1;
            }
            if marks.len() < MARKS_AT_ONCE {
                return Ok(next);
            }
        }
    }

    /// Writes a page's posting lists, and last its mark. Number of blocks that may hold anything;
    /// `None` where the page was not to be merged after all.
    pub fn merge(&self, page: u64) -> Result<Option<u64>, LedgerError> {
        let (start, end) = (number_key(start_of(page)), number_key(end_of(page) + 1));
        // As of one moment: hashes of one chain.
        let hashes = self.range(&start, &end, PAGE_HEIGHTS as usize)?;
        let Some((last, mark)) = hashes.last().filter(|(key, _)| key == &number_key(end_of(page))) else {
            // The chain was taken back below this page; it is due again later.
            return Ok(None);
        };
        debug_assert_eq!(number_of(last).ok(), Some(end_of(page)));
        let mut ids = self.block_ids(page)?;
        let mut postings: HashMap<IndexId, Bits> = HashMap::new();
        let mut unknown = 0;
        for (key, hash) in &hashes {
            let (height, hash) = (number_of(key)?, decode_hash(hash)?);
            let of_block = match ids.remove(&height) {
                Some((of, ids)) if of == hash => ids,
                _ => self.kind.ids_of(&self.tables, &hash),
            };
            unknown += u64::from(of_block == BlockIds::any());
            for id in of_block.ids {
                postings.entry(id).or_default().set((height - start_of(page)) as u8);
            }
            if self.stopping.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
        let mut postings: Vec<_> = postings.into_iter().collect();
        postings.sort_unstable_by_key(|(id, _)| *id);
        let write = |key, value| IndexWrite { key, value };
        for part in postings.chunks(ROWS_AT_ONCE) {
            let row =
                |(id, bits): &(IndexId, Bits)| write(self.kind.postings_key(*id, page), Some(bits.encode()));
            let rows: Vec<_> = part.iter().map(row).collect();
            self.kv.index_fill(&rows).map_err(fill_error)?;
        }
        let mut rows: Vec<_> =
            (start_of(page)..=end_of(page)).map(|height| write(self.kind.block_key(height), None)).collect();
        rows.push(write(self.kind.merged_key(page), Some(mark.clone())));
        self.kv.index_fill(&rows).map_err(fill_error)?;
        self.count_merged(unknown);
        let mut progress = self.progress.lock();
        if progress.merged == page {
            progress.merged += 1;
        }
        Ok(Some(unknown))
    }

    /// Counts a page that was merged, and how many of its blocks may hold anything.
    pub(super) fn count_merged(&self, unknown: u64) {
        if let Some(metrics) = &self.metrics {
            metrics.merged.add(1);
            metrics.unknown.add(unknown);
        }
    }

    /// The rows that commits have written for the blocks of a page.
    pub(super) fn block_ids(&self, page: u64) -> Result<HashMap<Height, (B256, BlockIds)>, LedgerError> {
        let (from, to) = (self.kind.block_key(start_of(page)), self.kind.block_key(end_of(page) + 1));
        let rows = self.range(&from, &to, PAGE_HEIGHTS as usize)?;
        rows.iter().map(|(key, row)| Ok((number_of(key)?, self.kind.decode_block(row)?))).collect()
    }

    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, LedgerError> {
        Ok(self.kv.index_get(key)?)
    }

    pub fn range(
        &self,
        from: &[u8],
        to: &[u8],
        limit: usize,
    ) -> Result<Vec<hearth_flatkv::IndexRow>, LedgerError> {
        Ok(self.kv.index_range(from, to, limit)?)
    }
}

pub(super) fn fill_error(error: FlatKvError) -> LedgerError {
    LedgerError::Index(error.into_state())
}
