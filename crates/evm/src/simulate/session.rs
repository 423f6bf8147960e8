//! Messages that run one after the other on a state, each under a tracer. `debug_traceCall` and
//! `debug_traceCallMany` are sessions.

use super::{
    BlockOverrides, CallError, Message, StateOverrides,
    call::{Fees, check_message, machine_error},
};
use crate::{
    env::BlockEnvironment,
    machine::{BlockEvm, EvmContext, Machine, block_evm, discard},
    outcome::{TxOutcome, TxStatus},
    overlay::BlockState,
    spec::{ChainSpec, Fork},
    watch::RunLimits,
};
use alloy_consensus::Header;
use alloy_primitives::{B256, Bytes};
use hearth_primitives::{BlockHashes, Changeset, Height, StateReader};
use revm::{
    Inspector,
    context_interface::{JournalTr as _, result::ExecutionResult},
};

/// What a message did.
#[derive(Clone, Debug)]
pub struct MessageOutcome {
    /// How it ended.
    pub outcome: TxOutcome,
    /// Number of logs that it left.
    pub logs: u64,
    /// What it changed.
    pub writes: Changeset,
}

/// Messages on a state. The effects of each are seen by the next.
pub struct CallSession<'a> {
    spec: &'a ChainSpec,
    env: BlockEnvironment,
    /// Height of the block that the session began in.
    base: Height,
    evm: BlockEvm<'a>,
}

impl<'a> CallSession<'a> {
    /// A session on a state, in the environment of the block with this header, under the chain id
    /// of the blocks to come.
    ///
    /// # Errors
    /// [`CallError`] where the block overrides cannot be taken.
    pub fn new(
        (spec, chain_id): (&'a ChainSpec, u64),
        header: &Header,
        block_overrides: Option<&BlockOverrides>,
        state: &'a dyn StateReader,
        hashes: &'a dyn BlockHashes,
    ) -> Result<Self, CallError> {
        let env = BlockEnvironment::of_calls(spec, chain_id, header, block_overrides)?;
        let state = BlockState::new(state, hashes, env.fork >= Fork::Prague);
        Ok(Self::on(spec, env, header.number, state))
    }

    /// A session on the state that the execution of a block has reached, in the environment of the
    /// block with this header, under the chain id of the blocks to come.
    ///
    /// # Errors
    /// [`CallError`] if the block overrides are invalid.
    pub fn after(
        (spec, chain_id): (&'a ChainSpec, u64),
        header: &Header,
        block_overrides: Option<&BlockOverrides>,
        state: BlockState<'a>,
    ) -> Result<Self, CallError> {
        let env = BlockEnvironment::of_calls(spec, chain_id, header, block_overrides)?;
        Ok(Self::on(spec, env, header.number, state))
    }

    fn on(spec: &'a ChainSpec, env: BlockEnvironment, base: Height, mut state: BlockState<'a>) -> Self {
        // The block right after the base knows the hash of the base. Any other number comes from an
        // override; as in go-ethereum (core/evm.go: GetHashFn), the known hashes then end below the
        // base.
        state.hide_hashes_from(if env.number == base + 1 { base + 1 } else { base });
        let mut evm = block_evm(&env, state);
        evm.ctx.cfg.disable_nonce_check = true;
        evm.ctx.cfg.disable_base_fee = true;
        Self { spec, env, base, evm }
    }

    /// The same state in the environment of another block. Moved precompiles stay at their
    /// addresses.
    ///
    /// # Errors
    /// [`CallError`] if the block overrides are invalid.
    pub fn in_block(
        self,
        header: &Header,
        block_overrides: Option<&BlockOverrides>,
    ) -> Result<Self, CallError> {
        let Self { spec, env, base, evm } = self;
        let state = evm.ctx.journaled_state.database;
        let mut next = Self::after((spec, env.chain_id), header, block_overrides, state)?;
        next.base = base;
        if next.env.number > base {
            // A later bundle has the same base block as the first; the hash of that block is the
            // last known one.
            next.evm.ctx.journaled_state.database.hide_hashes_from(base + 1);
        }
        if next.env.fork == env.fork {
            next.evm.precompiles = evm.precompiles;
        }
        Ok(next)
    }

    /// Makes `BLOCKHASH` give another hash for a block.
    pub fn override_block_hash(&mut self, number: Height, hash: B256) {
        self.evm.ctx.journaled_state.database.set_block_hash(number, hash);
    }

    /// Makes accounts hold something else from now on.
    ///
    /// # Errors
    /// [`CallError`] where the overrides contradict each other.
    pub fn override_state(&mut self, overrides: &StateOverrides) -> Result<(), CallError> {
        overrides.apply(&mut self.evm.ctx.journaled_state.database, &mut self.evm.precompiles)
    }

    /// The environment that messages see.
    pub fn environment(&self) -> &BlockEnvironment {
        &self.env
    }

    /// State as of now: after everything that was run so far.
    pub fn state(&mut self) -> &mut BlockState<'a> {
        &mut self.evm.ctx.journaled_state.database
    }

    /// The chain's rules.
    pub fn spec(&self) -> &'a ChainSpec {
        self.spec
    }

