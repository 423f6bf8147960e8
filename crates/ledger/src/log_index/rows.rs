//! Keys and values of the rows.

use super::bits::Bits;
use super::id::{BlockIds, LogId};
use crate::LedgerError;
use alloy_primitives::B256;
use hearth_flatkv::IndexWrite;
use hearth_primitives::{Height, Receipt};

/// First byte of rows of one block's ids.
const BLOCK: u8 = b'p';
/// First byte of posting rows.
const POSTINGS: u8 = b'l';
/// First byte of the rows that say that a page is merged.
const MERGED: u8 = b'm';
const VERSION: u8 = 1;

fn key(kind: u8, number: u64) -> Vec<u8> {
    [&[kind][..], &number.to_be_bytes()].concat()
}

pub(super) fn block_key(height: Height) -> Vec<u8> {
    key(BLOCK, height)
}

pub(super) fn merged_key(page: u64) -> Vec<u8> {
    key(MERGED, page)
}

pub(super) fn postings_key(id: LogId, page: u64) -> Vec<u8> {
    [&[POSTINGS][..], &id.0.to_be_bytes(), &page.to_be_bytes()].concat()
}

/// The number at the end of a key.
pub(super) fn number_of(key: &[u8]) -> Result<u64, LedgerError> {
    let number = key.last_chunk::<8>().ok_or(LedgerError::BadIndexRow("log"))?;
    Ok(u64::from_be_bytes(*number))
}

/// The row of a block that becomes canonical.
pub(crate) fn block_row(height: Height, hash: B256, receipts: &[Receipt]) -> IndexWrite {
    let BlockIds { ids } = BlockIds::of(receipts);
    let mut value = Vec::with_capacity(1 + 32 + 8 * ids.len());
    value.push(VERSION);
    value.extend_from_slice(hash.as_slice());
    ids.iter().for_each(|id| value.extend_from_slice(&id.0.to_be_bytes()));
    IndexWrite { key: block_key(height), value: Some(value) }
}

/// Hash and ids of a block's row.
pub(super) fn decode_block(row: &[u8]) -> Result<(B256, BlockIds), LedgerError> {
    const BAD: LedgerError = LedgerError::BadIndexRow("log ids of a block");
    let (version, rest) = row.split_first().ok_or(BAD)?;
    let (hash, ids) = rest.split_first_chunk::<32>().ok_or(BAD)?;
    if *version != VERSION || ids.len() % 8 != 0 {
        return Err(BAD);
    }
    let ids =
        ids.chunks_exact(8).map(|id| LogId(id.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))));
    Ok((B256::from(*hash), BlockIds { ids: ids.collect() }))
}

pub(super) fn decode_postings(row: &[u8]) -> Result<Bits, LedgerError> {
    Bits::decode(row).ok_or(LedgerError::BadIndexRow("log postings"))
}
