//! Reading everything once to see whether it is still what was written.

use crate::LittError;
use crate::format::{FOOTER_BYTES, Summary};
use crate::scan::{At, Scanner};
use crate::segment::Segment;
use crate::shard::Shard;
use crate::table::Table;
use hearth_disk::DiskFile;
use std::sync::Arc;

/// Most findings that are kept; those beyond are counted only.
const MAX_FINDINGS: usize = 1000;

/// What a scrub found.
#[derive(Clone, Debug, Default)]
pub struct ScrubReport {
    /// Segments read.
    pub segments: u64,
    /// Groups that are as they were written.
    pub records: u64,
    /// Bytes of segments and key indexes read.
    pub bytes: u64,
    /// Pages of key indexes that are as they were written.
    pub index_pages: u64,
    /// What is damaged: file, offset, what. At most 1000.
    pub damage: Vec<LittError>,
    /// Number of damaged places.
    pub damaged: u64,
    /// Damaged records whose keys all read, because they were put again: they cost nothing but
    /// their place.
    pub replaced: u64,
}

impl ScrubReport {
    fn note(&mut self, damage: LittError) {
        self.damaged += 1;
        if self.damage.len() < MAX_FINDINGS {
            self.damage.push(damage);
        }
    }
}

impl Table {
    /// Reads all segments and key indexes and checks every checksum, every footer's counts and
    /// digest, and that every key is found where it was written. Key indexes that are damaged are
    /// made again.
    ///
    /// # Errors
    /// [`LittError::Io`] where a file cannot be read. Damage is no error; it is in the report.
    pub fn scrub(&self) -> Result<ScrubReport, LittError> {
        self.scrub_with(&mut |_| true)
    }

    /// As [`Table::scrub`]; `seen` is called after each segment, and where it says false the rest
    /// is left out.
    ///
    /// # Errors
    /// As [`Table::scrub`].
    pub fn scrub_with(&self, seen: &mut dyn FnMut(&ScrubReport) -> bool) -> Result<ScrubReport, LittError> {
        let mut report = ScrubReport::default();
        for lane in &self.lanes {
            let indexes: Vec<u32> = lane.state.read().segments.iter().map(|(index, _)| index).collect();
            for index in indexes {
                let (segment, file, end) = match self.source(lane, index) {
                    Ok(Some(source)) => source,
                    // It was collected meanwhile.
                    Ok(None) => continue,
                    // By another process, beside which the table is open for reading.
                    Err(error) if error.is_not_found() && self.ctx.was_collected(lane.shard, index) => {
                        continue;
                    }
                    Err(error) if error.is_not_found() => {
                        if let Some(segment) = lane.state.read().segments.get(index) {
                            report.note(segment.corrupt(0, "file is missing"));
                        }
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                let summary = {
                    let state = lane.state.read();
                    state.runs.iter().find_map(|run| run.summary_of(index)).map(|covered| covered.summary)
                };
                report.segments += 1;
                report.bytes += end;
                match self.scrub_segment(lane, &segment, file, end, summary, &mut report) {
                    Err(error @ LittError::Corrupt { .. }) => report.note(error),
                    result => result?,
                }
                if !seen(&report) {
                    return Ok(report);
                }
            }
            self.scrub_runs(lane, &mut report)?;
        }
        Ok(report)
    }

    fn scrub_segment(
        &self,
        lane: &Shard,
        segment: &Arc<Segment>,
        file: Arc<dyn DiskFile>,
        end: u64,
        summary: Option<Summary>,
        report: &mut ScrubReport,
    ) -> Result<(), LittError> {
        crate::segment::check_header(segment, &*file)?;
        let mut scanner = Scanner::new(segment, file.clone(), end);
        let mut digest = crc32fast::Hasher::new();
        let (mut at, mut records, mut keys, mut sound) = (Scanner::START, 0_u32, 0_u32, true);
        while at < end {
            let found = match scanner.record_at(at)? {
                At::Record(found) => found,
                At::Bad => {
                    report.note(segment.corrupt(at, "head of a record"));
                    sound = false;
                    match scanner.resync(at + 1)? {
                        Some(found) => found,
                        None => break,
                    }
                }
            };
            at = found.end;
            digest.update(&found.head_crc.to_be_bytes());
            match scanner.frames(&found, true)? {
                Ok(frames) => {
                    for (at, header) in frames {
                        digest.update(&header.encode(segment.seed, at)[..4]);
                    }
                }
                Err(at) => {
                    // A record without keys cannot have been put again.
                    let has_keys = !found.keys.is_empty();
                    if has_keys && found.keys.iter().all(|(key, _)| self.reads(key)) {
                        report.replaced += 1;
                    } else {
                        report.note(segment.corrupt(at, "checksum of a frame"));
                    }
                    sound = false;
                    continue;
                }
            }
            if found.head.mark {
                continue;
            }
            records += 1;
            keys += found.keys.len() as u32;
            report.records += 1;
            for (key, _) in &found.keys {
                if let Ok(None) = lane.find(&self.ctx.id(key), true) {
                    report.note(segment.corrupt(found.start, "key is not in the index"));
                }
            }
        }
        if let Some(summary) = summary {
            let mut footer = [0; FOOTER_BYTES];
            file.read_exact_at(&mut footer, end).map_err(|error| segment.read_error(end, error))?;
            if Summary::decode_footer(&footer, segment.seed, end) != Some(summary) {
                report.note(segment.corrupt(end, "footer"));
            } else if sound
                && (summary.records, summary.keys, summary.digest) != (records, keys, digest.finalize())
            {
                report.note(segment.corrupt(end, "count or digest of the footer"));
            }
        }
        Ok(())
    }

    /// Whether the bytes of a key read.
    fn reads(&self, key: &[u8]) -> bool {
        matches!(self.get(key), Ok(Some(_)))
    }

    fn scrub_runs(&self, lane: &Shard, report: &mut ScrubReport) -> Result<(), LittError> {
        let runs = lane.state.read().runs.clone();
        for run in runs.iter() {
            for page in 0..run.pages() {
                match run.page_entries(&self.ctx.handles, page) {
                    Ok(_) => report.index_pages += 1,
                    Err(error @ LittError::Corrupt { .. }) => {
                        report.note(error.clone());
                        if self.ctx.may_write() {
                            let _merging = self.merging.lock();
                            self.repair_runs(lane, &error)?;
                        }
                        break;
                    }
                    // It was merged meanwhile.
                    Err(error) if error.is_not_found() => break,
                    Err(error) => return Err(error),
                }
            }
            report.bytes += run.file_bytes;
        }
        Ok(())
    }
}
