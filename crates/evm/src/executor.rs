//! Executes one block: transactions one by one, what surrounds them, and what all of it changed.

use crate::{
    changes::merge_into,
    env::BlockEnvironment,
    error::BlockError,
    machine::{BlockEvm, EvmContext, Machine, MachineError, block_evm, discard},
    outcome::{ExecuteError, TxOutcome, TxStatus, execute_error},
    overlay::BlockState,
    receipt::{ReceiptStatus, build_receipt},
    requests, rewards,
    senders::recover_senders,
    spec::{ChainSpec, Fork},
    staking, system,
    tx_check::{Remaining, Sender, check_transaction},
    tx_env::tx_env,
    watch::RunLimits,
    write_set::WriteSet,
};
use alloy_consensus::{Header, Transaction as _, TxReceipt as _, Typed2718 as _};
use alloy_eips::{eip4895::Withdrawal, eip7685::Requests};
use alloy_primitives::{Address, B256, Bloom, Bytes};
use hearth_primitives::{
    Block, BlockHashes, BlockOutput, Changeset, NativeOutcome, NativeSidecar, NativeTransaction, Receipt,
    RootTracker, StateError, StateReader, TraceCapsule, Transaction,
};
use revm::{
    Inspector,
    context_interface::JournalTr as _,
    context_interface::result::{ExecutionResult, HaltReason},
    context_interface::transaction::AuthorizationTr,
};

/// Executes the transactions of one block on top of a state.
///
/// The order of calls is [`Self::begin`], any number of [`Self::transact`] and
/// [`Self::transact_inspected`], [`Self::finish`]. To start in the middle of a block, apply the
/// write sets before that point with [`Self::apply_writes`] instead of calling `begin`.
pub struct BlockExecutor<'a> {
    spec: &'a ChainSpec,
    env: BlockEnvironment,
    evm: BlockEvm<'a>,
    receipts: Vec<Receipt>,
    senders: Vec<Address>,
    writes: Vec<Changeset>,
    gas_used: u64,
    blob_gas_used: u64,
    /// Logs so far.
    logs: u64,
    partial_state: bool,
    /// Whether receipts, senders and all write sets are kept.
    keeps_outputs: bool,
    /// The native transactions and evidence that were executed or are to be executed.
    sidecar: NativeSidecar,
    native_outcomes: Vec<NativeOutcome>,
    native_gas_used: u64,
    /// Withdrawals that the staking contract decided on.
    staking_withdrawals: Option<Vec<Withdrawal>>,
}

impl<'a> BlockExecutor<'a> {
    /// An executor for the block with this environment over the state of its parent.
    pub fn new(
        spec: &'a ChainSpec,
        env: BlockEnvironment,
        state: &'a dyn StateReader,
        hashes: &'a dyn BlockHashes,
    ) -> Self {
        let state = BlockState::new(state, hashes, env.fork >= Fork::Prague);
        Self::on_state(spec, env, state)
    }

    /// An executor for the block with this environment, on a state that has changes of an earlier
    /// execution.
    pub(crate) fn on_state(spec: &'a ChainSpec, env: BlockEnvironment, state: BlockState<'a>) -> Self {
        let evm = block_evm(&env, state);
        let (receipts, senders, writes) = Default::default();
        Self {
            spec,
            env,
            evm,
            receipts,
            senders,
            writes,
            gas_used: 0,
            blob_gas_used: 0,
            logs: 0,
            partial_state: false,
            keeps_outputs: true,
            sidecar: NativeSidecar::default(),
            native_outcomes: Vec::new(),
            native_gas_used: 0,
            staking_withdrawals: None,
        }
    }

    /// Sets the native sidecar of the block, which [`Self::begin`] executes.
    pub fn with_sidecar(mut self, sidecar: NativeSidecar) -> Self {
        self.sidecar = sidecar;
        self
    }

