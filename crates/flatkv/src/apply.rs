//! Applying changes that are not committed yet.

use crate::{
    FlatKvError, MAX_LEGACY_KEY_BYTES, MAX_LEGACY_VALUE_BYTES, RowWrite, shared::Core, staging::check_order,
};
use hearth_flatkv_storage::{
    codec::RowChange,
    db::Family,
    measure::Pairs,
    rows::{BlockRows, split_stamp},
};
use hearth_primitives::{Changeset, StateError};

/// Refuses rows of the data DB `legacy` that cannot be kept: an empty value would be the same as
/// none in a commitment.
fn check_legacy(rows: &[RowWrite]) -> Result<(), FlatKvError> {
    for row in rows {
        let (key, value) = (row.key.len(), row.value.as_ref().map(Vec::len));
        if !(1..=MAX_LEGACY_KEY_BYTES).contains(&key)
            || value.is_some_and(|value| !(1..=MAX_LEGACY_VALUE_BYTES).contains(&value))
        {
            return Err(FlatKvError::LegacyRow { key, value });
        }
    }
    Ok(())
}

impl Core {
    /// Applies changes on top of what is applied already.
    pub(crate) fn apply(&self, changes: &Changeset, legacy: &[RowWrite]) -> Result<(), FlatKvError> {
        self.metrics.apply_changesets.measure(|| {
            let writer = self.lock_writer();
            writer.check()?;
            check_order(changes)?;
            check_legacy(legacy)?;
            let legacy = self.with_old_values(legacy)?;
            let applied = Pairs::of(BlockRows { changes, legacy: &legacy });
            let mut staged = self.staged.write();
            let before = staged.pairs();
            staged.merge(changes, legacy)?;
            applied.count(&self.metrics);
            before.move_pending(&self.metrics, -1);
            staged.pairs().move_pending(&self.metrics, 1);
            Ok(())
        })
    }

    /// Drops what is applied and not committed.
    pub(crate) fn discard(&self) {
        self.staged.write().clear(&self.metrics);
    }

    /// `legacy` rows with their committed values.
    fn with_old_values(&self, writes: &[RowWrite]) -> Result<Vec<RowChange>, StateError> {
        if writes.is_empty() {
            return Ok(Vec::new());
        }
        let read = |row: &[u8]| Ok(split_stamp(row)?.1.to_vec());
        self.metrics.batch_read_old_values.measure(|| self.old_rows(Family::Legacy, writes.to_vec(), read))
    }
}
