//! Transactions, on the chain and in the pool.

use super::{Answer, null};
use crate::{
    BlockNumber, NodeError, OpenHome,
    json::{Inclusion, JsonWriter, write_transaction},
};
use alloy_primitives::B256;
use hearth_ledger::StoredBlock;
use std::sync::Arc;

/// Room for a transaction without its input, in bytes.
const TRANSACTION_BYTES: usize = 1024;

pub(super) fn by_hash(home: &OpenHome, hash: &B256) -> Answer {
    if let Some((block, index)) = home.chain().ledger().transaction(hash)? {
        return render(home, &block, index);
    }
    let Some(entry) = home.pool().get(hash) else { return null() };
    let mut writer = JsonWriter::with_capacity(TRANSACTION_BYTES + entry.bytes * 2);
    write_transaction(&mut writer, &entry.transaction, &entry.hash, &entry.sender, None);
    Ok(writer.into_bytes())
}

pub(super) fn by_number_and_index(home: &OpenHome, block: BlockNumber, index: u64) -> Answer {
    at_index(home, home.block_by_number(block)?, index)
}

pub(super) fn by_hash_and_index(home: &OpenHome, hash: &B256, index: u64) -> Answer {
    at_index(home, home.block_by_hash(hash)?, index)
}

fn at_index(home: &OpenHome, block: Option<Arc<StoredBlock>>, index: u64) -> Answer {
    let place = |block: &StoredBlock| usize::try_from(index).ok().filter(|i| *i < block.tx_hashes.len());
    match block.as_ref().and_then(|block| place(block).map(|index| (block, index))) {
        Some((block, index)) => render(home, block, index),
        None => null(),
    }
}

fn render(home: &OpenHome, block: &StoredBlock, index: usize) -> Answer {
    let receipts = home.receipts_of(block)?;
    let missing = || NodeError::Store { message: format!("block {} has no transaction {index}", block.hash) };
    let tx = block.block.body.transactions.get(index).ok_or_else(missing)?;
    let sender = receipts.senders.get(index).ok_or_else(missing)?;
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
