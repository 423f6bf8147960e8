//! Rebuilding a segment's part of the index from its record heads.

use crate::old::LittError;
use crate::old::format::{RECORD_HEADER, RECORD_MAGIC, RecordHeader, SEGMENT_HEADER, decode_keys, head_crc};
use crate::old::segment::Segment;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Bytes read at once for a record's head; longer key sections cost a second read.
const HEAD_READ_BYTES: usize = 512;
/// Bytes looked through at once for the next record behind a damaged one.
const RESYNC_READ_BYTES: usize = 1 << 20;

/// A record found by a scan.
pub(crate) struct Found {
    /// Offset behind the record.
    pub end: u64,
    /// Offset of the value.
    pub value_at: u64,
    pub value_len: u32,
    pub value_crc: u32,
    /// Keys with their ranges of the value.
    pub keys: Vec<(Box<[u8]>, Range<u32>)>,
}

/// What a scan saw of a segment.
pub(crate) struct Scan {
    pub records: Vec<Found>,
    /// Offset of the first damaged stretch that has valid records behind it.
    pub damaged_at: Option<u64>,
    /// Offset behind the last valid record; what follows in the file is no record.
    pub end: u64,
}

/// Reads the heads of all records of a segment. Values are not read.
pub(crate) fn scan(segment: &Segment) -> Result<Scan, LittError> {
    let len = segment.file_len()?;
    let mut scan = Scan { records: Vec::new(), damaged_at: None, end: SEGMENT_HEADER as u64 };
    let mut at = scan.end;
    while at < len {
        let found = match record_at(segment, at, len)? {
            Some(found) => found,
            None => {
                let Some(found) = resync(segment, at + 1, len)? else { break };
                scan.damaged_at.get_or_insert(at);
                found
            }
        };
        at = found.end;
        scan.end = at;
        scan.records.push(found);
    }
    Ok(scan)
}

/// The record at an offset, if its head is valid and it ends within the file.
fn record_at(segment: &Segment, at: u64, len: u64) -> Result<Option<Found>, LittError> {
    let mut head = vec![0; HEAD_READ_BYTES.min((len - at) as usize)];
    read(segment, &mut head, at)?;
    let Some(header) = RecordHeader::decode(&head) else { return Ok(None) };
    let end = at + header.record_len();
    if end > len {
        return Ok(None);
    }
    let head_len = RECORD_HEADER + header.keys_len as usize;
    if head.len() < head_len {
        let have = head.len();
        head.resize(head_len, 0);
        read(segment, &mut head[have..], at + have as u64)?;
    }
    let keys = &head[RECORD_HEADER..head_len];
    if head_crc(segment.salt(), at, &head[..RECORD_HEADER], keys) != header.head_crc {
        return Ok(None);
    }
    let Some(keys) = decode_keys(keys, header.value_len) else { return Ok(None) };
    Ok(Some(Found {
        end,
        value_at: at + head_len as u64,
        value_len: header.value_len,
        value_crc: header.value_crc,
        keys: keys.into_iter().map(|(key, range)| (key.into(), range)).collect(),
    }))
}

/// The first valid record at or behind an offset.
fn resync(segment: &Segment, mut from: u64, len: u64) -> Result<Option<Found>, LittError> {
    let mut buffer = Vec::new();
    while from + RECORD_HEADER as u64 <= len {
        buffer.resize(RESYNC_READ_BYTES.min((len - from) as usize), 0);
        read(segment, &mut buffer, from)?;
        for (i, window) in buffer.windows(RECORD_MAGIC.len()).enumerate() {
            if window == RECORD_MAGIC
                && let Some(found) = record_at(segment, from + i as u64, len)?
            {
                return Ok(Some(found));
            }
        }
        // A magic may lie across the border of two reads.
        from += (buffer.len() - (RECORD_MAGIC.len() - 1)) as u64;
    }
    Ok(None)
}

fn read(segment: &Segment, buffer: &mut [u8], at: u64) -> Result<(), LittError> {
    segment.file.read_exact_at(buffer, at).map_err(LittError::io(&segment.path))
}
