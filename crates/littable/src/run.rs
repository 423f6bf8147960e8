//! A run: the immutable key index of one or more sealed segments, in a file of its own.
//!
//! ```text
//! run     = page* tail trailer
//! page    = crc u32 | count u16 | 0 u16 | entry*                4096 bytes; entries sorted by id
//! entry   = id 12 | segment u16 | offset u32 | span u32 | [number u32] | [skip u32 | len u32]
//! tail    = segment count u32 | (index u32 | salt 16 | dictionary u32 | Summary)*
//!         | page count u32 | first id 12 * | last id 12 | block count u32 | block 64 *
//! trailer = magic "HLR2" | version u16 | shard u8 | 0 u8 | first u32 | last u32 | entries u64
//!         | tail offset u64 | tail length u64 | tail crc u32 | seed u64 | made after u32 | crc u32
//! ```
//!
//! In an entry, `segment` counts from the run's first one; its bit 15 says that `skip` and `len`
//! follow, bit 14 that `number` does, as a difference to the segment's lowest. The top bit of
//! `span` says that the frames are raw. In memory a run is the first id of each page and a Bloom
//! filter in blocks of a cache line, so that a look-up reads one page or none, and mostly touches
//! one line of memory where there is none to read.

use crate::LittError;
use crate::format::{FRAME_BYTES, FRAME_HEADER, SegmentHeader, Summary, be32, be64, mix, take};
use crate::handles::{Handles, next_uid};
use crate::keys::{Id, KeyLocation, NO_NUMBER};
use crate::pages::{Budget, Page, Pages, SLOT_BYTES};
use hearth_disk::Disk;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(crate) const MAGIC: [u8; 4] = *b"HLR2";
pub(crate) const VERSION: u16 = 3;
pub(crate) const PAGE_BYTES: usize = 4096;
pub(crate) const PAGE_HEADER: usize = 8;
pub(crate) const TRAILER: usize = 64;
/// Bits of a filter for each key.
const FILTER_BITS: u64 = 12;
/// Words of a block; a key sets a bit in each.
const BLOCK_WORDS: usize = 8;
const BLOCK_BYTES: usize = BLOCK_WORDS * 8;
/// Pages that a look-up goes from where it guessed, before it searches.
const MAX_STEPS: usize = 8;
/// Most segments of one run: entries count them with 14 bits.
pub(crate) const MAX_RUN_SEGMENTS: u32 = 1 << 14;
pub(crate) const BIT_EXTENDED: u16 = 1 << 15;
pub(crate) const BIT_NUMBER: u16 = 1 << 14;
pub(crate) const BIT_RAW: u32 = 1 << 31;

/// The part of a segment that a run indexes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoveredSegment {
    pub header: SegmentHeader,
    pub summary: Summary,
}

/// A key in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub id: Id,
    pub segment: u32,
    pub place: KeyLocation,
}

/// An open run.
#[derive(Debug)]
pub(crate) struct Run {
    pub path: PathBuf,
    pub uid: u64,
    pub first: u32,
    pub last: u32,
    /// The segments that it covers, ascending.
    pub covered: Vec<CoveredSegment>,
    pub entries: u64,
    pub file_bytes: u64,
    /// Cuts of the table before it was made.
    pub made_after: u32,
    seed: u64,
    fences: Vec<Id>,
    /// Pages for each step of the first eight bytes of an id.
    slope: f64,
    /// None where the memory did not suffice.
    filter: Vec<Block>,
    last_id: Option<Id>,
    memory: usize,
    kept: Arc<Pages>,
    budget: Arc<Budget>,
    pub retired: AtomicBool,
}

impl Drop for Run {
    fn drop(&mut self) {
        self.budget.release(self.memory);
        self.budget.forget(&self.kept);
    }
}

/// Name of a run's file.
pub(crate) fn run_name(shard: u8, first: u32, last: u32) -> String {
    format!("{shard:02}-{first:010}-{last:010}.idx")
}

/// Shard, first and last segment of a run's file name.
pub(crate) fn parse_run_name(name: &str) -> Option<(u8, u32, u32)> {
    let mut parts = name.strip_suffix(".idx")?.split('-');
    let shard = parts.next()?.parse().ok()?;
    let (first, last) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    (run_name(shard, first, last) == name).then_some((shard, first, last))
}

impl Run {
    pub fn summary_of(&self, segment: u32) -> Option<&CoveredSegment> {
        let at = self.covered.binary_search_by_key(&segment, |c| c.header.index).ok()?;
        Some(&self.covered[at])
    }

