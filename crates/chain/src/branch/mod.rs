//! Blocks that are executed before fork choice decides on them: the payloads of the Engine API.
//!
//! [`Chain::execute_on`] executes a block on any known parent and keeps the result in memory; the
//! head does not move. [`Chain::adopt_branch`] makes such a block the head: it unwinds to the
//! common ancestor and commits the results unchanged, without a second execution (execution-apis,
//! src/engine/paris.md: `engine_newPayload` and `engine_forkchoiceUpdated`).

mod candidate;
mod finality;
mod overlaid;
mod ready;

pub use candidate::Candidate;
pub use finality::{Finality, FinalityTag, Mark};
pub use overlaid::{OverlaidState, Overlay};

use crate::insert::Executed;
use crate::working::Working;
use crate::{Chain, ChainError, Prepared};
use alloy_primitives::{B256, U256};
use hearth_evm::{BlockEnvironment, Fork, recover_senders, validate_header, validate_merge};
use hearth_flatkv::{FlatKvError, StateRoots, TrieUpdate};
use hearth_ledger::StoredReceipts;
use hearth_primitives::{
    Block, BlockHashes, BlockOutput, Changeset, Header, Height, RootTracker, StateError, StateReader,
};
use parking_lot::Mutex;
use ready::ReadyCommit;
use std::{collections::BTreeMap, sync::Arc};

/// Most blocks between the canonical chain and a block that is executed, and most blocks that a
/// fork choice unwinds (core/blockchain.go of go-ethereum: TriesInMemory).
pub const BRANCH_BLOCKS_MAX: u64 = 128;

/// A block that was executed and verified, with what its execution gave.
#[derive(Debug)]
pub struct ExecutedBlock {
    /// The block.
    pub block: Block,
    /// Its hash.
    pub hash: B256,
    /// Difficulty of the chain up to this block.
    pub total_difficulty: U256,
    /// What its execution gave.
    pub output: BlockOutput,
    /// The changed nodes of the state trie, for the commit; absent once they were committed, and if
    /// the block was executed on a state other than the head's.
    trie: Mutex<Option<TrieUpdate>>,
    /// The commit, where it was made ready: see [`Chain::make_ready`].
    ready: Mutex<Option<ReadyCommit>>,
}

impl ExecutedBlock {
    /// The block's header.
    pub fn header(&self) -> &Header {
        &self.block.header
    }

    /// Approximate memory of the block, in bytes: its encoding, and its changes five times (as they
    /// are, by transaction, as nodes of the trie, and as the rows and the WAL record of a commit
    /// that is ready).
    pub fn memory_bytes(&self) -> usize {
        /// An account, a slot or a log with what surrounds it.
        const ENTRY_BYTES: usize = 256;
        let changes: usize = self.output.changes.accounts.iter().map(|change| 1 + change.storage.len()).sum();
        let reads = self.output.reads.accounts.len() + self.output.reads.slots.len();
        let logs: usize = self.output.receipts.iter().map(|receipt| 1 + receipt.logs().len()).sum();
        alloy_rlp::Encodable::length(&self.block) + (5 * changes + reads + logs) * ENTRY_BYTES
    }
}

/// Executed blocks from the canonical chain to a block, oldest first.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Height of the canonical block that the first one follows.
    pub fork_height: Height,
    /// Hash of that block.
    pub fork_hash: B256,
    /// The blocks; empty if the requested block is canonical.
    pub blocks: Vec<Arc<ExecutedBlock>>,
}

impl Branch {
    /// Hash of the last block.
    pub fn tip(&self) -> B256 {
        self.blocks.last().map_or(self.fork_hash, |block| block.hash)
    }

    /// Height of the last block.
    pub fn tip_height(&self) -> Height {
        self.blocks.last().map_or(self.fork_height, |block| block.header().number)
    }

    /// Hash of the branch's block at a height above the canonical chain.
    pub fn hash_at(&self, height: Height) -> Option<B256> {
        let index = usize::try_from(height.checked_sub(self.fork_height + 1)?).ok()?;
        self.blocks.get(index).map(|block| block.hash)
    }

    fn changes(&self) -> impl Iterator<Item = &Changeset> {
        self.blocks.iter().map(|block| &block.output.changes)
    }
}

/// Finds an executed block by its hash.
pub type FindExecuted<'a> = &'a dyn Fn(&B256) -> Option<Arc<ExecutedBlock>>;

