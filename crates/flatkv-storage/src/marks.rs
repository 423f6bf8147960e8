//! Up to which write of RocksDB there are rows of history up to a height.
//!
//! RocksDB numbers its writes, and a table file knows the lowest number in it. A mark of a height
//! says that every row of history up to the height has at most this number: a look-up of such a
//! height has no use for a file whose numbers are all higher. Rows of history are written in the
//! order of heights, so these are the files that were flushed since.
//!
//! Nor are rows above the height of a mark written before it, but for such that an unwind deleted:
//! the rows of the heights between two marks are in the files with writes between them.
//!
//! A mark is taken with each flush. It no longer holds once a row at or below its height is put
//! again, behind an unwind for example, and goes with the batch that has the row. Rows that are
//! deleted take none away: a file with deletions is never passed over.

use crate::{
    db::{Db, Family},
    old_rows::Writes,
    rows::meta,
};
use hearth_primitives::{Height, StateError};
use parking_lot::Mutex;

/// Marks that are kept: more flushed files than compaction lets stand.
const MARKS_MAX: usize = 64;
/// Bytes of a number.
const NUMBER_BYTES: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    height: Height,
    /// RocksDB's number of the last write then.
    write: u64,
}

#[derive(Debug, Default)]
struct Kept {
    /// In ascending order, both of heights and of writes.
    marks: Vec<Mark>,
    /// The WAL record of the flush that brought the last one to the disk. A version of the store
    /// that knows no marks does not keep them, and flushes with another record.
    synced: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Marks(Mutex<Kept>);

impl Marks {
    /// A write behind which no write has rows of history up to a height; the highest number where
    /// none is known.
    pub(crate) fn last_write(&self, height: Height) -> u64 {
        let kept = self.0.lock();
        let at = kept.marks.partition_point(|mark| mark.height < height);
        kept.marks.get(at).map_or(u64::MAX, |mark| mark.write)
    }

    /// The writes that have every row of history of the heights from the mark below `height` up to
    /// it, and the height of that mark; `None` where no mark is below.
    pub(crate) fn writes_of(&self, height: Height) -> Option<(Height, Writes)> {
        let kept = self.0.lock();
        let at = kept.marks.partition_point(|mark| mark.height < height);
        let below = kept.marks[..at].last()?;
        let last = kept.marks.get(at).map_or(u64::MAX, |mark| mark.write);
        Some((below.height, Writes { above: below.write, last }))
    }

    /// Takes a mark and gives the row of all.
    fn take(&self, mark: Mark, synced: u64) -> Vec<u8> {
        let mut kept = self.0.lock();
        if kept.marks.last().is_none_or(|last| last.height < mark.height && last.write <= mark.write) {
            kept.marks.push(mark);
            let surplus = kept.marks.len().saturating_sub(MARKS_MAX);
            kept.marks.drain(..surplus);
        }
        kept.synced = synced;
        kept.row()
    }

    /// Forgets the marks of a height and above, for a row of the height is about to be put; gives
    /// the row of the others where there were any.
    pub(crate) fn forget_from(&self, height: Height) -> Option<Vec<u8>> {
        let mut kept = self.0.lock();
        let at = kept.marks.partition_point(|mark| mark.height < height);
        (at < kept.marks.len()).then(|| {
            kept.marks.truncate(at);
            kept.row()
        })
    }

    /// Takes over what a database has; nothing of a row that another flush wrote, or that is none.
    fn set(&self, row: &[u8], synced: u64) {
        *self.0.lock() = Kept::read(row).filter(|kept| kept.synced == synced).unwrap_or_default();
    }
}

impl Kept {
    fn row(&self) -> Vec<u8> {
        let marks = self.marks.iter().flat_map(|mark| [mark.height, mark.write]);
        [self.synced].into_iter().chain(marks).flat_map(u64::to_be_bytes).collect()
    }

