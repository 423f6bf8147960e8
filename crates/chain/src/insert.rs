//! Inserting blocks, moving between branches, choosing the head.

use crate::home::{remove, write_whole};
use crate::{Chain, ChainError, working::Working};
use alloy_primitives::{Address, B256, U256};
use hearth_evm::{
    Ancestors, BlockEnvironment, BlockError, BlockExecutor, Field, check_output, recover_senders,
    validate_body, validate_header, validate_merge,
};
use hearth_flatkv::FlatKvError;
use hearth_ledger::{LedgerError, StoredBlock};
use hearth_primitives::{
    Block, BlockHashes, BlockOutput, Elsewhere, Header, Height, NativeSidecar, RootTracker, StateError,
    StateReader,
};

/// What [`Chain::insert_block`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// The block was there already.
    Known,
    /// The block was there already, but its record was damaged; the record was written again.
    Restored,
    /// The block was executed, verified and stored.
    Added {
        /// Gas that its transactions used.
        gas_used: u64,
    },
}

/// A block with what can be known of it before its turn.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The block.
    pub block: Block,
    /// Its hash.
    pub hash: B256,
    /// Senders of its transactions, where they were recovered ahead.
    pub senders: Option<Vec<Address>>,
}

impl From<Block> for Prepared {
    fn from(block: Block) -> Self {
        let hash = block.header.hash_slow();
        Self { block, hash, senders: None }
    }
}

/// A block that is executed, with what belongs to it.
pub(crate) struct Executed<'a> {
    pub block: &'a Block,
    pub senders: &'a [Address],
    pub sidecar: NativeSidecar,
}

/// The properties of a block that fork choice compares.
struct ForkChoiceCandidate {
    hash: B256,
    number: Height,
    total_difficulty: U256,
    post_merge: bool,
}

impl Chain {
    /// Executes, verifies and stores a block whose parent is known, and lets fork choice decide on
    /// the head. A known block is harmless.
    ///
    /// Fork choice: before the merge the highest total difficulty, where the existing head wins a
    /// tie; afterwards the last valid block given that is no ancestor of the head.
    ///
    /// # Errors
    /// [`ChainError::UnknownParent`], [`ChainError::Refused`] with the field that differs, and
    /// errors of the stores. Nothing of a rejected block is kept.
    pub fn insert_block(&self, block: Block) -> Result<Inserted, ChainError> {
        let working = &mut *self.working.lock();
        self.note_head(working);
        let inserted = self.insert_lazily(working, block.into());
        let settled = self.sync_working_head(working);
        self.announce(working);
        settled.and(inserted)
    }

    /// Makes a known block of any branch the head. Blocks above it stay in the ledger.
    ///
    /// # Errors
    /// [`ChainError::UnknownBlock`]; [`FlatKvError::UnwindTarget`] if history does not reach back
    /// to the branch.
    pub fn set_head(&self, hash: &B256) -> Result<(), ChainError> {
        let working = &mut *self.working.lock();
        if !self.ledger.has_block(hash) && self.kv.head().map(|h| h.hash) != Some(*hash) {
            return Err(ChainError::UnknownBlock(*hash));
        }
        self.note_head(working);
        self.choose(working, *hash)?;
        let settled = self.sync_working_head(working);
        self.announce(working);
        settled
    }

    /// Same as [`Chain::insert_block`], but the head stays where the block was executed: the
    /// situation of an import between two blocks, and after a crash there. [`Chain::open`] and
    /// every other change settle it.
    ///
    /// # Errors
    /// Those of [`Chain::insert_block`].
    #[doc(hidden)]
    pub fn insert_off_head(&self, block: Block) -> Result<Inserted, ChainError> {
        self.insert_lazily(&mut self.working.lock(), block.into())
    }

