//! Small files that are replaced as a whole: manifests, the state of a table, dictionaries.
//!
//! `copy copy`, where a copy is
//! `magic 4 | version u16 | 0 u16 | length u32 | crc u32 of all before and the payload | payload`.
//! One damaged copy costs nothing; a file is replaced by writing a new one beside it, syncing it
//! and renaming it.

use crate::LittError;
use crate::format::be32;
use hearth_disk::Disk;
use std::path::Path;

const HEADER: usize = 16;
/// Suffix of a file that is being written.
pub(crate) const TEMPORARY: &str = "tmp";

/// Writes a file durably in place of the one that is there, if any.
pub(crate) fn replace(
    disk: &dyn Disk,
    path: &Path,
    magic: [u8; 4],
    version: u16,
    payload: &[u8],
) -> Result<(), LittError> {
    let copies = encode(magic, version, payload);
    replace_with(disk, path, |file| file.write_all_at(&copies, 0))
}

/// Both copies of a file.
pub(crate) fn encode(magic: [u8; 4], version: u16, payload: &[u8]) -> Vec<u8> {
    let mut copy = Vec::with_capacity(2 * (HEADER + payload.len()));
    copy.extend_from_slice(&magic);
    copy.extend_from_slice(&version.to_be_bytes());
    copy.extend_from_slice(&[0; 2]);
    copy.extend_from_slice(&(payload.len() as u32).to_be_bytes());
    let mut crc = crc32fast::Hasher::new();
    crc.update(&copy);
    crc.update(payload);
    copy.extend_from_slice(&crc.finalize().to_be_bytes());
    copy.extend_from_slice(payload);
    copy.extend_from_within(..);
    copy
}

/// Writes a file durably in place of the one that is there, if any, with content from a function.
pub(crate) fn replace_with(
    disk: &dyn Disk,
    path: &Path,
    write: impl FnOnce(&dyn hearth_disk::DiskFile) -> std::io::Result<()>,
) -> Result<(), LittError> {
    let temporary = path.with_added_extension(TEMPORARY);
    remove_if_there(disk, &temporary)?;
    let made = disk.create(&temporary).and_then(|file| {
        write(&*file)?;
        file.sync_data()
    });
    if let Err(error) = made {
        // A remaining temporary file is removed by the next attempt or at the next open.
        let _ = disk.remove_file(&temporary);
        return Err(LittError::io(&temporary)(error));
    }
    disk.rename(&temporary, path).map_err(LittError::io(path))?;
    let dir = path.parent().unwrap_or(Path::new("."));
    disk.sync_dir(dir).map_err(LittError::io(dir))
}

/// Removes a file that may not be there.
pub(crate) fn remove_if_there(disk: &dyn Disk, path: &Path) -> Result<(), LittError> {
    match disk.remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(LittError::io(path)(error)),
        _ => Ok(()),
    }
}

/// Payload of the first good copy; `None` where there is no file.
pub(crate) fn read(
    disk: &dyn Disk,
    path: &Path,
    magic: [u8; 4],
    version: u16,
) -> Result<Option<Vec<u8>>, LittError> {
    let bytes = match disk.read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(LittError::io(path))?,
    };
    let copy = good_copy(&bytes, magic)
        .ok_or_else(|| LittError::corrupt(path, 0, "both copies fail their checksum"))?;
    let found = u16::from_be_bytes([copy[4], copy[5]]);
    if found > version {
        return Err(LittError::NewerFormat { path: path.to_owned(), found, known: version });
    }
    Ok(Some(copy[HEADER..].to_vec()))
}

/// The first good copy with its header. The copies are of one length, so the second begins in the
/// middle.
pub(crate) fn good_copy(bytes: &[u8], magic: [u8; 4]) -> Option<&[u8]> {
    decode(bytes, magic).or_else(|| decode(&bytes[bytes.len() / 2..], magic))
}

fn decode(bytes: &[u8], magic: [u8; 4]) -> Option<&[u8]> {
    if bytes.len() < HEADER || bytes[..4] != magic {
        return None;
    }
    let copy = bytes.get(..HEADER.checked_add(be32(&bytes[8..]) as usize)?)?;
    let mut crc = crc32fast::Hasher::new();
    crc.update(&copy[..12]);
    crc.update(&copy[HEADER..]);
    (crc.finalize() == be32(&copy[12..])).then_some(copy)
}
