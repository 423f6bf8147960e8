//! Reading the WAL at open: every record, where it stands, and where a torn tail begins.

use super::{
    record::{
        RECORD_HEADER_BYTES, RecordBody, RecordHead, SEGMENT_HEADER_BYTES, SegmentHeader, any_record, parse,
    },
    segment_path, sync_dir,
};
use crate::FlatKvError;
use std::{
    collections::VecDeque,
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
};

/// A sound record and where it stands.
#[derive(Debug)]
pub(crate) struct Found {
    /// Number of the record.
    pub(crate) number: u64,
    /// What it says.
    pub(crate) head: RecordHead,
    segment: usize,
    offset: usize,
    len: usize,
}

impl Found {
    /// Size of the record in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.len as u64
    }
}

/// What the WAL's folder holds.
#[derive(Debug)]
pub(crate) struct Scan {
    dir: PathBuf,
    segments: Vec<(PathBuf, Option<SegmentHeader>)>,
    /// Sound records, numbered without gaps.
    pub(crate) records: Vec<Found>,
}

impl Scan {
    /// Reads all segments. A bad record that something sound follows is an error.
    pub(crate) fn read(dir: &Path) -> Result<Self, FlatKvError> {
        let mut scan = Self { dir: dir.to_owned(), segments: Vec::new(), records: Vec::new() };
        let mut torn: Option<(PathBuf, u64)> = None;
        for (first, path) in list(dir)? {
            let bytes = fs::read(&path).map_err(FlatKvError::io(&path))?;
            let header = SegmentHeader::from_bytes(&bytes);
            let index = scan.segments.len();
            scan.segments.push((path.clone(), header));
            let damaged = |path: &Path, offset, what: &str| {
                Err(FlatKvError::WalDamaged { path: path.to_owned(), offset, what: what.into() })
            };
            let Some(header) = header else {
                // A crash while the segment was made leaves it short, or long enough but never written.
                if bytes.len() >= SEGMENT_HEADER_BYTES && bytes.iter().any(|byte| *byte != 0) {
                    return damaged(&path, 0, "segment header");
                }
                torn.get_or_insert((path, 0));
                continue;
            };
            if let Some((path, offset)) = &torn {
                if any_record(header.salt, &bytes, 0) {
                    return damaged(path, *offset, "a later segment has sound records");
                }
                continue;
            }
            let expected = scan.records.last().map_or(header.first, |found| found.number + 1);
            if header.first != expected || first != expected {
                return damaged(&path, 0, &format!("record {expected} is missing"));
            }
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

    /// Drops everything behind the record at this place of `records`, or everything; a torn tail goes too.
    pub(crate) fn cut(&mut self, keep: Option<usize>) -> Result<(), FlatKvError> {
        self.records.truncate(keep.map_or(0, |index| index + 1));
        let kept = self.records.last().map_or(0, |last| last.segment + 1);
        // Newest first, so that a crash in between leaves no gap.
        while self.segments.len() > kept {
            if let Some((path, _)) = self.segments.pop() {
                fs::remove_file(&path).map_err(FlatKvError::io(&path))?;
                sync_dir(&self.dir)?;
            }
        }
        if let (Some(last), Some((path, _))) = (self.records.last(), self.segments.last()) {
            let end = (last.offset + last.len) as u64;
            let file = OpenOptions::new().write(true).open(path).map_err(FlatKvError::io(path))?;
            file.set_len(end).and_then(|()| file.sync_all()).map_err(FlatKvError::io(path))?;
        }
        sync_dir(&self.dir)
    }

    /// Reads the rows of a commit again.
    pub(crate) fn body(&self, found: &Found) -> Result<RecordBody, FlatKvError> {
        use std::os::unix::fs::FileExt;
        let (path, header) = &self.segments[found.segment];
        let file = fs::File::open(path).map_err(FlatKvError::io(path))?;
        let mut bytes = vec![0; found.len];
        file.read_exact_at(&mut bytes, found.offset as u64).map_err(FlatKvError::io(path))?;
        let damaged = || FlatKvError::WalDamaged {
            path: path.clone(),
            offset: found.offset as u64,
            what: "changed while it was read".into(),
        };
        let salt = header.ok_or_else(damaged)?.salt;
        let (_, payload) = parse(salt, &bytes).ok_or_else(damaged)?;
        Ok(RecordBody::from_payload(payload)?)
    }

    /// Where appending goes on.
    pub(super) fn into_end(self) -> End {
        let next = self.records.last().map_or(1, |last| last.number + 1);
        let open = self.segments.last().and_then(|(_, header)| *header).zip(self.records.last());
        let open = open.map(|(header, last)| (header, (last.offset + last.len) as u64));
        let segments = self.segments.into_iter().filter_map(|(path, header)| Some((header?.first, path)));
        End { segments: segments.collect(), open, next }
    }
}

/// Where appending goes on after a scan.
pub(super) struct End {
    /// First record and path of each segment, oldest first.
    pub(super) segments: VecDeque<(u64, PathBuf)>,
    /// Header and length of the last segment.
    pub(super) open: Option<(SegmentHeader, u64)>,
    /// Number of the next record.
    pub(super) next: u64,
}

/// Segment files in order of their first record.
fn list(dir: &Path) -> Result<Vec<(u64, PathBuf)>, FlatKvError> {
    let mut segments = Vec::new();
    for entry in fs::read_dir(dir).map_err(FlatKvError::io(dir))? {
        let path = entry.map_err(FlatKvError::io(dir))?.path();
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
