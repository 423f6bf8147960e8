//! Receipts and logs.

use super::effective_gas_price;
use alloy_consensus::{Eip658Value, Transaction as _, TxReceipt, Typed2718};
use alloy_primitives::{Address, B256, Log};
use hearth_home::JsonWriter;
use hearth_primitives::{Receipt, Transaction};

/// Where a log stands.
#[derive(Clone, Copy, Debug)]
pub struct LogPlace<'a> {
    /// Hash of its block.
    pub block_hash: &'a B256,
    /// Height of its block.
    pub number: u64,
    /// Time of its block, in seconds.
    pub timestamp: u64,
    /// Hash of its transaction.
    pub tx_hash: &'a B256,
    /// Place of its transaction in the block.
    pub tx_index: u64,
}

/// What a receipt's JSON needs beside the receipt.
#[derive(Clone, Copy, Debug)]
pub struct ReceiptPlace<'a> {
    /// Where its logs stand.
    pub place: LogPlace<'a>,
    /// The transaction.
    pub tx: &'a Transaction,
    /// Its sender.
    pub sender: &'a Address,
    /// Gas used by the transactions before it.
    pub gas_before: u64,
    /// Number of logs in the block before it.
    pub logs_before: u64,
    /// Base fee of its block, in wei; `None` before London.
    pub base_fee: Option<u64>,
    /// Price of blob gas in its block, in wei; `None` before Cancun.
    pub blob_gas_price: Option<u128>,
    /// Whether the price that the transaction paid is named: receipts of the pending block have
    /// none in go-ethereum (core/state_processor.go: MakeReceipt).
    pub is_priced: bool,
}

/// Writes a log as an element; `index` is its place among the logs of the block.
pub fn write_log(w: &mut JsonWriter, log: &Log, place: &LogPlace<'_>, index: u64) {
    write_log_as(w, log, place, index, false);
}

/// As [`write_log`]; `removed`: its block left the chain.
pub fn write_log_as(w: &mut JsonWriter, log: &Log, place: &LogPlace<'_>, index: u64, removed: bool) {
    w.begin_object();
    log_members(w, log, place, index, removed);
    w.end_object();
}

/// Writes the members of a log's object.
pub fn log_members(w: &mut JsonWriter, log: &Log, place: &LogPlace<'_>, index: u64, removed: bool) {
    w.key("address").address(&log.address);
    w.key("topics").begin_array();
    log.topics().iter().for_each(|topic| {
        w.hash(topic);
    });
    w.end_array();
    w.key("data").bytes(&log.data.data);
    w.key("blockNumber").quantity(place.number);
    w.key("transactionHash").hash(place.tx_hash);
    w.key("transactionIndex").quantity(place.tx_index);
    w.key("blockHash").hash(place.block_hash);
    w.key("blockTimestamp").quantity(place.timestamp);
    w.key("logIndex").quantity(index);
    w.key("removed").bool(removed);
}

/// Writes a receipt.
pub fn write_receipt(w: &mut JsonWriter, receipt: &Receipt, at: &ReceiptPlace<'_>) {
    write_receipt_with(w, receipt, at, |_| {});
}

/// As [`write_receipt`], with more members at the end.
pub fn write_receipt_with(
    w: &mut JsonWriter,
    receipt: &Receipt,
    at: &ReceiptPlace<'_>,
    more: impl FnOnce(&mut JsonWriter),
) {
    let (place, tx, sender) = (&at.place, at.tx, at.sender);
    w.begin_object();
    w.key("blockHash").hash(place.block_hash);
    w.key("blockNumber").quantity(place.number);
    w.key("contractAddress");
    match tx.to() {
        None => w.address(&sender.create(tx.nonce())),
        Some(_) => w.null(),
    };
    w.key("cumulativeGasUsed").quantity(receipt.cumulative_gas_used());
    w.key("effectiveGasPrice");
    if at.is_priced {
        w.quantity_u128(effective_gas_price(tx, at.base_fee));
    } else {
        w.null();
    }
    w.key("from").address(sender);
    w.key("gasUsed").quantity(receipt.cumulative_gas_used().saturating_sub(at.gas_before));
    if let Some(used) = tx.blob_gas_used() {
        w.key("blobGasUsed").quantity(used);
        w.key("blobGasPrice").quantity_u128(at.blob_gas_price.unwrap_or_default());
    }
    w.key("logs").begin_array();
    for (index, log) in receipt.logs().iter().enumerate() {
        write_log(w, log, place, at.logs_before + index as u64);
    }
    w.end_array();
    w.key("logsBloom").bytes(receipt.bloom().as_slice());
    match receipt.status_or_post_state() {
        Eip658Value::Eip658(success) => w.key("status").quantity(success.into()),
        Eip658Value::PostState(root) => w.key("root").hash(&root),
    };
    w.key("to").optional_address(tx.to().as_ref());
    w.key("transactionHash").hash(place.tx_hash);
    w.key("transactionIndex").quantity(place.tx_index);
    w.key("type").quantity(tx.ty().into());
    more(w);
    w.end_object();
}
