//! Indexes of canonical blocks: which blocks may hold a log of an address or of a topic at a
//! position (the log index), and which may hold a call or a creation from or to an account (the
//! address index).
//!
//! An index answers with blocks that may match and never leaves one out; the caller looks at their
//! receipts or traces them. So it may hold too much, and needs to be exact in one direction only.
//!
//! | logs | accounts | value | written |
//! |---|---|---|---|
//! | `p` height BE 8 | `P` height | version, block hash 32, ids 8 each, ascending | with the block's commit, reverted by its unwind |
//! | `l` id 8, page BE 8 | `L` id, page | heights of the page, offsets or a bitmap | by the merge of the page |
//! | `m` page BE 8 | `M` page | hash of the page's last block | by the merge of the page, last |
//! | `f` | `F` | lowest page that is kept, BE 8 | before lower pages are removed |
//!
//! An id is a hash of an address or of a topic with its position. A commit writes one row an index:
//! the block's ids. Those of the address index are the accounts of the block's trace capsule, which
//! holds every account that a call could go to, and the accounts that its rewards go to.
//!
//! Once a page of 256 heights lies [`MERGE_LAG`] blocks below the head it is merged in the
//! background: its ids become posting lists, one row an id and page, which a search reads by
//! seeking, and its block rows go. Merged rows are not reverted by an unwind. They hold for a page
//! as long as the canonical block at its end is the one that the mark names, for its hash fixes all
//! blocks below; a page for which that is not so counts as unmerged, and is merged again over the
//! existing rows. A page whose block rows are missing, in a home from before the index or after an
//! unwind into a merged page, is merged from receipts or capsules, and until then all its blocks
//! may match. A block without either always may.
//!
//! A page whose blocks are all committed in one step is merged by that commit: its blocks never
//! have rows, and an unwind reverts its posting lists and its mark.
//!
//! An index with a window keeps at least the newest blocks of that number: the floor rises in
//! steps, and a sweep removes the rows below it. A search that the floor overtakes ends with
//! [`crate::LedgerError::IndexPruned`].

mod bits;
mod id;
mod kind;
mod measure;
mod merge;
mod retain;
mod rows;
mod run;
mod search;
mod search_back;
#[cfg(test)]
mod tests;
mod verify;

pub use bits::PAGE_HEIGHTS;
pub use id::IndexQuery;
pub use merge::MERGE_LAG;
pub use retain::{IndexProgress, RebuiltIndex};
pub use search::Candidates;
pub use search_back::CandidatesBack;
pub use verify::{IndexFinding, IndexProblem, IndexReport};

pub(crate) use kind::IndexKind;
pub(crate) use merge::Merger;

use crate::{Ledger, LedgerError};
use alloy_primitives::{Address, B256};
use hearth_flatkv::IndexWrite;
use hearth_primitives::{Block, Height, Receipt, TraceCapsule};
use id::BlockIds;

/// The row of the log index of a block that becomes canonical.
pub(crate) fn log_row(height: Height, hash: B256, receipts: &[Receipt]) -> IndexWrite {
    IndexKind::Logs.block_row(height, hash, &BlockIds::of_receipts(receipts))
}

/// The row of the address index of a block that becomes canonical; `None` where no capsule says
/// what its transactions looked at.
pub(crate) fn account_row(block: &Block, hash: B256, capsule: Option<&TraceCapsule>) -> Option<IndexWrite> {
    let ids = kind::committed_account_ids(block, capsule)?;
    Some(IndexKind::Accounts.block_row(block.header.number, hash, &ids))
}

impl Ledger {
    /// Canonical heights between two, both inclusive, of blocks that may hold a log that the query
    /// looks for, ascending. None that holds one is left out; its receipts say whether one does.
    ///
    /// # Errors
    /// [`LedgerError::Index`], [`LedgerError::BadIndexRow`]; from the iterator too.
    pub fn log_blocks(
        &self,
        query: IndexQuery,
        from: Height,
        to: Height,
    ) -> Result<Candidates<'_>, LedgerError> {
        Candidates::new(self.log_merger().extent()?, query, (from, to))
    }

    /// Whether blocks are indexed by account.
    pub fn has_address_index(&self) -> bool {
        self.account_merger().is_some()
    }

    /// Lowest height that the address index keeps; `None` where there is no such index.
    ///
    /// # Errors
    /// [`LedgerError::Index`], [`LedgerError::BadIndexRow`].
    pub fn first_indexed(&self) -> Result<Option<Height>, LedgerError> {
        self.account_merger().map(|merger| Ok(merger.extent()?.first())).transpose()
    }

    /// Canonical heights between two, both inclusive, of blocks whose transactions or rewards may
    /// be from or to an account of each list of the query, ascending. None that has one is left
    /// out; its trace says whether one does.
    ///
    /// # Errors
    /// [`LedgerError::NoAddressIndex`], [`LedgerError::IndexPruned`]; as [`Ledger::log_blocks`].
    pub fn account_blocks(
        &self,
        query: IndexQuery,
        from: Height,
        to: Height,
    ) -> Result<Candidates<'_>, LedgerError> {
        let merger = self.account_merger().ok_or(LedgerError::NoAddressIndex)?;
        Candidates::new(merger.extent()?, query, (from, to))
    }

    /// As [`Ledger::account_blocks`] for one account, from the highest height down.
    ///
    /// # Errors
    /// As [`Ledger::account_blocks`].
    pub fn account_blocks_back(
        &self,
        account: &Address,
        highest: Height,
        lowest: Height,
    ) -> Result<CandidatesBack<'_>, LedgerError> {
        let merger = self.account_merger().ok_or(LedgerError::NoAddressIndex)?;
        let query = IndexQuery::accounts(&[&[*account]]);
        CandidatesBack::new(merger.extent()?, query, (highest, lowest))
    }

    /// Removes the address index and builds it again of the capsules that there are. `watch` hears
    /// of the progress and says whether to continue; `None` where it said no: what is missing then
    /// is built in the background later.
    ///
    /// # Errors
    /// [`LedgerError::NoAddressIndex`], [`LedgerError::Index`], [`LedgerError::BadIndexRow`].
    pub fn rebuild_address_index(
        &self,
        watch: &mut dyn FnMut(IndexProgress) -> bool,
    ) -> Result<Option<RebuiltIndex>, LedgerError> {
        self.account_merger().ok_or(LedgerError::NoAddressIndex)?.rebuild(watch)
    }
}
