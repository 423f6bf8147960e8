//! A shard: its segments, the runs that index the sealed ones, and the look-up of a key.

use crate::LittError;
use crate::cache::FrameKey;
use crate::codec::decode;
use crate::ctx::Ctx;
use crate::failpoints::{InjectedBug, has};
use crate::format::{FRAME_BYTES, FRAME_HEADER, FrameHeader};
use crate::keys::{Id, KeyLocation};
use crate::run::{CoveredSegment, Run, raw_len};
use crate::segment::{OpenSegment, Segment};
use crate::segments::Segments;
use crate::value::Value;
use hearth_disk::{DiskFile, Parts};
use parking_lot::{Mutex, RwLock};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a full raw frame with its header.
const FULL_FRAME: u64 = (FRAME_BYTES + FRAME_HEADER) as u64;
/// Bytes of a line of the processor's cache.
const LINE_BYTES: usize = 64;
/// Times a look-up starts again because files were replaced under it.
const MAX_RETRIES: usize = 8;

/// A shard of a table.
#[derive(Debug)]
pub(crate) struct Shard {
    pub ctx: Arc<Ctx>,
    pub shard: u8,
    pub state: RwLock<ShardState>,
    /// Segment that was made ahead. Held while one is made. Taken after the writer, if at all.
    pub next: Mutex<Option<(Segment, Arc<dyn DiskFile>)>>,
    /// Bytes read from files of sealed and open segments, for tests of how much a read touches.
    pub value_bytes_read: AtomicU64,
    pub value_reads: AtomicU64,
    pub index_reads: AtomicU64,
    /// Damage of a key index that a look-up met and that is still to be repaired.
    pub broken: Mutex<Option<LittError>>,
    /// Damaged key indexes that were made again.
    pub rebuilt: AtomicU64,
}

/// The segments and indexes of a shard. Locked for looking up and replacing only, never around
/// input or output.
#[derive(Debug, Default)]
pub(crate) struct ShardState {
    /// Key indexes on disk, the newest first.
    pub runs: Arc<Vec<Arc<Run>>>,
    /// Segments with their keys in memory, ascending; the last one takes what is put.
    pub open: Vec<Arc<OpenSegment>>,
    /// All segments.
    pub segments: Segments,
    /// Segments that were collected while an iterator held them.
    pub doomed: Vec<Arc<Segment>>,
    /// First place where records were lost to damage: a key that is not found may have been there.
    pub damaged: Option<LittError>,
    /// Sealed segments' summaries are in the runs; this is the sum of their file sizes and keys.
    pub generation: u64,
}

/// Where a key is.
pub(crate) enum Hit {
    Open(Arc<OpenSegment>, KeyLocation),
    Sealed(Arc<Segment>, KeyLocation),
    /// Its segment was collected.
    Gone,
}

impl Hit {
    pub fn place(&self) -> Option<&KeyLocation> {
        match self {
            Self::Open(_, place) | Self::Sealed(_, place) => Some(place),
            Self::Gone => None,
        }
    }
}

impl ShardState {
    pub fn active(&self) -> &Arc<OpenSegment> {
        self.open.last().expect("a shard has a segment to write to")
    }

    /// All sealed and indexed segments.
    pub fn sealed(&self) -> impl Iterator<Item = (&Arc<Segment>, &CoveredSegment)> {
        self.runs
            .iter()
            .flat_map(|run| &run.covered)
            .filter_map(|covered| Some((self.segments.get(covered.header.index)?, covered)))
    }
}

impl Shard {
    pub fn new(ctx: Arc<Ctx>, shard: u8, state: ShardState) -> Self {
        let zero = AtomicU64::default;
        let (value_bytes_read, value_reads, index_reads) = (zero(), zero(), zero());
        let (state, next) = (RwLock::new(state), Mutex::default());
        let (broken, rebuilt) = (Mutex::default(), zero());
        Self { ctx, shard, state, next, value_bytes_read, value_reads, index_reads, broken, rebuilt }
    }

    /// Looks a key up: one page of an index is read at most, but for false hits of a filter.
    /// `likely`: whether it is mostly there.
    pub fn find(&self, id: &Id, likely: bool) -> Result<Option<Hit>, LittError> {
        for _ in 0..MAX_RETRIES {
            let runs = {
                let state = self.state.read();
                for open in state.open.iter().rev() {
                    if let Some(place) = open.keys.read().get(id) {
                        return Ok(Some(Hit::Open(open.clone(), *place)));
                    }
                }
                state.runs.clone()
            };
            match self.search(&runs, id, likely) {
                Err(error) if error.is_not_found() => self.follow_writer()?,
                Ok(None) => return self.state.read().damaged.clone().map_or(Ok(None), Err),
                found => return found,
            }
        }
        Err(LittError::corrupt(&self.ctx.home, 0, "a key index is missing"))
    }

