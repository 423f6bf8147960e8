//! Traces: finds block and state, drives the tracers, fills the stream.

use crate::{ByteSender, NodeError, OpenHome, TraceRequest, workers::guarded};
use alloy_primitives::B256;
use hearth_ledger::StoredBlock;
use hearth_tracers::{
    BlockReplay, Cancel, Limits, Sink, SinkClosed, TraceConfig, TraceError, TracePlan,
};
use std::sync::{Arc, atomic::Ordering};

/// What is to be traced, found.
struct Target {
    block: Arc<StoredBlock>,
    /// One transaction; all where absent.
    index: Option<usize>,
    plan: TracePlan,
}

impl Sink for ByteSender {
    fn write(&mut self, chunk: &[u8]) -> Result<(), SinkClosed> {
        ByteSender::write(self, chunk).map_err(|_| SinkClosed)
    }
}

impl OpenHome {
    /// Runs a trace to its end, on the thread of the heavy pool that calls this.
    pub(crate) fn run_trace(&self, request: TraceRequest, cancel: Cancel, mut sender: ByteSender) {
        let outcome = guarded(|| {
            let target = self.target(request)?;
            self.trace(&target, cancel, &mut sender)
        });
        sender.finish(match outcome {
            // Given up because the node closes, not because its reader went.
            Err(_) if self.stopping().load(Ordering::Relaxed) => Err(NodeError::Closed),
            other => other,
        });
    }

    fn target(&self, request: TraceRequest) -> Result<Target, NodeError> {
        let (config, block, index) = match request {
            TraceRequest::TraceTransaction { hash, config } => {
                let (block, index) =
                    self.chain().ledger().transaction(&hash)?.ok_or(NodeError::TransactionNotFound)?;
                (config, block, Some(index))
            }
            TraceRequest::TraceBlockByNumber { block, config } => {
                let number = self.height(block)?;
                let block =
                    self.block_by_number(block)?.ok_or(NodeError::BlockNotFound { number: Some(number) })?;
                (config, block, None)
            }
            TraceRequest::TraceBlockByHash { hash, config } => {
                let block = self.block_by_hash(&hash)?.ok_or(NodeError::BlockNotFound { number: None })?;
                (config, block, None)
            }
        };
        let text = config.map_or_else(|| "null".to_owned(), |config| config.to_string());
        let config = TraceConfig::parse(&text).map_err(|e| NodeError::invalid_params(e.to_string()))?;
        let plan = TracePlan::new(&config).map_err(trace_error)?;
        if block.block.header.number == 0 {
            return Err(NodeError::GenesisNotTraceable);
        }
        Ok(Target { block, index, plan })
    }

    fn trace(&self, target: &Target, cancel: Cancel, sender: &mut ByteSender) -> Result<(), NodeError> {
        let header = &target.block.block.header;
        let senders = self.receipts_of(&target.block)?;
        let state = self.parent_state(&target.block)?;
        let chain = self.chain();
        let limits = Limits { cancel, ..Limits::default() };
            let mut replay = BlockReplay::new(
            chain.spec(),
            &target.block.block,
            Some(&senders.senders),
            &state,
            chain.ledger().as_ref(),
        )
        .map_err(|error| NodeError::Execution { height: header.number, reason: error.to_string() })?;
        let done = match target.index {
            Some(index) => hearth_tracers::trace_transaction(
                &mut replay,
                index,
                &target.plan,
                &limits,
                sender,
            )
            .map(drop),
            None => hearth_tracers::trace_block(&mut replay, &target.plan, &limits, sender)
                .map(drop),
        };
        done.map_err(|error| match error {
            TraceError::Replay(reason) => NodeError::Execution { height: header.number, reason },
            other => trace_error(other),
        })
    }

    /// The state that a block was executed on.
    fn parent_state(&self, block: &StoredBlock) -> Result<hearth_flatkv::StateView, NodeError> {
        let header = &block.block.header;
        let height = header.number - 1;
        let canonical = |number, hash: B256| -> Result<bool, NodeError> {
            Ok(self.chain().ledger().canonical_hash(number)? == Some(hash))
        };
        // A canonical block's parent is canonical; the parent of another may be.
        if canonical(header.number, block.hash)? || canonical(height, header.parent_hash)? {
            return Ok(self.chain().kv().at(height)?);
        }
        Err(NodeError::StateNotCanonical { height, hash: header.parent_hash })
    }
}

/// What a tracer says, in the node's terms.
pub(crate) fn trace_error(error: TraceError) -> NodeError {
    match error {
        TraceError::Config(error) => NodeError::invalid_params(error.to_string()),
        TraceError::NotBuilt { .. } | TraceError::JavaScript { .. } | TraceError::UnknownTracer { .. } => {
            NodeError::Unsupported { message: error.to_string() }
        }
        other => NodeError::Trace { message: other.to_string() },
    }
}
