//! Executing blocks ahead of their commit: on what the blocks before changed, over the state of the
//! last one that is committed.
//!
//! Nothing of a block is stored before the blocks below it are committed. A block that cannot be
//! executed ahead, or whose execution fails, is inserted alone afterwards, which gives the error.

use super::pipeline::{Place, Step};
use super::runs::{AheadBlock, MAX_RUN_BLOCKS, RunDone, Runs};
use crate::branch::{BranchHashes, Overlay};
use crate::insert::Executed;
use crate::{Built, BuiltOutput, Chain, ChainError, Prepared};
use alloy_primitives::{B256, U256};
use hearth_evm::validate_header;
use hearth_flatkv::{FlatKvError, StateView};
use hearth_primitives::{BlockHashes, BlockOutput, Header, Height, StateReader};
use std::mem::take;
use std::thread::Scope;
use std::time::{Duration, Instant};

/// Changed accounts and slots from which on a run is committed, counted block by block.
pub const MAX_RUN_CHANGES: usize = 8_192;
/// Bytes of blocks and of their logs from which on a run is committed: while it is, the rows of its
/// blocks are in memory several times.
const MAX_RUN_BYTES: usize = 8 << 20;
/// Longest time that blocks are gathered, so that readers follow the import.
const MAX_RUN_TIME: Duration = Duration::from_millis(250);

/// What blocks that follow each other changed.
#[derive(Default)]
struct Layer {
    changes: Overlay,
    hashes: Vec<(Height, B256)>,
    /// Accounts and slots, counted block by block.
    changed: usize,
    /// Bytes of the blocks and of their logs.
    bytes: usize,
    /// When the execution of the first block began.
    began: Option<Instant>,
}

impl Layer {
    fn add(&mut self, block: (Height, B256), executed: &ExecutedAhead, bytes: usize) {
        let ExecutedAhead { output, began, .. } = executed;
        let changes = &output.changes;
        self.changes.add(changes);
        self.hashes.push(block);
        self.changed += changes.accounts.iter().map(|change| 1 + change.storage.len()).sum::<usize>();
        let logs = output.receipts.iter().flat_map(|receipt| receipt.logs());
        self.bytes += bytes + logs.map(|log| log.data.data.len()).sum::<usize>();
        self.began.get_or_insert(*began);
    }

    fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    fn is_full(&self, max_blocks: usize) -> bool {
        self.hashes.len() >= max_blocks
            || self.changed >= MAX_RUN_CHANGES
            || self.bytes >= MAX_RUN_BYTES
            || self.began.is_some_and(|began| began.elapsed() >= MAX_RUN_TIME)
    }
}

/// Blocks that were executed and are not known to be committed.
struct Uncommitted {
    /// The state below them.
    below: StateView,
    /// Those whose commit is under way.
    committing: Layer,
    /// Those that are committed next.
    run: Layer,
    /// Header, hash and total difficulty of the last one.
    tip: (Header, B256, U256),
}

/// The blocks that were executed ahead, and the thread that commits them.
pub(super) struct Ahead<'scope> {
    runs: Runs<'scope>,
    uncommitted: Option<Uncommitted>,
    /// Most blocks of a run: one commit must not prune the state below it, which is read meanwhile.
    max_blocks: usize,
}

impl<'scope> Ahead<'scope> {
    /// Starts the thread that commits. It ends when this is dropped.
    pub fn start(scope: &'scope Scope<'scope, '_>, chain: &'scope Chain) -> Self {
        let kept = chain.kv.history_blocks().map_or(usize::MAX, |kept| kept.get() as usize);
        Self { runs: Runs::start(scope, chain), uncommitted: None, max_blocks: kept.min(MAX_RUN_BLOCKS) }
    }

    /// Whether all blocks are committed.
    pub fn is_settled(&self) -> bool {
        self.uncommitted.is_none()
    }

    /// Whether blocks are gathered for the next commit.
    pub fn has_run(&self) -> bool {
        self.uncommitted.as_ref().is_some_and(|uncommitted| !uncommitted.run.is_empty())
    }

    /// Whether no more blocks may be gathered.
    pub fn is_full(&self) -> bool {
        self.uncommitted.as_ref().is_some_and(|uncommitted| uncommitted.run.is_full(self.max_blocks))
    }

