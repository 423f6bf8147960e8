//! Reading what can be read of a damaged WAL.

use super::{
    record::{RECORD_HEADER_BYTES, RecordHead, SEGMENT_HEADER_BYTES, SegmentHeader, parse},
    scan::list,
};
use crate::FlatKvError;
use hearth_disk::Disk;
use std::path::Path;

/// A sound record.
#[derive(Clone, Debug)]
pub struct Salvaged {
    /// Its number.
    pub number: u64,
    /// What it says.
    pub head: RecordHead,
    /// All of it.
    pub payload: Vec<u8>,
}

/// Every sound record, in the order of their numbers, each once, whatever stands between them.
pub fn salvage(disk: &dyn Disk, dir: &Path) -> Result<Vec<Salvaged>, FlatKvError> {
    let mut found = Vec::new();
    for (_, path) in list(disk, dir)? {
        let bytes = disk.read(&path).map_err(FlatKvError::io(&path))?;
        // Without its header a segment's records cannot be distinguished from other bytes.
        let Some(header) = SegmentHeader::from_bytes(&bytes) else { continue };
        let mut at = SEGMENT_HEADER_BYTES;
        while at < bytes.len() {
            let record = parse(header.salt, &bytes[at..]);
            let head = record.and_then(|(number, payload)| {
                RecordHead::from_payload(payload).ok().map(|head| (number, head, payload))
            });
            match head {
                Some((number, head, payload)) => {
                    at += RECORD_HEADER_BYTES + payload.len();
                    found.push(Salvaged { number, head, payload: payload.to_vec() });
                }
                None => at += 1,
            }
        }
    }
    found.sort_by_key(|record| record.number);
    found.dedup_by_key(|record| record.number);
    Ok(found)
}
