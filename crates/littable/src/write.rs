//! Putting groups, flushing, and the end of a table.

use crate::codec::is_raw;
use crate::format::{
    FRAME_BYTES, FRAME_HEADER, FrameHeader, Head, KeyRange, MAX_HEAD_BYTES, encode_keys, position, put_head,
};
use crate::keys::{Id, NO_NUMBER, Spread};
use crate::scan::Span;
use crate::segment::{self, OpenSegment};
use crate::shard::Shard;
use crate::table::{Group, Table};
use crate::writer::Writer;
use crate::{LittError, MAX_GROUP_KEYS, MAX_VALUE_BYTES};
use hearth_disk::DiskFile;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Most bytes beside a key in a record: its length, and start and length of its range.
const MAX_KEY_HEAD_BYTES: usize = 15;
/// Segments with their keys in memory beyond which a put helps to seal them.
const MAX_OPEN_SEGMENTS: usize = 2;
/// Times the write buffer's size that may wait for the operating system before a put waits too.
/// Enough for some seconds of a node's writing while the file system is busy with something else:
/// removing segments, for example.
const MAX_BUFFERS: usize = 8;

/// Groups that are put with the table locked once.
const MAX_RUN_GROUPS: usize = 128;

/// Keys of a group up to which those that stand twice in it are found without a map.
const COMPARED_KEYS_MAX: usize = 8;

/// Keys of a group. Most groups have one key, which is stored without an allocation.
type Few<T> = SmallVec<[T; 1]>;

/// A group's frames, ready but for the places in the file.
struct Prepared<'a> {
    dictionary: u32,
    frames: Few<(FrameHeader, Cow<'a, [u8]>)>,
    stored: u64,
    raw: bool,
}

/// A group's keys.
struct Keyed<'a> {
    /// Primary, then secondary ones, with their ranges.
    keys: Few<KeyRange<'a>>,
    ids: Few<Id>,
    /// Most bytes that the keys take in a record.
    longest: u64,
}

/// Measures what comes one after the other.
struct Clock(Instant);

impl Clock {
    /// The time since the last call.
    fn lap(&mut self) -> Duration {
        let before = std::mem::replace(&mut self.0, Instant::now());
        self.0 - before
    }
}

/// What was durable at a moment.
struct Synced {
    /// Cuts of the table before.
    cuts: u64,
    /// By shard, up to where.
    positions: Vec<u64>,
}

/// What became of a group.
enum Put {
    /// All of its keys are there with its bytes.
    There,
    Appended(Arc<OpenSegment>),
    /// The frames have to be made again for the segment that comes next.
    OtherDictionary,
}

fn prepare<'a>(open: &OpenSegment, value: &'a [u8]) -> Prepared<'a> {
    let frame = |raw: &'a [u8]| {
        let (codec, stored) = open.encoder.encode(raw);
        (FrameHeader::of(codec, &stored), stored)
    };
    let frames: Few<_> = value.chunks(FRAME_BYTES).map(frame).collect();
    let stored = frames.iter().map(|(_, bytes)| (FRAME_HEADER + bytes.len()) as u64).sum();
    let raw = frames.iter().all(|(header, _)| is_raw(header.codec));
    Prepared { dictionary: open.segment.header.dictionary, frames, stored, raw }
}

