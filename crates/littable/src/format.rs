//! Bytes of a segment file. Integers are big-endian, `v` is a LEB128 number.
//!
//! ```text
//! segment = header header record* footer?
//!           the header stands twice, so that one damaged copy costs nothing
//! header  = magic "HLS2" | version u16 | shard u8 | 0 u8 | index u32 | salt 16 bytes
//!         | dictionary u32 | crc u32
//! record  = magic u16 | head_crc u32 | flags u8 | v keys_len | v value_len | [v stored_len]
//!         | [v number] | [synced u64] | [v sequence] | keys | frame*
//! keys    = v key_len | key | (v key_len | v start | v length | key)*
//!           primary, then secondaries
//! frame   = crc u32 | codec u8 | stored_len u24 | bytes
//!           64 KiB of the value each, the last one the rest
//! footer  = magic "HLF2" | fields of Summary | crc u32
//! ```
//!
//! `head_crc` covers the segment's salt, the record's offset, and everything from the flags to the
//! keys. A frame's `crc` covers its codec, length and bytes, and is masked with a number that
//! depends on salt and offset: bytes that lie at the wrong place do not verify. The salt is random,
//! so bytes of a value that look like a record do not verify either, and a scan may look for the
//! next record behind a damaged one.
//!
//! `synced` is the position up to which the shard was known to be durable when the record was made;
//! it is there in the first record after each sync. What fails its checksum below it is damage,
//! above it a torn tail.

use std::ops::Range;

/// Newest segment format that this version reads and the one that it writes.
pub const VERSION: u16 = 2;
/// Raw bytes in a full frame.
pub const FRAME_BYTES: usize = 64 << 10;

pub(crate) const SEGMENT_HEADER: usize = 72;
const HEADER_COPY: usize = SEGMENT_HEADER / 2;
const SEGMENT_MAGIC: [u8; 4] = *b"HLS2";
const FOOTER_MAGIC: [u8; 4] = *b"HLF2";
pub(crate) const FOOTER_BYTES: usize = 8 + Summary::ENCODED;
pub(crate) const RECORD_MAGIC: [u8; 2] = [0xf3, 0xa9];
/// Bytes before the part of a record's head that `head_crc` covers.
const HEAD_FIXED: usize = 6;
/// Longest fixed part of a head: everything but the keys.
pub(crate) const MAX_HEAD_BYTES: usize = HEAD_FIXED + 1 + 5 * 10 + 8;
/// Longest keys section, in bytes.
const MAX_KEYS_BYTES: u64 = 512 << 20;
pub(crate) const FRAME_HEADER: usize = 8;

const FLAG_MARK: u8 = 1;
const FLAG_STORED: u8 = 2;
const FLAG_NUMBER: u8 = 4;
const FLAG_SYNCED: u8 = 8;
const FLAG_SEQUENCE: u8 = 16;

/// A segment's header, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub shard: u8,
    pub index: u32,
    pub salt: [u8; 16],
    /// Number of the dictionary that frames may use; 0 for none.
    pub dictionary: u32,
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
        out[6] = self.shard;
        out[8..12].copy_from_slice(&self.index.to_be_bytes());
        out[12..28].copy_from_slice(&self.salt);
        out[28..32].copy_from_slice(&self.dictionary.to_be_bytes());
        let crc = crc32fast::hash(&out[..32]);
        out[32..36].copy_from_slice(&crc.to_be_bytes());
        let (first, second) = out.split_at_mut(HEADER_COPY);
        second.copy_from_slice(first);
        out
    }

    /// Decodes the first copy that is good.
    pub fn decode(bytes: &[u8; SEGMENT_HEADER]) -> Result<Self, HeaderFault> {
        let (first, second) = bytes.split_at(HEADER_COPY);
        match Self::decode_copy(first) {
            // A newer version is no damage: its second copy would say the same.
            Err(HeaderFault::Damaged) => Self::decode_copy(second),
            decoded => decoded,
        }
    }

    fn decode_copy(bytes: &[u8]) -> Result<Self, HeaderFault> {
        if bytes[..4] != SEGMENT_MAGIC || crc32fast::hash(&bytes[..32]) != be32(&bytes[32..]) {
            return Err(HeaderFault::Damaged);
        }
        let version = u16::from_be_bytes([bytes[4], bytes[5]]);
        if version > VERSION {
            return Err(HeaderFault::Newer(version));
        }
        let mut salt = [0; 16];
        salt.copy_from_slice(&bytes[12..28]);
        Ok(Self { shard: bytes[6], index: be32(&bytes[8..]), salt, dictionary: be32(&bytes[28..]) })
    }

    /// The number that checksums of this segment depend on.
    pub fn seed(&self) -> u64 {
        mix(be64(&self.salt) ^ mix(be64(&self.salt[8..])))
    }
}

