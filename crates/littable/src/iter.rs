//! Iterating over groups in the order of writing, forward and backward.

use crate::LittError;
use crate::format::{SEGMENT_HEADER, position};
use crate::keys::{KeyLocation, NO_NUMBER};
use crate::lease::Held;
use crate::scan::{At, Found, Scanner};
use crate::segment::{OpenSegment, Segment, WithTail};
use crate::shard::Hit;
use crate::table::Table;
use hearth_disk::DiskFile;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Which way an iterator goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the oldest group to the newest.
    Forward,
    /// From the newest group to the oldest.
    Reverse,
}

/// A group as it was put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Primary key.
    pub key: Vec<u8>,
    /// The value.
    pub value: Vec<u8>,
    /// Secondary keys with their byte ranges of the value.
    pub secondary: Vec<(Vec<u8>, Range<u32>)>,
    /// What retention goes by.
    pub number: Option<u64>,
}

/// Iterates over the groups that were there when it was made. It holds back the segments that it
/// still needs until it is dropped or its lease ends, whichever comes first; it holds the records
/// of one segment's places in memory at a time.
///
/// A damaged record is an error of its own, and the iterator continues behind it.
/// [`LittError::LeaseExpired`] ends it. In a store that is open for reading, a segment that the
/// writer collected meanwhile is [`LittError::Pruned`].
pub struct TableIter {
    table: Arc<Table>,
    direction: Direction,
    lanes: Vec<LaneCursor>,
    floor: u64,
    lease: u64,
    until: Duration,
    ended: bool,
}

impl std::fmt::Debug for TableIter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableIter").field("direction", &self.direction).finish_non_exhaustive()
    }
}

/// A shard's part of an iterator.
struct LaneCursor {
    shard: u8,
    /// Segments still to come, with the end of each, in the order of iteration reversed (the next
    /// one is the last).
    segments: Vec<(u32, Arc<Segment>, u64)>,
    current: Option<(Arc<Segment>, Arc<dyn DiskFile>, u64)>,
    /// Offsets of the records of the current segment still to come, the next one last.
    offsets: Vec<u64>,
    /// The next record, its sequence number, or why it cannot be had.
    head: Option<(u64, Result<Record, LittError>)>,
    sequence: u64,
}

impl Table {
    /// Iterates over all groups.
    ///
    /// # Errors
    /// [`LittError::Io`].
    pub fn iter(self: &Arc<Self>, direction: Direction) -> Result<TableIter, LittError> {
        self.iterate(direction, None)
    }

    /// Iterates from the group of a key on, that one first; `None` where the key is not there.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn iter_from(
        self: &Arc<Self>,
        key: &[u8],
        direction: Direction,
    ) -> Result<Option<TableIter>, LittError> {
        let Some((lane, hit)) = self.find_or_rebuild(key)? else { return Ok(None) };
        if self.is_pruned(&hit) {
            return Err(self.ctx.pruned());
        }
        let (index, place) = match &hit {
            Hit::Open(open, place) => (open.segment.index(), *place),
            Hit::Sealed(segment, place) => (segment.index(), *place),
            Hit::Gone => return Err(self.ctx.pruned()),
        };
        self.iterate(direction, Some((lane.shard, index, place))).map(Some)
    }

    fn iterate(
        self: &Arc<Self>,
        direction: Direction,
        from: Option<(u8, u32, KeyLocation)>,
    ) -> Result<TableIter, LittError> {
        // What the disk does not take, because it is full, is read from memory.
        let _ = self.drain();
        // Until the segments are known, all are held: none may go between the look at a shard and
        // the lease.
        let all: Held = vec![Some((0, u32::MAX)); self.lanes.len()];
        let (lease, until) = self.ctx.leases.begin(all);
        let mut lanes = Vec::new();
        for lane in &self.lanes {
            let state = lane.state.read();
            let end = |index: u32| {
                let open = state.open.iter().find(|open| open.segment.index() == index);
                let sealed =
                    || state.runs.iter().find_map(|run| run.summary_of(index)).map_or(0, |c| c.summary.end);
                open.map_or_else(sealed, |open| match open.progress.lock() {
                    progress if progress.sealed => progress.summary.end,
                    progress => progress.summary.end.max(SEGMENT_HEADER as u64),
                })
            };
            let mut segments: Vec<_> =
                state.segments.iter().map(|(index, segment)| (index, segment.clone(), end(index))).collect();
            let held = segments.first().zip(segments.last()).map(|(first, last)| (first.0, last.0));
            self.ctx.leases.narrow(lease, usize::from(lane.shard), held);
            if direction == Direction::Forward {
                segments.reverse();
            }
            let (current, offsets, head) = (None, Vec::new(), None);
            lanes.push(LaneCursor { shard: lane.shard, segments, current, offsets, head, sequence: 0 });
        }
        let table = self.clone();
        let mut iter =
            TableIter { table, direction, lanes, floor: self.ctx.floor(), lease, until, ended: false };
        if let Some((shard, index, place)) = from {
            iter.start_at(shard, index, &place)?;
        }
        for lane in 0..iter.lanes.len() {
            iter.advance(lane);
        }
        if let Some((shard, ..)) = from {
            iter.skip_others(usize::from(shard));
        }
        Ok(iter)
    }
}

