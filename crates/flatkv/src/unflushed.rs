//! What RocksDB has not flushed yet, and when that is too much.

use hearth_flatkv_storage::budget::Shares;

/// WAL records after which a flush starts. It ends before as many follow, so a replay stays below
/// 10,000 blocks.
const FLUSH_RECORDS: u64 = 4_500;
/// Bytes of WAL after which a flush starts; a replay stays below 256 MiB.
const FLUSH_WAL_BYTES: u64 = 96 << 20;

/// What was written since the last flush was started.
#[derive(Debug)]
pub(crate) struct Unflushed {
    pub(crate) records: u64,
    wal_bytes: u64,
    batch_bytes: u64,
    /// What says how much is too much.
    pub(crate) shares: Shares,
    /// Last WAL record that the flush under way covers.
    pub(crate) pending: Option<u64>,
}

impl Unflushed {
    /// Nothing yet.
    pub(crate) fn new(shares: Shares) -> Self {
        Self { records: 0, wal_bytes: 0, batch_bytes: 0, shares, pending: None }
    }

    /// Counts what is being replayed, which is as unflushed as what is written.
    pub(crate) fn add(&mut self, wal_bytes: u64, batch_bytes: u64) {
        self.records += 1;
        self.wal_bytes += wal_bytes;
        self.batch_bytes += batch_bytes;
    }

    /// A flush of everything up to a WAL record began.
    pub(crate) fn flush_began(&mut self, synced: u64) {
        *self = Self { pending: Some(synced), ..Self::new(self.shares) };
    }

    /// Counts rows that no WAL record has.
    pub(crate) fn fill(&mut self, batch_bytes: u64) {
        self.batch_bytes += batch_bytes;
    }

    /// Whether memtables are far from a flush of RocksDB's own, also with a batch of so many bytes
    /// more.
    pub(crate) fn has_room_for(&self, batch_bytes: u64) -> bool {
        self.batch_bytes + batch_bytes <= self.shares.halved()
    }

    /// Whether a flush is due or under way.
    pub(crate) fn wants_attention(&self) -> bool {
        self.pending.is_some() || self.is_due()
    }

    pub(crate) fn is_due(&self) -> bool {
        self.records >= FLUSH_RECORDS
            || self.wal_bytes >= FLUSH_WAL_BYTES
            || self.batch_bytes >= self.shares.flush_batch
    }
}
