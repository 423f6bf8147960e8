//! Merging pages of blocks into posting lists, in the background.

use super::bits::{Bits, PAGE_HEIGHTS, end_of, page_of, start_of};
use super::id::{BlockIds, IdCollector, LogId};
use super::rows::{block_key, decode_block, merged_key, number_of, postings_key};
use crate::index::{NUMBER, decode_hash, number_key};
use crate::{LedgerError, LedgerTables, receipts};
use alloy_primitives::B256;
use hearth_flatkv::{FlatKv, FlatKvError, IndexWrite};
use hearth_primitives::Height;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Blocks above a page before it is merged: reorganisations are seldom deeper, and one into a merged page means merging
/// it again.
pub const MERGE_LAG: u64 = 64;
/// Rows that are written at once. A commit waits for no more than that.
const ROWS_AT_ONCE: usize = 4096;
/// Marks that are read at once.
const MARKS_AT_ONCE: usize = 1024;

/// Knows which pages are merged, and merges those that are due.
pub(crate) struct Merger {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    kv: Arc<FlatKv>,
    tables: Arc<LedgerTables>,
    lag: u64,
    progress: Mutex<Progress>,
    stopping: AtomicBool,
}

#[derive(Default)]
struct Progress {
    /// The page of the first canonical block; not known while there is none.
    first: Option<u64>,
    /// Pages from the first one on that were merged when it was looked at last, exclusive.
    merged: u64,
    /// Whether the thread runs.
    running: bool,
}

impl Merger {
    pub fn new(kv: Arc<FlatKv>, tables: Arc<LedgerTables>, lag: u64) -> Self {
        let (progress, stopping) = (Mutex::default(), AtomicBool::new(false));
        Self { shared: Arc::new(Shared { kv, tables, lag, progress, stopping }), thread: Mutex::default() }
    }

    /// Starts merging where a page is due and nothing is being merged.
    pub fn nudge(&self) {
        let mut thread = self.thread.lock();
        let mut progress = self.shared.progress.lock();
        if progress.running || self.shared.stopping.load(Ordering::Relaxed) {
            return;
        }
        // What keeps it from finding out is told by the search that meets it.
        if !matches!(self.shared.due(&mut progress), Ok(Some(_))) {
            return;
        }
        let shared = self.shared.clone();
        let spawned =
            std::thread::Builder::new().name("hearth-log-index".to_owned()).spawn(move || shared.work());
        if let Ok(spawned) = spawned {
            progress.running = true;
            // The one before has ended: it is not running.
            *thread = Some(spawned);
        }
    }

    /// Heights below this one are answered by posting lists; the first height where nothing is merged.
    pub fn merged_below(&self) -> Result<Height, LedgerError> {
        let mut progress = self.shared.progress.lock();
        Ok(start_of(self.shared.merged(&mut progress)?))
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

    /// Merges all that is due, on this thread.
    #[cfg(test)]
    pub fn merge_due(&self) -> Result<(), LedgerError> {
        while let Some(page) = { self.shared.due(&mut self.shared.progress.lock())? } {
            if !self.shared.merge(page)? {
                break;
            }
        }
        Ok(())
    }
}

impl Drop for Merger {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn work(&self) {
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
            // What failed (a full disk, a closed store) is tried again with the next nudge; until then blocks of the
            // page are looked at one by one.
            if !matches!(self.merge(page), Ok(true)) {
                self.progress.lock().running = false;
                return;
            }
        }
    }

    /// The next page to merge, if one lies deep enough.
    fn due(&self, progress: &mut Progress) -> Result<Option<u64>, LedgerError> {
        let Some(head) = self.kv.head() else { return Ok(None) };
        let page = self.merged(progress)?;
        Ok((progress.first.is_some() && end_of(page).saturating_add(self.lag) <= head.height).then_some(page))
    }

    /// Pages that are merged and hold, exclusive.
    fn merged(&self, progress: &mut Progress) -> Result<u64, LedgerError> {
        let first = match progress.first {
            Some(first) => first,
            None => {
                let Some(first) = self.first_page()? else { return Ok(0) };
                progress.merged = self.last_marked(first)?;
                *progress.first.insert(first)
            }
        };
        // One that is merged holds for the blocks that it was made of, which its last block's hash names.
        while progress.merged > first && !self.holds(progress.merged - 1)? {
            progress.merged -= 1;
        }
        Ok(progress.merged)
    }

