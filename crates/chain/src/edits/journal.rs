//! The edits that no block includes yet, in a file, so that they outlive the process.
//!
//! The file begins with the hash of the block whose state is edited; records follow, each with the
//! complete accounts after one edit: length u32, CRC-32 u32, RLP. A torn last record is an edit
//! that was never acknowledged.

use super::Edits;
use crate::{ChainError, home::remove};
use alloy_primitives::B256;
use std::{
    fs::File,
    io::{self, Seek as _, SeekFrom, Write},
    path::{Path, PathBuf},
};

const HASH_BYTES: usize = 32;
const RECORD_HEADER_BYTES: usize = 8;

/// The file, opened when the first edit comes.
#[derive(Debug, Default)]
pub(super) struct EditFile(Option<File>);

impl EditFile {
    /// Adds what an edit did to the state after block `on`.
    pub fn append(&mut self, path: &Path, on: &B256, edit: &Edits) -> Result<(), ChainError> {
        let file = match &mut self.0 {
            Some(file) => file,
            None => {
                let mut file = File::create(path).map_err(ChainError::io(path))?;
                file.write_all(on.as_slice()).map_err(ChainError::io(path))?;
                self.0.insert(file)
            }
        };
        let payload = edit.to_bytes(true);
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        let mut record = Vec::with_capacity(RECORD_HEADER_BYTES + payload.len());
        record.extend_from_slice(&length.to_le_bytes());
        record.extend_from_slice(&crc32fast::hash(&payload).to_le_bytes());
        record.extend_from_slice(&payload);
        whole_or_not(file, |file| file.write_all(&record)).map_err(ChainError::io(path))
    }

    /// Forgets all edits, and keeps these instead.
    pub fn replace(&mut self, path: &Path, on: &B256, edits: &Edits) -> Result<(), ChainError> {
        if self.0.take().is_some() {
            remove(path)?;
        }
        if edits.is_empty() { Ok(()) } else { self.append(path, on, edits) }
    }

    /// Reads the edits of the state after block `on`, and continues with this file.
    pub fn open(path: &PathBuf, on: &B256) -> Result<(Self, Edits), ChainError> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Default::default()),
            Err(error) => return Err(ChainError::io(path)(error)),
        };
        let mut edits = Edits::default();
        if bytes.get(..HASH_BYTES) != Some(on.as_slice()) {
            // Of a block that is not the head any more: its edits are in the block after it.
            remove(path)?;
            return Ok(Default::default());
        }
        let mut rest = &bytes[HASH_BYTES..];
        while let Some((record, behind)) = split(rest) {
            edits.adopt(record);
            rest = behind;
        }
        let mut file = Self(None);
        let rewritten = path.with_extension("part");
        file.replace(&rewritten, on, &edits)?;
        if edits.is_empty() {
            remove(path)?;
        } else {
            std::fs::rename(&rewritten, path).map_err(ChainError::io(path))?;
        }
        Ok((file, edits))
    }
}

/// Writes a record, or none of it: a part of one would hide those that follow it.
fn whole_or_not(file: &mut File, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let end = file.stream_position()?;
    let written = write(file);
    if written.is_err() {
        let _ = file.set_len(end).and_then(|()| file.seek(SeekFrom::Start(end)));
    }
    written
}

/// The first record and what follows it; `None` where none stands there whole.
fn split(bytes: &[u8]) -> Option<(Edits, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (crc, rest) = rest.split_first_chunk::<4>()?;
    let payload = rest.get(..u32::from_le_bytes(*length) as usize)?;
    (crc32fast::hash(payload) == u32::from_le_bytes(*crc)).then_some(())?;
    Some((Edits::from_bytes(payload).ok()?, &rest[payload.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edits::AccountEdit;
    use alloy_primitives::{Address, Bytes, U256};
    use hearth_primitives::{Account, StateError, StateReader};

    /// A state without accounts.
    struct NoAccounts;

    impl StateReader for NoAccounts {
        fn account(&self, _: &Address) -> Result<Option<Account>, StateError> {
            Ok(None)
        }
        fn storage(&self, _: &Address, _: &U256) -> Result<U256, StateError> {
            Ok(U256::ZERO)
        }
        fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
            Err(StateError::MissingCode(*hash))
        }
        fn storage_of(&self, _: &Address) -> Result<Vec<(U256, U256)>, StateError> {
            Ok(Vec::new())
        }
    }

    fn balance(of: u8, wei: u64) -> Edits {
        let mut edits = Edits::default();
        let edit = AccountEdit { balance: Some(U256::from(wei)), ..AccountEdit::default() };
        edits.apply(Address::repeat_byte(of), &edit, &NoAccounts).unwrap()
    }

    #[test]
    fn edits_outlive_the_process_but_not_their_block() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edits");
        let (on, other) = (B256::repeat_byte(1), B256::repeat_byte(2));
        let mut file = EditFile::default();
        file.append(&path, &on, &balance(1, 5)).unwrap();
        file.append(&path, &on, &balance(1, 6)).unwrap();
        file.append(&path, &on, &balance(2, 7)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        let (mut file, edits) = EditFile::open(&path, &on).unwrap();
        assert_eq!(edits, balance(1, 6), "the last record is torn");
        file.append(&path, &on, &balance(3, 8)).unwrap();
        let (_, edits) = EditFile::open(&path, &on).unwrap();
        assert_eq!(edits.len(), 2);
        assert_eq!(EditFile::open(&path, &other).unwrap().1, Edits::default());
        assert!(!path.exists());
    }

    #[test]
    fn an_edit_that_fails_hides_no_later_one() {
        let dir = tempfile::tempdir().unwrap();
        let (path, on) = (dir.path().join("edits"), B256::repeat_byte(1));
        let mut file = EditFile::default();
        file.append(&path, &on, &balance(1, 5)).unwrap();
        // The disk is full in the middle of a record.
        let torn = whole_or_not(file.0.as_mut().unwrap(), |file| {
            file.write_all(&[7; 5])?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(torn.unwrap_err().kind(), io::ErrorKind::StorageFull);
        file.append(&path, &on, &balance(2, 7)).unwrap();
        let (_, edits) = EditFile::open(&path, &on).unwrap();
        let mut both = balance(1, 5);
        both.adopt(balance(2, 7));
        assert_eq!(edits, both);
    }
}
