//! Opening a shard: which files there are, which of their bytes count.
//!
//! Sealed segments have a run, or at least a footer: they were durable as a whole before that was written. What follows
//! them is read. Each record may note up to where the shard was durable when it was made; with the highest such note
//! known, whatever fails its checksum below it is damage, which is kept and reported, and the first that fails above it is
//! where the power went: that and everything behind it is cut off.

use crate::LittError;
use crate::codec::is_raw;
use crate::ctx::Ctx;
use crate::doc::TEMPORARY;
use crate::format::{FOOTER_BYTES, FrameHeader, SEGMENT_HEADER, Summary, position, split_position};
use crate::keymap::KeyMap;
use crate::keys::NO_NUMBER;
use crate::lane::LaneState;
use crate::planted::{Planted, has};
use crate::run::{Run, parse_run_name};
use crate::scan::{At, Found, Frames, Scanner, Span};
use crate::segment::{OpenSegment, Segment, parse_segment_name, read_header, segment_name};
use crate::upkeep::write_run;
use hearth_disk::{DiskFile, OpenMode};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that are written again at a time.
const HARDEN_BYTES: usize = 1 << 20;

/// What opening a shard found.
pub(crate) struct Loaded {
    pub state: LaneState,
    pub synced: u64,
    pub noted: u64,
    pub last_group_end: u64,
    pub next_sequence: u64,
    pub active_is_empty: bool,
}

/// A segment without a run, as read.
struct Read {
    segment: Arc<Segment>,
    file: Arc<dyn DiskFile>,
    file_len: u64,
    footer: Option<Summary>,
    records: Vec<(Found, Frames)>,
    /// Offsets of stretches that are no records, and have records behind them.
    holes: Vec<u64>,
    /// Offset behind the last record.
    end: u64,
    /// Whether what follows the last record and is no footer reaches to the end of the file.
    garbage: bool,
}

impl Read {
    fn position(&self, offset: u64) -> u64 {
        position(self.segment.index(), offset)
    }

    /// Highest note of what was durable.
    fn noted(&self) -> u64 {
        let notes = self.records.iter().filter_map(|(found, _)| found.head.synced).max().unwrap_or(0);
        notes.max(self.footer.map_or(0, |footer| self.position(footer.end)))
    }
}

/// Loads a shard.
pub(crate) fn load(ctx: &Arc<Ctx>, shard: u8) -> Result<Loaded, LittError> {
    let (files, runs) = list(ctx, shard)?;
    let mut state = LaneState { runs: Arc::new(open_runs(ctx, shard, runs)?), ..LaneState::default() };
    check_gaps(ctx, shard, &files, &state.runs)?;
    for run in state.runs.iter() {
        for covered in &run.covered {
            let index = covered.header.index;
            let Some(path) = files.get(&index) else { continue };
            let dictionary = match ctx.dictionary(covered.header.dictionary) {
                // Its frames cannot be read then, and say so; the rest can.
                Err(LittError::Corrupt { .. }) => None,
                dictionary => dictionary?,
            };
            let segment = Segment::new(covered.header, path.clone(), dictionary);
            state.segments.insert(Arc::new(segment));
        }
    }
    let mut open = Vec::new();
    let last = files.keys().next_back().copied();
    for (index, path) in &files {
        if state.segments.has(*index) {
            continue;
        }
        match read(ctx, *index, path, Some(*index) == last)? {
            // One at a time, where all before it are settled: there may be many, when indexes are lost.
            Some(read) if read.footer.is_some() && open.is_empty() && ctx.may_write() => {
                match index_sealed(ctx, shard, &mut state, &read) {
                    Err(error) if error.is_full() => open.push(read),
                    indexed => indexed?,
                }
            }
            read => open.extend(read),
        }
    }
    // Segments below an indexed one lost their run: they were sealed, and are as durable as it is.
    let sealed_below = state.segments.last().map_or(0, |index| position(index, 0));
    let synced = open.iter().map(Read::noted).max().unwrap_or(0).max(sealed_below);
    let previous = state.sealed().max_by_key(|(s, _)| s.index()).map(|(s, c)| (s.index(), c.summary));
    cut_torn(ctx, &mut open, synced, previous)?;
    finish(ctx, shard, state, open, synced, previous)
}

type Files = BTreeMap<u32, PathBuf>;
type RunFiles = Vec<(u32, u32, PathBuf)>;

