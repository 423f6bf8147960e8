//! What a baked block is on disk: one value, made to be sent as it lies.
//!
//! ```text
//! header      44 bytes, see `Header`
//! body        the whole answer as one run of raw deflate (RFC 1951) without a last block:
//!             pieces, each on a byte border
//! directory   pieces, then elements, in the order of the answer
//!   piece     varint: raw bytes << 1 | 1 where deflated
//!             where deflated: varint: stored bytes, then CRC-32 of the raw bytes, 4 bytes
//!             else one stored block of deflate, 5 bytes longer than its raw bytes
//!   element   varint: bytes of the result, or of the error as a JSON string, << 1
//!             | 1 where it is an error
//! ```
//!
//! Numbers of fixed width are little-endian. A deflated piece ends with a full flush, so that it
//! can be inflated without those before it. A result of at least [`OWN_PIECE_BYTES`] is a piece of
//! its own; smaller ones share pieces, which end behind the result that makes them reach
//! [`PIECE_BYTES`]. What stands around a result in the answer is as long for each element, so its
//! place follows from the lengths.

use crate::BakeError;
use std::ops::Range;

/// Version of the layout. It is a part of the keys: rows of another version are not found.
pub(crate) const FORMAT: u8 = 1;

/// Bytes of the header.
pub(crate) const HEADER_BYTES: usize = 44;

/// A result of at least so many bytes is a piece of its own, and its answer is sent in gzip as it
/// lies.
pub const OWN_PIECE_BYTES: usize = 32 << 10;

/// Raw bytes at which a piece of several results ends.
pub(crate) const PIECE_BYTES: usize = 64 << 10;

/// Bytes of a stored block of deflate before its bytes.
pub(crate) const STORED_HEAD_BYTES: usize = 5;

/// Most bytes of a stored block of deflate.
pub(crate) const STORED_BLOCK_MAX_BYTES: usize = 65_535;

/// Uncompressed pieces of at most so many bytes are kept in memory once they were read. Larger ones
/// are read from the system's memory each time, which costs less than to copy them and to displace
/// what had to be inflated.
const KEPT_UNCOMPRESSED_BYTES: u64 = 16 << 10;

/// Characters of `{"txHash":"0x…"`.
const ELEMENT_HEAD_BYTES: u64 = 10 + 68;
/// `,"result":`
pub(crate) const RESULT_KEY: &[u8] = b",\"result\":";
/// `,"error":`
pub(crate) const ERROR_KEY: &[u8] = b",\"error\":";

/// A piece of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Bytes of the answer.
    pub raw: u64,
    /// Bytes of the body.
    pub stored: u64,
    /// CRC-32 of the raw bytes where they are deflated; `None` where they lie in a stored block.
    pub crc: Option<u32>,
}

impl Piece {
    /// Whether it takes more bytes than its raw ones, as stored blocks do.
    pub fn is_uncompressed(&self) -> bool {
        self.stored > self.raw
    }

    /// Whether its raw bytes are kept in memory once they were read.
    pub fn is_kept(&self) -> bool {
        !self.is_uncompressed() || self.raw <= KEPT_UNCOMPRESSED_BYTES
    }
}

/// An element of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// Bytes of the result or of the error's JSON string.
    pub bytes: u64,
    /// Whether it is an error.
    pub failed: bool,
}

/// What stands at the beginning of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Elements of the answer.
    pub elements: u32,
    /// Pieces of the body.
    pub pieces: u32,
    /// CRC-32 of the answer.
    pub crc: u32,
    /// Bytes of the answer.
    pub raw: u64,
    /// Height of the block.
    pub number: u64,
    /// Where the body ends and the directory begins.
    pub body_end: u32,
    /// Where the directory, and the value, ends.
    pub end: u32,
    /// CRC-32 of the directory.
    pub directory_crc: u32,
}

impl Header {
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        out[0] = FORMAT;
        out[4..8].copy_from_slice(&self.elements.to_le_bytes());
        out[8..12].copy_from_slice(&self.pieces.to_le_bytes());
        out[12..16].copy_from_slice(&self.crc.to_le_bytes());
        out[16..24].copy_from_slice(&self.raw.to_le_bytes());
        out[24..32].copy_from_slice(&self.number.to_le_bytes());
        out[32..36].copy_from_slice(&self.body_end.to_le_bytes());
        out[36..40].copy_from_slice(&self.end.to_le_bytes());
        out[40..44].copy_from_slice(&self.directory_crc.to_le_bytes());
        out
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, BakeError> {
        let bytes: &[u8; HEADER_BYTES] =
            bytes.first_chunk().ok_or_else(|| damaged("it is shorter than its header"))?;
        if bytes[0] != FORMAT {
            return Err(damaged("its format is another one"));
        }
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        let header = Self {
            elements: u32_at(4),
            pieces: u32_at(8),
            crc: u32_at(12),
            raw: u64_at(16),
            number: u64_at(24),
            body_end: u32_at(32),
            end: u32_at(36),
            directory_crc: u32_at(40),
        };
        let ordered = HEADER_BYTES <= header.body_end as usize && header.body_end <= header.end;
        if ordered { Ok(header) } else { Err(damaged("its parts overlap")) }
    }
}

