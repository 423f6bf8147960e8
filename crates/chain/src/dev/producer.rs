//! Block production of the development chain: what is ready in the pool becomes blocks, as the rules of mining have it.

use super::{
    clock::Clock, impersonation::Impersonation, next_block::NextBlock, options::MiningOptions,
    snapshots::Snapshots,
};
use crate::{
    AllOf, Chain, ChainError, Edits, StateAt, TransactionSource, fees,
    pool::{Order, PoolEntry, PoolError, TransactionPool},
};
use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, U256};
use hearth_evm::TxError;
use hearth_flatkv::TrieUpdate;
use hearth_primitives::{
    Block, BlockOutput, Changeset, Header, Height, PooledTransaction, RootTracker, StateError, Transaction,
};
use parking_lot::{Condvar, Mutex};
use std::{
    ops::RangeInclusive,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

/// Most blocks that are made at once.
pub const BLOCKS_MAX: u64 = 1 << 24;

/// What a round of block production did.
#[derive(Clone, Debug, Default)]
pub struct Mined {
    /// Hashes of the new blocks, in order.
    pub blocks: Vec<B256>,
    /// Transactions that turned out to be invalid on execution, and why; they left the pool.
    pub dropped: Vec<(B256, TxError)>,
}

/// When blocks are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mining {
    /// At once for every transaction.
    pub automine: bool,
    /// This often.
    pub interval: Option<Duration>,
}

/// How several blocks follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Seconds from block to block; the clock decides where absent.
    pub interval: Option<u64>,
    /// Whether the first of them is so far from the head too.
    pub first: bool,
}

/// A development chain that makes its own blocks.
pub struct DevChain {
    pub(super) chain: Arc<Chain>,
    pub(super) pool: Arc<TransactionPool>,
    order: Order,
    /// One block is built at a time, and nobody else changes the chain meanwhile.
    pub(super) building: Mutex<Snapshots>,
    pub(super) next: Mutex<NextBlock>,
    pub(super) mining: Mutex<Mining>,
    /// Signalled when the rules of mining change.
    pub(super) mining_changed: Condvar,
    impersonation: Impersonation,
    /// Grows with every change that the next block shows.
    version: AtomicU64,
}

impl DevChain {
    /// Block production over a chain and its pool.
    pub fn new(chain: Arc<Chain>, pool: Arc<TransactionPool>, options: &MiningOptions) -> Self {
        let MiningOptions { automine, interval, order, clock_offset, gas_limit, auto_impersonate } = *options;
        let clock = Clock::new(clock_offset);
        let next = NextBlock { clock, gas_limit, ..NextBlock::default() };
        Self {
            chain,
            pool,
            order,
            building: Mutex::default(),
            next: Mutex::new(next),
            mining: Mutex::new(Mining { automine, interval }),
            mining_changed: Condvar::new(),
            impersonation: Impersonation::new(auto_impersonate),
            version: AtomicU64::default(),
        }
    }

    /// Takes a transaction into the pool and, where every transaction gets a block, makes blocks of what can be executed
    /// now. Nothing comes between the check against the head and the block. Where a sender is given, the signature is not
    /// looked at. The inner error is a transaction that is not accepted.
    ///
    /// # Errors
    /// The stores'.
    pub fn submit(
        &self,
        transaction: PooledTransaction,
        sender: Option<Address>,
    ) -> Result<Result<Arc<PoolEntry>, PoolError>, ChainError> {
        let _one_at_a_time = self.building.lock();
        let head = self.parent()?;
        if let Err(cheap) = self.check_price(&transaction, &head) {
            return Ok(Err(cheap));
        }
        let entry = match self.pool.add_of(transaction, sender, &head, &self.chain.state_at(head.number)?) {
            Ok(entry) => entry,
            Err(PoolError::State(error)) => return Err(error.into()),
            Err(refused) => return Ok(Err(refused)),
        };
        if !self.mining.lock().automine {
            return Ok(Ok(entry));
        }
        let mined = self.mine()?;
        let dropped = mined.dropped.into_iter().find(|(hash, _)| *hash == entry.hash);
        Ok(match dropped {
            Some((_, error)) => Err(PoolError::Invalid { reason: error.to_string() }),
            None => Ok(entry),
        })
    }

