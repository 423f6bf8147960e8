//! Blocks on the head that a consensus engine may decide on: executed once, when they are proposed,
//! and sealed with the data that is only known after the decision.

use super::{Branch, ExecutedBlock};
use crate::{BlockAttributes, Chain, ChainError, TransactionSource};
use alloy_primitives::{B256, Bytes, U256};
use hearth_evm::TxError;
use hearth_flatkv::{FlatKvError, TrieUpdate};
use hearth_primitives::{Block, BlockOutput, Height, RootTracker as _};
use std::sync::Arc;

/// A block that was executed on the head and is complete except for its extra data, which execution
/// does not read.
#[derive(Debug)]
pub struct Candidate {
    block: Block,
    output: BlockOutput,
    /// The changed nodes of the state trie, on a chain that has one.
    trie: Option<TrieUpdate>,
    total_difficulty: U256,
    parent_height: Height,
}

impl Candidate {
    /// The block as it is before it is sealed.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// What its execution gave.
    pub fn output(&self) -> &BlockOutput {
        &self.output
    }

    /// The branch of this one block, on the head that it was executed on, for
    /// [`Chain::adopt_branch`].
    pub fn seal(mut self, extra_data: Bytes) -> Branch {
        self.block.header.extra_data = extra_data;
        let hash = self.block.header.hash_slow();
        let fork_hash = self.block.header.parent_hash;
        let executed = ExecutedBlock {
            block: self.block,
            hash,
            total_difficulty: self.total_difficulty,
            output: self.output,
            trie: parking_lot::Mutex::new(self.trie),
            ready: Default::default(),
        };
        Branch { fork_height: self.parent_height, fork_hash, blocks: vec![Arc::new(executed)] }
    }
}

impl Chain {
    /// Executes a block on the head. The inner error is an invalid transaction that `source` does
    /// not drop, with its hash.
    ///
    /// The head must not move meanwhile: only one consensus engine moves it, and that waits for
    /// this call.
    ///
    /// # Errors
    /// Those of the stores; [`FlatKvError::Parent`] if the head moved meanwhile;
    /// [`ChainError::Refused`] if the block fails outside of its transactions.
    pub fn candidate(
        &self,
        attributes: &BlockAttributes,
        source: &mut dyn TransactionSource,
    ) -> Result<Result<Candidate, (B256, TxError)>, ChainError> {
        let parent = self.head_block()?.ok_or(FlatKvError::Empty)?;
        let header = self.header_on(&parent.block.header, parent.hash, attributes);
        let total_difficulty = parent.total_difficulty;
        let (state, mut roots) = {
            // Under the lock, so that view and commitment are of the same head.
            let _no_change_meanwhile = self.working.lock();
            (self.kv.latest().ok_or(FlatKvError::Empty)?, self.kv.roots()?)
        };
        let draft = match self.draft_with_evidence(
            header,
            &attributes.withdrawals,
            attributes.misbehavior.clone(),
            &state,
            source,
        )? {
            Ok(draft) => draft,
            Err(left_out) => return Ok(Err(left_out)),
        };
        roots.apply(&draft.output.changes)?;
        let block = draft.complete(roots.root()?);
        let trie = roots.into_update()?;
        Ok(Ok(Candidate {
            block,
            output: draft.output,
            trie,
            total_difficulty,
            parent_height: parent.number(),
        }))
    }
}
