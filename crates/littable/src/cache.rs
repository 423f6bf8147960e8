//! A bounded cache of frames: sharded, CLOCK eviction, emptied by segment.

use crate::format::mix;
use crate::keys::Spread;
use hearth_disk::Clock;
use hearth_metrics::CacheMetrics;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Independent parts, so that readers rarely meet at a lock.
const PARTS: usize = 16;
/// What an entry weighs beside its bytes.
const ENTRY_BYTES: usize = 96;

/// Which frame: number of the segment in this process, and offset of the frame in it. For several
/// frames in one piece, the upper half of the offset has the bytes that they take.
pub(crate) type FrameKey = (u64, u64);

/// A bounded cache of frames.
pub(crate) struct Cache {
    parts: Vec<Mutex<CachePart>>,
    /// Most bytes of a part, as the cache was made.
    whole_bytes: usize,
    /// The same, as it is now.
    part_bytes: AtomicUsize,
    clock: Arc<dyn Clock>,
    metrics: CacheMetrics,
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("part_bytes", &self.part_bytes).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct CachePart {
    places: HashMap<FrameKey, usize, Spread>,
    entries: Vec<Option<CacheEntry>>,
    free: Vec<usize>,
    hand: usize,
    bytes: usize,
}

struct CacheEntry {
    key: FrameKey,
    bytes: Arc<Vec<u8>>,
    used: bool,
    since: Duration,
}

impl CacheEntry {
    fn weight(&self) -> usize {
        self.bytes.len() + ENTRY_BYTES
    }
}

impl Cache {
    /// A cache of at most this many bytes; `None` for 0.
    pub fn new(bytes: usize, clock: Arc<dyn Clock>, metrics: CacheMetrics) -> Option<Self> {
        let parts = (0..PARTS).map(|_| Mutex::default()).collect();
        let whole_bytes = bytes / PARTS;
        (bytes > 0).then_some(Self { parts, whole_bytes, part_bytes: whole_bytes.into(), clock, metrics })
    }

    /// Bounds the cache to `part` of `whole` of what it was made with, from now on.
    pub fn set_capacity_fraction(&self, part: usize, whole: usize) {
        let bytes = self.whole_bytes / whole * part;
        self.part_bytes.store(bytes, Relaxed);
        for part in &self.parts {
            let mut gone = Vec::new();
            {
                let mut part = part.lock();
                while part.bytes > bytes {
                    gone.extend(part.evict());
                }
            }
            self.note_gone(&gone);
        }
    }

    fn part(&self, key: FrameKey) -> &Mutex<CachePart> {
        &self.parts[mix(key.0.rotate_left(32) ^ key.1) as usize % PARTS]
    }

    pub fn get(&self, key: FrameKey) -> Option<Arc<Vec<u8>>> {
        let mut part = self.part(key).lock();
        let place = *part.places.get(&key)?;
        let entry = part.entries[place].as_mut()?;
        entry.used = true;
        Some(entry.bytes.clone())
    }

    /// Puts a frame in, unless it is larger than a part or there already.
    pub fn put(&self, key: FrameKey, bytes: Arc<Vec<u8>>) {
        let entry = CacheEntry { key, bytes, used: false, since: self.clock.monotonic() };
        let (weight, bound) = (entry.weight(), self.part_bytes.load(Relaxed));
        if weight > bound {
            return;
        }
        let mut part = self.part(key).lock();
        if part.places.contains_key(&key) {
            return;
        }
        let mut gone = Vec::new();
        while part.bytes + weight > bound {
            gone.extend(part.evict());
        }
        let place = part.free.pop().unwrap_or_else(|| {
            part.entries.push(None);
            part.entries.len() - 1
        });
        part.bytes += weight;
        part.places.insert(key, place);
        part.entries[place] = Some(entry);
        drop(part);
        self.metrics.keys_added.add(1);
        self.metrics.weight_added_bytes.add(weight as u64);
        self.metrics.key_count.add(1);
        self.metrics.weight_bytes.add(weight as i64);
        self.note_gone(&gone);
    }

    /// Drops the frames of a segment.
    pub fn drop_segment(&self, uid: u64) {
        for part in &self.parts {
            let mut gone = Vec::new();
            {
                let mut part = part.lock();
                let keys: Vec<FrameKey> = part.places.keys().filter(|k| k.0 == uid).copied().collect();
                for key in keys {
                    gone.extend(part.remove(key));
                }
            }
            self.note_gone(&gone);
        }
    }

