//! `trace_filter`: frames and rewards of a range of blocks, by their accounts. The address index
//! says which blocks may have some; those are traced, and their frames filtered.

use super::parity::rewards;
use super::search::{may_touch, time_is_over};
use crate::{Traces, baked::BakedFrames, trace_source::replay_error};
use alloy_primitives::{Address, U64};
use hearth_home::{BlockNumber, ByteSender, Home, LookbackPolicy, NodeError, TraceSourceKind};
use hearth_ledger::posting_index::{Candidates, IndexQuery};
use hearth_ledger::{LedgerError, StoredBlock};
use hearth_primitives::Height;
use hearth_tracers::{FrameFilter, JsonWriter, Limits, Sink, SinkClosed, TracePlan, write_filtered};
use serde::Deserialize;
use std::{cell::Cell, ops::RangeInclusive};

/// Frames to find.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceFilter {
    /// First block.
    pub from_block: BlockNumber,
    /// Last block.
    pub to_block: BlockNumber,
    /// Senders; none for all.
    #[serde(default)]
    pub from_address: Vec<Address>,
    /// Receivers; none for all.
    #[serde(default)]
    pub to_address: Vec<Address>,
    /// Either list may match, not both must.
    #[serde(default)]
    pub union: bool,
    /// Frames to pass over.
    #[serde(default)]
    pub after: Option<U64>,
    /// Most frames of the answer.
    #[serde(default)]
    pub count: Option<U64>,
    /// Most blocks that may be traced.
    pub max_blocks: u64,
    /// Most frames of an answer; one with more is refused. 0: any number.
    #[serde(default)]
    pub max_results: u64,
}

impl TraceFilter {
    fn query(&self) -> IndexQuery {
        match self.union && !self.from_address.is_empty() && !self.to_address.is_empty() {
            true => IndexQuery::accounts(&[&[self.from_address.as_slice(), &self.to_address].concat()]),
            false => IndexQuery::accounts(&[&self.from_address, &self.to_address]),
        }
    }

    fn frames(&self) -> FrameFilter {
        let most = if self.max_results == 0 { u64::MAX } else { self.max_results.saturating_add(1) };
        FrameFilter {
            from: self.from_address.clone(),
            to: self.to_address.clone(),
            union: self.union,
            skip: self.after.map_or(0, |after| after.to()),
            left: self.count.map_or(u64::MAX, |count| count.to()).min(most),
            written: false,
        }
    }
}

/// Finds frames by their accounts, block after block.
pub fn filter(
    traces: &Traces,
    asked: &TraceFilter,
    plan: &TracePlan,
    limits: &Limits,
    sender: &mut ByteSender,
) -> Result<(), NodeError> {
    let home = traces.home();
    let (from, to) = range(home, asked)?;
    // The hash of the last block stands for those below it.
    let top = home.chain().reader().canonical_hash(to)?;
    let heights = Heights::find(home, asked, from, to)?;
    let limits = &Limits { timeout: plan.timeout, ..limits.clone() };
    let origins = Origins::default();
    let mut sender = Named { sender, origins: &origins };
    let mut json = JsonWriter::new(&mut sender);
    // As long as nothing has left, an error is the whole answer.
    json.mark();
    json.raw(b"[");
    let searched = search(traces, asked, heights, (from, &origins), limits, &mut json).and_then(|()| {
        let is_kept = top.is_some() || to < home.first_block();
        match is_kept && home.chain().reader().canonical_hash(to)? == top {
            true => Ok(()),
            false => Err(NodeError::Reorganised { height: to }),
        }
    });
    if searched.is_err() && json.rewind() {
        return searched;
    }
    json.raw(b"]");
    json.finish().map_err(|_| NodeError::Cancelled)?;
    searched
}

/// Where the traces of the blocks came from so far.
#[derive(Default)]
struct Origins(Cell<Option<TraceSourceKind>>);

impl Origins {
    /// Of several origins the answer names the one that takes the most work.
    fn add(&self, origin: TraceSourceKind) {
        let work = |origin| match origin {
            TraceSourceKind::Baked => 0,
            TraceSourceKind::Capsule => 1,
            TraceSourceKind::History => 2,
        };
        if self.0.get().is_none_or(|most| work(most) < work(origin)) {
            self.0.set(Some(origin));
        }
    }
}

/// A stream that gets the origin of the traces with the first bytes.
struct Named<'a> {
    sender: &'a mut ByteSender,
    origins: &'a Origins,
}

impl Sink for Named<'_> {
    fn write(&mut self, chunk: &[u8]) -> Result<(), SinkClosed> {
        if let Some(origin) = self.origins.0.take() {
            self.sender.set_origin(origin);
        }
        Sink::write(self.sender, chunk)
    }
}

fn search(
    traces: &Traces,
    asked: &TraceFilter,
    heights: Heights<'_>,
    (from, origins): (Height, &Origins),
    limits: &Limits,
    json: &mut JsonWriter<'_>,
) -> Result<(), NodeError> {
    let mut filter = asked.frames();
    let most = filter.left;
    for height in heights {
        let height = height?;
        if filter.is_done() {
            break;
        }
        if limits.cancel.is_cancelled() || json.is_closed() {
            return Err(NodeError::Cancelled);
        }
        if height == 0 {
            continue;
        }
        let missing = || NodeError::BlockNotFound { number: Some(height) };
        let block = traces.home().block_by_number(BlockNumber::Number(height))?.ok_or_else(missing)?;
        let filtered = filter_block(traces, &block, &mut filter, (limits, origins), json);
        if filtered.is_err() && time_is_over(limits) {
            return Err(over("the search took all of its time (evm.trace_timeout)", from, height));
        }
        filtered?;
        if asked.max_results > 0 && most - filter.left > asked.max_results {
            let what = format!("more than {} traces (evm.max_trace_filter_results)", asked.max_results);
            return Err(over(&what, from, height));
        }
    }
    Ok(())
}

