//! Positions of a shard: the end of its data, verification of a position, and truncation to it.
//!
//! A truncation is recorded in the state file of the table before any data is removed, and the
//! record is cleared afterwards. In between, the files cannot be distinguished from damaged ones: a
//! crash during a truncation may lose bytes of the last page and keep the size of the file.

use crate::LittError;
use crate::drop_behind::drop_behind;
use crate::format::split_position;
use crate::recover::{self, Loaded};
use crate::scan::{At, Found, Scanner};
use crate::segment::{OpenSegment, Segment, WithTail};
use crate::shard::{Shard, ShardState};
use crate::state::Cutting;
use crate::table::Table;
use crate::writer::Writer;
use hearth_disk::DiskFile;
use std::sync::Arc;

/// A segment with its file and its end.
pub(crate) type Source = (Arc<Segment>, Arc<dyn DiskFile>, u64);

impl Table {
    pub(crate) fn only_shard(&self) -> Result<&Shard, LittError> {
        match &self.lanes[..] {
            [lane] => Ok(lane),
            lanes => Err(LittError::Sharded { table: self.ctx.name.clone(), shards: lanes.len() as u8 }),
        }
    }

    /// Where the last group that was put ends; 0 while there is none. Positions grow in the order
    /// of writing and are otherwise of no meaning to callers.
    ///
    /// # Errors
    /// [`LittError::Sharded`] for a table with several shards.
    pub fn position(&self) -> Result<u64, LittError> {
        self.only_shard()?;
        Ok(self.writer.lock().lanes[0].end)
    }

    /// Whether a record ends at this position and passes its checksums. Position 0 always holds,
    /// and so does one in a segment that was collected.
    ///
    /// # Errors
    /// [`LittError::Sharded`], [`LittError::Io`].
    pub fn verify(&self, position: u64) -> Result<bool, LittError> {
        let lane = self.only_shard()?;
        let (index, offset) = split_position(position);
        if position == 0 || self.ctx.state.lock().is_gone(lane.shard, index) {
            return Ok(true);
        }
        let Some((segment, file, end)) = self.source(lane, index)? else { return Ok(false) };
        if offset > end {
            return Ok(false);
        }
        let mut scanner = Scanner::new(&segment, file, end);
        match record_ending_at(&mut scanner, offset)? {
            Some(found) => Ok(scanner.frames(&found, true)?.is_ok()),
            None => Ok(false),
        }
    }

    /// A segment with its file, of which everything is with the operating system, and its end.
    pub(crate) fn source(&self, lane: &Shard, index: u32) -> Result<Option<Source>, LittError> {
        let (segment, open, end) = {
            let state = lane.state.read();
            let Some(segment) = state.segments.get(index).cloned() else { return Ok(None) };
            let is_open = |open: &&Arc<OpenSegment>| open.segment.index() == index;
            let open = state.open.iter().find(is_open).cloned();
            let end = state.runs.iter().find_map(|run| run.summary_of(index)).map_or(0, |c| c.summary.end);
            (segment, open, end)
        };
        if let Some(open) = open {
            let end = if open.progress.lock().sealed { open.progress.lock().summary.end } else { open.end() };
            let file = match open.write_out() {
                Ok(()) => open.file.clone(),
                Err(_) => Arc::new(WithTail(open)),
            };
            return Ok(Some((segment, file, end)));
        }
        let file = self.ctx.handles.get(segment.uid, &segment.path)?;
        Ok(Some((segment, file, end)))
    }

