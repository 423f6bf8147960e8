//! What RocksDB has not flushed yet, and when that is too much.

use hearth_flatkv_storage::budget::Shares;

/// WAL records after which a flush starts. It ends before as many follow, so a replay stays below
/// 10,000 blocks.
const FLUSH_RECORDS: u64 = 4_500;
/// Bytes of WAL after which a flush starts; a replay stays below 256 MiB.
const FLUSH_WAL_BYTES: u64 = 96 << 20;
/// Records between two looks at a flush that is under way.
const LOOK_EVERY: u64 = 64;

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
    /// `records` when the flush under way was looked at last.
    looked: u64,
}

impl Unflushed {
    /// Nothing yet.
    pub(crate) fn new(shares: Shares) -> Self {
        Self { records: 0, wal_bytes: 0, batch_bytes: 0, shares, pending: None, looked: 0 }
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

    /// Notes a look at the flush under way if one is due; whether it is. A run adds many records at
    /// once.
    pub(crate) fn begin_look_if_due(&mut self) -> bool {
        let is_due = self.records - self.looked >= LOOK_EVERY;
        if is_due {
            self.looked = self.records;
        }
        is_due
    }

    pub(crate) fn is_due(&self) -> bool {
        self.records >= FLUSH_RECORDS
            || self.wal_bytes >= FLUSH_WAL_BYTES
            || self.batch_bytes >= self.shares.flush_batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_is_looked_at_after_so_many_records_also_of_runs() {
        let mut unflushed = Unflushed::new(Shares::of(256 << 20));
        let mut looks = Vec::new();
        for run in 1..=8 {
            (0..50).for_each(|_| unflushed.add(0, 0));
            if unflushed.begin_look_if_due() {
                looks.push(run);
            }
        }
        assert_eq!(looks, [2, 4, 6, 8]);
        unflushed.flush_began(7);
        (1..LOOK_EVERY).for_each(|_| unflushed.add(0, 0));
        assert!(!unflushed.begin_look_if_due());
        unflushed.add(0, 0);
        assert!(unflushed.begin_look_if_due());
    }
}
