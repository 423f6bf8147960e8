//! Reading a segment's records one after the other.

use crate::LittError;
use crate::format::{
    FRAME_BYTES, FRAME_HEADER, FrameHeader, Head, MAX_HEAD_BYTES, RECORD_MAGIC, SEGMENT_HEADER, decode_keys,
    frame_count, head_is_good, peek_head, stored_head_crc,
};
use crate::keys::KeyLocation;
use crate::segment::Segment;
use hearth_disk::DiskFile;
use std::ops::Range;
use std::sync::Arc;

/// Bytes read at once.
const WINDOW_BYTES: usize = 256 << 10;

/// A record found by a scan.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub start: u64,
    /// Offset of the first frame.
    pub frames_at: u64,
    pub end: u64,
    pub head: Head,
    pub head_crc: u32,
    /// Keys with their ranges of the value, the primary first.
    pub keys: Vec<(Vec<u8>, Range<u32>)>,
}

/// Headers of a record's frames with their offsets, or the offset of the first that is wrong.
pub(crate) type Frames = Result<Vec<(u64, FrameHeader)>, u64>;

/// What lies at an offset.
pub(crate) enum At {
    Record(Found),
    /// Nothing that verifies.
    Bad,
}

/// A window over a segment's file.
pub(crate) struct Scanner<'a> {
    pub segment: &'a Segment,
    file: Arc<dyn DiskFile>,
    /// Offset at which reading ends.
    pub end: u64,
    window: Vec<u8>,
    window_at: u64,
}

impl<'a> Scanner<'a> {
    pub fn new(segment: &'a Segment, file: Arc<dyn DiskFile>, end: u64) -> Self {
        Self { segment, file, end, window: Vec::new(), window_at: 0 }
    }

    /// Offset of the first record.
    pub const START: u64 = SEGMENT_HEADER as u64;

    /// Bytes from an offset, as many as there are up to `len`.
    fn bytes(&mut self, at: u64, len: usize) -> Result<&[u8], LittError> {
        let len = len.min(self.end.saturating_sub(at) as usize);
        let have = self.window_at..self.window_at + self.window.len() as u64;
        if !(have.start <= at && at + len as u64 <= have.end) {
            let read = len.max(WINDOW_BYTES.min((self.end - at) as usize));
            self.window.resize(read, 0);
            self.window_at = at;
            let result = self.file.read_exact_at(&mut self.window, at);
            if let Err(error) = result {
                self.window.clear();
                return Err(self.segment.read_error(at, error));
            }
        }
        let from = (at - self.window_at) as usize;
        Ok(&self.window[from..from + len])
    }

    /// The record at an offset, if its head verifies and it ends before the end.
    pub fn record_at(&mut self, at: u64) -> Result<At, LittError> {
        let end = self.end;
        let seed = self.segment.seed;
        let Some((head, fixed)) = peek_head(self.bytes(at, MAX_HEAD_BYTES)?) else { return Ok(At::Bad) };
        let frames_at = at + fixed as u64 + head.keys_len;
        let record_end = frames_at.saturating_add(head.frames_len());
        if record_end > end {
            return Ok(At::Bad);
        }
        let bytes = self.bytes(at, fixed + head.keys_len as usize)?;
        if !head_is_good(seed, at, bytes) {
            return Ok(At::Bad);
        }
        let keys = match head.mark {
            true => Vec::new(),
            false => match decode_keys(&bytes[fixed..], head.value_len) {
                Some(keys) => keys.into_iter().map(|(key, range)| (key.to_vec(), range)).collect(),
                None => return Ok(At::Bad),
            },
        };
        let head_crc = stored_head_crc(bytes);
        Ok(At::Record(Found { start: at, frames_at, end: record_end, head, head_crc, keys }))
    }

