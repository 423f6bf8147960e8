//! Requests that the trace cache answers.
//!
//! The cache is queried before the live trace: values in memory are returned on the caller's
//! thread, the rest by the pool of short reads. A block that is not in the cache, or whose row is
//! damaged, is traced live.

mod derived;
mod eligible;
mod frames;
mod targets;

use crate::TraceRequest;
use alloy_primitives::B256;
pub(crate) use derived::derived;
pub use eligible::{CachedTraceKey, NamedTrace, TraceOf};
use eligible::{eligible, tracer_of};
pub(crate) use frames::BakedFrames;
use hearth_bake::{
    AnswerBytes, BakeError, BakedBlock, BakedTracer, BlockKey, Found, Part, PartAtOnce, TraceDb,
};
use hearth_chain::Chain;
use hearth_disk::without_waiting;
use hearth_home::{BakeConfig, NodeError, stream::Feed};
use hearth_metrics::CacheResult;
use hearth_primitives::Height;
use std::num::NonZeroU64;
use std::sync::Arc;
use targets::{BakedTarget, TargetCache};

/// Answers of at most so many bytes are read as a whole before the first byte is sent.
const READ_WHOLE_BYTES: u64 = 1 << 20;

/// Raw bytes of an answer that are inflated on the caller's thread, which takes about a tenth of a
/// millisecond.
const INFLATE_AT_ONCE_BYTES: u64 = 64 << 10;

/// Bytes of an answer in gzip that are read on the caller's thread.
const PACKED_AT_ONCE_BYTES: u64 = 256 << 10;

/// What stands around an answer that is to be one gzip member with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Bytes before the answer.
    pub head: Vec<u8>,
    /// Bytes behind it.
    pub tail: Vec<u8>,
    /// Answers of more bytes, these counted, are wanted in gzip.
    pub over_bytes: u64,
}

impl Envelope {
    /// Whether an answer of so many bytes is wanted in gzip.
    fn wants(&self, bytes: u64) -> bool {
        bytes + (self.head.len() + self.tail.len()) as u64 > self.over_bytes
    }
}

/// An answer that is in memory, in pieces.
pub struct CachedAnswer {
    pieces: Vec<AnswerBytes>,
    /// Height of its block.
    pub height: Height,
}

/// An answer that is ready: how long it is with what stands around it, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Its bytes.
    pub bytes: usize,
    /// Whether they are one gzip member.
    pub packed: bool,
    /// Whether its block is further below the head than traces may look back.
    pub historical: bool,
}

/// An answer with its envelope whose bytes stay where the cache has them.
pub struct SharedAnswer {
    /// What stands before and behind the pieces; empty for an answer in gzip, which has it inside.
    around: [Vec<u8>; 2],
    pieces: Vec<AnswerBytes>,
    /// Its size, and what it is.
    pub ready: Ready,
}

impl SharedAnswer {
    /// Its bytes, in order.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        let [head, tail] = &self.around;
        let pieces = self.pieces.iter().map(|piece| &**piece);
        std::iter::once(&head[..]).chain(pieces).chain(std::iter::once(&tail[..]))
    }

    /// Copies its bytes from this one on, as many as the buffer has room for; how many.
    pub fn copy(&self, from: usize, into: &mut [u8]) -> usize {
        let (mut skipped, room) = (from, into.len());
        let mut into = into;
        for slice in self.slices() {
            let now = skipped.min(slice.len());
            skipped -= now;
            into = put(into, &slice[now..]);
        }
        room - into.len()
    }
}

/// The trace cache of an open home.
pub struct Baked {
    db: Arc<TraceDb>,
    chain: Arc<Chain>,
    targets: TargetCache,
    /// Newest blocks that are served; all without it.
    window: Option<NonZeroU64>,
    /// Whether tracers with options are looked for too.
    options: bool,
}

impl Baked {
    /// The cache of a chain's home, as requests see it.
    pub fn new(db: Arc<TraceDb>, chain: Arc<Chain>, config: &BakeConfig) -> Self {
        let (window, options) = (config.window_blocks, config.canonical_configs);
        Self { db, chain, targets: TargetCache::default(), window, options }
    }

