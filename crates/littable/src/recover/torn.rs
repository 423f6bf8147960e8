//! Torn tails: what the power took of a shard's end.

use super::files::remove_segment;
use super::read::Read;
use crate::LittError;
use crate::ctx::Ctx;
use crate::format::{FOOTER_BYTES, Summary};
use crate::scan::Scanner;

/// Cuts off what the power took: the first bad place above what is known to be durable, and all
/// behind it.
pub(super) fn cut_torn(
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
        // With one shard records are numbered without gaps: here the end of the segment before is
        // missing.
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
            // An empty segment continues where the one before ended.
            (None, None) => expected.map(|(_, next)| next),
        };
        expected = behind.map(|next| (read.segment.index() + 1, next));
        let next = open.get(number + 1).and_then(|next| next.records.first());
        let goes_on = next.is_some_and(|(found, _)| {
            !one_shard || found.head.sequence.is_some() && found.head.sequence == behind
        });
        // A footer that was not written whole, by a power cut or on a full disk: no record is
        // missing before those that follow, and those may be durable. With several shards only its
        // length distinguishes it from a damaged record.
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

/// Drops segments at the end that hold nothing. A record proves that the header and the name of its
/// segment are durable, because they were before it was written; without one they may be there and
/// not be durable, after a death or a sync that failed. Such a segment is made again.
pub(super) fn drop_empty(
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
