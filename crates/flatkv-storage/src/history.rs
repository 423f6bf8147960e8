//! Look-ups of earlier values.

use crate::{
    db::{Db, Family, count_call},
    old_rows::{OldRows, Writes},
    rows::history_height,
};
use hearth_primitives::{Height, StateError};
use parking_lot::Mutex;
use std::{
    sync::atomic::{AtomicU8, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// How long one iterator over history is used.
const CURSOR_AGE: Duration = Duration::from_secs(1);
/// Look-ups that found a row near the height, less those that the latest row answered, from which
/// on the next one goes there first.
const EXPECTED_NEAR: u8 = 4;
/// The most that count.
const COUNTED_NEAR: u8 = 8;

/// Look-ups in history, one after the other, through one or two iterators: making one costs more
/// than using it.
///
/// A row that was written near the height is looked for in few files first: see [`Near`].
///
/// An iterator sees the rows of the moment of its first use. History at a height that there is
/// does not change, so that is no loss; but it keeps RocksDB from letting go of what is replaced,
/// so it is created again after a while.
pub struct HistoryCursor<'a> {
    db: &'a Db,
    open: Mutex<Cursors<'a>>,
    /// See [`EXPECTED_NEAR`].
    found_near: AtomicU8,
}

#[derive(Default)]
struct Cursors<'a> {
    near: Option<Near<'a>>,
    wide: Option<Wide<'a>>,
}

/// An iterator over the files that have the rows of a height since the flush before it: a row that
/// is found there is the newest one, whatever older files have.
struct Near<'a> {
    rows: OldRows<'a>,
    /// The highest height of the flush before; rows up to it may be missing. `None` where no such
    /// flush is known: all files but those that were flushed behind the height are read then.
    above: Option<Height>,
    height: Height,
    since: Instant,
}

/// An iterator over all files but those that were flushed behind a height.
struct Wide<'a> {
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
        Self { db, open: Mutex::default(), found_near: AtomicU8::new(0) }
    }

    /// Whether a row near the height is more likely than a latest row that is old enough: what an
    /// execution far below the head reads was mostly written often, and its latest row is of no
    /// use.
    pub fn expects_near(&self) -> bool {
        self.found_near.load(Relaxed) >= EXPECTED_NEAR
    }

    /// Notes that a latest row was old enough, or a row near the height missing.
    pub fn note_other(&self) {
        self.found_near.store(self.found_near.load(Relaxed).saturating_sub(1), Relaxed);
    }

    fn note_near(&self) {
        self.found_near.store(self.found_near.load(Relaxed).saturating_add(1).min(COUNTED_NEAR), Relaxed);
    }

    /// As [`Self::find`], in files with writes near the height alone: `None` leaves the answer
    /// open.
    pub fn find_near<T>(
        &self,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> Result<T, StateError>,
    ) -> Result<Option<T>, StateError> {
        Ok(self.near(&mut self.open.lock(), history_height(key)?, key, read)?.flatten())
    }

    /// The value, `None` inside where no file has one; `None` leaves the answer open.
    fn near<T>(
        &self,
        cursors: &mut Cursors<'a>,
        height: Height,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> Result<T, StateError>,
    ) -> Result<Option<Option<T>>, StateError> {
        let near = &mut cursors.near;
        if near.as_ref().is_some_and(|near| !near.is_of(height)) {
            *near = None;
        }
        let near = match near {
            Some(near) => near,
            None => near.insert(Near::new(self.db, height)?),
        };
        let reads_all = near.above.is_none();
        let Some(value) = near.find(key)? else { return Ok(reads_all.then_some(None)) };
        self.note_near();
        read(value).map(|value| Some(Some(value)))
    }

    /// Gives `read` the value of the first row at or after `key` of the same account or slot;
    /// `None` where there is none. `is_written` says that the account or slot has a latest row: it
    /// is likely to have one near the height too.
    pub fn find<T>(
        &self,
        key: &[u8],
        is_written: bool,
        read: impl Fn(&[u8]) -> Result<T, StateError>,
    ) -> Result<Option<T>, StateError> {
        let height = history_height(key)?;
        let cursors = &mut *self.open.lock();
        if is_written && let Some(found) = self.near(cursors, height, key, &read)? {
            return Ok(found);
        }
        let wide = &mut cursors.wide;
        if wide.as_ref().is_some_and(|wide| !wide.is_usable(height, self.db)) {
            *wide = None;
        }
        let wide = match wide {
            Some(wide) => wide,
            None => wide.insert(Wide::new(self.db, height)?),
        };
        wide.height = wide.height.max(height);
        count_call();
        wide.rows.seek(key)?.map(|(_, value)| read(value)).transpose()
    }
}

