//! Transactions, on the chain and in the pool.

use super::{Answer, null};
use crate::json::{Inclusion, write_transaction};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256};
use hearth_home::{BlockNumber, BlockRef, Home, JsonWriter, NodeError, PendingBlock};
use hearth_ledger::StoredBlock;
use std::sync::Arc;

/// Room for a transaction without its input, in bytes.
const TRANSACTION_BYTES: usize = 1024;

/// Longest transaction that is written on the caller's thread, in bytes of its encoding (EIP-2718).
const SHORT_BYTES_MAX: usize = 4096;

pub(super) fn by_hash(home: &Home, hash: &B256) -> Answer {
    if let Some((block, index)) = home.chain().reader().transaction(hash)? {
        return render(home, &block, index);
    }
    let Some(entry) = home.pool().get(hash) else { return null() };
    let mut writer = JsonWriter::with_capacity(TRANSACTION_BYTES + entry.bytes * 2);
    write_transaction(&mut writer, &entry.transaction, &entry.hash, &entry.sender, None);
    Ok(writer.into_bytes())
}

/// A transaction of a block whose senders are in memory; `None` for one that is longer than those
/// that are written on the caller's thread.
pub(super) fn short(block: &StoredBlock, senders: &[Address], index: usize) -> Option<Answer> {
    let tx = block.block.body.transactions.get(index)?;
    (tx.encode_2718_len() <= SHORT_BYTES_MAX).then(|| render_in(block, senders, index))
}

pub(super) fn by_number_and_index(home: &Home, block: BlockNumber, index: u64) -> Answer {
    if let Some(pending) = home.pending_by_number(block)? {
        let block = pending.block(home.chain())?;
        let Some(index) = place(&block, index) else { return null() };
        return render_in(&block, pending.senders(), index);
    }
    at_index(home, home.block_by_number(block)?, index)
}

/// A transaction in the form of a pending one, even if it is mined now; `null` if it is neither on
/// the chain nor in the pool.
pub(super) fn as_pending(home: &Home, hash: &B256) -> Answer {
    let mut writer = JsonWriter::with_capacity(TRANSACTION_BYTES);
    if let Some(entry) = home.pool().get(hash) {
        write_transaction(&mut writer, &entry.transaction, &entry.hash, &entry.sender, None);
        return Ok(writer.into_bytes());
    }
    let Some((block, index)) = home.chain().reader().transaction(hash)? else { return null() };
    let senders = home.senders_of(&block)?;
    let Some((tx, sender)) = block.block.body.transactions.get(index).zip(senders.get(index)) else {
        return null();
    };
    write_transaction(&mut writer, tx, hash, sender, None);
    Ok(writer.into_bytes())
}

/// The bytes of a transaction by its place; none where there is none.
pub(super) fn raw_at(home: &Home, block: BlockRef, index: u64) -> Answer {
    let block = match pending_at(home, block)? {
        Some(pending) => Some(pending.block(home.chain())?),
        None => home.block_by_ref(block)?,
    };
    let found = block.as_ref().and_then(|block| Some((block, place(block, index)?)));
    let bytes =
        found.and_then(|(block, index)| Some(block.block.body.transactions.get(index)?.encoded_2718()));
    let mut writer = JsonWriter::default();
    writer.bytes(&bytes.unwrap_or_default());
    Ok(writer.into_bytes())
}

/// The pending block, where a reference means it and there is one.
pub(super) fn pending_at(home: &Home, block: BlockRef) -> Result<Option<Arc<PendingBlock>>, NodeError> {
    match block {
        BlockRef::Number(number) => home.pending_by_number(number),
        BlockRef::Hash(_) => Ok(None),
    }
}

fn place(block: &StoredBlock, index: u64) -> Option<usize> {
    usize::try_from(index).ok().filter(|index| *index < block.tx_hashes.len())
}

pub(super) fn by_hash_and_index(home: &Home, hash: &B256, index: u64) -> Answer {
    at_index(home, home.block_by_hash(hash)?, index)
}

fn at_index(home: &Home, block: Option<Arc<StoredBlock>>, index: u64) -> Answer {
    match block.as_ref().and_then(|block| place(block, index).map(|index| (block, index))) {
        Some((block, index)) => render(home, block, index),
        None => null(),
    }
}

fn render(home: &Home, block: &StoredBlock, index: usize) -> Answer {
    render_in(block, &home.receipts_of(block)?.senders, index)
}

pub(super) fn render_in(block: &StoredBlock, senders: &[Address], index: usize) -> Answer {
    let missing = || NodeError::Store { message: format!("block {} has no transaction {index}", block.hash) };
    let tx = block.block.body.transactions.get(index).ok_or_else(missing)?;
    let sender = senders.get(index).ok_or_else(missing)?;
    let hash = block.tx_hashes.get(index).ok_or_else(missing)?;
    let header = &block.block.header;
    let inclusion = Inclusion {
        block_hash: &block.hash,
        number: header.number,
        timestamp: header.timestamp,
        index: index as u64,
        base_fee: header.base_fee_per_gas,
    };
    let input = alloy_consensus::Transaction::input(tx).len();
    let mut writer = JsonWriter::with_capacity(TRANSACTION_BYTES + input * 2);
    write_transaction(&mut writer, tx, hash, sender, Some(&inclusion));
    Ok(writer.into_bytes())
}