/// The shard's files. Removes what a death left behind: temporary files, and segments that were collected.
fn list(ctx: &Ctx, shard: u8) -> Result<(Files, RunFiles), LittError> {
    let (mut files, mut runs) = (Files::new(), RunFiles::new());
    let gone = ctx.state.lock().clone();
    for dir in &ctx.dirs {
        for entry in ctx.disk.list(dir).map_err(LittError::io(dir))? {
            let Some(name) = entry.name.to_str() else { continue };
            let path = dir.join(name);
            if name.ends_with(TEMPORARY) && ctx.may_write() {
                crate::doc::remove_if_there(&*ctx.disk, &path)?;
            }
            if let Some((of, index)) = parse_segment_name(name)
                && of == shard
            {
                if gone.is_gone(shard, index) {
                    if ctx.may_write() {
                        crate::doc::remove_if_there(&*ctx.disk, &path)?;
                    }
                } else if files.insert(index, path.clone()).is_some() {
                    return Err(LittError::corrupt(&path, 0, "segment lies in two roots"));
                }
            }
            if let Some((of, first, last)) = parse_run_name(name)
                && of == shard
            {
                runs.push((first, last, path));
            }
        }
    }
    if let Some(cutting) = gone.cutting {
        // It is being cut, and nothing may be changed: what is behind counts as gone.
        let (index, _) = split_position(cutting.to);
        files.retain(|of, _| *of <= index);
        runs.retain(|(_, last, _)| *last < index);
    }
    Ok((files, runs))
}

/// Refuses a shard in which a segment is neither there nor collected, with others or their index behind it.
fn check_gaps(ctx: &Ctx, shard: u8, files: &Files, runs: &[Arc<Run>]) -> Result<(), LittError> {
    let state = ctx.state.lock();
    let there = files.keys().next_back().copied().into_iter().chain(runs.iter().map(|run| run.last));
    let missing = |index: &u32| !files.contains_key(index) && !state.is_gone(shard, *index);
    match (0..there.max().map_or(0, |highest| highest + 1)).find(missing) {
        Some(index) => {
            let path = ctx.dir_for(shard, index).join(segment_name(shard, index));
            Err(LittError::corrupt(&path, 0, "segment is missing"))
        }
        None => Ok(()),
    }
}

/// Opens the runs, the newest first, without those that a merge replaced and those that are damaged.
fn open_runs(ctx: &Ctx, shard: u8, mut files: RunFiles) -> Result<Vec<Arc<Run>>, LittError> {
    files.sort_by_key(|(first, last, _)| (*first, u32::MAX - last));
    let mut runs: Vec<Arc<Run>> = Vec::new();
    let state = ctx.state.lock().clone();
    for (first, _, path) in files {
        let run = match runs.last() {
            // It lies in the one before.
            Some(before) if first <= before.last => None,
            _ => match Run::open(&*ctx.disk, &path, shard, &ctx.budget, 0) {
                // A merge beside a read-only store.
                Err(error) if error.is_not_found() => None,
                // One from before a cut may come back where its removal was not durable.
                run => run?.filter(|run| state.believes(run.made_after, run.last)),
            },
        };
        match run {
            Some(run) => runs.push(Arc::new(run)),
            None if !ctx.may_write() => {}
            None => crate::doc::remove_if_there(&*ctx.disk, &path)?,
        }
    }
    runs.reverse();
    Ok(runs)
}

