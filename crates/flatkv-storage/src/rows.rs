//! Keys and values of the rows in RocksDB.
//!
//! | family | key | value |
//! |---|---|---|
//! | account | address | height of last change, account |
//! | storage | address, slot | height of last change, value without leading zeros |
//! | code | hash | bytes |
//! | legacy | the caller's | height of last change, the caller's value |
//! | history | kind, key of the latest row, inverted height | the row's value from that height on;
//! empty: no row |
//! | changes | height | block, its changes with old values, old index rows |
//! | metadata | a name | see [`meta`] |
//!
//! Heights are 8 bytes big-endian.

use crate::{
    Head,
    codec::{Reader, RowChange, put_account, put_changes, put_rows},
    error::corrupt,
};
use alloy_primitives::{Address, B256, U256};
use hearth_primitives::{Account, AccountChange, Changeset, Height, StateError};

/// Names of the metadata rows.
pub mod meta {
    use hearth_metrics::DataDb;

    /// Format of the store, 4 bytes.
    pub const FORMAT: &[u8] = b"format";
    /// The commitment's name.
    pub const COMMITMENT: &[u8] = b"commitment";
    /// Height, hash and commitment of the head.
    pub const HEAD: &[u8] = b"head";
    /// Oldest height with history.
    pub const OLDEST: &[u8] = b"oldest";
    /// Height at and below which rows were pruned.
    pub const PRUNED: &[u8] = b"pruned";
    /// The lattice vector of all data DBs, which older versions wrote in place of [`lattice`].
    pub const LATTICE: &[u8] = b"lattice";

    /// The lattice vector of a data DB.
    pub fn lattice(db: DataDb) -> &'static [u8] {
        match db {
            DataDb::Account => b"lattice-account",
            DataDb::Code => b"lattice-code",
            DataDb::Storage => b"lattice-storage",
            DataDb::Legacy => b"lattice-legacy",
            DataDb::Metadata => b"lattice-metadata",
        }
    }

    /// Last WAL record that is known to be on disk.
    pub const SYNCED: &[u8] = b"synced";
    /// End positions of the joined tables in that record, 8 bytes each.
    pub const POSITIONS: &[u8] = b"positions";
    /// Up to which write of RocksDB there are rows of history up to a height; see `marks`.
    pub const MARKS: &[u8] = b"history-marks";
}

/// First byte of the history keys of its rows.
pub const ACCOUNT: u8 = b'a';
/// First byte of the history keys of its rows.
pub const STORAGE: u8 = b's';
/// First byte of the history keys of its rows.
pub const LEGACY: u8 = b'l';
const HEIGHT_BYTES: usize = 8;

/// Key of a latest storage row.
pub fn slot_key(address: &Address, slot: &U256) -> [u8; 52] {
    let mut key = [0; 52];
    key[..20].copy_from_slice(address.as_slice());
    key[20..].copy_from_slice(&slot.to_be_bytes::<32>());
    key
}

/// What every history row of an account begins with.
pub fn account_history(address: &Address) -> Vec<u8> {
    let mut key = Vec::with_capacity(29);
    key.push(ACCOUNT);
    key.extend_from_slice(address.as_slice());
    key
}

/// What every history row of a slot begins with.
pub fn slot_history(address: &Address, slot: &U256) -> Vec<u8> {
    slot_history_of(&slot_key(address, slot))
}

/// What every history row of the slot with this key begins with.
pub fn slot_history_of(key: &[u8; 52]) -> Vec<u8> {
    [&[STORAGE], key.as_slice()].concat()
}

/// What every history row of any slot of an account begins with.
pub fn storage_history(address: &Address) -> Vec<u8> {
    [&[STORAGE], address.as_slice()].concat()
}

/// Prefix of all history rows of one row of the data DB `legacy`. It starts with the length of the
/// key, so that the history rows of other keys are never between them.
pub fn legacy_history(key: &[u8]) -> Vec<u8> {
    [&[LEGACY], (key.len() as u32).to_be_bytes().as_slice(), key].concat()
}

/// Completes a history key: newer rows sort first.
pub fn at_height(mut prefix: Vec<u8>, height: Height) -> Vec<u8> {
    prefix.extend_from_slice(&(!height).to_be_bytes());
    prefix
}

/// History key of an account from a height on.
pub fn account_history_at(address: &Address, height: Height) -> [u8; 29] {
    let mut key = [ACCOUNT; 29];
    key[1..21].copy_from_slice(address.as_slice());
    key[21..].copy_from_slice(&(!height).to_be_bytes());
    key
}

/// History key of a slot from a height on.
pub fn slot_history_at(address: &Address, slot: &U256, height: Height) -> [u8; 61] {
    let mut key = [STORAGE; 61];
    key[1..53].copy_from_slice(&slot_key(address, slot));
    key[53..].copy_from_slice(&(!height).to_be_bytes());
    key
}

/// The part of a history key before the height, which is what its filters are made of.
pub fn history_prefix(key: &[u8]) -> &[u8] {
    &key[..key.len().saturating_sub(HEIGHT_BYTES)]
}

