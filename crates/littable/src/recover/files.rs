//! Which files a shard has.

use crate::LittError;
use crate::ctx::Ctx;
use crate::doc::{TEMPORARY, remove_if_there};
use crate::format::split_position;
use crate::run::{Run, parse_run_name};
use crate::segment::{Segment, parse_segment_name, segment_name};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) type Files = BTreeMap<u32, PathBuf>;
type RunFiles = Vec<(u32, u32, PathBuf)>;

/// The shard's files. Removes what a death left behind: temporary files, and segments that were
/// collected.
pub(super) fn list(ctx: &Ctx, shard: u8) -> Result<(Files, RunFiles), LittError> {
    let (mut files, mut runs) = (Files::new(), RunFiles::new());
    let gone = ctx.state.lock().clone();
    for dir in &ctx.dirs {
        for entry in ctx.disk.list(dir).map_err(LittError::io(dir))? {
            let Some(name) = entry.name.to_str() else { continue };
            let path = dir.join(name);
            if name.ends_with(TEMPORARY) && ctx.may_write() {
                remove_if_there(&*ctx.disk, &path)?;
            }
            if let Some((of, index)) = parse_segment_name(name)
                && of == shard
            {
                if gone.is_gone(shard, index) {
                    if ctx.may_write() {
                        remove_if_there(&*ctx.disk, &path)?;
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

/// Refuses a shard in which a segment is neither there nor collected, with others or their index
/// behind it.
pub(super) fn check_gaps(ctx: &Ctx, shard: u8, files: &Files, runs: &[Arc<Run>]) -> Result<(), LittError> {
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

/// Opens the runs, the newest first, without those that a merge replaced and those that are
/// damaged.
pub(super) fn open_runs(ctx: &Ctx, shard: u8, mut files: RunFiles) -> Result<Vec<Arc<Run>>, LittError> {
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
            None => remove_if_there(&*ctx.disk, &path)?,
        }
    }
    runs.reverse();
    Ok(runs)
}

/// Removes a segment's file, durably: from the back, so that a death in between leaves no gap.
pub(super) fn remove_segment(ctx: &Ctx, segment: &Segment) -> Result<(), LittError> {
    remove_file(ctx, &segment.path)
}

pub(super) fn remove_file(ctx: &Ctx, path: &Path) -> Result<(), LittError> {
    remove_if_there(&*ctx.disk, path)?;
    let dir = path.parent().unwrap_or(&ctx.home);
    ctx.disk.sync_dir(dir).map_err(LittError::io(dir))
}
