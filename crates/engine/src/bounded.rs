//! A map by block hash that forgets what came first once it is full.

use alloy_primitives::{B256, map::B256Map};
use std::collections::VecDeque;

/// Values by hash, at most so many, and of at most so many bytes together.
pub(crate) struct Bounded<V> {
    values: B256Map<(V, usize)>,
    /// Hashes in the order in which they came.
    order: VecDeque<B256>,
    bytes: usize,
    most: usize,
    most_bytes: usize,
}

impl<V> Bounded<V> {
    /// Room for `most` values of `most_bytes` bytes together.
    pub fn new(most: usize, most_bytes: usize) -> Self {
        Self { values: B256Map::default(), order: VecDeque::new(), bytes: 0, most, most_bytes }
    }

    /// A value.
    pub fn get(&self, hash: &B256) -> Option<&V> {
        self.values.get(hash).map(|(value, _)| value)
    }

    /// A value, to be changed.
    pub fn get_mut(&mut self, hash: &B256) -> Option<&mut V> {
        self.values.get_mut(hash).map(|(value, _)| value)
    }

    /// Adds a value of so many bytes; those that came first go where there is no room.
    pub fn insert(&mut self, hash: B256, value: V, bytes: usize) {
        drop(self.push(hash, value, bytes));
    }

    /// As [`Self::insert`]; what goes, the first one first.
    pub fn push(&mut self, hash: B256, value: V, bytes: usize) -> Vec<V> {
        self.remove(&hash);
        self.values.insert(hash, (value, bytes));
        self.order.push_back(hash);
        self.bytes += bytes;
        let mut gone = Vec::new();
        while self.order.len() > self.most || (self.bytes > self.most_bytes && self.order.len() > 1) {
            let Some(first) = self.order.front().copied() else { break };
            gone.extend(self.remove(&first));
        }
        gone
    }

    /// Takes a value out.
    pub fn remove(&mut self, hash: &B256) -> Option<V> {
        let (value, bytes) = self.values.remove(hash)?;
        self.order.retain(|other| other != hash);
        self.bytes -= bytes;
        Some(value)
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_first_is_forgotten_by_number_and_by_bytes() {
        let hash = B256::with_last_byte;
        let mut map = Bounded::new(2, 100);
        map.insert(hash(1), 'a', 10);
        map.insert(hash(2), 'b', 10);
        map.insert(hash(3), 'c', 10);
        assert_eq!((map.get(&hash(1)), map.get(&hash(2)), map.len()), (None, Some(&'b'), 2));
        assert_eq!(map.push(hash(4), 'd', 95), ['b', 'c']);
        assert_eq!((map.get(&hash(3)), map.get(&hash(4)), map.len()), (None, Some(&'d'), 1));
        // The newest one is kept however large it is.
        map.insert(hash(5), 'e', 500);
        assert_eq!((map.get(&hash(5)), map.len()), (Some(&'e'), 1));
        map.insert(hash(5), 'f', 1);
        assert_eq!((map.remove(&hash(5)), map.len(), map.bytes), (Some('f'), 0, 0));
    }
}
