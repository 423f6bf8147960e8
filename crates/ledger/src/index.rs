//! Keys and values of the canonical index rows. Rows of other components must begin with other
//! letters.
//!
//! | key | value |
//! |---|---|
//! | `n` number BE 8 | block hash 32 |
//! | `t` transaction hash 32 | block number BE 8, block hash 32, index in the block BE 4 |
//! | `x` SHA-256 of a native transaction 32 | as of `t`, with the index among the block's native
//! transactions |
//!
//! `p`, `l`, `m` and `f` are the log index's, `P`, `L`, `M` and `F` the address index's, see
//! [`crate::posting_index`].

use crate::LedgerError;
use alloy_primitives::B256;
use hearth_primitives::Height;

/// First byte of `number -> hash` rows.
pub const NUMBER: u8 = b'n';
/// First byte of `transaction -> place` rows.
pub const TRANSACTION: u8 = b't';

/// First byte of `native transaction -> place` rows.
pub const NATIVE: u8 = b'x';

/// Where a canonical transaction lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxPlace {
    /// Number of its block.
    pub number: Height,
    /// Hash of its block.
    pub hash: B256,
    /// Its index in the block, from 0.
    pub index: u32,
}

/// Key of the row of a height.
pub fn number_key(number: Height) -> Vec<u8> {
    [&[NUMBER][..], &number.to_be_bytes()].concat()
}

/// Key of the row of a transaction.
pub fn transaction_key(hash: &B256) -> Vec<u8> {
    [&[TRANSACTION][..], hash.as_slice()].concat()
}

/// Key of the row of a native transaction.
pub fn native_key(hash: &B256) -> Vec<u8> {
    [&[NATIVE][..], hash.as_slice()].concat()
}

pub(crate) fn encode_place(place: &TxPlace) -> Vec<u8> {
    [&place.number.to_be_bytes()[..], place.hash.as_slice(), &place.index.to_be_bytes()].concat()
}

pub(crate) fn decode_place(row: &[u8]) -> Result<TxPlace, LedgerError> {
    const BAD: LedgerError = LedgerError::BadIndexRow("transaction");
    let (number, rest) = row.split_first_chunk::<8>().ok_or(BAD)?;
    let (hash, rest) = rest.split_first_chunk::<32>().ok_or(BAD)?;
    let index = rest.try_into().map_err(|_| BAD)?;
    Ok(TxPlace {
        number: u64::from_be_bytes(*number),
        hash: B256::from(*hash),
        index: u32::from_be_bytes(index),
    })
}

pub(crate) fn decode_hash(row: &[u8]) -> Result<B256, LedgerError> {
    B256::try_from(row).map_err(|_| LedgerError::BadIndexRow("number"))
}
