//! Capsules of the newest blocks, kept in memory from their creation on, so that baking reads
//! nothing from the disk.

use alloy_primitives::B256;
use hearth_primitives::TraceCapsule;
use parking_lot::Mutex;
use std::{collections::VecDeque, sync::Arc};

/// Most bytes of capsules that are kept.
pub const MAX_RECENT_BYTES: usize = 256 << 20;

#[derive(Default)]
struct RecentState {
    /// The newest last, each with its size in bytes.
    kept: VecDeque<(B256, Arc<TraceCapsule>, usize)>,
    bytes: usize,
    /// Most of them, now.
    max_bytes: usize,
}

impl RecentState {
    /// Lets the oldest go until the bounds hold.
    fn trim(&mut self, blocks: usize) {
        while self.kept.len() > blocks || self.bytes > self.max_bytes {
            let Some((_, _, bytes)) = self.kept.pop_front() else { break };
            self.bytes -= bytes;
        }
    }
}

/// The newest capsules: at most so many, and at most so many bytes of them.
pub struct RecentCapsules {
    blocks: usize,
    state: Mutex<RecentState>,
}

impl RecentCapsules {
    /// Keeps the capsules of this many blocks; of none where that is 0.
    pub fn new(blocks: usize, max_bytes: usize) -> Self {
        Self { blocks, state: Mutex::new(RecentState { max_bytes, ..RecentState::default() }) }
    }

    /// Bytes of the capsules that are kept.
    pub fn bytes(&self) -> usize {
        self.state.lock().bytes
    }

    /// Keeps at most so many bytes from now on.
    pub fn set_max_bytes(&self, bytes: usize) {
        let mut state = self.state.lock();
        state.max_bytes = bytes;
        state.trim(self.blocks);
    }

    /// Keeps one more, in place of the oldest ones where there is no room.
    pub fn add(&self, hash: B256, capsule: &Arc<TraceCapsule>) {
        let bytes = capsule.size_bytes();
        let mut state = self.state.lock();
        if self.blocks == 0 || bytes > state.max_bytes {
            return;
        }
        state.kept.push_back((hash, capsule.clone(), bytes));
        state.bytes += bytes;
        state.trim(self.blocks);
    }

    /// The capsule of a block, where it is kept.
    pub fn get(&self, hash: &B256) -> Option<Arc<TraceCapsule>> {
        let state = self.state.lock();
        state.kept.iter().rev().find(|(known, _, _)| known == hash).map(|(_, capsule, _)| capsule.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(recent: &RecentCapsules) -> Vec<u8> {
        (0..10).filter(|n| recent.get(&B256::repeat_byte(*n)).is_some()).collect()
    }

    #[test]
    fn the_newest_are_kept_up_to_a_number_and_a_size() {
        let capsule = Arc::new(TraceCapsule::default());
        let add = |recent: &RecentCapsules| (0..10).for_each(|n| recent.add(B256::repeat_byte(n), &capsule));
        let by_number = RecentCapsules::new(3, MAX_RECENT_BYTES);
        add(&by_number);
        assert_eq!(kept(&by_number), [7, 8, 9]);
        let by_size = RecentCapsules::new(64, 2 * capsule.size_bytes());
        add(&by_size);
        assert_eq!(kept(&by_size), [8, 9]);
        for none in [RecentCapsules::new(0, MAX_RECENT_BYTES), RecentCapsules::new(3, 0)] {
            add(&none);
            assert!(kept(&none).is_empty());
        }
    }

    #[test]
    fn a_smaller_bound_lets_the_oldest_go_at_once() {
        let capsule = Arc::new(TraceCapsule::default());
        let recent = RecentCapsules::new(8, 8 * capsule.size_bytes());
        (0..8).for_each(|n| recent.add(B256::repeat_byte(n), &capsule));
        recent.set_max_bytes(2 * capsule.size_bytes());
        assert_eq!(kept(&recent), [6, 7]);
        recent.add(B256::repeat_byte(8), &capsule);
        assert_eq!(kept(&recent), [7, 8]);
    }
}