/// A record's head, decoded and checked, without its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// Nothing but a note of what was synced.
    pub mark: bool,
    pub keys_len: u64,
    /// Raw bytes of the value.
    pub value_len: u64,
    /// Bytes of the frames where any of them is not raw.
    pub stored_len: Option<u64>,
    pub number: Option<u64>,
    pub synced: Option<u64>,
    pub sequence: Option<u64>,
}

impl Head {
    /// Bytes that the frames take.
    pub fn frames_len(&self) -> u64 {
        self.stored_len.unwrap_or(self.value_len + frame_count(self.value_len) * FRAME_HEADER as u64)
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let mut flags = 0;
        for (on, flag) in [
            (self.mark, FLAG_MARK),
            (self.stored_len.is_some(), FLAG_STORED),
            (self.number.is_some(), FLAG_NUMBER),
            (self.synced.is_some(), FLAG_SYNCED),
            (self.sequence.is_some(), FLAG_SEQUENCE),
        ] {
            flags |= if on { flag } else { 0 };
        }
        out.push(flags);
        put_varint(out, self.keys_len);
        put_varint(out, self.value_len);
        self.stored_len.iter().chain(&self.number).for_each(|v| put_varint(out, *v));
        self.synced.iter().for_each(|v| out.extend_from_slice(&v.to_be_bytes()));
        self.sequence.iter().for_each(|v| put_varint(out, *v));
    }

    /// Decodes the fields behind magic and checksum: the head and the bytes it took. `None` where
    /// they are cut short or out of bounds.
    fn decode_fields(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut at = bytes;
        let flags = take(&mut at, 1)?[0];
        // A flag that this version does not know may bring a field that it cannot skip.
        if flags & !(FLAG_MARK | FLAG_STORED | FLAG_NUMBER | FLAG_SYNCED | FLAG_SEQUENCE) != 0 {
            return None;
        }
        let keys_len = get_varint(&mut at)?;
        let value_len = get_varint(&mut at)?;
        let has = |flag| flags & flag != 0;
        let stored_len = if has(FLAG_STORED) { Some(get_varint(&mut at)?) } else { None };
        let number = if has(FLAG_NUMBER) { Some(get_varint(&mut at)?) } else { None };
        let synced = if has(FLAG_SYNCED) { Some(be64(take(&mut at, 8)?)) } else { None };
        let sequence = if has(FLAG_SEQUENCE) { Some(get_varint(&mut at)?) } else { None };
        // Bounds before anything is allocated by these lengths: a scan tries bytes that only look
        // like a head. No codec makes a frame twice as long as its bytes.
        let largest = crate::MAX_VALUE_BYTES as u64;
        if keys_len > MAX_KEYS_BYTES || value_len > largest || stored_len.is_some_and(|l| l > 2 * largest) {
            return None;
        }
        let mark = has(FLAG_MARK);
        let head = Self { mark, keys_len, value_len, stored_len, number, synced, sequence };
        Some((head, bytes.len() - at.len()))
    }
}

/// Decodes the head at the start of the bytes and says where its keys begin. Its checksum is not
/// looked at.
pub(crate) fn peek_head(bytes: &[u8]) -> Option<(Head, usize)> {
    if bytes.len() < HEAD_FIXED || bytes[..2] != RECORD_MAGIC {
        return None;
    }
    let (head, len) = Head::decode_fields(&bytes[HEAD_FIXED..])?;
    Some((head, HEAD_FIXED + len))
}

/// Whether a head with its keys has the checksum of its place.
pub(crate) fn head_is_good(seed: u64, offset: u64, head_and_keys: &[u8]) -> bool {
    be32(&head_and_keys[2..]) == head_crc(seed, offset, &head_and_keys[HEAD_FIXED..])
}

/// The checksum in a head.
pub(crate) fn stored_head_crc(head: &[u8]) -> u32 {
    be32(&head[2..])
}

fn head_crc(seed: u64, offset: u64, bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes) ^ place_mask(seed, offset)
}