    /// Makes no receipts and drops every write set but the last. For traces, which do not need the
    /// outputs of the block. [`Self::finish`] must not be called on such an executor.
    pub fn without_outputs(mut self) -> Self {
        self.keeps_outputs = false;
        self
    }

    /// Also reads everything that a native tracer would read although execution does not, so that
    /// the block's read set contains it; a capsule needs that. To be called before anything is
    /// executed.
    pub fn capturing(mut self) -> Self {
        let own_sstore = self.env.fork == Fork::Constantinople;
        let gas = crate::watched::install(&mut self.evm.instruction, own_sstore);
        self.state().capture(gas);
        self
    }

    /// The block's environment.
    pub fn environment(&self) -> &BlockEnvironment {
        &self.env
    }

    /// The chain's rules.
    pub fn spec(&self) -> &'a ChainSpec {
        self.spec
    }

    /// State as of now: after everything executed so far.
    pub fn state(&mut self) -> &mut BlockState<'a> {
        &mut self.evm.ctx.journaled_state.database
    }

    /// The state as of now, for what runs on top of it without being part of the block.
    pub fn into_state(self) -> BlockState<'a> {
        self.evm.ctx.journaled_state.database
    }

    /// The interpreter's context, for tracers that set up something before a run.
    pub fn context(&mut self) -> &mut EvmContext<'a> {
        &mut self.evm.ctx
    }

    /// The interpreter, for simulated transactions that have rules of their own.
    pub(crate) fn evm(&mut self) -> &mut BlockEvm<'a> {
        &mut self.evm
    }

    /// Receipts of the transactions executed so far.
    pub fn receipts(&self) -> &[Receipt] {
        &self.receipts
    }

    /// Number of logs of the transactions executed so far.
    pub fn log_count(&self) -> u64 {
        self.logs
    }

    /// The write sets so far: that of the start, then one per transaction. Without outputs, only
    /// the last of them.
    pub fn writes(&self) -> &[Changeset] {
        &self.writes
    }

    /// Counts logs of transactions that are not executed here.
    pub fn pass_logs(&mut self, count: u64) {
        self.logs += count;
    }

    /// Applies one step of a capsule to the state, which must be that of the same capsule: step 0
    /// is what precedes the transactions, step `i + 1` is transaction `i`. The gas of the step is
    /// not counted; its logs are.
    ///
    /// # Errors
    /// A failed read of the state.
    pub fn apply_capsule(&mut self, capsule: &TraceCapsule, step: usize) -> Result<(), StateError> {
        self.state().apply_capsule(capsule, step)?;
        self.logs += step.checked_sub(1).and_then(|index| capsule.logs.get(index)).copied().unwrap_or(0);
        Ok(())
    }

    /// Gas used so far.
    pub fn gas_used(&self) -> u64 {
        self.gas_used
    }

    /// Applies the write sets of steps that are not executed again. The gas that those steps used
    /// is not counted.
    ///
    /// # Errors
    /// A failed read of the state.
    pub fn apply_writes<'c>(
        &mut self,
        writes: impl IntoIterator<Item = &'c Changeset>,
    ) -> Result<(), BlockError> {
        for changes in writes {
            self.state().apply(changes)?;
        }
        Ok(())
    }

    /// Allows the state to be incomplete, as that of a recorded block is: system contracts without
    /// code then leave the requests of the block unknown (`None`) instead of making it invalid.
    pub fn on_partial_state(mut self) -> Self {
        self.partial_state = true;
        self
    }

    /// Executes a whole block whose senders are known, one a transaction; see [`execute_block`].
    ///
    /// # Errors
    /// As [`execute_block`].
    pub fn run(
        mut self,
        block: &Block,
        senders: &[Address],
        mut roots: Option<&mut dyn RootTracker>,
    ) -> Result<BlockOutput, BlockError> {
        debug_assert_eq!(block.body.transactions.len(), senders.len());
        let by_transaction = self.env.fork < Fork::Byzantium;
        self.begin()?;
        if let Some(roots) = roots.as_deref_mut().filter(|_| by_transaction) {
            apply_last(&self, roots)?;
        }
        for (index, (tx, sender)) in block.body.transactions.iter().zip(senders).enumerate() {
            self.transact(tx, *sender).map_err(|error| match error {
                ExecuteError::Invalid(source) => {
                    BlockError::InvalidTransaction { index, hash: *tx.tx_hash(), source: Box::new(source) }
                }
                ExecuteError::State(error) => error.into(),
            })?;
            if let Some(roots) = roots.as_deref_mut().filter(|_| by_transaction) {
                apply_last(&self, roots)?;
                self.set_last_receipt_root(roots.root()?);
            }
        }
        let withdrawals = block.body.withdrawals.as_ref().map(|list| list.as_slice());
        staking::check_withdrawals(self.staking_withdrawals.as_deref(), withdrawals)?;
        let output = self.finish(&block.body.ommers, withdrawals)?;
        if let Some(roots) = roots {
            match output.writes.last().filter(|_| by_transaction) {
                Some(last) => roots.apply(last)?,
                None => roots.apply(&output.changes)?,
            }
        }
        Ok(output)
    }

    /// Runs what precedes the first transaction: the DAO's move (EIP-779), the system calls of
    /// EIP-4788 and EIP-2935, the call of the staking contract under CometBFT, and the native
    /// transactions of the sidecar.
    ///
    /// # Errors
    /// [`BlockError::State`] if the state cannot be read; [`BlockError::SystemContract`] if the
    /// staking contract fails; [`BlockError::InvalidTransaction`] for a native transaction.
    pub fn begin(&mut self) -> Result<(), BlockError> {
        let mut changes = Changeset::default();
        for (address, input) in system::calls_at_start(&self.env) {
            let (_, step) = self.system_call(address, input)?;
            changes = merge(changes, step);
        }
        if self.spec.dao_fork_block() == Some(self.env.number) {
            let mut writes = WriteSet::default();
            let env = self.env.clone();
            rewards::move_dao_funds(self.state(), &env, &mut writes)?;
            writes.merge_into(&mut changes);
        }
        if self.spec.is_bft() {
            let input = staking::begin_input(&self.env, &self.sidecar.misbehavior);
            let (result, step) = self.system_call(staking::STAKING_ADDRESS, input)?;
            let withdrawals = result.map(|result| staking::withdrawals(&self.env, result));
            self.staking_withdrawals = withdrawals.transpose()?;
            changes = merge(changes, step);
        }
        self.writes.push(changes);
        for (index, tx) in std::mem::take(&mut self.sidecar.natives).iter().enumerate() {
            self.transact_native(tx).map_err(|error| match error {
                ExecuteError::Invalid(source) => {
                    BlockError::InvalidTransaction { index, hash: tx.hash, source: Box::new(source) }
                }
                ExecuteError::State(error) => error.into(),
            })?;
        }
        Ok(())
    }

    /// Same as [`Self::begin`], of a block with a native sidecar.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub fn begin_with_sidecar(&mut self, sidecar: NativeSidecar) -> Result<(), BlockError> {
        self.sidecar = sidecar;
        self.begin()
    }

    /// Gas used by native transactions so far.
    pub(crate) fn native_gas_used(&self) -> u64 {
        self.native_gas_used
    }

    /// Merges the changes of a native transaction into the first write set, and records its
    /// outcome.
    pub(crate) fn keep_native(
        &mut self,
        tx: &NativeTransaction,
        outcome: &NativeOutcome,
    ) -> Result<(), StateError> {
        let step = self.take_changes()?;
        match self.writes.last_mut() {
            Some(start) => merge_into(start, step),
            None => self.writes.push(step),
        }
        self.native_gas_used += outcome.gas_used;
        if self.keeps_outputs {
            self.sidecar.natives.push(tx.clone());
            self.native_outcomes.push(outcome.clone());
        }
        Ok(())
    }

    /// Executes a transaction and keeps its changes.
    ///
    /// # Errors
    /// [`ExecuteError::Invalid`] if the transaction cannot be part of the block; nothing has
    /// changed then.
    pub fn transact(&mut self, tx: &Transaction, sender: Address) -> Result<TxOutcome, ExecuteError> {
        self.prepare(tx, sender)?;
        // Without an inspector revm's loop has no hook between instructions.
        let result = Machine { evm: &mut self.evm, inspector: (), watch: RunLimits::default() }.run();
        self.conclude(tx, sender, result)
    }

    /// Executes a transaction under a tracer's inspector and keeps its changes.
    ///
    /// # Errors
    /// As [`Self::transact`].
    pub fn transact_inspected<I: Inspector<EvmContext<'a>>>(
        &mut self,
        tx: &Transaction,
        sender: Address,
        inspector: &mut I,
    ) -> Result<TxOutcome, ExecuteError> {
        self.prepare(tx, sender)?;
        let result = Machine { evm: &mut self.evm, inspector, watch: RunLimits::default() }.inspect();
        self.conclude(tx, sender, result)
    }

    fn prepare(&mut self, tx: &Transaction, sender: Address) -> Result<(), ExecuteError> {
        let account = self.state().account(sender)?.unwrap_or_default();
        // EIP-3607 refuses senders with code, of which a delegation of EIP-7702 is none.
        let mut foreign_code = None;
        if account.has_code() {
            let code = self.state().code(account.code_hash)?;
            foreign_code = (!code.is_eip7702()).then(|| code.len());
        }
        let remaining = Remaining {
            gas: self.env.gas_limit.saturating_sub(self.gas_used),
            blob_gas: self.env.max_blob_gas.saturating_sub(self.blob_gas_used),
        };
        check_transaction(
            tx,
            &Sender { address: sender, account: &account, foreign_code },
            &self.env,
            remaining,
        )?;
        self.evm.ctx.tx = tx_env(tx, sender);
        if self.state().captures() {
            self.capture_named()?;
        }
        Ok(())
    }

    /// Reads the accounts that the transaction at hand names, as they are before it.
    pub(crate) fn capture_named(&mut self) -> Result<(), StateError> {
        let (tx, beneficiary) = (&self.evm.ctx.tx, self.env.beneficiary);
        let authorities = tx.authorization_list.iter().filter_map(AuthorizationTr::authority);
        let state = &mut self.evm.ctx.journaled_state.database;
        // Tracers look at these accounts (go-ethereum, eth/tracers/native/prestate.go: OnTxStart),
        // also where the execution itself never loads them.
        for address in authorities.chain([beneficiary]) {
            state.account(address)?;
        }
        tx.kind.to().map_or(Ok(()), |to| state.capture_account(*to))
    }

    fn conclude(
        &mut self,
        tx: &Transaction,
        sender: Address,
        result: Result<ExecutionResult<HaltReason>, MachineError>,
    ) -> Result<TxOutcome, ExecuteError> {
        let result = match result {
            Ok(result) => result,
            Err(error) => {
                // The journal of a refused transaction would leak into the next one.
                discard(&mut self.evm);
                return Err(execute_error(error));
            }
        };
        Ok(self.keep(tx.ty(), tx.blob_gas_used().unwrap_or(0), sender, result)?)
    }

    /// Keeps the effects of a transaction of type `ty`: its changes, its receipt, the gas and blob
    /// gas that it used.
    ///
    /// # Errors
    /// A failed read of the state.
    pub(crate) fn keep(
        &mut self,
        ty: u8,
        blob_gas: u64,
        sender: Address,
        result: ExecutionResult<HaltReason>,
    ) -> Result<TxOutcome, StateError> {
        let changes = self.take_changes()?;
        let gas_used = result.tx_gas_used();
        self.gas_used += gas_used;
        self.blob_gas_used += blob_gas;
        let gas_refunded = result.gas().final_refunded();
        let (status, output, created, logs) = match result {
            ExecutionResult::Success { output, logs, .. } => {
                let created = output.address().copied();
                (TxStatus::Success, output.into_data(), created, logs)
            }
            ExecutionResult::Revert { output, .. } => (TxStatus::Revert, output, None, Vec::new()),
            ExecutionResult::Halt { reason, .. } => (TxStatus::Halt(reason), Bytes::new(), None, Vec::new()),
        };
        self.logs += logs.len() as u64;
        if self.keeps_outputs {
            // Before EIP-658 a receipt has the state root after its transaction, which is computed
            // with the trie and set afterwards.
            let receipt_status = if self.env.fork >= Fork::Byzantium {
                ReceiptStatus::Success(status == TxStatus::Success)
            } else {
                ReceiptStatus::Root(B256::ZERO)
            };
            self.receipts.push(build_receipt(ty, receipt_status, self.gas_used, logs));
            self.senders.push(sender);
        } else {
            self.writes.clear();
        }
        self.writes.push(changes);
        Ok(TxOutcome { status, gas_used, gas_refunded, output, created })
    }

    /// Takes what the journal holds into the block's state.
    fn take_changes(&mut self) -> Result<Changeset, StateError> {
        // EIP-161: touched accounts that are empty are removed.
        let delete_empty = self.env.fork >= Fork::SpuriousDragon;
        let journal = &mut self.evm.ctx.journaled_state;
        let state = std::mem::take(&mut journal.inner.state);
        let _ = journal.finalize();
        journal.database.commit(state, delete_empty)
    }

    /// Runs a system call and keeps its changes. `None` where the address has no code.
    fn system_call(
        &mut self,
        address: Address,
        input: Bytes,
    ) -> Result<(Option<ExecutionResult>, Changeset), BlockError> {
        let account = self.state().account(address)?;
        // EIP-4788: a call of an address without code has no effect, and is no error.
        if !account.is_some_and(|account| account.has_code()) {
            return Ok((None, Changeset::default()));
        }
        self.evm.ctx.tx = system::call_env(address, input);
        match (Machine { evm: &mut self.evm, inspector: (), watch: RunLimits::default() }).run_system_call() {
            Ok(result) => Ok((Some(result), self.take_changes()?)),
            Err(error) => {
                discard(&mut self.evm);
                Err(match execute_error(error) {
                    ExecuteError::State(error) => error.into(),
                    ExecuteError::Invalid(error) => {
                        BlockError::SystemContract { address, eip: "system call", reason: error.to_string() }
                    }
                })
            }
        }
    }

    /// Gives the last receipt the state root after its transaction (before Byzantium, EIP-658).
    pub fn set_last_receipt_root(&mut self, root: B256) {
        if let Some(last) = self.receipts.pop() {
            let ty = last.ty();
            let gas = last.cumulative_gas_used();
            let logs = last.into_logs();
            self.receipts.push(build_receipt(ty, ReceiptStatus::Root(root), gas, logs));
        }
    }

    /// Runs what follows the last transaction: rewards before the merge, withdrawals, and the
    /// requests of EIP-6110, EIP-7002 and EIP-7251. Returns the output of the block, and the state.
    ///
    /// # Errors
    /// [`BlockError::SystemContract`] and [`BlockError::DepositLog`] if the requests cannot be
    /// made.
    pub fn finish(
        mut self,
        ommers: &[Header],
        withdrawals: Option<&[Withdrawal]>,
    ) -> Result<BlockOutput, BlockError> {
        let requests = self.close(ommers, withdrawals)?;
        let logs_bloom = self.logs_bloom();
        let state = self.evm.ctx.journaled_state.database;
        Ok(BlockOutput {
            receipts: self.receipts,
            senders: self.senders,
            gas_used: self.gas_used,
            blob_gas_used: self.blob_gas_used,
            logs_bloom,
            requests,
            changes: state.net_changes(),
            writes: self.writes,
            reads: state.into_reads(),
            sidecar: self.sidecar,
            native_outcomes: self.native_outcomes,
            withdrawals: self.staking_withdrawals,
        })
    }

    /// Union of the blooms of the receipts so far.
    pub(crate) fn logs_bloom(&self) -> Bloom {
        self.receipts.iter().fold(Bloom::ZERO, |bloom, receipt| bloom | receipt.bloom())
    }

    /// Blob gas used so far.
    pub(crate) fn blob_gas_used(&self) -> u64 {
        self.blob_gas_used
    }

    /// Runs what follows the last transaction, as [`Self::finish`] does: its changes become the
    /// last write set.
    ///
    /// # Errors
    /// Those of [`Self::finish`].
    pub(crate) fn close(
        &mut self,
        ommers: &[Header],
        withdrawals: Option<&[Withdrawal]>,
    ) -> Result<Option<Requests>, BlockError> {
        debug_assert!(self.keeps_outputs, "nothing was kept to finish with");
        let mut requests = None;
        let mut changes = Changeset::default();
        if self.env.fork >= Fork::Prague {
            let mut list = requests::deposits(self.spec, &self.receipts)?;
            let mut known = true;
            for contract in &system::REQUEST_CONTRACTS {
                let (result, step) = self.system_call(contract.address, Bytes::new())?;
                known &= result.is_some() || !self.partial_state;
                if known {
                    requests::push_call(&mut list, contract, result)?;
                }
                changes = merge(changes, step);
            }
            if self.staking_withdrawals.is_some() {
                let (result, step) = self.system_call(staking::STAKING_ADDRESS, staking::end_input())?;
                result.map_or(Ok(()), |result| staking::push_updates(&mut list, result))?;
                changes = merge(changes, step);
            }
            requests = known.then_some(list);
        }
        let mut writes = WriteSet::default();
        let env = self.env.clone();
        let decided = self.staking_withdrawals.clone();
        let withdrawals = decided.as_deref().or(withdrawals).unwrap_or_default();
        rewards::pay(self.state(), &env, ommers, withdrawals, &mut writes)?;
        writes.merge_into(&mut changes);
        self.writes.push(changes);
        Ok(requests)
    }
}

