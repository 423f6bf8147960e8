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
use crate::format::{FRAME_BYTES, FRAME_HEADER, SegmentHeader, Summary, be32, be64, mix, random, take};
use crate::handles::{Handles, next_uid};
use crate::keys::{Id, NO_NUMBER, Place};
use hearth_disk::{Disk, DiskFile};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const MAGIC: [u8; 4] = *b"HLR2";
const VERSION: u16 = 2;
pub(crate) const PAGE_BYTES: usize = 4096;
const PAGE_HEADER: usize = 8;
const TRAILER: usize = 64;
/// Bits of a filter for each key, and bits that a key sets.
const FILTER_BITS: usize = 12;
const FILTER_HASHES: u32 = 8;
/// Most segments of one run: entries count them with 14 bits.
pub(crate) const MAX_RUN_SEGMENTS: u32 = 1 << 14;
const BIT_EXTENDED: u16 = 1 << 15;
const BIT_NUMBER: u16 = 1 << 14;
const BIT_RAW: u32 = 1 << 31;

/// Memory of all indexes of a store, against its bound.
#[derive(Debug)]
pub(crate) struct Budget {
    pub limit: usize,
    pub used: AtomicUsize,
}

impl Budget {
    pub fn new(limit: usize) -> Self {
        Self { limit, used: AtomicUsize::new(0) }
    }

    fn add(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    fn fits(&self, bytes: usize) -> bool {
        self.used.load(Ordering::Relaxed) + bytes <= self.limit
    }
}

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
        self.budget.used.fetch_sub(self.memory, Ordering::Relaxed);
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

    fn page_of(&self, id: &Id) -> Option<usize> {
        if self.last_id.is_some_and(|last| *id > last) {
            return None;
        }
        self.fences.partition_point(|first| first <= id).checked_sub(1)
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

    /// The key's entry in a page: one read.
    pub fn search(&self, handles: &Handles, page: usize, id: &Id) -> Result<Option<Entry>, LittError> {
        let file = handles.get(self.uid, &self.path)?;
        let bytes = self.page(&*file, page)?;
        for entry in Entries::new(self, &bytes) {
            let entry = entry.ok_or_else(|| self.corrupt(page))?;
            if entry.id == *id {
                return Ok(Some(entry));
            }
            if entry.id > *id {
                break;
            }
        }
        Ok(None)
    }

    fn corrupt(&self, page: usize) -> LittError {
        LittError::corrupt(&self.path, (page * PAGE_BYTES) as u64, "page of the key index")
    }

    fn page(&self, file: &dyn DiskFile, page: usize) -> Result<[u8; PAGE_BYTES], LittError> {
        let mut bytes = [0; PAGE_BYTES];
        let offset = (page * PAGE_BYTES) as u64;
        file.read_exact_at(&mut bytes, offset).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => self.corrupt(page),
            _ => LittError::io(&self.path)(error),
        })?;
        match page_crc(self.seed, page, &bytes[4..]) == be32(&bytes) {
            true => Ok(bytes),
            false => Err(self.corrupt(page)),
        }
    }

    /// Pages of the file.
    pub fn pages(&self) -> usize {
        self.fences.len()
    }

    /// All entries of a page, in order.
    pub fn page_entries(&self, handles: &Handles, page: usize) -> Result<Vec<Entry>, LittError> {
        let file = handles.get(self.uid, &self.path)?;
        let bytes = self.page(&*file, page)?;
        Entries::new(self, &bytes).collect::<Option<Vec<_>>>().ok_or_else(|| self.corrupt(page))
    }

    /// Opens a run; `Ok(None)` where the file is damaged or of another time: it is made again from the segments then.
    pub fn open(
        disk: &dyn Disk,
        path: &Path,
        shard: u8,
        budget: &Arc<Budget>,
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
        let mut run = parts.into_run(path, budget);
        (run.first, run.last, run.entries, run.file_bytes) = (first, last, be64(&trailer[16..]), len);
        (run.seed, run.made_after) = (be64(&trailer[44..]), be32(&trailer[52..]));
        Ok(Some(run))
    }
}

fn page_crc(seed: u64, page: usize, bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes) ^ mix(seed ^ page as u64) as u32
}

/// What stands in a run's tail.
struct Tail {
    covered: Vec<Covered>,
    fences: Vec<Id>,
    filter_at: Vec<u32>,
    filter: Vec<u64>,
    last_id: Option<Id>,
}

