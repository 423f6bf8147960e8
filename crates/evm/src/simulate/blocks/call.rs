//! One call of a simulated block.

use super::{
    CallFailure, MAX_SIMULATED_BYTES, SimulateError, SimulateRequest, SimulatedCall, logs::BlockLogs,
    transaction::Unsigned,
};
use crate::{
    executor::BlockExecutor,
    halt_text::halt_text,
    machine::{Machine, discard},
    outcome::TxStatus,
    simulate::{
        CallLimits, CallRequest, FailureObserver, Message, NamedFailure,
        call::{Fees, check_init_code, check_payment, machine_error},
    },
    spec::GAS_PER_BLOB,
    tx_check::check_nonce,
    tx_error::TxError,
    watch::{LimitInspector, RunLimits},
};
use alloy_consensus::Transaction as _;
use revm::context_interface::result::ExecutionResult;
use std::{num::NonZeroU64, time::Duration};

/// What the calls of all blocks share.
pub(super) struct Calls<'w> {
    /// Nonces, fees and balances are checked.
    validation: bool,
    watch: RunLimits<'w>,
    timeout: Option<Duration>,
    /// Makes the observer that names a failure.
    observe: fn() -> Box<dyn FailureObserver>,
    /// Gas that calls may still use; `None` without a cap.
    gas_left: Option<u64>,
    /// Bytes that results may still take.
    bytes_left: usize,
}

impl<'w> Calls<'w> {
    pub fn new(
        request: &SimulateRequest,
        limits: &CallLimits<'w>,
        observe: fn() -> Box<dyn FailureObserver>,
    ) -> Self {
        Self {
            validation: request.validation,
            watch: limits.watch(),
            timeout: limits.timeout,
            observe,
            gas_left: limits.gas_cap.map(NonZeroU64::get),
            bytes_left: MAX_SIMULATED_BYTES,
        }
    }

    /// Fails where the simulation has to stop.
    pub fn check_watch(&self) -> Result<(), SimulateError> {
        if self.watch.expired() { Err(SimulateError::Aborted(self.timeout)) } else { Ok(()) }
    }

    /// Runs a call as the next transaction of a block.
    pub fn run(
        &mut self,
        executor: &mut BlockExecutor<'_>,
        request: &CallRequest,
        logs: &mut BlockLogs,
    ) -> Result<(Unsigned, SimulatedCall), SimulateError> {
        self.check_watch()?;
        let message = self.message(executor, request)?;
        self.check(executor, &message)?;
        let (chain_id, has_base_fee) =
            (executor.environment().chain_id, executor.environment().base_fee.is_some());
        let tx = Unsigned::new(request, &message, chain_id, has_base_fee);
        let mut env = executor.environment().block_env();
        if let Some(blob) = env.blob_excess_gas_and_price.as_mut()
            && !self.validation
            && message.blob_fee_cap.is_some_and(|cap| cap.is_zero())
        {
            // Blobs that cost nothing have a price of zero.
            blob.blob_gasprice = 0;
        }
        let sender = executor.state().account(message.from)?.unwrap_or_default();
        if message.to.is_some() && sender.nonce == u64::MAX {
            logs.wrap_nonce(message.from);
        }
        let evm = executor.evm();
        evm.ctx.block = env;
        evm.ctx.tx = message.tx_env(chain_id, has_base_fee);
        let mut observer = (self.observe)();
        let mut hooks = (&mut *logs, (&mut *observer, LimitInspector::new(self.watch)));
        let result = Machine { evm, inspector: &mut hooks, watch: self.watch }.inspect();
        let (_, (_, steps)) = hooks;
        let result = match result {
            Ok(_) if steps.stopped => return Err(SimulateError::Aborted(self.timeout)),
            Ok(result) => result,
            Err(error) => {
                discard(executor.evm());
                self.check_watch()?;
                return Err(machine_error(error, message.gas).into());
            }
        };
        let call = self.keep(executor, &message, &tx, result, logs, observer.named())?;
        Ok((tx, call))
    }

    /// The call with its defaults: the account's nonce, and all the gas that is left.
    fn message(
        &self,
        executor: &mut BlockExecutor<'_>,
        request: &CallRequest,
    ) -> Result<Message, SimulateError> {
        let account = executor.state().account(request.from.unwrap_or_default())?.unwrap_or_default();
        let (used, limit) = (executor.gas_used(), executor.environment().gas_limit);
        let remaining = limit.saturating_sub(used);
        let gas = request.gas.map_or(remaining, |gas| gas.to());
        if gas > remaining {
            return Err(SimulateError::BlockGasLimit { used, limit });
        }
        let nonce = request.nonce.map_or(account.nonce, |nonce| nonce.to());
        let environment = executor.environment();
        // If no gas is left, the call is refused below, with the gas that it requested.
        let gas = self.gas_left.filter(|left| *left > 0).map_or(gas, |left| gas.min(left));
        let mut message = request.message(environment.base_fee, environment.chain_id, None)?;
        (message.gas, message.nonce) = (gas, nonce);
        Ok(message)
    }

    fn check(&self, executor: &mut BlockExecutor<'_>, message: &Message) -> Result<(), SimulateError> {
        let wrap = |source| SimulateError::Invalid { source, gas: message.gas };
        let fees = if self.validation { Fees::Due } else { Fees::Waived };
        if self.validation {
            let nonce = executor.state().account(message.from)?.unwrap_or_default().nonce;
            check_nonce(message.from, message.nonce, nonce).map_err(wrap)?;
        }
        let environment = executor.environment().clone();
        check_payment(message, &environment, fees, executor.state())?.map_err(wrap)?;
        if self.gas_left.is_some_and(|left| message.gas > left) {
            return Err(wrap(TxError::GasLimitReached));
        }
        check_init_code(message, &environment).map_err(wrap)
    }

    fn keep(
        &mut self,
        executor: &mut BlockExecutor<'_>,
        message: &Message,
        tx: &Unsigned,
        result: ExecutionResult,
        logs: &mut BlockLogs,
        named: Option<NamedFailure>,
    ) -> Result<SimulatedCall, SimulateError> {
        let gas = *result.gas();
        // Blobs of a call that is another type of transaction are paid for, and not part of it.
        let blobs = tx.tx.blob_versioned_hashes().map_or(0, <[_]>::len) as u64;
        let outcome = executor.keep(tx.ty(), blobs.saturating_mul(GAS_PER_BLOB), message.from, result)?;
        self.gas_left = self.gas_left.map(|left| left.saturating_sub(outcome.gas_used));
        let logs = logs.take();
        let kept: usize = logs.iter().map(|log| log.log.data.data.len() + log.log.topics().len() * 32).sum();
        let bytes = kept + outcome.output.len() + tx.encoded.len();
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or(SimulateError::TooLarge)?;
        let (output, failure) = match outcome.status {
            TxStatus::Success => (outcome.output, None),
            TxStatus::Revert => (Default::default(), Some(CallFailure::Reverted(outcome.output))),
            TxStatus::Halt(reason) => {
                let text = named.map_or_else(|| halt_text(&reason), |named| named.text);
                (Default::default(), Some(CallFailure::Halted(text)))
            }
        };
        Ok(SimulatedCall {
            output,
            logs,
            gas_used: outcome.gas_used,
            max_gas_used: gas.total_gas_spent().max(gas.floor_gas()),
            failure,
        })
    }
}
