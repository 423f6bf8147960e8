//! Points that a development chain can be taken back to.

use super::next_block::NextBlock;
use alloy_primitives::B256;
use hearth_chain::Edits;
use hearth_pool::PoolEntry;
use hearth_primitives::Height;
use std::{collections::BTreeMap, sync::Arc};

/// Most snapshots that are kept; the oldest one goes for a new one.
pub const SNAPSHOTS_MAX: usize = 100_000;

/// One such point.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    /// The head.
    pub height: Height,
    /// Its hash.
    pub hash: B256,
    /// Edits of the state after it.
    pub edits: Arc<Edits>,
    /// What the next block was to be like.
    pub next: NextBlock,
    /// What the chain's clock said.
    pub then: u64,
    /// What waited.
    pub pool: Vec<Arc<PoolEntry>>,
}

/// Snapshots by number. A number is never given twice.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    next: u64,
    kept: BTreeMap<u64, Snapshot>,
}

impl Snapshots {
    /// Keeps one; its number.
    pub fn keep(&mut self, snapshot: Snapshot) -> u64 {
        if self.kept.len() >= SNAPSHOTS_MAX {
            self.kept.pop_first();
        }
        let number = self.next;
        self.next += 1;
        self.kept.insert(number, snapshot);
        number
    }

    /// One of them.
    pub fn get(&self, number: u64) -> Option<&Snapshot> {
        self.kept.get(&number)
    }

    /// Drops this one and all that came after it.
    pub fn drop_from(&mut self, number: u64) {
        self.kept.split_off(&number);
    }

    /// Number, height and hash of each.
    pub fn list(&self) -> impl Iterator<Item = (u64, Height, B256)> + '_ {
        self.kept.iter().map(|(number, snapshot)| (*number, snapshot.height, snapshot.hash))
    }
}
