//! What a power cut does to RocksDB's MANIFEST, the log of which files make up the database, and
//! RocksDB does not repair.
//!
//! An opening begins a new MANIFEST, syncs it, and gives CURRENT its name; the folder is synced
//! once, after both. Between the two a cut may keep what CURRENT says and lose the new file's name.
//! The MANIFEST before it is there then, for it is deleted only after that sync, and whatever the
//! new one says more was not acknowledged. So CURRENT goes back to it, and where it was to be the
//! first of all, it goes.
//!
//! RocksDB syncs it after each change, takes a record that ends too early for one that was never
//! finished, and refuses any other that does not fit its checksum. A power cut leaves another kind
//! of unfinished record: the file has its full size, and some of its sectors were never written and
//! read as zeros. Nothing of such a change was acknowledged: files are deleted, and WAL segments
//! too, only once it was synced. So it is cut off here, and what it would have brought is in the
//! WAL. A record of which every sector was written and that does not fit is damage, and stays an
//! error.

use crate::{
    FlatKvError,
    files::{exists, is_table_file, remove_file, sync_parent, write_whole},
};
use crc::{CRC_32_ISCSI, Crc};
use hearth_disk::{Disk, OpenMode};
use hearth_primitives::StateError;
use std::{
    ffi::OsStr,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The file that names the MANIFEST with which the database begins.
pub const CURRENT: &str = "CURRENT";
/// What the name of a MANIFEST begins with; its number follows.
const PREFIX: &str = "MANIFEST-";
/// The number of the MANIFEST that a new database begins with.
const FIRST: u64 = 1;
/// The kinds of pieces that a MANIFEST has: unwritten zeros; whole, first, middle and last of a
/// record.
const KINDS: RangeInclusive<u8> = 0..=4;
/// What a disk writes whole or not at all, at least, in bytes.
const SECTOR: usize = 512;
/// Block size of the log format, in bytes: a record that does not fit into a block is split into
/// fragments.
const BLOCK_BYTES: usize = 32 << 10;
/// Checksum, length and type of a piece, in bytes.
const HEADER_BYTES: usize = 7;
/// What RocksDB adds to a checksum that is stored beside the data that it covers.
const MASK_DELTA: u32 = 0xa282_ead8;
/// Most bytes behind the last sound record that are cut off: a change of all families takes a few
/// KiB.
const MAX_TORN_BYTES: usize = 256 << 10;
/// A larger MANIFEST is left as it is, in bytes. RocksDB begins a new one at 1 GiB.
const MAX_BYTES: u64 = 1 << 30;

static CRC32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// Where a piece of a record ends, and whether the record ends with it; `None` where no sound piece
/// begins.
fn piece(bytes: &[u8], at: usize) -> Option<(usize, bool)> {
    let header: &[u8; HEADER_BYTES] = bytes.get(at..)?.first_chunk()?;
    let stored = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
    let end = at + HEADER_BYTES + usize::from(u16::from_le_bytes([header[4], header[5]]));
    // Whole, first, middle, last.
    let kind = header[6];
    if !(1..=4).contains(&kind) || end > (at / BLOCK_BYTES + 1) * BLOCK_BYTES {
        return None;
    }
    let crc = CRC32C.checksum(bytes.get(at + HEADER_BYTES - 1..end)?);
    let masked = crc.rotate_right(15).wrapping_add(MASK_DELTA);
    (masked == stored).then_some((end, kind == 1 || kind == 4))
}

/// Where the last of the sound records at the start ends, and where the first piece begins that is
/// not sound.
fn sound(bytes: &[u8]) -> (usize, usize) {
    let (mut end, mut at) = (0, 0);
    while at < bytes.len() {
        let left = BLOCK_BYTES - at % BLOCK_BYTES;
        if left < HEADER_BYTES {
            at += left;
            continue;
        }
        let Some((next, whole)) = piece(bytes, at) else { break };
        at = next;
        if whole {
            end = next;
        }
    }
    (end, at)
}

/// Whether some sector from `at` on was never written, as far as the bytes show: a part of few
/// bytes may be zero by itself. Then too nothing wrong comes of cutting, for an opening compares
/// the database with the WAL.
fn was_not_written(bytes: &[u8], at: usize) -> bool {
    let first = (at + 1).next_multiple_of(SECTOR) - at;
    let (head, rest) = bytes[at..].split_at(first.min(bytes.len() - at));
    std::iter::once(head)
        .chain(rest.chunks(SECTOR))
        .any(|part| !part.is_empty() && part.iter().all(|byte| *byte == 0))
}

/// The MANIFEST that the database begins with.
fn current(disk: &dyn Disk, dir: &Path) -> Option<PathBuf> {
    let name = String::from_utf8(disk.read(&dir.join(CURRENT)).ok()?).ok()?;
    let name = name.trim_end();
    (name.starts_with(PREFIX) && !name.contains('/')).then(|| dir.join(name))
}

/// Gives CURRENT the name of the MANIFEST before the one that it names, where that one is not
/// there, and removes it where that is the first of a database without rows. What is neither is
/// left to RocksDB, which refuses it.
///
/// # Errors
/// [`FlatKvError::Io`].
pub fn go_back_to_what_is_there(disk: &dyn Disk, dir: &Path) -> Result<(), FlatKvError> {
    let Some(named) = current(disk, dir) else { return Ok(()) };
    if exists(disk, &named)? {
        return Ok(());
    }
    let Some(lost) = number(named.file_name()) else { return Ok(()) };
    let path = dir.join(CURRENT);
    let names = disk.list(dir).map_err(FlatKvError::io(dir))?;
    let numbers = names.iter().filter_map(|entry| number(Some(&entry.name)));
    if let Some(before) = numbers.filter(|found| *found < lost).max() {
        // As RocksDB writes it: six digits at least, and the end of the line.
        return write_whole(disk, &path, format!("{PREFIX}{before:06}\n").as_bytes());
    }
    if lost == FIRST && !names.iter().any(|entry| is_table_file(Path::new(&entry.name))) {
        remove_file(disk, &path)?;
        sync_parent(disk, &path)?;
    }
    Ok(())
}

/// The number in the name of a MANIFEST.
fn number(name: Option<&OsStr>) -> Option<u64> {
    name?.to_str()?.strip_prefix(PREFIX)?.parse().ok()
}

/// Refuses a MANIFEST that RocksDB would read forever: one flipped bit makes a piece one of a log
/// whose file was used before, which RocksDB passes over without going on.
///
/// # Errors
/// [`StateError::Store`].
pub fn refuse_endless(disk: &dyn Disk, dir: &Path) -> Result<(), StateError> {
    let Some(path) = current(disk, dir) else { return Ok(()) };
    match disk.metadata(&path) {
        Ok(of) if of.len <= MAX_BYTES => {}
        // RocksDB says itself what it makes of that.
        _ => return Ok(()),
    }
    let Ok(bytes) = disk.read(&path) else { return Ok(()) };
    match endless(&bytes) {
        None => Ok(()),
        Some(offset) => {
            Err(StateError::Database { damaged: true, source: Arc::new(DamagedManifest { path, offset }) })
        }
    }
}

/// A MANIFEST that RocksDB would read without end.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} is damaged: at byte {offset} it has a record type that no MANIFEST has",
    path.display()
)]
struct DamagedManifest {
    path: PathBuf,
    /// Byte at which the record begins.
    offset: usize,
}