impl TableIter {
    /// Goes to the record that holds a place.
    fn start_at(&mut self, shard: u8, index: u32, place: &KeyLocation) -> Result<(), LittError> {
        let lane = usize::from(shard);
        while let Some((next, ..)) = self.lanes[lane].segments.last() {
            if *next == index {
                break;
            }
            self.lanes[lane].segments.pop();
        }
        if !self.next_segment(lane)? {
            return Ok(());
        }
        let cursor = &mut self.lanes[lane];
        let Some((segment, file, end)) = cursor.current.clone() else { return Ok(()) };
        let at = u64::from(place.offset);
        let mut scanner = Scanner::new(&segment, file, end);
        let mut start = None;
        for offset in cursor.offsets.iter().copied() {
            if offset < at
                && start.is_none_or(|before| before < offset)
                && let At::Record(found) = scanner.record_at(offset)?
                && found.frames_at <= at
                && at <= found.end
            {
                start = Some(offset);
            }
        }
        // An empty value has no frame: its place is where its frames would be.
        if let (Some(start), Some(found)) =
            (start, cursor.offsets.iter().position(|offset| Some(*offset) == start))
        {
            debug_assert_eq!(cursor.offsets[found], start);
            cursor.offsets.truncate(found + 1);
        }
        Ok(())
    }

    /// Drops what lies before the first record of one shard from the others.
    fn skip_others(&mut self, first: usize) {
        let Some(from) = self.lanes[first].head.as_ref().map(|(sequence, _)| *sequence) else { return };
        for lane in (0..self.lanes.len()).filter(|lane| *lane != first) {
            while let Some((sequence, _)) = &self.lanes[lane].head {
                let before = match self.direction {
                    Direction::Forward => *sequence < from,
                    Direction::Reverse => *sequence > from,
                };
                if !before {
                    break;
                }
                self.advance(lane);
            }
        }
    }

