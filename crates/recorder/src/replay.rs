//! The replay of a block: transactions before the traced ones are executed, or their effects are
//! applied from a capsule.

use crate::engine::Replay;
use crate::error::TraceError;
use crate::state_reads::StateReads;
use crate::tracing::{TxContext, TxEnd};
use crate::watch::CancelInspector;
use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256};
use hearth_evm::{
    BlockEnvironment, BlockExecutor, ChainSpec, EvmContext, ExecuteError, TxStatus, recover_senders,
};
use hearth_primitives::{
    Block, BlockHashes, CapsuleState, Failure, NativeSidecar, StateReader, TraceCapsule, Transaction,
};
use revm::Inspector;
use std::borrow::Cow;

/// Transactions with at most this gas run to their end without checks for cancellation: they take
/// milliseconds.
const UNWATCHED_GAS: u64 = 2_000_000;

/// Runs the transactions of a block on the state of its parent, in order. Transactions without a
/// trace are executed without an inspector, or with a capsule their write sets are applied.
pub struct BlockReplay<'a> {
    executor: BlockExecutor<'a>,
    transactions: &'a [Transaction],
    senders: Cow<'a, [Address]>,
    /// The next transaction to execute.
    next: usize,
    /// Hash of the block.
    block_hash: B256,
    /// The source of the effects of transactions that are not traced, if there is one.
    capsule: Option<&'a TraceCapsule>,
}

impl<'a> BlockReplay<'a> {
    /// A replay of `block` on the state of its parent. Unknown senders are recovered from the
    /// signatures.
    ///
    /// # Errors
    /// [`TraceError::Replay`] if a sender cannot be recovered or the system calls of the block
    /// fail.
    pub fn new(
        spec: &'a ChainSpec,
        block: &'a Block,
        senders: Option<&'a [Address]>,
        state: &'a dyn StateReader,
        hashes: &'a dyn BlockHashes,
    ) -> Result<Self, TraceError> {
        Self::with_sidecar(spec, block, senders, NativeSidecar::default(), (state, hashes))
    }