impl Tail {
    fn encode(&self) -> Vec<u8> {
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
        let (mut fences, mut filter_at) = (Vec::new(), vec![0]);
        for _ in 0..be32(take(at, 4)?) {
            fences.push(take(at, 12)?.try_into().ok()?);
            let words = take(at, 2)?;
            let end = filter_at.last()? + u32::from(u16::from_be_bytes([words[0], words[1]]));
            filter_at.push(end);
        }
        let last_id: Id = take(at, 12)?.try_into().ok()?;
        let words = *filter_at.last()? as usize;
        let filter: Vec<u64> = take(at, words * 8)?.chunks_exact(8).map(be64).collect();
        let last_id = (!fences.is_empty()).then_some(last_id);
        Some(Self { covered, fences, filter_at, filter, last_id })
    }

    /// The run but for what the trailer says.
    fn into_run(mut self, path: &Path, budget: &Arc<Budget>) -> Run {
        let fixed = self.fences.len() * size_of::<Id>() + self.covered.len() * size_of::<Covered>();
        let filters = self.filter.len() * 8 + self.filter_at.len() * 4;
        let memory = if budget.fits(fixed + filters) {
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

/// Decodes the entries of a page; yields `None` once where one does not decode.
struct Entries<'a> {
    run: &'a Run,
    bytes: &'a [u8],
    left: u16,
}

impl<'a> Entries<'a> {
    fn new(run: &'a Run, page: &'a [u8; PAGE_BYTES]) -> Self {
        let left = u16::from_be_bytes([page[4], page[5]]);
        Self { run, bytes: &page[PAGE_HEADER..], left }
    }

    fn decode(&mut self) -> Option<Entry> {
        let at = &mut self.bytes;
        let id = take(at, 12)?.try_into().ok()?;
        let word = take(at, 2)?;
        let word = u16::from_be_bytes([word[0], word[1]]);
        let offset = be32(take(at, 4)?);
        let span = be32(take(at, 4)?);
        let segment = self.run.first + u32::from(word & (BIT_NUMBER - 1));
        let number = match word & BIT_NUMBER {
            0 => NO_NUMBER,
            _ => {
                self.run.summary_of(segment)?.summary.min_number.checked_add(u64::from(be32(take(at, 4)?)))?
            }
        };
        let raw = span & BIT_RAW != 0;
        let span = span & !BIT_RAW;
        let (skip, len) = match word & BIT_EXTENDED {
            0 => (0, raw_len(span)),
            _ => (be32(take(at, 4)?), be32(take(at, 4)?)),
        };
        Some(Entry { id, segment, place: Place { offset, span, skip, len, number, raw } })
    }
}

impl Iterator for Entries<'_> {
    type Item = Option<Entry>;

    fn next(&mut self) -> Option<Option<Entry>> {
        self.left = self.left.checked_sub(1)?;
        let entry = self.decode();
        if entry.is_none() {
            self.left = 0;
        }
        Some(entry)
    }
}

/// Raw bytes in a span of raw frames.
fn raw_len(span: u32) -> u32 {
    span - span.div_ceil((FRAME_BYTES + FRAME_HEADER) as u32) * FRAME_HEADER as u32
}

/// Writes a run from entries in the order of their ids.
pub(crate) struct RunWriter<'a> {
    file: &'a dyn DiskFile,
    seed: u64,
    first: u32,
    last: u32,
    made_after: u32,
    tail: Tail,
    page: Vec<u8>,
    page_ids: Vec<Id>,
    entries: u64,
    /// Pages that wait to be written together.
    batch: Vec<u8>,
    written: u64,
}

/// Bytes of pages that are written at once.
const BATCH_BYTES: usize = 1 << 20;

impl<'a> RunWriter<'a> {
    /// A run of the segments `first` to `last`, made after so many cuts of the table.
    pub fn new(
        file: &'a dyn DiskFile,
        (first, last): (u32, u32),
        covered: Vec<Covered>,
        made_after: u32,
    ) -> Self {
        let tail =
            Tail { covered, fences: Vec::new(), filter_at: vec![0], filter: Vec::new(), last_id: None };
        let page = vec![0; PAGE_HEADER];
        let (page_ids, batch) = (Vec::new(), Vec::new());
        let seed = u64::from_be_bytes(random());
        Self { file, seed, first, last, made_after, tail, page, page_ids, entries: 0, batch, written: 0 }
    }