    /// Goes back to the chosen head if the process died while another branch was worked on.
    pub(crate) fn recover(&self) -> Result<(), ChainError> {
        let path = self.paths.chosen_head();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(ChainError::io(&path)(error)),
        };
        let bad = |why: String| ChainError::BadHome { path: path.clone(), why };
        let hash: B256 = text.trim().parse().map_err(|_| bad("not a block hash".to_owned()))?;
        if !self.ledger.has_block(&hash) {
            return Err(bad(format!("block {hash} is not in the ledger")));
        }
        self.set_head(&hash)
    }

    /// Same as [`Chain::insert_block`], but the working head may stay on a branch that is not
    /// chosen until [`Chain::sync_working_head`].
    pub(crate) fn insert_lazily(
        &self,
        working: &mut Working,
        given: Prepared,
    ) -> Result<Inserted, ChainError> {
        let Prepared { block, hash, senders } = given;
        let inserted = self.insert_one(working, &block, hash, senders);
        self.keep_if_refused(&block, hash, &inserted);
        inserted
    }

    fn insert_one(
        &self,
        working: &mut Working,
        block: &Block,
        hash: B256,
        senders: Option<Vec<Address>>,
    ) -> Result<Inserted, ChainError> {
        let header = &block.header;
        if self.is_damaged(header.number, &hash)? && self.restore_block_locked(block, hash)? {
            self.kv.keep_tables()?;
            return Ok(Inserted::Restored);
        }
        if self.ledger.has_block(&hash) {
            self.reconsider(working, &hash)?;
            return Ok(Inserted::Known);
        }
        let parent = self.parent_of(header, hash)?;
        let refused = |source| ChainError::Refused { number: header.number, hash, source };
        // Behind a block of proof of stake the total difficulty says nothing any more.
        if !self.spec.is_post_merge(&parent.block.header) {
            validate_merge(&self.spec, header, parent.total_difficulty).map_err(refused)?;
        }
        validate_header(&self.spec, header, &parent.block.header).map_err(refused)?;
        self.validate_body(block).map_err(refused)?;
        let total_difficulty = parent.total_difficulty.saturating_add(header.difficulty);
        self.move_to(working, header.parent_hash)?;
        let before = working.chosen.unwrap_or(header.parent_hash);
        let gas_used = self.execute(block, hash, total_difficulty, senders)?;
        let contender = self.contender(&block.header, hash, total_difficulty);
        if before == header.parent_hash || self.wins(&contender, &before)? {
            self.choose(working, hash)?;
        }
        Ok(Inserted::Added { gas_used })
    }

    /// Moves the working head to the chosen one.
    pub(crate) fn sync_working_head(&self, working: &mut Working) -> Result<(), ChainError> {
        let Some(chosen) = working.chosen else { return Ok(()) };
        self.move_to(working, chosen)?;
        self.choose(working, chosen)
    }

    pub(crate) fn parent_of(
        &self,
        header: &Header,
        hash: B256,
    ) -> Result<std::sync::Arc<StoredBlock>, ChainError> {
        let (number, parent) = (header.number, header.parent_hash);
        self.ledger.block(&parent)?.ok_or(ChainError::UnknownParent { number, hash, parent })
    }

    /// Applies fork choice to a known block: it may have been given before another branch.
    fn reconsider(&self, working: &mut Working, hash: &B256) -> Result<(), ChainError> {
        let chosen = working.chosen.unwrap_or(self.head().hash);
        let Some(block) = self.ledger.block(hash)? else { return Ok(()) };
        if self.is_ancestor(&block, &chosen)? {
            return Ok(());
        }
        let contender = self.contender(&block.block.header, *hash, block.total_difficulty);
        if self.wins(&contender, &chosen)? {
            self.choose(working, *hash)?;
        }
        Ok(())
    }

    fn contender(&self, header: &Header, hash: B256, total_difficulty: U256) -> ForkChoiceCandidate {
        ForkChoiceCandidate {
            hash,
            number: header.number,
            total_difficulty,
            post_merge: self.spec.is_post_merge(header),
        }
    }

    fn wins(&self, contender: &ForkChoiceCandidate, chosen: &B256) -> Result<bool, ChainError> {
        if contender.post_merge || contender.hash == *chosen {
            return Ok(true);
        }
        let Some(chosen) = self.ledger.block(chosen)? else { return Ok(contender.number > self.base()) };
        let post_merge = self.spec.is_post_merge(&chosen.block.header);
        Ok(!post_merge && contender.total_difficulty > chosen.total_difficulty)
    }

    /// Whether `block` is `of` or one of its ancestors.
    fn is_ancestor(&self, block: &StoredBlock, of: &B256) -> Result<bool, ChainError> {
        let mut at = *of;
        while let Some(there) = self.ledger.block(&at)? {
            if at == block.hash {
                return Ok(true);
            }
            if there.number() <= block.number() {
                return Ok(false);
            }
            // From a canonical block on the index knows the rest of the way.
            if self.ledger.canonical_hash(there.number())? == Some(at) {
                return Ok(self.ledger.canonical_hash(block.number())? == Some(block.hash));
            }
            at = there.block.header.parent_hash;
        }
        Ok(false)
    }

    /// Checks a block's body against its header; the ledger has the ancestors.
    pub(crate) fn validate_body(&self, block: &Block) -> Result<(), BlockError> {
        validate_body(&self.spec, block, &Family(self))
    }

    /// Records on disk that the chosen head is the current working head, which is about to move.
    pub(crate) fn keep_chosen(&self, working: &mut Working) -> Result<(), ChainError> {
        if working.chosen.is_none() {
            let chosen = self.head().hash;
            write_whole(&self.paths.chosen_head(), format!("{chosen}\n").as_bytes())?;
            working.chosen = Some(chosen);
        }
        Ok(())
    }

    /// Notes the chosen head, on disk too where it is not the working head.
    pub(crate) fn choose(&self, working: &mut Working, hash: B256) -> Result<(), ChainError> {
        let path = self.paths.chosen_head();
        if self.head().hash == hash {
            if working.chosen.take().is_some() || path.exists() {
                remove(&path)?;
            }
            return Ok(());
        }
        if working.chosen != Some(hash) {
            write_whole(&path, format!("{hash}\n").as_bytes())?;
            working.chosen = Some(hash);
        }
        Ok(())
    }

    /// Moves the working head to a block of any branch: unwinds to the common ancestor and executes
    /// the branch's stored blocks again.
    fn move_to(&self, working: &mut Working, target: B256) -> Result<(), ChainError> {
        let head = self.head();
        if head.hash == target {
            return Ok(());
        }
        let mut branch = Vec::new();
        let (mut at, mut number) = (target, None);
        // The base of a recorded block's home has a hash but no block.
        while at != self.base_hash() {
            let block = self.ledger.block(&at)?.ok_or(ChainError::UnknownBlock(at))?;
            if self.ledger.canonical_hash(block.number())? == Some(at) {
                number = Some(block.number());
                break;
            }
            branch.push(at);
            at = block.block.header.parent_hash;
        }
        let fork = number.unwrap_or(self.base());
        self.unwind_to(working, fork)?;
        for hash in branch.into_iter().rev() {
            self.execute_known(&hash)?;
        }
        Ok(())
    }

    /// Executes a block of the ledger on the working head, as when it came.
    pub(crate) fn execute_known(&self, hash: &B256) -> Result<(), ChainError> {
        let block = self.ledger.block(hash)?.ok_or(ChainError::UnknownBlock(*hash))?;
        let senders = self.ledger.senders(hash)?.map(|senders| senders.to_vec());
        self.execute(&block.block, *hash, block.total_difficulty, senders).map(drop)
    }

    /// Executes a block on the working head, checks it against its header and commits it.
    fn execute(
        &self,
        block: &Block,
        hash: B256,
        total_difficulty: U256,
        senders: Option<Vec<Address>>,
    ) -> Result<u64, ChainError> {
        let header = &block.header;
        let refused = |source| ChainError::Refused { number: header.number, hash, source };
        self.drop_edits();
        let state = self.kv.latest().ok_or(FlatKvError::Empty)?;
        if self.is_follower() {
            return Err(StateError::NotHere(Elsewhere).into());
        }
        if !self.kv.has_roots() {
            return Err(ChainError::PartialState { home: self.paths.home.clone() });
        }
        let mut roots = self.kv.roots()?;
        let env = BlockEnvironment::from_header(&self.spec, header);
        let senders = match senders {
            Some(senders) => senders,
            None => recover_senders(&self.spec, &env, &block.body.transactions).map_err(refused)?,
        };
        let given = Executed { block, senders: &senders, sidecar: self.sidecar(&hash)? };
        let output = self.run_block(given, &state, &*self.ledger, &mut roots).map_err(refused)?;
        self.commit(block, hash, total_difficulty, &output, roots.into_update()?)?;
        Ok(output.gas_used)
    }

    /// Executes a block on the state of its parent and checks every header field that execution
    /// determines, including the state root by `roots`, the commitment to the parent's state.
    pub(crate) fn run_block(
        &self,
        given: Executed<'_>,
        state: &dyn StateReader,
        hashes: &dyn BlockHashes,
        roots: &mut dyn RootTracker,
    ) -> Result<BlockOutput, BlockError> {
        let header = &given.block.header;
        let output = self.run_without_root(given, state, hashes, Some(&mut *roots))?;
        check_root(header, roots)?;
        Ok(output)
    }

    /// As [`Self::run_block`], all but for the state root of the header. Without `roots`, which
    /// receipts from before Byzantium need.
    pub(crate) fn run_without_root(
        &self,
        given: Executed<'_>,
        state: &dyn StateReader,
        hashes: &dyn BlockHashes,
        roots: Option<&mut dyn RootTracker>,
    ) -> Result<BlockOutput, BlockError> {
        let Executed { block, senders, sidecar } = given;
        let header = &block.header;
        let env = BlockEnvironment::from_header(&self.spec, header);
        let executor = BlockExecutor::new(&self.spec, env, state, hashes).with_sidecar(sidecar);
        let executor = if self.ledger.keeps_capsules() { executor.capturing() } else { executor };
        let output = executor.run(block, senders, roots)?;
        check_output(&self.spec, header, &output)?;
        Ok(output)
    }
}

/// Compares the state root of a header with the commitment to the state after its block.
pub(crate) fn check_root(header: &Header, roots: &mut dyn RootTracker) -> Result<(), BlockError> {
    let root = roots.root()?;
    if root == header.state_root {
        return Ok(());
    }
    Err(BlockError::Mismatch {
        field: Field::StateRoot,
        expected: root.to_string(),
        got: header.state_root.to_string(),
    })
}

/// The ledger as the checks of ommers see it.
struct Family<'a>(&'a Chain);

impl Family<'_> {
    fn get(&self, hash: &B256) -> Result<Option<std::sync::Arc<StoredBlock>>, StateError> {
        self.0.ledger.block(hash).map_err(LedgerError::into_state)
    }
}

impl Ancestors for Family<'_> {
    fn header(&self, hash: &B256, _: Height) -> Result<Option<Header>, StateError> {
        Ok(self.get(hash)?.map(|b| b.block.header.clone()))
    }

    fn ommers(&self, hash: &B256, _: Height) -> Result<Vec<Header>, StateError> {
        Ok(self.get(hash)?.map(|b| b.block.body.ommers.clone()).unwrap_or_default())
    }
}
