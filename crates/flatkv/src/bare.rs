//! RocksDB as the store sets it up, with nothing of the store around it: what its benches compare
//! it with.

use crate::{FlatKv, FlatKvError, Options};
use alloy_primitives::{Address, U256, keccak256};
use hearth_flatkv_storage::{
    db::{Db, Family},
    lthash::{LtHash, Terms},
    rows::{account_value, slot_key, slot_value, stamped},
};
use hearth_primitives::{Changeset, Height};

pub use crate::bench_switches::{leave_out_history, write_whole_batches};
pub use hearth_flatkv_storage::{compacted::Compacted, db::rocksdb_calls};

/// RocksDB with the store's families and options.
pub struct BareDb(Db);

/// The latest rows of a block, encoded as the store encodes them.
pub struct BareRows(Vec<(Family, Vec<u8>, Option<Vec<u8>>)>);

impl BareRows {
    /// The rows of a block.
    pub fn of(height: Height, changes: &Changeset) -> Self {
        let mut rows = Vec::new();
        for change in &changes.accounts {
            if change.old != change.new {
                let row = change.new.as_ref().map(|account| stamped(height, &account_value(account)));
                rows.push((Family::Account, change.address.to_vec(), row));
            }
            for slot in &change.storage {
                let row = (!slot.new.is_zero()).then(|| stamped(height, &slot_value(&slot.new)));
                rows.push((Family::Storage, slot_key(&change.address, &slot.slot).to_vec(), row));
            }
        }
        Self(rows)
    }
}

impl BareDb {
    /// Opens the database of [`Options::dir`], or makes it.
    pub fn open(options: &Options) -> Result<Self, FlatKvError> {
        std::fs::create_dir_all(&options.dir).map_err(FlatKvError::io(&options.dir))?;
        Ok(Self(Db::open(&options.dir, options)?))
    }

    /// Writes rows in one batch.
    pub fn write(&self, rows: &BareRows) -> Result<(), FlatKvError> {
        let mut batch = self.0.batch()?;
        for (family, key, value) in &rows.0 {
            batch.set(*family, key, value.as_deref());
        }
        Ok(batch.write()?)
    }

    /// Length of an account's row.
    pub fn account(&self, address: &Address) -> Result<Option<usize>, FlatKvError> {
        Ok(self.0.get(Family::Account, address.as_slice())?.map(|row| row.len()))
    }

    /// Length of a slot's row.
    pub fn slot(&self, address: &Address, slot: &U256) -> Result<Option<usize>, FlatKvError> {
        Ok(self.0.get(Family::Storage, &slot_key(address, slot))?.map(|row| row.len()))
    }

    /// Flushes all memtables and waits for the compactions.
    pub fn flush_and_compact(&self) -> Result<(), FlatKvError> {
        self.0.flush(true)?;
        Ok(self.0.wait_for_compaction()?)
    }
}

/// A row of the set that [`lattice`] hashes.
pub fn lattice_row(n: usize) -> (Vec<u8>, Vec<u8>) {
    (keccak256(n.to_be_bytes()).to_vec(), n.to_be_bytes().to_vec())
}

/// The lattice vector of the first rows, as a commit makes it.
pub fn lattice(rows: usize) -> Vec<u8> {
    let mut terms = Terms::default();
    for (key, value) in (0..rows).map(lattice_row) {
        terms.push(&key, &value, true);
    }
    let mut vector = LtHash::default();
    vector.apply(&terms);
    vector.to_bytes()
}

impl FlatKv {
    /// Length of an account's row, by a get of RocksDB and nothing else.
    pub fn bare_account(&self, address: &Address) -> Result<Option<usize>, FlatKvError> {
        Ok(self.core.db.get(Family::Account, address.as_slice())?.map(|row| row.len()))
    }

    /// Length of a slot's row, by a get of RocksDB and nothing else.
    pub fn bare_slot(&self, address: &Address, slot: &U256) -> Result<Option<usize>, FlatKvError> {
        Ok(self.core.db.get(Family::Storage, &slot_key(address, slot))?.map(|row| row.len()))
    }

    /// Blocks that were replayed when it was opened.
    pub fn replayed(&self) -> u64 {
        self.core.metrics.catchup_replay_num_blocks.value()
    }

    /// Leaves the store as a kill would: nothing is flushed when it is dropped.
    pub fn abandon(&self) {
        self.core.writer.lock().closed = true;
    }

    /// What flushes and compactions wrote since the store was opened: all of them, and those of
    /// history.
    pub fn compacted(&self) -> Result<(Compacted, Compacted), FlatKvError> {
        let of = |family| self.core.db.compacted(family);
        let all = Family::ALL
            .into_iter()
            .try_fold(Compacted::default(), |sum, family| of(family).map(|compacted| sum + compacted))?;
        Ok((all, of(Family::History)?))
    }

    /// Bytes that compactions have to rewrite, and the most flushed files that wait for one.
    pub fn behind(&self) -> Result<(u64, u64), FlatKvError> {
        Ok(self.core.db.behind()?)
    }

    /// Flushes all memtables and waits for the compactions.
    pub fn flush_and_compact(&self) -> Result<(), FlatKvError> {
        self.flush()?;
        Ok(self.core.db.wait_for_compaction()?)
    }
}
