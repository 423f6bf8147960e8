//! Trace requests: one typed request per operation, parsed from `{"op":…,"args":{…}}` together with
//! the plan of its tracer, so that the configuration is parsed once.

use crate::ops::{filter::TraceFilter, parity::ParityCalls};
use crate::steps_request;
use crate::trace::trace_error;
use alloy_primitives::{B256, Bytes, U64};
use hearth_evm::{BlockOverrides, CallRequest, StateOverrides};
use hearth_home::{BlockNumber, BlockRef, NodeError};
use hearth_tracers::{TraceConfig, TracePlan, TracerPlan};
use serde::Deserialize;
use serde_json::value::RawValue;

/// A trace that a client wants.
#[derive(Clone, Debug)]
pub struct TraceRequest {
    /// What is traced.
    pub subject: TraceSubject,
    /// How it is traced: the tracer, its options and its time limit.
    pub plan: TracePlan,
    /// Whether the configuration has a `tracerConfig`, whatever is in it.
    pub has_tracer_config: bool,
}

impl TraceRequest {
    /// Whether the timeout of a transaction is the answer to the whole request: not so where it is
    /// that of one element of the answer, or ends a page of steps.
    pub fn has_one_deadline(&self) -> bool {
        matches!(self.subject, TraceSubject::Transaction(_) | TraceSubject::Call(_))
            && !matches!(self.plan.tracer, TracerPlan::Steps(_) | TracerPlan::Parity(_))
    }
}

/// What is traced.
#[derive(Clone, Debug)]
pub enum TraceSubject {
    /// One transaction of the canonical chain.
    Transaction(B256),
    /// All transactions of a canonical block.
    BlockByNumber(BlockNumber),
    /// All transactions of a block of any branch.
    BlockByHash(B256),
    /// All transactions of a block that is given in RLP; its parent must be known.
    Block(Bytes),
    /// One transaction of the canonical chain, with where the time of tracing it went.
    TransactionProfile(B256),
    /// All transactions of a block that this home refused.
    BadBlock(B256),
    /// What one transaction read and wrote; no tracer runs.
    StateAccess(B256),
    /// A call.
    Call(Box<TraceCall>),
    /// Bundles of calls.
    CallMany(Box<TraceCallMany>),
    /// Calls in the form of `trace_call` and its like.
    ParityCalls(Box<ParityCalls>),
    /// Frames of many blocks, by their accounts.
    Filter(Box<TraceFilter>),
    /// The gas of all transactions of a canonical block, added up.
    BlockGas(BlockRef),
}

/// A call to trace.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceCall {
    /// What to call.
    pub transaction: CallRequest,
    /// In the environment of this block, on the state after it.
    pub block: BlockRef,
    /// On the state before this transaction of the block instead.
    #[serde(default)]
    pub tx_index: Option<U64>,
    /// State to pretend.
    #[serde(default)]
    pub state_overrides: Option<StateOverrides>,
    /// Block fields to pretend.
    #[serde(default)]
    pub block_overrides: Option<BlockOverrides>,
}

/// Bundles of calls to trace one after the other. The answer is an array per bundle with the result
/// of each call.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceCallMany {
    /// The bundles.
    pub bundles: Vec<CallBundle>,
    /// In the environment of this block, on the state after it; the head where absent.
    #[serde(default)]
    pub block: Option<BlockRef>,
    /// On the state before this transaction of the block instead.
    #[serde(default)]
    pub transaction_index: Option<U64>,
    /// State to pretend from the first bundle on.
    #[serde(default)]
    pub state_overrides: Option<StateOverrides>,
    /// Block fields to pretend in bundles that name none.
    #[serde(default)]
    pub block_overrides: Option<BlockOverrides>,
}

/// Calls of one simulated block.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CallBundle {
    /// The calls, in order.
    pub transactions: Vec<CallRequest>,
    /// Block fields to pretend.
    pub block_overrides: Option<BlockOverrides>,
    /// Hashes of blocks to pretend, by number.
    pub block_hashes: Vec<(U64, B256)>,
    /// State to pretend from this bundle on.
    pub state_overrides: Option<StateOverrides>,
}

/// The JSON form of a request.
#[derive(Deserialize)]
struct Wire<'a> {
    op: Operation,
    #[serde(borrow)]
    args: &'a RawValue,
}