/// Hashes of ancestors as a block of a branch sees them (`BLOCKHASH`).
pub(crate) struct BranchHashes<'a> {
    pub(crate) chain: &'a dyn BlockHashes,
    pub(crate) fork_height: Height,
    pub(crate) branch: BTreeMap<Height, B256>,
}

impl BlockHashes for BranchHashes<'_> {
    fn block_hash(&self, number: Height) -> Result<B256, StateError> {
        if number <= self.fork_height {
            return self.chain.block_hash(number);
        }
        Ok(self.branch.get(&number).copied().unwrap_or(B256::ZERO))
    }
}

impl Chain {
    /// The branch from the canonical chain to a known block. `find` returns executed blocks; those
    /// of the ledger that it does not have are executed again. `None` if the block or one of its
    /// ancestors is unknown.
    ///
    /// # Errors
    /// [`ChainError::BranchTooLong`]; those of [`Chain::execute_on`].
    pub fn branch_to(&self, hash: B256, find: FindExecuted<'_>) -> Result<Option<Branch>, ChainError> {
        let mut path = Vec::new();
        let mut at = hash;
        let (fork_height, fork_hash) = loop {
            if at == self.base_hash() {
                break (self.base(), at);
            }
            let executed = find(&at);
            let header = match &executed {
                Some(executed) => executed.header().clone(),
                None => match self.ledger.block(&at)? {
                    Some(block) => block.block.header.clone(),
                    None => return Ok(None),
                },
            };
            if self.ledger.canonical_hash(header.number)? == Some(at) {
                break (header.number, at);
            }
            if path.len() as u64 == BRANCH_BLOCKS_MAX {
                return Err(ChainError::BranchTooLong { limit: BRANCH_BLOCKS_MAX });
            }
            path.push((at, executed));
            at = header.parent_hash;
        };
        let mut branch = Branch { fork_height, fork_hash, blocks: Vec::with_capacity(path.len()) };
        for (hash, executed) in path.into_iter().rev() {
            let block = match executed {
                Some(executed) => executed,
                None => {
                    let stored = self.ledger.block(&hash)?.ok_or(ChainError::UnknownBlock(hash))?;
                    let senders = self.ledger.senders(&hash)?.map(|senders| senders.to_vec());
                    let prepared = Prepared { block: stored.block.clone(), hash, senders };
                    Arc::new(self.execute_on(prepared, &branch)?)
                }
            };
            branch.blocks.push(block);
        }
        Ok(Some(branch))
    }

    /// Verifies and executes a block on the last block of a branch. Nothing is stored, except that
    /// a rejected block is added to [`Chain::bad_blocks`]; the head does not move.
    ///
    /// # Errors
    /// [`ChainError::Refused`] with the field that differs, and errors of the stores.
    pub fn execute_on(&self, given: Prepared, parent: &Branch) -> Result<ExecutedBlock, ChainError> {
        let executed = self.execute_detached(&given, parent);
        self.keep_if_refused(&given.block, given.hash, &executed);
        let (total_difficulty, output, trie) = executed?;
        let Prepared { block, hash, .. } = given;
        Ok(ExecutedBlock {
            block,
            hash,
            total_difficulty,
            output,
            trie: Mutex::new(trie),
            ready: Mutex::default(),
        })
    }