/// Two steps' changes as one, the second on top of the first.
fn merge(first: Changeset, second: Changeset) -> Changeset {
    if first.is_empty() {
        return second;
    }
    crate::changes::merge(first, second)
}

/// Executes a whole block on the state of its parent. Senders are recovered in parallel.
///
/// With `roots`, a trie over the parent's state, receipts before Byzantium get the state root after
/// their transaction, and after a success the trie contains all changes of the block, so that
/// `roots.root()` is its state root. Without `roots`, such receipts carry a zero root. Only those
/// fields of the header are checked that execution needs; see [`crate::validate_header`],
/// [`crate::validate_body`] and [`crate::check_output`] for the rest.
///
/// # Errors
/// The first transaction that is not valid, a system call that fails, or state that cannot be read.
pub fn execute_block(
    spec: &ChainSpec,
    block: &Block,
    state: &dyn StateReader,
    hashes: &dyn BlockHashes,
    roots: Option<&mut dyn RootTracker>,
) -> Result<BlockOutput, BlockError> {
    let env = BlockEnvironment::from_header(spec, &block.header);
    let senders = recover_senders(spec, &env, &block.body.transactions)?;
    BlockExecutor::new(spec, env, state, hashes).run(block, &senders, roots)
}

fn apply_last(executor: &BlockExecutor<'_>, roots: &mut dyn RootTracker) -> Result<(), BlockError> {
    match executor.writes().last() {
        Some(changes) => Ok(roots.apply(changes)?),
        None => Ok(()),
    }
}
