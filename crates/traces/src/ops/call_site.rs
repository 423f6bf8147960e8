//! The site of traced calls: the state after a block or before one of its transactions. Turns a
//! call into a replay for the tracers.

use crate::Traces;
use crate::trace::trace_error;
use alloy_primitives::{Address, B256, U256};
use hearth_chain::StateAt;
use hearth_evm::{
    BlockEnvironment, BlockExecutor, BlockOverrides, CallError, CallRequest, CallSession, EvmContext,
    Message, StateOverrides, TxError, TxStatus,
};
use hearth_home::{BlockNumber, BlockRef, Home, NodeError, TraceSource, chain_error};
use hearth_ledger::StoredBlock;
use hearth_primitives::{Changeset, Failure, StateReader};
use hearth_tracers::{Cancel, Limits, Replay, StateReads, TraceError, TxContext, TxEnd};
use revm::Inspector;
use std::{
    num::NonZeroU64,
    sync::{Arc, atomic::Ordering},
};

/// A block and the state that calls begin with.
pub struct CallSite {
    block: Arc<StoredBlock>,
    /// The state after the block, or the one before it where a transaction is named.
    state: StateAt,
    /// Calls are made before this transaction; after the block where absent.
    index: Option<usize>,
}

impl CallSite {
    /// Finds block and state; `admit` gets the height of the block before the state is looked up.
    ///
    /// # Errors
    /// Those of an unknown block, of a state that is not available, and of an index beyond the end
    /// of the block; those of `admit`.
    pub fn find(
        home: &Home,
        block: BlockRef,
        index: Option<u64>,
        admit: impl FnOnce(hearth_primitives::Height) -> Result<(), NodeError>,
    ) -> Result<Self, NodeError> {
        if matches!(block, BlockRef::Number(BlockNumber::Pending)) {
            let message = "tracing on top of pending is not supported".to_owned();
            return Err(NodeError::Unsupported { message });
        }
        let missing = match block {
            BlockRef::Number(number) => NodeError::BlockNotFound { number: Some(home.height(number)?) },
            BlockRef::Hash(hash) => NodeError::BlockHashNotFound { hash: hash.block_hash },
        };
        let block = home.block_by_ref(block)?.ok_or(missing)?;
        admit(block.number())?;
        let Some(index) = index else {
            let state = home.state_after(block.block.header.number, &block.hash)?;
            return Ok(Self { block, state, index: None });
        };
        let height = block.block.header.number;
        let wrong = |message: String| NodeError::InvalidIndex { message };
        if height == 0 {
            return Err(wrong("no transaction in genesis".to_owned()));
        }
        let count = block.block.body.transactions.len();
        // The start of a block without transactions is before its transaction 0, as in go-ethereum.
        let found = usize::try_from(index).ok().filter(|index| *index < count || (*index == 0 && count == 0));
        let index = found.ok_or_else(|| {
            wrong(format!("transaction index {index} out of range for block {}", block.hash))
        })?;
        Ok(Self { state: home.parent_state(&block.block.header)?, block, index: Some(index) })
    }

