//! `eth_call` and `eth_estimateGas`.

use super::{Answer, quantity};
use crate::{BlockRef, Node, NodeError, json::JsonWriter};
use hearth_evm::{
    BlockOverrides, CallError, CallLimits, CallRequest, CallSite, StateOverrides, call as run_call,
    estimate_gas as run_estimate,
};
use std::time::Duration;

/// Longest time of one simulated call (go-ethereum's default).
const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// What both operations take.
pub(super) struct Simulated {
    pub transaction: CallRequest,
    pub block: Option<BlockRef>,
    pub state_overrides: Option<StateOverrides>,
    pub block_overrides: Option<BlockOverrides>,
}

pub(super) fn call(node: &Node, asked: &Simulated) -> Answer {
    let outcome = at_site(node, asked, |site, limits| {
        let (state, block) = (asked.state_overrides.as_ref(), asked.block_overrides.as_ref());
        run_call(site, &asked.transaction, state, block, &limits)?.into_output()
    })?;
    let mut writer = JsonWriter::with_capacity(outcome.len() * 2 + 4);
    writer.bytes(&outcome);
    Ok(writer.into_bytes())
}

pub(super) fn estimate_gas(node: &Node, asked: &Simulated) -> Answer {
    quantity(at_site(node, asked, |site, limits| {
        let (state, block) = (asked.state_overrides.as_ref(), asked.block_overrides.as_ref());
        run_estimate(site, &asked.transaction, state, block, &limits)
    })?)
}

fn at_site<T>(
    node: &Node,
    asked: &Simulated,
    run: impl FnOnce(CallSite<'_>, CallLimits<'_>) -> Result<T, CallError>,
) -> Result<T, NodeError> {
    let (state, block) = node.state_at(asked.block)?;
    let chain = node.chain();
    let hashes = chain.ledger().as_ref();
    let site = CallSite { spec: chain.spec(), header: &block.block.header, state: &state, hashes };
    let rpc = &node.config().rpc;
    let limits = CallLimits { gas_cap: rpc.gas_cap, timeout: CALL_TIMEOUT, cancel: Some(node.stopping()) };
    run(site, limits).map_err(call_error)
}

fn call_error(error: CallError) -> NodeError {
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
