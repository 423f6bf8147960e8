//! How the memory that the store may take is shared out.

use crate::{CommitmentKind, Fsync, Options};

/// Part of the budget for code by hash.
const CODE_PART: usize = 16;
/// Part of the budget for the trie in memory between two commits.
const TRIE_PART: usize = 8;
/// The same of a store with a state root for each block: all nodes but the lowest of two tries with
/// a million leaves each take 126 MB, and reading one of them takes several times as long as
/// hashing it.
const ROOTS_PART: usize = 4;
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
/// Size at which RocksDB itself flushes a memtable, in batches of which a flush of ours starts.
/// These take about twice as much in it, so that one fits and a large one more.
const MEMTABLE_BATCHES: u64 = 4;
/// Such a size at least, in bytes: each thread that writes takes room in whole blocks.
const MIN_MEMTABLE_BYTES: u64 = 32 << 20;
/// Part of a memtable in sixteenths from which on a batch is large: RocksDB may flush in the middle
/// of it.
const LARGE_BATCH_SIXTEENTHS: u64 = 3;
/// The same for all batches since the last flush, up to which RocksDB flushes nothing.
const HALVED_SIXTEENTHS: u64 = 6;

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
    /// Size at which RocksDB itself flushes a memtable. We flush long before, except in one huge
    /// commit. The Bloom filter of a memtable is a part of this, and takes time to make.
    pub memtable: usize,
}

impl Shares {
    /// The shares of a budget in bytes.
    pub fn of(budget: usize) -> Self {
        let (codes, trie) = (budget / CODE_PART, budget / TRIE_PART);
        let flush_batch = MAX_FLUSH_BATCH_BYTES.min((budget / FLUSH_PART) as u64);
        let engine = ENGINE_BYTES.min(budget / ENGINE_PART);
        let memtable = MIN_MEMTABLE_BYTES.max(flush_batch * MEMTABLE_BATCHES) as usize;
        Self { cache: budget - codes - trie - engine, codes, trie, flush_batch, memtable }
    }

    /// The shares of the budget of a store.
    pub fn of_store(options: &Options) -> Self {
        let budget = options.settings.memory_budget_bytes;
        let shares = match options.commitment {
            CommitmentKind::Mpt => Self::of(budget).with_trie(budget / ROOTS_PART),
            CommitmentKind::LtHash | CommitmentKind::None => Self::of(budget),
        };
        if options.fsync == Fsync::Never { shares.flushing_early() } else { shares }
    }

    /// Returns the same budget with another share for the trie, which the cache makes up for.
    fn with_trie(self, trie: usize) -> Self {
        Self { cache: self.cache + self.trie - trie, trie, ..self }
    }

    /// Returns the same budget with small memtables.
    fn flushing_early(self) -> Self {
        let flush_batch = self.flush_batch.min(EARLY_FLUSH_BATCH_BYTES);
        Self { flush_batch, memtable: MIN_MEMTABLE_BYTES as usize, ..self }
    }

    /// A batch from which on WAL and tables are synced before it is written, for RocksDB may flush
    /// in the middle, in bytes.
    pub fn large_batch(&self) -> u64 {
        self.memtable as u64 / 16 * LARGE_BATCH_SIXTEENTHS
    }

    /// Bytes of batches up to which they may be written in halves, between which RocksDB must not
    /// flush: a memtable takes twice as much at most.
    pub fn halved(&self) -> u64 {
        self.memtable as u64 / 16 * HALVED_SIXTEENTHS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_fit_in_every_budget() {
        for budget in [32 << 20, 64 << 20, 256 << 20, 1 << 30, 64 << 30] {
            let shares = Shares::of(budget);
            let Shares { cache, codes, trie, flush_batch, memtable } = shares;
            assert!(cache + codes + trie < budget && cache > budget / 2, "{budget}: {cache}");
            // Two memtables, each twice the size of a batch, fit into the share of the cache.
            assert!(flush_batch * 4 <= cache as u64, "{budget}: {flush_batch}");
            // A batch that is not large fits beside those before the flush, at twice its size.
            assert!((flush_batch + shares.large_batch()) * 2 < memtable as u64, "{budget}: {memtable}");
            assert!(flush_batch < shares.halved() && shares.halved() * 2 < memtable as u64, "{budget}");
        }
        let usual = Shares::of(1 << 30);
        let with_roots = usual.with_trie((1 << 30) / ROOTS_PART);
        assert_eq!((with_roots.trie, usual.trie), (256 << 20, 128 << 20));
        assert_eq!(with_roots.cache + with_roots.trie, usual.cache + usual.trie);
        assert_eq!((usual.flush_batch, usual.memtable), (MAX_FLUSH_BATCH_BYTES, 256 << 20));
        assert_eq!((usual.large_batch(), usual.halved()), (48 << 20, 96 << 20));
        assert_eq!(Shares::of(1 << 30).flushing_early().flush_batch, EARLY_FLUSH_BATCH_BYTES);
    }
}
