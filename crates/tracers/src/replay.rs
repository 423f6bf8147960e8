//! The replay that executes a block's transactions one after the other.

use crate::drive::{Replay, TxEnd};
use crate::error::TraceError;
use crate::recorder::Recorder;
use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256};
use hearth_evm::{BlockEnvironment, BlockExecutor, ChainSpec, ExecuteError, recover_senders};
use hearth_primitives::{Block, BlockHashes, StateReader, Transaction};
use std::borrow::Cow;

/// Runs the transactions of a block on the state of its parent, in order; those that are not asked for unwatched.
pub struct BlockReplay<'a> {
    executor: BlockExecutor<'a>,
    transactions: &'a [Transaction],
    senders: Cow<'a, [Address]>,
    /// The next transaction to execute.
    next: usize,
    /// Logs of the block so far.
    logs: u64,
}

impl<'a> BlockReplay<'a> {
    /// A replay of `block` on the state of its parent. Senders that are not known are recovered from the signatures.
    ///
    /// # Errors
    /// [`TraceError::Replay`] where a sender cannot be recovered or the block's system calls fail.
    pub fn new(
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
        let mut executor = BlockExecutor::new(spec, environment, state, hashes);
        executor.begin().map_err(replay_error)?;
        Ok(Self::over(executor, transactions, senders))
    }

    /// A replay of `transactions` by an executor that stands before the first of them.
    pub fn over(
        executor: BlockExecutor<'a>,
        transactions: &'a [Transaction],
        senders: Cow<'a, [Address]>,
    ) -> Self {
        Self { executor, transactions, senders, next: 0, logs: 0 }
    }

    fn current(&self) -> Result<(&'a Transaction, Address), TraceError> {
        let count = self.transactions.len();
        let found = self.transactions.get(self.next).zip(self.senders.get(self.next));
        found.map(|(tx, sender)| (tx, *sender)).ok_or(TraceError::IndexOutOfRange { index: self.next, count })
    }

    fn advance(&mut self) {
        self.next += 1;
        self.logs += self.executor.receipts().last().map_or(0, |receipt| receipt.logs().len() as u64);
    }
}

impl Replay for BlockReplay<'_> {
    fn count(&self) -> usize {
        self.transactions.len()
    }

    fn hash(&self, index: usize) -> B256 {
        self.transactions.get(index).map_or(B256::ZERO, |tx| *tx.tx_hash())
    }

    fn seek(&mut self, index: usize, should_stop: &dyn Fn() -> bool) -> Result<u64, TraceError> {
        if index < self.next {
            return Err(TraceError::Replay(format!(
                "transaction {index} was asked for after transaction {}",
                self.next - 1
            )));
        }
        while self.next < index {
            if should_stop() {
                return Err(TraceError::Cancelled);
            }
            let (tx, sender) = self.current()?;
            let outcome = self.executor.transact(tx, sender);
            outcome.map_err(|error| {
                TraceError::Replay(format!("transaction {} ({}): {error}", self.next, tx.tx_hash()))
            })?;
            self.advance();
        }
        Ok(self.logs)
    }

    fn record(&mut self, recorder: &mut Recorder) -> Result<TxEnd, TraceError> {
        let (tx, sender) = self.current()?;
        let outcome =
            self.executor.transact_inspected(tx, sender, recorder).map_err(|error| match error {
                ExecuteError::Invalid(error) => TraceError::Execution(error.to_string()),
                ExecuteError::State(error) => TraceError::Replay(error.to_string()),
            })?;
        self.advance();
        Ok(TxEnd { gas_limit: tx.gas_limit(), gas_used: outcome.gas_used })
    }
}

fn replay_error(error: impl std::fmt::Display) -> TraceError {
    TraceError::Replay(error.to_string())
}
