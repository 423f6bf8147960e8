//! Block production of the development chain: executable transactions of the pool become blocks,
//! according to the mining mode.

use super::{
    blobs::MinedBlobs, clock::Clock, impersonation::Impersonation, next_block::NextBlock,
    options::MiningOptions, snapshots::Snapshots,
};
use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, U256};
use hearth_chain::{AllOf, Chain, ChainError, Edits, StateAt, TransactionSource, fees};
use hearth_evm::{TxError, TxOutcome};
use hearth_flatkv::TrieUpdate;
use hearth_pool::{Order, PoolEntry, PoolError, TransactionPool};
use hearth_primitives::{
    Block, BlockOutput, Changeset, Header, Height, PooledTransaction, RootTracker, StateError,
    StateReader as _, Transaction,
};
use parking_lot::{Condvar, Mutex};
use std::{
    ops::RangeInclusive,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
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
    /// The outcome of the given transaction, if it is in one of the blocks.
    pub outcome: Option<TxOutcome>,
}

/// A transaction that the pool accepted.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// The transaction.
    pub entry: Arc<PoolEntry>,
    /// What its execution did, where a block was made for it at once.
    pub outcome: Option<TxOutcome>,
}

/// When blocks are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mining {
    /// At once for every transaction.
    pub automine: bool,
    /// This often.
    pub interval: Option<Duration>,
    /// Whether blocks at an interval switched automine off, so that it comes back with their end.
    pub paused: bool,
}

impl Mining {
    /// Automine on or off by itself, which also ends blocks at an interval.
    pub fn automine(enabled: bool, interval: Option<Duration>) -> Self {
        Self { automine: enabled, interval: interval.filter(|_| !enabled), paused: false }
    }

    /// Blocks at an interval instead of automine; without an interval, automine returns if an
    /// interval disabled it.
    pub fn every(self, interval: Option<Duration>) -> Self {
        let paused = self.automine || self.paused;
        match interval {
            Some(_) => Self { automine: false, interval, paused },
            None => Self { automine: paused, interval, paused: false },
        }
    }
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
    /// Held while one block is built: nothing else changes the chain meanwhile.
    pub(super) building: Mutex<Snapshots>,
    pub(super) next: Mutex<NextBlock>,
    pub(super) mining: Mutex<Mining>,
    /// Signalled when the rules of mining change.
    pub(super) mining_changed: Condvar,
    impersonation: Impersonation,
    mined_blobs: MinedBlobs,
    /// Whether sending a transaction that reverts is an error, where the user said so.
    throw_on_revert: Option<bool>,
    /// Whether Hardhat has identified this node.
    hardhat_asked: AtomicBool,
    /// Grows with every change that the next block shows.
    version: AtomicU64,
}

impl DevChain {
    /// Block production over a chain and its pool.
    pub fn new(chain: Arc<Chain>, pool: Arc<TransactionPool>, options: &MiningOptions) -> Self {
        let MiningOptions { order, clock_offset, gas_limit, auto_impersonate, throw_on_revert, .. } =
            *options;
        let clock = Clock::new(clock_offset);
        let next = NextBlock { clock, gas_limit, ..NextBlock::default() };
        Self {
            chain,
            pool,
            order,
            building: Mutex::default(),
            next: Mutex::new(next),
            mining: Mutex::new(options.mining()),
            mining_changed: Condvar::new(),
            impersonation: Impersonation::new(auto_impersonate),
            mined_blobs: MinedBlobs::default(),
            throw_on_revert,
            hardhat_asked: AtomicBool::default(),
            version: AtomicU64::default(),
        }
    }

    /// Adds a transaction to the pool and, with automine, makes blocks of the executable
    /// transactions. No other change comes between the check against the head and the block. If a
    /// sender is given, the signature is not checked. The inner error is a transaction that is not
    /// accepted.
    ///
    /// # Errors
    /// Those of the stores.
    pub fn submit(
        &self,
        transaction: PooledTransaction,
        sender: Option<Address>,
    ) -> Result<Result<Submitted, PoolError>, ChainError> {
        self.submit_next(None, sender, |_| Ok(transaction))
    }