    fn check_price(&self, transaction: &PooledTransaction, head: &Header) -> Result<(), PoolError> {
        let needed = self.next.lock().min_gas_price;
        let have = transaction.max_fee_per_gas();
        if head.base_fee_per_gas.is_some() || U256::from(have) >= needed {
            return Ok(());
        }
        Err(PoolError::TipTooLow { have, needed: needed.saturating_to() })
    }

    /// Makes a block for every transaction that can be executed now, the best one first.
    ///
    /// # Errors
    /// The stores'. Transactions that fail are mined; those that are invalid are dropped and reported.
    pub fn mine_ready(&self) -> Result<Mined, ChainError> {
        let _one_at_a_time = self.building.lock();
        self.mine()
    }

    fn mine(&self) -> Result<Mined, ChainError> {
        let mut mined = Mined::default();
        loop {
            let parent = self.parent()?;
            let state = self.chain.state_at(parent.number)?;
            let header = self.next_header(&parent);
            let blob_fee = fees::blob_base_fee(self.chain.spec(), &header).unwrap_or(0);
            let ready = self.pool.ready(&state, header.base_fee_per_gas.unwrap_or(0), blob_fee)?;
            let first = match self.order {
                Order::Fees => ready.first(),
                Order::Fifo => ready.iter().min_by_key(|entry| entry.arrival),
            };
            let Some(entry) = first else { return Ok(mined) };
            let only = [(entry.transaction.clone(), entry.sender)];
            match self.build(header, &state, &mut AllOf::new(&only))? {
                Ok((hash, _)) => mined.blocks.push(hash),
                Err((hash, error)) => mined.dropped.push((hash, error)),
            }
            // Mined or invalid, it does not wait any longer: the loop ends when nothing is ready.
            self.pool.remove(&entry.hash);
            self.revalidate()?;
        }
    }