/// Height of a history key.
pub fn history_height(key: &[u8]) -> Result<Height, StateError> {
    let (_, height) = key.split_last_chunk::<HEIGHT_BYTES>().ok_or_else(|| corrupt("history"))?;
    Ok(!u64::from_be_bytes(*height))
}

/// Slot of a history key of storage.
pub fn history_slot(key: &[u8]) -> Result<U256, StateError> {
    let slot = key.get(21..53).ok_or_else(|| corrupt("history"))?;
    Ok(U256::from_be_slice(slot))
}

/// Height stamp of a latest row and its value.
pub fn split_stamp(row: &[u8]) -> Result<(Height, &[u8]), StateError> {
    let (stamp, value) = row.split_first_chunk::<HEIGHT_BYTES>().ok_or_else(|| corrupt("state"))?;
    Ok((Height::from_be_bytes(*stamp), value))
}

/// A latest row: stamp and value.
pub fn stamped(height: Height, value: &[u8]) -> Vec<u8> {
    [height.to_be_bytes().as_slice(), value].concat()
}

/// Value of an account row; never empty.
pub fn account_value(account: &Account) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    put_account(&mut out, account);
    out
}

/// Reads the value of an account row.
pub fn read_account(value: &[u8]) -> Result<Account, StateError> {
    let mut reader = Reader::new(value, "account");
    let account = reader.account()?;
    reader.end()?;
    Ok(account)
}

/// Value of a storage row; empty for zero, which is no row.
pub fn slot_value(value: &U256) -> Vec<u8> {
    value.to_be_bytes_trimmed_vec()
}

/// Reads the value of a storage row.
pub fn read_slot(value: &[u8]) -> Result<U256, StateError> {
    U256::try_from_be_slice(value).ok_or_else(|| corrupt("storage"))
}

/// Value of the head row.
pub fn head_value(head: &Head) -> Vec<u8> {
    let Head { height, hash, commitment } = head;
    [height.to_be_bytes().as_slice(), hash.as_slice(), commitment.as_slice()].concat()
}

/// Reads the head row.
pub fn read_head(value: &[u8]) -> Result<Head, StateError> {
    let mut reader = Reader::new(value, "head");
    let head = Head { height: reader.u64_be()?, hash: reader.b256()?, commitment: reader.b256()? };
    reader.end()?;
    Ok(head)
}

/// What the changes family keeps of a block: enough to unwind it.
pub struct BlockChanges {
    /// Hash of the block.
    pub hash: B256,
    /// Commitment after the block.
    pub commitment: B256,
    /// Its changes; empty for the first block of the store, which cannot be unwound.
    pub accounts: Vec<AccountChange>,
    /// Index rows it wrote, with the values before.
    pub index: Vec<RowChange>,
    /// Rows of the data DB `legacy` that it changed, with both values.
    pub legacy: Vec<RowChange>,
}

/// What a block changes in the data DBs.
#[derive(Clone, Copy)]
pub struct BlockRows<'a> {
    /// Accounts, slots and code.
    pub changes: &'a Changeset,
    /// Rows of the data DB `legacy`.
    pub legacy: &'a [RowChange],
}

/// A block's changed accounts and slots as both its WAL record and its row of the changes family
/// hold them.
pub struct EncodedChanges(Vec<u8>);

impl EncodedChanges {
    /// Encodes a changeset.
    pub fn of(changes: &Changeset) -> Self {
        let slots: usize = changes.accounts.iter().map(|change| change.storage.len()).sum();
        let mut out = Vec::with_capacity(16 + changes.accounts.len() * 80 + slots * 64);
        put_changes(&mut out, changes);
        Self(out)
    }

    /// The encoded bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Value of a row of the changes family.
pub fn changes_value(
    head: &Head,
    changes: &EncodedChanges,
    index: &[RowChange],
    legacy: &[RowChange],
) -> Vec<u8> {
    let mut out = Vec::with_capacity(128 + changes.bytes().len());
    out.extend_from_slice(head.hash.as_slice());
    out.extend_from_slice(head.commitment.as_slice());
    out.extend_from_slice(changes.bytes());
    put_rows(&mut out, index, false);
    // Rows of format 1 end here, and most blocks have none.
    if !legacy.is_empty() {
        put_rows(&mut out, legacy, true);
    }
    out
}

/// Reads a row of the changes family.
pub fn read_changes(value: &[u8]) -> Result<BlockChanges, StateError> {
    let mut reader = Reader::new(value, "changes");
    let mut row = BlockChanges {
        hash: reader.b256()?,
        commitment: reader.b256()?,
        accounts: reader.changes()?,
        index: reader.rows(false)?,
        legacy: Vec::new(),
    };
    if !reader.is_at_end() {
        row.legacy = reader.rows(true)?;
    }
    reader.end()?;
    Ok(row)
}

/// Reads the changed accounts of a row of the changes family, and nothing else of it.
pub fn read_changed_accounts(value: &[u8]) -> Result<Vec<AccountChange>, StateError> {
    let mut reader = Reader::new(value, "changes");
    reader.b256()?;
    reader.b256()?;
    reader.changes()
}