/// Where the first piece begins that is of no kind of these files. Behind one that is not sound
/// reading continues with the next block.
fn endless(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let next_block = (at / BLOCK_BYTES + 1) * BLOCK_BYTES;
        if next_block - at < HEADER_BYTES {
            at = next_block;
            continue;
        }
        let kind = *bytes.get(at + HEADER_BYTES - 1)?;
        if !KINDS.contains(&kind) {
            return Some(at);
        }
        at = piece(bytes, at).map_or(next_block, |(end, _)| end);
    }
}

/// Cuts the torn tail off the MANIFEST of a database that RocksDB refuses to open; false where
/// there is none.
///
/// # Errors
/// [`FlatKvError::Io`].
pub fn cut_torn_tail(disk: &dyn Disk, dir: &Path) -> Result<bool, FlatKvError> {
    let Some(path) = current(disk, dir) else { return Ok(false) };
    let io = || FlatKvError::io(&path);
    match disk.metadata(&path) {
        Ok(of) if of.len <= MAX_BYTES => {}
        _ => return Ok(false),
    }
    let bytes = disk.read(&path).map_err(io())?;
    let (end, bad) = sound(&bytes);
    if end == 0 || bad >= bytes.len() || bytes.len() - end > MAX_TORN_BYTES || !was_not_written(&bytes, bad) {
        return Ok(false);
    }
    let file = disk.open(&path, OpenMode::ReadWrite).map_err(io())?;
    file.set_len(end as u64).and_then(|()| file.sync_all()).map_err(io())?;
    sync_parent(disk, &path)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(bytes: &mut Vec<u8>, payload: &[u8]) {
        let body = [&[1], payload].concat();
        let masked = CRC32C.checksum(&body).rotate_right(15).wrapping_add(MASK_DELTA);
        bytes.extend(masked.to_le_bytes());
        bytes.extend((payload.len() as u16).to_le_bytes());
        bytes.extend(body);
    }

    /// Records of 100 to 1,100 bytes, and where each begins.
    fn sample() -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut starts) = (Vec::new(), Vec::new());
        for n in 0..6_u8 {
            starts.push(bytes.len());
            record(&mut bytes, &vec![n + 1; 100 + 200 * usize::from(n)]);
        }
        (bytes, starts)
    }

    #[test]
    fn sound_records_are_sound() {
        let (bytes, _) = sample();
        assert_eq!(sound(&bytes), (bytes.len(), bytes.len()));
    }

    #[test]
    fn a_sector_that_was_never_written_begins_the_tail() {
        let (bytes, starts) = sample();
        let last = starts[5];
        for sector in last / SECTOR..bytes.len().div_ceil(SECTOR) {
            let mut torn = bytes.clone();
            let end = ((sector + 1) * SECTOR).min(torn.len());
            torn[(sector * SECTOR).max(last)..end].fill(0);
            let (end, bad) = sound(&torn);
            assert_eq!((end, bad), (last, last), "sector {sector}");
            assert!(was_not_written(&torn, bad), "sector {sector}");
        }
    }

    #[test]
    fn a_kind_that_is_none_is_found_in_any_block() {
        let mut bytes = Vec::new();
        let mut starts = Vec::new();
        // Over the border of a block, and with a trailer of three bytes before it.
        while bytes.len() < BLOCK_BYTES {
            starts.push(bytes.len());
            let left = BLOCK_BYTES - bytes.len();
            record(&mut bytes, &vec![7; if left < 2000 { left - HEADER_BYTES - 3 } else { 1000 }]);
            if BLOCK_BYTES - bytes.len() < HEADER_BYTES {
                bytes.resize(BLOCK_BYTES, 0);
            }
        }
        starts.push(bytes.len());
        record(&mut bytes, &[9; 10]);
        assert_eq!((endless(&bytes), sound(&bytes).0), (None, bytes.len()));
        for start in &starts {
            for bit in 0..8 {
                let mut bad = bytes.clone();
                bad[start + HEADER_BYTES - 1] ^= 1 << bit;
                let known = KINDS.contains(&(1 ^ 1 << bit));
                assert_eq!(endless(&bad), (!known).then_some(*start), "bit {bit} at {start}");
            }
        }
        // Two of them: the one in the first block is passed over where only its sum does not fit.
        let mut bad = bytes.clone();
        bad[starts[1]] ^= 1;
        let last = starts[starts.len() - 1];
        bad[last + HEADER_BYTES - 1] = 5;
        assert_eq!(endless(&bad), Some(last));
        assert_eq!(endless(&bytes[..bytes.len() - 12]), None);
    }

    #[test]
    fn a_flipped_bit_is_no_torn_tail() {
        let (bytes, starts) = sample();
        for start in starts {
            let mut bad = bytes.clone();
            bad[start + 9] ^= 4;
            let (end, at) = sound(&bad);
            assert_eq!((end, at), (start, start));
            assert!(!was_not_written(&bad, at), "record at {start}");
        }
    }
}