impl Table {
    /// Writes a value under one key; see [`Table::put_group`].
    ///
    /// # Errors
    /// As [`Table::put_group`].
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), LittError> {
        self.put_group(&Group::new(key, value))
    }

    /// Writes groups one after the other. Each is there as a whole or not at all; the batch is not.
    ///
    /// # Errors
    /// As [`Table::put_group`]; groups before the one that failed are written.
    pub fn put_batch(&self, groups: &[Group<'_>]) -> Result<(), LittError> {
        if self.lanes.len() == 1 {
            return self.put_run(groups).map(drop);
        }
        groups.iter().try_for_each(|group| self.check(group))?;
        groups.iter().try_for_each(|group| self.put_group(group))
    }

    /// As [`Table::put_batch`], in a table of one shard: many groups share locks and checks.
    /// Returns [`Table::position`] behind each of them.
    ///
    /// # Errors
    /// [`LittError::Sharded`]; as [`Table::put_batch`].
    pub fn put_run(&self, groups: &[Group<'_>]) -> Result<Vec<u64>, LittError> {
        let lane = self.only_shard()?;
        groups.iter().try_for_each(|group| self.check(group))?;
        let mut ends = Vec::with_capacity(groups.len());
        while let Some(left) = groups.get(ends.len()..).filter(|left| !left.is_empty()) {
            // What waits for its place in the segment is bounded.
            let mut bytes = 0;
            let fits = |group: &&Group<'_>| {
                bytes += group.value.len();
                bytes <= self.ctx.options.write_buffer_bytes
            };
            let count = left.iter().take(MAX_RUN_GROUPS).take_while(fits).count().max(1);
            self.put_some(lane, &left[..count], &mut ends)?;
        }
        Ok(ends)
    }

    /// Puts groups into the open segment, and appends the position behind each to `ends`: all of
    /// them, or fewer where a next segment begins. Like a single put, no call begins two: the bytes
    /// of the one before reach the disk first.
    fn put_some(&self, lane: &Shard, groups: &[Group<'_>], ends: &mut Vec<u64>) -> Result<(), LittError> {
        // Each group takes its own time; the first one waits for all.
        let mut clock = Clock(Instant::now());
        let open = self.wait_for_space(lane)?;
        let ready: Vec<_> = groups
            .iter()
            .map(|group| (self.keyed(group), prepare(&open, group.value), clock.lap()))
            .collect();
        let mut last = None;
        let mut put = |ends: &mut Vec<u64>| {
            let mut writer = self.writer.lock();
            self.ctx.check_writable()?;
            for (group, (keyed, prepared, preparing)) in groups.iter().zip(&ready) {
                let put = self.put_locked(&mut writer, lane, group, keyed, prepared)?;
                let putting = clock.lap();
                if matches!(put, Put::OtherDictionary) {
                    break;
                }
                ends.push(writer.lanes[usize::from(lane.shard)].end);
                if let Put::Appended(to) = put {
                    self.ctx.metrics.write.record_duration(*preparing + putting);
                    let is_next = !Arc::ptr_eq(&to, &open);
                    last = Some(to);
                    if is_next {
                        break;
                    }
                }
            }
            Ok(())
        };
        let done = put(ends);
        if let Some(open) = &last {
            self.after_put(lane, open);
        }
        done
    }

    /// Writes a value under a primary key, with secondary keys that name byte ranges of it: all or
    /// nothing. A key that is there with equal bytes is left as it is; if all of them are, nothing
    /// is written. Readers see the group when the call returns. It survives the process after
    /// [`Table::drain`], a power cut after [`Table::flush`].
    ///
    /// # Errors
    /// [`LittError::Conflict`] where a key is there with other bytes, [`LittError::TooLarge`],
    /// [`LittError::BadRange`], [`LittError::Pruned`] where the number is below the floor,
    /// [`LittError::ReadOnly`], and [`LittError::Io`] where the disk does not take what was put
    /// before (it is full, say). Nothing is written then, and a later put may succeed.
    pub fn put_group(&self, group: &Group<'_>) -> Result<(), LittError> {
        let start = Instant::now();
        self.check(group)?;
        let keyed = self.keyed(group);
        let lane = &self.lanes[self.shard_of(&keyed.ids[0])];
        loop {
            let open = self.wait_for_space(lane)?;
            let prepared = prepare(&open, group.value);
            let mut writer = self.writer.lock();
            self.ctx.check_writable()?;
            let put = self.put_locked(&mut writer, lane, group, &keyed, &prepared)?;
            drop(writer);
            match put {
                Put::There => return Ok(()),
                Put::OtherDictionary => continue,
                Put::Appended(open) => {
                    self.after_put(lane, &open);
                    self.ctx.metrics.write.record_duration(start.elapsed());
                    return Ok(());
                }
            }
        }
    }

    fn keyed<'a>(&self, group: &'a Group<'_>) -> Keyed<'a> {
        let keys: Few<KeyRange<'_>> = std::iter::once((group.key, 0..group.value.len() as u32))
            .chain(group.secondary.iter().cloned())
            .collect();
        let ids = keys.iter().map(|(key, _)| self.ctx.id(key)).collect();
        let longest = keys.iter().map(|(key, _)| key.len() + MAX_KEY_HEAD_BYTES).sum::<usize>() as u64;
        Keyed { keys, ids, longest }
    }

    /// Puts one group that is checked, with the writer locked.
    fn put_locked(
        &self,
        writer: &mut Writer,
        lane: &Shard,
        group: &Group<'_>,
        keyed: &Keyed<'_>,
        prepared: &Prepared<'_>,
    ) -> Result<Put, LittError> {
        if group.number.is_some_and(|number| number < self.ctx.floor()) {
            return Err(self.ctx.pruned());
        }
        let Keyed { keys, ids, longest } = keyed;
        if self.all_there(keys, ids, group.value)? {
            return Ok(Put::There);
        }
        let longest = MAX_HEAD_BYTES as u64 + longest + prepared.stored;
        let open = self.room(writer, lane, ids.len() as u32, longest)?;
        if open.segment.header.dictionary != prepared.dictionary {
            return Ok(Put::OtherDictionary);
        }
        self.append(writer, lane, &open, group, keys, ids, prepared);
        Ok(Put::Appended(open))
    }

    /// With several shards, groups go to them by their primary key.
    fn shard_of(&self, id: &Id) -> usize {
        match self.lanes.len() {
            1 => 0,
            lanes => usize::from(u16::from_be_bytes([id[4] ^ id[10], id[5] ^ id[11]])) % lanes,
        }
    }

    /// Hands full buffers over and lets background work start where the put made it necessary.
    fn after_put(&self, lane: &Shard, open: &Arc<OpenSegment>) {
        if open.buffered() >= self.ctx.options.write_buffer_bytes && !self.store.write_soon(open) {
            // What fails here is tried again by the next put, which then fails if it has to.
            let _ = open.write_out();
        }
        if lane.state.read().open.len() > 1 || self.is_broken() {
            self.store.poke(self);
        }
    }

    /// Called before a put: waits while too many bytes are buffered or unsealed. Returns the
    /// segment to write to.
    fn wait_for_space(&self, lane: &Shard) -> Result<Arc<OpenSegment>, LittError> {
        let look = || {
            let state = lane.state.read();
            (state.active().clone(), state.open.len())
        };
        let (mut active, open) = look();
        let limit = MAX_BUFFERS * self.ctx.options.write_buffer_bytes.max(1);
        if active.buffered() >= limit {
            active.write_out_from(limit)?;
        }
        if open > MAX_OPEN_SEGMENTS {
            self.seal_full_segments()?;
            (active, _) = look();
        }
        Ok(active)
    }

    fn check(&self, group: &Group<'_>) -> Result<(), LittError> {
        let limit = |what, size: usize, limit: usize| match size > limit {
            true => {
                let (size, limit) = (size as u64, limit as u64);
                Err(LittError::TooLarge { table: self.ctx.name.clone(), what, size, limit })
            }
            false => Ok(()),
        };
        limit("length of the value in bytes", group.value.len(), MAX_VALUE_BYTES)?;
        limit("number of keys in the group", group.secondary.len() + 1, MAX_GROUP_KEYS)?;
        limit("length of a key in bytes", group.key.len(), self.max_key_bytes())?;
        for (key, range) in group.secondary {
            limit("length of a key in bytes", key.len(), self.max_key_bytes())?;
            if range.start > range.end || range.end as usize > group.value.len() {
                let (table, start, end) = (self.ctx.name.clone(), range.start, range.end);
                return Err(LittError::BadRange { table, start, end, len: group.value.len() as u64 });
            }
        }
        if group.number == Some(NO_NUMBER) {
            let (table, limit) = (self.ctx.name.clone(), NO_NUMBER - 1);
            return Err(LittError::TooLarge { table, what: "number of the record", size: NO_NUMBER, limit });
        }
        Ok(())
    }

    /// Whether every key of a group is there with these bytes. A key whose stored bytes are damaged
    /// or collected counts as missing: writing it again heals it.
    fn all_there(&self, keys: &[KeyRange<'_>], ids: &[Id], value: &[u8]) -> Result<bool, LittError> {
        let mut all = true;
        // Few keys are compared with each other.
        let mut seen = (keys.len() > COMPARED_KEYS_MAX).then(HashMap::<&Id, usize, Spread>::default);
        let conflict = |key: &[u8]| LittError::Conflict { table: self.ctx.name.clone(), key: key.to_vec() };
        for (at, ((key, range), id)) in keys.iter().zip(ids).enumerate() {
            let bytes = &value[range.start as usize..range.end as usize];
            let before = match &mut seen {
                Some(seen) => seen.insert(id, at),
                None => ids[..at].iter().rposition(|before| before == id),
            };
            if let Some(before) = before {
                // The key stands twice in the group.
                let range = &keys[before].1;
                if value[range.start as usize..range.end as usize] != *bytes {
                    return Err(conflict(key));
                }
            }
            let hit = match self.find_id(id, false) {
                Ok(Some((lane, hit))) if hit.place().is_some() && !self.is_pruned(&hit) => Some((lane, hit)),
                Ok(_) | Err(LittError::Corrupt { .. }) => None,
                Err(error) => return Err(error),
            };
            let Some((lane, hit)) = hit else {
                all = false;
                continue;
            };
            let len = hit.place().map_or(0, |place| place.len);
            if len as usize != bytes.len() {
                return Err(conflict(key));
            }
            match lane.load(&hit, 0..len) {
                Ok((there, _)) if *there == *bytes => {}
                Ok(_) => return Err(conflict(key)),
                Err(LittError::Corrupt { .. } | LittError::Pruned { .. }) => all = false,
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// The segment for the next record; continues to the next one where it is full.
    fn room(
        &self,
        writer: &mut Writer,
        lane: &Shard,
        keys: u32,
        longest: u64,
    ) -> Result<Arc<OpenSegment>, LittError> {
        let active = lane.state.read().active().clone();
        let summary = active.progress.lock().summary;
        let options = &self.ctx.options;
        let full =
            active.end() + longest > options.segment_bytes || summary.keys + keys > options.segment_keys;
        if summary.records == 0 || !full {
            return Ok(active);
        }
        self.roll(writer, lane)
    }

    /// Seals the open segment and starts the next one.
    pub(crate) fn roll(&self, writer: &mut Writer, lane: &Shard) -> Result<Arc<OpenSegment>, LittError> {
        let index = lane.state.read().active().segment.index() + 1;
        let (segment, file) = {
            let mut next = lane.next.lock();
            match next.take() {
                Some(next) if next.0.index() == index => next,
                _ => self.make_segment(lane.shard, index)?,
            }
        };
        writer.lanes[usize::from(lane.shard)].first = true;
        let encoder = self.ctx.encoder(segment.dictionary.as_deref());
        let start = crate::format::SEGMENT_HEADER as u64;
        let open =
            Arc::new(OpenSegment::new(Arc::new(segment), file, encoder, start, start, &self.ctx.budget));
        let mut state = lane.state.write();
        state.segments.insert(open.segment.clone());
        state.open.push(open.clone());
        state.generation += 1;
        drop(state);
        writer.total_bytes += start;
        Ok(open)
    }

    pub(crate) fn make_segment(
        &self,
        shard: u8,
        index: u32,
    ) -> Result<(segment::Segment, Arc<dyn DiskFile>), LittError> {
        let dictionary = self.ctx.newest_dictionary()?;
        segment::create(&*self.ctx.disk, self.ctx.dir_for(shard, index), shard, index, dictionary)
    }

    #[allow(clippy::too_many_arguments)]
    fn append(
        &self,
        writer: &mut Writer,
        lane: &Shard,
        open: &OpenSegment,
        group: &Group<'_>,
        keys: &[KeyRange<'_>],
        ids: &[Id],
        prepared: &Prepared<'_>,
    ) {
        let several = self.lanes.len() > 1;
        let sequence = writer.sequence;
        let state = &mut writer.lanes[usize::from(lane.shard)];
        let mut head = Head {
            mark: false,
            keys_len: 0,
            value_len: group.value.len() as u64,
            stored_len: (!prepared.raw).then_some(prepared.stored),
            number: group.number,
            synced: (state.synced > state.noted).then_some(state.synced),
            sequence: (several || state.first).then_some(sequence),
        };
        state.first = false;
        state.noted = state.synced;
        let seed = open.segment.seed;
        let encoded = encode_keys(group.key, group.secondary);
        head.keys_len = encoded.len() as u64;
        let mut offsets = Few::<u64>::new();
        let mut sums = Few::<[u8; 4]>::new();
        let (start, frames_at, at, head_crc) = open.append(|start, out| {
            let from = out.len();
            let head_crc = put_head(out, seed, start, &head, &encoded);
            let frames_at = start + (out.len() - from) as u64;
            let mut at = frames_at;
            for (header, stored) in &prepared.frames {
                let header = header.encode(seed, at);
                offsets.push(at);
                sums.push([header[0], header[1], header[2], header[3]]);
                out.extend_from_slice(&header);
                out.extend_from_slice(stored);
                at += (FRAME_HEADER + stored.len()) as u64;
            }
            (start, frames_at, at, head_crc)
        });
        // Without a TTL too: one that is set later counts from when a record was written.
        let age_ms = self.ctx.age().as_millis() as u64;
        {
            let mut progress = open.progress.lock();
            progress.since.get_or_insert_with(|| self.ctx.clock.monotonic());
            progress.digest.update(&head_crc.to_be_bytes());
            sums.iter().for_each(|sum| progress.digest.update(sum));
            let summary = &mut progress.summary;
            summary.end = at;
            summary.records += 1;
            summary.keys += ids.len() as u32;
            summary.count_number(group.number);
            summary.age_ms = summary.age_ms.max(age_ms);
            summary.value_bytes += group.value.len() as u64;
            summary.next_sequence = sequence + 1;
        }
        state.end = position(open.segment.index(), at);
        {
            let (number, raw) = (group.number.unwrap_or(NO_NUMBER), prepared.raw);
            let span = Span { start: frames_at, end: at, frames: &offsets, number, raw };
            let mut index = open.keys.write();
            for (id, (_, range)) in ids.iter().zip(keys) {
                index.insert(*id, span.place(range));
            }
        }
        if let Some(cache) = &self.ctx.write_cache {
            for (at, raw) in offsets.iter().zip(group.value.chunks(FRAME_BYTES)) {
                cache.put((open.segment.uid, *at), Arc::new(raw.to_vec()));
            }
        }
        writer.sequence = sequence + 1;
        writer.total_keys += ids.len() as u64;
        writer.total_bytes += at - start;
        let metrics = &self.ctx.metrics;
        metrics.bytes_written.add(group.value.len() as u64);
        metrics.keys_written.add(ids.len() as u64);
        metrics.key_count.set_unsigned(writer.total_keys);
        metrics.size_bytes.set_unsigned(writer.total_bytes);
    }

    /// Hands everything that was put before the call to the operating system: it survives the death
    /// of the process.
    ///
    /// # Errors
    /// [`LittError::Io`]; what was put stays readable, and the next call tries again.
    pub fn drain(&self) -> Result<(), LittError> {
        for lane in &self.lanes {
            let open = lane.state.read().open.clone();
            open.iter().try_for_each(|open| open.write_out())?;
        }
        Ok(())
    }

    /// Makes everything durable that was put before the call, from any thread. Flushes that wait
    /// share one sync; one that arrives while a sync runs waits for the next.
    ///
    /// # Errors
    /// [`LittError::Io`]: where writing failed, the next flush tries again; where a sync failed,
    /// the table is read-only from then on, because what the system did with the bytes is not
    /// known. [`LittError::ReadOnly`] where that was so before.
    pub fn flush(&self) -> Result<(), LittError> {
        self.ctx.check_writable()?;
        self.gate.flush(|| {
            self.ctx.check_writable()?;
            let metrics = &self.ctx.metrics;
            let start = Instant::now();
            self.sync_lanes()?;
            metrics.segment_flush.record_duration(start.elapsed());
            // Keys lie in the stream of values, and names of files are durable before anything is
            // written to them: what is left to do for keys is to note how far the stream is
            // durable.
            let keys = Instant::now();
            self.note_synced(self.look_synced());
            metrics.keymap_flush.record_duration(keys.elapsed());
            metrics.flush_count.add(1);
            metrics.flush.record_duration(start.elapsed());
            Ok(())
        })
    }

    /// Whether anything was put that is not durable yet. Waits for a sync that runs.
    pub fn has_unsynced(&self) -> bool {
        self.lanes.iter().any(|lane| {
            let open = lane.state.read().open.clone();
            open.iter().any(|open| open.synced() < open.end())
        })
    }

    /// Syncs the open segments of all shards, at the same time where there are several.
    pub(crate) fn sync_lanes(&self) -> Result<(), LittError> {
        let sync = |lane: &Shard| {
            let open = lane.state.read().open.clone();
            open.iter().try_for_each(|open| self.sync_segment(open))
        };
        if let [lane] = &self.lanes[..] {
            return sync(lane);
        }
        std::thread::scope(|scope| {
            let (mut running, mut synced) = (Vec::new(), Ok(()));
            for lane in &self.lanes {
                match std::thread::Builder::new().spawn_scoped(scope, move || sync(lane)) {
                    Ok(one) => running.push(one),
                    // The system gives no thread now.
                    Err(_) => synced = synced.and(sync(lane)),
                }
            }
            let ended = running
                .into_iter()
                .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            ended.fold(synced, |all, one| all.and(one))
        })
    }

    pub(crate) fn sync_segment(&self, open: &OpenSegment) -> Result<(), LittError> {
        open.sync().map_err(|(fatal, error)| {
            if fatal {
                self.ctx.fail(&error);
            }
            error
        })
    }

    /// What is durable of each shard now.
    fn look_synced(&self) -> Synced {
        let cuts = self.writer.lock().cuts;
        let mut positions = Vec::with_capacity(self.lanes.len());
        for lane in &self.lanes {
            let open = lane.state.read().open.clone();
            // The oldest segment with something unsynced bounds what is durable.
            let bound = open.iter().find(|open| open.synced() < open.end()).or(open.last());
            positions.extend(bound.map(|open| position(open.segment.index(), open.synced())));
        }
        Synced { cuts, positions }
    }

    /// Takes what is durable as what the next record of each shard notes.
    fn note_synced(&self, synced: Synced) {
        let mut writer = self.writer.lock();
        // A cut meanwhile took away what these positions say: a record that noted one would have
        // later records, which were never synced, count as durable.
        if writer.cuts != synced.cuts {
            return;
        }
        for (lane, position) in writer.lanes.iter_mut().zip(synced.positions) {
            lane.synced = lane.synced.max(position);
        }
    }

    /// Notes at the end of each shard that all of it is durable, so that the next opening can
    /// distinguish damage from a torn tail. Nothing is written where that is noted already.
    pub(crate) fn close(&self) -> Result<(), LittError> {
        self.flush()?;
        let mut writer = self.writer.lock();
        let mut marked = false;
        for lane in &self.lanes {
            let open = lane.state.read().active().clone();
            let state = &mut writer.lanes[usize::from(lane.shard)];
            if open.progress.lock().summary.records == 0 || state.synced <= state.noted {
                continue;
            }
            let head = Head { mark: true, synced: Some(state.synced), ..Head::default() };
            let crc = open.append(|at, out| put_head(out, open.segment.seed, at, &head, &[]));
            let mut progress = open.progress.lock();
            progress.digest.update(&crc.to_be_bytes());
            progress.summary.end = open.end();
            state.noted = state.synced;
            marked = true;
        }
        drop(writer);
        if marked {
            self.sync_lanes()?;
        }
        if self.ctx.ttl.lock().is_some() {
            self.ctx.update_state(|_| {})?;
        }
        Ok(())
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        if self.ctx.check_writable().is_ok() {
            // Call `flush` before to learn of failures.
            let _ = self.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Littable, StoreOptions, TableOptions};

    #[test]
    fn a_flush_beside_a_cut_notes_nothing_behind_it() {
        let dir = tempfile::TempDir::new().unwrap();
        let store = StoreOptions { background_threads: 0, ..StoreOptions::new(dir.path()) };
        let table = Littable::open(store).unwrap().table(TableOptions::new("t")).unwrap();
        table.put(b"a", b"1").unwrap();
        let to = table.position().unwrap();
        // Longer than the note that a cut leaves.
        table.put(b"b", &[2; 1_000]).unwrap();
        table.flush().unwrap();
        let before = table.look_synced();
        table.truncate(to).unwrap();
        let durable = table.writer.lock().lanes[0].synced;
        assert!(to <= durable && durable < before.positions[0]);
        table.note_synced(before);
        assert_eq!(table.writer.lock().lanes[0].synced, durable);
        // One that begins behind the cut notes what it looked at.
        table.put(b"c", b"3").unwrap();
        table.flush().unwrap();
        let all = table.position().unwrap();
        assert_eq!(table.writer.lock().lanes[0].synced, all);
    }
}
