//! A table: segments, the index over them, one writer, any number of readers.

use crate::old::LittError;
use crate::old::format::{
    GroupKey, MAX_GROUP_KEYS, MAX_KEY_BYTES, MAX_VALUE_BYTES, SEGMENT_HEADER, encode_record,
};
use crate::old::scan::{Found, scan};
use crate::old::segment::{Segment, segment_indexes, segment_path, sync_dir};
use hearth_metrics::{LittMetrics, TableMetrics};
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// A table's name and settings.
#[derive(Clone, Debug)]
pub struct TableSpec {
    /// Name, and name of its folder: `[a-z0-9_]{1,64}`.
    pub name: &'static str,
    /// Size at which a segment is full, in bytes. A larger value has a segment of its own.
    pub segment_bytes: u64,
}

impl TableSpec {
    /// Default of [`TableSpec::segment_bytes`]: 256 MiB.
    pub const SEGMENT_BYTES: u64 = 256 << 20;

    /// A table with the default segment size.
    pub const fn new(name: &'static str) -> Self {
        Self { name, segment_bytes: Self::SEGMENT_BYTES }
    }
}

/// Where a key's bytes lie.
#[derive(Clone, Copy, Debug)]
struct Location {
    segment: u32,
    value_at: u64,
    value_len: u32,
    value_crc: u32,
    start: u32,
    end: u32,
}

/// Where a record lies in its segment.
#[derive(Clone, Copy, Debug)]
struct Extent {
    value_at: u64,
    value_crc: u32,
    end: u64,
}

#[derive(Debug)]
struct Shelf {
    segment: Arc<Segment>,
    /// Records in ascending order of place.
    records: Vec<Extent>,
}

impl Shelf {
    /// Offset behind the last record.
    fn end(&self) -> u64 {
        self.records.last().map_or(SEGMENT_HEADER as u64, |r| r.end)
    }
}

/// What readers look things up in. Locked for look-ups and insertions only, never around input or output.
#[derive(Debug, Default)]
struct Index {
    shelves: Vec<Shelf>,
    keys: HashMap<Box<[u8]>, Location>,
    /// First place where records were lost to damage: a key that is not found may have been there.
    damaged: Option<(u32, u64)>,
}

impl Index {
    /// Shelf of a segment index: segments are numbered without gaps.
    fn shelf(&self, segment: u32) -> Option<&Shelf> {
        let first = self.shelves.first()?.segment.header.index;
        self.shelves.get(segment.checked_sub(first)? as usize)
    }

    fn insert(&mut self, segment: u32, found: Found) {
        let Found { value_at, value_len, value_crc, end, keys, .. } = found;
        for (key, Range { start, end }) in keys {
            self.keys.insert(key, Location { segment, value_at, value_len, value_crc, start, end });
        }
        let shelf = self.shelves.last_mut().expect("records are inserted into the last shelf");
        shelf.records.push(Extent { value_at, value_crc, end });
    }

    fn position(&self) -> u64 {
        let last = self.shelves.iter().rev().find(|s| !s.records.is_empty());
        last.map_or(0, |s| s.segment.header.base + s.end())
    }

    /// The shelf and the number of records in it up to the one that ends at a position.
    fn find(&self, position: u64) -> Option<(usize, usize)> {
        let shelf = self.shelves.partition_point(|s| s.segment.header.base < position).checked_sub(1)?;
        let offset = position - self.shelves[shelf].segment.header.base;
        let record = self.shelves[shelf].records.binary_search_by_key(&offset, |r| r.end).ok()?;
        Some((shelf, record + 1))
    }
}

/// What the writer and `flush` keep.
#[derive(Debug, Default)]
struct Writer {
    /// Segments with bytes that are not known to be durable.
    unsynced: Vec<Arc<Segment>>,
    /// Whether the folder has entries that are not known to be durable.
    unsynced_entries: bool,
    /// Set by a failure that cannot be taken back.
    failed: Option<String>,
}

