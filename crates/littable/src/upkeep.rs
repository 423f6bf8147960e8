//! Work behind the scenes: making segments ahead, sealing full ones, merging runs.

use crate::LittError;
use crate::codec::{Dictionary, SAMPLE_BYTES};
use crate::ctx::Ctx;
use crate::doc;
use crate::format::{FOOTER_BYTES, FRAME_BYTES, Summary};
use crate::keys::Id;
use crate::run::{CoveredSegment, Entry, MAX_RUN_SEGMENTS, Run, run_name};
use crate::run_write::{RunWriter, write_run};
use crate::scan::{At, Scanner};
use crate::segment::OpenSegment;
use crate::shard::{Shard, ShardState};
use crate::table::Table;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Runs of one size that are merged into one.
const FAN_IN: usize = 8;
/// Runs that may stay when there is nothing else to do.
const IDLE_RUNS: usize = 4;

/// Reads a segment from its first record and computes the digest of all checksums.
pub(crate) fn digest(open: &OpenSegment, end: u64) -> Result<u32, LittError> {
    let mut scanner = Scanner::new(&open.segment, open.file.clone(), end);
    let mut digest = crc32fast::Hasher::new();
    let mut at = Scanner::START;
    while at < end {
        let found = match scanner.record_at(at)? {
            At::Record(found) => found,
            // Damage that was noted at the opening; the digest covers what can be read.
            At::Bad => match scanner.resync(at + 1)? {
                Some(found) => found,
                None => break,
            },
        };
        at = found.end;
        digest.update(&found.head_crc.to_be_bytes());
        if let Ok(frames) = scanner.frames(&found, false)? {
            for (at, header) in frames {
                digest.update(&header.encode(open.segment.seed, at)[..4]);
            }
        }
    }
    Ok(digest.finalize())
}

/// Which of the runs (the newest first, by number of entries) to merge next: a range of them.
fn plan(sizes: &[u64], idle: bool) -> Option<std::ops::Range<usize>> {
    let level = |size: &u64| size.max(&1).ilog2() / 3;
    for start in 0..sizes.len() {
        // Newer runs that are smaller do not keep older ones of one size from being merged.
        let same = sizes[start..].iter().take_while(|size| level(size) <= level(&sizes[start])).count();
        if same >= FAN_IN {
            return Some(start..start + same);
        }
    }
    if idle && sizes.len() > IDLE_RUNS {
        let newer: u64 = sizes[..sizes.len() - 1].iter().sum();
        let keep = usize::from(newer < sizes[sizes.len() - 1] / FAN_IN as u64);
        return Some(0..sizes.len() - keep);
    }
    None
}

/// The oldest of the runs that one run can hold.
fn within_bounds(runs: &[Arc<Run>]) -> &[Arc<Run>] {
    let Some(first) = runs.last().map(|run| run.first) else { return runs };
    let too_new = runs.iter().take_while(|run| run.last - first >= MAX_RUN_SEGMENTS).count();
    &runs[too_new..]
}

/// Entries of a run, page by page.
struct Cursor<'a> {
    run: &'a Run,
    ctx: &'a Ctx,
    page: usize,
    entries: std::vec::IntoIter<Entry>,
    head: Option<Entry>,
}

impl<'a> Cursor<'a> {
    fn new(run: &'a Run, ctx: &'a Ctx) -> Result<Self, LittError> {
        let mut cursor = Self { run, ctx, page: 0, entries: Vec::new().into_iter(), head: None };
        cursor.advance()?;
        Ok(cursor)
    }

    fn advance(&mut self) -> Result<(), LittError> {
        self.head = self.entries.next();
        while self.head.is_none() && self.page < self.run.pages() {
            self.entries = self.run.page_entries(&self.ctx.handles, self.page)?.into_iter();
            self.page += 1;
            self.head = self.entries.next();
        }
        Ok(())
    }
}

impl Table {
    /// Does what background work there is: makes segments ahead, seals full ones, merges runs.
    ///
    /// # Errors
    /// What kept it from being done; it is tried again the next time.
    pub(crate) fn housekeep(&self, idle: bool) -> Result<(), LittError> {
        if self.ctx.check_writable().is_err() {
            return Ok(());
        }
        self.mend_indexes()?;
        self.make_ahead()?;
        self.seal_full_segments()?;
        while self.merge_once(idle)? {}
        Ok(())
    }

