//! Two blocks at once: while the state root of a block is computed and the block is committed, the
//! next one is executed on its changes.
//!
//! Nothing of that execution is stored before the block below is committed. A block that cannot be
//! executed ahead, or whose execution fails, is inserted alone afterwards, which gives the error.

use super::pipeline::Step;
use crate::branch::{BranchHashes, OverlaidState};
use crate::insert::{Executed, check_root};
use crate::{Chain, ChainError};
use alloy_primitives::{B256, U256};
use hearth_evm::{BlockError, validate_header};
use hearth_flatkv::{FlatKvError, StateView};
use hearth_primitives::{BlockOutput, Header, RootTracker, StateReader};
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

/// A block that was executed, all but for its state root.
pub(super) struct AheadBlock {
    pub step: Step,
    pub output: BlockOutput,
    total_difficulty: U256,
}

impl AheadBlock {
    fn header(&self) -> &Header {
        &self.step.prepared.block.header
    }

    fn hash(&self) -> B256 {
        self.step.prepared.hash
    }
}

/// A block whose commit is under way, and the state below it.
struct UnderWay {
    block: Arc<AheadBlock>,
    below: StateView,
}

/// The thread that commits blocks, and the block that it works on.
pub(super) struct Ahead<'scope> {
    blocks: SyncSender<Arc<AheadBlock>>,
    committed: Receiver<Result<(), ChainError>>,
    pending: Option<UnderWay>,
    /// The thread, until it panicked.
    thread: Option<ScopedJoinHandle<'scope, ()>>,
}

impl<'scope> Ahead<'scope> {
    /// Starts the thread. It ends when this is dropped.
    pub fn start(scope: &'scope Scope<'scope, '_>, chain: &'scope Chain) -> Self {
        let (blocks, blocks_out) = sync_channel::<Arc<AheadBlock>>(1);
        let (done, committed) = sync_channel(1);
        let thread = scope.spawn(move || {
            while let Ok(block) = blocks_out.recv() {
                if done.send(chain.commit_ahead(&block)).is_err() {
                    return;
                }
            }
        });
        Self { blocks, committed, pending: None, thread: Some(thread) }
    }

    /// Waits for the commit that is under way. Gives its block, and how it ended; `None` where
    /// there is none.
    pub fn wait(&mut self) -> Option<(Arc<AheadBlock>, Result<(), ChainError>)> {
        let UnderWay { block, .. } = self.pending.take()?;
        let committed = self.committed.recv().unwrap_or_else(|_| {
            // Without an answer it panicked.
            match self.thread.take().map(ScopedJoinHandle::join) {
                Some(Err(panic)) => resume_unwind(panic),
                Some(Ok(())) | None => Err(ChainError::Cancelled),
            }
        });
        Some((block, committed))
    }

    /// Begins the commit of a block on the head, of which `below` is the state.
    pub fn begin(&mut self, block: AheadBlock, below: StateView) {
        let block = Arc::new(block);
        // Where the thread panicked, `wait` resumes the panic.
        let _ = self.blocks.send(block.clone());
        self.pending = Some(UnderWay { block, below });
    }
}

impl Chain {
    /// Executes a block on the one whose commit is under way, or on the head where there is none.
    /// Gives the total difficulty and the output; `None` where the block is to be inserted alone:
    /// it is known, follows another block or is of proof of work, or it fails.
    pub(super) fn execute_ahead(&self, ahead: &Ahead<'_>, step: &Step) -> Option<(U256, BlockOutput)> {
        let (header, hash) = (&step.prepared.block.header, &step.prepared.hash);
        if self.is_follower() || !self.kv.has_roots() || self.ledger.has_block(hash) {
            return None;
        }
        match &ahead.pending {
            Some(UnderWay { block, below }) if block.hash() == header.parent_hash => {
                // The block below is being committed, so that the view looks into history for rows
                // that are missing: one look after the other through one cursor.
                let reads = below.for_execution().unwrap_or_else(|| Box::new(below.clone()));
                let state = OverlaidState::new(reads, [&block.output.changes]);
                let hashes = BranchHashes {
                    chain: &*self.ledger,
                    fork_height: below.height(),
                    branch: BTreeMap::from([(block.header().number, block.hash())]),
                };
                self.execute_on_parent(step, (block.header(), block.total_difficulty), &state, &hashes)
            }
            None if self.head().hash == header.parent_hash => {
                let parent = self.parent_of(header, *hash).ok()?;
                let parent = (&parent.block.header, parent.total_difficulty);
                self.execute_on_parent(step, parent, &self.kv.latest()?, &*self.ledger)
            }
            _ => None,
        }
    }

    fn execute_on_parent(
        &self,
        step: &Step,
        (parent, difficulty): (&Header, U256),
        state: &dyn StateReader,
        hashes: &dyn hearth_primitives::BlockHashes,
    ) -> Option<(U256, BlockOutput)> {
        let block = &step.prepared.block;
        // Before the merge fork choice looks at more than the parent.
        if !self.spec.is_post_merge(parent) {
            return None;
        }
        validate_header(&self.spec, &block.header, parent).ok()?;
        self.validate_body(block).ok()?;
        let senders = step.prepared.senders.as_deref()?;
        let given = Executed { block, senders, sidecar: self.sidecar(&step.prepared.hash).ok()? };
        let output = self.run_without_root(given, state, hashes, None).ok()?;
        Some((difficulty.saturating_add(block.header.difficulty), output))
    }

    /// Computes and checks the state root of a block on the head, and commits the block.
    fn commit_ahead(&self, ahead: &AheadBlock) -> Result<(), ChainError> {
        let AheadBlock { step, output, total_difficulty } = ahead;
        let (block, hash) = (&step.prepared.block, step.prepared.hash);
        self.drop_edits();
        let mut roots = self.kv.roots()?;
        let applied = roots.apply(&output.changes).map_err(BlockError::from);
        if let Err(source) = applied.and_then(|()| check_root(&block.header, &mut roots)) {
            if !matches!(source, BlockError::State(_)) {
                // Why it was refused counts more than that it could not be kept.
                let _ = self.keep_bad_block(block, hash);
            }
            return Err(ChainError::Refused { number: block.header.number, hash, source });
        }
        self.commit(block, hash, *total_difficulty, output, roots.into_update()?)
    }

    /// Begins the commit of a block that was executed on the head.
    pub(super) fn begin_commit(
        &self,
        ahead: &mut Ahead<'_>,
        step: Step,
        (total_difficulty, output): (U256, BlockOutput),
    ) -> Result<(), ChainError> {
        let below = self.kv.latest().ok_or(FlatKvError::Empty)?;
        ahead.begin(AheadBlock { step, output, total_difficulty }, below);
        Ok(())
    }
}
