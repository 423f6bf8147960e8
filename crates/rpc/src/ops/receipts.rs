//! Receipts.

use super::{Answer, blocks::check_length, null, transactions::pending_at};
use crate::json::{LogPlace, ReceiptPlace, write_receipt_with};
use alloy_primitives::B256;
use hearth_chain::fees;
use hearth_home::{BlockRef, Home, JsonWriter, NodeError};
use hearth_ledger::{StoredBlock, StoredReceipts};

/// Room for a receipt with a log or two, in bytes.
const RECEIPT_BYTES: usize = 2048;

/// Most logs, and most bytes of their data, of a receipt that is written on the caller's thread.
const SHORT_LOGS_MAX: usize = 16;
const SHORT_DATA_BYTES_MAX: usize = 4096;

pub(super) fn of_block(home: &Home, block: BlockRef) -> Answer {
    if let Some(pending) = pending_at(home, block)? {
        let (block, stored) = (pending.block(home.chain())?, pending.receipts());
        return all(home, Source { block: &block, stored: &stored, is_pending: true });
    }
    let Some(block) = home.block_by_ref(block)? else { return null() };
    let stored = home.receipts_of(&block)?;
    all(home, Source::new(&block, &stored))
}

/// All receipts of a block.
fn all(home: &Home, source: Source<'_>) -> Answer {
    let Source { block, stored, .. } = source;
    check_length(block, stored.receipts.len())?;
    let mut writer = JsonWriter::with_capacity(RECEIPT_BYTES * (stored.receipts.len() + 1));
    writer.begin_array();
    let mut cursor = Cursor::default();
    for index in 0..stored.receipts.len() {
        write_one(home, &mut writer, source, index, &cursor, |_| {})?;
        cursor.pass(stored, index);
    }
    writer.end_array();
    Ok(writer.into_bytes())
}

pub(super) fn of_transaction(home: &Home, hash: &B256) -> Answer {
    of_transaction_behind(home, hash, 0, 0)
}

/// The receipt of a transaction of a block whose receipts are in memory; `None` for one that has
/// more logs or more data than are written on the caller's thread.
pub(super) fn short(
    home: &Home,
    block: &StoredBlock,
    stored: &StoredReceipts,
    index: usize,
) -> Option<Answer> {
    let logs = stored.receipts.get(index)?.logs();
    let data: usize = logs.iter().map(|log| log.data.data.len()).sum();
    (logs.len() <= SHORT_LOGS_MAX && data <= SHORT_DATA_BYTES_MAX)
        .then(|| one(home, block, stored, index, Cursor::default()))
}

/// As [`of_transaction`], where so many transactions and logs stand before the block's first ones.
pub(super) fn of_transaction_behind(home: &Home, hash: &B256, transactions: u64, logs: u64) -> Answer {
    let Some((block, index)) = home.chain().reader().transaction(hash)? else { return null() };
    let stored = home.receipts_of(&block)?;
    one(home, &block, &stored, index, Cursor { transactions, logs, ..Cursor::default() })
}

/// One receipt, where `cursor` stands before the block's first one.
fn one(
    home: &Home,
    block: &StoredBlock,
    stored: &StoredReceipts,
    index: usize,
    mut cursor: Cursor,
) -> Answer {
    check_length(block, stored.receipts.len())?;
    (0..index).for_each(|before| cursor.pass(stored, before));
    let mut writer = JsonWriter::with_capacity(RECEIPT_BYTES);
    write_one(home, &mut writer, Source::new(block, stored), index, &cursor, |_| {})?;
    Ok(writer.into_bytes())
}

/// The receipts of some transactions of a block, by their places in ascending order, each with the
/// time of the block in seconds as the number `timestamp`.
pub(super) fn timed(home: &Home, block: &StoredBlock, places: &[usize]) -> Result<Vec<Vec<u8>>, NodeError> {
    let stored = home.receipts_of(block)?;
    check_length(block, stored.receipts.len())?;
    let (mut cursor, mut passed) = (Cursor::default(), 0);
    let time = block.block.header.timestamp.to_string();
    let mut texts = Vec::with_capacity(places.len());
    for &index in places {
        (passed..index).for_each(|before| cursor.pass(&stored, before));
        passed = index;
        let mut writer = JsonWriter::with_capacity(RECEIPT_BYTES);
        write_one(home, &mut writer, Source::new(block, &stored), index, &cursor, |w| {
            w.key("timestamp").raw(&time);
        })?;
        texts.push(writer.into_bytes());
    }
    Ok(texts)
}

/// A block and its receipts.
#[derive(Clone, Copy)]
struct Source<'a> {
    block: &'a StoredBlock,
    stored: &'a StoredReceipts,
    is_pending: bool,
}

impl<'a> Source<'a> {
    /// Of a block that is made.
    fn new(block: &'a StoredBlock, stored: &'a StoredReceipts) -> Self {
        Self { block, stored, is_pending: false }
    }
}

/// What the receipts before one add up to.
#[derive(Default)]
struct Cursor {
    /// Transactions before the block's first one.
    transactions: u64,
    gas: u64,
    logs: u64,
}

impl Cursor {
    fn pass(&mut self, stored: &StoredReceipts, index: usize) {
        if let Some(receipt) = stored.receipts.get(index) {
            self.gas = receipt.cumulative_gas_used();
            self.logs += receipt.logs().len() as u64;
        }
    }
}

fn write_one(
    home: &Home,
    writer: &mut JsonWriter,
    Source { block, stored, is_pending }: Source<'_>,
    index: usize,
    before: &Cursor,
    more: impl FnOnce(&mut JsonWriter),
) -> Result<(), NodeError> {
    let missing = || NodeError::Store { message: format!("block {} has no receipt {index}", block.hash) };
    let header = &block.block.header;
    let place = LogPlace {
        block_hash: &block.hash,
        number: header.number,
        timestamp: header.timestamp,
        tx_hash: block.tx_hashes.get(index).ok_or_else(missing)?,
        tx_index: before.transactions + index as u64,
    };
    let at = ReceiptPlace {
        place,
        tx: block.block.body.transactions.get(index).ok_or_else(missing)?,
        sender: stored.senders.get(index).ok_or_else(missing)?,
        gas_before: before.gas,
        logs_before: before.logs,
        base_fee: header.base_fee_per_gas,
        blob_gas_price: fees::blob_base_fee(home.chain().spec(), header),
        is_priced: !is_pending,
    };
    write_receipt_with(writer, stored.receipts.get(index).ok_or_else(missing)?, &at, more);
    Ok(())
}
