//! Keys and values of the rows.

use super::bits::Bits;
use super::id::{BlockIds, IndexId};
use super::kind::IndexKind;
use crate::LedgerError;
use alloy_primitives::B256;
use hearth_flatkv::IndexWrite;
use hearth_primitives::Height;

const VERSION: u8 = 1;

/// Keys of one index.
impl IndexKind {
    /// Key of the ids of one block.
    pub(super) fn block_key(self, height: Height) -> Vec<u8> {
        key(self.letters().block, height)
    }

    /// Key of the mark of a merged page.
    pub(super) fn merged_key(self, page: u64) -> Vec<u8> {
        key(self.letters().merged, page)
    }

    /// Key of the heights of an id in a page.
    pub(super) fn postings_key(self, id: IndexId, page: u64) -> Vec<u8> {
        [&[self.letters().postings][..], &id.0.to_be_bytes(), &page.to_be_bytes()].concat()
    }

    /// Key of the lowest page that is kept.
    pub(super) fn floor_key(self) -> Vec<u8> {
        vec![self.letters().floor]
    }

    /// The row of a block that becomes canonical.
    pub(super) fn block_row(self, height: Height, hash: B256, block: &BlockIds) -> IndexWrite {
        let mut value = Vec::with_capacity(1 + 32 + 8 * block.ids.len());
        value.push(VERSION);
        value.extend_from_slice(hash.as_slice());
        block.ids.iter().for_each(|id| value.extend_from_slice(&id.0.to_be_bytes()));
        IndexWrite { key: self.block_key(height), value: Some(value) }
    }

    /// Hash and ids of a block's row.
    pub(super) fn decode_block(self, row: &[u8]) -> Result<(B256, BlockIds), LedgerError> {
        let bad = || LedgerError::BadIndexRow(self.letters().block_row);
        let (version, rest) = row.split_first().ok_or_else(bad)?;
        let (hash, ids) = rest.split_first_chunk::<32>().ok_or_else(bad)?;
        if *version != VERSION || ids.len() % 8 != 0 {
            return Err(bad());
        }
        let id = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let ids = ids.chunks_exact(8).map(|bytes| IndexId(id(bytes))).collect();
        Ok((B256::from(*hash), BlockIds { ids }))
    }

    /// Heights of a row of an id and a page.
    pub(super) fn decode_postings(self, row: &[u8]) -> Result<Bits, LedgerError> {
        Bits::decode(row).ok_or(LedgerError::BadIndexRow(self.letters().postings_row))
    }
}

fn key(kind: u8, number: u64) -> Vec<u8> {
    [&[kind][..], &number.to_be_bytes()].concat()
}

/// The number at the end of a key.
pub(super) fn number_of(key: &[u8]) -> Result<u64, LedgerError> {
    let number = key.last_chunk::<8>().ok_or(LedgerError::BadIndexRow("index key"))?;
    Ok(u64::from_be_bytes(*number))
}