    fn holds(&self, page: u64) -> Result<bool, LedgerError> {
        let mark = self.get(&merged_key(page))?;
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
            let marks = self.range(&merged_key(next), &merged_key(u64::MAX), MARKS_AT_ONCE)?;
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

    /// Writes a page's posting lists, and last its mark. False where it was not to be done after all.
    fn merge(&self, page: u64) -> Result<bool, LedgerError> {
        let (start, end) = (number_key(start_of(page)), number_key(end_of(page) + 1));
        // As of one moment: hashes of one chain.
        let hashes = self.range(&start, &end, PAGE_HEIGHTS as usize)?;
        let Some((last, mark)) = hashes.last().filter(|(key, _)| key == &number_key(end_of(page))) else {
            // The chain was taken back below this page; it is due again later.
            return Ok(false);
        };
        debug_assert_eq!(number_of(last).ok(), Some(end_of(page)));
        let mut ids = self.block_ids(page)?;
        let mut postings: HashMap<LogId, Bits> = HashMap::new();
        for (key, hash) in &hashes {
            let (height, hash) = (number_of(key)?, decode_hash(hash)?);
            let of_block = match ids.remove(&height) {
                Some((of, ids)) if of == hash => ids,
                _ => self.ids_of(&hash)?,
            };
            for id in of_block.ids {
                postings.entry(id).or_default().set((height - start_of(page)) as u8);
            }
            if self.stopping.load(Ordering::Relaxed) {
                return Ok(false);
            }
        }
        let mut postings: Vec<_> = postings.into_iter().collect();
        postings.sort_unstable_by_key(|(id, _)| *id);
        let write = |key, value| IndexWrite { key, value };
        for part in postings.chunks(ROWS_AT_ONCE) {
            let rows: Vec<_> =
                part.iter().map(|(id, bits)| write(postings_key(*id, page), Some(bits.encode()))).collect();
            self.kv.index_fill(&rows).map_err(fill_error)?;
        }
        let mut rows: Vec<_> =
            (start_of(page)..=end_of(page)).map(|height| write(block_key(height), None)).collect();
        rows.push(write(merged_key(page), Some(mark.clone())));
        self.kv.index_fill(&rows).map_err(fill_error)?;
        let mut progress = self.progress.lock();
        if progress.merged == page {
            progress.merged += 1;
        }
        Ok(true)
    }

    /// The rows that commits have written for the blocks of a page.
    fn block_ids(&self, page: u64) -> Result<HashMap<Height, (B256, BlockIds)>, LedgerError> {
        let (from, to) = (block_key(start_of(page)), block_key(end_of(page) + 1));
        let rows = self.range(&from, &to, PAGE_HEIGHTS as usize)?;
        rows.iter().map(|(key, row)| Ok((number_of(key)?, decode_block(row)?))).collect()
    }

    /// The ids of a block by its receipts. One whose receipts cannot be read may hold anything: who searches it is told.
    fn ids_of(&self, hash: &B256) -> Result<BlockIds, LedgerError> {
        let mut ids = IdCollector::default();
        match self.tables.receipts.get(hash.as_slice()) {
            Ok(Some(row)) => {
                match receipts::visit_logs(&row, |_, address, topics, _| ids.add(address, topics)) {
                    Ok(()) => Ok(ids.finish()),
                    Err(_) => Ok(BlockIds::any()),
                }
            }
            // Hashes are known of blocks before the first one, without the blocks.
            Ok(None) if !self.tables.blocks.exists(hash.as_slice()).unwrap_or(true) => {
                Ok(BlockIds::default())
            }
            Ok(None) | Err(_) => Ok(BlockIds::any()),
        }
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, LedgerError> {
        Ok(self.kv.index_get(key)?)
    }

    fn range(
        &self,
        from: &[u8],
        to: &[u8],
        limit: usize,
    ) -> Result<Vec<hearth_flatkv::IndexRow>, LedgerError> {
        Ok(self.kv.index_range(from, to, limit)?)
    }
}

fn fill_error(error: FlatKvError) -> LedgerError {
    LedgerError::Index(error.into_state())
}