/// Reads a segment that has no run. `None` for a file that a death left while it was made.
fn read(ctx: &Ctx, index: u32, path: &Path, last: bool) -> Result<Option<Read>, LittError> {
    let mode = if ctx.may_write() { OpenMode::ReadWrite } else { OpenMode::Read };
    let Some((header, file)) = read_header(&*ctx.disk, path, mode)? else {
        if !last {
            return Err(LittError::corrupt(path, 0, "segment header"));
        }
        if ctx.may_write() {
            remove_file(ctx, path)?;
        }
        return Ok(None);
    };
    if header.index != index {
        return Err(LittError::corrupt(path, 0, "segment header of another segment"));
    }
    let segment = Arc::new(Segment::new(header, path.to_owned(), ctx.dictionary(header.dictionary)?));
    let mut file_len = file.len().map_err(LittError::io(path))?;
    if let Some((of, offset)) = ctx.state.lock().cutting.map(|cutting| split_position(cutting.to))
        && of == index
    {
        file_len = file_len.min(offset.max(SEGMENT_HEADER as u64));
    }
    let footer = read_footer(&segment, &*file, file_len)?;
    let end = footer.map_or(file_len, |footer| footer.end);
    let mut scanner = Scanner::new(&segment, file.clone(), end);
    let (mut records, mut holes) = (Vec::new(), Vec::new());
    let mut at = Scanner::START;
    let mut garbage = false;
    while at < end {
        let found = match scanner.record_at(at)? {
            At::Record(found) => found,
            At::Bad => match scanner.resync(at + 1)? {
                Some(found) => {
                    holes.push(at);
                    found
                }
                None => {
                    garbage = true;
                    break;
                }
            },
        };
        at = found.end;
        let frames = scanner.frames(&found, false)?;
        records.push((found, frames));
    }
    Ok(Some(Read { segment, file, file_len, footer, records, holes, end: at, garbage }))
}

fn read_footer(segment: &Segment, file: &dyn DiskFile, len: u64) -> Result<Option<Summary>, LittError> {
    let Some(at) = len.checked_sub(FOOTER_BYTES as u64).filter(|at| *at >= SEGMENT_HEADER as u64) else {
        return Ok(None);
    };
    let mut bytes = [0; FOOTER_BYTES];
    file.read_exact_at(&mut bytes, at).map_err(|error| segment.read_error(at, error))?;
    Ok(Summary::decode_footer(&bytes, segment.seed, at))
}

/// Cuts off what the power took: the first bad place above what is known to be durable, and all behind it.
fn cut_torn(
    ctx: &Ctx,
    open: &mut Vec<Read>,
    synced: u64,
    previous: Option<(u32, Summary)>,
) -> Result<(), LittError> {
    let one_shard = ctx.options.shards == 1;
    // The next segment and the number of its first record. The very first one begins with 0.
    let very_first = open.first().is_some_and(|read| read.segment.index() == 0).then_some((0, 0));
    let mut expected = previous.map(|(index, summary)| (index + 1, summary.next_sequence)).or(very_first);
    let (mut torn, mut lost, mut footless) = (None, Vec::new(), Vec::new());
    for (number, read) in open.iter().enumerate() {
        let sequence = read.records.first().and_then(|(found, _)| found.head.sequence);
        // With one shard records are numbered without gaps: here the end of the segment before is missing.
        if let (true, Some((index, next)), Some(first)) = (one_shard, expected, sequence)
            && index == read.segment.index()
            && first != next
        {
            if read.position(0) >= synced {
                torn = Some((number, Scanner::START));
                break;
            }
            lost.push(number);
        }
        let bad = torn_at(read, synced)?;
        let groups = read.records.iter().filter(|(found, _)| !found.head.mark).count() as u64;
        let behind = match (read.footer, sequence) {
            (Some(footer), _) => Some(footer.next_sequence),
            (None, Some(first)) => Some(first + groups),
            // An empty segment goes on where the one before ended.
            (None, None) => expected.map(|(_, next)| next),
        };
        expected = behind.map(|next| (read.segment.index() + 1, next));
        let next = open.get(number + 1).and_then(|next| next.records.first());
        let goes_on = next.is_some_and(|(found, _)| {
            !one_shard || found.head.sequence.is_some() && found.head.sequence == behind
        });
        // A footer that was not written whole, by a power cut or on a full disk: no record is missing before those that
        // follow, and those may be durable. With several shards only its length tells it from a damaged record.
        let like_a_footer = read.file_len.saturating_sub(read.end) <= FOOTER_BYTES as u64;
        if read.garbage
            && goes_on
            && bad.is_none_or(|at| at == read.end)
            && (one_shard || bad.is_some() || like_a_footer)
        {
            footless.push(number);
        } else if let Some(at) = bad {
            torn = Some((number, at));
            break;
        }
    }
    for number in footless {
        cut_off(ctx, &mut open[number])?;
    }
    lost.into_iter().for_each(|number| open[number].holes.push(Scanner::START));
    let Some((number, at)) = torn else { return Ok(()) };
    let behind = open.split_off(number + 1);
    let read = &mut open[number];
    read.records.retain(|(found, _)| found.end <= at);
    read.holes.retain(|hole| *hole < at);
    (read.end, read.footer) = (at, None);
    if ctx.may_write() {
        behind.iter().rev().try_for_each(|read| remove_segment(ctx, &read.segment))?;
    }
    cut_off(ctx, read)
}