#[derive(Clone, Copy, Deserialize)]
enum Operation {
    #[serde(rename = "traceTransaction")]
    Transaction,
    #[serde(rename = "traceBlockByNumber")]
    BlockByNumber,
    #[serde(rename = "traceBlockByHash")]
    BlockByHash,
    #[serde(rename = "traceBlock")]
    Block,
    #[serde(rename = "traceTransactionProfile")]
    TransactionProfile,
    #[serde(rename = "traceBadBlock")]
    BadBlock,
    #[serde(rename = "traceStateAccess")]
    StateAccess,
    #[serde(rename = "traceCall")]
    Call,
    #[serde(rename = "traceCallMany")]
    CallMany,
    #[serde(rename = "parityCalls")]
    ParityCalls,
    #[serde(rename = "traceFilter")]
    Filter,
    #[serde(rename = "traceStepIndex")]
    StepIndex,
    #[serde(rename = "traceSteps")]
    Steps,
    #[serde(rename = "traceStepSearch")]
    StepSearch,
    #[serde(rename = "traceGasProfile")]
    GasProfile,
}

/// The second parameter of `debug_traceTransaction` and similar methods, flattened into the
/// arguments of every operation.
#[derive(Deserialize)]
struct Configured<'a> {
    #[serde(borrow, default)]
    config: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct OfHash {
    hash: B256,
}

#[derive(Deserialize)]
struct OfNumber {
    block: BlockNumber,
}

#[derive(Deserialize)]
struct OfRlp {
    rlp: Bytes,
}

impl TraceRequest {
    /// Reads a request from JSON.
    ///
    /// # Errors
    /// [`NodeError::InvalidParams`], which names the argument or the unusable part of the
    /// configuration; [`NodeError::Unsupported`] for an unknown tracer.
    pub fn from_json(text: &[u8]) -> Result<Self, NodeError> {
        fn args<'a, T: Deserialize<'a>>(text: &'a RawValue) -> Result<T, NodeError> {
            serde_json::from_str(text.get()).map_err(|error| NodeError::invalid_params(error.to_string()))
        }
        let wire: Wire<'_> =
            serde_json::from_slice(text).map_err(|error| NodeError::invalid_params(error.to_string()))?;
        let text = wire.args;
        let subject = match wire.op {
            Operation::Transaction => TraceSubject::Transaction(args::<OfHash>(text)?.hash),
            Operation::BlockByNumber => TraceSubject::BlockByNumber(args::<OfNumber>(text)?.block),
            Operation::BlockByHash => TraceSubject::BlockByHash(args::<OfHash>(text)?.hash),
            Operation::Block => TraceSubject::Block(args::<OfRlp>(text)?.rlp),
            Operation::TransactionProfile => TraceSubject::TransactionProfile(args::<OfHash>(text)?.hash),
            Operation::BadBlock => TraceSubject::BadBlock(args::<OfHash>(text)?.hash),
            Operation::StateAccess => TraceSubject::StateAccess(args::<OfHash>(text)?.hash),
            Operation::Call => TraceSubject::Call(args(text)?),
            Operation::CallMany => TraceSubject::CallMany(args(text)?),
            Operation::ParityCalls => TraceSubject::ParityCalls(args(text)?),
            Operation::Filter => TraceSubject::Filter(args(text)?),
            Operation::StepIndex => return steps_request::index(args(text)?),
            Operation::Steps => return steps_request::range(args(text)?),
            Operation::StepSearch => return steps_request::search(args(text)?),
            Operation::GasProfile => return steps_request::profile(args(text)?),
        };
        Self::new(subject, args::<Configured<'_>>(text)?.config.map(RawValue::get))
    }

    /// A request with its configuration as JSON text; the struct logger without one.
    ///
    /// # Errors
    /// As [`Self::from_json`].
    pub fn new(subject: TraceSubject, config: Option<&str>) -> Result<Self, NodeError> {
        let config = TraceConfig::parse(config.unwrap_or("null"))
            .map_err(|error| NodeError::invalid_params(error.to_string()))?;
        let plan = TracePlan::new(&config).map_err(trace_error)?;
        Ok(Self { subject, plan, has_tracer_config: config.has_tracer_config })
    }
}