/// An append-only table of values by key. All methods may be called from any thread.
#[derive(Debug)]
pub struct Table {
    name: &'static str,
    dir: PathBuf,
    segment_bytes: u64,
    index: RwLock<Index>,
    writer: Mutex<Writer>,
    /// Taken by `flush` alone, so that two flushes do not both report what only one of them synced.
    flushing: Mutex<()>,
    metrics: Arc<TableMetrics>,
}

impl Table {
    pub(crate) fn open(parent: &Path, spec: &TableSpec, metrics: &LittMetrics) -> Result<Self, LittError> {
        let name = spec.name;
        let letters = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !letters || !(1..=64).contains(&name.len()) {
            return Err(LittError::BadName(name));
        }
        let dir = parent.join(name);
        std::fs::create_dir_all(&dir).map_err(LittError::io(&dir))?;
        let index = load(name, &dir)?;
        let (index, writer) = (RwLock::new(index), Mutex::default());
        let (segment_bytes, flushing, metrics) = (spec.segment_bytes, Mutex::default(), metrics.table(name));
        let table = Self { name, dir, segment_bytes, index, writer, flushing, metrics };
        table.tell_size();
        Ok(table)
    }

    /// The table's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Writes a value under one key; see [`Table::put_group`].
    ///
    /// # Errors
    /// As [`Table::put_group`].
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), LittError> {
        self.put_group(key, value, &[])
    }

    /// Writes a value under a primary key, with secondary keys that name byte ranges of it: all or nothing.
    /// A key that is there with equal bytes is left as it is; if all of them are, nothing is written.
    /// Readers see the group when the call returns; it is durable after the next [`Table::flush`].
    ///
    /// # Errors
    /// [`LittError::Conflict`] where a key is there with other bytes, [`LittError::TooLarge`],
    /// [`LittError::BadRange`], [`LittError::ReadOnly`], [`LittError::Io`]. Nothing is written then.
    pub fn put_group(
        &self,
        key: &[u8],
        value: &[u8],
        secondary: &[(&[u8], Range<u32>)],
    ) -> Result<(), LittError> {
        let start = Instant::now();
        let keys = self.group(key, value, secondary)?;
        let written = keys.len() as u64;
        let mut writer = self.writer.lock();
        if let Some(cause) = &writer.failed {
            return Err(LittError::ReadOnly { table: self.name, cause: cause.clone() });
        }
        if self.all_there(&keys, value)? {
            return Ok(());
        }
        let (segment, offset) = self.room(&mut writer, &keys, value)?;
        let record = encode_record(segment.salt(), offset, &keys, value);
        if let Err(source) = segment.file.write_all_at(&record, offset) {
            // What got through is cut off again; if that fails too, the next record could not be found.
            if let Err(error) = segment.truncate(offset) {
                writer.failed = Some(error.to_string());
            }
            return Err(LittError::Io { path: segment.path.clone(), source });
        }
        let end = offset + record.len() as u64;
        let found = Found {
            end,
            value_at: end - value.len() as u64,
            value_len: value.len() as u32,
            value_crc: crc32fast::hash(value),
            keys: keys.into_iter().map(|(key, range)| (key.into(), range)).collect(),
        };
        self.index.write().insert(segment.header.index, found);
        if !writer.unsynced.iter().any(|s| Arc::ptr_eq(s, &segment)) {
            writer.unsynced.push(segment);
        }
        self.metrics.bytes_written.add(value.len() as u64);
        self.metrics.keys_written.add(written);
        self.metrics.write.record_duration(start.elapsed());
        self.tell_size();
        Ok(())
    }

    /// Tells the metrics how large the table is.
    fn tell_size(&self) {
        let index = self.index.read();
        self.metrics.size_bytes.set_unsigned(index.shelves.iter().map(Shelf::end).sum());
        self.metrics.key_count.set_unsigned(index.keys.len() as u64);
    }

    /// The bytes under a primary or secondary key; `None` where the key was never written.
    /// The whole value is read and its checksum checked, also for a part of it.
    ///
    /// # Errors
    /// [`LittError::Corrupt`] where the stored bytes fail their checksum, or where the key is not found and a
    /// damaged stretch of the table may have held it. [`LittError::Io`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, LittError> {
        let start = Instant::now();
        let found = self.read(key)?;
        if let Some(value) = &found {
            let TableMetrics { bytes_read, keys_read, cache_misses, read, cache_miss, .. } = &*self.metrics;
            bytes_read.add(value.len() as u64);
            keys_read.add(1);
            // There is no cache: every read goes to a file.
            cache_misses.add(1);
            let took = start.elapsed();
            read.record_duration(took);
            cache_miss.record_duration(took);
        }
        Ok(found)
    }

    /// As [`Table::get`], for the table's own needs.
    fn read(&self, key: &[u8]) -> Result<Option<Vec<u8>>, LittError> {
        let (segment, location) = {
            let index = self.index.read();
            let Some(location) = index.keys.get(key).copied() else {
                return index.damaged.map_or(Ok(None), |(segment, offset)| {
                    Err(LittError::Corrupt { table: self.name, segment, offset, what: "records lost" })
                });
            };
            let Some(shelf) = index.shelf(location.segment) else { return Ok(None) };
            (shelf.segment.clone(), location)
        };
        let mut value =
            self.read_value(&segment, location.value_at, location.value_len, location.value_crc)?;
        value.truncate(location.end as usize);
        value.drain(..location.start as usize);
        Ok(Some(value))
    }

    /// Whether a key is there. Its bytes are not read.
    pub fn exists(&self, key: &[u8]) -> bool {
        self.index.read().keys.contains_key(key)
    }

    /// Number of keys, primary and secondary.
    pub fn key_count(&self) -> usize {
        self.index.read().keys.len()
    }

    /// Makes everything durable that was put before the call: records first, then new folder entries.
    ///
    /// # Errors
    /// [`LittError::Io`]; the table is read-only from then on, because what the system did with the bytes is not
    /// known after a failed fsync. [`LittError::ReadOnly`] where that was so before.
    pub fn flush(&self) -> Result<(), LittError> {
        let _one_at_a_time = self.flushing.lock();
        let (segments, entries) = {
            let mut writer = self.writer.lock();
            if let Some(cause) = &writer.failed {
                return Err(LittError::ReadOnly { table: self.name, cause: cause.clone() });
            }
            (std::mem::take(&mut writer.unsynced), std::mem::take(&mut writer.unsynced_entries))
        };
        let flush = self.metrics.flush.timer();
        let syncing = self.metrics.segment_flush.timer();
        let synced = segments.iter().try_for_each(|s| s.sync());
        drop(syncing);
        let synced = synced.and_then(|()| if entries { sync_dir(&self.dir) } else { Ok(()) });
        drop(flush);
        self.metrics.flush_count.add(1);
        synced.inspect_err(|error| self.writer.lock().failed = Some(error.to_string()))
    }

    /// End of the table's last record, in bytes over all segments; 0 while it is empty.
    pub fn position(&self) -> u64 {
        self.index.read().position()
    }

    /// Whether a record ends at this position and its value passes its checksum. Position 0 always holds.
    pub fn verify(&self, position: u64) -> bool {
        if position == 0 {
            return true;
        }
        let (segment, record) = {
            let index = self.index.read();
            let Some((shelf, records)) = index.find(position) else { return false };
            let shelf = &index.shelves[shelf];
            (shelf.segment.clone(), shelf.records[records - 1])
        };
        let len = (record.end - record.value_at) as u32;
        self.read_value(&segment, record.value_at, len, record.value_crc).is_ok()
    }

    /// Drops every record behind a position. Meant for opening a home, before anything is served: a reader that
    /// looked a key up before may find its bytes gone.
    ///
    /// # Errors
    /// [`LittError::NoSuchPosition`] where no record ends there; nothing is dropped then. [`LittError::Io`].
    pub fn cut(&self, position: u64) -> Result<(), LittError> {
        let mut writer = self.writer.lock();
        let mut index = self.index.write();
        if index.position() == position {
            return Ok(());
        }
        let (keep, len) = match index.find(position) {
            Some((shelf, records)) => (shelf + 1, index.shelves[shelf].records[records - 1].end),
            None if position == 0 => (1, SEGMENT_HEADER as u64),
            None => return Err(LittError::NoSuchPosition { table: self.name, position }),
        };
        // From the back, so that a crash in between leaves a table without gaps.
        while index.shelves.len() > keep {
            let shelf = index.shelves.pop().expect("longer than keep");
            std::fs::remove_file(&shelf.segment.path).map_err(LittError::io(&shelf.segment.path))?;
        }
        if let Some(last) = index.shelves.last() {
            last.segment.truncate(len)?;
            last.segment.sync()?;
        }
        sync_dir(&self.dir)?;
        *writer = Writer { failed: writer.failed.take(), ..Writer::default() };
        *index = load(self.name, &self.dir)?;
        drop(index);
        self.tell_size();
        Ok(())
    }

    /// Checks a group against the limits and puts the primary key first.
    fn group<'a>(
        &self,
        key: &'a [u8],
        value: &[u8],
        secondary: &[(&'a [u8], Range<u32>)],
    ) -> Result<Vec<GroupKey<'a>>, LittError> {
        let limit = |what, size, limit| match size > limit {
            true => Err(LittError::TooLarge { table: self.name, what, size, limit }),
            false => Ok(()),
        };
        limit("length of the value in bytes", value.len(), MAX_VALUE_BYTES)?;
        limit("number of keys in the group", secondary.len() + 1, MAX_GROUP_KEYS)?;
        let mut keys = Vec::with_capacity(secondary.len() + 1);
        keys.push((key, 0..value.len() as u32));
        keys.extend(secondary.iter().cloned());
        for (key, Range { start, end }) in &keys {
            limit("length of a key in bytes", key.len(), MAX_KEY_BYTES)?;
            if start > end || *end as usize > value.len() {
                let (table, start, end, len) = (self.name, *start, *end, value.len());
                return Err(LittError::BadRange { table, start, end, len });
            }
        }
        Ok(keys)
    }

    /// Whether every key of a group is there with these bytes. A key whose stored bytes are damaged counts as
    /// missing: writing it again heals it.
    fn all_there(&self, keys: &[GroupKey<'_>], value: &[u8]) -> Result<bool, LittError> {
        let mut all = true;
        for (key, Range { start, end }) in keys {
            if !self.exists(key) {
                all = false;
                continue;
            }
            match self.read(key) {
                Ok(Some(there)) if there == value[*start as usize..*end as usize] => {}
                Ok(None) | Err(LittError::Corrupt { .. }) => all = false,
                Ok(Some(_)) => return Err(LittError::Conflict { table: self.name, key: key.to_vec() }),
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// The segment and offset for the next record; starts a new segment where the last one is full.
    fn room(
        &self,
        writer: &mut Writer,
        keys: &[GroupKey<'_>],
        value: &[u8],
    ) -> Result<(Arc<Segment>, u64), LittError> {
        let size = value.len() + keys.iter().map(|(k, _)| k.len()).sum::<usize>();
        let (next, base) = {
            let index = self.index.read();
            match index.shelves.last() {
                Some(last) if last.records.is_empty() || last.end() + size as u64 <= self.segment_bytes => {
                    return Ok((last.segment.clone(), last.end()));
                }
                Some(last) => (last.segment.header.index + 1, last.segment.header.base + last.end()),
                None => (0, 0),
            }
        };
        let segment = Arc::new(Segment::create(&self.dir, next, base)?);
        writer.unsynced_entries = true;
        self.index.write().shelves.push(Shelf { segment: segment.clone(), records: Vec::new() });
        Ok((segment, SEGMENT_HEADER as u64))
    }

    fn read_value(&self, segment: &Segment, at: u64, len: u32, crc: u32) -> Result<Vec<u8>, LittError> {
        let corrupt =
            |what| LittError::Corrupt { table: self.name, segment: segment.header.index, offset: at, what };
        let mut value = vec![0; len as usize];
        segment.file.read_exact_at(&mut value, at).map_err(|source| match source.kind() {
            std::io::ErrorKind::UnexpectedEof => corrupt("value cut short"),
            _ => LittError::Io { path: segment.path.clone(), source },
        })?;
        match crc32fast::hash(&value) == crc {
            true => Ok(value),
            false => Err(corrupt("checksum of the value")),
        }
    }
}

/// Scans a table's folder and cuts the torn tail of its last segment.
fn load(name: &'static str, dir: &Path) -> Result<Index, LittError> {
    let mut index = Index::default();
    let found = segment_indexes(dir)?;
    for (i, &number) in found.iter().enumerate() {
        let last = i + 1 == found.len();
        let corrupt = |what| LittError::Corrupt { table: name, segment: number, offset: 0, what };
        if number != found[0] + i as u32 {
            return Err(corrupt("a segment before this one is missing"));
        }
        let Some(segment) = Segment::open(name, dir, number)? else {
            if !last {
                return Err(corrupt("segment header cut short"));
            }
            let path = segment_path(dir, number);
            std::fs::remove_file(&path).map_err(LittError::io(&path))?;
            break;
        };
        let scan = scan(&segment)?;
        let lost = scan.damaged_at.or((!last && scan.end < segment.file_len()?).then_some(scan.end));
        index.damaged = index.damaged.or(lost.map(|offset| (number, offset)));
        if last && scan.end < segment.file_len()? {
            segment.truncate(scan.end)?;
        }
        index.shelves.push(Shelf { segment: Arc::new(segment), records: Vec::new() });
        for record in scan.records {
            index.insert(number, record);
        }
    }
    Ok(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_metrics::Registry;
    use std::os::fd::OwnedFd;

    /// What became of the bytes after a failed fsync is not known, so the table takes no more of them.
    #[test]
    fn a_failed_fsync_makes_the_table_read_only_until_reopened() {
        let dir = tempfile::TempDir::new().unwrap();
        let spec = TableSpec::new("t");
        let table = Table::open(dir.path(), &spec, &LittMetrics::new(&Registry::new())).unwrap();
        table.put(b"a", b"1").unwrap();
        // A pipe refuses fsync.
        let (_reader, pipe) = std::io::pipe().unwrap();
        let header = crate::old::format::SegmentHeader { index: 9, base: 0, salt: [0; 16] };
        let path = dir.path().join("pipe");
        let broken = Segment { header, path, file: OwnedFd::from(pipe).into() };
        table.writer.lock().unsynced.push(Arc::new(broken));
        assert!(matches!(table.flush(), Err(LittError::Io { .. })));
        assert!(matches!(table.flush(), Err(LittError::ReadOnly { table: "t", .. })));
        assert!(matches!(table.put(b"b", b"2"), Err(LittError::ReadOnly { .. })));
        assert_eq!(table.get(b"a").unwrap().unwrap(), b"1");
        assert!(!table.exists(b"b"));
        drop(table);
        let table = Table::open(dir.path(), &spec, &LittMetrics::new(&Registry::new())).unwrap();
        table.put(b"b", b"2").unwrap();
        table.flush().unwrap();
        assert_eq!(table.get(b"b").unwrap().unwrap(), b"2");
    }
}
