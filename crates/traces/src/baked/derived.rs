//! Answers of the namespace `trace` out of rows that parityTracer baked in another form:
//! `trace_block` joins the frames of the transactions, `trace_get` takes one of them, and the
//! replays add the transaction's hash.

use super::Baked;
use super::frames::{self, MAX_PARSED_BYTES};
use alloy_primitives::B256;
use hearth_bake::{BakeError, BakedBlock, BakedTracer, Found, Part};
use hearth_home::{ByteSender, NodeError, TraceSourceKind};
use hearth_ledger::StoredBlock;
use hearth_metrics::CacheResult;
use hearth_tracers::{Elements, ParityConfig, ParityForm, Sink, TracePlan, TracerPlan};
use std::ops::Range;
use std::sync::Arc;

/// How a result of parityTracer with `trace` alone ends; `transactionHash` stands before it.
const REPLAY_END: &[u8] = br#","vmTrace":null}"#;

/// An answer that a baked row has the parts of.
#[derive(Clone, Copy)]
enum Derived<'a> {
    /// `trace_block`: all frames in one list, these rewards behind them.
    Joined { rewards: &'a str },
    /// `trace_get`: the frame at a trace address.
    Frame { at: &'a [u32] },
    /// `trace_replayTransaction` and `trace_replayBlockTransactions` of `trace` alone.
    Replay,
}

impl<'a> Derived<'a> {
    /// What a plan for a transaction, or for a block, can be made from.
    fn of(config: &'a ParityConfig, index: Option<usize>) -> Option<Self> {
        let only_trace = config.trace && !config.state_diff && !config.vm_trace;
        match (&config.form, config.elements, index) {
            (ParityForm::Localized, Elements::Joined, None) => {
                Some(Self::Joined { rewards: &config.rewards })
            }
            (ParityForm::At(path), _, Some(_)) => Some(Self::Frame { at: path }),
            (ParityForm::Replay, Elements::Plain, None) | (ParityForm::Replay, _, Some(_))
                if only_trace && config.with_hash =>
            {
                Some(Self::Replay)
            }
            _ => None,
        }
    }

    /// The form of the row.
    fn tracer(self) -> BakedTracer {
        match self {
            Self::Joined { .. } | Self::Frame { .. } => BakedTracer::ParityLocalized,
            Self::Replay => BakedTracer::Parity,
        }
    }

    /// Most bytes of a transaction's part.
    fn most_bytes(self) -> u64 {
        if matches!(self, Self::Frame { .. }) { MAX_PARSED_BYTES } else { u64::MAX }
    }
}

/// Writes the answer to a plan for a block, or for one of its transactions, where it can be made
/// from a baked row; `false` where the block must be executed.
///
/// # Errors
/// [`NodeError::Cancelled`] where the client is gone; [`NodeError::StoreFailed`] where the cache
/// fails after the first bytes.
pub(crate) fn derived(
    baked: Option<&Arc<Baked>>,
    block: &StoredBlock,
    index: Option<usize>,
    plan: &TracePlan,
    sender: &mut ByteSender,
) -> Result<bool, NodeError> {
    let (Some(baked), TracerPlan::Parity(config)) = (baked, &plan.tracer) else { return Ok(false) };
    let Some(derived) = Derived::of(config, index) else { return Ok(false) };
    let transactions = index.map_or(0..block.tx_hashes.len(), |index| index..index + 1);
    let Some(rows) = baked.whole(block, derived.tracer(), transactions.clone(), derived.most_bytes()) else {
        return Ok(false);
    };
    sender.set_origin(TraceSourceKind::Baked);
    let hashes = &block.tx_hashes;
    match derived {
        Derived::Joined { rewards } => write_joined(&rows, rewards, sender)?,
        Derived::Frame { at } => write_frame(&rows, transactions.start, at, sender)?,
        Derived::Replay => match index {
            Some(index) => write_replay(&rows, index, &hashes[index], sender)?,
            None => write_replays(&rows, hashes, sender)?,
        },
    }
    Ok(true)
}

impl Baked {
    /// Returns the row of a block if the given transactions have successful traces of at most so
    /// many bytes each. Counts the lookup.
    pub(crate) fn whole(
        &self,
        block: &StoredBlock,
        tracer: BakedTracer,
        transactions: Range<usize>,
        most_bytes: u64,
    ) -> Option<BakedBlock> {
        let Some(rows) = self.block(block.number(), block.hash, tracer) else {
            self.count(CacheResult::Miss);
            return None;
        };
        let all = 0..block.tx_hashes.len();
        let part = |index| Part::Transaction(index);
        let sizes = || transactions.clone().map(|index| rows.bytes(part(index)));
        if sizes().flatten().any(|bytes| bytes > most_bytes) {
            self.count(CacheResult::Miss);
            return None;
        }
        let is_good = match transactions == all {
            true => rows.verify(Part::Block).is_ok(),
            false => transactions.clone().all(|index| rows.verify(part(index)).is_ok()),
        };
        if rows.transactions() != all.end || !sizes().all(|bytes| bytes.is_some()) || !is_good {
            self.count(CacheResult::Damaged);
            return None;
        }
        self.count(CacheResult::Stored);
        Some(rows)
    }
}

fn failed(error: BakeError) -> NodeError {
    NodeError::store_failed(error)
}

fn out(sender: &mut ByteSender, bytes: &[u8]) -> Result<(), NodeError> {
    Sink::write(sender, bytes).map_err(|_| NodeError::Cancelled)
}

/// Hands on the bytes of a transaction's trace without so many at its begin and its end; the bytes
/// at the end come back.
fn copy(
    rows: &BakedBlock,
    index: usize,
    (skip, tail): (u64, u64),
    sender: &mut ByteSender,
) -> Result<Vec<u8>, NodeError> {
    let Found::Bytes(mut answer) = rows.part(Part::Transaction(index)).map_err(failed)? else {
        return Err(NodeError::Internal { message: "a baked trace went away".to_owned() });
    };
    let (mut at, end) = (0, answer.left().saturating_sub(tail));
    let mut held = Vec::new();
    while let Some(bytes) = answer.read().map_err(failed)? {
        let len = bytes.len() as u64;
        let offset_in = |place: u64| place.clamp(at, at + len) - at;
        let (from, to) = (offset_in(skip) as usize, offset_in(end.max(skip)) as usize);
        out(sender, &bytes[from..to])?;
        held.extend_from_slice(&bytes[to..]);
        at += len;
    }
    Ok(held)
}

fn write_joined(rows: &BakedBlock, rewards: &str, sender: &mut ByteSender) -> Result<(), NodeError> {
    out(sender, b"[")?;
    for index in 0..rows.transactions() {
        if index > 0 {
            out(sender, b",")?;
        }
        // The list of each transaction without its brackets.
        copy(rows, index, (1, 1), sender)?;
    }
    if rows.transactions() > 0 && !rewards.is_empty() {
        out(sender, b",")?;
    }
    out(sender, rewards.as_bytes())?;
    out(sender, b"]")
}

fn write_frame(
    rows: &BakedBlock,
    index: usize,
    at: &[u32],
    sender: &mut ByteSender,
) -> Result<(), NodeError> {
    let text = text_of(rows, index)?;
    out(sender, frames::at(&text, at)?.unwrap_or("null").as_bytes())
}

/// The trace of one transaction, of at most [`MAX_PARSED_BYTES`] as the caller has checked.
pub(super) fn text_of(rows: &BakedBlock, index: usize) -> Result<Vec<u8>, NodeError> {
    let Found::Bytes(mut answer) = rows.part(Part::Transaction(index)).map_err(failed)? else {
        return Err(NodeError::Internal { message: "a baked trace went away".to_owned() });
    };
    let mut text = Vec::with_capacity(answer.left() as usize);
    while let Some(bytes) = answer.read().map_err(failed)? {
        text.extend_from_slice(&bytes);
    }
    Ok(text)
}

fn write_replay(
    rows: &BakedBlock,
    index: usize,
    hash: &B256,
    sender: &mut ByteSender,
) -> Result<(), NodeError> {
    let end = copy(rows, index, (0, REPLAY_END.len() as u64), sender)?;
    if end != REPLAY_END {
        return Err(NodeError::Internal { message: "a baked replay ends in another form".to_owned() });
    }
    out(sender, format!(r#","transactionHash":"{hash:#x}""#).as_bytes())?;
    out(sender, REPLAY_END)
}

fn write_replays(rows: &BakedBlock, hashes: &[B256], sender: &mut ByteSender) -> Result<(), NodeError> {
    out(sender, b"[")?;
    for (index, hash) in hashes.iter().enumerate() {
        if index > 0 {
            out(sender, b",")?;
        }
        write_replay(rows, index, hash, sender)?;
    }
    out(sender, b"]")
}