impl<'a> Near<'a> {
    fn new(db: &'a Db, height: Height) -> Result<Self, StateError> {
        // A batch on its way takes marks away: first the gate, then the marks.
        let family = db.readable(Family::History)?;
        let (above, writes) = db.marks.writes_of(height).unzip();
        let all = || Writes { above: 0, last: db.marks.last_write(height) };
        let writes = writes.unwrap_or_else(all);
        let rows = OldRows::new(db.rocks(), &family, writes)?;
        Ok(Self { rows, above, height, since: Instant::now() })
    }

    fn is_of(&self, height: Height) -> bool {
        self.height == height && self.since.elapsed() <= CURSOR_AGE
    }

    /// The value of the first row at or after a key, if no other file can have one that is newer.
    fn find(&mut self, key: &[u8]) -> Result<Option<&[u8]>, StateError> {
        count_call();
        let Some((found, value)) = self.rows.seek(key)? else { return Ok(None) };
        let height = history_height(found)?;
        Ok(self.above.is_none_or(|above| height > above).then_some(value))
    }
}

impl<'a> Wide<'a> {
    fn new(db: &'a Db, height: Height) -> Result<Self, StateError> {
        // As in `Near::new`.
        let family = db.readable(Family::History)?;
        let last_write = db.marks.last_write(height);
        let rows = OldRows::new(db.rocks(), &family, Writes { above: 0, last: last_write })?;
        Ok(Self { rows, since: Instant::now(), height, last_write })
    }

    /// Whether it is young, and has all rows for a height.
    fn is_usable(&self, height: Height, db: &Db) -> bool {
        let has_all = height <= self.height || db.marks.last_write(height) <= self.last_write;
        self.since.elapsed() <= CURSOR_AGE && has_all
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
    use std::{collections::BTreeMap, path::Path};

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

    /// What a look-up in few files first finds, which is what one in all files finds.
    fn found(db: &Db, height: Height) -> Option<u8> {
        found_in(&HistoryCursor::new(db), height)
    }

    fn found_in(cursor: &HistoryCursor<'_>, height: Height) -> Option<u8> {
        let find = |is_written| cursor.find(&key(height), is_written, |value| Ok(value[0])).unwrap();
        let [near, wide] = [true, false].map(find);
        assert_eq!(near, wide, "at {height}");
        let alone = cursor.find_near(&key(height), |value| Ok(value[0])).unwrap();
        assert!(alone.is_none() || alone == near, "at {height}: {alone:?}");
        near
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
            let value = found_in(&cursor, height);
            assert_eq!(value, (height >= 10).then(|| (height / 10).min(7) as u8), "at {height}");
        }
        // As a block number that no chain reaches: the key is none.
        assert!(cursor.find(b"short", true, |_| Ok(())).is_err());
    }

    #[test]
    fn rows_near_the_height_are_expected_after_some() {
        let dir = tempfile::tempdir().unwrap();
        let db = open(dir.path());
        write(&db, &[(10, 1)]);
        flush(&db, 10);
        write(&db, &[(20, 2)]);
        flush(&db, 20);
        let cursor = HistoryCursor::new(&db);
        let find = |height| cursor.find(&key(height), true, |value| Ok(value[0])).unwrap();
        for _ in 0..EXPECTED_NEAR {
            assert!(!cursor.expects_near());
            assert_eq!(find(20), Some(2));
        }
        assert!(cursor.expects_near());
        assert_eq!(find(15), Some(1), "in an older file");
        assert!(cursor.expects_near(), "the caller notes that");
        cursor.note_other();
        assert!(!cursor.expects_near());
        for _ in 0..99 {
            assert_eq!(find(20), Some(2));
        }
        (0..COUNTED_NEAR - EXPECTED_NEAR).for_each(|_| cursor.note_other());
        assert!(cursor.expects_near());
        cursor.note_other();
        assert!(!cursor.expects_near(), "no more of them count");
    }

