//! `eth_estimateGas`: the lowest gas limit, within 1.5 percent, with which a message succeeds.

use super::{
    BlockOverrides, CallError, CallLimits, CallOutcome, CallRequest, CallSite, CallStatus, Message,
    Simulation, StateOverrides, overrides::PrecompileOverrides,
};
use crate::{
    spec::{Fork, GAS_PER_BLOB},
    tx_check::MAX_TX_GAS,
    tx_error::TxError,
    watch::RunLimits,
};
use alloy_primitives::{U64, U256};
use std::{num::NonZeroU64, time::Duration};

/// Gas of a plain transfer.
const TRANSFER_GAS: u64 = 21_000;
/// Gas that a call with value gives to its callee for free.
const CALL_STIPEND: u64 = 2_300;
/// The search ends when the bounds are this close, relative to the upper one.
const ERROR_RATIO: f64 = 0.015;

struct Search<'s, 'a> {
    simulation: &'s Simulation<'a>,
    message: Message,
    watch: RunLimits<'s>,
    timeout: Option<Duration>,
}

/// Estimates the gas limit that a message needs.
///
/// # Errors
/// [`CallError`]: the message cannot run, reverts, or needs more gas than is allowed.
pub fn estimate_gas(
    site: CallSite<'_>,
    request: &CallRequest,
    state_overrides: Option<&StateOverrides>,
    block_overrides: Option<&BlockOverrides>,
    limits: &CallLimits<'_>,
) -> Result<u64, CallError> {
    let simulation = Simulation::new(site, state_overrides, block_overrides)?
        .with_precompiles(PrecompileOverrides::Checked);
    // Without a limit of its own the message starts at the block's, not at the node's cap.
    let request = CallRequest { gas: Some(request.gas.unwrap_or(U64::ZERO)), ..request.clone() };
    let message = request.message(site.header.base_fee_per_gas, simulation.chain_id(), limits.gas_cap)?;
    let highest = highest_gas(&simulation, site.header.gas_limit, &message, limits.gas_cap)?;
    Search { simulation: &simulation, message, watch: limits.watch(), timeout: limits.timeout }.run(highest)
}

/// The upper bound of the search: the least of the block's limit or the message's own, the cap of
/// EIP-7825, what the sender can pay, and the node's cap.
fn highest_gas(
    simulation: &Simulation<'_>,
    block_limit: u64,
    message: &Message,
    gas_cap: Option<NonZeroU64>,
) -> Result<u64, CallError> {
    let mut highest = if message.gas >= TRANSFER_GAS { message.gas } else { block_limit };
    if simulation.environment().fork >= Fork::Osaka {
        highest = highest.min(MAX_TX_GAS);
    }
    if !message.fee_cap.is_zero() {
        let (mut evm, env) = simulation.machine(message)?;
        let balance = evm.ctx.journaled_state.database.account(message.from)?.unwrap_or_default().balance;
        let mut available = balance
            .checked_sub(message.value)
            .filter(|rest| !rest.is_zero())
            .ok_or(CallError::EstimateFunds("insufficient funds for transfer"))?;
        let blobs = message.blob_hashes.as_ref().map_or(0, Vec::len) as u64;
        if env.fork >= Fork::Cancun && blobs > 0 {
            let cost =
                U256::from(blobs * GAS_PER_BLOB).saturating_mul(message.blob_fee_cap.unwrap_or_default());
            available = available
                .checked_sub(cost)
                .filter(|rest| !rest.is_zero())
                .ok_or(CallError::EstimateFunds("insufficient funds for gas * price + value"))?;
        }
        highest = highest.min(u64::try_from(available / message.fee_cap).unwrap_or(u64::MAX));
    }
    Ok(gas_cap.map_or(highest, |cap| highest.min(cap.get())))
}

impl Search<'_, '_> {
    fn run(&mut self, highest: u64) -> Result<u64, CallError> {
        if self.is_transfer()? && self.succeeds(TRANSFER_GAS).unwrap_or(false) {
            return Ok(TRANSFER_GAS);
        }
        let Some(outcome) = self.execute(highest)? else { return Err(CallError::GasAllowance(highest)) };
        let outcome = self.simulation.name_failure(&self.message, outcome, self.watch)?;
        match &outcome.status {
            CallStatus::Success => {}
            CallStatus::Halt(_) if outcome.out_of_gas => return Err(CallError::GasAllowance(highest)),
            _ => return Err(outcome.into_output().err().unwrap_or(CallError::GasAllowance(highest))),
        }
        let (mut low, mut high) = (outcome.gas_used.saturating_sub(1), highest);
        let optimistic = outcome.max_gas_used.saturating_add(CALL_STIPEND).saturating_mul(64) / 63;
        if optimistic < high {
            if self.succeeds(optimistic)? { high = optimistic } else { low = optimistic }
        }
        while low + 1 < high && (high - low) as f64 / high as f64 >= ERROR_RATIO {
            // Most messages need little more than they use, so the search leans to the low side.
            let middle = (low + (high - low) / 2).min(low.saturating_mul(2));
            if self.succeeds(middle)? { high = middle } else { low = middle }
        }
        Ok(high)
    }

    fn is_transfer(&self) -> Result<bool, CallError> {
        let Some(to) = self.message.to.filter(|_| self.message.data.is_empty()) else { return Ok(false) };
        let (mut evm, _) = self.simulation.machine(&self.message)?;
        Ok(!evm.ctx.journaled_state.database.account(to)?.is_some_and(|account| account.has_code()))
    }

    fn succeeds(&mut self, gas: u64) -> Result<bool, CallError> {
        Ok(self.execute(gas)?.is_some_and(|outcome| outcome.status == CallStatus::Success))
    }

    /// Runs with a gas limit; `None` where the limit does not even cover the intrinsic gas.
    fn execute(&mut self, gas: u64) -> Result<Option<CallOutcome>, CallError> {
        self.message.gas = gas;
        match self.simulation.attempt(&self.message, self.watch, self.timeout) {
            Ok(outcome) => Ok(Some(outcome)),
            Err(CallError::Invalid {
                source: TxError::IntrinsicGas { .. } | TxError::GasLimitTooHigh { .. },
                ..
            }) => Ok(None),
            Err(CallError::Invalid { source, gas }) => Err(CallError::EstimateInvalid { source, gas }),
            Err(error) => Err(error),
        }
    }
}
