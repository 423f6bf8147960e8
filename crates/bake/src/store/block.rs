//! A baked block as requests read it: plain or in gzip, as a whole or one transaction.

use super::db::{HotBytes, HotDirectory, RowId, TraceDb};
use super::gzip::Envelope;
use super::inflate::{Steps, inflate, stored_blocks};
use super::layout::{Directory, HEADER_BYTES, damaged};
use crate::BakeError;
use hearth_littable::Value;
use hearth_primitives::Height;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Stored bytes that are read at a time.
const READ_BYTES: u32 = 1 << 20;

/// Raw bytes that a large piece gives at a time.
const STEP_BYTES: usize = 256 << 10;

/// A baked block.
#[derive(Clone)]
pub struct BakedBlock {
    db: Arc<TraceDb>,
    row: RowId,
    directory: HotDirectory,
    /// The beginning of the row's value, where that was read just now.
    front: Option<Value>,
}

/// Which part of a block's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// All of it, as the answer to a trace of the block.
    Block,
    /// The result of the transaction at this index.
    Transaction(usize),
}

/// What a part is.
pub enum Found {
    /// Bytes of a result, or of the whole answer.
    Bytes(Box<PlainAnswer>),
    /// The text of a transaction's error.
    Failed(String),
}

impl BakedBlock {
    pub(crate) fn new(db: Arc<TraceDb>, row: RowId, directory: HotDirectory, front: Option<Value>) -> Self {
        Self { db, row, directory, front }
    }

    /// Stored bytes: where they lie in a value.
    fn read(&self, range: Range<u32>) -> Result<(Value, Range<usize>), BakeError> {
        match self.front.as_ref().filter(|front| range.end as usize <= front.len()) {
            Some(front) => Ok((front.clone(), range.start as usize..range.end as usize)),
            None => self.db.read(&self.row, range).map(|value| {
                let all = 0..value.len();
                (value, all)
            }),
        }
    }

    fn directory(&self) -> Result<&Directory, BakeError> {
        self.directory.get()
    }

    /// Height of the block.
    pub fn number(&self) -> Height {
        self.directory().map_or(0, |directory| directory.header.number)
    }

    /// Transactions of the block.
    pub fn transactions(&self) -> usize {
        self.directory().map_or(0, Directory::len)
    }

    /// Where a part lies in the answer, and whether it is an error.
    fn range(&self, part: Part) -> Result<(Range<u64>, bool), BakeError> {
        let directory = self.directory()?;
        match part {
            Part::Block => Ok((0..directory.header.raw, false)),
            Part::Transaction(index) => directory.element(index).ok_or_else(|| {
                damaged(format!("it has {} transactions, and index {index} was requested", directory.len()))
            }),
        }
    }

    /// A part, to be read plain.
    ///
    /// # Errors
    /// [`BakeError::Damaged`], [`BakeError::Store`]. The row is dropped then.
    pub fn part(&self, part: Part) -> Result<Found, BakeError> {
        self.or_drop(self.find(part))
    }

    fn find(&self, part: Part) -> Result<Found, BakeError> {
        let (range, failed) = self.range(part)?;
        let mut answer = PlainAnswer {
            touched: self.directory()?.touched(&range),
            block: self.clone(),
            range,
            large: None,
        };
        if !failed {
            return Ok(Found::Bytes(Box::new(answer)));
        }
        let mut text = Vec::new();
        while let Some(bytes) = answer.next_bytes()? {
            text.extend_from_slice(&bytes);
        }
        let text = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        Ok(Found::Failed(text))
    }

    /// Bytes of a part; `None` for an error, and for a transaction that the block does not have.
    pub fn bytes(&self, part: Part) -> Option<u64> {
        self.range(part).ok().filter(|(_, failed)| !failed).map(|(range, _)| range.end - range.start)
    }

    /// A part, where all of it is in memory already; nothing is read from the disk. `None` for an
    /// error.
    pub fn hot(&self, part: Part) -> Option<Vec<AnswerBytes>> {
        self.find_at_once(part, None).ok()?.map(|found| found.pieces)
    }

