//! A shard: its segments, the runs that index the sealed ones, and the look-up of a key.

use crate::LittError;
use crate::codec::decode;
use crate::ctx::Ctx;
use crate::format::{FRAME_BYTES, FRAME_HEADER, FrameHeader};
use crate::keys::{Id, Place};
use crate::planted::{Planted, has};
use crate::run::{Covered, Run};
use crate::segment::{OpenSegment, Segment};
use crate::value::Value;
use hearth_disk::DiskFile;
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a full raw frame with its header.
const FULL_FRAME: u64 = (FRAME_BYTES + FRAME_HEADER) as u64;
/// Times a look-up begins anew because files were replaced under it.
const MAX_RETRIES: usize = 8;

/// A shard of a table.
#[derive(Debug)]
pub(crate) struct Lane {
    pub ctx: Arc<Ctx>,
    pub shard: u8,
    pub state: RwLock<LaneState>,
    /// Segment that was made ahead. Held while one is made. Taken after the writer, if at all.
    pub next: Mutex<Option<(Segment, Arc<dyn DiskFile>)>>,
    /// Bytes read from files of sealed and open segments, for tests of how much a read touches.
    pub value_bytes_read: AtomicU64,
    pub value_reads: AtomicU64,
    pub index_reads: AtomicU64,
}

/// What there is of a shard. Locked for looking up and replacing only, never around input or output.
#[derive(Debug, Default)]
pub(crate) struct LaneState {
    /// Key indexes on disk, the newest first.
    pub runs: Vec<Arc<Run>>,
    /// Segments with their keys in memory, ascending; the last one takes what is put.
    pub open: Vec<Arc<OpenSegment>>,
    /// All segments.
    pub segments: BTreeMap<u32, Arc<Segment>>,
    /// Segments that were collected while an iterator held them.
    pub doomed: Vec<Arc<Segment>>,
    /// First place where records were lost to damage: a key that is not found may have been there.
    pub damaged: Option<LittError>,
    /// Sealed segments' summaries are in the runs; this is the sum of their file sizes and keys.
    pub generation: u64,
}

/// Where a key is.
pub(crate) enum Hit {
    Open(Arc<OpenSegment>, Place),
    Sealed(Arc<Segment>, Place),
    /// Its segment was collected.
    Gone,
}

impl Hit {
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Open(_, place) | Self::Sealed(_, place) => Some(place),
            Self::Gone => None,
        }
    }
}

impl LaneState {
    pub fn active(&self) -> &Arc<OpenSegment> {
        self.open.last().expect("a shard has a segment to write to")
    }

    /// All sealed and indexed segments.
    pub fn sealed(&self) -> impl Iterator<Item = (&Arc<Segment>, &Covered)> {
        self.runs
            .iter()
            .flat_map(|run| &run.covered)
            .filter_map(|covered| Some((self.segments.get(&covered.header.index)?, covered)))
    }
}

impl Lane {
    pub fn new(ctx: Arc<Ctx>, shard: u8, state: LaneState) -> Self {
        let zero = AtomicU64::default;
        let (value_bytes_read, value_reads, index_reads) = (zero(), zero(), zero());
        let (state, next) = (RwLock::new(state), Mutex::default());
        Self { ctx, shard, state, next, value_bytes_read, value_reads, index_reads }
    }

    /// Looks a key up: one page of an index is read at most, but for false hits of a filter.
    pub fn find(&self, id: &Id) -> Result<Option<Hit>, LittError> {
        for _ in 0..MAX_RETRIES {
            let mut candidates: Vec<(Arc<Run>, usize)> = Vec::new();
            let damaged = {
                let state = self.state.read();
                for open in state.open.iter().rev() {
                    if let Some(place) = open.keys.read().get(id) {
                        return Ok(Some(Hit::Open(open.clone(), *place)));
                    }
                }
                for run in &state.runs {
                    if let Some(page) = run.candidate(id) {
                        candidates.push((run.clone(), page));
                    }
                }
                state.damaged.clone()
            };
            match self.search(&candidates, id) {
                Err(error) if error.is_not_found() => continue,
                Ok(None) => return damaged.map_or(Ok(None), Err),
                found => return found,
            }
        }
        Err(LittError::corrupt(&self.ctx.home, 0, "a key index is missing"))
    }

    fn search(&self, candidates: &[(Arc<Run>, usize)], id: &Id) -> Result<Option<Hit>, LittError> {
        let mut gone = false;
        for (run, page) in candidates {
            self.index_reads.fetch_add(1, Ordering::Relaxed);
            let Some(entry) = run.search(&self.ctx.handles, *page, id)? else { continue };
            match self.state.read().segments.get(&entry.segment) {
                Some(segment) => return Ok(Some(Hit::Sealed(segment.clone(), entry.place))),
                None => gone = true,
            }
        }
        Ok(gone.then_some(Hit::Gone))
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
        let source = Source { lane: self, segment, open };
        let at = source.frames(place, first, last, last_of_span)?;
        // Where the wanted bytes begin in the raw bytes of the frames that are read.
        let from = (raw.start - first * FRAME_BYTES as u64) as usize;
        let range = from..from + want.len();
        if first == last {
            return source.one_frame(at, range);
        }
        source.many_frames(at, range).map(|value| (value, false))
    }
}

