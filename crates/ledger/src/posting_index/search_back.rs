//! Searching from the newest block down: the heights that may match any of some ids, in descending
//! order.

use super::bits::{Bits, page_of, start_of};
use super::id::{IndexId, IndexQuery};
use super::merge::Extent;
use super::rows::number_of;
use crate::LedgerError;
use hearth_primitives::Height;
use std::collections::VecDeque;

/// Rows of blocks that are read at once.
const BLOCKS_AT_ONCE: u64 = 64;
/// Rows of a posting list that are read first.
const ROWS_FIRST: usize = 8;
/// Most rows of a posting list that are read at once.
const ROWS_AT_ONCE: usize = 256;

/// Heights of blocks that may hold any of some accounts, from the highest down.
pub struct CandidatesBack<'a> {
    extent: Extent<'a>,
    query: IndexQuery,
    lowest: Height,
    /// The next height is below this one.
    below: Height,
    /// Heights from here on were read of those that are not merged: what may match of them,
    /// descending.
    blocks: VecDeque<Height>,
    read_from: Height,
    /// One for each id.
    lists: Vec<ListBack>,
    /// What is left of a page.
    found: (u64, Bits),
    ended: bool,
}

impl std::fmt::Debug for CandidatesBack<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CandidatesBack").field("below", &self.below).finish_non_exhaustive()
    }
}

impl<'a> CandidatesBack<'a> {
    /// Heights from one down to another, both inclusive, of blocks that may match the first clause
    /// of a query.
    pub(crate) fn new(
        extent: Extent<'a>,
        query: IndexQuery,
        (highest, lowest): (Height, Height),
    ) -> Result<Self, LedgerError> {
        extent.check(lowest)?;
        let below = highest.saturating_add(1);
        let merged_below = extent.merged_below.min(below);
        let (start, end) = (page_of(lowest), page_of(merged_below.saturating_sub(1)) + 1);
        let ids = query.clauses.first().into_iter().flatten().copied().chain([IndexId::ANY]);
        let lists = match lowest < merged_below {
            true => ids.map(|id| ListBack::new(id, start, end)).collect(),
            false => Vec::new(),
        };
        let (blocks, found) = (VecDeque::new(), (end, Bits::default()));
        Ok(Self { extent, query, lowest, below, blocks, read_from: below, lists, found, ended: false })
    }

    /// The next height above the merged ones that may match.
    fn next_unmerged(&mut self) -> Result<Option<Height>, LedgerError> {
        let end = self.extent.merged_below.max(self.lowest);
        loop {
            if let Some(height) = self.blocks.pop_front() {
                return Ok(Some(height));
            }
            if self.read_from <= end {
                return Ok(None);
            }
            let from = self.read_from.saturating_sub(BLOCKS_AT_ONCE).max(end);
            let Extent { kind, kv, .. } = self.extent;
            let rows = kv.index_range(
                &kind.block_key(from),
                &kind.block_key(self.read_from),
                BLOCKS_AT_ONCE as usize,
            )?;
            let mut rows = rows.into_iter().rev().peekable();
            for height in (from..self.read_from).rev() {
                let row = rows.next_if(|(key, _)| number_of(key).is_ok_and(|number| number == height));
                // A block without a row may hold anything.
                let may_match = match row {
                    Some((_, row)) => self.query.may_match(&kind.decode_block(&row)?.1),
                    None => true,
                };
                if may_match {
                    self.blocks.push_back(height);
                }
            }
            self.read_from = from;
        }
    }

    /// The next height of the posting lists.
    fn next_listed(&mut self) -> Result<Option<Height>, LedgerError> {
        loop {
            if let Some(offset) = self.found.1.pop_last() {
                return Ok(Some(start_of(self.found.0) + u64::from(offset)));
            }
            let mut page = None;
            for list in &mut self.lists {
                page = page.max(list.seek(&self.extent, self.found.0)?);
            }
            let Some(page) = page else { return Ok(None) };
            let highest = self.below.min(self.extent.merged_below) - 1;
            let (range, mut bits) = (Bits::between(page, self.lowest, highest), Bits::default());
            self.lists.iter().filter_map(|list| list.at(page)).for_each(|of_list| bits.or(of_list));
            bits.and(&range);
            self.found = (page, bits);
        }
    }
}

impl Iterator for CandidatesBack<'_> {
    type Item = Result<Height, LedgerError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = match self.next_unmerged() {
            Ok(None) => self.next_listed(),
            found => found,
        };
        let next = self.extent.check(self.lowest).and(next);
        self.ended = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}

/// A posting list, read from its end as it is needed.
struct ListBack {
    id: IndexId,
    /// Rows read and not passed, descending.
    rows: VecDeque<(u64, Bits)>,
    start: u64,
    /// Pages from here on were read.
    unread: u64,
    at_once: usize,
}

impl ListBack {
    /// The pages from one on, up to another, exclusive.
    fn new(id: IndexId, start: u64, end: u64) -> Self {
        Self { id, rows: VecDeque::new(), start, unread: end, at_once: ROWS_FIRST }
    }

    /// The highest page below one.
    fn seek(&mut self, extent: &Extent<'_>, below: u64) -> Result<Option<u64>, LedgerError> {
        while self.rows.front().is_some_and(|(page, _)| *page >= below) {
            self.rows.pop_front();
        }
        if self.rows.is_empty() && self.unread > self.start {
            let Extent { kind, kv, .. } = extent;
            let end = self.unread.min(below);
            let (from, to) = (kind.postings_key(self.id, self.start), kind.postings_key(self.id, end));
            let rows = kv.index_range_back(&from, &to, self.at_once)?;
            self.unread = self.start;
            if rows.len() == self.at_once
                && let Some((key, _)) = rows.last()
            {
                self.unread = number_of(key)?;
            }
            for (key, row) in rows {
                self.rows.push_back((number_of(&key)?, kind.decode_postings(&row)?));
            }
            self.at_once = (self.at_once * 2).min(ROWS_AT_ONCE);
        }
        Ok(self.rows.front().map(|(page, _)| *page))
    }

    fn at(&self, page: u64) -> Option<&Bits> {
        self.rows.front().filter(|(at, _)| *at == page).map(|(_, bits)| bits)
    }
}
