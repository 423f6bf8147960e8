//! `trace_block` out of baked rows: the localized frames of each transaction joined to one list,
//! the block's rewards behind.

use super::Baked;
use hearth_bake::{BakeError, BakedBlock, BakedTracer, Found, Part};
use hearth_home::{ByteSender, NodeError, TraceOrigin};
use hearth_ledger::StoredBlock;
use hearth_metrics::CacheResult;
use hearth_tracers::{Elements, ParityConfig, ParityForm, Sink, TracePlan, TracerPlan};
use std::sync::Arc;

/// Writes the answer to a plan of `trace_block`, where the block is baked; `false` where it must be
/// executed, or the plan is another one.
///
/// # Errors
/// [`NodeError::Cancelled`] where the client is gone; [`NodeError::StoreFailed`] where the cache
/// fails after the first bytes.
pub(crate) fn joined(
    baked: Option<&Arc<Baked>>,
    block: &StoredBlock,
    plan: &TracePlan,
    sender: &mut ByteSender,
) -> Result<bool, NodeError> {
    let (Some(baked), TracerPlan::Parity(config)) = (baked, &plan.tracer) else { return Ok(false) };
    if config.elements != Elements::Joined || config.form != ParityForm::Localized {
        return Ok(false);
    }
    let Some(rows) = baked.block(block.number(), block.hash, BakedTracer::ParityLocalized) else {
        baked.count(CacheResult::Miss);
        return Ok(false);
    };
    if !is_whole(&rows, block.block.body.transactions.len()) {
        baked.count(CacheResult::Damaged);
        return Ok(false);
    }
    baked.count(CacheResult::Stored);
    sender.set_origin(TraceOrigin::Baked);
    write(&rows, config, sender)?;
    Ok(true)
}

/// Whether all bytes are as they were written, and each transaction has a trace.
fn is_whole(rows: &BakedBlock, transactions: usize) -> bool {
    let traced = |index| rows.bytes(Part::Transaction(index)).is_some();
    rows.transactions() == transactions && (0..transactions).all(traced) && rows.verify(Part::Block).is_ok()
}

fn write(rows: &BakedBlock, config: &ParityConfig, sender: &mut ByteSender) -> Result<(), NodeError> {
    let mut out = |bytes: &[u8]| Sink::write(sender, bytes).map_err(|_| NodeError::Cancelled);
    out(b"[")?;
    for index in 0..rows.transactions() {
        if index > 0 {
            out(b",")?;
        }
        let failed = |error: BakeError| NodeError::store_failed(error);
        let Found::Bytes(mut answer) = rows.part(Part::Transaction(index)).map_err(failed)? else {
            return Err(NodeError::Internal { message: "a baked trace went away".to_owned() });
        };
        // The list of each transaction without its brackets.
        let (mut at, last) = (0, answer.left().saturating_sub(1));
        while let Some(bytes) = answer.read().map_err(failed)? {
            let end = at + bytes.len() as u64;
            let inner = usize::from(at == 0)..bytes.len() - usize::from(end > last);
            out(&bytes[inner])?;
            at = end;
        }
    }
    if rows.transactions() > 0 && !config.rewards.is_empty() {
        out(b",")?;
    }
    out(config.rewards.as_bytes())?;
    out(b"]")
}
