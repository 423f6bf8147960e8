//! Keys of segments that were read, in memory.

use super::read::Read;
use crate::LittError;
use crate::codec::is_raw;
use crate::ctx::Ctx;
use crate::failpoints::{InjectedBug, has};
use crate::format::{FrameHeader, SEGMENT_HEADER, Summary};
use crate::keymap::KeyMap;
use crate::keys::NO_NUMBER;
use crate::scan::{At, Found, Scanner, Span};
use crate::segment::{OpenSegment, Segment};
use smallvec::SmallVec;
use std::sync::Arc;

/// Bytes that are written again at a time.
const HARDEN_BYTES: usize = 1 << 20;

/// Makes durable what was accepted of a segment. What is read may be in the system's cache only,
/// and a sync that failed in an earlier life has it taken for written: what is not known to be
/// durable is written again before it is synced.
fn harden(read: &Read, synced: u64) -> Result<(), LittError> {
    let path = &read.segment.path;
    let mut at = synced.saturating_sub(read.position(0)).max(SEGMENT_HEADER as u64);
    let mut chunk = vec![0; HARDEN_BYTES.min(read.file_len.saturating_sub(at) as usize)];
    while at < read.file_len {
        let len = chunk.len().min((read.file_len - at) as usize);
        let bytes = &mut chunk[..len];
        read.file.read_exact_at(bytes, at).map_err(|error| read.segment.read_error(at, error))?;
        match read.file.write_all_at(bytes, at) {
            // A copy-on-write file system needs new space for the rewritten bytes, and the disk is
            // full.
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => break,
            written => written.map_err(LittError::io(path))?,
        }
        at += len as u64;
    }
    read.file.sync_data().map_err(LittError::io(path))
}

/// A segment's keys in memory; makes durable what was accepted of it.
pub(super) fn to_open(
    ctx: &Ctx,
    read: &Read,
    next_sequence: u64,
    synced: u64,
) -> Result<OpenSegment, LittError> {
    // Behind a damaged end that is known to have been durable the segment continues: nothing is
    // written over.
    let end = match read.footer {
        None if read.garbage => read.file_len,
        _ => read.end,
    };
    if ctx.may_write() && !has(InjectedBug::UnsyncedTailAccepted) {
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
