//! The state of one height as a stream: written from a store, read into an empty one.
//!
//! The stream is [frames](frame): what the stream is of; attachments of the caller (chain
//! configuration, block, …); code; accounts, each with its slots, in the order of addresses; rows
//! of modules; and a trailer with the counts, a digest of everything before, and the commitment.
//! Heights of rows travel, so that the same state gives the same bytes.

mod export;
mod frame;
mod import;
mod rows_at;

pub use import::{ImportSource, Imported};

use crate::{CommitmentKind, FlatKvError, Head};
use alloy_primitives::B256;
use hearth_flatkv_storage::codec::Reader;
use hearth_primitives::StateError;

/// Largest attachment, in bytes.
pub const MAX_ATTACHMENT_BYTES: usize = 256 << 20;
/// Most attachments of a stream.
pub const MAX_ATTACHMENTS: usize = 64;

/// Progress between two chunks; `false` stops the work.
pub type WatchTransfer<'a> = &'a mut dyn FnMut(TransferProgress) -> bool;

/// How far a transfer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferProgress {
    /// Rows written or read.
    pub rows: u64,
    /// Bytes of the stream written or read.
    pub bytes: u64,
    /// About how many rows there are; 0 where that is not known.
    pub total_rows: u64,
}

/// What a stream is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamHead {
    /// The block whose state it is.
    pub head: Head,
    /// Hash of that block's parent.
    pub parent: B256,
    /// What the commitment is.
    pub kind: CommitmentKind,
}

/// An attachment: name and bytes.
pub type Attachment = (String, Vec<u8>);

/// Rows of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounts {
    /// Pieces of code.
    pub codes: u64,
    /// Accounts.
    pub accounts: u64,
    /// Storage slots.
    pub slots: u64,
    /// Rows of the data DB `legacy`.
    pub legacy: u64,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The block whose state it is.
    pub head: Head,
    /// Rows in the stream.
    pub counts: StreamCounts,
    /// Bytes of the stream.
    pub bytes: u64,
    /// BLAKE3 of what the stream says, uncompressed; stands in its trailer.
    pub digest: B256,
}

impl StreamHead {
    fn to_bytes(self) -> Vec<u8> {
        let Self { head, parent, kind } = self;
        let mut out = head.height.to_be_bytes().to_vec();
        for hash in [head.hash, head.commitment, parent] {
            out.extend_from_slice(hash.as_slice());
        }
        out.extend_from_slice(kind.to_string().as_bytes());
        out
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, StateError> {
        let mut reader = Reader::new(bytes, "stream");
        let height = reader.u64_be()?;
        let (hash, commitment, parent) = (reader.b256()?, reader.b256()?, reader.b256()?);
        let name = std::str::from_utf8(reader.rest()).ok().and_then(CommitmentKind::from_name);
        let kind = name.ok_or_else(|| reader.bad())?;
        Ok(Self { head: Head { height, hash, commitment }, parent, kind })
    }
}

/// The last frame of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trailer {
    counts: StreamCounts,
    commitment: B256,
    digest: B256,
}

impl Trailer {
    fn to_bytes(self) -> Vec<u8> {
        let StreamCounts { codes, accounts, slots, legacy } = self.counts;
        let mut out: Vec<u8> =
            [codes, accounts, slots, legacy].iter().flat_map(|n| n.to_be_bytes()).collect();
        out.extend_from_slice(self.commitment.as_slice());
        out.extend_from_slice(self.digest.as_slice());
        out
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, StateError> {
        let mut reader = Reader::new(bytes, "stream");
        let counts = StreamCounts {
            codes: reader.u64_be()?,
            accounts: reader.u64_be()?,
            slots: reader.u64_be()?,
            legacy: reader.u64_be()?,
        };
        let trailer = Self { counts, commitment: reader.b256()?, digest: reader.b256()? };
        reader.end()?;
        Ok(trailer)
    }
}

/// A stream that does not read, with the byte where that was seen.
fn bad(offset: u64, what: impl Into<String>) -> FlatKvError {
    FlatKvError::BadStream { offset, what: what.into() }
}
