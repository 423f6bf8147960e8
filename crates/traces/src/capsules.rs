//! Decoded trace capsules in memory, and the processors that traces share.

use crate::{
    bake::{MAX_RECENT_BYTES, RecentCapsules},
    shared_traces::SharedTraces,
};
use alloy_primitives::B256;
use hearth_chain::ChainReader;
use hearth_ledger::LedgerError;
use hearth_metrics::{CapsuleMetrics, Registry};
use hearth_primitives::TraceCapsule;
use parking_lot::{Condvar, Mutex};
use std::{
    collections::HashSet,
    sync::{
        Arc, Weak,
        atomic::{AtomicIsize, Ordering},
    },
    thread::available_parallelism,
};

/// Most bytes of capsules that are kept decoded.
pub const KEPT_CAPSULE_BYTES: usize = 64 << 20;

/// Most capsules that are kept decoded.
pub const KEPT_CAPSULES: usize = 64;

/// Capsules as traces use them.
pub struct Capsules {
    state: Mutex<CapsuleCache>,
    /// Signalled when a capsule was loaded.
    loaded: Condvar,
    pub processors: Processors,
    /// Block traces that run.
    pub shared: SharedTraces,
    pub metrics: CapsuleMetrics,
    /// Those of the newest blocks that baking keeps.
    recent: Mutex<Weak<RecentCapsules>>,
}

struct CapsuleCache {
    /// The last one used comes last.
    kept: Vec<(B256, Arc<TraceCapsule>)>,
    bytes: usize,
    /// Most of them.
    bound: usize,
    /// The capsules that a thread is reading now.
    loading: HashSet<B256>,
}

impl Default for CapsuleCache {
    fn default() -> Self {
        Self { kept: Vec::new(), bytes: 0, bound: KEPT_CAPSULE_BYTES, loading: HashSet::new() }
    }
}

impl CapsuleCache {
    fn get(&mut self, hash: &B256) -> Option<Arc<TraceCapsule>> {
        let at = self.kept.iter().position(|(known, _)| known == hash)?;
        let entry = self.kept.remove(at);
        let capsule = entry.1.clone();
        self.kept.push(entry);
        Some(capsule)
    }

    fn put(&mut self, hash: B256, capsule: &Arc<TraceCapsule>) {
        let bytes = capsule.size_bytes();
        if bytes > self.bound {
            return;
        }
        self.kept.push((hash, capsule.clone()));
        self.bytes += bytes;
        self.trim();
    }

    /// Lets the oldest go until the bounds hold.
    fn trim(&mut self) {
        while self.bytes > self.bound || self.kept.len() > KEPT_CAPSULES {
            let (_, oldest) = self.kept.remove(0);
            self.bytes -= oldest.size_bytes();
        }
    }
}

impl Capsules {
    /// None in memory yet.
    pub fn new(metrics: &Registry) -> Self {
        Self {
            state: Mutex::default(),
            loaded: Condvar::new(),
            processors: Processors::default(),
            shared: SharedTraces::default(),
            metrics: CapsuleMetrics::new(metrics),
            recent: Mutex::default(),
        }
    }

    /// Those that baking keeps beside these.
    pub fn note_recent(&self, recent: &Arc<RecentCapsules>) {
        *self.recent.lock() = Arc::downgrade(recent);
    }

    /// Bytes of capsules that were read and are kept, and of those that baking keeps.
    pub fn bytes(&self) -> (usize, usize) {
        let recent = self.recent.lock().upgrade().map_or(0, |recent| recent.bytes());
        (self.state.lock().bytes, recent)
    }

    /// Keeps at most `part` of `whole` of the bounds from now on.
    pub fn set_capacity_fraction(&self, part: usize, whole: usize) {
        if let Some(recent) = self.recent.lock().upgrade() {
            recent.set_max_bytes(MAX_RECENT_BYTES / whole * part);
        }
        let mut state = self.state.lock();
        state.bound = KEPT_CAPSULE_BYTES / whole * part;
        state.trim();
    }

