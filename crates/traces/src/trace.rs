//! Traces: finds block and state, drives the tracers, fills the stream.

use crate::Traces;
use crate::{
    TraceRequest, TraceSubject,
    baked::derived,
    capsules::ProcessorsGuard,
    ops::{filter, parity, profile, state_access, steps, trace_call},
    replayed,
    shared_traces::TraceOutput,
    trace_source::{Source, replay_error},
};
use alloy_primitives::{Address, B256};
use alloy_rlp::Decodable as _;
use hearth_evm::{BlockEnvironment, recover_senders};
use hearth_home::{ByteSender, Home, LookbackPolicy, NodeError, TraceSourceKind, workers::guarded};
use hearth_ledger::StoredBlock;
use hearth_primitives::Block;
use hearth_tracers::{
    BlockReplay, Cancel, Elements, FrameFilter, Limits, ParityConfig, ScriptHost, Sink, SinkClosed,
    StepsPlan, TraceError, TracePlan, TracerPlan, trace_block_in_parallel,
};
use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

/// Gas of a block below which more threads cost more than they save.
const PARALLEL_GAS: u64 = 1_000_000;

/// A stream that counts what reaches it, so that a failure knows whether bytes went out before it.
pub struct Counted<'a> {
    /// The stream.
    pub sender: &'a mut ByteSender,
    /// Bytes so far.
    pub written: u64,
}

impl Sink for Counted<'_> {
    fn write(&mut self, chunk: &[u8]) -> Result<(), SinkClosed> {
        self.written += chunk.len() as u64;
        Sink::write(self.sender, chunk)
    }
}

/// The error of a trace that took longer than its timeout.
pub fn timed_out() -> NodeError {
    trace_error(TraceError::ExecutionTimeout)
}

impl Traces {
    /// Runs a trace to its end, on the thread of the heavy pool that calls this.
    /// `scripts` are who runs its scripts, and since when it counts.
    pub fn run_trace(
        &self,
        request: TraceRequest,
        cancel: Cancel,
        mut sender: ByteSender,
        scripts: Option<(Arc<dyn ScriptHost>, Instant)>,
    ) {
        sender.begin();
        let rpc = &self.home().config().rpc;
        let call_timeout = Duration::from_millis(rpc.trace_timeout_ms);
        let struct_log_bytes = rpc.struct_log_max_bytes;
        let mut limits = Limits { call_timeout, struct_log_bytes, cancel, ..Limits::default() };
        match scripts {
            Some((host, arrived)) => (limits.scripts, limits.started) = (Some(host), arrived),
            None if request.has_one_deadline() => {
                limits.alarm = Some(Arc::new(self.deadlines().alarm(&sender, timed_out)));
            }
            None => {}
        }
        let (home, plan) = (self.home(), &request.plan);
        let outcome = guarded(|| match &request.subject {
            TraceSubject::Call(call) => trace_call::one(self, call, plan, &limits, &mut sender),
            TraceSubject::ParityCalls(asked) => parity::calls(self, asked, plan, &limits, &mut sender),
            TraceSubject::Filter(asked) => filter::filter(self, asked, plan, &limits, &mut sender),
            TraceSubject::CallMany(calls) => trace_call::many(self, calls, plan, &limits, &mut sender),
            TraceSubject::Transaction(hash) => {
                let found = home.chain().reader().transaction(hash)?;
                let Some((block, index)) = found else {
                    return unknown(plan, no_transaction(home, hash), &mut sender);
                };
                if plan.tracer == TracerPlan::Steps(StepsPlan::Index) {
                    return steps::index_of_transaction(self, (&block, index), plan, &limits, &mut sender);
                }
                self.trace_stored(&block, Some(index), plan, &limits, &mut sender)
            }
            TraceSubject::BlockGas(block) => steps::gas_of_block(self, *block, plan, &limits, &mut sender),
            TraceSubject::BlockByNumber(number) => {
                let block = home.block_by_number(*number)?;
                let missing =
                    || Ok::<_, NodeError>(NodeError::BlockNotFound { number: Some(home.height(*number)?) });
                let Some(block) = block else { return unknown(plan, missing()?, &mut sender) };
                self.trace_stored(&block, None, plan, &limits, &mut sender)
            }
            TraceSubject::BlockByHash(hash) => {
                let missing = NodeError::BlockHashNotFound { hash: *hash };
                let Some(block) = home.block_by_hash(hash)? else {
                    return unknown(plan, missing, &mut sender);
                };
                self.trace_stored(&block, None, plan, &limits, &mut sender)
            }
            TraceSubject::TransactionProfile(hash) => {
                profile::of_transaction(self, hash, plan, &limits, &mut sender)
            }
            TraceSubject::StateAccess(hash) => state_access::of_transaction(self, hash, &limits, &mut sender),
            TraceSubject::BadBlock(hash) => {
                self.trace_given(&home.bad_block(hash)?, plan, &limits, &mut sender)
            }
            TraceSubject::Block(rlp) => self.trace_given(&decode_block(rlp)?, plan, &limits, &mut sender),
        });
        sender.finish(match outcome {
            // Given up because the node closes, not because its reader went.
            Err(_) if self.home().stopping().load(Ordering::Relaxed) => Err(NodeError::Closed),
            other => other,
        });
    }

