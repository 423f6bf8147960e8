//! Values one after the other, so that many are transferred at once without parsing text.
//!
//! Numbers are little-endian, words of 256 bits big-endian as in the EVM; bytes of varying length
//! follow their number as a u32; an optional value follows a byte that is 1 if the value is
//! present.

use alloy_primitives::{Address, B256, U256};

/// Bytes that grow.
#[derive(Debug, Default)]
pub(super) struct Packed {
    bytes: Vec<u8>,
}

impl Packed {
    pub fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes) }
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub fn byte(&mut self, value: u8) -> &mut Self {
        self.bytes.push(value);
        self
    }

    pub fn flag(&mut self, value: bool) -> &mut Self {
        self.byte(value.into())
    }

    pub fn u32(&mut self, value: usize) -> &mut Self {
        // Nothing that is packed has 2^32 parts or bytes: a batch is far smaller.
        self.raw(&(value as u32).to_le_bytes())
    }

    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub fn u128(&mut self, value: u128) -> &mut Self {
        self.word(&U256::from(value))
    }

    pub fn word(&mut self, value: &U256) -> &mut Self {
        self.raw(&value.to_be_bytes::<32>())
    }

    pub fn hash(&mut self, value: &B256) -> &mut Self {
        self.raw(value.as_slice())
    }

    pub fn address(&mut self, value: &Address) -> &mut Self {
        self.raw(value.as_slice())
    }

    /// Bytes of a length that both sides know.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Bytes with their length.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.u32(bytes.len()).raw(bytes)
    }

    /// What may be absent.
    pub fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) -> &mut Self {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
        self
    }

    /// Parts with their number.
    pub fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) -> &mut Self {
        self.u32(items.len());
        for item in items {
            write(self, item);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_one_after_the_other() {
        let mut packed = Packed::default();
        packed.byte(7).u64(1).word(&U256::from(2)).bytes(&[3, 4]).optional(None::<u8>, |p, v| {
            p.byte(v);
        });
        packed
            .optional(Some(5), |p, v| {
                p.byte(v);
            })
            .list(&[8u8, 9], |p, v| {
                p.byte(*v);
            });
        let mut word = [0; 32];
        word[31] = 2;
        let want = [&[7, 1, 0, 0, 0, 0, 0, 0, 0][..], &word, &[2, 0, 0, 0, 3, 4, 0, 1, 5, 2, 0, 0, 0, 8, 9]]
            .concat();
        assert_eq!(packed.into_bytes(), want);
    }
}
