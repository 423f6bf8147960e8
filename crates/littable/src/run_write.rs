//! Writing a run; its format is described in `run`.

use crate::LittError;
use crate::ctx::Ctx;
use crate::doc;
use crate::format::random;
use crate::keys::{Id, NO_NUMBER};
use crate::pages::entry_len;
use crate::run::{
    BIT_EXTENDED, BIT_NUMBER, BIT_RAW, CoveredSegment, Entry, MAGIC, PAGE_BYTES, PAGE_HEADER, Run, RunTail,
    TRAILER, VERSION, filter_add, page_crc, raw_len, run_name,
};
use crate::segment::OpenSegment;
use hearth_disk::DiskFile;

/// Writes a run from entries in the order of their ids.
pub(crate) struct RunWriter<'a> {
    file: &'a dyn DiskFile,
    seed: u64,
    first: u32,
    last: u32,
    made_after: u32,
    tail: RunTail,
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
    /// A run of the segments `first` to `last` with so many keys at most, made after so many cuts
    /// of the table.
    pub fn new(
        file: &'a dyn DiskFile,
        (first, last): (u32, u32),
        covered: Vec<CoveredSegment>,
        keys: u64,
        made_after: u32,
    ) -> Self {
        let tail = RunTail::new(covered, keys);
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
        if self.page.len() + entry_len(word) > PAGE_BYTES {
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
        for id in &self.page_ids {
            filter_add(&mut self.tail.filter, id);
        }
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
        let mut out = self.tail.encode();
        let (tail_len, tail_crc) = (out.len(), crc32fast::hash(&out));
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_be_bytes());
        out.extend_from_slice(&[shard, 0]);
        out.extend_from_slice(&self.first.to_be_bytes());
        out.extend_from_slice(&self.last.to_be_bytes());
        out.extend_from_slice(&self.entries.to_be_bytes());
        out.extend_from_slice(&self.written.to_be_bytes());
        out.extend_from_slice(&(tail_len as u64).to_be_bytes());
        out.extend_from_slice(&tail_crc.to_be_bytes());
        out.extend_from_slice(&self.seed.to_be_bytes());
        out.extend_from_slice(&self.made_after.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        let crc = crc32fast::hash(&out[tail_len..tail_len + TRAILER - 4]);
        out.extend_from_slice(&crc.to_be_bytes());
        self.file.write_all_at(&out, self.written)
    }
}

/// Writes the run of one sealed segment, durably, and opens it.
pub(crate) fn write_run(ctx: &Ctx, shard: u8, open: &OpenSegment) -> Result<Run, LittError> {
    let index = open.segment.index();
    let summary = open.progress.lock().summary;
    let mut entries: Vec<Entry> =
        open.keys.read().iter().map(|(id, place)| Entry { id: *id, segment: index, place: *place }).collect();
    entries.sort_unstable_by_key(|entry| entry.id);
    let covered = vec![CoveredSegment { header: open.segment.header, summary }];
    let path = ctx.home.join(run_name(shard, index, index));
    let cuts = ctx.state.lock().last_cut();
    doc::replace_with(&*ctx.disk, &path, |file| {
        let mut writer = RunWriter::new(file, (index, index), covered, entries.len() as u64, cuts);
        entries.iter().try_for_each(|entry| writer.push(entry, summary.min_number))?;
        writer.finish(shard)
    })?;
    let run = Run::open(&*ctx.disk, &path, shard, &ctx.budget, 0)?;
    run.ok_or_else(|| LittError::corrupt(&path, 0, "key index that was just written"))
}
