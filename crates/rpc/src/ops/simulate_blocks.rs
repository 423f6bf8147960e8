//! `eth_simulateV1`.

use super::{
    Answer,
    simulate::{call_limits, origin_waits},
    transactions::pending_at,
};
use crate::json::{BlockParts, LogPlace, write_block_fields, write_log};
use alloy_rlp::Encodable as _;
use hearth_evm::{
    CallError, CallFailure, CallSite, SimulateError, SimulateRequest, SimulatedBlock, SimulatedCall,
    simulate_blocks,
};
use hearth_flatkv::StateRoots;
use hearth_home::{BlockRef, Home, JsonWriter, NodeError};
use hearth_primitives::{Header, RootTracker as _, StateReader};
use hearth_tracers::{Cancel, observe_failure};

/// JSON-RPC code of a call in a simulated block that reverted.
const REVERTED: i32 = 3;
/// JSON-RPC code of a call in a simulated block that failed otherwise (execution-apis).
const HALTED: i32 = -32_015;
/// Bytes to reserve for a call's result beside its data.
const CALL_BYTES: usize = 200;

pub(super) fn v1(home: &Home, request: &SimulateRequest, block: Option<BlockRef>, stop: &Cancel) -> Answer {
    request.check().map_err(|error| simulate_error(home, stop, error))?;
    if let Some(reference) = block
        && let Some(pending) = pending_at(home, reference)?
    {
        let base = pending.block(home.chain())?;
        let roots = pending.roots(home.chain())?;
        return on(home, (&base.block.header, &pending.state), roots, request, stop);
    }
    let (state, base) = home.state_at(block)?;
    let chain = home.chain();
    let header = &base.block.header;
    let mut roots = chain.reader().roots_at(header.number)?;
    if roots.root()? != header.state_root {
        // The block left the chain since it was looked up.
        return Err(NodeError::StateNotCanonical { height: header.number, hash: base.hash });
    }
    // The edits of the state that the calls read, and no later ones.
    if let Some(edits) = state.edits() {
        roots.apply(&edits.changes())?;
    }
    on(home, (header, &state), roots, request, stop)
}

/// Simulates on a block, whose header, state and state trie are given.
fn on(
    home: &Home,
    (header, state): (&Header, &dyn StateReader),
    mut roots: StateRoots<'_>,
    request: &SimulateRequest,
    stop: &Cancel,
) -> Answer {
    let chain = home.chain();
    let quick = state.for_execution();
    let site = CallSite {
        spec: chain.spec(),
        chain_id: chain.next_chain_id().get(),
        header,
        state: quick.as_deref().unwrap_or(state),
        hashes: chain.reader().hashes(),
        observe: observe_failure,
    };
    let _waits = origin_waits(home);
    let blocks = simulate_blocks(site, &mut roots, request, &call_limits(home, stop))
        .map_err(|error| simulate_error(home, stop, error))?;
    Ok(render(&blocks, request.return_full_transactions))
}

fn simulate_error(home: &Home, stop: &Cancel, error: SimulateError) -> NodeError {
    match error {
        SimulateError::Aborted(_) if stop.is_cancelled() => home.interrupted(),
        SimulateError::Call(error) => NodeError::from(error),
        SimulateError::State(error) => error.into(),
        other => NodeError::Simulation(Box::new(other)),
    }
}

fn render(blocks: &[SimulatedBlock], full: bool) -> Vec<u8> {
    let parts: Vec<_> = blocks.iter().map(parts).collect();
    let calls: usize = blocks.iter().map(|block| block.calls.len()).sum();
    let room: usize = parts.iter().map(|parts| parts.json_capacity(full)).sum();
    let mut w = JsonWriter::with_capacity(room + calls * CALL_BYTES);
    w.begin_array();
    for (block, parts) in blocks.iter().zip(&parts) {
        w.begin_object();
        write_block_fields(&mut w, parts, full.then_some(block.senders.as_slice()));
        w.key("calls").begin_array();
        for (index, (call, tx_hash)) in block.calls.iter().zip(&block.tx_hashes).enumerate() {
            let header = &block.block.header;
            let place = LogPlace {
                block_hash: &block.hash,
                number: header.number,
                timestamp: header.timestamp,
                tx_hash,
                tx_index: index as u64,
            };
            write_call(&mut w, call, &place);
        }
        w.end_array().end_object();
    }
    w.end_array();
    w.into_bytes()
}

fn parts(block: &SimulatedBlock) -> BlockParts<'_> {
    BlockParts {
        block: &block.block,
        hash: &block.hash,
        size: block.block.length(),
        tx_hashes: &block.tx_hashes,
        ommer_hashes: &[],
    }
}

fn write_call(w: &mut JsonWriter, call: &SimulatedCall, place: &LogPlace<'_>) {
    w.begin_object().key("returnData").bytes(&call.output);
    w.key("logs").begin_array();
    call.logs.iter().for_each(|log| write_log(w, &log.log, place, log.index));
    w.end_array();
    w.key("gasUsed").quantity(call.gas_used);
    w.key("maxUsedGas").quantity(call.max_gas_used);
    w.key("status").quantity(call.failure.is_none().into());
    if let Some(failure) = &call.failure {
        write_failure(w.key("error"), failure);
    }
    w.end_object();
}

fn write_failure(w: &mut JsonWriter, failure: &CallFailure) {
    let (code, message, data) = match failure {
        CallFailure::Reverted(data) => {
            (REVERTED, CallError::Reverted { data: data.clone() }.to_string(), Some(data))
        }
        CallFailure::Halted(text) => (HALTED, text.clone(), None),
    };
    w.begin_object();
    // The reason of a revert is anybody's text.
    w.key("message").raw(&serde_json::Value::from(message).to_string());
    w.key("code").raw(&code.to_string());
    if let Some(data) = data {
        w.key("data").bytes(data);
    }
    w.end_object();
}