/// Appends a head with its keys to `out`; returns its checksum. `offset` is the record's in its
/// segment.
pub(crate) fn put_head(out: &mut Vec<u8>, seed: u64, offset: u64, head: &Head, keys: &[u8]) -> u32 {
    let start = out.len();
    out.extend_from_slice(&RECORD_MAGIC);
    // The place of the checksum, which covers what follows.
    out.extend_from_slice(&[0; 4]);
    head.encode_fields(out);
    out.extend_from_slice(keys);
    let crc = head_crc(seed, offset, &out[start + HEAD_FIXED..]);
    out[start + 2..start + 6].copy_from_slice(&crc.to_be_bytes());
    crc
}

/// A key with its range of the value.
pub(crate) type KeyRange<'a> = (&'a [u8], Range<u32>);

/// Encodes a group's keys: the primary, then the secondaries with their ranges.
pub(crate) fn encode_keys(key: &[u8], secondary: &[KeyRange<'_>]) -> Vec<u8> {
    let mut out =
        Vec::with_capacity(key.len() + 2 + secondary.iter().map(|(k, _)| k.len() + 12).sum::<usize>());
    put_varint(&mut out, key.len() as u64);
    out.extend_from_slice(key);
    for (key, range) in secondary {
        put_varint(&mut out, key.len() as u64);
        put_varint(&mut out, u64::from(range.start));
        put_varint(&mut out, u64::from(range.end - range.start));
        out.extend_from_slice(key);
    }
    out
}

/// Decodes a keys section; `None` where it does not parse or a range lies outside of the value.
pub(crate) fn decode_keys(mut bytes: &[u8], value_len: u64) -> Option<Vec<KeyRange<'_>>> {
    let len = usize::try_from(get_varint(&mut bytes)?).ok()?;
    let mut keys = vec![(take(&mut bytes, len)?, 0..u32::try_from(value_len).ok()?)];
    while !bytes.is_empty() {
        let len = usize::try_from(get_varint(&mut bytes)?).ok()?;
        let start = get_varint(&mut bytes)?;
        let end = start.checked_add(get_varint(&mut bytes)?)?;
        if end > value_len {
            return None;
        }
        keys.push((take(&mut bytes, len)?, start as u32..end as u32));
    }
    Some(keys)
}

/// A frame's header, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    /// Checksum before the mask of the place.
    pub crc: u32,
    pub codec: u8,
    pub stored_len: u32,
}

impl FrameHeader {
    /// Header of a frame with these bytes.
    pub fn of(codec: u8, bytes: &[u8]) -> Self {
        let stored_len = bytes.len() as u32;
        Self { crc: Self::checksum(codec, bytes), codec, stored_len }
    }

    fn checksum(codec: u8, bytes: &[u8]) -> u32 {
        // Length and codec go in as the initial value, so that a header with another codec over the
        // same bytes does not verify.
        let mut crc = crc32fast::Hasher::new_with_initial((bytes.len() as u32) << 8 | u32::from(codec));
        crc.update(bytes);
        crc.finalize()
    }

    pub fn encode(&self, seed: u64, offset: u64) -> [u8; FRAME_HEADER] {
        let mut out = [0; FRAME_HEADER];
        out[..4].copy_from_slice(&(self.crc ^ place_mask(seed, offset)).to_be_bytes());
        out[4..].copy_from_slice(&(u32::from(self.codec) << 24 | self.stored_len).to_be_bytes());
        out
    }

    pub fn decode(bytes: &[u8], seed: u64, offset: u64) -> Self {
        let word = be32(&bytes[4..]);
        let crc = be32(bytes) ^ place_mask(seed, offset);
        Self { crc, codec: (word >> 24) as u8, stored_len: word & 0xff_ffff }
    }

    /// Whether these are the frame's bytes.
    pub fn is_good(&self, bytes: &[u8]) -> bool {
        Self::checksum(self.codec, bytes) == self.crc
    }
}

/// Frames of a value of this many raw bytes.
pub(crate) fn frame_count(value_len: u64) -> u64 {
    value_len.div_ceil(FRAME_BYTES as u64)
}

