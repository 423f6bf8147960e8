//! One record of the changelog WAL.
//!
//! A segment is a header of 32 bytes (`HEARTHWL`, version u32, number of the first record u64, salt
//! u64, CRC-32 of these u32) and records: `HWR1`, length of the payload u32, number u64, CRC-32
//! u32, payload. Numbers are little-endian; the CRC covers salt, length, number and payload. The
//! salt keeps bytes stored as a value from passing for a record.

use crate::{
    Head,
    codec::{Reader, RowChange, put_codes, put_rows, put_uvarint},
    failpoints::{InjectedBug, has},
    rows::{BlockRows, EncodedChanges},
};
use alloy_primitives::B256;
use hearth_primitives::{Changeset, Height, StateError};

const SEGMENT_MAGIC: &[u8; 8] = b"HEARTHWL";
const SEGMENT_VERSION: u32 = 1;
/// Bytes of a segment's header.
pub const SEGMENT_HEADER_BYTES: usize = 32;

const RECORD_MAGIC: &[u8; 4] = b"HWR1";
/// Bytes of a record before its payload.
pub const RECORD_HEADER_BYTES: usize = 20;
/// Largest payload of a record, in bytes.
pub const MAX_PAYLOAD_BYTES: u64 = 1 << 30;

/// Kinds of records. Those of format 1 have neither the oldest height nor rows of the data DB
/// `legacy`.
const COMMIT_1: u8 = 1;
const UNWIND_1: u8 = 2;
const COMMIT: u8 = 3;
const UNWIND: u8 = 4;

/// What a record says, without the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordHead {
    /// Whether the head was taken back to `head` instead of advanced to it.
    pub unwind: bool,
    /// The head after the record.
    pub head: Head,
    /// Parent of the block; zero for an unwind.
    pub parent: B256,
    /// End positions of the joined tables.
    pub positions: Vec<u64>,
    /// Oldest height that has state from this record on; 0 in a record of format 1, which does not
    /// say.
    pub oldest: Height,
}

/// The rows of a commit.
#[derive(Debug)]
pub struct RecordBody {
    /// Accounts, slots and code.
    pub changes: Changeset,
    /// Rows of the data DB `legacy`.
    pub legacy: Vec<RowChange>,
    /// Rows of the canonical index.
    pub index: Vec<RowChange>,
}

impl RecordHead {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(if self.unwind { UNWIND } else { COMMIT });
        out.extend_from_slice(&self.head.height.to_be_bytes());
        for hash in [&self.head.hash, &self.parent, &self.head.commitment] {
            out.extend_from_slice(hash.as_slice());
        }
        put_uvarint(out, self.positions.len() as u64);
        self.positions.iter().for_each(|position| put_uvarint(out, *position));
        put_uvarint(out, self.oldest);
    }

    /// Payload of an unwind.
    pub fn unwind_payload(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(128);
        self.put(&mut out);
        out
    }

    /// Payload of a commit with the rows of [`commit_body`].
    pub fn commit_payload(&self, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(256 + body.len());
        self.put(&mut out);
        out.extend_from_slice(body);
        out
    }

    /// Reads a head; also whether it is one of format 1.
    fn read(reader: &mut Reader<'_>) -> Result<(Self, bool), StateError> {
        let kind = reader.byte()?;
        let unwind = match kind {
            COMMIT | COMMIT_1 => false,
            UNWIND | UNWIND_1 => true,
            _ => return Err(reader.bad()),
        };
        let old = matches!(kind, COMMIT_1 | UNWIND_1);
        let height = reader.u64_be()?;
        let (hash, parent, commitment) = (reader.b256()?, reader.b256()?, reader.b256()?);
        let count = reader.count()?;
        let positions = (0..count).map(|_| reader.uvarint()).collect::<Result<_, _>>()?;
        let oldest = if old { 0 } else { reader.uvarint()? };
        Ok((Self { unwind, head: Head { height, hash, commitment }, parent, positions, oldest }, old))
    }

    /// Reads the start of a payload.
    pub fn from_payload(payload: &[u8]) -> Result<Self, StateError> {
        Ok(Self::read(&mut Reader::new(payload, "WAL"))?.0)
    }
}

