//! Cache of code by hash, bounded in bytes.

use alloy_primitives::{B256, Bytes};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that an entry takes beside its code.
const ENTRY_BYTES: usize = 128;

/// Two generations: what is used moves to the young one; when that holds half of the bound, the old
/// one goes.
pub(crate) struct CodeCache {
    limit: AtomicUsize,
    generations: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    young: HashMap<B256, Bytes>,
    old: HashMap<B256, Bytes>,
    young_bytes: usize,
}

impl CodeCache {
    /// A cache of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit: AtomicUsize::new(limit), generations: Mutex::default() }
    }

    /// At most `limit` bytes from now on.
    pub(crate) fn set_limit(&self, limit: usize) {
        if self.limit.swap(limit, Ordering::Relaxed) > limit {
            *self.generations.lock() = Generations::default();
        }
    }

    pub(crate) fn get(&self, hash: &B256) -> Option<Bytes> {
        let mut generations = self.generations.lock();
        if let Some(code) = generations.young.get(hash) {
            return Some(code.clone());
        }
        let code = generations.old.remove(hash)?;
        self.put(&mut generations, *hash, code.clone());
        Some(code)
    }

    pub(crate) fn insert(&self, hash: B256, code: Bytes) {
        self.put(&mut self.generations.lock(), hash, code);
    }

    fn put(&self, generations: &mut Generations, hash: B256, code: Bytes) {
        let bytes = code.len() + ENTRY_BYTES;
        let half = self.limit.load(Ordering::Relaxed) / 2;
        if bytes > half {
            return;
        }
        if generations.young_bytes + bytes > half {
            generations.old = std::mem::take(&mut generations.young);
            generations.young_bytes = 0;
        }
        if generations.young.insert(hash, code).is_none() {
            generations.young_bytes += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_holds_and_what_is_used_stays() {
        let cache = CodeCache::new(20 * 1024);
        let hot = B256::repeat_byte(0xff);
        cache.insert(hot, Bytes::from(vec![1; 1000]));
        for n in 0..100u8 {
            cache.insert(B256::repeat_byte(n), Bytes::from(vec![n; 1000]));
            assert_eq!(cache.get(&hot).map(|code| code.len()), Some(1000));
            let generations = cache.generations.lock();
            let held: usize =
                generations.young.values().chain(generations.old.values()).map(|c| c.len()).sum();
            assert!(held <= 20 * 1024, "{held} bytes held");
        }
        assert_eq!(cache.get(&B256::ZERO), None);
        cache.insert(B256::ZERO, Bytes::from(vec![0; 11 * 1024]));
        assert_eq!(cache.get(&B256::ZERO), None, "larger than half of the bound");
    }
}
