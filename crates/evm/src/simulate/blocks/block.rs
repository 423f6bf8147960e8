//! Builds one simulated block.

use super::{
    SimulateError, SimulateRequest, SimulatedBlock, call::Calls, logs::BlockLogs, plan::Planned,
    transaction::Unsigned,
};
use crate::{
    env::BlockEnvironment,
    executor::BlockExecutor,
    overlay::BlockState,
    simulate::{CallLimits, CallSite, StateOverrides},
    spec::Fork,
};
use alloy_consensus::{BlockBody, Header, proofs};
use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::U256;
use hearth_primitives::{AccountChange, Block, Changeset, RootTracker, SlotChange};

/// Builds block after block.
pub(super) struct Builder<'b, 'a> {
    site: CallSite<'a>,
    roots: &'b mut dyn RootTracker,
    request: &'b SimulateRequest,
    calls: Calls<'b>,
}

impl<'b, 'a> Builder<'b, 'a> {
    pub fn new(
        site: CallSite<'a>,
        roots: &'b mut dyn RootTracker,
        request: &'b SimulateRequest,
        limits: &CallLimits<'b>,
    ) -> Self {
        Self { site, roots, request, calls: Calls::new(request, limits, site.observe) }
    }

    /// Executes a block on a state and completes its header. Gives the state after it back.
    pub fn build(
        &mut self,
        planned: &Planned<'_>,
        mut header: Header,
        state: BlockState<'a>,
    ) -> Result<(SimulatedBlock, BlockState<'a>), SimulateError> {
        self.calls.check_watch()?;
        let mut executor = self.executor(planned, &header, state)?;
        if let Some(overrides) = planned.state {
            let changes = override_state(overrides, &mut executor)?;
            self.roots.apply(&changes)?;
        }
        executor.begin()?;
        let fork = executor.environment().fork;
        let mut logs = BlockLogs::new(self.request.trace_transfers);
        let (mut transactions, mut results) = (Vec::new(), Vec::new());
        let mut applied = 0;
        for request in planned.calls {
            let (tx, result) = self.calls.run(&mut executor, request, &mut logs)?;
            if fork < Fork::Byzantium {
                // Receipts carry the state root after their transaction.
                self.apply_writes(&executor, &mut applied)?;
                executor.set_last_receipt_root(self.roots.root()?);
            }
            transactions.push(tx);
            results.push(result);
        }
        self.calls.check_watch()?;
        let withdrawals = planned.overrides.and_then(|overrides| overrides.withdrawals.clone());
        if fork < Fork::Shanghai && withdrawals.as_ref().is_some_and(|all| !all.is_empty()) {
            let merged = header.difficulty.is_zero();
            let (early, earlier) =
                (SimulateError::WithdrawalsBeforeShanghai, SimulateError::WithdrawalsBeforeMerge);
            return Err(if merged { early } else { earlier });
        }
        let requests = executor.close(&[], withdrawals.as_deref())?;
        self.apply_writes(&executor, &mut applied)?;
        header.state_root = self.roots.root()?;
        header.requests_hash = requests.map(|requests| requests.requests_hash());
        let withdrawals = (fork >= Fork::Shanghai).then(|| Withdrawals::new(withdrawals.unwrap_or_default()));
        complete(&mut header, &executor, &transactions, withdrawals.as_ref());
        let senders = planned.calls.iter().map(|call| call.from.unwrap_or_default()).collect();
        let tx_hashes = transactions.iter().map(|tx| tx.hash).collect();
        let transactions = transactions.into_iter().map(|tx| tx.tx).collect();
        let hash = header.hash_slow();
        let block = Block { header, body: BlockBody { transactions, ommers: Vec::new(), withdrawals } };
        let block = SimulatedBlock { block, hash, tx_hashes, senders, calls: results };
        Ok((block, executor.into_state()))
    }

    fn executor(
        &self,
        planned: &Planned<'_>,
        header: &Header,
        state: BlockState<'a>,
    ) -> Result<BlockExecutor<'a>, SimulateError> {
        let mut environment = BlockEnvironment::from_header(self.site.spec, header);
        if let Some(fee) = planned.overrides.map(|overrides| overrides.blob_fee()).transpose()?.flatten() {
            environment.blob_base_fee = Some(u128::from(fee));
        }
        let mut executor = BlockExecutor::on_state(self.site.spec, environment, state);
        let cfg = &mut executor.evm().ctx.cfg;
        // The nonce was checked before, if it is to be checked at all.
        cfg.disable_nonce_check = true;
        cfg.disable_base_fee = !self.request.validation;
        Ok(executor)
    }

    fn apply_writes(
        &mut self,
        executor: &BlockExecutor<'_>,
        applied: &mut usize,
    ) -> Result<(), SimulateError> {
        let writes = executor.writes();
        for changes in &writes[*applied..] {
            self.roots.apply(changes)?;
        }
        *applied = writes.len();
        Ok(())
    }
}

/// Applies overrides, and gives what they change of the state trie: of slots the new values alone.
fn override_state(
    overrides: &StateOverrides,
    executor: &mut BlockExecutor<'_>,
) -> Result<Changeset, SimulateError> {
    let mut before = Vec::with_capacity(overrides.0.len());
    for address in overrides.0.keys() {
        before.push(executor.state().account(*address)?);
    }
    let evm = executor.evm();
    overrides.apply(&mut evm.ctx.journaled_state.database, &mut evm.precompiles)?;
    let mut accounts = Vec::with_capacity(before.len());
    for ((address, account), old) in overrides.0.iter().zip(before) {
        let new = executor.state().account(*address)?;
        let slots = account.state.iter().chain(&account.state_diff).flatten();
        let storage = slots
            .map(|(slot, value)| SlotChange { slot: (*slot).into(), old: U256::ZERO, new: (*value).into() })
            .collect();
        accounts.push(AccountChange { address: *address, old, new, wiped: account.state.is_some(), storage });
    }
    // Those that name nothing to change leave an account as it is, or absent.
    accounts.retain(|change| change.old != change.new || change.wiped || !change.storage.is_empty());
    Ok(Changeset { accounts, codes: Vec::new() })
}

/// Fills in the fields that execution and the body determine.
fn complete(
    header: &mut Header,
    executor: &BlockExecutor<'_>,
    transactions: &[Unsigned],
    withdrawals: Option<&Withdrawals>,
) {
    header.gas_used = executor.gas_used();
    if executor.environment().fork >= Fork::Cancun {
        header.blob_gas_used = Some(executor.blob_gas_used());
    }
    header.logs_bloom = executor.logs_bloom();
    header.receipts_root = proofs::calculate_receipt_root(executor.receipts());
    header.transactions_root = proofs::ordered_trie_root_with_encoder(transactions, |tx, buffer| {
        buffer.extend_from_slice(&tx.encoded)
    });
    header.withdrawals_root = withdrawals.map(|list| proofs::calculate_withdrawals_root(list));
}