    /// Same as [`Self::submit`], for a transaction that is completed once the next nonce of
    /// `account` is known (0 without an account). Choosing the nonce and adding to the pool are one
    /// step: no other transaction of the account comes between them.
    ///
    /// # Errors
    /// Those of the stores. The inner error is that of `make`, or a transaction that is not
    /// accepted.
    pub fn submit_next<E: From<PoolError>>(
        &self,
        account: Option<&Address>,
        sender: Option<Address>,
        make: impl FnOnce(u64) -> Result<PooledTransaction, E>,
    ) -> Result<Result<Submitted, E>, ChainError> {
        let _one_at_a_time = self.building.lock();
        let head = self.parent()?;
        let state = self.chain.state_at(head.number)?;
        let nonce = match account {
            Some(account) => {
                let next = state.account(account)?.unwrap_or_default().nonce;
                self.pool.next_nonce(account, next)
            }
            None => 0,
        };
        let transaction = match make(nonce) {
            Ok(transaction) => transaction,
            Err(error) => return Ok(Err(error)),
        };
        let automine = self.mining.lock().automine;
        if let Err(cheap) = self.check_price(&transaction, &head, automine) {
            return Ok(Err(cheap.into()));
        }
        let entry = match self.pool.add_of(transaction, sender, &self.for_pool(head), &state) {
            Ok(entry) => entry,
            Err(PoolError::State(error)) => return Err(error.into()),
            Err(refused) => return Ok(Err(refused.into())),
        };
        drop(state);
        if !automine {
            return Ok(Ok(Submitted { entry, outcome: None }));
        }
        let mined = self.mine(Some(&entry.hash))?;
        let dropped = mined.dropped.into_iter().find(|(hash, _)| *hash == entry.hash);
        Ok(match dropped {
            Some((_, error)) => Err(PoolError::Invalid { reason: error.to_string() }.into()),
            None => Ok(Submitted { entry, outcome: mined.outcome }),
        })
    }

    /// Refuses a gas price below that of the next block. Without automine a transaction may wait
    /// for a lower base fee.
    fn check_price(
        &self,
        transaction: &PooledTransaction,
        head: &Header,
        automine: bool,
    ) -> Result<(), PoolError> {
        let have = transaction.max_fee_per_gas();
        if head.base_fee_per_gas.is_none() {
            let needed = self.next.lock().min_gas_price;
            return match U256::from(have) >= needed {
                true => Ok(()),
                false => Err(PoolError::TipTooLow { have, needed: needed.saturating_to() }),
            };
        }
        let next = if automine { self.next_header(head) } else { return Ok(()) };
        let needed = next.base_fee_per_gas.unwrap_or(0);
        if have < u128::from(needed) {
            return Err(PoolError::FeeCapTooLow);
        }
        Ok(())
    }

    /// Makes a block for each executable transaction, the best one first.
    ///
    /// # Errors
    /// Those of the stores. Transactions that fail are mined; invalid ones are dropped and
    /// reported.
    pub fn mine_ready(&self) -> Result<Mined, ChainError> {
        let _one_at_a_time = self.building.lock();
        self.mine(None)
    }