    /// Waits for the commit that is under way; `None` where there is none. `latest` gives the state
    /// of the head.
    pub fn wait(
        &mut self,
        latest: impl FnOnce() -> Option<StateView>,
    ) -> Option<Result<RunDone, ChainError>> {
        let done = self.runs.wait()?;
        let latest = latest();
        self.uncommitted = match (self.uncommitted.take(), latest) {
            // Behind a block that failed the others are dropped.
            _ if done.as_ref().map_or(true, |done| done.failed.is_some()) => None,
            (Some(rest), Some(below)) if !rest.run.is_empty() => {
                Some(Uncommitted { below, committing: Layer::default(), ..rest })
            }
            _ => None,
        };
        Some(done)
    }

    /// Begins the commit of the blocks that were gathered. The one before must have ended.
    pub fn commit(&mut self) {
        if let Some(uncommitted) = &mut self.uncommitted {
            uncommitted.committing = take(&mut uncommitted.run);
            self.runs.commit();
        }
    }
}

/// A block that was executed ahead, the total difficulty with it, and when its execution began.
pub(super) struct ExecutedAhead {
    output: Box<BlockOutput>,
    total_difficulty: U256,
    began: Instant,
}

impl Chain {
    /// Executes a block on the last one that was executed ahead, or on the head where there is
    /// none. `None` where the block is to be inserted alone: it is known, follows another block or
    /// is of proof of work, or it fails.
    pub(super) fn execute_ahead(&self, ahead: &Ahead<'_>, step: &Step) -> Option<ExecutedAhead> {
        let (header, hash) = (&step.prepared.block.header, &step.prepared.hash);
        if self.is_follower() || !self.kv.has_roots() || self.ledger.has_block(hash) {
            return None;
        }
        match &ahead.uncommitted {
            Some(Uncommitted { below, committing, run, tip }) if tip.1 == header.parent_hash => {
                // Blocks above the view are being committed, so that it looks into history for rows
                // that are missing: one look after the other through one cursor.
                let reads = below.for_execution().unwrap_or_else(|| Box::new(below.clone()));
                let state = run.changes.over(committing.changes.over(reads));
                let hashes = BranchHashes {
                    chain: &*self.ledger,
                    fork_height: below.height(),
                    branch: committing.hashes.iter().chain(&run.hashes).copied().collect(),
                };
                self.execute_on_parent(step, (&tip.0, tip.2), &state, &hashes)
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
        hashes: &dyn BlockHashes,
    ) -> Option<ExecutedAhead> {
        let block = &step.prepared.block;
        // Before the merge fork choice looks at more than the parent.
        if !self.spec.is_post_merge(parent) {
            return None;
        }
        validate_header(&self.spec, &block.header, parent).ok()?;
        self.validate_body(block).ok()?;
        let senders = step.prepared.senders.as_deref()?;
        let began = Instant::now();
        let given = Executed { block, senders, sidecar: self.sidecar(&step.prepared.hash).ok()? };
        let output = Box::new(self.run_without_root(given, state, hashes, None).ok()?);
        let total_difficulty = difficulty.saturating_add(block.header.difficulty);
        Some(ExecutedAhead { output, total_difficulty, began })
    }

    /// Whether a block has to be committed without others: it destroys accounts or has native
    /// transactions, or the state has no trie.
    pub(super) fn is_committed_alone(&self, executed: &ExecutedAhead) -> bool {
        let BlockOutput { changes, sidecar, .. } = &*executed.output;
        !self.kv.has_trie() || !sidecar.is_empty() || changes.accounts.iter().any(|change| change.wiped)
    }

    /// Gathers a block for the next commit, and has its state root checked.
    pub(super) fn gather(
        &self,
        ahead: &mut Ahead<'_>,
        step: Step,
        executed: ExecutedAhead,
    ) -> Result<(), ChainError> {
        let total_difficulty = executed.total_difficulty;
        let Step { prepared: Prepared { block, hash, .. }, place } = step;
        let tip = (block.header.clone(), hash, total_difficulty);
        let uncommitted = match &mut ahead.uncommitted {
            Some(uncommitted) => {
                uncommitted.tip = tip;
                uncommitted
            }
            None => {
                let below = self.kv.latest().ok_or(FlatKvError::Empty)?;
                let (committing, run) = Default::default();
                ahead.uncommitted.insert(Uncommitted { below, committing, run, tip })
            }
        };
        uncommitted.run.add((block.header.number, hash), &executed, place.bytes);
        let built = Built { hash, block, output: BuiltOutput::Executed(executed.output) };
        ahead.runs.check(AheadBlock { built, place, total_difficulty });
        Ok(())
    }
}

impl Place {
    /// The problem of the block at this place.
    pub(super) fn problem(&self, source: ChainError) -> ChainError {
        let Self { file, index, offset, .. } = self;
        let (file, source) = (file.to_path_buf(), Box::new(source));
        ChainError::AtBlock { file, index: *index, offset: *offset, source }
    }
}