/// A limit was reached in a block; everything before it fits.
fn over(what: &str, from: Height, height: Height) -> NodeError {
    let remedy = match height > from {
        true => format!("try with the block range {from:#x} to {:#x}", height - 1),
        false => format!("block {height:#x} alone has more: use after and count"),
    };
    NodeError::LimitExceeded { message: format!("{what}; {remedy}") }
}

/// The heights to search, both inclusive.
fn range(home: &Home, asked: &TraceFilter) -> Result<(Height, Height), NodeError> {
    let (from, to) = (home.height(asked.from_block)?, home.height(asked.to_block)?);
    let head = home.head()?.block.header.number;
    if from > to {
        return Err(NodeError::invalid_params(format!("Invalid params: block {from} is above block {to}")));
    }
    if to > head {
        return Err(NodeError::invalid_params(format!(
            "Invalid block param (block not found): the newest block is {head}"
        )));
    }
    // Of a block that is not there the index has nothing, which is not the same as no traces.
    if from > 0 {
        let first = home.block_by_number(BlockNumber::Number(from))?;
        first.ok_or(NodeError::BlockNotFound { number: Some(from) })?;
    }
    Ok((from, to))
}

/// Heights that are looked at.
enum Heights<'a> {
    All(RangeInclusive<Height>),
    Indexed(Candidates<'a>),
}

impl<'a> Heights<'a> {
    /// The heights of a range that may have frames for a filter, where they are no more than the
    /// filter allows.
    fn find(home: &'a Home, asked: &TraceFilter, from: Height, to: Height) -> Result<Self, NodeError> {
        let (query, reader) = (asked.query(), home.chain().reader());
        let blocks = to - from + 1;
        let too_long = |why: &str| too_many(&format!("{blocks} blocks"), asked.max_blocks, why, from);
        home.check_holes(from, to)?;
        let all = |why: &str| match blocks > asked.max_blocks {
            true => Err(too_long(why)(from + asked.max_blocks - 1)),
            false => Ok(Self::All(from..=to)),
        };
        if query.matches_all() {
            return all("a filter with addresses may search more blocks");
        }
        match reader.first_indexed()? {
            None => return all("with evm.address_index = true only blocks that may match count"),
            Some(first) if from < first => {
                return all(&format!("the address index begins at block {first:#x}"));
            }
            Some(_) => {}
        }
        if blocks > asked.max_blocks {
            let most = usize::try_from(asked.max_blocks).unwrap_or(usize::MAX);
            if let Some(height) = reader.account_blocks(query.clone(), from, to)?.nth(most) {
                let what = format!("more than {most} blocks that may match");
                return Err(too_many(&what, asked.max_blocks, "narrow the addresses", from)(height? - 1));
            }
        }
        Ok(Self::Indexed(reader.account_blocks(query, from, to)?))
    }
}

/// The refusal of a search of too many blocks, of which those up to a height fit.
fn too_many<'a>(
    what: &'a str,
    most: u64,
    why: &'a str,
    from: Height,
) -> impl Fn(Height) -> NodeError + use<> {
    let message = format!("{what}, at most {most} are searched (evm.max_trace_filter_blocks); {why}");
    move |fits| NodeError::LimitExceeded {
        message: format!("{message}: request {from:#x} to {fits:#x} first"),
    }
}

impl Iterator for Heights<'_> {
    type Item = Result<Height, LedgerError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::All(range) => range.next().map(Ok),
            Self::Indexed(candidates) => candidates.next(),
        }
    }
}

fn filter_block(
    traces: &Traces,
    block: &StoredBlock,
    filter: &mut FrameFilter,
    (limits, origins): (&Limits, &Origins),
    json: &mut JsonWriter<'_>,
) -> Result<(), NodeError> {
    if block.block.body.transactions.is_empty() || !may_match(traces, block, filter) {
        // No frame of the block can match.
    } else if let Some(frames) = traces.baked().and_then(|baked| BakedFrames::of(baked, block)) {
        origins.add(TraceSourceKind::Baked);
        frames.filter(filter, json)?;
    } else {
        let senders = traces.home().senders_of(block)?;
        let (header, hash) = (&block.block.header, block.hash);
        traces.with_source((header, hash), LookbackPolicy::Guarded, |source| {
            origins.add(source.origin());
            let replay = source.replay(traces.home().chain().spec(), (&block.block, hash), Some(&senders));
            replay
                .and_then(|mut replay| write_filtered(&mut replay, filter, limits, json))
                .map_err(|error| replay_error(header, error))
        })?;
    }
    json.raw(&rewards(traces, block, filter));
    Ok(())
}

/// Whether a frame of the block can match: its accounts are among those that the block's capsule
/// has looked at.
fn may_match(traces: &Traces, block: &StoredBlock, filter: &FrameFilter) -> bool {
    let (from, to) = (&filter.from, &filter.to);
    let has = |wanted: &[Address]| wanted.is_empty() || may_touch(traces, block, wanted);
    match filter.union && !from.is_empty() && !to.is_empty() {
        true => has(from) || has(to),
        false => has(from) && has(to),
    }
}