/// Where frames are read from.
struct Source<'a> {
    lane: &'a Lane,
    segment: &'a Arc<Segment>,
    open: Option<&'a Arc<OpenSegment>>,
}

impl Source<'_> {
    fn read(&self, out: &mut [u8], offset: u64) -> Result<(), LittError> {
        if let Some(open) = self.open {
            if open.read_tail(out, offset) {
                return Ok(());
            }
            self.count(out.len());
            return open.file.read_exact_at(out, offset).map_err(|e| self.segment.read_error(offset, e));
        }
        self.count(out.len());
        let handles = &self.lane.ctx.handles;
        let file = match handles.get(self.segment.uid, &self.segment.path) {
            Err(error) if error.is_not_found() && self.segment.is_retired() => {
                return Err(self.lane.ctx.pruned());
            }
            Err(error) if error.is_not_found() => return Err(self.segment.corrupt(0, "file is missing")),
            file => file?,
        };
        file.read_exact_at(out, offset).map_err(|e| self.segment.read_error(offset, e))
    }

    fn count(&self, bytes: usize) {
        self.lane.value_bytes_read.fetch_add(bytes as u64, Ordering::Relaxed);
        self.lane.value_reads.fetch_add(1, Ordering::Relaxed);
    }

    /// Where frames `first..=last` of a place lie.
    fn frames(
        &self,
        place: &Place,
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

    fn one_frame(&self, at: Range<u64>, range: Range<usize>) -> Result<(Value, bool), LittError> {
        let ctx = &self.lane.ctx;
        let key = (self.segment.uid, at.start);
        for cache in [&ctx.write_cache, &ctx.read_cache].into_iter().flatten() {
            if let Some(bytes) = cache.get(key) {
                return self.cut(bytes, 0, range, at.start).map(|value| (value, true));
            }
        }
        let mut bytes = vec![0; (at.end - at.start) as usize];
        self.read(&mut bytes, at.start)?;
        let header = self.check(&bytes, at.start)?;
        if bytes.len() != FRAME_HEADER + header.stored_len as usize {
            return Err(self.segment.corrupt(at.start, "length of a frame"));
        }
        let (bytes, skip) = match crate::codec::is_raw(header.codec) && ctx.read_cache.is_none() {
            true => (bytes, FRAME_HEADER),
            false => {
                let mut raw = Vec::new();
                self.decode(&header, &bytes[FRAME_HEADER..], at.start, &mut raw)?;
                (raw, 0)
            }
        };
        let bytes = Arc::new(bytes);
        if let Some(cache) = &ctx.read_cache {
            cache.put(key, bytes.clone());
        }
        self.cut(bytes, skip, range, at.start).map(|value| (value, false))
    }

    fn cut(
        &self,
        bytes: Arc<Vec<u8>>,
        skip: usize,
        range: Range<usize>,
        at: u64,
    ) -> Result<Value, LittError> {
        if range.end + skip > bytes.len() {
            return Err(self.segment.corrupt(at, "frame is shorter than its part of the value"));
        }
        Ok(Value::new(bytes, range.start + skip..range.end + skip))
    }

    fn many_frames(&self, at: Range<u64>, range: Range<usize>) -> Result<Value, LittError> {
        let mut bytes = vec![0; (at.end - at.start) as usize];
        self.read(&mut bytes, at.start)?;
        let mut raw = Vec::with_capacity(bytes.len());
        let mut from = 0;
        while from < bytes.len() {
            let offset = at.start + from as u64;
            let rest = &bytes[from..];
            let header = self.check(rest, offset)?;
            let stored = &rest[FRAME_HEADER..FRAME_HEADER + header.stored_len as usize];
            self.decode(&header, stored, offset, &mut raw)?;
            from += FRAME_HEADER + header.stored_len as usize;
        }
        let raw = Arc::new(raw);
        self.cut(raw, 0, range, at.start)
    }

    /// The frame at the start of the bytes, whose checksum is right.
    fn check(&self, bytes: &[u8], offset: u64) -> Result<FrameHeader, LittError> {
        let bad = || self.segment.corrupt(offset, "checksum of a frame");
        if bytes.len() < FRAME_HEADER {
            return Err(bad());
        }
        let header = FrameHeader::decode(bytes, self.segment.seed, offset);
        let stored = bytes.get(FRAME_HEADER..FRAME_HEADER + header.stored_len as usize).ok_or_else(bad)?;
        if header.is_good(stored) || has(Planted::ChecksumIgnored) { Ok(header) } else { Err(bad()) }
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
