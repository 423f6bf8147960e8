//! Headers, ommers, and the notification of a new head.

use super::{Answer, null, quantity};
use crate::json::write_header_fields;
use alloy_primitives::{B256, Bloom};
use alloy_rlp::Encodable as _;
use hearth_home::{BlockNumber, BlockRef, Home, JsonWriter};
use hearth_ledger::StoredBlock;
use hearth_primitives::{Block, Header};
use std::sync::Arc;

/// Room for a header, in bytes.
const HEADER_BYTES: usize = 2048;

pub(super) fn by_number(home: &Home, block: BlockNumber) -> Answer {
    match home.pending_by_number(block)? {
        Some(pending) => {
            let block = pending.block(home.chain())?;
            object(|w| write_header_fields(w, &block.block.header, None))
        }
        None => render(home.block_by_number(block)?),
    }
}

pub(super) fn by_hash(home: &Home, hash: &B256) -> Answer {
    render(home.block_by_hash(hash)?)
}

fn render(block: Option<Arc<StoredBlock>>) -> Answer {
    let Some(block) = block else { return null() };
    object(|w| write_header_fields(w, &block.block.header, Some(&block.hash)))
}

fn object(write: impl FnOnce(&mut JsonWriter)) -> Answer {
    let mut w = JsonWriter::with_capacity(HEADER_BYTES);
    w.begin_object();
    write(&mut w);
    w.end_object();
    Ok(w.into_bytes())
}

pub(super) fn uncle_count(home: &Home, block: BlockRef) -> Answer {
    home.block_by_ref(block)?.map_or_else(null, |block| quantity(block.ommer_hashes.len() as u64))
}

/// An ommer as a block without transactions; `null` where there is none.
pub(super) fn uncle(home: &Home, block: BlockRef, index: u64) -> Answer {
    let Some(block) = home.block_by_ref(block)? else { return null() };
    let place = usize::try_from(index).unwrap_or(usize::MAX);
    let ommer = block.block.body.ommers.get(place).zip(block.ommer_hashes.get(place));
    let Some((header, hash)) = ommer else { return null() };
    object(|w| {
        write_header_fields(w, header, Some(hash));
        w.key("size").quantity(bare(header).length() as u64);
        w.key("uncles").begin_array().end_array();
    })
}

/// A block of nothing but a header.
fn bare(header: &Header) -> Block {
    Block { header: header.clone(), body: Default::default() }
}

/// The header of a block of any branch, as subscribers to new heads get it: go-ethereum's own
/// header, in which fields that a fork does not have are `null`.
pub(super) fn notice(home: &Home, hash: &B256) -> Answer {
    let Some(block) = home.block_by_hash(hash)? else { return null() };
    let header = &block.block.header;
    let mut w = JsonWriter::with_capacity(HEADER_BYTES);
    w.begin_object();
    write_header_fields(&mut w, header, Some(hash));
    for (absent, key) in [
        (header.base_fee_per_gas.is_none(), "baseFeePerGas"),
        (header.withdrawals_root.is_none(), "withdrawalsRoot"),
        (header.blob_gas_used.is_none(), "blobGasUsed"),
        (header.excess_blob_gas.is_none(), "excessBlobGas"),
        (header.parent_beacon_block_root.is_none(), "parentBeaconBlockRoot"),
        (header.requests_hash.is_none(), "requestsHash"),
    ] {
        if absent {
            w.key(key).null();
        }
    }
    w.end_object();
    Ok(w.into_bytes())
}

/// Whether a block with this bloom may have logs: a bloom of zeros has none.
pub(super) fn has_logs(bloom: &Bloom) -> bool {
    !bloom.is_zero()
}
