//! Reading the WAL at open: every record, where it stands, and where a torn tail begins.

use super::{
    record::{
        RECORD_HEADER_BYTES, RecordBody, RecordHead, SEGMENT_HEADER_BYTES, SegmentHeader, any_record, parse,
    },
    segment_path,
};
use crate::FlatKvError;
use hearth_disk::{Disk, DiskFile, OpenMode};
use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A sound record and where it stands.
#[derive(Debug)]
pub struct Found {
    /// Number of the record.
    pub number: u64,
    /// What it says.
    pub head: RecordHead,
    segment: usize,
    offset: usize,
    len: usize,
}

impl Found {
    /// Size of the record in bytes.
    pub fn bytes(&self) -> u64 {
        self.len as u64
    }
}

/// What the WAL's folder holds.
#[derive(Debug)]
pub struct WalScan {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    /// RocksDB has all records up to this number, and they were synced before it got them.
    flushed: u64,
    /// Segments that an older pruning left behind, below a gap.
    stale: Vec<PathBuf>,
    /// Segments below that with the last flushed record, by their first record. They are not read:
    /// only who begins at a snapshot needs them, and reads them then.
    older: Vec<(u64, PathBuf)>,
    segments: Vec<(PathBuf, Option<SegmentHeader>)>,
    /// Sound records, numbered without gaps.
    pub records: Vec<Found>,
}

impl WalScan {
    /// Reads all segments; RocksDB has the records up to `flushed`. A bad record that something
    /// sound follows is an error, and so is a gap, unless every record in it was flushed: pruning
    /// takes away no other, and where the disk did not keep to the removal of an older segment,
    /// that one comes back alone.
    pub fn read(disk: &Arc<dyn Disk>, dir: &Path, flushed: u64) -> Result<Self, FlatKvError> {
        let (stale, segments, records) = (Vec::new(), Vec::new(), Vec::new());
        let mut older = list(&**disk, dir)?;
        let needed = older.partition_point(|(first, _)| *first <= flushed).saturating_sub(1);
        let read = older.split_off(needed);
        let mut scan =
            Self { disk: disk.clone(), dir: dir.to_owned(), flushed, stale, older, segments, records };
        let mut torn: Option<(PathBuf, u64)> = None;
        for (first, path) in read {
            let bytes = disk.read(&path).map_err(FlatKvError::io(&path))?;
            let header = SegmentHeader::from_bytes(&bytes);
            let damaged = |path: &Path, offset, what: &str| {
                Err(FlatKvError::WalDamaged { path: path.to_owned(), offset, what: what.into() })
            };
            let Some(header) = header else {
                // A crash while the segment was made leaves it short, or long enough but never
                // written.
                if bytes.len() >= SEGMENT_HEADER_BYTES && bytes.iter().any(|byte| *byte != 0) {
                    return damaged(&path, 0, "segment header");
                }
                scan.segments.push((path.clone(), None));
                torn.get_or_insert((path, 0));
                continue;
            };
            if let Some((torn, offset)) = &torn {
                if any_record(header.salt, &bytes, 0) {
                    return damaged(torn, *offset, "a later segment has sound records");
                }
                scan.segments.push((path, Some(header)));
                continue;
            }
            let expected = scan.records.last().map_or(header.first, |found| found.number + 1);
            if first == header.first && expected < first && first <= flushed.saturating_add(1) {
                scan.stale.extend(scan.older.drain(..).map(|(_, path)| path));
                scan.stale.extend(scan.segments.drain(..).map(|(path, _)| path));
                scan.records.clear();
            } else if header.first != expected || first != expected {
                return damaged(&path, 0, &format!("record {expected} is missing"));
            }
            let index = scan.segments.len();
            scan.segments.push((path.clone(), Some(header)));
            if let Some(offset) = scan.segment(index, &path, header, &bytes)? {
                torn = Some((path, offset as u64));
            }
        }
        Ok(scan)
    }

    /// Reads one segment's records; returns where a torn tail begins.
    fn segment(
        &mut self,
        segment: usize,
        path: &Path,
        header: SegmentHeader,
        bytes: &[u8],
    ) -> Result<Option<usize>, FlatKvError> {
        let mut offset = SEGMENT_HEADER_BYTES;
        let mut expected = header.first;
        while offset < bytes.len() {
            let damaged = |what: &str| FlatKvError::WalDamaged {
                path: path.to_owned(),
                offset: offset as u64,
                what: what.into(),
            };
            match parse(header.salt, &bytes[offset..]) {
                Some((number, payload)) if number == expected => {
                    let head = RecordHead::from_payload(payload).map_err(|_| damaged("payload"))?;
                    let len = RECORD_HEADER_BYTES + payload.len();
                    self.records.push(Found { number, head, segment, offset, len });
                    offset += len;
                    expected += 1;
                }
                Some(_) => return Err(damaged("number out of order")),
                None if any_record(header.salt, &bytes[offset..], expected) => {
                    return Err(damaged("sound records follow"));
                }
                None => return Ok(Some(offset)),
            }
        }
        Ok(None)
    }

