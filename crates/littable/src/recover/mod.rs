//! Opening a shard: which files there are, which of their bytes count.
//!
//! Sealed segments have a run, or at least a footer: they were durable as a whole before that was
//! written. What follows them is read. Each record may note up to where the shard was durable when
//! it was made; with the highest such note known, whatever fails its checksum below it is damage,
//! which is kept and reported, and the first that fails above it is where the power went: that and
//! everything behind it is cut off.

mod files;
mod read;
mod take_in;
mod torn;

pub(crate) use take_in::reread;

use crate::LittError;
use crate::ctx::Ctx;
use crate::format::{SEGMENT_HEADER, Summary, position};
use crate::run::Run;
use crate::run_write::write_run;
use crate::segment::{OpenSegment, Segment, segment_name};
use crate::shard::ShardState;
use files::{check_gaps, list, open_runs};
use hearth_disk::DiskFile;
use read::{Read, read};
use std::sync::Arc;
use take_in::to_open;
use torn::{cut_torn, drop_empty};

/// What opening a shard found.
pub(crate) struct Loaded {
    pub state: ShardState,
    pub synced: u64,
    pub noted: u64,
    pub last_group_end: u64,
    pub next_sequence: u64,
    pub active_is_empty: bool,
}

/// Times that a shard is loaded where a writer may have removed files meanwhile.
const READ_TRIES: usize = 3;

/// Loads a shard. Beside a writer that merges or collects, state and folder may not fit together:
/// then both are read again.
pub(crate) fn load(ctx: &Arc<Ctx>, shard: u8) -> Result<Loaded, LittError> {
    let mut tries = if ctx.read_only { READ_TRIES } else { 1 };
    loop {
        tries -= 1;
        match load_once(ctx, shard) {
            Err(error)
                if tries > 0 && (error.is_not_found() || matches!(error, LittError::Corrupt { .. })) =>
            {
                ctx.reread_state()?;
            }
            loaded => return loaded,
        }
    }
}

fn load_once(ctx: &Arc<Ctx>, shard: u8) -> Result<Loaded, LittError> {
    let (files, runs) = list(ctx, shard)?;
    let mut state = ShardState { runs: Arc::new(open_runs(ctx, shard, runs)?), ..ShardState::default() };
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
            // One at a time, where all before it are settled: there may be many, when indexes are
            // lost.
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

/// Makes the key index of a segment that has its footer, and so was durable as a whole, and notes
/// what is damaged in it.
fn index_sealed(ctx: &Ctx, shard: u8, state: &mut ShardState, read: &Read) -> Result<(), LittError> {
    let Some(footer) = read.footer else { return Ok(()) };
    let open = to_open(ctx, read, footer.next_sequence, read.position(footer.end))?;
    let run = write_run(ctx, shard, &open)?;
    note_damage(state, read);
    state.segments.insert(open.segment);
    add_run(state, run);
    Ok(())
}

fn add_run(state: &mut ShardState, run: Run) {
    let runs = Arc::make_mut(&mut state.runs);
    let at = runs.partition_point(|other| other.first > run.first);
    runs.insert(at, Arc::new(run));
}

/// Notes the first place where records of a segment are lost.
fn note_damage(state: &mut ShardState, read: &Read) {
    if let Some(hole) = read.holes.first().copied().or(read.garbage.then_some(read.end)) {
        state.damaged.get_or_insert_with(|| read.segment.corrupt(hole, "records lost"));
    }
}

/// Takes in what was read, seals what was sealed, and has a segment to write to.
fn finish(
    ctx: &Arc<Ctx>,
    shard: u8,
    mut state: ShardState,
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
    ensure_active(ctx, shard, &mut state, previous)?;
    let active = state.active();
    let synced = position(active.segment.index(), active.end());
    let active_is_empty = active.progress.lock().summary.records == 0;
    Ok(Loaded { synced, noted: noted.min(synced), last_group_end, next_sequence, active_is_empty, state })
}

/// Has a segment at the end that takes what is put.
fn ensure_active(
    ctx: &Arc<Ctx>,
    shard: u8,
    state: &mut ShardState,
    previous: Option<(u32, Summary)>,
) -> Result<(), LittError> {
    // A sealed one whose run could not be written takes nothing more.
    let takes_more = |open: &Arc<OpenSegment>| {
        !open.progress.lock().sealed && previous.is_none_or(|(index, _)| index < open.segment.index())
    };
    if state.open.last().is_some_and(takes_more) {
        return Ok(());
    }
    let behind = state.segments.last().map_or(0, |index| index + 1);
    let index = behind.max(ctx.state.lock().behind_gone(shard));
    if !ctx.may_write() {
        // Nothing is written to it; it stands for what a writer may have begun meanwhile.
        let header = crate::format::SegmentHeader { shard, index, salt: [0; 16], dictionary: 0 };
        let segment = Arc::new(Segment::new(header, ctx.home.join(segment_name(shard, index)), None));
        let open = OpenSegment::new(segment, Arc::new(NoFile), ctx.encoder(None), 0, 0, &ctx.budget);
        state.open.push(Arc::new(open));
        return Ok(());
    }
    let dictionary = ctx.newest_dictionary()?;
    let dir = ctx.dir_for(shard, index);
    let (segment, file) = crate::segment::create(&*ctx.disk, dir, shard, index, dictionary)?;
    let encoder = ctx.encoder(segment.dictionary.as_deref());
    let start = SEGMENT_HEADER as u64;
    let open = OpenSegment::new(Arc::new(segment), file, encoder, start, start, &ctx.budget);
    state.segments.insert(open.segment.clone());
    state.open.push(Arc::new(open));
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Group, Littable, StoreOptions, TableOptions};

    #[test]
    fn a_collection_beside_a_reader_leaves_no_gap() {
        let dir = tempfile::TempDir::new().unwrap();
        let store = || StoreOptions { background_threads: 0, ..StoreOptions::new(dir.path()) };
        let options = || TableOptions { segment_keys: 10, ..TableOptions::new("t") };
        let writer = Littable::open(store()).unwrap().table(options()).unwrap();
        for n in 0..30_u64 {
            writer.put_group(&Group { number: Some(n), ..Group::new(&n.to_be_bytes(), b"v") }).unwrap();
        }
        writer.seal().unwrap();
        let reader = Littable::open_read_only(store()).unwrap().table(options()).unwrap();
        writer.set_floor(20).unwrap();
        assert_eq!(writer.collect().unwrap(), 2);
        // By the state that the reader has, two segments are missing.
        assert!(load_once(&reader.ctx, 0).is_err_and(|error| matches!(error, LittError::Corrupt { .. })));
        let loaded = load(&reader.ctx, 0).unwrap();
        assert_eq!((loaded.state.sealed().count(), reader.ctx.floor()), (1, 20));
    }
}