    fn execute_detached(
        &self,
        given: &Prepared,
        branch: &Branch,
    ) -> Result<(U256, BlockOutput, Option<TrieUpdate>), ChainError> {
        let Prepared { block, hash, senders } = given;
        let header = &block.header;
        let refused = |source| ChainError::Refused { number: header.number, hash: *hash, source };
        let (parent, parent_difficulty) = match branch.blocks.last() {
            Some(parent) => (parent.header().clone(), parent.total_difficulty),
            None => {
                let parent = self.parent_of(header, *hash)?;
                (parent.block.header.clone(), parent.total_difficulty)
            }
        };
        if !self.spec.is_post_merge(&parent) {
            validate_merge(&self.spec, header, parent_difficulty).map_err(refused)?;
        }
        validate_header(&self.spec, header, &parent).map_err(refused)?;
        self.validate_body(block).map_err(refused)?;
        let env = BlockEnvironment::from_header(&self.spec, header);
        let recovered = match senders {
            Some(senders) => senders.clone(),
            None => recover_senders(&self.spec, &env, &block.body.transactions).map_err(refused)?,
        };
        let (below, mut roots) = self.open_parent(branch)?;
        let state: Box<dyn StateReader + '_> = match branch.blocks.is_empty() {
            true => Box::new(below),
            false => Box::new(OverlaidState::new(below, branch.changes())),
        };
        let hashes = BranchHashes {
            chain: &*self.ledger,
            fork_height: branch.fork_height,
            branch: branch.blocks.iter().map(|block| (block.header().number, block.hash)).collect(),
        };
        let sidecar = self.sidecar(hash)?;
        let given = Executed { block, senders: &recovered, sidecar };
        let output = self.run_block(given, &*state, &hashes, &mut roots).map_err(refused)?;
        let trie = roots.into_update()?;
        Ok((parent_difficulty.saturating_add(header.difficulty), output, trie))
    }

    /// The state at the end of the canonical part of a branch, and the commitment at its end.
    fn open_parent(&self, branch: &Branch) -> Result<(hearth_flatkv::StateView, StateRoots<'_>), ChainError> {
        // Under the lock, so that view and commitment are of the same head.
        let _no_change_meanwhile = self.working.lock();
        if self.ledger.canonical_hash(branch.fork_height)? != Some(branch.fork_hash)
            && branch.fork_hash != self.base_hash()
        {
            return Err(ChainError::UnknownBlock(branch.fork_hash));
        }
        let below = self.kv.at(branch.fork_height)?;
        if branch.blocks.is_empty() && self.head().hash == branch.fork_hash {
            return Ok((below, self.kv.roots()?));
        }
        let mut roots = self.kv.roots_at(branch.fork_height)?;
        branch.changes().try_for_each(|changes| roots.apply(changes))?;
        Ok((below, roots))
    }

    /// Makes the last block of a branch the head: unwinds to the branch's canonical ancestor and
    /// commits its blocks as they were executed. If the process dies meanwhile, the next opening
    /// has the previous head.
    ///
    /// # Errors
    /// [`FlatKvError::UnwindTarget`] if history does not reach back to the ancestor; errors of the
    /// stores.
    pub fn adopt_branch(&self, branch: &Branch) -> Result<(), ChainError> {
        let working = &mut *self.working.lock();
        self.note_head(working);
        self.unwind_to(working, branch.fork_height)?;
        let commit = || branch.blocks.iter().try_for_each(|block| self.commit_executed(block));
        // One answer acknowledges all of them.
        let committed = if branch.blocks.len() > 1 { self.kv.sync_together(commit) } else { commit() };
        let settled = match committed {
            Ok(()) => self.choose(working, branch.tip()),
            // Back to the head from before.
            Err(_) => self.sync_working_head(working),
        };
        self.announce(working);
        committed.and(settled)
    }

    fn commit_executed(&self, executed: &ExecutedBlock) -> Result<(), ChainError> {
        self.drop_edits();
        if self.commit_ready(executed)? {
            return Ok(());
        }
        let ExecutedBlock { block, hash, total_difficulty, output, trie, .. } = executed;
        let root = self.kv.head().ok_or(FlatKvError::Empty)?.commitment;
        let prepared = trie.lock().take().filter(|update| update.base() == root);
        let update = match prepared {
            Some(update) => Some(update),
            None => {
                let mut roots = self.kv.roots()?;
                roots.apply(&output.changes)?;
                roots.root()?;
                roots.into_update()?
            }
        };
        self.commit(block, *hash, *total_difficulty, output, update)?;
        let receipts = StoredReceipts { receipts: output.receipts.clone(), senders: output.senders.clone() };
        self.ledger.keep_decoded(block, *hash, *total_difficulty, receipts);
        Ok(())
    }

    /// Whether a block is canonical: the block at its height on the path from the head to the
    /// genesis.
    ///
    /// # Errors
    /// Those of the ledger.
    pub fn is_canonical(&self, height: Height, hash: &B256) -> Result<bool, ChainError> {
        Ok(self.ledger.canonical_hash(height)? == Some(*hash)
            || (height == self.base() && *hash == self.base_hash()))
    }

    /// Rules of the block after a parent, by its time.
    pub fn fork_after(&self, timestamp: u64) -> Fork {
        self.spec.fork_at_time(timestamp)
    }
}

/// What moving the head to a branch shares with [`crate::Chain::set_head`].
impl Chain {
    /// Unwinds the working head to a canonical height. The chosen head is recorded on disk before,
    /// so that the next opening after a crash returns to it.
    pub(crate) fn unwind_to(&self, working: &mut Working, fork: Height) -> Result<(), ChainError> {
        if fork >= self.head().height {
            return Ok(());
        }
        self.keep_chosen(working)?;
        self.drop_edits();
        self.kv.unwind(fork)?;
        self.watchers.unwound(fork);
        Ok(())
    }
}
