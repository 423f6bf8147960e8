//! Bytes on disk. All integers are big-endian.
//!
//! ```text
//! <table>/NNNNNNNNNN.seg   segment N, decimal, ten digits
//! segment  = header record*
//! header   = magic "HLIT" | version u16 | segment u32 | base u64 | salt 16 bytes | crc u32 of all before
//! record   = magic u32 | keys_len u32 | value_len u32 | value_crc u32 | head_crc u32 | keys | value
//! keys     = (key_len u16 | start u32 | end u32 | key)+          the first is the primary, 0..value_len
//! head_crc = crc32 of salt | offset u64 of the record in the segment | the four fields before | keys
//! ```
//!
//! `base` is the table position at which the segment's byte 0 lies: positions count bytes over all segments.
//! The salt is random: bytes of a value that look like a record cannot carry a valid `head_crc`, so a scan may
//! look for the next record behind a damaged one.

use std::ops::Range;

/// Newest segment format that this version reads and the one that it writes.
pub const VERSION: u16 = 1;
/// Largest key, in bytes.
pub const MAX_KEY_BYTES: usize = 1024;
/// Most keys in one group.
pub const MAX_GROUP_KEYS: usize = 65_536;
/// Largest value, in bytes.
pub const MAX_VALUE_BYTES: usize = 1 << 30;

pub(crate) const SEGMENT_HEADER: usize = 38;
pub(crate) const RECORD_HEADER: usize = 20;
const SEGMENT_MAGIC: [u8; 4] = *b"HLIT";
pub(crate) const RECORD_MAGIC: [u8; 4] = [0xf3, b'L', b'R', 0xc1];
const KEY_HEADER: usize = 10;
/// Longest keys section, in bytes.
pub(crate) const MAX_KEYS_BYTES: usize = MAX_GROUP_KEYS * (MAX_KEY_BYTES + KEY_HEADER);

pub(crate) type Salt = [u8; 16];

/// A segment's header, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub index: u32,
    pub base: u64,
    pub salt: Salt,
}

/// Why a segment header does not decode.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HeaderFault {
    Damaged,
    Newer(u16),
}

impl SegmentHeader {
    pub fn encode(&self) -> [u8; SEGMENT_HEADER] {
        let mut out = [0; SEGMENT_HEADER];
        out[..4].copy_from_slice(&SEGMENT_MAGIC);
        out[4..6].copy_from_slice(&VERSION.to_be_bytes());
        out[6..10].copy_from_slice(&self.index.to_be_bytes());
        out[10..18].copy_from_slice(&self.base.to_be_bytes());
        out[18..34].copy_from_slice(&self.salt);
        let crc = crc32fast::hash(&out[..34]);
        out[34..].copy_from_slice(&crc.to_be_bytes());
        out
    }

    pub fn decode(bytes: &[u8; SEGMENT_HEADER]) -> Result<Self, HeaderFault> {
        if bytes[..4] != SEGMENT_MAGIC {
            return Err(HeaderFault::Damaged);
        }
        let version = u16::from_be_bytes([bytes[4], bytes[5]]);
        if crc32fast::hash(&bytes[..34]) != be32(&bytes[34..]) {
            return Err(HeaderFault::Damaged);
        }
        if version > VERSION {
            return Err(HeaderFault::Newer(version));
        }
        let mut salt = [0; 16];
        salt.copy_from_slice(&bytes[18..34]);
        Ok(Self { index: be32(&bytes[6..]), base: be64(&bytes[10..]), salt })
    }
}

/// A record's fixed part, decoded but not yet checked against `head_crc`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordHeader {
    pub keys_len: u32,
    pub value_len: u32,
    pub value_crc: u32,
    pub head_crc: u32,
}

impl RecordHeader {
    /// `None` without the magic or where a length exceeds its limit.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < RECORD_HEADER || bytes[..4] != RECORD_MAGIC {
            return None;
        }
        let header = Self {
            keys_len: be32(&bytes[4..]),
            value_len: be32(&bytes[8..]),
            value_crc: be32(&bytes[12..]),
            head_crc: be32(&bytes[16..]),
        };
        let fits = header.keys_len as usize <= MAX_KEYS_BYTES && header.value_len as usize <= MAX_VALUE_BYTES;
        fits.then_some(header)
    }

    /// Bytes of the whole record.
    pub fn record_len(&self) -> u64 {
        RECORD_HEADER as u64 + u64::from(self.keys_len) + u64::from(self.value_len)
    }
}

/// Checksum of a record's head: binds it to its segment and place.
pub(crate) fn head_crc(salt: &Salt, offset: u64, fixed: &[u8], keys: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(salt);
    crc.update(&offset.to_be_bytes());
    crc.update(&fixed[..16]);
    crc.update(keys);
    crc.finalize()
}

/// One key of a group with its range of the value.
pub(crate) type GroupKey<'a> = (&'a [u8], Range<u32>);

/// Encodes a record. Limits have been checked.
pub(crate) fn encode_record(salt: &Salt, offset: u64, keys: &[GroupKey<'_>], value: &[u8]) -> Vec<u8> {
    let keys_len: usize = keys.iter().map(|(k, _)| KEY_HEADER + k.len()).sum();
    let mut out = Vec::with_capacity(RECORD_HEADER + keys_len + value.len());
    out.extend_from_slice(&RECORD_MAGIC);
    out.extend_from_slice(&(keys_len as u32).to_be_bytes());
    out.extend_from_slice(&(value.len() as u32).to_be_bytes());
    out.extend_from_slice(&crc32fast::hash(value).to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    for (key, range) in keys {
        out.extend_from_slice(&(key.len() as u16).to_be_bytes());
        out.extend_from_slice(&range.start.to_be_bytes());
        out.extend_from_slice(&range.end.to_be_bytes());
        out.extend_from_slice(key);
    }
    let (fixed, keys) = out.split_at(RECORD_HEADER);
    let crc = head_crc(salt, offset, fixed, keys);
    out[16..20].copy_from_slice(&crc.to_be_bytes());
    out.extend_from_slice(value);
    out
}

/// Decodes the keys section of a record whose head checksum is right; `None` where it does not parse.
pub(crate) fn decode_keys(mut bytes: &[u8], value_len: u32) -> Option<Vec<GroupKey<'_>>> {
    let mut keys = Vec::new();
    while !bytes.is_empty() {
        if bytes.len() < KEY_HEADER {
            return None;
        }
        let len = usize::from(u16::from_be_bytes([bytes[0], bytes[1]]));
        let range = be32(&bytes[2..])..be32(&bytes[6..]);
        if bytes.len() < KEY_HEADER + len || range.start > range.end || range.end > value_len {
            return None;
        }
        keys.push((&bytes[KEY_HEADER..KEY_HEADER + len], range));
        bytes = &bytes[KEY_HEADER + len..];
    }
    (!keys.is_empty()).then_some(keys)
}

fn be32(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn be64(bytes: &[u8]) -> u64 {
    u64::from(be32(bytes)) << 32 | u64::from(be32(&bytes[4..]))
}