/// Cuts a segment off behind its last record.
fn cut_off(ctx: &Ctx, read: &mut Read) -> Result<(), LittError> {
    read.garbage = false;
    if ctx.may_write() {
        let path = &read.segment.path;
        read.file.set_len(read.end).and_then(|()| read.file.sync_data()).map_err(LittError::io(path))?;
        read.file_len = read.end;
    }
    Ok(())
}

/// Offset of a segment's first bad place at or above what is durable.
fn torn_at(read: &Read, synced: u64) -> Result<Option<u64>, LittError> {
    if read.footer.is_some() {
        return Ok(None);
    }
    let above = |offset: u64| read.position(offset) >= synced;
    let mut bad = read.holes.iter().copied().filter(|hole| above(*hole)).min();
    let mut scanner = Scanner::new(&read.segment, read.file.clone(), read.file_len);
    for (found, frames) in &read.records {
        if bad.is_some_and(|bad| found.start > bad) {
            break;
        }
        if above(found.start) && (frames.is_err() || scanner.frames(found, true)?.is_err()) {
            bad = Some(found.start);
        }
    }
    let tail = (read.garbage && above(read.end)).then_some(read.end);
    Ok(bad.or(tail))
}

/// Makes the key index of a segment that has its footer, and so was durable as a whole, and notes what is damaged in it.
fn index_sealed(ctx: &Ctx, shard: u8, state: &mut LaneState, read: &Read) -> Result<(), LittError> {
    let Some(footer) = read.footer else { return Ok(()) };
    let open = to_open(ctx, read, footer.next_sequence, read.position(footer.end))?;
    let run = write_run(ctx, shard, &open)?;
    note_damage(state, read);
    state.segments.insert(open.segment);
    add_run(state, run);
    Ok(())
}

fn add_run(state: &mut LaneState, run: Run) {
    let runs = Arc::make_mut(&mut state.runs);
    let at = runs.partition_point(|other| other.first > run.first);
    runs.insert(at, Arc::new(run));
}

/// Notes the first place where records of a segment are lost.
fn note_damage(state: &mut LaneState, read: &Read) {
    if let Some(hole) = read.holes.first().copied().or(read.garbage.then_some(read.end)) {
        state.damaged.get_or_insert_with(|| read.segment.corrupt(hole, "records lost"));
    }
}

/// Drops segments at the end that hold nothing. A record proves that the header and the name of its segment are durable,
/// because they were before it was written; without one they may be there and not be durable, after a death or a sync
/// that failed. Such a segment is made again.
fn drop_empty(
    ctx: &Ctx,
    open: &mut Vec<Read>,
    synced: u64,
    previous: Option<(u32, Summary)>,
) -> Result<(), LittError> {
    let is_empty = |read: &Read| {
        read.records.is_empty()
            && read.holes.is_empty()
            && !read.garbage
            && read.footer.is_none()
            && read.position(0) >= synced
            && previous.is_none_or(|(index, _)| index < read.segment.index())
    };
    while let Some(read) = open.pop_if(|read| is_empty(read)) {
        if ctx.may_write() {
            remove_segment(ctx, &read.segment)?;
        }
    }
    Ok(())
}

/// Removes a segment's file, durably: from the back, so that a death in between leaves no gap.
fn remove_segment(ctx: &Ctx, segment: &Segment) -> Result<(), LittError> {
    remove_file(ctx, &segment.path)
}

fn remove_file(ctx: &Ctx, path: &Path) -> Result<(), LittError> {
    crate::doc::remove_if_there(&*ctx.disk, path)?;
    let dir = path.parent().unwrap_or(&ctx.home);
    ctx.disk.sync_dir(dir).map_err(LittError::io(dir))
}