    /// A part, where no more than so many bytes of it are still to be inflated; uncompressed
    /// ones only have to be read. `None` where it is more, and for an error.
    ///
    /// # Errors
    /// As [`Self::part`].
    pub fn part_at_once(&self, part: Part, inflate_bytes: u64) -> Result<Option<PartAtOnce>, BakeError> {
        self.or_drop(self.find_at_once(part, Some(inflate_bytes)))
    }

    /// `inflate_bytes`: `None` where nothing may be read.
    fn find_at_once(&self, part: Part, inflate_bytes: Option<u64>) -> Result<Option<PartAtOnce>, BakeError> {
        let (mut range, failed) = self.range(part)?;
        if failed {
            return Ok(None);
        }
        let directory = self.directory()?;
        let touched = directory.touched(&range);
        let mut found = PartAtOnce { pieces: Vec::with_capacity(touched.len()), hot: true };
        let (mut inflated, mut next) = (0, touched.start);
        while next < touched.end {
            let index = next;
            next += 1;
            if let Some(bytes) = self.db.hot_piece(&self.row, index as u32) {
                found.pieces.push(take_range(&mut range, directory.raw(index), Source::Hot(bytes), 0));
                continue;
            }
            let Some(most) = inflate_bytes else { return Ok(None) };
            found.hot = false;
            if directory.piece(index).is_uncompressed() {
                next = self.push_uncompressed(index..touched.end, &mut range, &mut found.pieces)?;
                continue;
            }
            inflated += directory.piece(index).raw;
            if inflated > most {
                return Ok(None);
            }
            let bytes = self.cold_piece(index)?;
            found.pieces.push(take_range(&mut range, directory.raw(index), Source::Hot(bytes), 0));
        }
        Ok(Some(found))
    }

    /// Appends the uncompressed pieces from the first of these on, which are read together and stay
    /// where they were read; the index of the piece behind them.
    fn push_uncompressed(
        &self,
        indices: Range<usize>,
        range: &mut Range<u64>,
        found: &mut Vec<AnswerBytes>,
    ) -> Result<usize, BakeError> {
        let directory = self.directory()?;
        let mut stored = directory.stored(indices.start);
        let mut end = indices.start + 1;
        while end < indices.end && directory.piece(end).is_uncompressed() {
            let next = directory.stored(end);
            if next.end - stored.start > READ_BYTES {
                break;
            }
            (stored.end, end) = (next.end, end + 1);
        }
        let (value, at) = self.read(stored.clone())?;
        for index in indices.start..end {
            let (piece, mut raw) = (directory.piece(index), directory.raw(index));
            let from = at.start + (directory.stored(index).start - stored.start) as usize;
            let bytes = &value[from..from + piece.stored as usize];
            let Some(blocks) = stored_blocks(&piece, bytes)? else {
                let bytes = self.db.keep_piece(&self.row, index as u32, inflate(&piece, bytes)?);
                found.push(take_range(range, raw, Source::Hot(bytes), 0));
                continue;
            };
            if let [block] = &blocks[..]
                && piece.is_kept()
            {
                self.db.keep_piece(&self.row, index as u32, bytes[block.clone()].to_vec());
            }
            for block in blocks {
                let end = raw.start + block.len() as u64;
                if range.start < end && raw.start < range.end {
                    let source = Source::Stored(value.clone());
                    found.push(take_range(range, raw.start..end, source, from + block.start));
                }
                raw.start = end;
            }
        }
        Ok(end)
    }

    /// Whether [`Self::gzip`] has something for a part that is smaller than the part itself.
    pub fn packs(&self, part: Part) -> bool {
        let (Ok((range, false)), Ok(directory)) = (self.range(part), self.directory()) else { return false };
        match part {
            Part::Block => u64::from(directory.header.body_end) < directory.header.raw,
            Part::Transaction(_) => directory.own_piece(&range).is_some_and(|index| {
                let piece = directory.piece(index);
                piece.stored < piece.raw
            }),
        }
    }

