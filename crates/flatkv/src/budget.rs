//! How the memory that the store may take is shared out.

/// Part of the budget for code by hash.
const CODE_PART: usize = 16;
/// Part of the budget for the trie in memory between two commits.
const TRIE_PART: usize = 8;
/// Part of the budget that may be in batches before a flush starts. Memtables take about twice as much, and while one
/// flush is under way the next one fills.
const FLUSH_PART: usize = 16;
/// Bytes of batches after which a flush starts in any case.
const MAX_FLUSH_BATCH_BYTES: u64 = 64 << 20;

/// What each holder of memory may take, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    /// RocksDB's block cache, which also counts memtables, indexes and filters.
    pub(crate) cache: usize,
    /// Code by hash.
    pub(crate) codes: usize,
    /// The trie between two commits.
    pub(crate) trie: usize,
    /// Bytes of batches after which a flush starts.
    pub(crate) flush_batch: u64,
}

impl Shares {
    /// The shares of a budget in bytes.
    pub(crate) fn of(budget: usize) -> Self {
        let (codes, trie) = (budget / CODE_PART, budget / TRIE_PART);
        let flush_batch = MAX_FLUSH_BATCH_BYTES.min((budget / FLUSH_PART) as u64);
        Self { cache: budget - codes - trie, codes, trie, flush_batch }
    }
}