    /// Durably removes every record behind a position. Call it while opening a data directory,
    /// before requests are served: a running reader or iterator may find its records removed. In a
    /// collected segment, any position counts as its end.
    ///
    /// # Errors
    /// [`LittError::NoSuchPosition`] where no record ends there, and [`LittError::Io`] where the
    /// disk is full; nothing is dropped then. Where the disk fails otherwise, also
    /// [`LittError::Io`]: the table is read-only until it is opened again, and is cut from now on
    /// or whole, as the next opening will have it. [`LittError::ReadOnly`], [`LittError::Sharded`].
    pub fn truncate(&self, to: u64) -> Result<(), LittError> {
        let lane = self.only_shard()?;
        self.ctx.check_writable()?;
        if self.position()? == to {
            return Ok(());
        }
        // What stays is noted to be durable.
        self.flush()?;
        let _merging = self.merging.lock();
        let _sealing = self.sealing.lock();
        let none = || LittError::NoSuchPosition { table: self.ctx.name.clone(), position: to };
        let (index, offset) = split_position(to);
        if to != 0 && !self.ctx.state.lock().is_gone(lane.shard, index) {
            let Some((segment, file, end)) = self.source(lane, index)? else { return Err(none()) };
            let mut scanner = Scanner::new(&segment, file, end);
            if offset > end || record_ending_at(&mut scanner, offset)?.is_none() {
                return Err(none());
            }
        }
        let mut writer = self.writer.lock();
        let mut next = lane.next.lock();
        // With nothing buffered, no flush that is under way can write behind the cut.
        let open = lane.state.read().open.clone();
        open.iter().try_for_each(|open| open.write_out())?;
        // The one that was made ahead is behind the one that is written to.
        let last = lane.state.read().active().segment.index() + 1;
        let cutting = Cutting { to, last };
        self.ctx.update_state(|state| state.begin_cut(cutting)).inspect_err(|error| {
            if !error.is_full() {
                self.ctx.fail(error);
            }
        })?;
        *next = None;
        self.close_from(lane, index);
        let cut = drop_behind(&self.ctx, lane.shard, cutting);
        let cut = cut.and_then(|()| recover::load(&self.ctx, lane.shard));
        let result = match cut {
            Ok(loaded) => {
                take_over(lane, &mut writer, loaded);
                writer.lanes[0].end = to;
                Ok(())
            }
            Err(error) => {
                // From here on nothing is written: what is left is only looked at.
                self.ctx.fail(&error);
                match recover::load(&self.ctx, lane.shard) {
                    Ok(loaded) => take_over(lane, &mut writer, loaded),
                    Err(second) => lane.state.write().lose_from(index, second),
                }
                Err(error)
            }
        };
        drop((writer, next));
        self.recount();
        result
    }

    /// Closes and forgets what is open and cached of the segments from an index on, and all key
    /// indexes.
    fn close_from(&self, lane: &Shard, index: u32) {
        let state = lane.state.read();
        state.runs.iter().for_each(|run| self.ctx.handles.close(run.uid));
        for (_, segment) in state.segments.iter().filter(|(of, _)| *of >= index) {
            self.ctx.handles.close(segment.uid);
            for cache in [&self.ctx.read_cache, &self.ctx.write_cache].into_iter().flatten() {
                cache.drop_segment(segment.uid);
            }
        }
    }
}

/// Puts what was loaded in place of what there was.
fn take_over(lane: &Shard, writer: &mut Writer, loaded: Loaded) {
    *writer = Writer { cuts: writer.cuts + 1, ..Writer::default() };
    writer.push_lane(&loaded);
    *lane.state.write() = loaded.state;
}

impl ShardState {
    /// Forgets the segments from an index on, of which nothing is known any more: reads of what is
    /// not found elsewhere fail with an error.
    fn lose_from(&mut self, index: u32, error: LittError) {
        self.segments.retain(|of| of < index);
        Arc::make_mut(&mut self.runs).retain(|run| run.last < index);
        // The last one stands for what is written to; nothing is, any more.
        let active = self.open.pop();
        self.open.retain(|open| open.segment.index() < index);
        self.open.extend(active);
        self.damaged = Some(error);
        self.generation += 1;
    }
}

/// The record, group or note, that ends at an offset.
fn record_ending_at(scanner: &mut Scanner<'_>, offset: u64) -> Result<Option<Found>, LittError> {
    let mut at = Scanner::START;
    while at < offset {
        let found = match scanner.record_at(at)? {
            At::Record(found) => found,
            At::Bad => match scanner.resync(at + 1)? {
                Some(found) => found,
                None => return Ok(None),
            },
        };
        at = found.end;
        if at == offset {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