    /// Bytes in memory.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// The page whose ids may include one.
    fn page_of(&self, id: &Id) -> Option<usize> {
        let (first, last) = (self.fences.first()?, self.last_id.as_ref()?);
        if id < first || id > last {
            return None;
        }
        let after = |page: usize| self.fences.get(page).is_none_or(|fence| fence > id);
        // Hashed ids lie evenly between the first and the last: mostly it is near where it would
        // be.
        let guess = (be64(id) - be64(first)) as f64 * self.slope;
        let mut page = (guess as usize).min(self.fences.len() - 1);
        for _ in 0..MAX_STEPS {
            match (after(page), after(page + 1)) {
                (true, _) => page -= 1,
                (false, false) => page += 1,
                (false, true) => return Some(page),
            }
        }
        self.fences.partition_point(|fence| fence <= id).checked_sub(1)
    }

    /// The key's entry: one read of a page, or none where it is in memory or no page has the key.
    /// Reads are counted. A key that is likely there is looked for in a page in memory before the
    /// filter is checked, which takes as long.
    pub fn search(
        &self,
        handles: &Handles,
        id: &Id,
        likely: bool,
        reads: &AtomicU64,
    ) -> Result<Option<Entry>, LittError> {
        let filtered = || !self.filter.is_empty() && !filter_has(&self.filter, id);
        if !likely && filtered() {
            return Ok(None);
        }
        let Some(number) = self.page_of(id) else { return Ok(None) };
        let ask = |page: &Page| match page.find(id) {
            Some(bytes) => self.decode(bytes).map(Some).ok_or_else(|| self.corrupt(number)),
            None => Ok(None),
        };
        if let Some(found) = self.kept.look(number, ask) {
            return found;
        }
        if likely && filtered() {
            return Ok(None);
        }
        reads.fetch_add(1, Ordering::Relaxed);
        let page = self.read_page(handles, number)?;
        let found = ask(&page);
        self.kept.keep(number, page);
        found
    }

    fn corrupt(&self, page: usize) -> LittError {
        LittError::corrupt(&self.path, (page * PAGE_BYTES) as u64, "page of the key index")
    }

    /// A page, checked.
    fn read_page(&self, handles: &Handles, page: usize) -> Result<Page, LittError> {
        let file = handles.get(self.uid, &self.path)?;
        let mut bytes = [0; PAGE_BYTES];
        let offset = (page * PAGE_BYTES) as u64;
        file.read_exact_at(&mut bytes, offset).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => self.corrupt(page),
            _ => LittError::io(&self.path)(error),
        })?;
        let good = page_crc(self.seed, page, &bytes[4..]) == be32(&bytes);
        good.then(|| Page::parse(bytes)).flatten().ok_or_else(|| self.corrupt(page))
    }

    /// Pages of the file.
    pub fn pages(&self) -> usize {
        self.fences.len()
    }

    /// All entries of a page, in order, read from the file.
    pub fn page_entries(&self, handles: &Handles, number: usize) -> Result<Vec<Entry>, LittError> {
        let page = self.read_page(handles, number)?;
        let entries = (0..page.len()).map(|at| page.entry(at).and_then(|bytes| self.decode(bytes)));
        entries.collect::<Option<Vec<_>>>().ok_or_else(|| self.corrupt(number))
    }

    /// The entry at the start of the bytes.
    fn decode(&self, mut bytes: &[u8]) -> Option<Entry> {
        let at = &mut bytes;
        let id = take(at, 12)?.try_into().ok()?;
        let word = take(at, 2)?;
        let word = u16::from_be_bytes([word[0], word[1]]);
        let offset = be32(take(at, 4)?);
        let span = be32(take(at, 4)?);
        let segment = self.first.checked_add(u32::from(word & (BIT_NUMBER - 1)))?;
        let number = match word & BIT_NUMBER {
            0 => NO_NUMBER,
            _ => self.summary_of(segment)?.summary.min_number.checked_add(u64::from(be32(take(at, 4)?)))?,
        };
        let raw = span & BIT_RAW != 0;
        let span = span & !BIT_RAW;
        let (skip, len) = match word & BIT_EXTENDED {
            0 => (0, raw_len(span)),
            _ => (be32(take(at, 4)?), be32(take(at, 4)?)),
        };
        Some(Entry { id, segment, place: KeyLocation { offset, span, skip, len, number, raw } })
    }

    /// Opens a run; `Ok(None)` where the file is damaged or of another time: it is made again from
    /// the segments then. `going` is memory of indexes in whose place it comes.
    pub fn open(
        disk: &dyn Disk,
        path: &Path,
        shard: u8,
        budget: &Arc<Budget>,
        going: usize,
    ) -> Result<Option<Self>, LittError> {
        let file = disk.open(path, hearth_disk::OpenMode::Read).map_err(LittError::io(path))?;
        let len = file.len().map_err(LittError::io(path))?;
        let read = |offset: u64, len: usize| {
            let mut bytes = vec![0; len];
            file.read_exact_at(&mut bytes, offset).map_err(LittError::io(path)).map(|()| bytes)
        };
        let Some(at) = len.checked_sub(TRAILER as u64) else { return Ok(None) };
        let trailer = read(at, TRAILER)?;
        if trailer[..4] != MAGIC || crc32fast::hash(&trailer[..TRAILER - 4]) != be32(&trailer[TRAILER - 4..])
        {
            return Ok(None);
        }
        let found = u16::from_be_bytes([trailer[4], trailer[5]]);
        if found > VERSION {
            return Err(LittError::NewerFormat { path: path.to_owned(), found, known: VERSION });
        }
        let (first, last) = (be32(&trailer[8..]), be32(&trailer[12..]));
        let (tail_at, tail_len) = (be64(&trailer[24..]), be64(&trailer[32..]));
        if trailer[6] != shard || tail_at.checked_add(tail_len) != Some(at) {
            return Ok(None);
        }
        let tail = read(tail_at, tail_len as usize)?;
        if crc32fast::hash(&tail) != be32(&trailer[40..]) {
            return Ok(None);
        }
        let Some(parts) = RunTail::decode(&tail, shard) else { return Ok(None) };
        let mut run = parts.into_run(path, budget, going);
        (run.first, run.last, run.entries, run.file_bytes) = (first, last, be64(&trailer[16..]), len);
        (run.seed, run.made_after) = (be64(&trailer[44..]), be32(&trailer[52..]));
        Ok(Some(run))
    }
}

