//! Blobs of mined transactions. Blocks contain only their hashes (EIP-4844), but tools for
//! development chains read the blobs themselves.

use alloy_consensus::Transaction as _;
use alloy_primitives::{B256, map::HashMap};
use hearth_pool::PoolEntry;
use parking_lot::Mutex;
use std::{collections::VecDeque, sync::Arc};

/// Most bytes of transactions with blobs that are kept after they were mined; the oldest are
/// dropped first.
pub const MINED_BLOBS_BYTES_MAX: usize = 64 << 20;

/// The transactions with blobs that were mined last.
#[derive(Debug, Default)]
pub struct MinedBlobs(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    order: VecDeque<B256>,
    entries: HashMap<B256, Arc<PoolEntry>>,
    bytes: usize,
}

impl MinedBlobs {
    /// Keeps a transaction that was mined, if it has blobs.
    pub(super) fn keep(&self, entry: &Arc<PoolEntry>) {
        if !entry.has_blobs() {
            return;
        }
        let kept = &mut *self.0.lock();
        if kept.entries.insert(entry.hash, entry.clone()).is_some() {
            return;
        }
        kept.order.push_back(entry.hash);
        kept.bytes += entry.bytes;
        while kept.bytes > MINED_BLOBS_BYTES_MAX
            && let Some(oldest) = kept.order.pop_front()
        {
            let gone = kept.entries.remove(&oldest);
            kept.bytes -= gone.map_or(0, |gone| gone.bytes);
        }
    }

    /// A transaction by its hash.
    pub fn get(&self, hash: &B256) -> Option<Arc<PoolEntry>> {
        self.0.lock().entries.get(hash).cloned()
    }

    /// The newest transaction that has the blob with this versioned hash.
    pub fn with_blob(&self, versioned_hash: &B256) -> Option<Arc<PoolEntry>> {
        let kept = self.0.lock();
        let newest_first = kept.order.iter().rev().filter_map(|hash| kept.entries.get(hash));
        newest_first.into_iter().find(|entry| has_blob(entry, versioned_hash)).cloned()
    }
}

fn has_blob(entry: &PoolEntry, versioned_hash: &B256) -> bool {
    entry.transaction.blob_versioned_hashes().is_some_and(|hashes| hashes.contains(versioned_hash))
}
