//! The thread that computes state roots and commits: block after block is checked as it comes, and
//! those that were gathered are committed in one step.

use super::pipeline::Place;
use crate::insert::check_root;
use crate::{Built, BuiltOutput, Chain, ChainError};
use alloy_primitives::U256;
use hearth_evm::BlockError;
use hearth_flatkv::{StateRoots, TrieUpdate};
use hearth_primitives::RootTracker;
use std::mem::take;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

/// Most blocks that are committed in one step.
pub const MAX_RUN_BLOCKS: usize = 64;

/// A block that was executed, all but for its state root.
pub(super) struct AheadBlock {
    pub built: Built,
    pub place: Place,
    pub total_difficulty: U256,
}

enum Order {
    /// Check the state root of a block and keep the block for the next commit.
    Check(Box<AheadBlock>),
    /// Commit the blocks that were checked since the last commit.
    Commit,
}

/// How a commit ended.
pub(super) struct RunDone {
    /// The blocks that are committed, and where the last one was.
    pub run: Vec<Built>,
    pub last: Option<Place>,
    /// The first block that is not, and why.
    pub failed: Option<(Place, ChainError)>,
}

/// The commit thread, as the executing thread uses it.
pub(super) struct Runs<'scope> {
    orders: SyncSender<Order>,
    done: Receiver<RunDone>,
    /// Whether a commit is under way.
    is_committing: bool,
    /// The thread, until it panicked.
    thread: Option<ScopedJoinHandle<'scope, ()>>,
}

impl<'scope> Runs<'scope> {
    /// Starts the thread. It ends when this is dropped.
    pub fn start(scope: &'scope Scope<'scope, '_>, chain: &'scope Chain) -> Self {
        // The blocks of the next run, and the order to commit them.
        let (orders, orders_out) = sync_channel(MAX_RUN_BLOCKS + 1);
        let (done, done_out) = sync_channel(1);
        let thread = scope.spawn(move || {
            let mut run = Run::new(chain);
            while let Ok(order) = orders_out.recv() {
                match order {
                    Order::Check(block) => run.add(*block),
                    Order::Commit => {
                        if done.send(run.commit()).is_err() {
                            return;
                        }
                    }
                }
            }
        });
        Self { orders, done: done_out, is_committing: false, thread: Some(thread) }
    }

    /// Sends a block, which follows the one before, to have its state root checked.
    pub fn check(&self, block: AheadBlock) {
        // Where the thread panicked, `wait` resumes the panic.
        let _ = self.orders.send(Order::Check(Box::new(block)));
    }

    /// Begins the commit of the blocks since the last commit, which must have ended.
    pub fn commit(&mut self) {
        let _ = self.orders.send(Order::Commit);
        self.is_committing = true;
    }

    /// Waits for the commit that is under way; `None` where there is none.
    ///
    /// # Errors
    /// [`ChainError::Cancelled`] where the thread ended without an answer.
    pub fn wait(&mut self) -> Option<Result<RunDone, ChainError>> {
        if !take(&mut self.is_committing) {
            return None;
        }
        Some(self.done.recv().or_else(|_| match self.thread.take().map(ScopedJoinHandle::join) {
            Some(Err(panic)) => resume_unwind(panic),
            Some(Ok(())) | None => Err(ChainError::Cancelled),
        }))
    }
}

/// Blocks whose state roots are checked, on the head.
struct Run<'c> {
    chain: &'c Chain,
    /// The commitment to the state after them; `None` before the first one, and once one failed.
    roots: Option<StateRoots<'static>>,
    blocks: Vec<Built>,
    places: Vec<Place>,
    /// Total difficulty of the last one.
    total_difficulty: U256,
    /// The first block that does not follow them, and why.
    failed: Option<(Place, ChainError)>,
    /// Whether a failure was reported: later blocks build on blocks that were dropped.
    is_over: bool,
}

impl<'c> Run<'c> {
    fn new(chain: &'c Chain) -> Self {
        let (roots, blocks, places) = (None, Vec::new(), Vec::new());
        Self { chain, roots, blocks, places, total_difficulty: U256::ZERO, failed: None, is_over: false }
    }