    /// What of the cache could answer a request.
    pub fn ask(&self, request: &TraceRequest) -> Option<CachedTraceKey> {
        let (target, tracer) = eligible(request, self.options, self.first())?;
        Some(CachedTraceKey { target, tracer })
    }

    /// What of the cache could answer a request by its texts.
    pub fn named(&self, trace: &NamedTrace<'_>) -> Option<CachedTraceKey> {
        match tracer_of(trace.config) {
            Some(tracer) => Some(CachedTraceKey { target: trace.target(self.first())?, tracer }),
            None => self.ask(&trace.request()?),
        }
    }

    /// Height of the chain's first block.
    fn first(&self) -> Height {
        match self.chain.base() {
            0 => 0,
            base => base + 1,
        }
    }

    /// The answer if all of it is in memory; never reads the disk. Also `None` for an answer in
    /// gzip, whose bytes are only on disk.
    pub fn hot(&self, ask: &CachedTraceKey, envelope: Option<&Envelope>) -> Option<CachedAnswer> {
        let place = self.targets.known(&self.chain, &ask.target)?;
        if !self.is_kept(place.key.number) {
            return None;
        }
        let block = self.db.hot_block(&place.key, ask.tracer)?;
        if is_packed(&block, place.part, envelope) {
            return None;
        }
        let pieces = block.hot(place.part)?;
        self.db.count(CacheResult::Hot);
        Some(CachedAnswer { pieces, height: place.key.number })
    }

    /// The answer with its envelope if its bytes are in the memory of this process or of the system
    /// and need little work; never waits. `None` otherwise, and for a transaction's error.
    pub fn ready(&self, ask: &CachedTraceKey, envelope: Envelope) -> Option<(Height, SharedAnswer)> {
        let place = self.targets.known(&self.chain, &ask.target)?;
        if !self.is_kept(place.key.number) {
            return None;
        }
        let found = without_waiting(|| {
            let Some(block) = self.db.block(&place.key, ask.tracer)? else { return Ok(None) };
            match is_packed(&block, place.part, Some(&envelope)) {
                true => packed_at_once(&block, place.part, &envelope),
                false => plain_at_once(&block, place.part, envelope),
            }
        });
        // The next read finds a damage, reports it, and removes the row.
        let (answer, result) = found.ok().flatten()?;
        self.db.count(result);
        Some((place.key.number, answer))
    }

    /// The answer from disk, or from memory if it is there, with the height of the block. `None` if
    /// it has to be traced live.
    pub fn stored(
        &self,
        ask: &CachedTraceKey,
        envelope: Option<&Envelope>,
    ) -> Option<(Height, Result<Feed, NodeError>)> {
        let place = self.targets.find(&self.chain, &ask.target)?;
        if !self.is_kept(place.key.number) {
            return None;
        }
        let found = self.db.block(&place.key, ask.tracer);
        let read = found.and_then(|block| block.map(|block| feed(block, place, envelope)).transpose());
        match read {
            Ok(None) => {
                self.db.count(CacheResult::Miss);
                None
            }
            Ok(Some(answer)) => {
                self.db.count(CacheResult::Stored);
                Some((place.key.number, answer))
            }
            Err(_) => {
                self.db.count(CacheResult::Damaged);
                None
            }
        }
    }

    /// A block as one tracer baked it; `None` where that is not there, not served or damaged.
    pub fn block(&self, number: Height, hash: B256, tracer: BakedTracer) -> Option<BakedBlock> {
        let key = BlockKey { chain_id: self.chain.spec().chain_id(), number, hash };
        self.is_kept(number).then(|| self.db.block(&key, tracer).ok()).flatten().flatten()
    }

    /// Counts what became of a look into the cache.
    pub fn count(&self, result: CacheResult) {
        self.db.count(result);
    }

    /// Whether blocks of this height are served.
    fn is_kept(&self, height: Height) -> bool {
        self.window.is_none_or(|window| height.saturating_add(window.get()) >= self.chain.head().height)
    }
}

