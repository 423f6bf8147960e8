//! The address index against the capsules that there are: no block may be left out of the posting
//! lists of its accounts.

use super::bits::{Bits, end_of, page_of, start_of};
use super::id::{BlockIds, IndexId};
use super::merge::{Merger, Shared};
use super::retain::IndexProgress;
use super::rows::number_of;
use crate::index::{decode_hash, number_key};
use crate::{Ledger, LedgerError};
use hearth_primitives::Height;
use std::collections::BTreeMap;

/// Findings that are kept; all are counted.
const MAX_FINDINGS: usize = 1_000;

/// A page of the index with a problem.
#[derive(Debug)]
pub struct IndexFinding {
    /// Lowest height that is concerned.
    pub from: Height,
    /// Highest height that is concerned.
    pub to: Height,
    /// What the page leaves out, or why it does not read.
    pub problem: IndexProblem,
}

/// What is wrong with a page.
#[derive(Debug)]
pub enum IndexProblem {
    /// So many blocks are not found by all of their accounts.
    LeftOut(u64),
    /// A row does not read.
    Unreadable(LedgerError),
}

/// What a verification looked at and found.
#[derive(Debug, Default)]
pub struct IndexReport {
    /// Blocks that were compared with their capsules.
    pub blocks: u64,
    /// Number of blocks without a capsule, whose rows cannot be verified.
    pub unknown: u64,
    /// What is wrong: the first thousand pages.
    pub findings: Vec<IndexFinding>,
    /// How many there are in all.
    pub found: u64,
}

impl Ledger {
    /// Compares the address index with the trace capsules, from the first block that it keeps on.
    /// `watch` hears of each page and says whether to continue; `None` where it said no. A node
    /// without the index has nothing to compare.
    ///
    /// # Errors
    /// [`LedgerError::Index`] where not even the extent of the index can be read. What is wrong in
    /// a page is a finding.
    pub fn verify_address_index(
        &self,
        watch: &mut dyn FnMut(IndexProgress) -> bool,
    ) -> Result<Option<IndexReport>, LedgerError> {
        self.account_merger().map_or(Ok(Some(IndexReport::default())), |merger| merger.verify(watch))
    }
}

impl Merger {
    fn verify(
        &self,
        watch: &mut dyn FnMut(IndexProgress) -> bool,
    ) -> Result<Option<IndexReport>, LedgerError> {
        let shared = &self.shared;
        let merged = shared.merged(&mut shared.progress.lock())?;
        let (first, mut report) = (page_of(self.extent()?.first()), IndexReport::default());
        let Some(head) = shared.kv.head() else { return Ok(Some(report)) };
        let known = shared.progress.lock().first;
        let Some(first) = known.map(|known| known.max(first)) else { return Ok(Some(report)) };
        for page in first..=page_of(head.height) {
            let (done, total) = (start_of(page - first), head.height + 1 - start_of(first));
            if !watch(IndexProgress { done, total }) {
                return Ok(None);
            }
            let problem = match shared.verify_page(page, page < merged, &mut report) {
                Ok(0) => continue,
                Ok(left_out) => IndexProblem::LeftOut(left_out),
                Err(error) => IndexProblem::Unreadable(error),
            };
            report.found += 1;
            if report.findings.len() < MAX_FINDINGS {
                let (from, to) = (start_of(page), end_of(page).min(head.height));
                report.findings.push(IndexFinding { from, to, problem });
            }
        }
        Ok(Some(report))
    }
}

impl Shared {
    /// Blocks of a page that a search for one of their accounts would not find.
    fn verify_page(&self, page: u64, merged: bool, report: &mut IndexReport) -> Result<u64, LedgerError> {
        let (start, end) = (number_key(start_of(page)), number_key(end_of(page) + 1));
        let hashes = self.range(&start, &end, super::bits::PAGE_HEIGHTS as usize)?;
        let mut rows = self.block_ids(page)?;
        let mut expected: BTreeMap<IndexId, Bits> = BTreeMap::new();
        let mut left_out = Bits::default();
        for (key, hash) in &hashes {
            let (height, hash) = (number_of(key)?, decode_hash(hash)?);
            let ids = self.kind.ids_of(&self.tables, &hash);
            if ids == BlockIds::any() {
                report.unknown += 1;
                continue;
            }
            report.blocks += 1;
            let offset = (height - start_of(page)) as u8;
            if merged {
                ids.ids.into_iter().for_each(|id| expected.entry(id).or_default().set(offset));
            } else if let Some((of, row)) = rows.remove(&height)
                && of == hash
                && row != BlockIds::any()
                && !ids.ids.iter().all(|id| row.ids.binary_search(id).is_ok())
            {
                left_out.set(offset);
            }
        }
        let listed = |id| match self.get(&self.kind.postings_key(id, page))? {
            Some(row) => self.kind.decode_postings(&row),
            None => Ok(Bits::default()),
        };
        let any = listed(IndexId::ANY)?;
        for (id, mut bits) in expected {
            let mut found = listed(id)?;
            found.or(&any);
            bits.remove(&found);
            left_out.or(&bits);
        }
        Ok(u64::from(left_out.count()))
    }
}