    /// Runs a message under a tracer's inspector and keeps its changes.
    ///
    /// # Errors
    /// [`CallError::Invalid`] if the message cannot run, [`CallError::State`] if the state cannot
    /// be read; nothing has changed then. A message that fails is an outcome.
    pub fn run<I: Inspector<EvmContext<'a>>>(
        &mut self,
        message: &Message,
        inspector: &mut I,
    ) -> Result<MessageOutcome, CallError> {
        let env = self.env.for_message(message);
        let wrap = |source| CallError::Invalid { source, gas: message.gas };
        check_message(message, &env, Fees::Waived, &mut self.evm.ctx.journaled_state.database)?
            .map_err(wrap)?;
        self.evm.ctx.block = env.block_env();
        self.evm.ctx.tx = message.tx_env(env.chain_id, env.base_fee.is_some());
        let machine = &mut Machine { evm: &mut self.evm, inspector, watch: RunLimits::default() };
        match machine.inspect() {
            Ok(result) => self.keep(result),
            Err(error) => {
                discard(&mut self.evm);
                Err(machine_error(error, message.gas))
            }
        }
    }

    fn keep(&mut self, result: ExecutionResult) -> Result<MessageOutcome, CallError> {
        let delete_empty = self.env.fork >= Fork::SpuriousDragon;
        let journal = &mut self.evm.ctx.journaled_state;
        let state = std::mem::take(&mut journal.inner.state);
        let _ = journal.finalize();
        let writes = journal.database.commit(state, delete_empty)?;
        let gas_used = result.tx_gas_used();
        let gas_refunded = result.gas().final_refunded();
        let (status, output, created, logs) = match result {
            ExecutionResult::Success { output, logs, .. } => {
                let created = output.address().copied();
                (TxStatus::Success, output.into_data(), created, logs.len() as u64)
            }
            ExecutionResult::Revert { output, .. } => (TxStatus::Revert, output, None, 0),
            ExecutionResult::Halt { reason, .. } => (TxStatus::Halt(reason), Bytes::new(), None, 0),
        };
        let outcome = TxOutcome { status, gas_used, gas_refunded, output, created };
        Ok(MessageOutcome { outcome, logs, writes })
    }
}

impl BlockEnvironment {
    /// The environment as a simulated message sees it: one that pays nothing sees no fees.
    pub(crate) fn for_message(&self, message: &Message) -> Self {
        let mut env = self.clone();
        if message.gas_price.is_zero() {
            env.base_fee = env.base_fee.map(|_| 0);
        }
        if message.blob_fee_cap.is_some_and(|cap| cap.is_zero()) {
            env.blob_base_fee = env.blob_base_fee.map(|_| 0);
        }
        env
    }

    /// The environment of the block with this header for new calls: with the chain id of the
    /// blocks to come, and with these overrides.
    pub(crate) fn of_calls(
        spec: &ChainSpec,
        chain_id: u64,
        header: &Header,
        overrides: Option<&BlockOverrides>,
    ) -> Result<Self, CallError> {
        let mut env = Self { chain_id, ..Self::from_header(spec, header) };
        if let Some(overrides) = overrides {
            overrides.apply(spec, &mut env)?;
        }
        Ok(env)
    }
}
