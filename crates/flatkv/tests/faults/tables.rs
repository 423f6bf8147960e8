//! A joined table on a real file: fixed records, each with a checksum.

use alloy_primitives::B256;
use hearth_flatkv::JoinedTables;
use hearth_primitives::{Height, StateError};
use std::{
    collections::HashSet,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};

const RECORD_BYTES: u64 = 48;

/// Blocks by height and hash, in the order in which they were appended.
pub struct FileTables {
    file: File,
    /// Bytes from the start that are sound records. Behind a bad record nothing counts: of what was
    /// not synced a later sector may be on the disk and an earlier one not.
    sound: AtomicU64,
}

fn record(height: Height, hash: &B256) -> [u8; RECORD_BYTES as usize] {
    let mut record = [0; RECORD_BYTES as usize];
    record[..8].copy_from_slice(&height.to_be_bytes());
    record[8..40].copy_from_slice(hash.as_slice());
    let check = record[..40].chunks_exact(8).fold(0x517c_c1b7_2722_0a95_u64, |sum, part| {
        let word = u64::from_le_bytes(part.try_into().unwrap());
        (sum.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    record[40..].copy_from_slice(&check.to_le_bytes());
    record
}

/// Reads a sound record.
fn parse(bytes: &[u8]) -> Option<(Height, B256)> {
    let (height, hash) = (Height::from_be_bytes(*bytes.first_chunk()?), B256::from_slice(&bytes[8..40]));
    (record(height, &hash) == bytes).then_some((height, hash))
}

impl FileTables {
    /// Opens or makes the table of a home; its name is durable then.
    pub fn open(home: &Path) -> io::Result<Arc<Self>> {
        let path = home.join("table");
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
        File::open(home)?.sync_all()?;
        if let Some(above) = home.parent() {
            File::open(above)?.sync_all()?;
        }
        let bytes = fs::read(&path)?;
        let sound =
            bytes.chunks_exact(RECORD_BYTES as usize).take_while(|bytes| parse(bytes).is_some()).count();
        Ok(Arc::new(Self { file, sound: AtomicU64::new(sound as u64 * RECORD_BYTES) }))
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Appends a block; gives the position behind it.
    pub fn append(&self, height: Height, hash: &B256) -> io::Result<Vec<u64>> {
        let end = self.len()?;
        if let Err(error) = self.file.write_all_at(&record(height, hash), end) {
            let _ = self.file.set_len(end);
            return Err(error);
        }
        self.sound.store(end + RECORD_BYTES, SeqCst);
        Ok(vec![end + RECORD_BYTES])
    }

    /// The sound records of a home's table.
    pub fn blocks(home: &Path) -> HashSet<(Height, B256)> {
        let bytes = fs::read(home.join("table")).unwrap_or_default();
        bytes.chunks_exact(RECORD_BYTES as usize).filter_map(parse).collect()
    }
}

fn failed(error: io::Error) -> StateError {
    StateError::Store(format!("table: {error}"))
}

impl JoinedTables for FileTables {
    fn verify(&self, positions: &[u64]) -> Result<bool, StateError> {
        let sound = self.sound.load(SeqCst);
        Ok(positions.iter().all(|position| position.is_multiple_of(RECORD_BYTES) && *position <= sound))
    }

    fn truncate(&self, positions: &[u64]) -> Result<(), StateError> {
        let keep = positions.first().copied().unwrap_or(0);
        if self.len().map_err(failed)? > keep {
            self.file.set_len(keep).map_err(failed)?;
            self.sound.fetch_min(keep, SeqCst);
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), StateError> {
        self.file.sync_data().map_err(failed)
    }

    fn positions(&self) -> Vec<u64> {
        vec![self.len().unwrap_or(0)]
    }
}
