//! How the memory that the store may take is shared out.

/// Part of the budget for code by hash.
const CODE_PART: usize = 16;
/// Part of the budget for the trie in memory between two commits.
const TRIE_PART: usize = 8;
/// What RocksDB takes beside its cache, in bytes: buffers of flushes and compactions, open files,
/// threads.
const ENGINE_BYTES: usize = 24 << 20;
/// At most this part of the budget is set apart for that.
const ENGINE_PART: usize = 4;
/// Part of the budget that may be in batches before a flush starts. Memtables take about twice as
/// much, and while one flush is under way the next one fills.
const FLUSH_PART: usize = 16;
/// Bytes of batches after which a flush starts in any case.
const MAX_FLUSH_BATCH_BYTES: u64 = 64 << 20;
/// The same for a store that is never synced: a flush waits for nothing there, and memory is what
/// counts.
const EARLY_FLUSH_BATCH_BYTES: u64 = 4 << 20;

/// What each holder of memory may take, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// RocksDB's block cache, which also counts memtables, indexes and filters.
    pub cache: usize,
    /// Code by hash.
    pub codes: usize,
    /// The trie between two commits.
    pub trie: usize,
    /// Bytes of batches after which a flush starts.
    pub flush_batch: u64,
}

impl Shares {
    /// The shares of a budget in bytes.
    pub fn of(budget: usize) -> Self {
        let (codes, trie) = (budget / CODE_PART, budget / TRIE_PART);
        let flush_batch = MAX_FLUSH_BATCH_BYTES.min((budget / FLUSH_PART) as u64);
        let engine = ENGINE_BYTES.min(budget / ENGINE_PART);
        Self { cache: budget - codes - trie - engine, codes, trie, flush_batch }
    }

    /// Returns the same budget with small memtables.
    pub fn flushing_early(self) -> Self {
        Self { flush_batch: self.flush_batch.min(EARLY_FLUSH_BATCH_BYTES), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_fit_in_every_budget() {
        for budget in [32 << 20, 64 << 20, 256 << 20, 1 << 30, 64 << 30] {
            let Shares { cache, codes, trie, flush_batch } = Shares::of(budget);
            assert!(cache + codes + trie < budget && cache > budget / 2, "{budget}: {cache}");
            // Two memtables, each twice the size of a batch, fit into the share of the cache.
            assert!(flush_batch * 4 <= cache as u64, "{budget}: {flush_batch}");
        }
        assert_eq!(Shares::of(1 << 30).flush_batch, MAX_FLUSH_BATCH_BYTES);
        assert_eq!(Shares::of(1 << 30).flushing_early().flush_batch, EARLY_FLUSH_BATCH_BYTES);
    }
}
