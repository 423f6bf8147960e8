//! A run: the immutable key index of one or more sealed segments, in a file of its own.
//!
//! ```text
//! run     = page* tail trailer
//! page    = crc u32 | count u16 | 0 u16 | entry*                4096 bytes; entries sorted by id
//! entry   = id 12 | segment u16 | offset u32 | span u32 | [number u32] | [skip u32 | len u32]
//! tail    = segment count u32 | (index u32 | salt 16 | dictionary u32 | Summary)*
//!         | page count u32 | (first id 12 | filter words u16)* | filter words
//! trailer = magic "HLR2" | version u16 | shard u8 | 0 u8 | first u32 | last u32 | entries u64 | tail offset u64
//!         | tail length u64 | tail crc u32 | seed u64 | made after u32 | crc u32
//! ```
//!
//! In an entry, `segment` counts from the run's first one; its bit 15 says that `skip` and `len` follow, bit 14 that
//! `number` does, as a difference to the segment's lowest. The top bit of `span` says that the frames are raw. In memory
//! a run is the first id of each page and a Bloom filter for each page, so that a look-up reads one page or none.

use crate::LittError;
use crate::format::{FRAME_BYTES, FRAME_HEADER, SegmentHeader, Summary, be32, be64, mix, take};
use crate::handles::{Handles, next_uid};
use crate::keys::{Id, NO_NUMBER, Place};
use crate::pages::{Budget, Page};
use hearth_disk::Disk;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(crate) const MAGIC: [u8; 4] = *b"HLR2";
pub(crate) const VERSION: u16 = 2;
pub(crate) const PAGE_BYTES: usize = 4096;
pub(crate) const PAGE_HEADER: usize = 8;
pub(crate) const TRAILER: usize = 64;
/// Bits of a filter for each key, and bits that a key sets.
pub(crate) const FILTER_BITS: usize = 12;
const FILTER_HASHES: u32 = 8;
/// Pages that a look-up goes from where it guessed, before it searches.
const MAX_STEPS: usize = 8;
/// Most segments of one run: entries count them with 14 bits.
pub(crate) const MAX_RUN_SEGMENTS: u32 = 1 << 14;
pub(crate) const BIT_EXTENDED: u16 = 1 << 15;
pub(crate) const BIT_NUMBER: u16 = 1 << 14;
pub(crate) const BIT_RAW: u32 = 1 << 31;

/// A segment as a run knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Covered {
    pub header: SegmentHeader,
    pub summary: Summary,
}

/// A key in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub id: Id,
    pub segment: u32,
    pub place: Place,
}

/// An open run.
#[derive(Debug)]
pub(crate) struct Run {
    pub path: PathBuf,
    pub uid: u64,
    pub first: u32,
    pub last: u32,
    /// The segments that it covers, ascending.
    pub covered: Vec<Covered>,
    pub entries: u64,
    pub file_bytes: u64,
    /// Cuts of the table before it was made.
    pub made_after: u32,
    seed: u64,
    fences: Vec<Id>,
    /// Start of each page's filter in `filter`, and its end at last; none where the memory did not suffice.
    filter_at: Vec<u32>,
    filter: Vec<u64>,
    last_id: Option<Id>,
    memory: usize,
    budget: Arc<Budget>,
    pub retired: AtomicBool,
}

impl Drop for Run {
    fn drop(&mut self) {
        self.budget.give_back(self.memory);
        self.budget.forget(self.uid, self.pages());
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
    pub fn summary_of(&self, segment: u32) -> Option<&Covered> {
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
        // Hashed ids lie evenly between the first and the last: mostly it is near where it would be.
        let (low, width) = (be64(first), be64(last) - be64(first));
        let pages = self.fences.len();
        let guess = u128::from(be64(id) - low) * pages as u128 / (u128::from(width) + 1);
        let mut page = guess as usize;
        for _ in 0..MAX_STEPS {
            match (after(page), after(page + 1)) {
                (true, _) => page -= 1,
                (false, false) => page += 1,
                (false, true) => return Some(page),
            }
        }
        self.fences.partition_point(|fence| fence <= id).checked_sub(1)
    }

    /// The page that may have a key; `None` where none has it.
    pub fn candidate(&self, id: &Id) -> Option<usize> {
        let page = self.page_of(id)?;
        if self.filter.is_empty() {
            return Some(page);
        }
        let words = &self.filter[self.filter_at[page] as usize..self.filter_at[page + 1] as usize];
        filter_has(words, id).then_some(page)
    }

    /// The key's entry in a page: one read, or none where the page is in memory. Reads are counted.
    pub fn search(
        &self,
        handles: &Handles,
        number: usize,
        id: &Id,
        reads: &AtomicU64,
    ) -> Result<Option<Entry>, LittError> {
        let page = match self.budget.page(self.uid, number) {
            Some(page) => page,
            None => {
                reads.fetch_add(1, Ordering::Relaxed);
                let page = Arc::new(self.read_page(handles, number)?);
                self.budget.keep(self.uid, number, page.clone());
                page
            }
        };
        let Some(bytes) = page.find(id) else { return Ok(None) };
        self.decode(bytes).map(Some).ok_or_else(|| self.corrupt(number))
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
        Some(Entry { id, segment, place: Place { offset, span, skip, len, number, raw } })
    }

    /// Opens a run; `Ok(None)` where the file is damaged or of another time: it is made again from the segments then.
    /// `going` is memory of indexes in whose place it comes.
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
        let Some(parts) = Tail::decode(&tail, shard) else { return Ok(None) };
        let mut run = parts.into_run(path, budget, going);
        (run.first, run.last, run.entries, run.file_bytes) = (first, last, be64(&trailer[16..]), len);
        (run.seed, run.made_after) = (be64(&trailer[44..]), be32(&trailer[52..]));
        Ok(Some(run))
    }
}