    /// Does all pending background work, merges included.
    ///
    /// # Errors
    /// [`LittError::Io`], [`LittError::Corrupt`].
    pub fn finish_upkeep(&self) -> Result<(), LittError> {
        self.ctx.check_writable()?;
        self.housekeep(true)
    }

    /// Makes key indexes again whose damage a look-up met.
    fn mend_indexes(&self) -> Result<(), LittError> {
        for lane in &self.lanes {
            let Some(damage) = lane.broken.lock().take() else { continue };
            let _merging = self.merging.lock();
            self.repair_runs(lane, &damage)?;
        }
        Ok(())
    }

    /// Makes the segment that comes after each shard's open one.
    fn make_ahead(&self) -> Result<(), LittError> {
        for lane in &self.lanes {
            // Puts continue meanwhile; one that needs the segment waits for it here.
            let mut next = lane.next.lock();
            if next.is_none() {
                let index = lane.state.read().active().segment.index() + 1;
                *next = Some(self.make_segment(lane.shard, index)?);
            }
        }
        Ok(())
    }

    /// Seals the open segments of all shards, if they hold anything.
    ///
    /// # Errors
    /// [`LittError::Io`], [`LittError::ReadOnly`].
    pub fn seal(&self) -> Result<(), LittError> {
        self.ctx.check_writable()?;
        {
            let mut writer = self.writer.lock();
            for lane in &self.lanes {
                let active = lane.state.read().active().clone();
                if active.progress.lock().summary.records > 0 {
                    self.roll(&mut writer, lane)?;
                }
            }
        }
        self.seal_full_segments()
    }

    /// Seals segments that are older than they may get.
    pub(crate) fn seal_aged(&self) -> Result<(), LittError> {
        let Some(limit) = self.ctx.options.segment_age else { return Ok(()) };
        let now = self.ctx.clock.monotonic();
        let mut writer = self.writer.lock();
        for lane in &self.lanes {
            let active = lane.state.read().active().clone();
            let since = active.progress.lock().since;
            if since.is_some_and(|since| now.saturating_sub(since) >= limit) {
                self.roll(&mut writer, lane)?;
            }
        }
        Ok(())
    }

    /// Seals all segments that are not written to any more.
    pub(crate) fn seal_full_segments(&self) -> Result<(), LittError> {
        let _sealing = self.sealing.lock();
        for lane in &self.lanes {
            loop {
                let open = {
                    let state = lane.state.read();
                    if state.open.len() < 2 {
                        break;
                    }
                    state.open[0].clone()
                };
                self.seal_one(lane, &open)?;
            }
        }
        Ok(())
    }

    fn seal_one(&self, lane: &Shard, open: &Arc<OpenSegment>) -> Result<(), LittError> {
        self.train(open)?;
        if !open.progress.lock().sealed {
            open.write_out()?;
            let end = open.end();
            let (known, mut summary) = {
                let progress = open.progress.lock();
                let known = progress.digest_known.then(|| progress.digest.clone().finalize());
                (known, progress.summary)
            };
            summary.end = end;
            summary.digest = match known {
                Some(digest) => digest,
                None => digest(open, end)?,
            };
            // The records first: a footer says that they are durable.
            self.sync_segment(open)?;
            let footer = summary.encode_footer(open.segment.seed);
            let path = &open.segment.path;
            open.file.write_all_at(&footer, end).map_err(LittError::io(path))?;
            open.file.sync_data().map_err(LittError::io(path)).inspect_err(|error| self.ctx.fail(error))?;
            let mut progress = open.progress.lock();
            progress.summary = summary;
            progress.sealed = true;
        }
        let start = Instant::now();
        let run = Arc::new(write_run(&self.ctx, lane.shard, open)?);
        self.ctx.metrics.keymap_flush.record_duration(start.elapsed());
        let mut state = lane.state.write();
        let runs = Arc::make_mut(&mut state.runs);
        // Not always the newest: a full disk may have kept it from being made before others.
        let at = runs.partition_point(|other| other.first > run.first);
        runs.insert(at, run);
        state.open.retain(|other| !Arc::ptr_eq(other, open));
        state.generation += 1;
        drop(state);
        self.recount();
        Ok(())
    }