/// The rows of a commit as its payload has them. `changes` are those of `rows`.
pub fn commit_body(changes: &EncodedChanges, rows: BlockRows<'_>, index: &[RowChange]) -> Vec<u8> {
    let mut out = Vec::with_capacity(256 + changes.bytes().len());
    out.extend_from_slice(changes.bytes());
    put_codes(&mut out, &rows.changes.codes);
    put_rows(&mut out, index, true);
    put_rows(&mut out, rows.legacy, true);
    out
}

impl RecordBody {
    /// Its rows.
    pub fn rows(&self) -> BlockRows<'_> {
        BlockRows { changes: &self.changes, legacy: &self.legacy }
    }

    /// Reads a commit's rows out of its payload.
    pub fn from_payload(payload: &[u8]) -> Result<Self, StateError> {
        let mut reader = Reader::new(payload, "WAL");
        let (_, old) = RecordHead::read(&mut reader)?;
        let changes = Changeset { accounts: reader.changes()?, codes: reader.codes()? };
        let index = reader.rows(true)?;
        let legacy = if old { Vec::new() } else { reader.rows(true)? };
        reader.end()?;
        Ok(Self { changes, legacy, index })
    }
}

/// Header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Number of the first record.
    pub first: u64,
    /// Goes into the CRC of each record.
    pub salt: u64,
}

impl SegmentHeader {
    /// The header as bytes.
    pub fn to_bytes(self) -> [u8; SEGMENT_HEADER_BYTES] {
        let mut out = [0; SEGMENT_HEADER_BYTES];
        out[..8].copy_from_slice(SEGMENT_MAGIC);
        out[8..12].copy_from_slice(&SEGMENT_VERSION.to_le_bytes());
        out[12..20].copy_from_slice(&self.first.to_le_bytes());
        out[20..28].copy_from_slice(&self.salt.to_le_bytes());
        let crc = crc32fast::hash(&out[..28]);
        out[28..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads a header; `None` where it is short, damaged or of another version.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; SEGMENT_HEADER_BYTES] = bytes.first_chunk()?;
        let header = Self { first: u64_at(bytes, 12)?, salt: u64_at(bytes, 20)? };
        (header.to_bytes() == *bytes).then_some(header)
    }
}

/// Appends a whole record: header and payload.
pub fn put_frame(out: &mut Vec<u8>, salt: u64, number: u64, payload: &[u8]) {
    out.extend_from_slice(RECORD_MAGIC);
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&checksum(salt, number, payload).to_le_bytes());
    out.extend_from_slice(payload);
}

/// The record at the start of `bytes`: its number and payload; `None` where no whole, sound record
/// stands there.
pub fn parse(salt: u64, bytes: &[u8]) -> Option<(u64, &[u8])> {
    if !bytes.starts_with(RECORD_MAGIC) {
        return None;
    }
    let len = u32_at(bytes, 4)? as usize;
    let number = u64_at(bytes, 8)?;
    let crc = u32_at(bytes, 16)?;
    let payload = bytes.get(RECORD_HEADER_BYTES..RECORD_HEADER_BYTES.checked_add(len)?)?;
    let sound = checksum(salt, number, payload) == crc || has(InjectedBug::ChecksumIgnored);
    sound.then_some((number, payload))
}

/// Whether a sound record with number `from` or higher stands anywhere in `bytes`.
pub fn any_record(salt: u64, bytes: &[u8], from: u64) -> bool {
    let magic = RECORD_MAGIC.as_slice();
    (0..bytes.len().saturating_sub(RECORD_HEADER_BYTES))
        .filter(|at| bytes[*at..].starts_with(magic))
        .any(|at| parse(salt, &bytes[at..]).is_some_and(|(number, _)| number >= from))
}

fn checksum(salt: u64, number: u64, payload: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&salt.to_le_bytes());
    crc.update(&(payload.len() as u32).to_le_bytes());
    crc.update(&number.to_le_bytes());
    crc.update(payload);
    crc.finalize()
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
