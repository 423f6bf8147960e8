//! One segment file: an open handle, its header, and where its records lie.

use crate::old::LittError;
use crate::old::format::{HeaderFault, SEGMENT_HEADER, Salt, SegmentHeader, VERSION};
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A segment file. Reads are `pread`; the one writer appends behind [`Segment::len`] that it keeps itself.
#[derive(Debug)]
pub(crate) struct Segment {
    pub header: SegmentHeader,
    pub path: PathBuf,
    pub file: File,
}

impl Segment {
    /// Creates segment `index` with a fresh salt. The folder entry is not synced yet.
    pub fn create(dir: &Path, index: u32, base: u64) -> Result<Self, LittError> {
        let path = segment_path(dir, index);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let file = file.map_err(LittError::io(&path))?;
        let header = SegmentHeader { index, base, salt: random_salt() };
        file.write_all_at(&header.encode(), 0).map_err(LittError::io(&path))?;
        Ok(Self { header, path, file })
    }

    /// Opens a segment file and decodes its header. `Ok(None)` where the file is shorter than a header: the
    /// process died while it was made, so it holds nothing.
    pub fn open(table: &'static str, dir: &Path, index: u32) -> Result<Option<Self>, LittError> {
        let path = segment_path(dir, index);
        let file = OpenOptions::new().read(true).write(true).open(&path).map_err(LittError::io(&path))?;
        let len = file.metadata().map_err(LittError::io(&path))?.len();
        if len < SEGMENT_HEADER as u64 {
            return Ok(None);
        }
        let mut bytes = [0; SEGMENT_HEADER];
        file.read_exact_at(&mut bytes, 0).map_err(LittError::io(&path))?;
        let damaged = |what| LittError::Corrupt { table, segment: index, offset: 0, what };
        let header = SegmentHeader::decode(&bytes).map_err(|fault| match fault {
            HeaderFault::Damaged => damaged("segment header"),
            HeaderFault::Newer(found) => LittError::NewerFormat { path: path.clone(), found, known: VERSION },
        })?;
        if header.index != index {
            return Err(damaged("segment header of another segment"));
        }
        Ok(Some(Self { header, path, file }))
    }

    pub fn salt(&self) -> &Salt {
        &self.header.salt
    }

    /// Bytes in the file.
    pub fn file_len(&self) -> Result<u64, LittError> {
        Ok(self.file.metadata().map_err(LittError::io(&self.path))?.len())
    }

    pub fn truncate(&self, len: u64) -> Result<(), LittError> {
        self.file.set_len(len).map_err(LittError::io(&self.path))
    }

    pub fn sync(&self) -> Result<(), LittError> {
        self.file.sync_data().map_err(LittError::io(&self.path))
    }
}

pub(crate) fn segment_path(dir: &Path, index: u32) -> PathBuf {
    dir.join(format!("{index:010}.seg"))
}

/// Indexes of the segment files in a folder, ascending.
pub(crate) fn segment_indexes(dir: &Path) -> Result<Vec<u32>, LittError> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(LittError::io(dir))? {
        let name = entry.map_err(LittError::io(dir))?.file_name();
        let stem = name.to_str().and_then(|n| n.strip_suffix(".seg"));
        found.extend(stem.and_then(|s| s.parse::<u32>().ok()));
    }
    found.sort_unstable();
    Ok(found)
}

/// Makes new and removed entries of a folder durable.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), LittError> {
    File::open(dir).and_then(|d| d.sync_all()).map_err(LittError::io(dir))
}

/// 128 bits from the keys that the standard library draws from the system for its hash maps.
fn random_salt() -> Salt {
    let mut salt = [0; 16];
    for half in salt.chunks_exact_mut(8) {
        let word = std::collections::hash_map::RandomState::new().build_hasher().finish();
        half.copy_from_slice(&word.to_be_bytes());
    }
    salt
}