    /// Trains the table's dictionary on the first segment that is sealed.
    fn train(&self, open: &OpenSegment) -> Result<(), LittError> {
        let wants = matches!(self.ctx.options.compression, crate::Compression::ZstdDict(_));
        if !wants || self.ctx.state.lock().dictionary != 0 {
            return Ok(());
        }
        open.write_out()?;
        let mut scanner = Scanner::new(&open.segment, open.file.clone(), open.end());
        let (mut samples, mut bytes, mut at) = (Vec::new(), 0, Scanner::START);
        while bytes < SAMPLE_BYTES {
            let At::Record(found) = scanner.record_at(at)? else { break };
            at = found.end;
            if !found.head.mark
                && found.head.value_len > 0
                && let Ok(value) = scanner.value(&found)
            {
                let sample = value[..value.len().min(FRAME_BYTES)].to_vec();
                bytes += sample.len();
                samples.push(sample);
            }
        }
        match Dictionary::train(&samples) {
            Some(dictionary) => self.ctx.add_dictionary(&dictionary),
            None => Ok(()),
        }
    }

    /// Merges some runs into one, if that is due; says whether it did.
    fn merge_once(&self, idle: bool) -> Result<bool, LittError> {
        let _merging = self.merging.lock();
        for lane in &self.lanes {
            let runs = lane.state.read().runs.clone();
            let sizes: Vec<u64> = runs.iter().map(|run| run.entries).collect();
            let Some(range) = plan(&sizes, idle) else { continue };
            let inputs = within_bounds(&runs[range]);
            if let [newest, _, ..] = inputs {
                self.merge(lane, inputs, inputs[inputs.len() - 1].first, newest.last)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn merge(&self, lane: &Shard, inputs: &[Arc<Run>], first: u32, last: u32) -> Result<(), LittError> {
        let ctx = &self.ctx;
        let live: BTreeMap<u32, CoveredSegment> = {
            let state = lane.state.read();
            let all = inputs.iter().flat_map(|run| &run.covered);
            let live = all.filter(|covered| state.segments.has(covered.header.index));
            live.map(|covered| (covered.header.index, *covered)).collect()
        };
        let path = ctx.home.join(run_name(lane.shard, first, last));
        let mut failed = None;
        let cuts = ctx.state.lock().last_cut();
        let written = doc::replace_with(&*ctx.disk, &path, |file| {
            let keys = inputs.iter().map(|run| run.entries).sum();
            let covered = live.values().copied().collect();
            let mut writer = RunWriter::new(file, (first, last), covered, keys, cuts);
            let mut step = || -> Result<(), LittError> {
                let mut cursors = Vec::with_capacity(inputs.len());
                for run in inputs {
                    cursors.push(Cursor::new(run, ctx)?);
                }
                let mut before: Option<Id> = None;
                // The newest of equal keys comes first, because the newest run does.
                while let Some(least) = (0..cursors.len())
                    .filter(|i| cursors[*i].head.is_some())
                    .min_by_key(|i| cursors[*i].head.map(|e| e.id))
                {
                    let Some(entry) = cursors[least].head else { break };
                    cursors[least].advance()?;
                    let Some(covered) = live.get(&entry.segment) else { continue };
                    if before == Some(entry.id) {
                        continue;
                    }
                    before = Some(entry.id);
                    writer.push(&entry, covered.summary.min_number).map_err(LittError::io(&path))?;
                }
                Ok(())
            };
            if let Err(error) = step() {
                failed = Some(error);
                return Err(std::io::ErrorKind::InvalidData.into());
            }
            writer.finish(lane.shard)
        });
        if let Some(error) = failed {
            self.repair_runs(lane, &error)?;
            return Err(error);
        }
        written?;
        let going = inputs.iter().map(|run| run.memory()).sum();
        let run = Run::open(&*ctx.disk, &path, lane.shard, &ctx.budget, going)?;
        let run = run.ok_or_else(|| LittError::corrupt(&path, 0, "key index that was just written"))?;
        self.replace_runs(lane, inputs, Some(Arc::new(run)));
        // What was replaced is removed without being synced: an opening finds it in the merged one.
        for run in inputs.iter().filter(|run| run.path != path) {
            doc::remove_if_there(&*ctx.disk, &run.path)?;
        }
        Ok(())
    }

    /// Takes a new run in place of others.
    pub(crate) fn replace_runs(&self, lane: &Shard, inputs: &[Arc<Run>], output: Option<Arc<Run>>) {
        let mut state = lane.state.write();
        let is_input = |run: &Arc<Run>| inputs.iter().any(|input| Arc::ptr_eq(input, run));
        let at = state.runs.iter().position(is_input).unwrap_or(state.runs.len());
        let runs = Arc::make_mut(&mut state.runs);
        runs.retain(|run| !is_input(run));
        output.into_iter().for_each(|run| runs.insert(at, run));
        state.generation += 1;
        drop(state);
        for run in inputs {
            run.retired.store(true, Ordering::Release);
            self.ctx.handles.close(run.uid);
        }
        self.recount();
    }

    /// Makes runs that turned out to be damaged again, from their segments.
    pub(crate) fn repair_runs(&self, lane: &Shard, error: &LittError) -> Result<(), LittError> {
        let LittError::Corrupt { path, .. } = error else { return Ok(()) };
        let damaged = lane.state.read().runs.iter().find(|run| run.path == *path).cloned();
        let Some(run) = damaged else { return Ok(()) };
        for covered in &run.covered {
            let segment = lane.state.read().segments.get(covered.header.index).cloned();
            let Some(segment) = segment else { continue };
            let open = crate::recover::reread(&self.ctx, &segment, covered.summary)?;
            let made = Arc::new(write_run(&self.ctx, lane.shard, &open)?);
            let mut state = lane.state.write();
            let runs = Arc::make_mut(&mut state.runs);
            runs.retain(|other| other.path != made.path);
            let at = runs.partition_point(|other| other.first > made.first);
            runs.insert(at, made);
        }
        lane.rebuilt.fetch_add(1, Ordering::Relaxed);
        let kept = lane.state.read().runs.iter().any(|other| other.path == run.path);
        self.replace_runs(lane, std::slice::from_ref(&run), None);
        if !kept {
            doc::remove_if_there(&*self.ctx.disk, &run.path)?;
        }
        Ok(())
    }

    /// Counts keys and bytes again.
    pub(crate) fn recount(&self) {
        let mut writer = self.writer.lock();
        let (mut keys, mut bytes) = (0, 0);
        for lane in &self.lanes {
            let state: &ShardState = &lane.state.read();
            for (_, CoveredSegment { summary: Summary { keys: of, end, .. }, .. }) in state.sealed() {
                keys += u64::from(*of);
                bytes += end + FOOTER_BYTES as u64;
            }
            bytes += state.runs.iter().map(|run| run.file_bytes).sum::<u64>();
            for open in &state.open {
                keys += u64::from(open.progress.lock().summary.keys);
                bytes += open.end();
            }
        }
        (writer.total_keys, writer.total_bytes) = (keys, bytes);
        self.ctx.metrics.key_count.set_unsigned(keys);
        self.ctx.metrics.size_bytes.set_unsigned(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::plan;

    #[test]
    fn runs_of_one_size_are_merged_and_few_are_left_when_idle() {
        assert_eq!(plan(&[10; 7], false), None);
        assert_eq!(plan(&[10; 8], false), Some(0..8));
        assert_eq!(plan(&[10, 10, 10, 1000], false), None);
        assert_eq!(plan(&[10, 10, 10, 1000], true), None);
        assert_eq!(plan(&[10, 10, 10, 10, 100_000], true), Some(0..4));
        assert_eq!(plan(&[10, 10, 10, 10, 100], true), Some(0..5));
        // Ten thousand runs of equal size, one by one, never leave many.
        let mut runs: Vec<u64> = Vec::new();
        for _ in 0..10_000 {
            runs.insert(0, 100);
            while let Some(range) = plan(&runs, false) {
                let sum = runs[range.clone()].iter().sum();
                runs.splice(range, [sum]);
            }
            assert!(runs.len() < 40, "{runs:?}");
        }
    }
}
