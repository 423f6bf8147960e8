//! The index rows of blocks that are committed in one step. Pages that lie among them as a whole
//! are merged by the commit itself: of 256 blocks without logs that leaves one row of the log index
//! in place of 256 that a merge would read and remove soon after.

use super::bits::{Bits, PAGE_HEIGHTS, page_of, start_of};
use super::id::{BlockIds, IndexId, MAX_BLOCK_IDS};
use super::kind::{IndexKind, committed_account_ids, committed_accounts};
use super::merge::Merger;
use crate::ledger::place_rows;
use crate::{Ledger, RunBlock};
use alloy_primitives::{Address, B256};
use hearth_flatkv::IndexWrite;
use std::{collections::BTreeMap, mem::take};

impl Ledger {
    /// As [`Ledger::index_rows`], for blocks that follow each other and are committed in one step:
    /// the rows of each block, in the order of the blocks.
    pub fn index_rows_of_run(&self, run: &[RunBlock<'_>]) -> Vec<Vec<IndexWrite>> {
        self.nudge();
        let mut rows = vec![Vec::new(); run.len()];
        self.log_merger().put_run(run, &mut rows);
        if let Some(merger) = self.account_merger() {
            merger.put_run(run, &mut rows);
        }
        for (rows, block) in rows.iter_mut().zip(run) {
            place_rows(rows, block.block, block.hash);
        }
        rows
    }
}

impl Merger {
    fn put_run(&self, run: &[RunBlock<'_>], rows: &mut [Vec<IndexWrite>]) {
        let kind = self.shared.kind;
        let mut left = rows;
        for blocks in run.chunk_by(|a, b| page_of(a.height()) == page_of(b.height())) {
            let (rows, behind) = take(&mut left).split_at_mut(blocks.len());
            left = behind;
            // Where pages go again, merging them is what makes room.
            let is_whole = blocks.len() as u64 == PAGE_HEIGHTS && self.shared.window.is_none();
            let postings = is_whole.then(|| kind.postings_of(blocks)).flatten();
            if let (Some(postings), Some(end)) = (postings, blocks.last())
                && let Some(last) = rows.last_mut()
            {
                last.extend(kind.merged_rows(postings, page_of(end.height()), end.hash));
                self.shared.count_merged(0);
                continue;
            }
            rows.iter_mut().zip(blocks).for_each(|(rows, block)| rows.extend(kind.row_of(block)));
        }
    }
}

impl IndexKind {
    /// Posting lists of a page, and its mark.
    fn merged_rows(self, postings: BTreeMap<IndexId, Bits>, page: u64, end: B256) -> Vec<IndexWrite> {
        let list = |(id, bits): (IndexId, Bits)| IndexWrite {
            key: self.postings_key(id, page),
            value: Some(bits.encode()),
        };
        let mark = IndexWrite { key: self.merged_key(page), value: Some(end.to_vec()) };
        postings.into_iter().map(list).chain([mark]).collect()
    }

    /// The row of one block; `None` where it is not known what to find it by.
    fn row_of(self, block: &RunBlock<'_>) -> Option<IndexWrite> {
        let ids = match self {
            Self::Logs => BlockIds::of_receipts(block.receipts()),
            Self::Accounts => committed_account_ids(block.block, block.capsule)?,
        };
        Some(self.block_row(block.height(), block.hash, &ids))
    }

    /// The posting lists of a page; `None` where it is not known by what to find one of its blocks,
    /// or that is too much.
    fn postings_of(self, page: &[RunBlock<'_>]) -> Option<BTreeMap<IndexId, Bits>> {
        let offset = |block: &RunBlock<'_>| (block.height() - start_of(page_of(block.height()))) as u8;
        let mut postings = BTreeMap::<IndexId, Bits>::new();
        if self == Self::Logs {
            for block in page {
                let ids = BlockIds::of_receipts(block.receipts()).ids;
                ids.into_iter().for_each(|id| postings.entry(id).or_default().set(offset(block)));
            }
            return Some(postings);
        }
        // The same few accounts in most blocks, each of which is hashed once.
        let mut accounts = BTreeMap::<Address, Bits>::new();
        for block in page {
            for account in committed_accounts(block.block, block.capsule)? {
                accounts.entry(account).or_default().set(offset(block));
            }
            if accounts.len() > MAX_BLOCK_IDS {
                return None;
            }
        }
        let ids = accounts.into_iter().map(|(account, bits)| (IndexId::address(&account), bits));
        // Two accounts may have one id.
        ids.for_each(|(id, bits)| postings.entry(id).or_default().or(&bits));
        Some(postings)
    }
}