    /// As [`Self::mine_ready`]; `asked` is the transaction whose outcome is wanted.
    fn mine(&self, asked: Option<&B256>) -> Result<Mined, ChainError> {
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
            let mut only = One { next: Some((entry.transaction.clone(), entry.sender)), outcome: None };
            match self.build(header, &state, &mut only)? {
                Ok((hash, _)) => {
                    mined.blocks.push(hash);
                    self.mined_blobs.keep(entry);
                    if asked == Some(&entry.hash) {
                        mined.outcome = only.outcome;
                    }
                }
                Err((hash, error)) => mined.dropped.push((hash, error)),
            }
            // Mined or invalid, it does not wait any longer: the loop ends when nothing is ready.
            self.pool.remove(&entry.hash);
            if self.pool.is_empty() {
                return Ok(mined);
            }
            self.revalidate()?;
        }
    }

    /// Makes so many blocks, of the pending transactions as far as they fit. Returns the heights of
    /// the new blocks, or `None` if `count` is 0. Ends early if `should_stop` returns true.
    ///
    /// # Errors
    /// [`ChainError::Cancelled`] after the blocks that were made until then; those of the stores.
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
            let last = parent.number + count.min(BLOCKS_MAX);
            while parent.number < last {
                if should_stop() {
                    return Err(ChainError::Cancelled);
                }
                let is_first = parent.number == before;
                let left = last - parent.number;
                parent = match self.mine_empty(&parent, left, steps, is_first, should_stop)? {
                    Some(header) => header,
                    None => self.mine_one(parent, steps.interval.filter(|_| !is_first || steps.first))?,
                };
            }
            Ok(parent.number)
        };
        // The caller is answered once for all blocks, so they are synced together.
        let last = if count > 1 { self.chain.kv().sync_together(make)? } else { make()? };
        Ok((last > before).then(|| before + 1..=last))
    }

    /// Mines one block with as many pending transactions as fit, and returns its header. `step` is
    /// the distance of its time from its parent's.
    pub(super) fn mine_one(&self, parent: Header, step: Option<u64>) -> Result<Header, ChainError> {
        let state = self.chain.state_at(parent.number)?;
        let header = self.header_after_step((&parent, parent.hash_slow()), step, &edits_of(&state));
        if self.pool.is_empty() {
            let (_, block) = self.build_sure(header, &state, &mut AllOf::new(&[]))?;
            return Ok(block.header);
        }
        let base_fee = header.base_fee_per_gas.unwrap_or(0);
        let blob_fee = fees::blob_base_fee(self.chain.spec(), &header).unwrap_or(0);
        let best = self.pool.in_order(self.order, &state, base_fee, blob_fee)?;
        let mut source = PoolSource { best, last: None, refused: Vec::new() };
        let (_, block) = self.build_sure(header, &state, &mut source)?;
        let mined = block.body.transactions.iter().filter_map(|tx| self.pool.remove(tx.tx_hash()));
        mined.for_each(|entry| self.mined_blobs.keep(&entry));
        source.refused.iter().for_each(|hash| drop(self.pool.remove(hash)));
        self.revalidate()?;
        Ok(block.header)
    }

    /// The header of the next block. `step` says how far its time is from its parent's.
    pub(super) fn header_after_step(
        &self,
        parent: (&Header, B256),
        step: Option<u64>,
        edits: &Edits,
    ) -> Header {
        let mut next = self.next.lock();
        if let Some(step) = step {
            let time = parent.0.timestamp.saturating_add(step.max(1));
            // A time that was checked when the step was: it lies after the parent's.
            let _ = next.clock.set_next(time, parent.0.timestamp);
        }
        next.header(&self.chain, parent, edits)
    }

    /// Drops from the pool what the head makes impossible.
    pub(super) fn revalidate(&self) -> Result<(), ChainError> {
        let head = self.for_pool(self.parent()?);
        Ok(self.pool.revalidate(&head, &self.chain.state_at(head.number)?)?)
    }

    /// A head as the pool looks at it: with the gas limit of the blocks to come, which a request
    /// may have changed.
    pub(super) fn for_pool(&self, head: Header) -> Header {
        let gas_limit = self.next.lock().gas_limit.unwrap_or(head.gas_limit);
        Header { gas_limit, ..head }
    }

    pub(super) fn parent(&self) -> Result<Header, ChainError> {
        let head = self.chain.head_block()?.ok_or(ChainError::UnknownBlock(self.chain.head().hash))?;
        Ok(head.block.header.clone())
    }

    /// The header of the next block, without what execution gives, if it were made now on this one.
    pub fn next_header(&self, parent: &Header) -> Header {
        let edits = self.chain.pending_edits();
        self.next.lock().header(&self.chain, (parent, parent.hash_slow()), &edits)
    }

    /// A number that differs whenever the next block might, with the same head and the same pool.
    pub fn version(&self) -> u64 {
        self.version.load(SeqCst).wrapping_add(self.chain.edits_version())
    }

    /// Something that the next block shows was changed.
    pub(super) fn changed(&self) {
        self.version.fetch_add(1, SeqCst);
    }

    /// Blobs of the transactions that were mined last.
    pub fn mined_blobs(&self) -> &MinedBlobs {
        &self.mined_blobs
    }

    /// Records that Hardhat uses this node: its plugins expect an error for a transaction that
    /// reverts.
    pub fn identify_hardhat(&self) {
        self.hardhat_asked.store(true, SeqCst);
    }

    /// Whether sending a transaction that reverts is answered with an error, as by Hardhat's node.
    pub fn throws_on_revert(&self) -> bool {
        self.throw_on_revert.unwrap_or_else(|| self.hardhat_asked.load(SeqCst))
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

    /// Executes, completes and stores a block on the head; the inner error is an invalid
    /// transaction.
    fn build(
        &self,
        header: Header,
        state: &StateAt,
        source: &mut dyn TransactionSource,
    ) -> Result<BuildResult, ChainError> {
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
        if !self.chain.kv().has_roots() {
            return Ok((None, B256::ZERO));
        }
        let mut roots = self.chain.kv().roots()?;
        roots.apply(edits)?;
        roots.apply(&output.changes)?;
        let root = roots.root()?;
        Ok((roots.into_update()?, root))
    }
}

/// A block with its hash, or a transaction that cannot be in it.
type BuildResult = Result<(B256, Block), (B256, TxError)>;

/// What lies over a state.
pub(super) fn edits_of(state: &StateAt) -> Arc<Edits> {
    state.edits().cloned().unwrap_or_default()
}

/// One transaction for a block of its own, and what it did.
struct One {
    next: Option<(Transaction, Address)>,
    outcome: Option<TxOutcome>,
}

impl TransactionSource for One {
    fn next(&mut self) -> Option<(Transaction, Address)> {
        self.next.take()
    }

    fn taken(&mut self, outcome: &TxOutcome) {
        self.outcome = Some(outcome.clone());
    }

    fn refused(&mut self, _: &TxError) -> bool {
        false
    }
}

/// Waiting transactions, and those of them that cannot be in a block at all.
struct PoolSource {
    best: hearth_pool::BestFirst,
    last: Option<B256>,
    refused: Vec<B256>,
}

impl TransactionSource for PoolSource {
    fn next(&mut self) -> Option<(Transaction, Address)> {
        let next = self.best.next();
        self.last = next.as_ref().map(|(transaction, _)| *transaction.tx_hash());
        next
    }

    fn taken(&mut self, outcome: &TxOutcome) {
        self.best.taken(outcome);
    }

    fn refused(&mut self, reason: &TxError) -> bool {
        // What only does not fit into this block waits for the next one.
        if !matches!(reason, TxError::GasLimitReached | TxError::BlobGasLimitReached) {
            self.refused.extend(self.last);
        }
        self.best.refused(reason)
    }
}