    /// Looks again at the indexes that there are, where another process merges them.
    fn follow_writer(&self) -> Result<(), LittError> {
        if self.ctx.read_only {
            self.ctx.reread_state()?;
            let loaded = crate::recover::load(&self.ctx, self.shard)?;
            *self.state.write() = loaded.state;
        }
        Ok(())
    }

    fn search(&self, runs: &[Arc<Run>], id: &Id, likely: bool) -> Result<Option<Hit>, LittError> {
        let (mut gone, mut damage) = (false, None);
        for (number, run) in runs.iter().enumerate() {
            // What none of the others has is in the last one, if anywhere.
            let likely = likely && number + 1 == runs.len();
            let entry = match run.search(&self.ctx.handles, id, likely, &self.index_reads) {
                Ok(Some(entry)) => entry,
                Ok(None) => continue,
                // Another index may have it.
                Err(error @ LittError::Corrupt { .. }) => {
                    *self.broken.lock() = Some(error.clone());
                    damage = Some(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            match self.state.read().segments.get(entry.segment) {
                Some(segment) => return Ok(Some(Hit::Sealed(segment.clone(), entry.place))),
                None => gone = true,
            }
        }
        damage.map_or(Ok(gone.then_some(Hit::Gone)), Err)
    }

    /// Reads a part of a key's bytes, checked; says whether a cache had it.
    pub fn load(&self, hit: &Hit, want: Range<u32>) -> Result<(Value, bool), LittError> {
        let (segment, open, place) = match hit {
            Hit::Open(open, place) => (&open.segment, Some(open), place),
            Hit::Sealed(segment, place) => (segment, None, place),
            Hit::Gone => return Err(self.ctx.pruned()),
        };
        if want.is_empty() {
            return Ok((Value::owned(Vec::new()), false));
        }
        let raw = u64::from(place.skip) + u64::from(want.start)..u64::from(place.skip) + u64::from(want.end);
        let (first, last) = (raw.start / FRAME_BYTES as u64, (raw.end - 1) / FRAME_BYTES as u64);
        let last_of_span = (u64::from(place.skip) + u64::from(place.len) - 1) / FRAME_BYTES as u64;
        let source = FrameSource { lane: self, segment, open };
        let at = source.frames(place, first, last, last_of_span)?;
        // Where the wanted bytes begin in the raw bytes of the frames that are read.
        let from = (raw.start - first * FRAME_BYTES as u64) as usize;
        let range = from..from + want.len();
        match first == last {
            true => source.one_frame(at, range),
            false => source.many_frames(place.raw, at, range),
        }
    }
}

/// Where frames are read from.
struct FrameSource<'a> {
    lane: &'a Shard,
    segment: &'a Arc<Segment>,
    open: Option<&'a Arc<OpenSegment>>,
}

impl FrameSource<'_> {
    /// The file; counts a read of this many bytes of it.
    fn file(&self, bytes: usize) -> Result<Arc<dyn DiskFile>, LittError> {
        self.count(bytes);
        if let Some(open) = self.open {
            return Ok(open.file.clone());
        }
        let Segment { uid, path, near, .. } = &**self.segment;
        match self.lane.ctx.handles.get_near(*uid, path, near) {
            Err(error) if error.is_not_found() => {
                let ctx = &self.lane.ctx;
                let collected =
                    self.segment.is_retired() || ctx.was_collected(self.lane.shard, self.segment.index());
                Err(if collected { ctx.pruned() } else { self.segment.corrupt(0, "file is missing") })
            }
            file => file,
        }
    }

    fn read(&self, out: &mut [u8], offset: u64) -> Result<(), LittError> {
        if let Some(open) = self.open
            && open.with_tail(out.len(), offset, |tail| out.copy_from_slice(tail)).is_some()
        {
            return Ok(());
        }
        let file = self.file(out.len())?;
        file.read_exact_at(out, offset).map_err(|e| self.segment.read_error(offset, e))
    }

    /// Where in a new buffer so many bytes from an offset lie. Behind a few others: the system
    /// copies faster where both sides lie alike in the lines of the processor's cache.
    fn read_new(&self, len: usize, offset: u64) -> Result<(Vec<u8>, usize), LittError> {
        if let Some(bytes) = self.open.and_then(|open| open.with_tail(len, offset, <[u8]>::to_vec)) {
            return Ok((bytes, 0));
        }
        // Nothing is zeroed first that is read over.
        let mut bytes = Vec::with_capacity(len + LINE_BYTES);
        let pad = (offset as usize).wrapping_sub(bytes.as_ptr() as usize) % LINE_BYTES;
        bytes.resize(pad, 0);
        let read = self.file(len)?.read_onto(&mut bytes, len, offset);
        read.map_err(|e| self.segment.read_error(offset, e))?;
        Ok((bytes, pad))
    }

    /// Reads frames of equal length, but for the last: their headers, and what they store in one
    /// piece.
    fn read_frames(&self, parts: &Parts, heads: &mut [u8]) -> Result<Vec<u8>, LittError> {
        let mut body = Vec::new();
        let mut take = |tail: &[u8]| {
            body.reserve_exact(parts.len);
            let frames = tail.chunks(FRAME_HEADER + parts.part);
            for (frame, head) in frames.zip(heads.chunks_exact_mut(FRAME_HEADER)) {
                head.copy_from_slice(&frame[..FRAME_HEADER]);
                body.extend_from_slice(&frame[FRAME_HEADER..]);
            }
        };
        if let Some(open) = self.open
            && open.with_tail(parts.heads_len() + parts.len, parts.offset, &mut take).is_some()
        {
            return Ok(body);
        }
        let file = self.file(parts.heads_len() + parts.len)?;
        let read = file.read_parts_at(parts, heads, &mut body);
        read.map_err(|e| self.segment.read_error(parts.offset, e))?;
        Ok(body)
    }

    fn count(&self, bytes: usize) {
        self.lane.value_bytes_read.fetch_add(bytes as u64, Ordering::Relaxed);
        self.lane.value_reads.fetch_add(1, Ordering::Relaxed);
    }

    /// Where frames `first..=last` of a place lie.
    fn frames(
        &self,
        place: &KeyLocation,
        first: u64,
        last: u64,
        last_of_span: u64,
    ) -> Result<Range<u64>, LittError> {
        let start = u64::from(place.offset);
        let end = start + u64::from(place.span);
        if first == 0 && last >= last_of_span {
            return Ok(start..end);
        }
        if place.raw {
            return Ok(start + first * FULL_FRAME..end.min(start + (last + 1) * FULL_FRAME));
        }
        // Compressed frames differ in length: the headers lead from one to the next.
        let (mut at, mut from) = (start, start);
        for frame in 0..=last {
            if frame == first {
                from = at;
            }
            let mut bytes = [0; FRAME_HEADER];
            self.read(&mut bytes, at)?;
            let header = FrameHeader::decode(&bytes, self.segment.seed, at);
            at += FRAME_HEADER as u64 + u64::from(header.stored_len);
            if at > end {
                return Err(self.segment.corrupt(at, "frame header"));
            }
        }
        Ok(from..at)
    }

    /// A frame that a cache has.
    fn cached(&self, key: FrameKey) -> Option<Arc<Vec<u8>>> {
        let ctx = &self.lane.ctx;
        [&ctx.write_cache, &ctx.read_cache].into_iter().flatten().find_map(|cache| cache.get(key))
    }

    fn one_frame(&self, at: Range<u64>, range: Range<usize>) -> Result<(Value, bool), LittError> {
        let key = (self.segment.uid, at.start);
        if let Some(bytes) = self.cached(key) {
            return self.value_of(bytes, range, at.start).map(|value| (value, true));
        }
        let short = || self.segment.corrupt(at.start, "length of a frame");
        let len = ((at.end - at.start) as usize).checked_sub(FRAME_HEADER).ok_or_else(short)?;
        if self.lane.ctx.read_cache.is_none() {
            return self.whole_frame(at.start, len, range).map(|value| (value, false));
        }
        let parts = Parts { offset: at.start, head: FRAME_HEADER, part: len.max(1), len };
        let mut head = [0; FRAME_HEADER];
        let stored = self.read_frames(&parts, &mut head[..parts.heads_len()])?;
        let header = self.check(&head, &stored, at.start)?;
        let bytes = match crate::codec::is_raw(header.codec) {
            true => stored,
            false => {
                let mut raw = Vec::new();
                self.decode(&header, &stored, at.start, &mut raw)?;
                raw
            }
        };
        self.keep(key, Arc::new(bytes), range).map(|value| (value, false))
    }

    /// A frame that is read with its header before it, which is less work than reading them to two
    /// places.
    fn whole_frame(&self, at: u64, len: usize, range: Range<usize>) -> Result<Value, LittError> {
        let (bytes, pad) = self.read_new(FRAME_HEADER + len, at)?;
        let (head, stored) = bytes[pad..].split_at(FRAME_HEADER);
        let header = self.check(head, stored, at)?;
        if crate::codec::is_raw(header.codec) {
            let before = pad + FRAME_HEADER;
            return self.value_of(Arc::new(bytes), range.start + before..range.end + before, at);
        }
        let mut raw = Vec::new();
        self.decode(&header, stored, at, &mut raw)?;
        self.value_of(Arc::new(raw), range, at)
    }

    /// Puts bytes that were read into the cache, and makes a value of a part of them.
    fn keep(&self, key: FrameKey, bytes: Arc<Vec<u8>>, range: Range<usize>) -> Result<Value, LittError> {
        if let Some(cache) = &self.lane.ctx.read_cache {
            cache.put(key, bytes.clone());
        }
        self.value_of(bytes, range, key.1 & 0xffff_ffff)
    }

    fn value_of(&self, bytes: Arc<Vec<u8>>, range: Range<usize>, at: u64) -> Result<Value, LittError> {
        match range.end <= bytes.len() {
            true => Ok(Value::new(bytes, range)),
            false => Err(self.segment.corrupt(at, "frame is shorter than its part of the value")),
        }
    }

    fn many_frames(
        &self,
        raw: bool,
        at: Range<u64>,
        range: Range<usize>,
    ) -> Result<(Value, bool), LittError> {
        let key = (self.segment.uid, (at.end - at.start) << 32 | at.start);
        if let Some(bytes) = self.cached(key) {
            return self.value_of(bytes, range, at.start).map(|value| (value, true));
        }
        let bytes = match raw {
            true => self.raw_frames(&at)?,
            false => self.coded_frames(&at)?,
        };
        self.keep(key, Arc::new(bytes), range).map(|value| (value, false))
    }

    /// Frames that are stored as they are lie where one computes; they are read to where they stay.
    fn raw_frames(&self, at: &Range<u64>) -> Result<Vec<u8>, LittError> {
        let len = raw_len((at.end - at.start) as u32) as usize;
        let parts = Parts { offset: at.start, head: FRAME_HEADER, part: FRAME_BYTES, len };
        let mut heads = vec![0; parts.heads_len()];
        let body = self.read_frames(&parts, &mut heads)?;
        let mut offset = at.start;
        for (head, stored) in heads.chunks_exact(FRAME_HEADER).zip(body.chunks(FRAME_BYTES)) {
            if !crate::codec::is_raw(self.check(head, stored, offset)?.codec) {
                return Err(self.segment.corrupt(offset, "codec of a frame"));
            }
            offset += FULL_FRAME;
        }
        Ok(body)
    }

    fn coded_frames(&self, at: &Range<u64>) -> Result<Vec<u8>, LittError> {
        let (bytes, pad) = self.read_new((at.end - at.start) as usize, at.start)?;
        let (mut raw, mut rest, mut offset) = (Vec::with_capacity(bytes.len()), &bytes[pad..], at.start);
        while !rest.is_empty() {
            let short = || self.segment.corrupt(offset, "checksum of a frame");
            let (head, behind) = rest.split_at_checked(FRAME_HEADER).ok_or_else(short)?;
            let len = FrameHeader::decode(head, self.segment.seed, offset).stored_len as usize;
            let (stored, behind) = behind.split_at_checked(len).ok_or_else(short)?;
            let header = self.check(head, stored, offset)?;
            self.decode(&header, stored, offset, &mut raw)?;
            offset += (FRAME_HEADER + len) as u64;
            rest = behind;
        }
        Ok(raw)
    }

    /// The header of a frame, whose checksum and length are right.
    fn check(&self, head: &[u8], stored: &[u8], offset: u64) -> Result<FrameHeader, LittError> {
        let bad = |what| Err(self.segment.corrupt(offset, what));
        if head.len() < FRAME_HEADER {
            return bad("length of a frame");
        }
        let header = FrameHeader::decode(head, self.segment.seed, offset);
        if header.stored_len as usize != stored.len() {
            return bad("length of a frame");
        }
        match header.is_good(stored) || has(InjectedBug::ChecksumIgnored) {
            true => Ok(header),
            false => bad("checksum of a frame"),
        }
    }

    fn decode(
        &self,
        header: &FrameHeader,
        stored: &[u8],
        at: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), LittError> {
        let dictionary = self.segment.dictionary.as_deref();
        decode(header.codec, stored, dictionary, out).map_err(|what| self.segment.corrupt(at, what))
    }
}