pub(crate) fn page_crc(seed: u64, page: usize, bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes) ^ mix(seed ^ page as u64) as u32
}

/// Eight words of a filter, in one cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
pub(crate) struct Block([u64; BLOCK_WORDS]);

/// What stands in a run's tail.
pub(crate) struct RunTail {
    pub covered: Vec<CoveredSegment>,
    pub fences: Vec<Id>,
    pub filter: Vec<Block>,
    pub last_id: Option<Id>,
}

impl RunTail {
    /// That of a run which is to have so many keys at most.
    pub fn new(covered: Vec<CoveredSegment>, keys: u64) -> Self {
        let blocks = (keys * FILTER_BITS).div_ceil(BLOCK_BYTES as u64 * 8).max(1);
        Self { covered, fences: Vec::new(), filter: vec![Block::default(); blocks as usize], last_id: None }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out =
            Vec::with_capacity(self.filter.len() * BLOCK_BYTES + self.fences.len() * size_of::<Id>());
        out.extend_from_slice(&(self.covered.len() as u32).to_be_bytes());
        for CoveredSegment { header, summary } in &self.covered {
            out.extend_from_slice(&header.index.to_be_bytes());
            out.extend_from_slice(&header.salt);
            out.extend_from_slice(&header.dictionary.to_be_bytes());
            out.extend_from_slice(&summary.encode());
        }
        out.extend_from_slice(&(self.fences.len() as u32).to_be_bytes());
        self.fences.iter().for_each(|first| out.extend_from_slice(first));
        out.extend_from_slice(&self.last_id.unwrap_or_default());
        out.extend_from_slice(&(self.filter.len() as u32).to_be_bytes());
        for word in self.filter.iter().flat_map(|block| block.0) {
            out.extend_from_slice(&word.to_be_bytes());
        }
        out
    }