    /// A part as one gzip member, `head` before it and `tail` behind it. `None` for an error, and
    /// for a transaction whose result shares its piece with others: it is small, and goes out
    /// plain.
    ///
    /// # Errors
    /// As [`Self::part`].
    pub fn gzip(&self, part: Part, head: &[u8], tail: &[u8]) -> Result<Option<GzipAnswer>, BakeError> {
        let found = self.range(part).and_then(|(range, failed)| {
            let directory = self.directory()?;
            let header = &directory.header;
            let (raw_size_and_crc, stored) = match part {
                Part::Block => ((header.raw, header.crc), HEADER_BYTES as u32..header.body_end),
                Part::Transaction(_) => match directory.own_piece(&range).filter(|_| !failed) {
                    None => return Ok(None),
                    Some(index) => {
                        let piece = directory.piece(index);
                        ((piece.raw, piece.crc.unwrap_or_default()), directory.stored(index))
                    }
                },
            };
            let envelope = Envelope::new(head, raw_size_and_crc, tail);
            Ok(Some(GzipAnswer { block: self.clone(), envelope, stored, stage: 0 }))
        });
        self.or_drop(found)
    }

    /// Reads the stored bytes of a part to see that they are good; large answers are looked at
    /// before anything of them is sent.
    ///
    /// # Errors
    /// As [`Self::part`].
    pub fn verify(&self, part: Part) -> Result<(), BakeError> {
        self.or_drop(self.range(part).and_then(|(range, _)| {
            let directory = self.directory()?;
            let touched = directory.touched(&range);
            if touched.is_empty() {
                return Ok(());
            }
            let mut stored = directory.stored(touched.start).start..directory.stored(touched.end - 1).end;
            while !stored.is_empty() {
                self.db.read(&self.row, take_front(&mut stored))?;
            }
            Ok(())
        }))
    }

    /// Returns the result of a read. Removes the row from the cache if the read found it damaged.
    fn or_drop<T>(&self, found: Result<T, BakeError>) -> Result<T, BakeError> {
        found.map_err(|error| self.db.drop_damaged(self.row, self.number(), error))
    }

    /// A piece that is inflated, from memory or the disk.
    fn piece(&self, index: usize) -> Result<HotBytes, BakeError> {
        match self.db.hot_piece(&self.row, index as u32) {
            Some(bytes) => Ok(bytes),
            None => self.cold_piece(index),
        }
    }

    /// A piece that is not in memory.
    fn cold_piece(&self, index: usize) -> Result<HotBytes, BakeError> {
        let directory = self.directory()?;
        let (stored, range) = self.read(directory.stored(index))?;
        let piece = directory.piece(index);
        let bytes = inflate(&piece, &stored[range])?;
        Ok(match piece.is_kept() {
            true => self.db.keep_piece(&self.row, index as u32, bytes),
            false => HotBytes::of(bytes),
        })
    }
}

/// A part that is available at once.
pub struct PartAtOnce {
    /// Its bytes, in order.
    pub pieces: Vec<AnswerBytes>,
    /// Whether all of them were in the cache's memory.
    pub hot: bool,
}

/// Takes as much of a range as is read at a time.
fn take_front(range: &mut Range<u32>) -> Range<u32> {
    let now = range.start..range.end.min(range.start.saturating_add(READ_BYTES));
    range.start = now.end;
    now
}

/// Bytes of an answer, some of them shared with the cache.
#[derive(Clone)]
pub struct AnswerBytes {
    source: Source,
    range: Range<usize>,
}

#[derive(Clone)]
enum Source {
    Hot(HotBytes),
    Stored(Value),
    Owned(Arc<Vec<u8>>),
}

impl AnswerBytes {
    fn owned(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self { source: Source::Owned(Arc::new(bytes)), range }
    }
}

impl Deref for AnswerBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let all = match &self.source {
            Source::Hot(bytes) => bytes.as_ref(),
            Source::Stored(value) => value,
            Source::Owned(bytes) => bytes,
        };
        &all[self.range.clone()]
    }
}

/// A part of an answer, read plain.
pub struct PlainAnswer {
    block: BakedBlock,
    /// Pieces that are still to be read.
    touched: Range<usize>,
    /// Bytes of the answer that are still to be read.
    range: Range<u64>,
    /// A piece under way that is too large for memory.
    large: Option<Large>,
}