/// Where everything of a value lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directory {
    pub header: Header,
    pieces: Vec<Placed>,
    /// Where each element's result begins in the answer, and whether it is an error; one more for
    /// the end.
    elements: Vec<(u64, bool)>,
}

/// A piece with its offset in the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Placed {
    piece: Piece,
    raw_at: u64,
    stored_at: u32,
}

impl Directory {
    /// The bytes of a directory.
    pub fn encode(pieces: &[Piece], elements: &[Element]) -> Vec<u8> {
        let mut out = Vec::with_capacity(pieces.len() * 10 + elements.len() * 3);
        for piece in pieces {
            put_varint(&mut out, piece.raw << 1 | u64::from(piece.crc.is_some()));
            if let Some(crc) = piece.crc {
                put_varint(&mut out, piece.stored);
                out.extend_from_slice(&crc.to_le_bytes());
            }
        }
        for element in elements {
            put_varint(&mut out, element.bytes << 1 | u64::from(element.failed));
        }
        out
    }

    /// Reads the directory's bytes under a header, and checks that its numbers fit each other.
    pub fn decode(header: Header, bytes: &[u8]) -> Result<Self, BakeError> {
        if crc32fast::hash(bytes) != header.directory_crc {
            return Err(damaged("its directory has another checksum"));
        }
        let mut bytes = bytes;
        let mut pieces = Vec::with_capacity((header.pieces as usize).min(bytes.len()));
        let (mut raw_at, mut stored_at) = (0_u64, HEADER_BYTES as u64);
        for _ in 0..header.pieces {
            let piece = take_piece(&mut bytes)?;
            pieces.push(Placed { piece, raw_at, stored_at: stored_at as u32 });
            raw_at = raw_at.saturating_add(piece.raw);
            stored_at = stored_at.saturating_add(piece.stored);
            if stored_at > u64::from(header.body_end) {
                return Err(damaged("its pieces are longer than its body"));
            }
        }
        if raw_at != header.raw || stored_at != u64::from(header.body_end) {
            return Err(damaged("its pieces do not add up"));
        }
        let elements = take_elements(&mut bytes, &header)?;
        Ok(Self { header, pieces, elements })
    }

    /// Elements of the answer.
    pub fn len(&self) -> usize {
        self.header.elements as usize
    }

    /// Where a result, or an error's JSON string, lies in the answer; whether it is an error.
    pub fn element(&self, index: usize) -> Option<(Range<u64>, bool)> {
        let (start, failed) = *self.elements.get(index)?;
        let (next, next_failed) = *self.elements.get(index + 1)?;
        let between = match index + 1 == self.len() {
            // `}]`
            true => 2,
            // `},` and what stands before the next one's.
            false => 2 + before(next_failed),
        };
        Some((start..next.checked_sub(between)?, failed))
    }

    /// The pieces that a range of the answer touches.
    pub fn touched(&self, range: &Range<u64>) -> Range<usize> {
        let first = self.pieces.partition_point(|p| p.raw_at + p.piece.raw <= range.start);
        let last = self.pieces.partition_point(|p| p.raw_at < range.end);
        first..last.max(first)
    }

    /// The piece that is exactly this range of the answer, and deflated.
    pub fn own_piece(&self, range: &Range<u64>) -> Option<usize> {
        let touched = self.touched(range);
        let whole = touched.len() == 1 && self.raw(touched.start) == *range;
        (whole && self.piece(touched.start).crc.is_some()).then_some(touched.start)
    }

    pub fn piece(&self, index: usize) -> Piece {
        self.pieces[index].piece
    }

    /// Where a piece lies in the answer.
    pub fn raw(&self, index: usize) -> Range<u64> {
        let placed = &self.pieces[index];
        placed.raw_at..placed.raw_at + placed.piece.raw
    }

    /// Where a piece lies in the value.
    pub fn stored(&self, index: usize) -> Range<u32> {
        let placed = &self.pieces[index];
        placed.stored_at..placed.stored_at + placed.piece.stored as u32
    }

    /// Memory that it takes, in bytes.
    pub fn memory(&self) -> usize {
        size_of::<Self>()
            + self.pieces.len() * size_of::<Placed>()
            + self.elements.len() * size_of::<(u64, bool)>()
    }
}

/// What stands in the answer before a result or an error, behind the comma of its element.
fn before(failed: bool) -> u64 {
    ELEMENT_HEAD_BYTES + if failed { ERROR_KEY.len() } else { RESULT_KEY.len() } as u64
}