/// What a segment holds; its footer, and a copy in the key index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Offset behind the last record.
    pub end: u64,
    pub records: u32,
    /// Keys, primary and secondary.
    pub keys: u32,
    /// Records that carry a number.
    pub numbered: u32,
    pub min_number: u64,
    pub max_number: u64,
    /// The table's age at the last write, in milliseconds.
    pub age_ms: u64,
    /// Raw bytes of the values.
    pub value_bytes: u64,
    /// Digest of the checksums of all heads and frames, in order.
    pub digest: u32,
    /// Sequence number behind the last record.
    pub next_sequence: u64,
}

impl Summary {
    pub const ENCODED: usize = 64;

    /// Takes a record's number in.
    pub fn count_number(&mut self, number: Option<u64>) {
        if let Some(number) = number {
            (self.min_number, self.max_number) = match self.numbered {
                0 => (number, number),
                _ => (self.min_number.min(number), self.max_number.max(number)),
            };
            self.numbered += 1;
        }
    }

    pub fn encode(&self) -> [u8; Self::ENCODED] {
        let mut out = Vec::with_capacity(Self::ENCODED);
        out.extend_from_slice(&self.end.to_be_bytes());
        for word in [self.records, self.keys, self.numbered] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        for word in [self.min_number, self.max_number, self.age_ms, self.value_bytes] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        out.extend_from_slice(&self.digest.to_be_bytes());
        out.extend_from_slice(&self.next_sequence.to_be_bytes());
        let mut fixed = [0; Self::ENCODED];
        fixed.copy_from_slice(&out);
        fixed
    }

    pub fn decode(bytes: &[u8]) -> Self {
        Self {
            end: be64(bytes),
            records: be32(&bytes[8..]),
            keys: be32(&bytes[12..]),
            numbered: be32(&bytes[16..]),
            min_number: be64(&bytes[20..]),
            max_number: be64(&bytes[28..]),
            age_ms: be64(&bytes[36..]),
            value_bytes: be64(&bytes[44..]),
            digest: be32(&bytes[52..]),
            next_sequence: be64(&bytes[56..]),
        }
    }

    pub fn encode_footer(&self, seed: u64) -> [u8; FOOTER_BYTES] {
        let mut out = [0; FOOTER_BYTES];
        out[..4].copy_from_slice(&FOOTER_MAGIC);
        out[4..4 + Self::ENCODED].copy_from_slice(&self.encode());
        let crc = crc32fast::hash(&out[..FOOTER_BYTES - 4]) ^ place_mask(seed, self.end);
        out[FOOTER_BYTES - 4..].copy_from_slice(&crc.to_be_bytes());
        out
    }

    /// The summary in a footer that lies at an offset; `None` where it is damaged.
    pub fn decode_footer(bytes: &[u8; FOOTER_BYTES], seed: u64, offset: u64) -> Option<Self> {
        let crc = crc32fast::hash(&bytes[..FOOTER_BYTES - 4]) ^ place_mask(seed, offset);
        let good = bytes[..4] == FOOTER_MAGIC && crc == be32(&bytes[FOOTER_BYTES - 4..]);
        let summary = Self::decode(&bytes[4..]);
        // A footer that lies anywhere but behind the last record is another segment's.
        (good && summary.end == offset).then_some(summary)
    }
}

/// A position: which segment, and an offset in it. Positions of a shard grow in the order of
/// writing.
pub(crate) fn position(segment: u32, offset: u64) -> u64 {
    u64::from(segment) << 32 | offset
}

/// Segment and offset of a position.
pub(crate) fn split_position(position: u64) -> (u32, u64) {
    ((position >> 32) as u32, position & 0xffff_ffff)
}

/// What checksums at a place are masked with.
fn place_mask(seed: u64, offset: u64) -> u32 {
    (mix(seed ^ offset) >> 32) as u32
}

/// Spreads every bit of a word over all of it (the finalizer of SplitMix64).
pub(crate) fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn get_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)?[0];
        if shift == 63 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

pub(crate) fn take<'a>(bytes: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(head)
}

pub(crate) fn be32(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

pub(crate) fn be64(bytes: &[u8]) -> u64 {
    u64::from(be32(bytes)) << 32 | u64::from(be32(&bytes[4..]))
}

/// Random bytes from the keys that the standard library draws from the system for its hash maps.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    use std::hash::{BuildHasher, Hasher};
    let mut out = [0; N];
    for part in out.chunks_mut(8) {
        let drawn = || std::collections::hash_map::RandomState::new().build_hasher().finish();
        let word = crate::failpoints::word().unwrap_or_else(drawn);
        part.copy_from_slice(&word.to_be_bytes()[..part.len()]);
    }
    out
}