    /// Same as [`Self::new`], of a block with a native sidecar.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_sidecar(
        spec: &'a ChainSpec,
        block: &'a Block,
        senders: Option<&'a [Address]>,
        sidecar: NativeSidecar,
        (state, hashes): (&'a dyn StateReader, &'a dyn BlockHashes),
    ) -> Result<Self, TraceError> {
        let mut replay = Self::at_start(spec, block, senders, state, hashes)?;
        replay.executor.begin_with_sidecar(sidecar).map_err(replay_error)?;
        Ok(replay.with_block_hash(block.header.hash_slow()))
    }

    /// A replay of `block`, whose hash is known, from its capsule: transactions that are not traced
    /// are not executed. `state` and `hashes` are those at the start of the block, as
    /// `hearth_primitives::CapsuleState` provides them.
    ///
    /// # Errors
    /// Those of [`Self::new`]; [`TraceError::Replay`] if the capsule is that of another block.
    pub fn from_capsule(
        spec: &'a ChainSpec,
        (block, hash): (&'a Block, B256),
        senders: Option<&'a [Address]>,
        capsule: &'a TraceCapsule,
        state: &'a dyn StateReader,
        hashes: &'a dyn BlockHashes,
    ) -> Result<Self, TraceError> {
        if capsule.transactions() != block.body.transactions.len() {
            return Err(replay_error("the capsule is that of another block"));
        }
        let mut replay = Self::at_start(spec, block, senders, state, hashes)?.with_block_hash(hash);
        replay.executor.apply_capsule(capsule, 0).map_err(replay_error)?;
        replay.capsule = Some(capsule);
        Ok(replay)
    }

    /// A replay positioned before one transaction of `block`, on the state right before it: nothing
    /// earlier is applied.
    ///
    /// # Errors
    /// Those of [`Self::from_capsule`].
    pub fn before_transaction(
        spec: &'a ChainSpec,
        (block, hash): (&'a Block, B256),
        senders: Option<&'a [Address]>,
        index: usize,
        state: &'a CapsuleState<'a>,
    ) -> Result<Self, TraceError> {
        let capsule = state.capsule();
        if capsule.transactions() != block.body.transactions.len() {
            return Err(replay_error("the capsule is that of another block"));
        }
        let mut replay = Self::at_start(spec, block, senders, state, state)?.with_block_hash(hash);
        // The state has the effects of the earlier transactions; the number of their logs is not in
        // the state.
        replay.executor.pass_logs(capsule.logs.iter().take(index).sum());
        replay.capsule = Some(capsule);
        replay.next = index;
        Ok(replay)
    }

    fn at_start(
        spec: &'a ChainSpec,
        block: &'a Block,
        senders: Option<&'a [Address]>,
        state: &'a dyn StateReader,
        hashes: &'a dyn BlockHashes,
    ) -> Result<Self, TraceError> {
        let environment = BlockEnvironment::from_header(spec, &block.header);
        let transactions = &block.body.transactions;
        let senders = match senders.filter(|s| s.len() == transactions.len()) {
            Some(senders) => Cow::Borrowed(senders),
            None => Cow::Owned(recover_senders(spec, &environment, transactions).map_err(replay_error)?),
        };
        let executor = BlockExecutor::new(spec, environment, state, hashes).without_outputs();
        Ok(Self::over(executor, transactions, senders))
    }

    /// A replay of `transactions` by an executor that stands before the first of them.
    pub fn over(
        executor: BlockExecutor<'a>,
        transactions: &'a [Transaction],
        senders: Cow<'a, [Address]>,
    ) -> Self {
        Self { executor, transactions, senders, next: 0, block_hash: B256::ZERO, capsule: None }
    }

    /// Names the block for tracers whose results do.
    pub fn with_block_hash(self, block_hash: B256) -> Self {
        Self { block_hash, ..self }
    }

    /// Gets behind the next transaction without anybody watching it.
    fn pass(&mut self, should_stop: &dyn Fn() -> bool) -> Result<(), TraceError> {
        let (tx, sender) = self.current()?;
        let failed = |index: usize, failure: Failure| {
            TraceError::Replay(failure.within(format_args!("transaction {index} ({}): ", tx.tx_hash())))
        };
        if let Some(capsule) = self.capsule {
            // The first write set of a capsule is that of the system calls at the start.
            let applied = self.executor.apply_capsule(capsule, self.next + 1);
            return applied.map_err(|error| failed(self.next, error.into()));
        }
        let outcome = if tx.gas_limit() > UNWATCHED_GAS {
            let mut stop = CancelInspector::new(should_stop);
            let outcome = self.executor.transact_inspected(tx, sender, &mut stop);
            if stop.stopped {
                return Err(TraceError::Cancelled);
            }
            outcome
        } else {
            self.executor.transact(tx, sender)
        };
        outcome.map(drop).map_err(|error| failed(self.next, error.into()))
    }

    fn current(&self) -> Result<(&'a Transaction, Address), TraceError> {
        let count = self.transactions.len();
        let found = self.transactions.get(self.next).zip(self.senders.get(self.next));
        found.map(|(tx, sender)| (tx, *sender)).ok_or(TraceError::IndexOutOfRange { index: self.next, count })
    }
}

impl Replay for BlockReplay<'_> {
    fn count(&self) -> usize {
        self.transactions.len()
    }

    fn hash(&self, index: usize) -> B256 {
        self.transactions.get(index).map_or(B256::ZERO, |tx| *tx.tx_hash())
    }

    fn seek(&mut self, index: usize, should_stop: &dyn Fn() -> bool) -> Result<TxContext, TraceError> {
        if index < self.next {
            return Err(TraceError::Replay(
                format!("transaction {index} was requested after transaction {}", self.next - 1).into(),
            ));
        }
        while self.next < index {
            if should_stop() {
                return Err(TraceError::Cancelled);
            }
            self.pass(should_stop)?;
            self.next += 1;
        }
        let (tx, from) = self.current()?;
        let environment = self.executor.environment();
        Ok(TxContext {
            block_hash: self.block_hash,
            block_number: environment.number,
            hash: *tx.tx_hash(),
            index: index as u64,
            coinbase: environment.beneficiary,
            fork: environment.fork,
            base_fee: environment.base_fee,
            from,
            gas_price: tx.effective_gas_price(environment.base_fee),
            gas_limit: tx.gas_limit(),
            log_base: self.executor.log_count(),
        })
    }

    fn record<I>(&mut self, inspector: &mut I) -> Result<TxEnd<'_>, TraceError>
    where
        I: for<'c> Inspector<EvmContext<'c>>,
    {
        let (tx, sender) = self.current()?;
        let outcome =
            self.executor.transact_inspected(tx, sender, inspector).map_err(|error| match error {
                ExecuteError::Invalid(error) => TraceError::Execution(error.to_string()),
                ExecuteError::State(error) => TraceError::Replay(error.into()),
            })?;
        self.next += 1;
        let writes = self.executor.writes().last().ok_or_else(|| replay_error("no write set"))?;
        Ok(TxEnd {
            gas_limit: tx.gas_limit(),
            gas_used: outcome.gas_used,
            success: outcome.status == TxStatus::Success,
            reverted: outcome.status == TxStatus::Revert,
            output: outcome.output,
            created: outcome.created,
            writes,
        })
    }

    fn state(&mut self) -> &mut dyn StateReads {
        self.executor.state()
    }
}

fn replay_error(error: impl Into<Failure>) -> TraceError {
    TraceError::Replay(error.into())
}