fn finish(
    ctx: &Arc<Ctx>,
    shard: u8,
    mut state: LaneState,
    mut open: Vec<Read>,
    synced: u64,
    previous: Option<(u32, Summary)>,
) -> Result<Loaded, LittError> {
    let highest_sealed = previous.map_or(0, |(index, _)| index);
    let mut last_group_end = previous.map_or(0, |(index, summary)| position(index, summary.end));
    let mut next_sequence = previous.map_or(0, |(_, summary)| summary.next_sequence);
    let mut noted = synced;
    drop_empty(ctx, &mut open, synced, previous)?;
    for read in open {
        let index = read.segment.index();
        note_damage(&mut state, &read);
        let groups = read.records.iter().filter(|(found, _)| !found.head.mark);
        if let Some((found, _)) = groups.clone().next_back() {
            last_group_end = last_group_end.max(position(index, found.end));
        }
        let sequences = read.records.iter().filter_map(|(found, _)| found.head.sequence).max();
        let first = read.records.first().and_then(|(found, _)| found.head.sequence);
        next_sequence = next_sequence
            .max(sequences.map_or(0, |s| s + 1))
            .max(first.map_or(0, |first| first + groups.clone().count() as u64))
            .max(read.footer.map_or(0, |footer| footer.next_sequence));
        noted = noted.max(read.noted());
        // A note at the very end stands for itself too: nothing has come since.
        if let Some((found, _)) = read.records.last()
            && found.head.mark
            && found.head.synced == Some(position(index, found.start))
        {
            noted = noted.max(position(index, found.end));
        }
        let open = to_open(ctx, &read, next_sequence, synced)?;
        state.segments.insert(open.segment.clone());
        // A sealed one that only lacks its run gets it at once, unless nothing may be written.
        let sealed = read.footer.is_some() || index < highest_sealed;
        if sealed && ctx.may_write() {
            match write_run(ctx, shard, &open) {
                // Its keys stay in memory until there is space.
                Err(error) if error.is_full() => {}
                run => {
                    add_run(&mut state, run?);
                    continue;
                }
            }
        }
        state.open.push(Arc::new(open));
    }
    // A sealed one whose run could not be written takes nothing more.
    let takes_more = |open: &Arc<OpenSegment>| {
        !open.progress.lock().sealed && previous.is_none_or(|(index, _)| index < open.segment.index())
    };
    if !state.open.last().is_some_and(takes_more) {
        let behind = state.segments.last().map_or(0, |index| index + 1);
        let index = behind.max(ctx.state.lock().behind_gone(shard));
        if !ctx.may_write() {
            // Nothing is written to it; it stands for what a writer may have begun meanwhile.
            let header = crate::format::SegmentHeader { shard, index, salt: [0; 16], dictionary: 0 };
            let segment = Arc::new(Segment::new(header, ctx.home.join(segment_name(shard, index)), None));
            state.open.push(Arc::new(OpenSegment::new(
                segment,
                Arc::new(NoFile),
                ctx.encoder(None),
                0,
                0,
                &ctx.budget,
            )));
        } else {
            let dictionary = ctx.newest_dictionary()?;
            let dir = ctx.dir_for(shard, index);
            let (segment, file) = crate::segment::create(&*ctx.disk, dir, shard, index, dictionary)?;
            let encoder = ctx.encoder(segment.dictionary.as_deref());
            let start = SEGMENT_HEADER as u64;
            let open = OpenSegment::new(Arc::new(segment), file, encoder, start, start, &ctx.budget);
            state.segments.insert(open.segment.clone());
            state.open.push(Arc::new(open));
        }
    }
    let active = state.active();
    let synced = position(active.segment.index(), active.end());
    let active_is_empty = active.progress.lock().summary.records == 0;
    Ok(Loaded { synced, noted: noted.min(synced), last_group_end, next_sequence, active_is_empty, state })
}

/// Makes durable what was accepted of a segment. What is read may be in the system's cache only, and a sync that failed
/// in an earlier life has it taken for written: what is not known to be durable is written again before it is synced.
fn harden(read: &Read, synced: u64) -> Result<(), LittError> {
    let path = &read.segment.path;
    let mut at = synced.saturating_sub(read.position(0)).max(SEGMENT_HEADER as u64);
    let mut chunk = vec![0; HARDEN_BYTES.min(read.file_len.saturating_sub(at) as usize)];
    while at < read.file_len {
        let len = chunk.len().min((read.file_len - at) as usize);
        let bytes = &mut chunk[..len];
        read.file.read_exact_at(bytes, at).map_err(|error| read.segment.read_error(at, error))?;
        match read.file.write_all_at(bytes, at) {
            // A file system that takes new space for old bytes, and has none.
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => break,
            written => written.map_err(LittError::io(path))?,
        }
        at += len as u64;
    }
    read.file.sync_data().map_err(LittError::io(path))
}