    /// A look-up of a height behind a mark does not look into the files from before the mark.
    #[test]
    fn files_from_before_a_height_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let db = open(dir.path());
        let history = Family::History as usize;
        write(&db, &[(10, 1)]);
        // No store does this: a row above the head of its flush.
        smuggle(&db, |batch| batch.put_cf(&db.families().unwrap()[history], key(25), [9]));
        flush(&db, 10);
        write(&db, &[(20, 2)]);
        flush(&db, 20);
        write(&db, &[(30, 3)]);
        let cursor = HistoryCursor::new(&db);
        let find = |height, is_written| cursor.find(&key(height), is_written, |value| Ok(value[0])).unwrap();
        assert_eq!((find(26, false), find(26, true)), (Some(9), Some(9)), "no row near: all files");
        assert_eq!((find(30, false), find(30, true)), (Some(3), Some(3)));
        assert_eq!((find(20, false), find(20, true)), (Some(2), Some(2)));
        write(&db, &[(24, 4)]);
        let cursor = HistoryCursor::new(&db);
        let find = |height, is_written| cursor.find(&key(height), is_written, |value| Ok(value[0])).unwrap();
        assert_eq!((find(26, false), find(26, true)), (Some(9), Some(4)), "the first file is passed over");
    }

    /// Blocks, flushes, unwinds and compactions in random order, beside a map.
    #[test]
    fn few_files_give_the_same_rows_as_all() {
        const KEYS: u8 = 6;
        let of = |n: u8, height| at_height(account_history(&Address::repeat_byte(n)), height);
        for seed in 1..=12_u64 {
            let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut pick = |of: u64| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                random % of
            };
            let dir = tempfile::tempdir().unwrap();
            let mut db = open(dir.path());
            let mut rows = BTreeMap::<(u8, Height), u8>::new();
            let mut head: Height = 0;
            for step in 0..250_u64 {
                match pick(20) {
                    0..=12 => {
                        head += 1;
                        let mut batch = db.batch().unwrap();
                        for n in 0..KEYS {
                            // The last keys are written seldom.
                            if pick(1 << n) == 0 {
                                let value = pick(250) as u8;
                                batch.put(Family::History, &of(n, head), &[value]);
                                rows.insert((n, head), value);
                            }
                        }
                        batch.write().unwrap();
                    }
                    13..=15 => flush(&db, head),
                    16 => {
                        let to = head.saturating_sub(pick(6));
                        let mut batch = db.batch().unwrap();
                        for ((n, height), _) in rows.extract_if(.., |(_, height), _| *height > to) {
                            batch.delete(Family::History, &of(n, height));
                        }
                        batch.write().unwrap();
                        head = to;
                    }
                    17 => {
                        let family = db.families().unwrap().swap_remove(Family::History as usize);
                        db.rocks().compact_range_cf(&family, None::<&[u8]>, None::<&[u8]>);
                    }
                    18 => db.flush(true).unwrap(),
                    _ => {
                        // What is not flushed is lost at the end, so that it is flushed first.
                        flush(&db, head);
                        drop(db);
                        db = open(dir.path());
                    }
                }
                let height = pick(head + 2);
                let cursor = HistoryCursor::new(&db);
                for n in 0..KEYS {
                    let expected = rows.range((n, 0)..=(n, height)).next_back().map(|(_, value)| *value);
                    for is_written in [true, false] {
                        let found = cursor.find(&of(n, height), is_written, |value| Ok(value[0])).unwrap();
                        assert_eq!(found, expected, "seed {seed}, step {step}, key {n}, height {height}");
                    }
                    let near = cursor.find_near(&of(n, height), |value| Ok(value[0])).unwrap();
                    assert!(
                        near.is_none() || near == expected,
                        "seed {seed}, step {step}, key {n}: {near:?}"
                    );
                }
            }
        }
    }
}