    pub fn decode(mut bytes: &[u8], shard: u8) -> Option<Self> {
        let at = &mut bytes;
        let mut covered = Vec::new();
        for _ in 0..be32(take(at, 4)?) {
            let index = be32(take(at, 4)?);
            let salt = take(at, 16)?.try_into().ok()?;
            let dictionary = be32(take(at, 4)?);
            let summary = Summary::decode(take(at, Summary::ENCODED)?);
            covered
                .push(CoveredSegment { header: SegmentHeader { shard, index, salt, dictionary }, summary });
        }
        let pages = be32(take(at, 4)?) as usize;
        let fences = take(at, pages.checked_mul(size_of::<Id>())?)?;
        let fences: Vec<Id> =
            fences.chunks_exact(size_of::<Id>()).filter_map(|id| id.try_into().ok()).collect();
        let last_id: Id = take(at, size_of::<Id>())?.try_into().ok()?;
        let blocks = be32(take(at, 4)?) as usize;
        let blocks = take(at, blocks.checked_mul(BLOCK_BYTES)?)?;
        let block = |bytes: &[u8]| Block(std::array::from_fn(|word| be64(&bytes[word * 8..])));
        let filter = blocks.chunks_exact(BLOCK_BYTES).map(block).collect();
        let last_id = (!fences.is_empty()).then_some(last_id);
        at.is_empty().then_some(Self { covered, fences, filter, last_id })
    }

    /// The run but for what the trailer says.
    fn into_run(mut self, path: &Path, budget: &Arc<Budget>, going: usize) -> Run {
        let pages = self.fences.len() * (size_of::<Id>() + SLOT_BYTES);
        let fixed = pages + self.covered.len() * size_of::<CoveredSegment>();
        let filters = self.filter.len() * BLOCK_BYTES;
        let memory = if budget.fits(fixed + filters, going) {
            fixed + filters
        } else {
            self.filter = Vec::new();
            fixed
        };
        self.fences.shrink_to_fit();
        let slope = match (self.fences.first(), &self.last_id) {
            (Some(first), Some(last)) => {
                self.fences.len() as f64 / (be64(last).saturating_sub(be64(first)) as f64 + 1.0)
            }
            _ => 0.0,
        };
        budget.add(memory);
        let kept = Pages::new(self.fences.len(), budget.clone());
        Run {
            path: path.to_owned(),
            uid: next_uid(),
            first: 0,
            last: 0,
            covered: self.covered,
            entries: 0,
            file_bytes: 0,
            made_after: 0,
            seed: 0,
            fences: self.fences,
            slope,
            filter: self.filter,
            last_id: self.last_id,
            memory,
            kept,
            budget: budget.clone(),
            retired: AtomicBool::new(false),
        }
    }
}

/// Raw bytes in a span of raw frames.
pub(crate) fn raw_len(span: u32) -> u32 {
    span.saturating_sub(span.div_ceil((FRAME_BYTES + FRAME_HEADER) as u32) * FRAME_HEADER as u32)
}

/// The block of an id in a filter, and a number whose bits say which bits of its words are the
/// id's.
fn filter_place(blocks: usize, id: &Id) -> (usize, u64) {
    let hash = mix(be64(id) ^ mix(u64::from(be32(&id[8..]))));
    let block = ((hash >> 32) * blocks as u64) >> 32;
    (block as usize, mix(hash))
}

/// The id's bit in a word of its block.
fn filter_bit(bits: u64, word: usize) -> u64 {
    1 << ((bits >> (6 * word)) & 63)
}

pub(crate) fn filter_add(blocks: &mut [Block], id: &Id) {
    let (at, bits) = filter_place(blocks.len(), id);
    blocks[at].0.iter_mut().enumerate().for_each(|(word, there)| *there |= filter_bit(bits, word));
}

fn filter_has(blocks: &[Block], id: &Id) -> bool {
    let (at, bits) = filter_place(blocks.len(), id);
    blocks[at].0.iter().enumerate().all(|(word, there)| there & filter_bit(bits, word) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u64) -> Id {
        let mut id = [0; 12];
        id[..8].copy_from_slice(&mix(n).to_be_bytes());
        id[8..].copy_from_slice(&(n as u32 ^ 5).to_be_bytes());
        id
    }

    #[test]
    fn a_filter_knows_its_keys_and_few_others() {
        let mut tail = RunTail::new(Vec::new(), 100_000);
        (0..100_000).for_each(|n| filter_add(&mut tail.filter, &id(n)));
        assert!((0..100_000).all(|n| filter_has(&tail.filter, &id(n))));
        let wrong = (100_000..300_000).filter(|n| filter_has(&tail.filter, &id(*n))).count();
        assert!(wrong < 2_000, "{wrong} of 200,000");
        tail.fences = vec![id(1), id(2)];
        tail.last_id = Some(id(3));
        let bytes = tail.encode();
        let back = RunTail::decode(&bytes, 0).unwrap();
        assert!((back.filter, back.fences, back.last_id) == (tail.filter, tail.fences, tail.last_id));
        assert!((0..bytes.len()).step_by(997).all(|len| RunTail::decode(&bytes[..len], 0).is_none()));
    }
}
