//! How keys are told apart, and where their bytes lie.

use crate::{Keys, MAX_SEQUENCE_KEY_BYTES};

/// A key in an index: for [`Keys::Hash`] 96 bits of a hash with the table's own secret; for [`Keys::Sequence`] the key
/// itself, filled up with zeros, and its length. In the latter case it sorts as the key does.
///
/// Two different keys with one hash cannot both be stored: the second put would be refused as a conflict. A key that was
/// never put is taken for another one with a chance of the number of keys in 2^96.
pub(crate) type Id = [u8; 12];

/// The id of a key. Its length has been checked.
pub(crate) fn id_of(kind: Keys, secret: &[u8; 32], key: &[u8]) -> Id {
    let mut id = [0; 12];
    match kind {
        Keys::Hash => id.copy_from_slice(&blake3::keyed_hash(secret, key).as_bytes()[..12]),
        Keys::Sequence => {
            let len = key.len().min(MAX_SEQUENCE_KEY_BYTES);
            id[..len].copy_from_slice(&key[..len]);
            id[11] = len as u8;
        }
    }
    id
}

/// Where the bytes of a key lie in a segment: the frames that cover them, and the part of those that is theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Offset of the first frame.
    pub offset: u32,
    /// Bytes of all frames that cover the range, with their headers.
    pub span: u32,
    /// Raw bytes of the first frame before the range.
    pub skip: u32,
    /// Raw bytes of the range.
    pub len: u32,
    /// The record's number; [`NO_NUMBER`] for none.
    pub number: u64,
    /// Whether all frames are stored as they are.
    pub raw: bool,
}

/// Stands for no number.
pub(crate) const NO_NUMBER: u64 = u64::MAX;