fn take_piece(bytes: &mut &[u8]) -> Result<Piece, BakeError> {
    let word = take_varint(bytes)?;
    let raw = word >> 1;
    if word & 1 == 0 {
        let stored = raw.checked_add(STORED_HEAD_BYTES as u64);
        let stored = stored.filter(|_| raw <= STORED_BLOCK_MAX_BYTES as u64);
        let stored = stored.ok_or_else(|| damaged("a stored block is too long"))?;
        return Ok(Piece { raw, stored, crc: None });
    }
    let stored = take_varint(bytes)?;
    let (crc, rest) = bytes.split_first_chunk::<4>().ok_or_else(|| damaged("its directory is cut short"))?;
    *bytes = rest;
    Ok(Piece { raw, stored, crc: Some(u32::from_le_bytes(*crc)) })
}

fn take_elements(bytes: &mut &[u8], header: &Header) -> Result<Vec<(u64, bool)>, BakeError> {
    let mut elements = Vec::with_capacity((header.elements as usize).min(bytes.len()) + 1);
    // The bracket.
    let mut at = 1_u64;
    for index in 0..header.elements {
        let word = take_varint(bytes)?;
        let failed = word & 1 == 1;
        at = at.saturating_add(before(failed) + u64::from(index > 0));
        elements.push((at, failed));
        // The brace.
        at = at.saturating_add(word >> 1).saturating_add(1);
    }
    at = at.saturating_add(1);
    if at != header.raw || !bytes.is_empty() {
        return Err(damaged("its elements do not add up"));
    }
    elements.push((at, false));
    Ok(elements)
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_varint(bytes: &mut &[u8]) -> Result<u64, BakeError> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or_else(|| damaged("its directory is cut short"))?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(damaged("a number in its directory is too long"))
}

pub(crate) fn damaged(reason: impl Into<String>) -> BakeError {
    BakeError::Damaged { reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Header, Vec<Piece>, Vec<Element>) {
        // Two elements: a result of 10 bytes and an error of 7.
        let elements = vec![Element { bytes: 10, failed: false }, Element { bytes: 7, failed: true }];
        let raw = 1 + (78 + 10 + 10 + 1) + 1 + (78 + 9 + 7 + 1) + 1;
        let pieces = vec![
            Piece { raw: 89, stored: 94, crc: None },
            Piece { raw: 10, stored: 14, crc: Some(0xdead_beef) },
            Piece { raw: raw - 99, stored: raw - 94, crc: None },
        ];
        let stored: u64 = pieces.iter().map(|p| p.stored).sum();
        let directory = Directory::encode(&pieces, &elements);
        let body_end = HEADER_BYTES as u32 + stored as u32;
        let header = Header {
            elements: 2,
            pieces: 3,
            crc: 7,
            raw,
            number: u64::MAX - 1,
            body_end,
            end: body_end + directory.len() as u32,
            directory_crc: crc32fast::hash(&directory),
        };
        (header, pieces, elements)
    }

    #[test]
    fn what_is_written_reads_back_and_places_follow() {
        let (header, pieces, elements) = sample();
        assert_eq!(Header::decode(&header.encode()).unwrap(), header);
        let directory = Directory::decode(header, &Directory::encode(&pieces, &elements)).unwrap();
        assert_eq!(directory.element(0), Some((89..99, false)));
        // `},{"txHash":"0x…","error":` stands between.
        assert_eq!(directory.element(1), Some((99 + 2 + 87..99 + 2 + 87 + 7, true)));
        assert_eq!(directory.element(2), None);
        assert_eq!(directory.own_piece(&(89..99)), Some(1));
        assert_eq!(directory.own_piece(&(89..98)), None);
        assert_eq!(directory.touched(&(88..90)), 0..2);
        assert_eq!(directory.touched(&(0..header.raw)), 0..3);
        assert_eq!(directory.stored(1), 44 + 94..44 + 94 + 14);
    }

    #[test]
    fn numbers_that_do_not_fit_are_damage() {
        let (header, pieces, elements) = sample();
        let bytes = Directory::encode(&pieces, &elements);
        let wrong = |change: &dyn Fn(&mut Header)| {
            let mut header = header;
            change(&mut header);
            Directory::decode(header, &bytes).unwrap_err().to_string()
        };
        assert!(wrong(&|h| h.raw += 1).contains("pieces do not add up"));
        assert!(wrong(&|h| h.body_end -= 1).contains("longer than its body"));
        assert!(wrong(&|h| h.elements = 1).contains("elements do not add up"));
        assert!(wrong(&|h| h.directory_crc ^= 1).contains("checksum"));
        assert!(
            wrong(&|h| h.pieces = 1000).contains("cut short") || wrong(&|h| h.pieces = 1000).contains("body")
        );
        let mut bytes = header.encode();
        bytes[0] = FORMAT + 1;
        assert!(Header::decode(&bytes).unwrap_err().to_string().contains("format"));
        assert!(Header::decode(&bytes[..43]).unwrap_err().to_string().contains("shorter"));
    }

    #[test]
    fn varints_read_back() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX >> 1, u64::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            let mut rest = &out[..];
            assert_eq!(take_varint(&mut rest).unwrap(), value);
            assert!(rest.is_empty());
        }
        assert!(take_varint(&mut &[0xff; 11][..]).is_err());
    }
}
