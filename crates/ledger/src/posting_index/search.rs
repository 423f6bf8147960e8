//! Searching: the heights that may match, in ascending order.

use super::bits::{Bits, page_of, start_of};
use super::id::{IndexId, IndexQuery};
use super::merge::Extent;
use super::rows::number_of;
use crate::LedgerError;
use hearth_primitives::Height;
use std::collections::{BTreeSet, VecDeque};

/// Rows of a posting list that are read first, to see how dense it is.
const ROWS_FIRST: usize = 8;
/// Rows that are read behind a jump: the next one may be a jump again.
const ROWS_AFTER_JUMP: usize = 2;
/// Most rows of a posting list that are read at once.
const ROWS_AT_ONCE: usize = 256;
/// Rows of blocks that are read at once.
const BLOCKS_AT_ONCE: usize = 64;

/// Heights of blocks that may match a query.
pub struct Candidates<'a> {
    extent: Extent<'a>,
    query: IndexQuery,
    from: Height,
    to: Height,
    /// Heights from here on are not merged.
    merged_below: Height,
    /// One for each clause, the one with the fewest pages first.
    clauses: Vec<Clause>,
    /// Next page to look at.
    page: u64,
    /// What is left of the page before.
    found: (u64, Bits),
    /// Next height beyond the merged ones.
    next: Height,
    /// What was read of the blocks from there on: height, and whether it may match.
    blocks: VecDeque<(Height, bool)>,
    /// Heights below this one are in `blocks`, or may match.
    read_below: Height,
    ended: bool,
}

impl std::fmt::Debug for Candidates<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Candidates").field("from", &self.from).field("to", &self.to).finish_non_exhaustive()
    }
}

impl<'a> Candidates<'a> {
    /// Heights from one to another, both inclusive.
    pub(crate) fn new(
        extent: Extent<'a>,
        query: IndexQuery,
        (from, to): (Height, Height),
    ) -> Result<Self, LedgerError> {
        extent.check(from)?;
        // A query without clauses may match anywhere.
        let merged_below = if query.clauses.is_empty() { 0 } else { extent.merged_below };
        let next = from.max(merged_below);
        let mut search = Self {
            extent,
            clauses: Vec::new(),
            from,
            to,
            merged_below,
            page: page_of(from),
            found: (0, Bits::default()),
            next,
            blocks: VecDeque::new(),
            read_below: next,
            ended: false,
            query,
        };
        if from < merged_below && from <= to {
            search.plan()?;
        }
        Ok(search)
    }

    /// Looks at the beginning of each list, and puts the clause with the fewest pages first: it
    /// leads, and the others are read at its pages only.
    fn plan(&mut self) -> Result<(), LedgerError> {
        let end = page_of(self.to.min(self.merged_below - 1)) + 1;
        let mut clauses = Vec::new();
        for ids in &self.query.clauses {
            let mut clause = Clause::new(ids, self.page, end);
            let pages = clause.estimate(&self.extent)?;
            clauses.push((pages, clause));
        }
        clauses.sort_by_key(|(pages, _)| *pages);
        self.clauses = clauses.into_iter().map(|(_, clause)| clause).collect();
        Ok(())
    }

    /// The next height in the posting lists.
    fn next_listed(&mut self) -> Result<Option<Height>, LedgerError> {
        loop {
            if let Some(offset) = self.found.1.pop() {
                return Ok(Some(start_of(self.found.0) + u64::from(offset)));
            }
            let Some(page) = self.common_page()? else { return Ok(None) };
            let mut bits = Bits::between(page, self.from, self.to);
            self.clauses.iter().for_each(|clause| bits.and(&clause.bits(page)));
            self.found = (page, bits);
            self.page = page + 1;
        }
    }

    /// The next page that each clause has.
    fn common_page(&mut self) -> Result<Option<u64>, LedgerError> {
        let mut page = self.page;
        let alone = self.clauses.len() == 1;
        'again: loop {
            for clause in &mut self.clauses {
                let Some(next) = clause.seek(&self.extent, page)? else { return Ok(None) };
                if next > page {
                    page = next;
                    if !alone {
                        continue 'again;
                    }
                }
            }
            return Ok((!self.clauses.is_empty()).then_some(page));
        }
    }

    /// The next height beyond the merged ones that may match.
    fn next_unmerged(&mut self) -> Result<Option<Height>, LedgerError> {
        while self.next <= self.to {
            if self.next >= self.read_below {
                self.read_blocks()?;
            }
            let height = self.next;
            self.next += 1;
            let may_match = match self.blocks.front() {
                Some((at, may_match)) if *at == height => {
                    let may_match = *may_match;
                    self.blocks.pop_front();
                    may_match
                }
                // There is no row of a block of a home from before: only its receipts or its trace
                // say.
                _ => true,
            };
            if may_match {
                return Ok(Some(height));
            }
        }
        Ok(None)
    }

    fn read_blocks(&mut self) -> Result<(), LedgerError> {
        let end = self.next.saturating_add(BLOCKS_AT_ONCE as u64).min(self.to.saturating_add(1));
        self.read_below = end;
        if self.query.clauses.is_empty() {
            return Ok(());
        }
        let Extent { kind, kv, .. } = self.extent;
        let rows = kv.index_range(&kind.block_key(self.next), &kind.block_key(end), BLOCKS_AT_ONCE)?;
        for (key, row) in rows {
            let (_, ids) = kind.decode_block(&row)?;
            self.blocks.push_back((number_of(&key)?, self.query.may_match(&ids)));
        }
        Ok(())
    }
}