/// A piece that is inflated in steps.
struct Large {
    steps: Steps,
    stored: Range<u32>,
    read: Option<(Value, usize)>,
}

impl PlainAnswer {
    /// Bytes that are still to come.
    pub fn left(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    /// [`BakeError::Damaged`], [`BakeError::Store`]. The row is dropped then.
    pub fn read(&mut self) -> Result<Option<AnswerBytes>, BakeError> {
        let read = self.next_bytes();
        self.block.or_drop(read)
    }

    fn next_bytes(&mut self) -> Result<Option<AnswerBytes>, BakeError> {
        if let Some(large) = &mut self.large {
            let bytes = large.step(&self.block)?;
            self.range.start += bytes.len() as u64;
            if large.steps.left() == 0 {
                self.large = None;
            }
            return Ok(Some(AnswerBytes::owned(bytes)));
        }
        let Some(index) = self.touched.next() else { return Ok(None) };
        let directory = self.block.directory()?;
        let (piece, raw) = (directory.piece(index), directory.raw(index));
        let whole = self.range.start <= raw.start && raw.end <= self.range.end;
        // A result that has a piece of its own is requested as a whole.
        if whole && piece.crc.is_some() && piece.raw > self.block.db.hot_piece_max().max(STEP_BYTES as u64) {
            self.large =
                Some(Large { steps: Steps::new(piece), stored: directory.stored(index), read: None });
            return self.next_bytes();
        }
        let bytes = self.block.piece(index)?;
        Ok(Some(take_range(&mut self.range, raw, Source::Hot(bytes), 0)))
    }
}

impl Large {
    fn step(&mut self, block: &BakedBlock) -> Result<Vec<u8>, BakeError> {
        let mut out = Vec::with_capacity(STEP_BYTES.min(self.steps.left() as usize));
        while out.len() < out.capacity() && self.steps.left() > 0 {
            let (value, at) = match self.read.take() {
                Some(read) => read,
                None if self.stored.is_empty() => return Err(damaged("a piece is cut short")),
                None => (block.db.read(&block.row, take_front(&mut self.stored))?, 0),
            };
            let taken = self.steps.step(&value[at..], &mut out)?;
            self.read = (at + taken < value.len()).then_some((value, at + taken));
        }
        Ok(out)
    }
}

/// The bytes of a piece that lie in the range; they leave it. The piece begins at `at` in its
/// source.
fn take_range(range: &mut Range<u64>, raw: Range<u64>, source: Source, at: usize) -> AnswerBytes {
    let from = range.start.max(raw.start);
    let to = range.end.min(raw.end);
    range.start = to;
    AnswerBytes { source, range: at + (from - raw.start) as usize..at + (to - raw.start) as usize }
}

/// A part of an answer as one gzip member.
pub struct GzipAnswer {
    block: BakedBlock,
    envelope: Envelope,
    /// Stored bytes that are still to be read.
    stored: Range<u32>,
    /// 0: the envelope's beginning is next, 1: stored bytes, 2: its end, 3: nothing.
    stage: u8,
}

impl GzipAnswer {
    /// Bytes of the whole member.
    pub fn len(&self) -> u64 {
        (self.envelope.before.len() + self.stored.len() + self.envelope.behind.len()) as u64
    }

    /// A member is never empty.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    /// As [`PlainAnswer::read`].
    pub fn read(&mut self) -> Result<Option<AnswerBytes>, BakeError> {
        if self.stage == 1 && self.stored.is_empty() {
            self.stage = 2;
        }
        match self.stage {
            0 => {
                self.stage = 1;
                Ok(Some(AnswerBytes::owned(self.envelope.before.clone())))
            }
            1 => {
                let (value, range) = self.block.or_drop(self.block.read(take_front(&mut self.stored)))?;
                Ok(Some(AnswerBytes { source: Source::Stored(value), range }))
            }
            2 => {
                self.stage = 3;
                Ok(Some(AnswerBytes::owned(self.envelope.behind.clone())))
            }
            _ => Ok(None),
        }
    }
}