    /// The state of the site for an execution.
    pub fn reads(&self) -> Box<dyn StateReader + '_> {
        self.state.for_execution().unwrap_or_else(|| Box::new(self.state.clone()))
    }

    /// A session of calls in the environment of the block, after the execution of the transactions
    /// before the site, for which the limits hold as well; `reads` is [`Self::reads`].
    ///
    /// # Errors
    /// [`NodeError::Execution`] if those transactions do not execute again, and for contradictory
    /// overrides.
    pub fn session<'a>(
        &'a self,
        traces: &'a Traces,
        reads: &'a dyn StateReader,
        overrides: Option<&BlockOverrides>,
        limits: &Limits,
    ) -> Result<(CallSession<'a>, u64), NodeError> {
        let home = traces.home();
        let (chain, hashes) = (home.chain(), home.chain().reader().hashes());
        let rules = (&**chain.spec(), chain.next_chain_id().get());
        let header = &self.block.block.header;
        let Some(index) = self.index else {
            let session =
                CallSession::new(rules, header, overrides, reads, hashes).map_err(NodeError::from)?;
            return Ok((session, 0));
        };
        let stopping = || limits.cancel.is_cancelled() || limits.call_is_over();
        let executor = self.executor(traces, reads, index, &stopping).map_err(|error| match error {
            NodeError::Cancelled if !limits.cancel.is_cancelled() => trace_error(TraceError::CallTimeout),
            error => error,
        })?;
        let logs = executor.log_count();
        let session =
            CallSession::after(rules, header, overrides, executor.into_state()).map_err(NodeError::from)?;
        Ok((session, logs))
    }

    /// The block's execution right before one of its transactions.
    fn executor<'a>(
        &'a self,
        traces: &'a Traces,
        reads: &'a dyn StateReader,
        index: usize,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<BlockExecutor<'a>, NodeError> {
        let home = traces.home();
        let (spec, hashes) = (home.chain().spec(), home.chain().reader().hashes());
        let header = &self.block.block.header;
        let failed = |source: Failure| NodeError::Execution { height: header.number, source };
        let environment = BlockEnvironment::from_header(spec, header);
        let mut executor = BlockExecutor::new(spec, environment, reads, hashes).without_outputs();
        // The capsule has the effects of the block's own transactions, but not what calls read, so
        // the state is that of the history.
        if home.config().rpc.trace_source != TraceSource::History
            && let Ok(Some(capsule)) = traces.capsules().get(home.chain().reader(), &self.block.hash)
        {
            for step in 0..=index {
                executor.apply_capsule(&capsule, step)?;
            }
            return Ok(executor);
        }
        let sidecar = home.chain().sidecar(&self.block.hash);
        let sidecar = sidecar.map_err(|error| chain_error(&home.config().home, error))?;
        executor.begin_with_sidecar(sidecar).map_err(|error| failed(error.into()))?;
        let senders = home.senders_of(&self.block)?;
        for (tx, sender) in self.block.block.body.transactions.iter().zip(senders.iter()).take(index) {
            if should_stop() {
                return Err(trace_error(TraceError::Cancelled));
            }
            executor.transact(tx, *sender).map_err(|error| failed(error.into()))?;
        }
        Ok(executor)
    }

    /// Every slot of an account that is not zero where calls begin, in any order. `cancel` ends the
    /// execution of the transactions before the site.
    ///
    /// # Errors
    /// As [`Self::session`].
    pub fn storage_of(
        &self,
        traces: &Traces,
        address: Address,
        cancel: &Cancel,
    ) -> Result<Vec<(U256, U256)>, NodeError> {
        match self.index {
            None => Ok(self.state.storage_of(&address)?),
            Some(index) => {
                let stopping = || cancel.is_cancelled() || traces.home().stopping().load(Ordering::Relaxed);
                let reads = self.reads();
                Ok(self.executor(traces, &*reads, index, &stopping)?.state().storage_of(address)?)
            }
        }
    }

    /// The block's header.
    pub fn header(&self) -> &hearth_primitives::Header {
        &self.block.block.header
    }
}

/// The call that is traced next, in a session that keeps its effects.
pub struct CallReplay<'a> {
    session: CallSession<'a>,
    message: Message,
    /// Gas that this call and those after it may still use, all together; `None` without a cap.
    gas_left: Option<u64>,
    /// Logs so far: of the block's transactions before the call, and of the calls.
    logs: u64,
    writes: Changeset,
}

