//! Steps of mined transactions where more is done than to trace them: the index, which is kept, and
//! the gas of a block.

use crate::Traces;
use crate::{
    replayed::trace_transaction,
    trace::{check_traceable, trace_error},
    trace_source::replay_error,
};
use hearth_home::{BlockRef, ByteSender, LookbackPolicy, NodeError};
use hearth_ledger::StoredBlock;
use hearth_tracers::{BlockReplay, Limits, Sink, TraceError, TracePlan, profile_block};

/// `debug_traceStepIndex` of a transaction of the canonical chain.
pub fn index_of_transaction(
    traces: &Traces,
    (block, index): (&StoredBlock, usize),
    plan: &TracePlan,
    limits: &Limits,
    sender: &mut ByteSender,
) -> Result<(), NodeError> {
    check_traceable(&block.block)?;
    traces.home().mark_height(block.number(), sender);
    let key = (block.hash, index);
    if let Some(known) = traces.step_indexes().get(&key) {
        return write(sender, &known);
    }
    let senders = traces.home().senders_of(block)?;
    let (header, spec) = (&block.block.header, traces.home().chain().spec());
    // An index is bounded, so all of it is kept before it is sent.
    let mut made = Vec::new();
    traces.with_source((header, block.hash), LookbackPolicy::Guarded, |source| {
        sender.set_origin(source.origin());
        let named = (&block.block, block.hash);
        let before = source.before(index);
        let replay = match &before {
            Some(state) => BlockReplay::before_transaction(spec, named, Some(&senders), index, state),
            None => source.replay(spec, named, Some(&senders)),
        };
        let done =
            replay.and_then(|mut replay| trace_transaction(&mut replay, index, plan, limits, &mut made));
        done.map_err(|error| replay_error(header, error))
    })?;
    traces.step_indexes().put(key, made.as_slice().into());
    write(sender, &made)
}

/// `debug_traceGasProfile` of a block.
pub fn gas_of_block(
    traces: &Traces,
    block: BlockRef,
    plan: &TracePlan,
    limits: &Limits,
    sender: &mut ByteSender,
) -> Result<(), NodeError> {
    let home = traces.home();
    let missing = match block {
        BlockRef::Number(number) => NodeError::BlockNotFound { number: Some(home.height(number)?) },
        BlockRef::Hash(hash) => NodeError::BlockHashNotFound { hash: hash.block_hash },
    };
    let block = home.block_by_ref(block)?.ok_or(missing)?;
    check_traceable(&block.block)?;
    home.mark_height(block.number(), sender);
    let senders = home.senders_of(&block)?;
    let header = &block.block.header;
    traces.with_source((header, block.hash), LookbackPolicy::Guarded, |source| {
        sender.set_origin(source.origin());
        let replay = source.replay(home.chain().spec(), (&block.block, block.hash), Some(&senders));
        let done = replay.and_then(|mut replay| profile_block(&mut replay, plan, limits, sender));
        done.map(drop).map_err(|error| replay_error(header, error))
    })
}

fn write(sender: &mut ByteSender, bytes: &[u8]) -> Result<(), NodeError> {
    Sink::write(sender, bytes).map_err(|_| trace_error(TraceError::Cancelled))
}
