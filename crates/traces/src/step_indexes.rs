//! Indexes of steps that were made, as JSON: a client that steps through a transaction requests its
//! index repeatedly.

use alloy_primitives::B256;
use parking_lot::Mutex;
use std::sync::Arc;

/// Most indexes that are kept.
pub const KEPT_INDEXES: usize = 64;

/// Most bytes of indexes that are kept.
pub const KEPT_INDEX_BYTES: usize = 32 << 20;

/// A block and the position of a transaction in it. What calls do is not kept: it depends on
/// overrides and edits.
pub type IndexKey = (B256, usize);

/// The indexes that were requested last.
#[derive(Default)]
pub struct StepIndexes(Mutex<IndexCache>);

struct IndexCache {
    /// The last one used comes last.
    kept: Vec<(IndexKey, Arc<[u8]>)>,
    bytes: usize,
    /// Most of them.
    bound: usize,
}

impl Default for IndexCache {
    fn default() -> Self {
        Self { kept: Vec::new(), bytes: 0, bound: KEPT_INDEX_BYTES }
    }
}

impl IndexCache {
    /// Lets the oldest go until the bounds hold.
    fn trim(&mut self) {
        while self.bytes > self.bound || self.kept.len() > KEPT_INDEXES {
            let (_, oldest) = self.kept.remove(0);
            self.bytes -= oldest.len();
        }
    }
}

impl StepIndexes {
    /// The index of a transaction, where it is kept.
    pub fn get(&self, key: &IndexKey) -> Option<Arc<[u8]>> {
        let mut state = self.0.lock();
        let at = state.kept.iter().position(|(known, _)| known == key)?;
        let entry = state.kept.remove(at);
        let index = entry.1.clone();
        state.kept.push(entry);
        Some(index)
    }

    /// Keeps an index, unless it alone is beyond the bound.
    pub fn put(&self, key: IndexKey, index: Arc<[u8]>) {
        let mut state = self.0.lock();
        if index.len() > state.bound || state.kept.iter().any(|(known, _)| *known == key) {
            return;
        }
        state.bytes += index.len();
        state.kept.push((key, index));
        state.trim();
    }

    /// Bytes that are kept.
    pub fn bytes(&self) -> usize {
        self.0.lock().bytes
    }

    /// Keeps at most `part` of `whole` of the bound from now on.
    pub fn set_capacity_fraction(&self, part: usize, whole: usize) {
        let mut state = self.0.lock();
        state.bound = KEPT_INDEX_BYTES / whole * part;
        state.trim();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: usize) -> IndexKey {
        (B256::repeat_byte(1), n)
    }

    #[test]
    fn the_one_that_was_not_used_for_longest_goes_first() {
        let indexes = StepIndexes::default();
        for n in 0..KEPT_INDEXES {
            indexes.put(key(n), vec![n as u8].into());
        }
        assert_eq!(indexes.get(&key(0)).as_deref(), Some(&[0][..]));
        indexes.put(key(KEPT_INDEXES), vec![9, 9].into());
        assert!(indexes.get(&key(1)).is_none() && indexes.get(&key(0)).is_some());
        assert_eq!(indexes.bytes(), KEPT_INDEXES - 1 + 2);
    }

    #[test]
    fn bytes_are_bounded() {
        let indexes = StepIndexes::default();
        let large: Arc<[u8]> = vec![0; KEPT_INDEX_BYTES / 2 + 1].into();
        indexes.put(key(0), large.clone());
        indexes.put(key(1), large.clone());
        assert!(indexes.get(&key(0)).is_none() && indexes.get(&key(1)).is_some());
        indexes.set_capacity_fraction(1, 4);
        assert_eq!(indexes.bytes(), 0);
        indexes.put(key(2), large);
        assert!(indexes.get(&key(2)).is_none());
    }
}