    fn read(row: &[u8]) -> Option<Self> {
        let (numbers, rest) = row.as_chunks::<NUMBER_BYTES>();
        let (synced, marks) = numbers.split_first()?;
        let (marks, odd) = marks.as_chunks::<2>();
        let number = |bytes: &[u8; NUMBER_BYTES]| u64::from_be_bytes(*bytes);
        let mark = |[height, write]: &[_; 2]| Mark { height: number(height), write: number(write) };
        let marks: Vec<Mark> = marks.iter().map(mark).collect();
        let ascends = |pair: &[Mark]| pair[0].height < pair[1].height && pair[0].write <= pair[1].write;
        let is_sound = rest.is_empty() && odd.is_empty() && marks.windows(2).all(ascends);
        is_sound.then(|| Self { marks, synced: number(synced) })
    }
}

impl Db {
    /// Takes a mark of the head, and gives the row of all marks for the batch that `synced` is
    /// written with. The writer must be locked, and no batch on its way.
    pub fn mark_history(&self, head: Height, synced: u64) -> Vec<u8> {
        self.marks.take(Mark { height: head, write: self.rocks().latest_sequence_number() }, synced)
    }

    /// Takes the marks of the database.
    pub(crate) fn read_marks(&self) -> Result<(), StateError> {
        let Some(row) = self.get(Family::Metadata, meta::MARKS)? else { return Ok(()) };
        self.marks.set(&row, self.number(meta::SYNCED)?.unwrap_or(0));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(marks: &[(Height, u64)]) -> Marks {
        let kept = Marks::default();
        for (height, write) in marks {
            kept.take(Mark { height: *height, write: *write }, 7);
        }
        kept
    }

    #[test]
    fn a_height_has_the_write_of_the_next_mark() {
        let marks = taken(&[(10, 100), (20, 250), (30, 250)]);
        let heights = [0, 10, 11, 20, 21, 30, 31, Height::MAX];
        let writes = [100, 100, 250, 250, 250, 250, u64::MAX, u64::MAX];
        assert_eq!(heights.map(|height| marks.last_write(height)), writes);
        assert_eq!(Marks::default().last_write(5), u64::MAX);
    }

    #[test]
    fn heights_between_marks_have_the_writes_between_them() {
        let marks = taken(&[(10, 100), (20, 250), (30, 300)]);
        let of = |above, (before, last)| Some((above, Writes { above: before, last }));
        let expected =
            [None, None, of(10, (100, 250)), of(10, (100, 250)), of(20, (250, 300)), of(30, (300, u64::MAX))];
        assert_eq!([0, 10, 11, 20, 30, 31].map(|height| marks.writes_of(height)), expected);
        assert_eq!(Marks::default().writes_of(5), None);
    }

    #[test]
    fn a_row_put_again_takes_the_marks_above_away() {
        let marks = taken(&[(10, 100), (20, 200), (30, 300)]);
        assert_eq!(marks.forget_from(31), None, "each block puts rows above all marks");
        assert!(marks.forget_from(20).is_some());
        assert_eq!([10, 20].map(|height| marks.last_write(height)), [100, u64::MAX]);
        // A head that was taken back has the mark of a higher one, which still holds.
        marks.take(Mark { height: 25, write: 400 }, 8);
        marks.take(Mark { height: 24, write: 500 }, 9);
        assert_eq!([11, 24, 25].map(|height| marks.last_write(height)), [400; 3]);
    }

    #[test]
    fn the_oldest_marks_go_and_leave_a_wider_one() {
        let many: Vec<_> = (1..=MARKS_MAX as u64 + 10).map(|n| (n * 10, n * 1_000)).collect();
        let marks = taken(&many);
        assert_eq!((marks.last_write(1), marks.last_write(111)), (11_000, 12_000));
        assert_eq!(marks.0.lock().marks.len(), MARKS_MAX);
    }

    #[test]
    fn marks_are_read_back_only_from_their_own_flush() {
        let marks = taken(&[(10, 100), (20, 200)]);
        let row = marks.take(Mark { height: 30, write: 300 }, 9);
        let read = |row: &[u8], synced| {
            let read = Marks::default();
            read.set(row, synced);
            [5, 15, 25, 35].map(|height| read.last_write(height))
        };
        assert_eq!(read(&row, 9), [100, 200, 300, u64::MAX]);
        let none = [u64::MAX; 4];
        assert_eq!(read(&row, 10), none, "a version without marks flushed since");
        assert_eq!(read(&row[..row.len() - 8], 9), none);
        assert_eq!(read(&row[..row.len() - 1], 9), none);
        assert_eq!(read(&[], 0), none);
        let turned = [9_u64, 20, 200, 10, 100].map(u64::to_be_bytes).concat();
        assert_eq!(read(&turned, 9), none);
        // What is left behind a row put again stands beside the same flush.
        assert_eq!(read(&marks.forget_from(20).unwrap(), 9), [100, u64::MAX, u64::MAX, u64::MAX]);
    }
}