fn is_packed(block: &BakedBlock, part: Part, envelope: Option<&Envelope>) -> bool {
    let wanted = |envelope: &Envelope| block.bytes(part).is_some_and(|bytes| envelope.wants(bytes));
    envelope.is_some_and(wanted) && block.packs(part)
}

type AtOnce = Result<Option<(SharedAnswer, CacheResult)>, BakeError>;

/// A part as one gzip member.
fn packed_at_once(block: &BakedBlock, part: Part, envelope: &Envelope) -> AtOnce {
    let Some(mut answer) = block.gzip(part, &envelope.head, &envelope.tail)? else { return Ok(None) };
    if answer.len() > PACKED_AT_ONCE_BYTES {
        return Ok(None);
    }
    let ready = Ready { bytes: answer.len() as usize, packed: true, historical: false };
    let mut pieces = Vec::new();
    while let Some(bytes) = answer.read()? {
        pieces.push(bytes);
    }
    Ok(Some((SharedAnswer { around: Default::default(), pieces, ready }, CacheResult::Stored)))
}

/// A part as it is, in its envelope.
fn plain_at_once(block: &BakedBlock, part: Part, Envelope { head, tail, .. }: Envelope) -> AtOnce {
    let bytes = block.bytes(part).map(|bytes| bytes + (head.len() + tail.len()) as u64);
    let Some(bytes) = bytes.filter(|bytes| *bytes <= READ_WHOLE_BYTES) else { return Ok(None) };
    let Some(PartAtOnce { pieces, hot }) = block.part_at_once(part, INFLATE_AT_ONCE_BYTES)? else {
        return Ok(None);
    };
    let ready = Ready { bytes: bytes as usize, packed: false, historical: false };
    let result = if hot { CacheResult::Hot } else { CacheResult::Stored };
    Ok(Some((SharedAnswer { around: [head, tail], pieces, ready }, result)))
}

/// Writes bytes to the front of a room that has enough; what is left of it.
fn put<'a>(room: &'a mut [u8], bytes: &[u8]) -> &'a mut [u8] {
    let (now, later) = room.split_at_mut(bytes.len().min(room.len()));
    now.copy_from_slice(&bytes[..now.len()]);
    later
}

/// A part of a baked block as a stream reads it; a transaction's error is the answer's.
fn feed(
    block: BakedBlock,
    place: BakedTarget,
    envelope: Option<&Envelope>,
) -> Result<Result<Feed, NodeError>, BakeError> {
    let part = place.part;
    if let Some(envelope) = envelope.filter(|_| is_packed(&block, part, envelope))
        && let Some(mut answer) = block.gzip(part, &envelope.head, &envelope.tail)?
    {
        let bytes = answer.len();
        let feed = fill(&block, part, bytes, move || answer.read())?;
        return Ok(Ok(Feed { packed_bytes: Some(bytes), ..feed }));
    }
    match block.part(part)? {
        Found::Failed(message) => Ok(Err(NodeError::Trace { source: message.into() })),
        Found::Bytes(mut answer) => fill(&block, part, answer.left(), move || answer.read()).map(Ok),
    }
}

impl From<CachedAnswer> for Feed {
    fn from(CachedAnswer { pieces: first, .. }: CachedAnswer) -> Self {
        Self { first, rest: None, packed_bytes: None }
    }
}

/// Reads a small answer; of a large one it reads the length only, and its reader reads the rest
/// piece by piece.
fn fill(
    block: &BakedBlock,
    part: Part,
    bytes: u64,
    mut read: impl FnMut() -> Result<Option<AnswerBytes>, BakeError> + Send + 'static,
) -> Result<Feed, BakeError> {
    let mut feed = Feed { first: Vec::new(), rest: None, packed_bytes: None };
    if bytes > READ_WHOLE_BYTES {
        block.verify(part)?;
        feed.rest = Some(Box::new(move || read().map_err(NodeError::store_failed)));
        return Ok(feed);
    }
    while let Some(bytes) = read()? {
        feed.first.push(bytes);
    }
    Ok(feed)
}
