//! A least-recently-used cache bounded by count and by bytes.

use alloy_primitives::B256;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

#[derive(Debug)]
struct Inner<T> {
    entries: HashMap<B256, (Arc<T>, u64, usize)>,
    /// Keys by time of last use.
    order: BTreeMap<u64, B256>,
    clock: u64,
    bytes: usize,
    /// Most of them, now.
    max_bytes: usize,
}

impl<T> Inner<T> {
    /// Lets the least recently used go until the bounds hold.
    fn trim(&mut self, max_count: usize) {
        while self.entries.len() > max_count || self.bytes > self.max_bytes {
            let Some((_, oldest)) = self.order.pop_first() else { break };
            if let Some((_, _, bytes)) = self.entries.remove(&oldest) {
                self.bytes -= bytes;
            }
        }
    }
}

/// Values by hash. An entry that alone exceeds the bytes is not kept.
#[derive(Debug)]
pub(crate) struct Cache<T> {
    inner: Mutex<Inner<T>>,
    max_count: usize,
    /// Most bytes, as it was made.
    whole_bytes: usize,
}

impl<T> Cache<T> {
    pub fn new(max_count: usize, max_bytes: usize) -> Self {
        let inner = Inner { entries: HashMap::new(), order: BTreeMap::new(), clock: 0, bytes: 0, max_bytes };
        Self { inner: Mutex::new(inner), max_count, whole_bytes: max_bytes }
    }

    /// Bytes that its values stand for.
    pub fn bytes(&self) -> usize {
        self.inner.lock().bytes
    }

    /// Bounds it to `part` of `whole` of its bytes, from now on.
    pub fn set_capacity_fraction(&self, part: usize, whole: usize) {
        let inner = &mut *self.inner.lock();
        inner.max_bytes = self.whole_bytes / whole * part;
        inner.trim(self.max_count);
    }

    pub fn get(&self, key: &B256) -> Option<Arc<T>> {
        let inner = &mut *self.inner.lock();
        let (value, stamp, _) = inner.entries.get_mut(key)?;
        inner.clock += 1;
        inner.order.remove(stamp);
        inner.order.insert(inner.clock, *key);
        *stamp = inner.clock;
        Some(value.clone())
    }

    /// Keeps a value that stands for so many bytes.
    pub fn put(&self, key: B256, value: Arc<T>, bytes: usize) {
        let inner = &mut *self.inner.lock();
        if bytes > inner.max_bytes || self.max_count == 0 {
            return;
        }
        inner.clock += 1;
        if let Some((_, stamp, old)) = inner.entries.insert(key, (value, inner.clock, bytes)) {
            inner.order.remove(&stamp);
            inner.bytes -= old;
        }
        inner.order.insert(inner.clock, key);
        inner.bytes += bytes;
        inner.trim(self.max_count);
    }

    #[cfg(test)]
    fn size(&self) -> (usize, usize) {
        let inner = self.inner.lock();
        assert_eq!(inner.entries.len(), inner.order.len());
        (inner.entries.len(), inner.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u8) -> B256 {
        B256::repeat_byte(n)
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let cache = Cache::new(2, 1000);
        cache.put(key(1), Arc::new(1), 10);
        cache.put(key(2), Arc::new(2), 10);
        assert_eq!(cache.get(&key(1)).as_deref(), Some(&1));
        cache.put(key(3), Arc::new(3), 10);
        assert_eq!(cache.get(&key(2)), None);
        assert_eq!(cache.get(&key(1)).as_deref(), Some(&1));
        assert_eq!(cache.get(&key(3)).as_deref(), Some(&3));
        assert_eq!(cache.size(), (2, 20));
    }

    #[test]
    fn bytes_are_bounded() {
        let cache = Cache::new(100, 100);
        for n in 0..10 {
            cache.put(key(n), Arc::new(n), 30);
            assert!(cache.size().1 <= 100);
        }
        assert_eq!(cache.size(), (3, 90));
        cache.put(key(42), Arc::new(42), 101);
        assert_eq!(cache.get(&key(42)), None);
        cache.put(key(9), Arc::new(99), 40);
        assert_eq!(cache.get(&key(9)).as_deref(), Some(&99));
        assert_eq!(cache.size(), (3, 100));
    }

    #[test]
    fn a_smaller_share_lets_the_oldest_go_at_once() {
        let cache = Cache::new(100, 160);
        let fill = || (0..16).for_each(|n| cache.put(key(n), Arc::new(n), 10));
        fill();
        assert_eq!(cache.size(), (16, 160));
        cache.set_capacity_fraction(2, 16);
        assert_eq!(cache.size(), (2, 20));
        assert_eq!(cache.get(&key(15)).as_deref(), Some(&15));
        fill();
        assert_eq!(cache.size(), (2, 20));
        cache.set_capacity_fraction(16, 16);
        fill();
        assert_eq!(cache.size(), (16, 160));
    }
}
