//! Requests that are answered from the trace cache.
//!
//! The cache is asked before anything else: what is in memory is answered on the caller's thread, the rest on the pool of
//! short reads. A block that is not there, or whose row is damaged, is traced live.

mod eligible;
mod places;

use crate::{NodeError, TraceRequest, config::BakeConfig, stream::Feed};
use eligible::{Target, eligible};
use hearth_bake::{AnswerBytes, BakeError, BakedBlock, BakedTracer, Found, Part, TraceDb};
use hearth_chain::Chain;
use hearth_metrics::CacheResult;
use hearth_primitives::Height;
use places::{Place, Places};
use std::sync::Arc;

/// Answers of at most so many bytes are read as a whole before the first byte is sent.
const READ_WHOLE_BYTES: u64 = 1 << 20;

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
    pub(crate) height: Height,
    /// Whether that is further below the head than traces may look back.
    pub(crate) historical: bool,
}

impl CachedAnswer {
    /// Its bytes.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }

    /// Whether its block is further below the head than traces may look back.
    pub fn is_historical(&self) -> bool {
        self.historical
    }

    /// Whether it has none; no JSON does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes as much of it as there is room for.
    pub fn copy_to(&self, mut into: &mut [u8]) {
        for piece in &self.pieces {
            let (now, later) = into.split_at_mut(piece.len().min(into.len()));
            now.copy_from_slice(&piece[..now.len()]);
            into = later;
        }
    }
}

/// A request that may be answered from the cache.
pub(crate) struct Ask {
    target: Target,
    tracer: BakedTracer,
}

/// The trace cache of an open home.
pub(crate) struct Baked {
    db: Arc<TraceDb>,
    chain: Arc<Chain>,
    places: Places,
    /// Newest blocks that are served; 0: all.
    window: u64,
    /// Whether tracers with options are looked for too.
    options: bool,
}

impl Baked {
    /// The cache of a chain's home, as requests see it.
    pub(crate) fn new(db: Arc<TraceDb>, chain: Arc<Chain>, config: &BakeConfig) -> Self {
        let (window, options) = (config.window_blocks, config.canonical_configs);
        Self { db, chain, places: Places::default(), window, options }
    }

    /// What of the cache could answer a request.
    pub(crate) fn ask(&self, request: &TraceRequest) -> Option<Ask> {
        let first = match self.chain.base() {
            0 => 0,
            base => base + 1,
        };
        let (target, tracer) = eligible(request, self.options, first)?;
        Some(Ask { target, tracer })
    }

    /// The answer, where all of it is in memory; nothing is read from the disk. `None` also where it is wanted in gzip, of
    /// which the disk has the bytes.
    pub(crate) fn hot(&self, ask: &Ask, envelope: Option<&Envelope>) -> Option<CachedAnswer> {
        let place = self.places.known(&self.chain, &ask.target)?;
        if !self.is_kept(place.key.number) {
            return None;
        }
        let block = self.db.hot_block(&place.key, ask.tracer)?;
        if is_packed(&block, place.part, envelope) {
            return None;
        }
        let pieces = block.hot(place.part)?;
        self.db.count(CacheResult::Hot);
        Some(CachedAnswer { pieces, height: place.key.number, historical: false })
    }

    /// The answer from the disk, or from memory where that has it, with the block's height. `None`: to be traced live.
    pub(crate) fn stored(
        &self,
        ask: &Ask,
        envelope: Option<&Envelope>,
    ) -> Option<(Height, Result<Feed, NodeError>)> {
        let place = self.places.find(&self.chain, &ask.target)?;
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

    /// Whether blocks of this height are served.
    fn is_kept(&self, height: Height) -> bool {
        self.window == 0 || height.saturating_add(self.window) >= self.chain.head().height
    }
}

fn is_packed(block: &BakedBlock, part: Part, envelope: Option<&Envelope>) -> bool {
    let wanted = |envelope: &Envelope| block.bytes(part).is_some_and(|bytes| envelope.wants(bytes));
    envelope.is_some_and(wanted) && block.packs(part)
}

/// A part of a baked block as a stream reads it; a transaction's error is the answer's.
fn feed(
    block: BakedBlock,
    place: Place,
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
        Found::Failed(message) => Ok(Err(NodeError::Trace { message })),
        Found::Bytes(mut answer) => fill(&block, part, answer.left(), move || answer.read()).map(Ok),
    }
}

impl From<CachedAnswer> for Feed {
    fn from(CachedAnswer { pieces: first, .. }: CachedAnswer) -> Self {
        Self { first, rest: None, packed_bytes: None }
    }
}

/// Reads an answer that is small; one that is large is looked at, and read as its reader asks for it.
fn fill(
    block: &BakedBlock,
    part: Part,
    bytes: u64,
    mut read: impl FnMut() -> Result<Option<AnswerBytes>, BakeError> + Send + 'static,
) -> Result<Feed, BakeError> {
    let mut feed = Feed { first: Vec::new(), rest: None, packed_bytes: None };
    if bytes > READ_WHOLE_BYTES {
        block.verify(part)?;
        feed.rest =
            Some(Box::new(move || read().map_err(|error| NodeError::Store { message: error.to_string() })));
        return Ok(feed);
    }
    while let Some(bytes) = read()? {
        feed.first.push(bytes);
    }
    Ok(feed)
}