    pub fn push(&mut self, entry: &Entry, min_number: u64) -> std::io::Result<()> {
        let Entry { id, segment, place } = entry;
        let mut word = (segment - self.first) as u16;
        let delta = match place.number {
            NO_NUMBER => None,
            number => u32::try_from(number.wrapping_sub(min_number)).ok(),
        };
        let extended = !place.raw || place.skip != 0 || place.len != raw_len(place.span);
        word |= if delta.is_some() { BIT_NUMBER } else { 0 };
        word |= if extended { BIT_EXTENDED } else { 0 };
        let len = 22 + if delta.is_some() { 4 } else { 0 } + if extended { 8 } else { 0 };
        if self.page.len() + len > PAGE_BYTES {
            self.finish_page()?;
        }
        self.page.extend_from_slice(id);
        self.page.extend_from_slice(&word.to_be_bytes());
        self.page.extend_from_slice(&place.offset.to_be_bytes());
        let span = place.span | if place.raw { BIT_RAW } else { 0 };
        self.page.extend_from_slice(&span.to_be_bytes());
        delta.iter().for_each(|delta| self.page.extend_from_slice(&delta.to_be_bytes()));
        if extended {
            self.page.extend_from_slice(&place.skip.to_be_bytes());
            self.page.extend_from_slice(&place.len.to_be_bytes());
        }
        self.page_ids.push(*id);
        self.entries += 1;
        Ok(())
    }

    fn finish_page(&mut self) -> std::io::Result<()> {
        let Some(first) = self.page_ids.first() else { return Ok(()) };
        let number = self.tail.fences.len();
        self.tail.fences.push(*first);
        self.tail.last_id = self.page_ids.last().copied();
        let words = (self.page_ids.len() * FILTER_BITS).div_ceil(64).max(1);
        let start = self.tail.filter.len();
        self.tail.filter.resize(start + words, 0);
        for id in &self.page_ids {
            filter_add(&mut self.tail.filter[start..], id);
        }
        self.tail.filter_at.push((start + words) as u32);
        self.page.resize(PAGE_BYTES, 0);
        self.page[4..6].copy_from_slice(&(self.page_ids.len() as u16).to_be_bytes());
        let crc = page_crc(self.seed, number, &self.page[4..]);
        self.page[..4].copy_from_slice(&crc.to_be_bytes());
        self.batch.extend_from_slice(&self.page);
        self.page.clear();
        self.page.resize(PAGE_HEADER, 0);
        self.page_ids.clear();
        if self.batch.len() >= BATCH_BYTES { self.write_batch() } else { Ok(()) }
    }

    fn write_batch(&mut self) -> std::io::Result<()> {
        self.file.write_all_at(&self.batch, self.written)?;
        self.written += self.batch.len() as u64;
        self.batch.clear();
        Ok(())
    }

    /// Writes the last page, tail and trailer. The caller syncs.
    pub fn finish(mut self, shard: u8) -> std::io::Result<()> {
        self.finish_page()?;
        self.write_batch()?;
        let tail = self.tail.encode();
        let mut out = tail.clone();
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_be_bytes());
        out.extend_from_slice(&[shard, 0]);
        out.extend_from_slice(&self.first.to_be_bytes());
        out.extend_from_slice(&self.last.to_be_bytes());
        out.extend_from_slice(&self.entries.to_be_bytes());
        out.extend_from_slice(&self.written.to_be_bytes());
        out.extend_from_slice(&(tail.len() as u64).to_be_bytes());
        out.extend_from_slice(&crc32fast::hash(&tail).to_be_bytes());
        out.extend_from_slice(&self.seed.to_be_bytes());
        out.extend_from_slice(&self.made_after.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        let crc = crc32fast::hash(&out[tail.len()..tail.len() + TRAILER - 4]);
        out.extend_from_slice(&crc.to_be_bytes());
        self.file.write_all_at(&out, self.written)
    }
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

fn filter_add(words: &mut [u64], id: &Id) {
    filter_bits(words.len(), id).for_each(|bit| words[bit / 64] |= 1 << (bit % 64));
}

fn filter_has(words: &[u64], id: &Id) -> bool {
    filter_bits(words.len(), id).all(|bit| words[bit / 64] & 1 << (bit % 64) != 0)
}