impl Iterator for Candidates<'_> {
    type Item = Result<Height, LedgerError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = match self.next_listed() {
            Ok(None) => self.next_unmerged(),
            listed => listed,
        };
        let next = self.extent.check(self.from).and(next);
        self.ended = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}

/// Posting lists of which any one is enough.
struct Clause {
    lists: Vec<List>,
}

impl Clause {
    fn new(ids: &BTreeSet<IndexId>, start: u64, end: u64) -> Self {
        let lists = ids.iter().copied().chain([IndexId::ANY]).map(|id| List::new(id, start, end));
        Self { lists: lists.collect() }
    }

    /// About how many pages the clause has.
    fn estimate(&mut self, extent: &Extent<'_>) -> Result<u64, LedgerError> {
        self.lists.iter_mut().try_fold(0, |sum, list| Ok(sum + list.estimate(extent)?))
    }

    /// The first page from one on that a list has.
    fn seek(&mut self, extent: &Extent<'_>, page: u64) -> Result<Option<u64>, LedgerError> {
        let mut first = None;
        for list in &mut self.lists {
            let next = list.seek(extent, page)?;
            first = match (first, next) {
                (Some(first), Some(next)) => Some(u64::min(first, next)),
                (first, next) => first.or(next),
            };
        }
        Ok(first)
    }

    /// The heights of a page that was sought.
    fn bits(&self, page: u64) -> Bits {
        let mut bits = Bits::default();
        for list in &self.lists {
            if let Some((at, of_list)) = list.rows.front()
                && *at == page
            {
                bits.or(of_list);
            }
        }
        bits
    }
}

/// A posting list, read as it is needed.
struct List {
    id: IndexId,
    /// Rows read and not passed.
    rows: VecDeque<(u64, Bits)>,
    /// First page that was not read.
    unread: u64,
    /// Page behind the last one that is searched.
    end: u64,
    at_once: usize,
    /// Whether most pages have a row: then the wanted row mostly exists, and is read alone.
    dense: bool,
}

impl List {
    fn new(id: IndexId, start: u64, end: u64) -> Self {
        Self { id, rows: VecDeque::new(), unread: start, end, at_once: ROWS_FIRST, dense: false }
    }

    fn estimate(&mut self, extent: &Extent<'_>) -> Result<u64, LedgerError> {
        let start = self.unread;
        self.read(extent, start)?;
        let rows = self.rows.len() as u64;
        self.dense = self.unread - start < 2 * rows;
        Ok(match self.unread < self.end {
            true => rows * (self.end - start) / (self.unread - start).max(1),
            false => rows,
        })
    }

    /// The first page from one on.
    fn seek(&mut self, extent: &Extent<'_>, page: u64) -> Result<Option<u64>, LedgerError> {
        while self.rows.front().is_some_and(|(at, _)| *at < page) {
            self.rows.pop_front();
        }
        if self.rows.is_empty() && self.unread < self.end {
            let jump = page > self.unread;
            // An iterator takes several times as long as one row.
            if jump
                && self.dense
                && page < self.end
                && let Some(row) = extent.kv.index_get(&extent.kind.postings_key(self.id, page))?
            {
                self.rows.push_back((page, extent.kind.decode_postings(&row)?));
                self.unread = page + 1;
                return Ok(Some(page));
            }
            self.at_once = if jump { ROWS_AFTER_JUMP } else { (self.at_once * 2).min(ROWS_AT_ONCE) };
            self.read(extent, page.max(self.unread))?;
        }
        Ok(self.rows.front().map(|(page, _)| *page))
    }

    fn read(&mut self, extent: &Extent<'_>, from: u64) -> Result<(), LedgerError> {
        if from >= self.end {
            self.unread = self.end;
            return Ok(());
        }
        let Extent { kind, kv, .. } = extent;
        let (start, end) = (kind.postings_key(self.id, from), kind.postings_key(self.id, self.end));
        let rows = kv.index_range(&start, &end, self.at_once)?;
        self.unread = self.end;
        let full = rows.len() == self.at_once;
        for (key, row) in rows {
            let page = number_of(&key)?;
            self.rows.push_back((page, extent.kind.decode_postings(&row)?));
            if full {
                self.unread = page + 1;
            }
        }
        Ok(())
    }
}
