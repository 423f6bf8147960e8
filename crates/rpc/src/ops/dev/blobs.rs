//! Blobs of waiting and mined transactions, in anvil's shapes.

use crate::ops::{Answer, null};
use alloy_consensus::Transaction as _;
use alloy_primitives::B256;
use hearth_home::{Home, JsonWriter};
use hearth_pool::PoolEntry;
use std::sync::Arc;

/// Bytes of a blob in JSON.
const BLOB_JSON_BYTES: usize = 2 * 131_072 + 8;

/// The blobs of a transaction, or `null` where it has none or they are not kept any more.
pub(super) fn of_transaction(home: &Home, hash: &B256) -> Answer {
    let waiting = home.pool().get(hash).filter(|entry| entry.has_blobs());
    let mined = || home.dev().and_then(|dev| dev.mined_blobs().get(hash));
    let Some(entry) = waiting.or_else(mined) else { return null() };
    let mut writer = JsonWriter::with_capacity(entry.blobs().len() * BLOB_JSON_BYTES);
    writer.begin_array();
    entry.blobs().iter().for_each(|blob| {
        writer.bytes(blob.as_slice());
    });
    writer.end_array();
    Ok(writer.into_bytes())
}

/// A blob by its versioned hash, or `null` where it is not kept.
pub(super) fn by_hash(home: &Home, versioned_hash: &B256) -> Answer {
    let mined = home.dev().and_then(|dev| dev.mined_blobs().with_blob(versioned_hash));
    let waiting = || home.pool().entries().into_iter().find(|entry| place(entry, versioned_hash).is_some());
    let entry: Option<Arc<PoolEntry>> = mined.or_else(waiting);
    let found = entry.as_ref().and_then(|entry| entry.blobs().get(place(entry, versioned_hash)?));
    let Some(blob) = found else { return null() };
    let mut writer = JsonWriter::with_capacity(BLOB_JSON_BYTES);
    writer.bytes(blob.as_slice());
    Ok(writer.into_bytes())
}

/// Which of its blobs has this hash.
fn place(entry: &PoolEntry, versioned_hash: &B256) -> Option<usize> {
    entry.transaction.blob_versioned_hashes()?.iter().position(|hash| hash == versioned_hash)
}
