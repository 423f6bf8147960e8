//! Index rows outside of commits.

use crate::{FlatKv, FlatKvError, IndexWrite, shared::Core};
use hearth_flatkv_storage::db::Family;

impl FlatKv {
    /// Writes rows of the canonical index that belong to no commit: such as can be made again from
    /// the ledger at any time. They become visible together. No WAL record has them and no unwind
    /// reverts them, so the rows themselves must say what they hold for; they are durable with the
    /// next flush, and what is written later never is without them.
    ///
    /// # Errors
    /// [`FlatKvError`] where the store is closed, failed or open for reading.
    pub fn index_fill(&self, rows: &[IndexWrite]) -> Result<(), FlatKvError> {
        self.core.fill(rows)
    }
}

impl Core {
    fn fill(&self, rows: &[IndexWrite]) -> Result<(), FlatKvError> {
        let mut writer = self.lock_writer();
        writer.check()?;
        let mut batch = self.db.batch()?;
        for row in rows {
            batch.set(Family::Index, &row.key, row.value.as_deref());
        }
        let bytes = batch.bytes();
        writer.unflushed.fill(bytes);
        self.sync_before(&mut writer, bytes)?;
        batch.write()?;
        self.after_write(&mut writer);
        Ok(())
    }
}
