//! Receipts of native transactions.

use super::{Answer, null, receipts};
use crate::json::{LogPlace, log_members};
use alloy_primitives::{B256, Bloom};
use hearth_home::{Home, JsonWriter, NodeError};
use hearth_ledger::{StoredBlock, StoredNative, StoredSidecar};

/// Type of the receipt of a native transaction: higher than any of EIP-2718.
const NATIVE_TYPE: u64 = 0xffff_ffff;

/// Room for a receipt with a log or two, in bytes.
const RECEIPT_BYTES: usize = 2048;

/// The receipt of a native transaction that succeeded; of an Ethereum transaction as
/// eth_getTransactionReceipt, with indices that count the native transactions of its block.
pub(super) fn receipt(home: &Home, hash: &B256) -> Answer {
    let reader = home.chain().reader();
    let Some(place) = reader.native_place(hash)? else {
        let Some(place) = reader.transaction_place(hash)? else { return null() };
        let natives = reader.stored_sidecar(&place.hash)?.natives;
        let logs = natives.iter().map(|native| native.logs.len() as u64).sum();
        return receipts::of_transaction_behind(home, hash, natives.len() as u64, logs);
    };
    let block = home.stored(&place.hash)?;
    let sidecar = reader.stored_sidecar(&place.hash)?;
    let index = place.index as usize;
    let missing =
        || NodeError::Store { message: format!("block {} has no native transaction {index}", block.hash) };
    let native = sidecar.natives.get(index).ok_or_else(missing)?;
    if native.code != 0 {
        return null();
    }
    let decoded = hearth_cosmos::decode_included(&native.bytes, native.sender)
        .map_err(|error| NodeError::Store { message: format!("native transaction {hash}: {error}") })?;
    Ok(write_receipt(&block, &sidecar, (index, native), hash, decoded.transaction.gas_price))
}

fn write_receipt(
    block: &StoredBlock,
    sidecar: &StoredSidecar,
    (index, native): (usize, &StoredNative),
    hash: &B256,
    gas_price: u128,
) -> Vec<u8> {
    let before = sidecar.natives.iter().take(index);
    let (gas, logs) =
        before.fold((0, 0), |(gas, logs), native| (gas + native.gas_used, logs + native.logs.len() as u64));
    let header = &block.block.header;
    let place = LogPlace {
        block_hash: &block.hash,
        number: header.number,
        timestamp: header.timestamp,
        tx_hash: hash,
        tx_index: index as u64,
    };
    let mut w = JsonWriter::with_capacity(RECEIPT_BYTES);
    w.begin_object();
    w.key("blockHash").hash(&block.hash);
    w.key("blockNumber").quantity(header.number);
    w.key("contractAddress").null();
    w.key("cumulativeGasUsed").quantity(gas + native.gas_used);
    w.key("effectiveGasPrice").quantity_u128(gas_price);
    w.key("from").address(&native.sender);
    w.key("gasUsed").quantity(native.gas_used);
    w.key("logs").begin_array();
    for (number, log) in (logs..).zip(&native.logs) {
        w.begin_object();
        log_members(&mut w, log, &place, number, false);
        w.key("synthetic").bool(true).end_object();
    }
    w.end_array();
    let bloom: Bloom = native.logs.iter().collect();
    w.key("logsBloom").bytes(bloom.as_slice());
    w.key("status").quantity(1);
    w.key("to").null();
    w.key("transactionHash").hash(hash);
    w.key("transactionIndex").quantity(place.tx_index);
    w.key("type").quantity(NATIVE_TYPE);
    w.end_object();
    w.into_bytes()
}