/// A segment's keys in memory; makes durable what was accepted of it.
fn to_open(ctx: &Ctx, read: &Read, next_sequence: u64, synced: u64) -> Result<OpenSegment, LittError> {
    // Behind a damaged end that is known to have been durable the segment goes on: nothing is written over.
    let end = match read.footer {
        None if read.garbage => read.file_len,
        _ => read.end,
    };
    if ctx.may_write() && !has(Planted::UnsyncedTailAccepted) {
        harden(read, synced)?;
    }
    let encoder = ctx.encoder(read.segment.dictionary.as_deref());
    let open = OpenSegment::new(read.segment.clone(), read.file.clone(), encoder, end, end, &ctx.budget);
    {
        let mut progress = open.progress.lock();
        progress.digest_known = read.records.is_empty();
        let age_ms = ctx.age().as_millis() as u64;
        let mut summary = Summary { end, age_ms, next_sequence, ..Summary::default() };
        let mut keys = open.keys.write();
        for (found, frames) in read.records.iter().filter(|(found, _)| !found.head.mark) {
            summary.records += 1;
            summary.keys += found.keys.len() as u32;
            summary.value_bytes += found.head.value_len;
            summary.count_number(found.head.number);
            let none = Vec::new();
            insert_keys(ctx, &mut keys, found, frames.as_ref().unwrap_or(&none));
        }
        if summary.records > 0 {
            progress.since = Some(ctx.clock.monotonic());
        }
        progress.summary = read.footer.unwrap_or(summary);
        progress.sealed = read.footer.is_some();
    }
    Ok(open)
}

/// Takes the keys of a record in, with where they lie.
fn insert_keys(ctx: &Ctx, keys: &mut KeyMap, found: &Found, frames: &[(u64, FrameHeader)]) {
    let raw = found.head.stored_len.is_none() || frames.iter().all(|(_, header)| is_raw(header.codec));
    let frames_at: SmallVec<[u64; 1]> = frames.iter().map(|(at, _)| *at).collect();
    let number = found.head.number.unwrap_or(NO_NUMBER);
    let span = Span { start: found.frames_at, end: found.end, frames: &frames_at, number, raw };
    for (key, range) in &found.keys {
        keys.insert(ctx.id(key), span.place(range));
    }
}

/// Reads the keys of a sealed segment again, whose run is damaged.
pub(crate) fn reread(ctx: &Ctx, segment: &Arc<Segment>, summary: Summary) -> Result<OpenSegment, LittError> {
    let file = ctx.handles.get(segment.uid, &segment.path)?;
    let open = OpenSegment::new(
        segment.clone(),
        file.clone(),
        ctx.encoder(None),
        summary.end,
        summary.end,
        &ctx.budget,
    );
    let mut scanner = Scanner::new(segment, file, summary.end);
    let mut at = Scanner::START;
    {
        let mut keys = open.keys.write();
        while at < summary.end {
            let found = match scanner.record_at(at)? {
                At::Record(found) => found,
                At::Bad => match scanner.resync(at + 1)? {
                    Some(found) => found,
                    None => break,
                },
            };
            at = found.end;
            if !found.head.mark {
                let frames = scanner.frames(&found, false)?.unwrap_or_default();
                insert_keys(ctx, &mut keys, &found, &frames);
            }
        }
    }
    let mut progress = open.progress.lock();
    (progress.summary, progress.sealed) = (summary, true);
    drop(progress);
    Ok(open)
}

/// Stands in for the file of a segment that does not exist.
#[derive(Debug)]
struct NoFile;

impl DiskFile for NoFile {
    fn read_at(&self, _: &mut [u8], _: u64) -> std::io::Result<usize> {
        Ok(0)
    }
    fn write_at(&self, _: &[u8], _: u64) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::ReadOnlyFilesystem.into())
    }
    fn sync_data(&self) -> std::io::Result<()> {
        Ok(())
    }
    fn sync_all(&self) -> std::io::Result<()> {
        Ok(())
    }
    fn set_len(&self, _: u64) -> std::io::Result<()> {
        Err(std::io::ErrorKind::ReadOnlyFilesystem.into())
    }
    fn len(&self) -> std::io::Result<u64> {
        Ok(0)
    }
}
