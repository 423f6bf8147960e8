//! The `trace_*` methods for consecutive calls and for raw transactions. [`super::filter`] has the
//! search by account.

use super::call_site::{CallReplay, CallSite};
use crate::{
    Traces,
    trace::{Counted, trace_error},
};
use alloy_eips::eip2718::Decodable2718 as _;
use alloy_primitives::{Bytes, U64, U256};
use hearth_evm::{BlockEnvironment, CallRequest, block_rewards, recover_senders};
use hearth_home::{BlockNumber, BlockRef, ByteSender, LookbackPolicy, NodeError};
use hearth_ledger::StoredBlock;
use hearth_primitives::{PooledTransaction, Transaction};
use hearth_tracers::{
    FrameFilter, Limits, ParityConfig, Sink, SinkClosed, TraceError, TracePlan, TracerPlan, reward_traces,
    trace_transaction,
};
use serde::Deserialize;
use std::time::{Duration, Instant};

/// Most calls of one `trace_callMany`.
pub const MAX_CALLS: usize = 10_000;

/// Calls to trace one after the other, each on what those before it left.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ParityCalls {
    /// The calls.
    pub calls: Vec<ParityCall>,
    /// In the environment of this block, on the state after it; the head where absent.
    #[serde(default)]
    pub block: Option<BlockRef>,
    /// Whether the answer is a list; else it is the result of the only call.
    pub list: bool,
}

/// One call, and what is wanted of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ParityCall {
    /// The call.
    #[serde(default)]
    pub transaction: CallRequest,
    /// A signed transaction in EIP-2718 form, in place of the call.
    #[serde(default)]
    pub raw: Option<Bytes>,
    /// `trace`, `stateDiff`, `vmTrace`.
    pub types: Vec<String>,
}

/// Traces calls.
pub fn calls(
    traces: &Traces,
    asked: &ParityCalls,
    plan: &TracePlan,
    limits: &Limits,
    sender: &mut ByteSender,
) -> Result<(), NodeError> {
    if asked.calls.len() > MAX_CALLS {
        let message = format!("{} calls, at most {MAX_CALLS} are allowed", asked.calls.len());
        return Err(NodeError::LimitExceeded { message });
    }
    let home = traces.home();
    let block = match asked.block {
        // Besu takes the head for `pending` (`TraceCall.resolveBlockHeader`).
        None | Some(BlockRef::Number(BlockNumber::Pending)) => BlockRef::latest(),
        Some(block) => block,
    };
    let site = CallSite::find(home, block, None, |height| {
        home.mark_height(height, sender);
        home.check_lookback(height, LookbackPolicy::Guarded)
    })
    .map_err(unknown_block)?;
    let plans = asked.calls.iter().map(|call| plan_of(&call.types, plan.timeout));
    let plans: Vec<TracePlan> = plans.collect::<Result<_, _>>()?;
    let requests = asked.calls.iter().map(|call| call.request(traces, &site));
    let requests: Vec<CallRequest> = requests.collect::<Result<_, _>>()?;
    let reads = site.reads();
    let session = site.session(traces, &*reads, None, limits)?;
    let mut replay = CallReplay::new(session, home.config().rpc.gas_cap);
    let started = Instant::now();
    let mut out = Listed { out: Counted { sender, written: 0 }, before: b"" };
    for (index, (request, mut plan)) in requests.iter().zip(plans).enumerate() {
        plan.timeout = left(plan.timeout, started, &out.out)?;
        // As in OpenEthereum no call takes gas from another; what bounds them together is the time.
        replay.renew_gas(home.config().rpc.gas_cap);
        replay.set(request)?;
        out.before = if !asked.list {
            b""
        } else if index == 0 {
            b"["
        } else {
            b","
        };
        if let Err(error) = trace_transaction(&mut replay, 0, &plan, limits, &mut out) {
            // What has left becomes a whole value: the error belongs beside it.
            if asked.list && out.out.written > 0 {
                out.before = b"";
                write(&mut out, b"]")?;
            }
            return Err(trace_error(error));
        }
    }
    out.before = b"";
    match (asked.list, requests.is_empty()) {
        (true, true) => write(&mut out, b"[]"),
        (true, false) => write(&mut out, b"]"),
        (false, _) => Ok(()),
    }
}

/// A block that does not exist is a wrong parameter, as in Besu.
fn unknown_block(error: NodeError) -> NodeError {
    match error {
        NodeError::HeaderNotFound
        | NodeError::HeaderForHashNotFound
        | NodeError::BlockNotFound { .. }
        | NodeError::BlockHashNotFound { .. } => {
            NodeError::invalid_params("Invalid block param (block not found)")
        }
        other => other,
    }
}

