//! Positions: where a shard's data ends, whether a record ends there, and going back to it.

use crate::LittError;
use crate::doc;
use crate::format::{SEGMENT_HEADER, split_position};
use crate::lane::Lane;
use crate::recover;
use crate::scan::{At, Found, Scanner};
use crate::segment::{OpenSegment, Segment, WithTail};
use crate::table::Table;
use crate::write::Writer;
use hearth_disk::{DiskFile, OpenMode};
use std::sync::Arc;

impl Table {
    fn only_lane(&self) -> Result<&Lane, LittError> {
        match &self.lanes[..] {
            [lane] => Ok(lane),
            lanes => Err(LittError::Sharded { table: self.ctx.name.clone(), shards: lanes.len() as u8 }),
        }
    }

    /// Where the last group that was put ends; 0 while there is none. Positions grow in the order of writing and are
    /// otherwise of no meaning to callers.
    ///
    /// # Errors
    /// [`LittError::Sharded`] for a table with several shards.
    pub fn position(&self) -> Result<u64, LittError> {
        self.only_lane()?;
        Ok(self.writer.lock().lanes[0].end)
    }

    /// Whether a record ends at this position and passes its checksums. Position 0 always holds, and so does one in a
    /// segment that was collected.
    ///
    /// # Errors
    /// [`LittError::Sharded`], [`LittError::Io`].
    pub fn verify(&self, position: u64) -> Result<bool, LittError> {
        let lane = self.only_lane()?;
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
    pub(crate) fn source(
        &self,
        lane: &Lane,
        index: u32,
    ) -> Result<Option<(Arc<Segment>, Arc<dyn DiskFile>, u64)>, LittError> {
        let (segment, open, end) = {
            let state = lane.state.read();
            let Some(segment) = state.segments.get(&index).cloned() else { return Ok(None) };
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

    /// Drops every record behind a position, durably. Meant for opening a home, before anything is served: a reader or
    /// iterator that is under way may find its bytes gone.
    ///
    /// # Errors
    /// [`LittError::NoSuchPosition`] where no record ends there, or where it lies in a collected segment with others
    /// behind it; nothing is dropped then. [`LittError::Io`], [`LittError::ReadOnly`], [`LittError::Sharded`].
    pub fn cut(&self, to: u64) -> Result<(), LittError> {
        let lane = self.only_lane()?;
        self.ctx.check_writable()?;
        if self.position()? == to {
            return Ok(());
        }
        let _merging = self.merging.lock();
        let _sealing = self.sealing.lock();
        let none = || LittError::NoSuchPosition { table: self.ctx.name.clone(), position: to };
        let (index, offset) = split_position(to);
        if to != 0 {
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
        self.drop_behind(lane, index, if to == 0 { SEGMENT_HEADER as u64 } else { offset })?;
        *next = None;
        let loaded = recover::load(&self.ctx, lane.shard)?;
        *writer = Writer::default();
        writer.push_lane(&loaded);
        writer.lanes[0].end = to;
        *next = loaded.next;
        *lane.state.write() = loaded.state;
        drop((writer, next));
        self.recount();
        Ok(())
    }

    /// Removes the files behind a place, and what is behind it in its own file.
    fn drop_behind(&self, lane: &Lane, index: u32, offset: u64) -> Result<(), LittError> {
        let disk = &*self.ctx.disk;
        let sync = |dir: &std::path::Path| disk.sync_dir(dir).map_err(LittError::io(dir));
        let (runs, segments) = {
            let state = lane.state.read();
            (state.runs.clone(), state.segments.clone())
        };
        // Key indexes first: one that named what is not there any more would be believed.
        for run in runs.iter().filter(|run| run.last >= index) {
            self.ctx.handles.close(run.uid);
            doc::remove_if_there(disk, &run.path)?;
        }
        sync(&self.ctx.home)?;
        let ahead = segments.keys().next_back().map(|last| last + 1);
        let ahead = ahead.map(|index| {
            let name = crate::segment::segment_name(lane.shard, index);
            self.ctx.dir_for(lane.shard, index).join(name)
        });
        let behind: Vec<_> =
            segments.range(index + 1..).rev().map(|(_, segment)| segment.path.clone()).collect();
        // From the back, so that a death in between leaves no gap.
        for path in ahead.into_iter().chain(behind) {
            doc::remove_if_there(disk, &path)?;
            sync(path.parent().unwrap_or(&self.ctx.home))?;
        }
        if let Some(segment) = segments.get(&index) {
            let file = disk.open(&segment.path, OpenMode::ReadWrite).map_err(LittError::io(&segment.path))?;
            let cut = file.set_len(offset).and_then(|()| file.sync_data());
            cut.map_err(LittError::io(&segment.path)).inspect_err(|error| self.ctx.fail(error))?;
        }
        for segment in segments.values().filter(|segment| segment.index() >= index) {
            self.ctx.handles.close(segment.uid);
            for cache in [&self.ctx.read_cache, &self.ctx.write_cache].into_iter().flatten() {
                cache.drop_segment(segment.uid);
            }
        }
        let first_free = index + 1;
        self.ctx.update_state(|state| state.forget_gone_from(lane.shard, first_free))
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