    fn note_gone(&self, gone: &[CacheEntry]) {
        let now = self.clock.monotonic();
        for entry in gone {
            self.metrics.key_count.add(-1);
            self.metrics.weight_bytes.add(-(entry.weight() as i64));
            self.metrics.eviction.record_duration(now.saturating_sub(entry.since));
        }
    }
}

impl Drop for Cache {
    /// The gauges are shared with other tables: what this one added is taken away.
    fn drop(&mut self) {
        for part in &mut self.parts {
            let part = part.get_mut();
            self.metrics.key_count.add(-(part.places.len() as i64));
            self.metrics.weight_bytes.add(-(part.bytes as i64));
        }
    }
}

impl CachePart {
    /// Takes the next entry out that was not used since the hand passed it.
    fn evict(&mut self) -> Option<CacheEntry> {
        loop {
            self.hand = (self.hand + 1) % self.entries.len().max(1);
            let entry = self.entries.get_mut(self.hand)?;
            match entry {
                Some(entry) if entry.used => entry.used = false,
                Some(entry) => {
                    let key = entry.key;
                    return self.remove(key);
                }
                None => {}
            }
        }
    }

    fn remove(&mut self, key: FrameKey) -> Option<CacheEntry> {
        let place = self.places.remove(&key)?;
        let entry = self.entries[place].take()?;
        self.free.push(place);
        self.bytes -= entry.weight();
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_disk::ManualClock;
    use hearth_metrics::{LittMetrics, Registry};

    fn cache(bytes: usize) -> (Cache, Arc<LittMetrics>, Arc<ManualClock>) {
        let metrics = LittMetrics::new(&Registry::new());
        let clock = Arc::new(ManualClock::default());
        (Cache::new(bytes, clock.clone(), metrics.chunk_read.clone()).unwrap(), metrics, clock)
    }

    #[test]
    fn the_bound_holds_and_evictions_are_measured_by_age() {
        let (cache, metrics, clock) = cache(PARTS * (1000 + ENTRY_BYTES) * 2);
        for n in 0..1000 {
            cache.put((1, n), Arc::new(vec![n as u8; 1000]));
            clock.advance(Duration::from_secs(1));
        }
        let m = &metrics.chunk_read;
        let kept = (0..1000).filter(|n| cache.get((1, *n)).is_some_and(|b| b[0] == *n as u8)).count();
        assert!((16..=32).contains(&kept), "{kept}");
        assert_eq!(m.keys_added.value(), 1000);
        assert_eq!(m.key_count.value() as usize, kept);
        assert_eq!(m.weight_bytes.value() as usize, kept * (1000 + ENTRY_BYTES));
        assert_eq!(m.eviction.count() as usize, 1000 - kept);
        assert!(m.eviction.sum() >= (1000 - kept) as f64, "each was at least a second old");
        drop(cache);
        assert_eq!((m.key_count.value(), m.weight_bytes.value()), (0, 0));
    }

    #[test]
    fn a_smaller_share_evicts_frames_and_a_larger_admits_them() {
        let (cache, metrics, _) = cache(PARTS * (1000 + ENTRY_BYTES) * 16);
        let fill = || (0..5000).for_each(|n| cache.put((1, n), Arc::new(vec![0; 1000])));
        let bytes = || metrics.chunk_read.weight_bytes.value() as usize;
        let whole = PARTS * (1000 + ENTRY_BYTES) * 16;
        fill();
        assert!(bytes() > whole / 10 * 9 && bytes() <= whole, "{}", bytes());
        cache.set_capacity_fraction(1, 16);
        assert!(bytes() <= whole / 16, "{}", bytes());
        fill();
        assert!(bytes() <= whole / 16 && bytes() > 0, "{}", bytes());
        cache.set_capacity_fraction(16, 16);
        fill();
        assert!(bytes() > whole / 10 * 9 && bytes() <= whole, "{}", bytes());
    }

    #[test]
    fn used_frames_outlive_unused_ones_and_segments_are_dropped() {
        let (cache, ..) = cache(PARTS * (100 + ENTRY_BYTES) * 8);
        cache.put((7, 0), Arc::new(vec![9; 100]));
        for n in 0..500 {
            cache.put((8, n), Arc::new(vec![0; 100]));
            assert!(cache.get((7, 0)).is_some(), "{n}");
        }
        cache.drop_segment(7);
        assert!(cache.get((7, 0)).is_none());
        assert!((0..500).any(|n| cache.get((8, n)).is_some()));
    }
}