    /// Bytes of the segments that were not read and begin behind a record.
    pub fn older_bytes(&self, behind: u64) -> Result<u64, FlatKvError> {
        let behind = self.older.iter().filter(|(first, _)| *first > behind);
        behind.map(|(_, path)| Ok(self.disk.metadata(path).map_err(FlatKvError::io(path))?.len)).sum()
    }

    /// Drops everything behind the record at this place of `records`, or everything; a torn tail
    /// goes too.
    pub fn truncate(&mut self, keep: Option<usize>) -> Result<(), FlatKvError> {
        self.records.truncate(keep.map_or(0, |index| index + 1));
        let kept = self.records.last().map_or(0, |last| last.segment + 1);
        for path in self.stale.drain(..) {
            self.disk.remove_file(&path).map_err(FlatKvError::io(&path))?;
        }
        // Newest first, so that a crash in between leaves no gap.
        while self.segments.len() > kept {
            if let Some((path, _)) = self.segments.pop() {
                self.disk.remove_file(&path).map_err(FlatKvError::io(&path))?;
                self.sync_dir()?;
            }
        }
        if let (Some(last), Some((path, _))) = (self.records.last(), self.segments.last()) {
            let end = (last.offset + last.len) as u64;
            let file = self.disk.open(path, OpenMode::ReadWrite).map_err(FlatKvError::io(path))?;
            file.set_len(end).map_err(FlatKvError::io(path))?;
            // Where a sync of this segment failed in an earlier process, the system takes the bytes
            // for written though they are not, and syncing again does nothing. Written again they
            // are. Earlier segments were synced before this one was started.
            let newest = self.records.iter().rev().take_while(|found| found.segment == last.segment);
            for found in newest.take_while(|found| found.number > self.flushed) {
                let bytes = self.sound_bytes(&*file, found)?;
                file.write_all_at(&bytes, found.offset as u64).map_err(FlatKvError::io(path))?;
            }
            file.sync_all().map_err(FlatKvError::io(path))?;
        }
        self.sync_dir()
    }

    fn sync_dir(&self) -> Result<(), FlatKvError> {
        self.disk.sync_dir(&self.dir).map_err(FlatKvError::io(&self.dir))
    }

    /// Reads the rows of a commit again.
    pub fn body(&self, found: &Found) -> Result<RecordBody, FlatKvError> {
        let path = &self.segments[found.segment].0;
        let file = self.disk.open(path, OpenMode::Read).map_err(FlatKvError::io(path))?;
        let bytes = self.sound_bytes(&*file, found)?;
        Ok(RecordBody::from_payload(&bytes[RECORD_HEADER_BYTES..])?)
    }

    /// Reads a record again; an error where it is not the sound one any more that was there.
    fn sound_bytes(&self, file: &dyn DiskFile, found: &Found) -> Result<Vec<u8>, FlatKvError> {
        let (path, header) = &self.segments[found.segment];
        let mut bytes = vec![0; found.len];
        file.read_exact_at(&mut bytes, found.offset as u64).map_err(FlatKvError::io(path))?;
        let number = header.and_then(|header| parse(header.salt, &bytes)).map(|(number, _)| number);
        if number == Some(found.number) {
            return Ok(bytes);
        }
        let what = "changed while it was read".into();
        Err(FlatKvError::WalDamaged { path: path.clone(), offset: found.offset as u64, what })
    }

    /// Where appending continues.
    pub(super) fn into_end(self) -> End {
        let next = self.records.last().map_or(1, |last| last.number + 1);
        let open = self.segments.last().and_then(|(_, header)| *header).zip(self.records.last());
        let open = open.map(|(header, last)| (header, (last.offset + last.len) as u64));
        let segments = self.segments.into_iter().filter_map(|(path, header)| Some((header?.first, path)));
        let segments = self.older.into_iter().chain(segments);
        End { disk: self.disk, dir: self.dir, segments: segments.collect(), open, next }
    }
}

/// Where appending continues after a scan.
pub(super) struct End {
    /// Where the folder is.
    pub(super) disk: Arc<dyn Disk>,
    /// The folder.
    pub(super) dir: PathBuf,
    /// First record and path of each segment, oldest first.
    pub(super) segments: VecDeque<(u64, PathBuf)>,
    /// Header and length of the last segment.
    pub(super) open: Option<(SegmentHeader, u64)>,
    /// Number of the next record.
    pub(super) next: u64,
}

/// Segment files in order of their first record.
pub(super) fn list(disk: &dyn Disk, dir: &Path) -> Result<Vec<(u64, PathBuf)>, FlatKvError> {
    let mut segments = Vec::new();
    for entry in disk.list(dir).map_err(FlatKvError::io(dir))? {
        let path = dir.join(entry.name);
        let first = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        if let Some(first) = first
            && path == segment_path(dir, first)
        {
            segments.push((first, path));
        }
    }
    segments.sort_unstable();
    Ok(segments)
}
