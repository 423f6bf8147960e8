//! Native transactions: calls that come in another envelope than Ethereum's, before a block's
//! transactions. Their changes are part of the block's first write set, so capsules, traces and
//! proofs need nothing new.
//!
//! They pay for gas as legacy transactions do, but their gas has a bound of its own, and is neither
//! in the header nor in a receipt.

use crate::{
    executor::BlockExecutor,
    machine::{Machine, MachineError, discard},
    outcome::{ExecuteError, execute_error},
    spec::Fork,
    system::plain_env,
    tx_check::{MAX_TX_GAS, check_nonce},
    tx_error::TxError,
    watch::RunLimits,
};
use alloy_primitives::U256;
use hearth_primitives::{Account, NATIVE_FAILED, NATIVE_OUT_OF_GAS, NativeOutcome, NativeTransaction};
use revm::{
    context::TxEnv,
    context_interface::result::{ExecutionResult, HaltReason},
};

/// Native transactions may use this part of a block's gas limit, in addition to the gas of the
/// others.
pub const NATIVE_GAS_SHARE: u64 = 10;

impl BlockExecutor<'_> {
    /// Executes a native transaction, between [`Self::begin`] and the first other transaction, and
    /// keeps its changes. One whose call fails has paid for its gas and used its nonce.
    ///
    /// # Errors
    /// [`ExecuteError::Invalid`] where it cannot be part of the block; nothing is changed then.
    pub fn transact_native(&mut self, tx: &NativeTransaction) -> Result<NativeOutcome, ExecuteError> {
        debug_assert!(self.receipts().is_empty(), "native transactions come first");
        self.check_native(tx)?;
        self.evm().ctx.tx = native_env(tx);
        if self.state().captures() {
            self.capture_named()?;
        }
        let result = Machine { evm: self.evm(), inspector: (), watch: RunLimits::default() }.run();
        self.conclude_native(tx, result)
    }

    fn check_native(&mut self, tx: &NativeTransaction) -> Result<(), ExecuteError> {
        let address = tx.sender;
        let account = self.state().account(address)?.unwrap_or_default();
        if account.has_code() {
            let code = self.state().code(account.code_hash)?;
            if !code.is_eip7702() {
                return Err(TxError::SenderNotEoa { address, code_len: code.len() }.into());
            }
        }
        let env = self.environment();
        if tx.timeout_height != 0 && env.number > tx.timeout_height {
            return Err(TxError::TimeoutHeight { height: env.number, timeout: tx.timeout_height }.into());
        }
        check_nonce(address, tx.nonce, account.nonce)?;
        if env.fork >= Fork::Osaka && tx.gas_limit > MAX_TX_GAS {
            return Err(TxError::GasLimitTooHigh { cap: MAX_TX_GAS, limit: tx.gas_limit }.into());
        }
        if let Some(base_fee) = env.base_fee.filter(|base_fee| tx.gas_price < u128::from(*base_fee)) {
            let (cap, base_fee) = (U256::from(tx.gas_price), U256::from(base_fee));
            return Err(TxError::FeeCapTooLow { address, cap, base_fee }.into());
        }
        check_native_funds(tx, &account)?;
        let bound = env.gas_limit / NATIVE_GAS_SHARE;
        if tx.gas_limit > bound.saturating_sub(self.native_gas_used()) {
            return Err(TxError::GasLimitReached.into());
        }
        Ok(())
    }

    fn conclude_native(
        &mut self,
        tx: &NativeTransaction,
        result: Result<ExecutionResult<HaltReason>, MachineError>,
    ) -> Result<NativeOutcome, ExecuteError> {
        let result = match result {
            Ok(result) => result,
            Err(error) => {
                discard(self.evm());
                return Err(execute_error(error));
            }
        };
        let gas_used = result.tx_gas_used();
        let outcome = match result {
            ExecutionResult::Success { output, logs, .. } => NativeOutcome {
                code: 0,
                gas_used,
                logs: tx.log.iter().cloned().chain(logs).collect(),
                output: output.into_data(),
            },
            ExecutionResult::Revert { output, .. } => {
                NativeOutcome { code: NATIVE_FAILED, gas_used, logs: Vec::new(), output }
            }
            ExecutionResult::Halt { reason: HaltReason::OutOfGas(_), .. } => {
                NativeOutcome { code: NATIVE_OUT_OF_GAS, gas_used, ..NativeOutcome::default() }
            }
            ExecutionResult::Halt { .. } => {
                NativeOutcome { code: NATIVE_FAILED, gas_used, ..NativeOutcome::default() }
            }
        };
        self.keep_native(tx, &outcome)?;
        Ok(outcome)
    }
}

/// The signer must have the value and the gas limit at its price.
fn check_native_funds(tx: &NativeTransaction, account: &Account) -> Result<(), TxError> {
    let (address, have) = (tx.sender, account.balance);
    let gas = U256::from(tx.gas_limit).saturating_mul(U256::from(tx.gas_price));
    let want = gas.checked_add(tx.value).ok_or(TxError::FundsOverflow { address })?;
    if have < want { Err(TxError::InsufficientFunds { address, have, want }) } else { Ok(()) }
}

/// A native transaction in the interpreter's form: a legacy transaction.
fn native_env(tx: &NativeTransaction) -> TxEnv {
    TxEnv {
        caller: tx.sender,
        gas_limit: tx.gas_limit,
        gas_price: tx.gas_price,
        value: tx.value,
        data: tx.input.clone(),
        nonce: tx.nonce,
        ..plain_env(tx.to)
    }
}