    /// Traces a block of the ledger, or one of its transactions.
    fn trace_stored(
        &self,
        block: &StoredBlock,
        index: Option<usize>,
        plan: &TracePlan,
        limits: &Limits,
        sender: &mut ByteSender,
    ) -> Result<(), NodeError> {
        if let (0, TracerPlan::Parity(_)) = (block.number(), &plan.tracer) {
            return write(sender, b"[]");
        }
        check_traceable(&block.block)?;
        self.home().mark_height(block.number(), sender);
        let rewarded = self.with_rewards(block, plan);
        let plan = rewarded.as_ref().unwrap_or(plan);
        if derived(self.baked(), block, index, plan, sender)? {
            return Ok(());
        }
        let senders = self.home().senders_of(block)?;
        self.share_or_execute((&block.block, block.hash), &senders, index, plan, limits, sender)
    }

    /// The plan of a `trace_block` with the block's rewards; `None` for every other plan.
    fn with_rewards(&self, block: &StoredBlock, plan: &TracePlan) -> Option<TracePlan> {
        let TracerPlan::Parity(config) = &plan.tracer else { return None };
        if config.elements != Elements::Joined {
            return None;
        }
        let rewards = parity::rewards(self, block, &mut FrameFilter::all());
        let rewards = String::from_utf8_lossy(&rewards).into_owned();
        let config = ParityConfig { rewards, ..config.clone() };
        Some(TracePlan { tracer: TracerPlan::Parity(config), timeout: plan.timeout })
    }

    /// Traces a block that need not be known; its parent must be.
    fn trace_given(
        &self,
        block: &Block,
        plan: &TracePlan,
        limits: &Limits,
        sender: &mut ByteSender,
    ) -> Result<(), NodeError> {
        check_traceable(block)?;
        let hash = block.header.hash_slow();
        let known = self.home().block_by_hash(&hash)?;
        if let Some(known) = known.as_ref().filter(|known| known.block == *block) {
            return self.trace_stored(known, None, plan, limits, sender);
        }
        let (height, parent_hash) = (block.header.number, block.header.parent_hash);
        self.home().mark_height(height, sender);
        let canonical = self.home().chain().reader().canonical_hash(height - 1)?;
        if canonical != Some(parent_hash) && self.home().block_by_hash(&parent_hash)?.is_none() {
            // go-ethereum looks the number up first (eth/tracers/api.go: blockByNumberAndHash).
            return Err(match canonical {
                Some(_) => NodeError::ParentNotFound { hash: parent_hash },
                None => NodeError::BlockNotFound { number: Some(height - 1) },
            });
        }
        let spec = self.home().chain().spec();
        let environment = BlockEnvironment::from_header(spec, &block.header);
        let senders = recover_senders(spec, &environment, &block.body.transactions)
            .map_err(|error| NodeError::Execution { height, source: error.into() })?;
        // The header is known with another body: data stored under its hash does not belong to this
        // block.
        let hash = if known.is_some() { B256::ZERO } else { hash };
        self.trace_into((block, hash), &senders, None, plan, limits, TraceOutput::alone(sender))
    }

