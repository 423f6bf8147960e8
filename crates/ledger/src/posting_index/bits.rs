//! A set of heights within a page.

use hearth_primitives::Height;

/// Heights of a page. Their offsets are one byte.
pub const PAGE_HEIGHTS: u64 = 256;
/// Length of a row that is a bitmap; a shorter one is a list of offsets, ascending.
const BITMAP_BYTES: usize = 32;

/// The page of a height.
pub(super) fn page_of(height: Height) -> u64 {
    height / PAGE_HEIGHTS
}

/// Lowest height of a page.
pub(super) fn start_of(page: u64) -> Height {
    page * PAGE_HEIGHTS
}

/// Highest height of a page.
pub(super) fn end_of(page: u64) -> Height {
    start_of(page) + (PAGE_HEIGHTS - 1)
}

/// A set of the 256 heights of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits([u64; 4]);

impl Bits {
    /// The heights from one to another, both in the page, both inclusive.
    pub fn between(page: u64, from: Height, to: Height) -> Self {
        let mut bits = Self::default();
        let (from, to) = (from.max(start_of(page)), to.min(end_of(page)));
        (from..=to).for_each(|height| bits.set((height - start_of(page)) as u8));
        bits
    }

    pub fn set(&mut self, offset: u8) {
        self.0[usize::from(offset >> 6)] |= 1 << (offset & 63);
    }

    pub fn or(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word |= other);
    }

    pub fn and(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word &= other);
    }

    /// Takes out what another set has.
    pub fn remove(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word &= !other);
    }

    /// Takes the lowest offset out.
    pub fn pop(&mut self) -> Option<u8> {
        let (word, bits) = self.0.iter_mut().enumerate().find(|(_, bits)| **bits != 0)?;
        let offset = word as u32 * 64 + bits.trailing_zeros();
        *bits &= *bits - 1;
        Some(offset as u8)
    }

    /// Takes the highest offset out.
    pub fn pop_last(&mut self) -> Option<u8> {
        let (word, bits) = self.0.iter_mut().enumerate().rev().find(|(_, bits)| **bits != 0)?;
        let bit = 63 - bits.leading_zeros();
        *bits &= !(1 << bit);
        Some((word as u32 * 64 + bit) as u8)
    }

    /// How many heights are in the set.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// A row: offsets where they are few, else a bitmap.
    pub fn encode(&self) -> Vec<u8> {
        if self.count() as usize >= BITMAP_BYTES {
            return self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        }
        let mut rest = *self;
        std::iter::from_fn(|| rest.pop()).collect()
    }

    /// Reads a row; `None` where it is none.
    pub fn decode(row: &[u8]) -> Option<Self> {
        if let Ok(bitmap) = <&[u8; BITMAP_BYTES]>::try_from(row) {
            let mut bits = Self::default();
            for (word, bytes) in bits.0.iter_mut().zip(bitmap.chunks_exact(8)) {
                *word = u64::from_le_bytes(bytes.try_into().ok()?);
            }
            return Some(bits);
        }
        if row.is_empty() || row.len() > BITMAP_BYTES || !row.is_sorted_by(|a, b| a < b) {
            return None;
        }
        let mut bits = Self::default();
        row.iter().for_each(|offset| bits.set(*offset));
        Some(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_row_reads_as_it_was_written(offsets in prop::collection::btree_set(any::<u8>(), 1..=256)) {
            let mut bits = Bits::default();
            offsets.iter().for_each(|offset| bits.set(*offset));
            let row = bits.encode();
            prop_assert!(row.len() <= 32);
            prop_assert_eq!(Bits::decode(&row), Some(bits));
            let mut rest = bits;
            let popped: Vec<u8> = std::iter::from_fn(|| rest.pop()).collect();
            let mut rest = bits;
            let popped_last: Vec<u8> = std::iter::from_fn(|| rest.pop_last()).collect();
            prop_assert!(popped_last.iter().rev().eq(&popped));
            prop_assert_eq!(popped, offsets.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn any_bytes_are_answered(row in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some(bits) = Bits::decode(&row) {
                prop_assert_eq!(Bits::decode(&bits.encode()).unwrap_or_default(), bits);
            }
        }
    }

    #[test]
    fn ranges_are_clipped_to_the_page() {
        let mut bits = Bits::between(2, 500, 514);
        let heights: Vec<u64> = std::iter::from_fn(|| bits.pop()).map(|at| 512 + u64::from(at)).collect();
        assert_eq!(heights, [512, 513, 514]);
        assert_eq!((page_of(511), page_of(512), start_of(2), end_of(2)), (1, 2, 512, 767));
        assert_eq!(Bits::decode(&[3, 3]), None);
        assert_eq!(Bits::decode(&[]), None);
    }
}
