//! When RocksDB is flushed: by us, after tables and WAL are synced, so that it is never durably
//! ahead of them and a replay at open stays short.

use crate::{
    FlatKvError,
    shared::{Core, Writer},
};
use hearth_flatkv_storage::{
    db::Family,
    failpoints::{InjectedBug, has},
    measure,
    rows::meta,
    stored::positions_value,
    wal::record::RecordHead,
};
use std::{sync::atomic::Ordering::SeqCst, thread::sleep, time::Duration};

/// Pause between two looks while a commit waits for a flush.
const LOOK_PAUSE: Duration = Duration::from_millis(1);

impl Core {
    /// Syncs tables, then the WAL.
    pub(crate) fn sync(&self, writer: &mut Writer) -> Result<(), FlatKvError> {
        self.dirty.store(false, SeqCst);
        let tables = if has(InjectedBug::WalBeforeTables) { Ok(()) } else { self.tables.sync() };
        let result = tables.map_err(FlatKvError::from).and_then(|()| writer.wal.sync());
        writer.fail(result)
    }

    /// Syncs ahead of a batch so large that RocksDB may flush it on its own.
    pub(crate) fn sync_before(&self, writer: &mut Writer, batch_bytes: u64) -> Result<(), FlatKvError> {
        if writer.unflushed.shares.large_batch() <= batch_bytes { self.sync(writer) } else { Ok(()) }
    }

    /// After a write: starts a flush where one is due, and looks after the one under way. What was
    /// written stands either way: a failure that matters is kept by the writer, which refuses the
    /// next change.
    pub(crate) fn after_write(&self, writer: &mut Writer) {
        let tended = self.tend_flushes(writer);
        let _ = writer.fail(tended);
    }

    fn tend_flushes(&self, writer: &mut Writer) -> Result<(), FlatKvError> {
        let due = writer.unflushed.is_due();
        if writer.unflushed.pending.is_some() && (writer.unflushed.begin_look_if_due() || due) {
            self.look(writer, due)?;
        }
        if due {
            self.flush_written(writer, false)?;
        }
        Ok(())
    }

    /// Syncs everything and starts a flush; waits for it if `wait` is set.
    pub(crate) fn start_flush(&self, writer: &mut Writer, wait: bool) -> Result<(), FlatKvError> {
        self.db.write_nodes()?;
        self.flush_written(writer, wait)
    }

    /// As [`Self::start_flush`], without the nodes that a store which goes with its process has in
    /// memory.
    fn flush_written(&self, writer: &mut Writer, wait: bool) -> Result<(), FlatKvError> {
        if !has(InjectedBug::FlushBeforeSync) {
            self.sync(writer)?;
        }
        let synced = writer.wal.last();
        let mut batch = self.db.batch()?;
        batch.put(Family::Metadata, meta::SYNCED, &synced.to_be_bytes());
        batch.put(Family::Metadata, meta::POSITIONS, &positions_value(&writer.positions));
        if let Some(head) = self.head() {
            batch.put(Family::Metadata, meta::MARKS, &self.db.mark_history(head.height, synced));
        }
        batch.write()?;
        measure::flush(&self.db, wait, &self.metrics)?;
        writer.unflushed.flush_began(synced);
        Ok(())
    }

    /// Deletes WAL segments once the flush under way is done; waits for that if `wait` is set.
    fn look(&self, writer: &mut Writer, wait: bool) -> Result<(), FlatKvError> {
        while self.db.flushing()? {
            if !wait {
                return Ok(());
            }
            sleep(LOOK_PAUSE);
        }
        if let Some(flushed) = writer.unflushed.pending.take() {
            // A segment that cannot be deleted now is deleted with the next ones.
            let _ = writer.wal.prune(flushed.min(self.snapshots.wal_floor()));
        }
        Ok(())
    }

    /// Brings everything to the disk and waits for it.
    pub(crate) fn flush(&self) -> Result<(), FlatKvError> {
        let mut writer = self.lock_writer();
        writer.check()?;
        self.flush_all(&mut writer)
    }

    pub(crate) fn flush_all(&self, writer: &mut Writer) -> Result<(), FlatKvError> {
        self.bring_nodes()?;
        self.mark_positions(writer)?;
        self.start_flush(writer, true)?;
        self.look(writer, true)
    }

    /// Flushes and refuses changes from then on.
    pub(crate) fn close(&self) -> Result<(), FlatKvError> {
        let mut writer = self.lock_writer();
        if writer.closed || writer.read_only {
            return Ok(());
        }
        // After a failure only opening again brings things together; a flush could put RocksDB
        // ahead. RocksDB itself does not flush at its end: see `db.rs`.
        let cut = writer.wal.cut_preallocation();
        let cut = writer.fail(cut);
        let result = if writer.failed.is_some() {
            cut
        } else {
            writer.check().and_then(|()| self.flush_all(&mut writer))
        };
        writer.closed = true;
        result
    }

    /// Tables may have grown by blocks that are not on the canonical chain. An unwind to where the
    /// head is already records their positions, so that the next open does not cut these blocks
    /// off.
    fn mark_positions(&self, writer: &mut Writer) -> Result<(), FlatKvError> {
        let Some(head) = self.head() else { return Ok(()) };
        let positions = self.tables.positions();
        if positions == writer.positions {
            return Ok(());
        }
        let oldest = self.oldest.load(SeqCst);
        let record = RecordHead { unwind: true, head, parent: Default::default(), positions, oldest };
        let appended = writer.wal.append(&record.unwind_payload());
        writer.fail(appended)?;
        writer.positions = record.positions;
        Ok(())
    }
}