    /// Executes what a trace needs, and writes it.
    pub(crate) fn trace_into(
        &self,
        (block, hash): (&Block, B256),
        senders: &[Address],
        index: Option<usize>,
        plan: &TracePlan,
        limits: &Limits,
        mut out: TraceOutput<'_>,
    ) -> Result<(), NodeError> {
        let _running = self.capsules().processors.take_one();
        self.with_source((&block.header, hash), LookbackPolicy::Guarded, |source| {
            out.set_origin(source.origin());
            let replay = || source.replay(self.home().chain().spec(), (block, hash), Some(senders));
            let done = match index {
                Some(index) => {
                    let before = source.before(index);
                    let spec = self.home().chain().spec();
                    let replay = match &before {
                        Some(state) => {
                            let block = (block, hash);
                            BlockReplay::before_transaction(spec, block, Some(senders), index, state)
                        }
                        None => replay(),
                    };
                    replay.and_then(|mut replay| {
                        replayed::trace_transaction(&mut replay, index, plan, limits, &mut out).map(drop)
                    })
                }
                None => {
                    let helpers = self.helpers(&source, block);
                    let count = block.body.transactions.len();
                    match helpers.count() {
                        0 => replay().and_then(|mut replay| {
                            replayed::trace_block(&mut replay, plan, limits, &mut out).map(drop)
                        }),
                        more => {
                            trace_block_in_parallel(replay, count, more, plan, limits, &mut out).map(drop)
                        }
                    }
                }
            };
            done.map_err(|error| replay_error(&block.header, error))
        })
    }

    /// Processors that may help with a block of which each transaction stands alone.
    fn helpers(&self, source: &Source<'_>, block: &Block) -> ProcessorsGuard<'_> {
        let worth = block.header.gas_used >= PARALLEL_GAS && source.origin() == TraceSourceKind::Capsule;
        let wanted = block.body.transactions.len().saturating_sub(1);
        let allowed = self.home().config().rpc.parallel_block_traces && worth;
        self.capsules().processors.take_idle(if allowed { wanted } else { 0 })
    }
}

/// A block from its RLP, behind which nothing may follow.
fn decode_block(mut rlp: &[u8]) -> Result<Block, NodeError> {
    let block =
        Block::decode(&mut rlp).map_err(|error| NodeError::BlockDecode { message: error.to_string() })?;
    if rlp.is_empty() {
        return Ok(block);
    }
    Err(NodeError::BlockDecode { message: "rlp: input contains more than one value".to_owned() })
}

/// The answer for an unknown block or transaction: OpenEthereum's methods return `null`, but a
/// replay of a block is an error.
fn unknown(plan: &TracePlan, error: NodeError, sender: &mut ByteSender) -> Result<(), NodeError> {
    match &plan.tracer {
        TracerPlan::Parity(config) if config.elements == Elements::Plain => {
            Err(NodeError::invalid_params("Invalid block param (block not found)"))
        }
        TracerPlan::Parity(_) => write(sender, b"null"),
        _ => Err(error),
    }
}

fn write(sender: &mut ByteSender, bytes: &[u8]) -> Result<(), NodeError> {
    Sink::write(sender, bytes).map_err(|_| NodeError::Cancelled)
}

/// The error of a trace of a transaction that no block has.
pub fn no_transaction(home: &Home, hash: &B256) -> NodeError {
    match home.chain().reader().native_place(hash) {
        Ok(Some(_)) => NodeError::NativeTransaction { hash: *hash },
        Ok(None) => NodeError::TransactionNotFound,
        Err(error) => error.into(),
    }
}

/// Refuses block 0, which has no parent state.
pub fn check_traceable(block: &Block) -> Result<(), NodeError> {
    if block.header.number == 0 { Err(NodeError::GenesisNotTraceable) } else { Ok(()) }
}

/// What a tracer says, in the node's terms.
pub fn trace_error(error: TraceError) -> NodeError {
    match error {
        // go-ethereum reports an invalid `tracerConfig` with the error code of the call, not with
        // that of invalid parameters.
        TraceError::Config(error) => NodeError::Unsupported { message: error.to_string() },
        TraceError::ScriptsBusy { message } => NodeError::LimitExceeded { message },
        TraceError::JavaScript { .. } | TraceError::UnknownTracer { .. } => {
            NodeError::Unsupported { message: error.to_string() }
        }
        TraceError::Cancelled => NodeError::Cancelled,
        other => NodeError::Trace { source: other.into() },
    }
}
