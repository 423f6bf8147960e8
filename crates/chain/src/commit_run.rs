//! Commits blocks that follow each other in one step, as a development chain makes empty ones.

use crate::{Chain, ChainError, capsules::capsule_of, commit::AppendedRows};
use alloy_primitives::{B256, U256};
use hearth_evm::EmptyBlock;
use hearth_flatkv::{Commit, TrieUpdate};
use hearth_ledger::{RunBlock, StoredReceipts, posting_index::PAGE_HEIGHTS};
use hearth_primitives::{Block, BlockOutput, Changeset, Height, TraceCapsule};
use std::{borrow::Cow, sync::Arc};

/// Heights of a page of the log and address indexes. The first one of a page divides by it; a run
/// that has a page as a whole commits it merged.
pub const INDEX_PAGE_HEIGHTS: Height = PAGE_HEIGHTS;

/// Newest blocks of a run that are kept decoded: of a long run the first blocks would only push
/// each other out.
const KEPT_OF_RUN: usize = 128;

/// A block that was built on the one before it, with its hash and what its execution gave.
#[derive(Clone, Debug)]
pub struct Built {
    /// Its hash.
    pub hash: B256,
    /// The block.
    pub block: Block,
    /// What its execution gave.
    pub output: BuiltOutput,
}

/// What the execution of a block gave.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all are empty, without an allocation")]
pub enum BuiltOutput {
    /// A block without transactions whose output was computed.
    Empty(EmptyBlock),
    /// Any other one.
    Executed(Box<BlockOutput>),
}

impl BuiltOutput {
    /// What the block changes.
    pub fn changes(&self) -> Cow<'_, Changeset> {
        match self {
            Self::Empty(empty) => Cow::Owned(empty.changes()),
            Self::Executed(output) => Cow::Borrowed(&output.changes),
        }
    }

    /// Gas that its transactions used.
    pub fn gas_used(&self) -> u64 {
        self.executed().map_or(0, |output| output.gas_used)
    }

    fn executed(&self) -> Option<&BlockOutput> {
        match self {
            Self::Empty(_) => None,
            Self::Executed(output) => Some(output),
        }
    }
}

/// Whether a block of a run, by its place, is one of the newest.
fn is_kept(run: &[Built], number: usize) -> bool {
    number >= run.len().saturating_sub(KEPT_OF_RUN)
}

impl Chain {
    /// Same as [`Chain::commit_built`], for consecutive blocks that are stored in one step. None of
    /// them may destroy an account, and there must be no pending edit of the state. `trie` is the
    /// trie after the last one.
    ///
    /// # Errors
    /// Those of [`Chain::commit_built`].
    pub fn commit_run(&self, run: &[Built], trie: Option<TrieUpdate>) -> Result<(), ChainError> {
        let Some(first) = run.first() else { return Ok(()) };
        let working = &mut *self.working.lock();
        self.note_head(working);
        let parent = self.parent_of(&first.block.header, first.hash)?;
        let capsules = self.store_run(run, parent.total_difficulty, trie)?;
        let mut total_difficulty = parent.total_difficulty;
        for (number, Built { hash, block, output }) in run.iter().enumerate() {
            total_difficulty += block.header.difficulty;
            if is_kept(run, number) {
                let receipts = output.executed().map(|output| StoredReceipts {
                    receipts: output.receipts.clone(),
                    senders: output.senders.clone(),
                });
                self.ledger.keep_decoded(block, *hash, total_difficulty, receipts.unwrap_or_default());
            }
        }
        self.notify_of_run(run, &capsules);
        self.announce_run(working, run);
        Ok(())
    }

    /// Appends consecutive blocks on the head, whose total difficulty is given, and commits them in
    /// one step. Gives their capsules.
    pub(crate) fn store_run(
        &self,
        run: &[Built],
        mut total_difficulty: U256,
        trie: Option<TrieUpdate>,
    ) -> Result<Vec<Option<Arc<TraceCapsule>>>, ChainError> {
        let rows = AppendedRows::begin(&self.ledger);
        let capsules = run
            .iter()
            .map(|Built { block, output, .. }| capsule_of(&self.spec, &block.header, output.executed()?));
        let capsules: Vec<_> = capsules.collect();
        let of_run = run.iter().zip(&capsules).map(|(Built { hash, block, output }, capsule)| {
            total_difficulty += block.header.difficulty;
            let (output, capsule) = (output.executed(), capsule.as_deref());
            RunBlock { block, hash: *hash, total_difficulty, output, capsule }
        });
        let of_run: Vec<_> = of_run.collect();
        let positions = self.ledger.append_run(&of_run)?;
        let indexes = self.ledger.index_rows_of_run(&of_run);
        let changes: Vec<_> = run.iter().map(|built| built.output.changes()).collect();
        let commits = run.iter().zip(&changes).zip(positions.into_iter().zip(indexes)).map(
            |((Built { hash, block, .. }, changes), (positions, index))| Commit {
                height: block.header.number,
                hash: *hash,
                parent: block.header.parent_hash,
                changes,
                trie: None,
                state_root: Some(block.header.state_root),
                index,
                positions,
            },
        );
        self.kv.commit_run(commits.collect(), trie)?;
        rows.keep();
        Ok(capsules)
    }

    /// Notifies the watchers of blocks that were committed in one step.
    pub(crate) fn notify_of_run(&self, run: &[Built], capsules: &[Option<Arc<TraceCapsule>>]) {
        let committed = run.iter().zip(capsules);
        self.watchers.committed_run(
            committed.map(|(built, capsule)| (built.block.header.number, built.hash, capsule.as_ref())),
        );
        if let Some(last) = run.last() {
            let _ = self.ledger.forget_capsules(last.block.header.number);
        }
    }
}