/// A list on its way out: what stands before an element leaves with the element's first bytes.
struct Listed<'a> {
    out: Counted<'a>,
    before: &'static [u8],
}

impl Sink for Listed<'_> {
    fn write(&mut self, chunk: &[u8]) -> Result<(), SinkClosed> {
        let before = std::mem::take(&mut self.before);
        if !before.is_empty() {
            self.out.write(before)?;
        }
        self.out.write(chunk)
    }
}

fn write(out: &mut Listed<'_>, bytes: &[u8]) -> Result<(), NodeError> {
    out.write(bytes).map_err(|_| trace_error(TraceError::Cancelled))
}

/// The time that is left for the next call: waiting for the reader does not count.
fn left(timeout: Duration, started: Instant, out: &Counted<'_>) -> Result<Duration, NodeError> {
    let taken = started.elapsed().saturating_sub(out.sender.stalled());
    let left = timeout.saturating_sub(taken);
    if left.is_zero() { Err(trace_error(TraceError::ExecutionTimeout)) } else { Ok(left) }
}

fn plan_of(types: &[String], timeout: Duration) -> Result<TracePlan, NodeError> {
    let options = serde_json::json!({ "types": types }).to_string();
    let config = ParityConfig::parse(&options).map_err(|_| {
        NodeError::invalid_params("Invalid trace type params: trace, stateDiff and vmTrace exist")
    })?;
    Ok(TracePlan { tracer: TracerPlan::Parity(config), timeout })
}

impl ParityCall {
    /// The call to make; a signed transaction is decoded and its sender recovered.
    fn request(&self, traces: &Traces, site: &CallSite) -> Result<CallRequest, NodeError> {
        use alloy_consensus::Transaction as _;
        let Some(raw) = &self.raw else { return Ok(self.transaction.clone()) };
        let refuse = |message: String| NodeError::TransactionDecode { message };
        let mut rest = &raw[..];
        // A transaction with blobs carries them where it is to be sent, and does not in a block.
        let pooled = PooledTransaction::decode_2718(&mut rest);
        let pooled = pooled.map_err(|error| refuse(format!("rlp: {error}")))?;
        if !rest.is_empty() {
            return Err(refuse(format!("rlp: {} bytes after the transaction", rest.len())));
        }
        let tx = Transaction::from(pooled);
        let spec = traces.home().chain().spec();
        let environment = BlockEnvironment::from_header(spec, site.header());
        let senders = recover_senders(spec, &environment, std::slice::from_ref(&tx));
        let senders = senders.map_err(|error| refuse(error.to_string()))?;
        let dynamic = tx.is_dynamic_fee();
        let fee = |value: u128| Some(U256::from(value));
        Ok(CallRequest {
            from: senders.first().copied(),
            to: tx.to(),
            gas: Some(U64::from(tx.gas_limit())),
            gas_price: if dynamic { None } else { tx.gas_price().and_then(fee) },
            max_fee_per_gas: if dynamic { fee(tx.max_fee_per_gas()) } else { None },
            max_priority_fee_per_gas: tx.max_priority_fee_per_gas().and_then(fee),
            value: Some(tx.value()),
            nonce: Some(U64::from(tx.nonce())),
            data: None,
            input: Some(tx.input().clone()),
            access_list: tx.access_list().cloned(),
            chain_id: tx.chain_id().map(U256::from),
            max_fee_per_blob_gas: tx.max_fee_per_blob_gas().and_then(fee),
            blob_versioned_hashes: tx.blob_versioned_hashes().map(<[_]>::to_vec),
            authorization_list: tx.authorization_list().map(<[_]>::to_vec),
        })
    }
}

/// The rewards of a block before the merge as localized traces with commas between.
pub fn rewards(traces: &Traces, block: &StoredBlock, filter: &mut FrameFilter) -> Vec<u8> {
    let header = &block.block.header;
    let environment = BlockEnvironment::from_header(traces.home().chain().spec(), header);
    if environment.prev_randao.is_some() || header.number == 0 {
        return Vec::new();
    }
    let (miner, ommers) = block_rewards(&environment, &block.block.body.ommers);
    let mut rewards = vec![(environment.beneficiary, "block", miner)];
    rewards.extend(ommers.into_iter().map(|(author, value)| (author, "uncle", value)));
    reward_traces((&block.hash, header.number), &rewards, filter)
}