    /// Adds a block unless one before it failed.
    fn add(&mut self, block: AheadBlock) {
        if self.failed.is_some() || self.is_over {
            return;
        }
        let AheadBlock { built, place, total_difficulty } = block;
        let checked = self.check(&built);
        self.chain.keep_if_refused(&built.block, built.hash, &checked);
        if let Err(error) = checked {
            self.roots = None;
            self.failed = Some((place, error));
            return;
        }
        self.blocks.push(built);
        self.places.push(place);
        self.total_difficulty = total_difficulty;
    }

    fn check(&mut self, Built { block, hash, output }: &Built) -> Result<(), ChainError> {
        let roots = match &mut self.roots {
            Some(roots) => roots,
            None => {
                self.chain.drop_edits();
                self.roots.insert(self.chain.kv.roots()?)
            }
        };
        let applied = roots.apply(&output.changes()).map_err(BlockError::from);
        let number = block.header.number;
        applied.and_then(|()| check_root(&block.header, roots)).map_err(|source| ChainError::Refused {
            number,
            hash: *hash,
            source,
        })
    }

    /// Commits the blocks.
    fn commit(&mut self) -> RunDone {
        let (mut run, mut places) = (take(&mut self.blocks), take(&mut self.places));
        let mut failed = self.failed.take();
        if let Err(error) = self.store(&run) {
            let (stored, error) = self.store_each(&run, error);
            run.truncate(stored);
            if let (Some(error), true) = (error, stored < places.len()) {
                failed = Some((places.swap_remove(stored), error));
            }
            places.truncate(stored);
        }
        self.is_over |= failed.is_some();
        RunDone { run, last: places.pop(), failed }
    }

    /// Commits the blocks in one step.
    fn store(&mut self, run: &[Built]) -> Result<(), ChainError> {
        let roots = self.roots.take();
        let trie = match (roots, run) {
            (_, []) => return Ok(()),
            (Some(roots), _) => roots.into_update()?,
            (None, _) => self.update_of(run)?,
        };
        let difficulty = self.total_difficulty - difficulty_of(run);
        match run {
            [built] => self.store_one(built, difficulty, trie),
            _ => self.store_together(run, difficulty, trie),
        }
    }

    /// Commits blocks on the head, which has this total difficulty, in one step.
    fn store_together(
        &self,
        run: &[Built],
        difficulty: U256,
        trie: Option<TrieUpdate>,
    ) -> Result<(), ChainError> {
        let capsules = self.chain.store_run(run, difficulty, trie)?;
        self.chain.notify_of_run(run, &capsules);
        Ok(())
    }

    /// Commits a block on the head, which has this total difficulty.
    fn store_one(&self, built: &Built, difficulty: U256, trie: Option<TrieUpdate>) -> Result<(), ChainError> {
        let Built { hash, block, output } = built;
        match output {
            BuiltOutput::Executed(output) => {
                self.chain.commit(block, *hash, difficulty + block.header.difficulty, output, trie)
            }
            BuiltOutput::Empty(_) => self.store_together(std::slice::from_ref(built), difficulty, trie),
        }
    }

    /// Commits blocks one by one whose commit in one step failed, so that those below the one at
    /// fault are kept. How many were committed, and why the next one was not.
    fn store_each(&self, run: &[Built], error: ChainError) -> (usize, Option<ChainError>) {
        let below = run.first().map(|first| first.block.header.parent_hash);
        if run.len() < 2 || below != Some(self.chain.head().hash) {
            return (0, Some(error));
        }
        let mut difficulty = self.total_difficulty - difficulty_of(run);
        for (number, built) in run.iter().enumerate() {
            let stored = self
                .update_of(std::slice::from_ref(built))
                .and_then(|trie| self.store_one(built, difficulty, trie));
            if let Err(error) = stored {
                return (number, Some(error));
            }
            difficulty += built.block.header.difficulty;
        }
        (run.len(), None)
    }

    /// The update of the trie by these blocks, computed again where the session of the run is of no
    /// use: it has the changes of a later block, or the commit of its update failed.
    fn update_of(&self, run: &[Built]) -> Result<Option<TrieUpdate>, ChainError> {
        let mut roots = self.chain.kv.roots()?;
        run.iter().try_for_each(|built| roots.apply(&built.output.changes()))?;
        Ok(roots.into_update()?)
    }
}

fn difficulty_of(run: &[Built]) -> U256 {
    run.iter().map(|built| built.block.header.difficulty).sum()
}

#[cfg(test)]
mod tests;
