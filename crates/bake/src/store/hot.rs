//! A bounded cache of what was inflated.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes for which a part of its own is worth it.
const PART_BYTES: usize = 8 << 20;

/// Most independent parts, so that readers rarely meet at a lock.
const PARTS_MAX: usize = 16;

/// What an entry weighs beside its value, in bytes.
const ENTRY_BYTES: usize = 128;

/// A cached value with its size in memory.
pub(crate) trait MemorySize {
    /// Bytes of memory.
    fn weight(&self) -> usize;
}

/// A bounded cache in two generations: a requested value goes to the young one; when that has
/// filled its half, it becomes the old one, and what was not requested in the meantime is dropped.
pub(crate) struct Hot<K, V> {
    parts: Vec<Mutex<HotPart<K, V>>>,
    /// Bound of one generation of one part, in bytes.
    half: AtomicUsize,
    state: RandomState,
}

struct HotPart<K, V> {
    young: HashMap<K, Arc<V>>,
    young_bytes: usize,
    old: HashMap<K, Arc<V>>,
    old_bytes: usize,
}

impl<K, V> Default for HotPart<K, V> {
    fn default() -> Self {
        Self { young: HashMap::new(), young_bytes: 0, old: HashMap::new(), old_bytes: 0 }
    }
}

impl<K: Eq + Hash, V: MemorySize> Hot<K, V> {
    /// A cache of at most so many bytes; 0 keeps nothing.
    pub fn new(bytes: usize) -> Self {
        let parts = (bytes / PART_BYTES).clamp(1, PARTS_MAX);
        Self {
            parts: (0..parts).map(|_| Mutex::default()).collect(),
            half: AtomicUsize::new(bytes / parts / 2),
            state: RandomState::new(),
        }
    }

    fn half(&self) -> usize {
        self.half.load(Ordering::Relaxed)
    }

    /// Keeps at most so many bytes from now on, over as many parts as there were at the start.
    pub fn set_bytes(&self, bytes: usize) {
        let half = bytes / self.parts.len() / 2;
        self.half.store(half, Ordering::Relaxed);
        for part in &self.parts {
            let part = &mut *part.lock();
            if part.old_bytes > half {
                (part.old, part.old_bytes) = (HashMap::new(), 0);
            }
            if part.young_bytes > half {
                (part.young, part.young_bytes) = (HashMap::new(), 0);
            }
        }
    }

    fn part(&self, key: &K) -> &Mutex<HotPart<K, V>> {
        &self.parts[self.state.hash_one(key) as usize % self.parts.len()]
    }

    /// Most bytes of one entry that is kept.
    pub fn entry_max(&self) -> usize {
        self.half().saturating_sub(ENTRY_BYTES)
    }

    pub fn get(&self, key: &K) -> Option<Arc<V>> {
        let mut part = self.part(key).lock();
        if let Some(value) = part.young.get(key) {
            return Some(value.clone());
        }
        let (key, value) = part.old.remove_entry(key)?;
        part.old_bytes -= value.weight() + ENTRY_BYTES;
        part.put(key, value.clone(), self.half());
        Some(value)
    }

    /// Keeps a value, unless it is larger than [`Self::entry_max`] or there already.
    pub fn put(&self, key: K, value: Arc<V>) {
        if value.weight() > self.entry_max() {
            return;
        }
        let mut part = self.part(&key).lock();
        if !part.young.contains_key(&key) && !part.old.contains_key(&key) {
            part.put(key, value, self.half());
        }
    }

    /// Forgets the entries that do not pass.
    pub fn retain(&self, keep: impl Fn(&K) -> bool) {
        for part in &self.parts {
            let part = &mut *part.lock();
            part.young.retain(|key, _| keep(key));
            part.old.retain(|key, _| keep(key));
            let bytes =
                |entries: &HashMap<K, Arc<V>>| entries.values().map(|v| v.weight() + ENTRY_BYTES).sum();
            (part.young_bytes, part.old_bytes) = (bytes(&part.young), bytes(&part.old));
        }
    }

    /// Bytes of all entries.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.lock()).map(|part| part.young_bytes + part.old_bytes).sum()
    }
}

impl<K: Eq + Hash, V: MemorySize> HotPart<K, V> {
    fn put(&mut self, key: K, value: Arc<V>, half: usize) {
        let weight = value.weight() + ENTRY_BYTES;
        if self.young_bytes + weight > half {
            (self.old, self.old_bytes) = (std::mem::take(&mut self.young), self.young_bytes);
            self.young_bytes = 0;
        }
        self.young_bytes += weight;
        self.young.insert(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl MemorySize for Vec<u8> {
        fn weight(&self) -> usize {
            self.len()
        }
    }

    #[test]
    fn the_bound_holds_and_what_is_asked_for_stays() {
        let limit = 1 << 20;
        let hot = Hot::new(limit);
        hot.put(0, Arc::new(vec![7; 1000]));
        for n in 1..10_000_u32 {
            hot.put(n, Arc::new(vec![0; 1000]));
            assert!(hot.bytes() <= limit, "{n}: {}", hot.bytes());
            assert_eq!(hot.get(&0).unwrap()[0], 7, "{n}");
        }
        let kept = (0..10_000).filter(|n| hot.get(n).is_some()).count();
        assert!((400..=1000).contains(&kept), "{kept}");
    }

    #[test]
    fn too_large_an_entry_is_not_kept_and_zero_keeps_nothing() {
        let hot = Hot::new(1 << 20);
        hot.put(1, Arc::new(vec![0; 1 << 19]));
        assert!(hot.get(&1).is_none());
        hot.put(2, Arc::new(vec![0; hot.entry_max()]));
        assert!(hot.get(&2).is_some());
        hot.set_bytes(1 << 19);
        assert!(hot.get(&2).is_none() && hot.bytes() == 0, "a smaller bound holds at once");
        hot.put(3, Arc::new(vec![0; 1000]));
        assert!(hot.get(&3).is_some());
        hot.set_bytes(1 << 20);
        hot.put(2, Arc::new(vec![0; hot.entry_max()]));
        assert!(hot.get(&2).is_some(), "and grows again");
        hot.retain(|key| *key > 3);
        assert_eq!((hot.get(&2).is_none(), hot.bytes()), (true, 0));
        let none = Hot::new(0);
        none.put(1, Arc::new(vec![0_u8; 1]));
        assert!(none.get(&1).is_none());
    }
}