pub(crate) fn page_crc(seed: u64, page: usize, bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes) ^ mix(seed ^ page as u64) as u32
}

/// What stands in a run's tail.
pub(crate) struct Tail {
    pub covered: Vec<Covered>,
    pub fences: Vec<Id>,
    pub filter_at: Vec<u32>,
    pub filter: Vec<u64>,
    pub last_id: Option<Id>,
}

impl Tail {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&(self.covered.len() as u32).to_be_bytes());
        for Covered { header, summary } in &self.covered {
            out.extend_from_slice(&header.index.to_be_bytes());
            out.extend_from_slice(&header.salt);
            out.extend_from_slice(&header.dictionary.to_be_bytes());
            out.extend_from_slice(&summary.encode());
        }
        out.extend_from_slice(&(self.fences.len() as u32).to_be_bytes());
        for (page, first) in self.fences.iter().enumerate() {
            out.extend_from_slice(first);
            let words = self.filter_at[page + 1] - self.filter_at[page];
            out.extend_from_slice(&(words as u16).to_be_bytes());
        }
        out.extend_from_slice(&self.last_id.unwrap_or_default());
        self.filter.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
        out
    }

    fn decode(mut bytes: &[u8], shard: u8) -> Option<Self> {
        let at = &mut bytes;
        let mut covered = Vec::new();
        for _ in 0..be32(take(at, 4)?) {
            let index = be32(take(at, 4)?);
            let salt = take(at, 16)?.try_into().ok()?;
            let dictionary = be32(take(at, 4)?);
            let summary = Summary::decode(take(at, Summary::ENCODED)?);
            covered.push(Covered { header: SegmentHeader { shard, index, salt, dictionary }, summary });
        }
        let (mut fences, mut filter_at) = (Vec::new(), vec![0_u32]);
        for _ in 0..be32(take(at, 4)?) {
            fences.push(take(at, 12)?.try_into().ok()?);
            let words = take(at, 2)?;
            let end = filter_at.last()?.checked_add(u16::from_be_bytes([words[0], words[1]]).into())?;
            filter_at.push(end);
        }
        let last_id: Id = take(at, 12)?.try_into().ok()?;
        let words = *filter_at.last()? as usize;
        let filter: Vec<u64> = take(at, words.checked_mul(8)?)?.chunks_exact(8).map(be64).collect();
        let last_id = (!fences.is_empty()).then_some(last_id);
        Some(Self { covered, fences, filter_at, filter, last_id })
    }

    /// The run but for what the trailer says.
    fn into_run(mut self, path: &Path, budget: &Arc<Budget>, going: usize) -> Run {
        let fixed = self.fences.len() * size_of::<Id>() + self.covered.len() * size_of::<Covered>();
        let filters = self.filter.len() * 8 + self.filter_at.len() * 4;
        let memory = if budget.fits(fixed + filters, going) {
            fixed + filters
        } else {
            (self.filter, self.filter_at) = (Vec::new(), Vec::new());
            fixed
        };
        self.fences.shrink_to_fit();
        self.filter.shrink_to_fit();
        budget.add(memory);
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
            filter_at: self.filter_at,
            filter: self.filter,
            last_id: self.last_id,
            memory,
            budget: budget.clone(),
            retired: AtomicBool::new(false),
        }
    }
}

/// Raw bytes in a span of raw frames.
pub(crate) fn raw_len(span: u32) -> u32 {
    span.saturating_sub(span.div_ceil((FRAME_BYTES + FRAME_HEADER) as u32) * FRAME_HEADER as u32)
}

fn filter_bits(words: usize, id: &Id) -> impl Iterator<Item = usize> {
    let hash = mix(be64(id) ^ mix(u64::from(be32(&id[8..]))));
    let (low, high) = (hash as u32, (hash >> 32) as u32 | 1);
    let bits = (words * 64) as u64;
    (0..FILTER_HASHES).map(move |i| {
        let spread = low.wrapping_add(high.wrapping_mul(i));
        ((u64::from(spread) * bits) >> 32) as usize
    })
}

pub(crate) fn filter_add(words: &mut [u64], id: &Id) {
    filter_bits(words.len(), id).for_each(|bit| words[bit / 64] |= 1 << (bit % 64));
}

fn filter_has(words: &[u64], id: &Id) -> bool {
    filter_bits(words.len(), id).all(|bit| words[bit / 64] & 1 << (bit % 64) != 0)
}
