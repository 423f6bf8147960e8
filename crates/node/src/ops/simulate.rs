//! `eth_call` and `eth_estimateGas`.

use super::{Answer, quantity};
use crate::{BlockRef, NodeError, OpenHome, json::JsonWriter, pending::Site};
use hearth_evm::{
    BlockOverrides, CallError, CallLimits, CallRequest, CallSite, StateOverrides, call as run_call,
    estimate_gas as run_estimate,
};
use std::{sync::atomic::Ordering, time::Duration};

/// What both operations take.
pub(super) struct Simulated {
    pub transaction: CallRequest,
    pub block: Option<BlockRef>,
    pub state_overrides: Option<StateOverrides>,
    pub block_overrides: Option<BlockOverrides>,
}

pub(super) fn call(home: &OpenHome, asked: &Simulated) -> Answer {
    let outcome = at_site(home, asked.block, |site, limits| {
        let (state, block) = (asked.state_overrides.as_ref(), asked.block_overrides.as_ref());
        run_call(site, &asked.transaction, state, block, &limits)?.into_output()
    })?;
    let mut writer = JsonWriter::with_capacity(outcome.len() * 2 + 4);
    writer.bytes(&outcome);
    Ok(writer.into_bytes())
}

pub(super) fn estimate_gas(home: &OpenHome, asked: &Simulated) -> Answer {
    quantity(at_site(home, asked.block, |site, limits| {
        let (state, block) = (asked.state_overrides.as_ref(), asked.block_overrides.as_ref());
        run_estimate(site, &asked.transaction, state, block, &limits)
    })?)
}

/// Runs something on the state after a block.
pub(super) fn at_site<T>(
    home: &OpenHome,
    block: Option<BlockRef>,
    run: impl FnOnce(CallSite<'_>, CallLimits<'_>) -> Result<T, CallError>,
) -> Result<T, NodeError> {
    let Site { header, state } = home.site(block)?;
    let chain = home.chain();
    let hashes = chain.ledger().as_ref();
    let site = CallSite { spec: chain.spec(), header: &header, state: &*state, hashes };
    run(site, call_limits(home)).map_err(|error| match error {
        // Given up because the node closes, not because of the clock.
        CallError::Aborted(_) if home.stopping().load(Ordering::Relaxed) => NodeError::Closed,
        other => call_error(other),
    })
}

/// What calls of this node may use.
pub(super) fn call_limits(home: &OpenHome) -> CallLimits<'_> {
    let rpc = &home.config().rpc;
    let timeout = Duration::from_millis(rpc.call_timeout_ms);
    CallLimits { gas_cap: rpc.gas_cap, timeout, cancel: Some(home.stopping()) }
}

/// What a simulation says, in the node's terms.
pub(super) fn call_error(error: CallError) -> NodeError {
    let message = error.to_string();
    match error {
        CallError::Reverted { data } => {
            let reason = message.strip_prefix("execution reverted: ").map(str::to_owned);
            NodeError::ExecutionReverted { reason, output: data }
        }
        CallError::State(error) => error.into(),
        _ => NodeError::ExecutionFailed { message },
    }
}