impl<'a> CallReplay<'a> {
    /// A replay whose call is set by [`Self::set`]. `gas_cap` holds for the sum of all calls, as in
    /// `eth_simulateV1`; `None` means no cap.
    pub fn new((session, logs): (CallSession<'a>, u64), gas_cap: Option<NonZeroU64>) -> Self {
        let gas_left = gas_cap.map(NonZeroU64::get);
        Self { session, message: Message::default(), gas_left, logs, writes: Changeset::default() }
    }

    /// Sets the next call. It gets no more gas than the calls before it left.
    ///
    /// # Errors
    /// The call's fields contradict each other, or nothing of the gas is left.
    pub fn set(&mut self, request: &CallRequest) -> Result<(), NodeError> {
        let chain_id = self.session.environment().chain_id;
        let base_fee = self.session.environment().base_fee;
        // Fields that contradict each other are refused first; a call without any gas left needs no
        // cap, because it is refused right after.
        let cap = self.gas_left.and_then(NonZeroU64::new);
        let message = request.message(base_fee, chain_id, cap).map_err(NodeError::from)?;
        if self.gas_left == Some(0) {
            let gas = request.gas.map_or(0, |gas| gas.to());
            return Err(NodeError::from(CallError::Invalid { source: TxError::GasLimitReached, gas }));
        }
        self.message = message;
        Ok(())
    }

    /// Gives the next call the whole cap again.
    pub fn renew_gas(&mut self, gas_cap: Option<NonZeroU64>) {
        self.gas_left = gas_cap.map(NonZeroU64::get);
    }

    /// Makes accounts hold something else from now on.
    ///
    /// # Errors
    /// The overrides contradict each other.
    pub fn override_state(&mut self, overrides: Option<&StateOverrides>) -> Result<(), NodeError> {
        overrides.map_or(Ok(()), |overrides| self.session.override_state(overrides).map_err(NodeError::from))
    }

    /// Continues in a block of its own.
    ///
    /// # Errors
    /// Overrides that cannot be taken.
    pub fn in_block(
        self,
        header: &hearth_primitives::Header,
        overrides: Option<&BlockOverrides>,
        hashes: &[(u64, B256)],
    ) -> Result<Self, NodeError> {
        let mut session = self.session.in_block(header, overrides).map_err(NodeError::from)?;
        hashes.iter().for_each(|(number, hash)| session.override_block_hash(*number, *hash));
        Ok(Self { session, ..self })
    }
}

/// One call: as in go-ethereum, it has neither a hash nor a place in a block.
impl Replay for CallReplay<'_> {
    fn count(&self) -> usize {
        1
    }

    fn hash(&self, _index: usize) -> B256 {
        B256::ZERO
    }

    fn seek(&mut self, _index: usize, _should_stop: &dyn Fn() -> bool) -> Result<TxContext, TraceError> {
        let environment = self.session.environment();
        Ok(TxContext {
            block_hash: B256::ZERO,
            block_number: 0,
            hash: B256::ZERO,
            index: 0,
            coinbase: environment.beneficiary,
            fork: environment.fork,
            base_fee: environment.base_fee,
            from: self.message.from,
            gas_price: u128::try_from(self.message.gas_price).unwrap_or(u128::MAX),
            gas_limit: self.message.gas,
            log_base: self.logs,
        })
    }

    fn record<I>(&mut self, inspector: &mut I) -> Result<TxEnd<'_>, TraceError>
    where
        I: for<'c> Inspector<EvmContext<'c>>,
    {
        let done = self.session.run(&self.message, inspector).map_err(|error| match error {
            CallError::Invalid { source, .. } => TraceError::Execution(source.to_string()),
            CallError::State(error) => TraceError::Replay(error.into()),
            other => TraceError::Execution(other.to_string()),
        })?;
        self.logs += done.logs;
        self.gas_left = self.gas_left.map(|left| left.saturating_sub(done.outcome.gas_used));
        self.writes = done.writes;
        Ok(TxEnd {
            gas_limit: self.message.gas,
            gas_used: done.outcome.gas_used,
            success: done.outcome.status == TxStatus::Success,
            reverted: done.outcome.status == TxStatus::Revert,
            output: done.outcome.output,
            created: done.outcome.created,
            writes: &self.writes,
        })
    }

    fn state(&mut self) -> &mut dyn StateReads {
        self.session.state()
    }
}
