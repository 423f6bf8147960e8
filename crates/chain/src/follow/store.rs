//! Committing followed blocks.

use super::{
    FollowAnswer, Linked, Verified,
    answer::{FollowedState, FollowedTo, VerifiedBlocks},
    execute::FollowedRun,
    marks::{self, BlockMark},
};
use crate::capsules::capsule_of;
use crate::commit::AppendedRows;
use crate::working::Working;
use crate::{Chain, ChainError, Finality, FinalityTag, branch};
use alloy_primitives::{B256, Bytes, U256};
use hearth_flatkv::{Commit, IndexWrite};
use hearth_ledger::StoredReceipts;
use hearth_primitives::{Changeset, TraceCapsule};
use std::sync::Arc;

impl Chain {
    /// Makes an executed block the head.
    pub(super) fn store_followed(
        &self,
        working: &mut Working,
        linked: &Linked,
        executed: FollowedRun,
    ) -> Result<FollowAnswer, ChainError> {
        let FollowedRun { output, codes, verified, supplemented } = executed;
        let (block, hash) = (&linked.block.block, linked.block.hash);
        let total_difficulty = difficulty(linked);
        let removed = self.leave_branch(working, linked)?;
        let rows = AppendedRows::begin(&self.ledger);
        let capsule = capsule_of(&self.spec, &block.header, &output).filter(|_| self.ledger.keeps_capsules());
        self.append(block, hash, total_difficulty, &output, capsule.as_deref(), &[])?;
        let mut index = self.ledger.index_rows(block, hash, &output.receipts, capsule.as_deref());
        let mark = (verified == Verified::Executed).then_some(BlockMark::Executed);
        index.extend(mark.map(|mark| marks::row(block.header.number, mark)));
        let deployed = output.changes.codes;
        self.commit_rows(linked, codes.into_iter().chain(deployed).collect(), index)?;
        rows.keep();
        self.marks.added(mark);
        let receipts = StoredReceipts { receipts: output.receipts, senders: output.senders };
        self.ledger.keep_decoded(block, hash, total_difficulty, receipts);
        self.followed(working, linked, capsule.as_ref());
        let number = block.header.number;
        let fill_rounds = u32::from(supplemented);
        Ok(FollowAnswer::Followed { number, hash, verified, removed, fill_rounds })
    }

    /// Makes a block that cannot be executed the head. It has a record, and no receipts: what reads
    /// those finds that they are elsewhere.
    pub(super) fn store_hole(
        &self,
        working: &mut Working,
        linked: &Linked,
        reason: String,
    ) -> Result<FollowAnswer, ChainError> {
        let (block, hash) = (&linked.block.block, linked.block.hash);
        self.leave_branch(working, linked)?;
        let rows = AppendedRows::begin(&self.ledger);
        self.ledger.restore_block(block, hash, difficulty(linked))?;
        let mut index = self.ledger.index_rows(block, hash, &[], None);
        index.push(marks::row(block.header.number, BlockMark::Hole));
        self.commit_rows(linked, Vec::new(), index)?;
        rows.keep();
        self.marks.added(Some(BlockMark::Hole));
        self.followed(working, linked, None);
        Ok(FollowAnswer::Hole { reason })
    }

    /// Takes the head back to the block's parent. Returns how many blocks have left the chain. If
    /// the process dies before the block is committed, the parent is the head, and the next block
    /// is requested from the other node again.
    fn leave_branch(&self, working: &mut Working, linked: &Linked) -> Result<u64, ChainError> {
        self.note_head(working);
        let (to, head) = (linked.parent.number(), self.head().height);
        if to < head {
            self.kv.unwind(to)?;
            self.marks.unwound();
            self.watchers.unwound(to);
        }
        Ok(head - to)
    }

    /// The commit of a block: its rows of the index and new codes. Nothing of the state is written.
    fn commit_rows(
        &self,
        linked: &Linked,
        mut codes: Vec<(B256, Bytes)>,
        index: Vec<IndexWrite>,
    ) -> Result<(), ChainError> {
        codes.sort_unstable_by_key(|(hash, _)| *hash);
        codes.dedup_by_key(|(hash, _)| *hash);
        let header = &linked.block.block.header;
        Ok(self.kv.commit(Commit {
            height: header.number,
            hash: linked.block.hash,
            parent: header.parent_hash,
            changes: &Changeset { accounts: Vec::new(), codes },
            trie: None,
            state_root: None,
            index,
            positions: self.ledger.positions(),
        })?)
    }

    fn followed(&self, working: &mut Working, linked: &Linked, capsule: Option<&Arc<TraceCapsule>>) {
        let (height, hash) = (linked.block.block.header.number, linked.block.hash);
        // The block is committed: capsules that cannot be deleted now are deleted after the next
        // one.
        let _ = self.ledger.forget_capsules(height);
        self.watchers.committed(height, hash, capsule);
        self.announce(working);
    }

    /// What a home that follows holds; `None` in any other.
    ///
    /// # Errors
    /// Those of the stores.
    pub fn followed_state(&self) -> Result<Option<FollowedState>, ChainError> {
        if !self.is_follower() {
            return Ok(None);
        }
        let (head, counts) = (self.head(), self.count_marks()?);
        let tag = |tag| -> Result<_, ChainError> {
            Ok(self.marked(tag)?.map(|mark| FollowedTo { number: mark.height, hash: mark.hash }))
        };
        let blocks = head.height - self.base();
        Ok(Some(FollowedState {
            chain_id: self.spec.chain_id(),
            genesis_hash: self.genesis_hash()?,
            head: FollowedTo { number: head.height, hash: head.hash },
            base: FollowedTo { number: self.base(), hash: self.base_hash() },
            holes: counts.holes,
            verified: VerifiedBlocks {
                proven: blocks.saturating_sub(counts.executed + counts.holes),
                executed: counts.executed,
            },
            safe: tag(FinalityTag::Safe)?,
            finalized: tag(FinalityTag::Finalized)?,
        }))
    }

    /// Stores which blocks the other node calls safe and finalized. A block that is not canonical
    /// here, or not yet, leaves its tag where it was.
    ///
    /// # Errors
    /// Those of the stores.
    pub fn set_followed_finality(
        &self,
        safe: Option<B256>,
        finalized: Option<B256>,
    ) -> Result<(), ChainError> {
        let mark = |hash: Option<B256>| -> Result<Option<branch::Mark>, ChainError> {
            let Some(hash) = hash else { return Ok(None) };
            let Some(height) = self.ledger.number_of(&hash)? else { return Ok(None) };
            Ok(self.is_canonical(height, &hash)?.then_some(branch::Mark { height, hash }))
        };
        self.set_finality(Finality { safe: mark(safe)?, finalized: mark(finalized)? })?;
        self.marks.changed();
        Ok(())
    }
}

/// The total difficulty with a block. In the middle of a chain it is a lower bound.
fn difficulty(linked: &Linked) -> U256 {
    linked.parent.total_difficulty.saturating_add(linked.block.block.header.difficulty)
}