    /// The first good record at or behind an offset.
    pub fn resync(&mut self, mut from: u64) -> Result<Option<Found>, LittError> {
        while from + (RECORD_MAGIC.len() as u64) < self.end {
            let window = self.bytes(from, WINDOW_BYTES)?;
            let hits: Vec<u64> = window
                .windows(RECORD_MAGIC.len())
                .enumerate()
                .filter(|(_, w)| **w == RECORD_MAGIC)
                .map(|(i, _)| from + i as u64)
                .collect();
            // A magic may lie across the border of two windows.
            let next = from + (window.len() - (RECORD_MAGIC.len() - 1)) as u64;
            for hit in hits {
                if let At::Record(found) = self.record_at(hit)? {
                    return Ok(Some(found));
                }
            }
            from = next;
        }
        Ok(None)
    }

    /// Headers of a record's frames with their offsets; the bytes of each are checked where
    /// `verify` is set. `Err` holds the offset of the frame that is wrong.
    pub fn frames(&mut self, found: &Found, verify: bool) -> Result<Frames, LittError> {
        let mut frames = Vec::with_capacity(frame_count(found.head.value_len) as usize);
        let mut at = found.frames_at;
        let seed = self.segment.seed;
        for _ in 0..frame_count(found.head.value_len) {
            if at + FRAME_HEADER as u64 > found.end {
                return Ok(Err(at));
            }
            let header = FrameHeader::decode(self.bytes(at, FRAME_HEADER)?, seed, at);
            let next = at + FRAME_HEADER as u64 + u64::from(header.stored_len);
            if header.stored_len as usize > FRAME_BYTES || next > found.end {
                return Ok(Err(at));
            }
            if verify {
                let bytes = self.bytes(at, FRAME_HEADER + header.stored_len as usize)?;
                if !header.is_good(&bytes[FRAME_HEADER..]) {
                    return Ok(Err(at));
                }
            }
            frames.push((at, header));
            at = next;
        }
        Ok(if at == found.end { Ok(frames) } else { Err(at) })
    }

    /// A record's value, checked and decoded.
    pub fn value(&mut self, found: &Found) -> Result<Vec<u8>, LittError> {
        let frames = match self.frames(found, true)? {
            Ok(frames) => frames,
            Err(at) => return Err(self.segment.corrupt(at, "checksum of a frame")),
        };
        let segment = self.segment;
        let mut value = Vec::with_capacity(found.head.value_len as usize);
        for (at, header) in frames {
            let bytes = self.bytes(at, FRAME_HEADER + header.stored_len as usize)?;
            crate::codec::decode(
                header.codec,
                &bytes[FRAME_HEADER..],
                segment.dictionary.as_deref(),
                &mut value,
            )
            .map_err(|what| segment.corrupt(at, what))?;
        }
        if value.len() as u64 != found.head.value_len {
            return Err(segment.corrupt(found.frames_at, "length of a value"));
        }
        Ok(value)
    }
}

/// The frames of a record.
pub(crate) struct Span<'a> {
    /// Offset of the first one.
    pub start: u64,
    /// Offset behind the last one.
    pub end: u64,
    /// Offset of each; none where the record is damaged.
    pub frames: &'a [u64],
    pub number: u64,
    /// Whether all are stored as they are.
    pub raw: bool,
}

impl Span<'_> {
    /// Where a range of the value lies. Where the frames are not known, that is the whole value, so
    /// that reading it finds the damage.
    pub fn place(&self, range: &Range<u32>) -> KeyLocation {
        let (first, last) = match self.frames.is_empty() || range.is_empty() {
            true => (0, usize::MAX - 1),
            false => (range.start as usize / FRAME_BYTES, (range.end as usize - 1) / FRAME_BYTES),
        };
        let start = self.frames.get(first).copied().unwrap_or(self.start);
        let end = self.frames.get(last + 1).copied().unwrap_or(self.end);
        KeyLocation {
            offset: start as u32,
            span: (end - start) as u32,
            skip: range.start - (first * FRAME_BYTES) as u32,
            len: range.end - range.start,
            number: self.number,
            raw: self.raw,
        }
    }
}
