//! Look-ups of earlier values.

use crate::{
    db::{Db, Family, count_call},
    old_rows::OldRows,
    rows::history_height,
};
use hearth_primitives::{Height, StateError};
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// How long one iterator over history is used.
const CURSOR_AGE: Duration = Duration::from_secs(1);

/// Look-ups in history, one after the other, through one iterator: making one costs more than using
/// it.
///
/// The iterator sees the rows of the moment of its first use. History at a height that there is
/// does not change, so that is no loss; but it keeps RocksDB from letting go of what is replaced,
/// so it is created again after a while.
pub struct HistoryCursor<'a> {
    db: &'a Db,
    open: Mutex<Option<OpenCursor<'a>>>,
}

struct OpenCursor<'a> {
    rows: OldRows<'a>,
    since: Instant,
    /// The highest height that it has all rows for.
    height: Height,
    /// The last write whose table files it does not pass over.
    last_write: u64,
}

impl<'a> HistoryCursor<'a> {
    /// A cursor that has read nothing.
    pub fn new(db: &'a Db) -> Self {
        Self { db, open: Mutex::default() }
    }

    /// Gives `read` the value of the first row at or after `key` of the same account or slot;
    /// `None` where there is none.
    pub fn find<T>(
        &self,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> Result<T, StateError>,
    ) -> Result<Option<T>, StateError> {
        let height = history_height(key)?;
        let mut open = self.open.lock();
        let is_usable =
            |open: &OpenCursor<'_>| open.since.elapsed() <= CURSOR_AGE && open.covers(height, self.db);
        if open.as_ref().is_some_and(|open| !is_usable(open)) {
            *open = None;
        }
        let open = match &mut *open {
            Some(open) => open,
            None => open.insert(OpenCursor::new(self.db, height)?),
        };
        open.height = open.height.max(height);
        count_call();
        open.rows.seek(key)?.map(read).transpose()
    }
}

impl<'a> OpenCursor<'a> {
    fn new(db: &'a Db, height: Height) -> Result<Self, StateError> {
        // A batch on its way takes marks away: first the gate, then the mark.
        let family = db.readable(Family::History)?;
        let last_write = db.marks.last_write(height);
        let rows = OldRows::new(db.rocks(), &family, last_write)?;
        Ok(Self { rows, since: Instant::now(), height, last_write })
    }

    /// Whether it has all rows for a height.
    fn covers(&self, height: Height, db: &Db) -> bool {
        height <= self.height || db.marks.last_write(height) <= self.last_write
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        CommitmentKind, Fsync, Options,
        batch::Batch,
        rows::{account_history, at_height, meta},
    };
    use alloy_primitives::Address;
    use rocksdb::WriteBatch;
    use std::path::Path;

    fn open(path: &Path) -> Db {
        let options = Options::new(path, path, CommitmentKind::None, Fsync::None);
        Db::open(&path.join("db"), &options).unwrap()
    }

    fn key(height: Height) -> Vec<u8> {
        at_height(account_history(&Address::repeat_byte(7)), height)
    }

    fn put(batch: &mut Batch<'_>, height: Height, value: u8) {
        batch.put(Family::History, &key(height), &[value]);
    }

    /// Puts rows of heights in one batch.
    fn write(db: &Db, rows: &[(Height, u8)]) {
        let mut batch = db.batch().unwrap();
        rows.iter().for_each(|(height, value)| put(&mut batch, *height, *value));
        batch.write().unwrap();
    }

    /// Flushes with a mark of a head, as the store does.
    fn flush(db: &Db, head: Height) {
        let mut batch = db.batch().unwrap();
        batch.put(Family::Metadata, meta::SYNCED, &head.to_be_bytes());
        batch.put(Family::Metadata, meta::MARKS, &db.mark_history(head, head));
        batch.write().unwrap();
        db.flush(true).unwrap();
    }

    fn found(db: &Db, height: Height) -> Option<u8> {
        HistoryCursor::new(db).find(&key(height), |value| Ok(value[0])).unwrap()
    }

    /// Puts a row without a change of the marks, so that a read shows which files it opens.
    fn smuggle(db: &Db, change: impl FnOnce(&mut WriteBatch)) {
        let mut batch = WriteBatch::default();
        change(&mut batch);
        db.write(batch).unwrap();
    }

    #[test]
    fn files_flushed_behind_a_height_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let db = open(dir.path());
        let history = Family::History as usize;
        write(&db, &[(10, 1)]);
        flush(&db, 10);
        smuggle(&db, |batch| batch.put_cf(&db.families().unwrap()[history], key(5), [9]));
        write(&db, &[(20, 2)]);
        flush(&db, 20);
        assert_eq!((found(&db, 9), found(&db, 10)), (None, Some(1)), "the second file is not looked into");
        assert_eq!((found(&db, 19), found(&db, 20), found(&db, 99)), (Some(1), Some(2), Some(2)));
        assert_eq!((found(&db, 3), found(&db, 11)), (None, Some(1)));
        drop(db);
        // The marks stand in the database.
        let db = open(dir.path());
        assert_eq!((found(&db, 9), found(&db, 20)), (None, Some(2)));
        // A file that deletes is looked into.
        smuggle(&db, |batch| {
            let family = &db.families().unwrap()[history];
            batch.put_cf(family, key(4), [8]);
            batch.delete_cf(family, key(1));
        });
        flush(&db, 30);
        assert_eq!((found(&db, 9), found(&db, 10)), (Some(8), Some(1)));
    }

    #[test]
    fn a_row_that_is_put_again_is_found_in_every_file() {
        let dir = tempfile::tempdir().unwrap();
        let db = open(dir.path());
        for height in [10, 20, 30] {
            write(&db, &[(height, height as u8)]);
            flush(&db, height);
        }
        // As an unwind to 15 and other blocks behind it.
        let mut batch = db.batch().unwrap();
        [20, 30].iter().for_each(|height| batch.delete(Family::History, &key(*height)));
        batch.write().unwrap();
        db.flush(true).unwrap();
        assert_eq!([15, 25, 35].map(|height| found(&db, height)), [Some(10); 3]);
        write(&db, &[(18, 3)]);
        let expected = [Some(10), Some(3), Some(3), Some(3)];
        assert_eq!([15, 18, 25, 35].map(|height| found(&db, height)), expected);
        // The marks went in the same batch: RocksDB may flush on its own, and the process end.
        db.flush(true).unwrap();
        drop(db);
        let db = open(dir.path());
        assert_eq!([15, 18, 25, 35].map(|height| found(&db, height)), expected);
        flush(&db, 35);
        assert_eq!([15, 18, 25, 35].map(|height| found(&db, height)), expected);
    }

    #[test]
    fn one_cursor_reads_heights_in_any_order() {
        let dir = tempfile::tempdir().unwrap();
        let db = open(dir.path());
        for height in 1..=7_u8 {
            write(&db, &[(u64::from(height) * 10, height)]);
            flush(&db, u64::from(height) * 10);
        }
        let cursor = HistoryCursor::new(&db);
        for height in [5, 70, 10, 39, 40, 12, 99, 61, 0] {
            let value = cursor.find(&key(height), |value| Ok(value[0])).unwrap();
            assert_eq!(value, (height >= 10).then(|| (height / 10).min(7) as u8), "at {height}");
        }
        // As a block number that no chain reaches: the key is none.
        assert!(cursor.find(b"short", |_| Ok(())).is_err());
    }
}
