//! Blocks and the numbers of their transactions.

use super::{Answer, null, quantity, short};
use crate::json::{BlockParts, write_block, write_pending_block};
use alloy_primitives::{B256, U256};
use hearth_evm::{BlockEnvironment, block_rewards};
use hearth_home::{BlockNumber, Home, JsonWriter, NodeError};
use hearth_ledger::StoredBlock;
use std::sync::Arc;

pub(super) fn by_number(home: &Home, block: BlockNumber, full: bool) -> Answer {
    if let Some(pending) = home.pending_by_number(block)? {
        let block = pending.block(home.chain())?;
        let parts = parts(&block);
        let mut writer = JsonWriter::with_capacity(parts.json_capacity(full));
        write_pending_block(&mut writer, &parts, full.then_some(pending.senders()));
        return Ok(writer.into_bytes());
    }
    render(home, home.block_by_number(block)?, full)
}

pub(super) fn by_hash(home: &Home, hash: &B256, full: bool) -> Answer {
    render(home, home.block_by_hash(hash)?, full)
}

/// `{"number":…,"hash":…}`, for clients that read blocks one by one.
pub(super) fn id(home: &Home, block: BlockNumber) -> Answer {
    let Some(block) = home.block_by_number(block)? else { return null() };
    short(|w| {
        w.begin_object().key("number").quantity(block.number()).key("hash").hash(&block.hash).end_object()
    })
}

/// `{"block":…,"ommers":…}` in wei: nothing for the genesis, and nothing since the merge.
pub(super) fn rewards(home: &Home, hash: &B256) -> Answer {
    let Some(block) = home.block_by_hash(hash)? else { return null() };
    let environment = BlockEnvironment::from_header(home.chain().spec(), &block.block.header);
    let (own, ommers) = match environment.prev_randao.is_some() || block.number() == 0 {
        true => (U256::ZERO, Vec::new()),
        false => block_rewards(&environment, &block.block.body.ommers),
    };
    let ommers: U256 = ommers.into_iter().map(|(_, reward)| reward).sum();
    short(|w| {
        w.begin_object().key("block").quantity_u256(&own).key("ommers").quantity_u256(&ommers).end_object()
    })
}

pub(super) fn transaction_count_by_number(home: &Home, block: BlockNumber) -> Answer {
    if let Some(pending) = home.pending_by_number(block)? {
        return quantity(pending.senders().len() as u64);
    }
    count(home.block_by_number(block)?)
}

pub(super) fn transaction_count_by_hash(home: &Home, hash: &B256) -> Answer {
    count(home.block_by_hash(hash)?)
}

fn count(block: Option<Arc<StoredBlock>>) -> Answer {
    block.map_or_else(null, |block| quantity(block.tx_hashes.len() as u64))
}

fn render(home: &Home, block: Option<Arc<StoredBlock>>, full: bool) -> Answer {
    let Some(block) = block else { return null() };
    let parts = parts(&block);
    let mut writer = JsonWriter::with_capacity(parts.json_capacity(full));
    if full && !block.tx_hashes.is_empty() {
        let receipts = home.receipts_of(&block)?;
        check_length(&block, receipts.senders.len())?;
        write_block(&mut writer, &parts, Some(&receipts.senders));
    } else {
        write_block(&mut writer, &parts, None);
    }
    Ok(writer.into_bytes())
}

fn parts(block: &StoredBlock) -> BlockParts<'_> {
    BlockParts {
        block: &block.block,
        hash: &block.hash,
        size: block.size,
        tx_hashes: &block.tx_hashes,
        ommer_hashes: &block.ommer_hashes,
    }
}

/// Zipping would cut silently what does not fit together.
pub(crate) fn check_length(block: &StoredBlock, have: usize) -> Result<(), NodeError> {
    let want = block.tx_hashes.len();
    if have == want {
        return Ok(());
    }
    let message = format!("block {}: {want} transactions but {have} receipts", block.hash);
    Err(NodeError::Store { message })
}
