//! `eth_call` and `eth_estimateGas`.

use super::{Answer, quantity};
use hearth_evm::{
    BlockOverrides, CallError, CallLimits, CallRequest, CallSite, StateOverrides, call as run_call,
    estimate_gas as run_estimate,
};
use hearth_home::{BlockRef, Home, JsonWriter, NodeError, Site};
use hearth_primitives::OriginWaits;
use hearth_tracers::{Cancel, observe_failure};
use std::time::Duration;

/// What both operations take.
pub(super) struct Simulated {
    pub transaction: CallRequest,
    pub block: Option<BlockRef>,
    pub state_overrides: Option<StateOverrides>,
    pub block_overrides: Option<BlockOverrides>,
}

pub(super) fn call(home: &Home, asked: &Simulated, stop: &Cancel) -> Answer {
    let outcome = at_site(home, asked.block, stop, |site, limits| {
        let (state, block) = (asked.state_overrides.as_ref(), asked.block_overrides.as_ref());
        run_call(site, &asked.transaction, state, block, &limits)?.into_output()
    })?;
    let mut writer = JsonWriter::with_capacity(outcome.len() * 2 + 4);
    writer.bytes(&outcome);
    Ok(writer.into_bytes())
}

pub(super) fn estimate_gas(home: &Home, asked: &Simulated, stop: &Cancel) -> Answer {
    quantity(at_site(home, asked.block, stop, |site, limits| {
        let (state, block) = (asked.state_overrides.as_ref(), asked.block_overrides.as_ref());
        run_estimate(site, &asked.transaction, state, block, &limits)
    })?)
}

/// Runs something on the state after a block.
pub(super) fn at_site<T>(
    home: &Home,
    block: Option<BlockRef>,
    stop: &Cancel,
    run: impl FnOnce(CallSite<'_>, CallLimits<'_>) -> Result<T, CallError>,
) -> Result<T, NodeError> {
    let Site { header, state } = home.site(block)?;
    let chain = home.chain();
    let hashes = chain.reader().hashes();
    let quick = state.for_execution();
    let site = CallSite {
        spec: chain.spec(),
        chain_id: chain.next_chain_id().get(),
        header: &header,
        state: quick.as_deref().unwrap_or(&*state),
        hashes,
        observe: observe_failure,
    };
    let _waits = origin_waits(home);
    run(site, call_limits(home, stop)).map_err(|error| match error {
        CallError::Aborted(_) if stop.is_cancelled() => home.interrupted(),
        other => NodeError::from(other),
    })
}

/// Bounds the sum of a request's waits for the remote node of a fork. Fetched values are kept, so
/// the next attempt continues from there.
pub(super) fn origin_waits(home: &Home) -> OriginWaits {
    OriginWaits::bounded(home.config().fork.as_ref().map(|fork| Duration::from_millis(fork.timeout_ms)))
}

/// What calls of this node may use.
pub(super) fn call_limits<'a>(home: &Home, stop: &'a Cancel) -> CallLimits<'a> {
    let rpc = &home.config().rpc;
    let timeout = rpc.call_timeout_ms.map(|timeout| Duration::from_millis(timeout.get()));
    CallLimits { gas_cap: rpc.gas_cap, timeout, cancel: Some(stop.flag()) }
}