    /// Opens the next segment of a shard and finds its records.
    fn next_segment(&mut self, lane: usize) -> Result<bool, LittError> {
        let cursor = &mut self.lanes[lane];
        let Some((_, segment, end)) = cursor.segments.pop() else { return Ok(false) };
        let indexes = cursor.segments.iter().map(|(index, ..)| *index).chain([segment.index()]);
        let held = indexes.clone().min().zip(indexes.max());
        self.table.ctx.leases.narrow(self.lease, lane, held);
        let buffered = {
            let state = self.table.lanes[lane].state.read();
            let is_it =
                |open: &&Arc<OpenSegment>| Arc::ptr_eq(&open.segment, &segment) && open.buffered() > 0;
            state.open.iter().find(is_it).cloned()
        };
        let file = match self.table.ctx.handles.get(segment.uid, &segment.path) {
            Err(error) if error.is_not_found() && segment.is_retired() => return Err(self.expired()),
            Err(error) if error.is_not_found() => {
                let ctx = &self.table.ctx;
                // The writer beside a reader does not see its leases.
                let collected = ctx.was_collected(self.table.lanes[lane].shard, segment.index());
                return Err(if collected { ctx.pruned() } else { segment.corrupt(0, "file is missing") });
            }
            file => buffered.map_or(file, |open| Ok(Arc::new(WithTail(open))))?,
        };
        let mut scanner = Scanner::new(&segment, file.clone(), end);
        let (mut offsets, mut at) = (Vec::new(), Scanner::START);
        while at < end {
            let found = match scanner.record_at(at)? {
                At::Record(found) => found,
                At::Bad => {
                    offsets.push(at);
                    match scanner.resync(at + 1)? {
                        Some(found) => found,
                        None => break,
                    }
                }
            };
            at = found.end;
            if !found.head.mark {
                offsets.push(found.start);
            }
        }
        if self.direction == Direction::Forward {
            offsets.reverse();
        }
        let cursor = &mut self.lanes[lane];
        cursor.offsets = offsets;
        cursor.current = Some((segment, file, end));
        Ok(true)
    }

    /// Reads the next record of a shard.
    fn advance(&mut self, lane: usize) {
        self.lanes[lane].head = self.read_next(lane).transpose().map(|result| match result {
            Ok((sequence, record)) => (sequence, Ok(record)),
            // Where a record is not known, it comes where it was found.
            Err(error) => (self.lanes[lane].sequence, Err(error)),
        });
        if let Some((sequence, _)) = self.lanes[lane].head {
            self.lanes[lane].sequence = sequence;
        }
    }

    fn read_next(&mut self, lane: usize) -> Result<Option<(u64, Record)>, LittError> {
        loop {
            let Some(offset) = self.lanes[lane].offsets.pop() else {
                match self.next_segment(lane)? {
                    true => continue,
                    false => return Ok(None),
                }
            };
            let cursor = &self.lanes[lane];
            let Some((segment, file, end)) = cursor.current.clone() else { return Ok(None) };
            let mut scanner = Scanner::new(&segment, file, end);
            let found: Found = match scanner.record_at(offset)? {
                At::Record(found) => found,
                At::Bad => return Err(segment.corrupt(offset, "records lost")),
            };
            if found.head.number.unwrap_or(NO_NUMBER) < self.floor {
                continue;
            }
            let value = scanner.value(&found)?;
            let sequence = found.head.sequence.unwrap_or_else(|| position(segment.index(), offset));
            let mut keys = found.keys.into_iter();
            let key = keys.next().map(|(key, _)| key).unwrap_or_default();
            let record = Record { key, value, secondary: keys.collect(), number: found.head.number };
            return Ok(Some((sequence, record)));
        }
    }

    fn expired(&self) -> LittError {
        let seconds = self.table.ctx.leases.length.as_secs();
        LittError::LeaseExpired { table: self.table.ctx.name.clone(), seconds }
    }
}

impl Iterator for TableIter {
    type Item = Result<Record, LittError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        if self.table.ctx.leases.has_ended(self.until) {
            self.ended = true;
            return Some(Err(self.expired()));
        }
        let heads = self
            .lanes
            .iter()
            .enumerate()
            .filter_map(|(lane, cursor)| cursor.head.as_ref().map(|(sequence, _)| (*sequence, lane)));
        let (_, lane) = match self.direction {
            Direction::Forward => heads.min()?,
            Direction::Reverse => heads.max()?,
        };
        let (_, record) = self.lanes[lane].head.take()?;
        if matches!(record, Err(LittError::LeaseExpired { .. })) {
            self.ended = true;
        } else {
            self.advance(lane);
        }
        Some(record)
    }
}

impl Drop for TableIter {
    fn drop(&mut self) {
        self.table.ctx.leases.end(self.lease);
    }
}

/// A shard is only named in errors of its files.
impl std::fmt::Debug for LaneCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LaneCursor").field("shard", &self.shard).finish_non_exhaustive()
    }
}
