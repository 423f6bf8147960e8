//! How keys are distinguished, and where their bytes lie.

use crate::format::{be64, mix, random};
use crate::{Keys, MAX_SEQUENCE_KEY_BYTES};
use std::hash::{BuildHasher, Hasher};

/// A key in an index: for [`Keys::Hash`] 96 bits of a hash with the table's own secret; for
/// [`Keys::Sequence`] the key itself, filled up with zeros, and its length. In the latter case it
/// sorts as the key does.
///
/// Two different keys with one hash cannot both be stored: the second put would be refused as a
/// conflict. A key that was never put is taken for another one with a chance of the number of keys
/// in 2^96.
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

/// Where the bytes of a key lie in a segment: the frames that cover them, and the part of those
/// that is theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyLocation {
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

/// Hashes ids and numbers of files for maps in memory: quick, and not to be foreseen, because each
/// map has a number of its own.
#[derive(Clone, Debug)]
pub(crate) struct Spread(u64);

impl Default for Spread {
    fn default() -> Self {
        Self(u64::from_be_bytes(random()))
    }
}

impl BuildHasher for Spread {
    type Hasher = SpreadHasher;

    fn build_hasher(&self) -> SpreadHasher {
        SpreadHasher(self.0)
    }
}

/// What [`Spread`] makes.
pub(crate) struct SpreadHasher(u64);

impl Hasher for SpreadHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((word, behind)) = rest.split_at_checked(8) {
            self.0 = mix(self.0 ^ be64(word));
            rest = behind;
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.0 = mix(self.0 ^ be64(&last));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = mix(self.0 ^ word);
    }

    /// The length of an id, which is always the same.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_differ_in_one_bit_are_spread() {
        let spread = Spread::default();
        let mut low = std::collections::HashSet::new();
        for bit in 0..96 {
            let mut id: Id = [7; 12];
            id[bit / 8] ^= 1 << (bit % 8);
            low.insert(spread.hash_one(id) & 0xffff);
        }
        assert!(low.len() > 90, "{}", low.len());
        assert_ne!(Spread::default().hash_one(7_u64), spread.hash_one(7_u64), "maps differ");
    }
}