    /// The capsule of a block; `None` if it has none. A caller waits if another one is reading the
    /// same capsule.
    ///
    /// # Errors
    /// Those of [`ChainReader::capsule`].
    pub fn get(
        &self,
        reader: ChainReader<'_>,
        hash: &B256,
    ) -> Result<Option<Arc<TraceCapsule>>, LedgerError> {
        let mut state = self.state.lock();
        loop {
            if let Some(capsule) = state.get(hash) {
                return Ok(Some(capsule));
            }
            if state.loading.insert(*hash) {
                break;
            }
            self.loaded.wait(&mut state);
        }
        drop(state);
        let _loading = LoadGuard { capsules: self, hash };
        let capsule = reader.capsule(hash)?.map(Arc::new);
        if let Some(capsule) = &capsule {
            self.state.lock().put(*hash, capsule);
        }
        Ok(capsule)
    }
}

/// Lets the next one read when this one is done, however it ends.
struct LoadGuard<'a> {
    capsules: &'a Capsules,
    hash: &'a B256,
}

impl Drop for LoadGuard<'_> {
    fn drop(&mut self) {
        self.capsules.state.lock().loading.remove(self.hash);
        self.capsules.loaded.notify_all();
    }
}

/// The processors of this machine as far as traces use them: each trace has one, and the trace of a
/// block also uses idle ones.
pub struct Processors {
    /// Less than none where more traces run than there are processors.
    idle: AtomicIsize,
}

impl Default for Processors {
    fn default() -> Self {
        let count = available_parallelism().map_or(1, |count| isize::try_from(count.get()).unwrap_or(1));
        Self { idle: AtomicIsize::new(count) }
    }
}

impl Processors {
    /// The processor of a trace, whether one is idle or not.
    pub fn take_one(&self) -> ProcessorsGuard<'_> {
        self.idle.fetch_sub(1, Ordering::Relaxed);
        ProcessorsGuard { processors: self, count: 1 }
    }

    /// As many idle ones as there are, and as are wanted.
    pub fn take_idle(&self, wanted: usize) -> ProcessorsGuard<'_> {
        let wanted = isize::try_from(wanted).unwrap_or(isize::MAX);
        let mut count = 0;
        let _ = self.idle.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |idle| {
            count = idle.clamp(0, wanted);
            Some(idle - count)
        });
        ProcessorsGuard { processors: self, count }
    }
}

/// Guard of processors that are in use until it is dropped.
pub struct ProcessorsGuard<'a> {
    processors: &'a Processors,
    count: isize,
}

impl ProcessorsGuard<'_> {
    /// How many.
    pub fn count(&self) -> usize {
        usize::try_from(self.count).unwrap_or(0)
    }
}

impl Drop for ProcessorsGuard<'_> {
    fn drop(&mut self) {
        self.processors.idle.fetch_add(self.count, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_primitives::CapsuleAccount;

    #[test]
    fn processors_are_shared_and_given_back() {
        let processors = Processors { idle: AtomicIsize::new(3) };
        let first = processors.take_one();
        let helpers = processors.take_idle(5);
        assert_eq!(helpers.count(), 2);
        let second = processors.take_one();
        assert_eq!(processors.take_idle(5).count(), 0, "none is idle");
        drop(helpers);
        assert_eq!(processors.take_idle(5).count(), 1);
        assert_eq!(processors.take_idle(0).count(), 0);
        drop((first, second));
        assert_eq!(processors.take_idle(5).count(), 3);
    }

    #[test]
    fn kept_capsules_are_bounded_by_count_and_bytes() {
        let mut state = CapsuleCache::default();
        let small = Arc::new(TraceCapsule::default());
        for n in 0..=KEPT_CAPSULES as u64 {
            state.put(B256::left_padding_from(&n.to_be_bytes()), &small);
        }
        assert_eq!(state.kept.len(), KEPT_CAPSULES);
        assert!(state.get(&B256::ZERO).is_none(), "the oldest went");
        let slots = vec![Default::default(); KEPT_CAPSULE_BYTES / 128];
        let account = CapsuleAccount { slots, ..CapsuleAccount::default() };
        let large = Arc::new(TraceCapsule { accounts: vec![account], ..TraceCapsule::default() });
        for n in 1..=3 {
            state.put(B256::repeat_byte(n), &large);
            assert!(state.bytes <= KEPT_CAPSULE_BYTES);
        }
        assert!(state.get(&B256::repeat_byte(3)).is_some());
        assert_eq!(state.bytes, state.kept.iter().map(|(_, capsule)| capsule.size_bytes()).sum::<usize>());
        state.bound = 0;
        state.trim();
        assert_eq!((state.bytes, state.kept.len()), (0, 0), "a smaller bound holds at once");
        state.put(B256::ZERO, &large);
        assert_eq!(state.kept.len(), 0);
    }
}