    /// Makes so many blocks, of what waits as far as it fits; the heights of the new ones, or `None` where none was asked
    /// for. Ends early where `should_stop` says so.
    ///
    /// # Errors
    /// [`ChainError::Cancelled`] after the blocks that were made until then; the stores'.
    pub fn mine_blocks(
        &self,
        count: u64,
        steps: Steps,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Option<RangeInclusive<Height>>, ChainError> {
        let _one_at_a_time = self.building.lock();
        let parent = self.parent()?;
        let before = parent.number;
        let make = || {
            let mut parent = parent;
            for index in 0..count.min(BLOCKS_MAX) {
                if should_stop() {
                    return Err(ChainError::Cancelled);
                }
                parent = self.mine_one(parent, steps.interval.filter(|_| index > 0 || steps.first))?;
            }
            Ok(parent.number)
        };
        // Who asked for them is answered once.
        let last = if count > 1 { self.chain.kv().sync_together(make)? } else { make()? };
        Ok((last > before).then(|| before + 1..=last))
    }

    /// Makes a block of what waits, as far as it fits; its header. `step` says how far its time is from its parent's.
    pub(super) fn mine_one(&self, parent: Header, step: Option<u64>) -> Result<Header, ChainError> {
        let state = self.chain.state_at(parent.number)?;
        let mut header = self.next_header(&parent);
        if let Some(step) = step {
            header.timestamp = parent.timestamp.saturating_add(step.max(1));
            // What hangs on the time is worked out anew.
            let mut next = self.next.lock().clone();
            // A time that was checked when the step was: it lies after the parent's.
            let _ = next.clock.set_next(header.timestamp, parent.timestamp);
            header = next.header(&self.chain, &parent, &edits_of(&state));
            self.next.lock().clock = next.clock;
        }
        if self.pool.is_empty() {
            let (_, block) = self.build_sure(header, &state, &mut AllOf::new(&[]))?;
            return Ok(block.header);
        }
        let base_fee = header.base_fee_per_gas.unwrap_or(0);
        let blob_fee = fees::blob_base_fee(self.chain.spec(), &header).unwrap_or(0);
        let best = self.pool.in_order(self.order, &state, base_fee, blob_fee)?;
        let mut source = Waiting { best, last: None, refused: Vec::new() };
        let (_, block) = self.build_sure(header, &state, &mut source)?;
        block.body.transactions.iter().for_each(|transaction| drop(self.pool.remove(transaction.tx_hash())));
        source.refused.iter().for_each(|hash| drop(self.pool.remove(hash)));
        self.revalidate()?;
        Ok(block.header)
    }

    /// Drops from the pool what the head makes impossible.
    pub(super) fn revalidate(&self) -> Result<(), ChainError> {
        let head = self.parent()?;
        Ok(self.pool.revalidate(&head, &self.chain.state_at(head.number)?)?)
    }

    pub(super) fn parent(&self) -> Result<Header, ChainError> {
        let head = self.chain.head_block()?.ok_or(ChainError::UnknownBlock(self.chain.head().hash))?;
        Ok(head.block.header.clone())
    }

    /// The header of the next block, without what execution gives, if it were made now on this one.
    pub fn next_header(&self, parent: &Header) -> Header {
        let edits = self.chain.pending_edits();
        self.next.lock().header(&self.chain, parent, &edits)
    }

    /// A number that differs whenever the next block might, with the same head and the same pool.
    pub fn version(&self) -> u64 {
        self.version.load(SeqCst).wrapping_add(self.chain.edits_version())
    }

    /// Something that the next block shows was changed.
    pub(super) fn changed(&self) {
        self.version.fetch_add(1, SeqCst);
    }

    /// In whose names transactions may be sent.
    pub fn impersonation(&self) -> &Impersonation {
        &self.impersonation
    }

    /// In which order waiting transactions are taken.
    pub fn order(&self) -> Order {
        self.order
    }

    /// As [`Self::build`], of a source of which none is wanted at any price.
    pub(super) fn build_sure(
        &self,
        header: Header,
        state: &StateAt,
        source: &mut dyn TransactionSource,
    ) -> Result<(B256, Block), ChainError> {
        let number = header.number;
        self.build(header, state, source)?.map_err(|(hash, error)| {
            let reason = format!("block {number}: transaction {hash}: {error}");
            StateError::Store(reason).into()
        })
    }

    /// Executes, completes and stores a block on the head; the inner error is a transaction that cannot be in it.
    fn build(
        &self,
        header: Header,
        state: &StateAt,
        source: &mut dyn TransactionSource,
    ) -> Result<Built, ChainError> {
        let reads = hearth_primitives::StateReader::for_execution(state);
        let state_reads = reads.as_deref().unwrap_or(state);
        let draft = match self.chain.draft(header, &[], state_reads, source)? {
            Ok(draft) => draft,
            Err(invalid) => return Ok(Err(invalid)),
        };
        drop(reads);
        let (trie, state_root) = self.state_root(&edits_of(state).changes(), &draft.output)?;
        let block = draft.complete(state_root);
        let hash = self.chain.commit_built(&block, &draft.output, trie)?;
        self.next.lock().made(&block.header);
        Ok(Ok((hash, block)))
    }

    /// The trie after edits and block; zero where the state is a part of another chain's alone.
    fn state_root(
        &self,
        edits: &Changeset,
        output: &BlockOutput,
    ) -> Result<(Option<TrieUpdate>, B256), StateError> {
        if !self.chain.kv().has_trie() {
            return Ok((None, B256::ZERO));
        }
        let mut trie = self.chain.kv().trie()?;
        trie.apply(edits)?;
        trie.apply(&output.changes)?;
        let root = trie.root()?;
        Ok((Some(trie.into_update()?), root))
    }
}

/// A block with its hash, or a transaction that cannot be in it.
type Built = Result<(B256, Block), (B256, TxError)>;

/// What lies over a state.
pub(super) fn edits_of(state: &StateAt) -> Arc<Edits> {
    state.edits().cloned().unwrap_or_default()
}

/// Waiting transactions, and those of them that cannot be in a block at all.
struct Waiting {
    best: crate::pool::BestFirst,
    last: Option<B256>,
    refused: Vec<B256>,
}

impl TransactionSource for Waiting {
    fn next(&mut self) -> Option<(Transaction, Address)> {
        let next = self.best.next();
        self.last = next.as_ref().map(|(transaction, _)| *transaction.tx_hash());
        next
    }

    fn taken(&mut self) {
        self.best.taken();
    }

    fn refused(&mut self, reason: &TxError) -> bool {
        // What only does not fit into this block waits for the next one.
        if !matches!(reason, TxError::GasLimitReached | TxError::BlobGasLimitReached) {
            self.refused.extend(self.last);
        }
        self.best.refused(reason)
    }
}
