//! Blocks on demand, and their replacement.

use super::Site;
use crate::{
    ops::{Answer, blocks, null, send, wallet},
    request::{MineRequest, ReorgTransaction},
};
use alloy_consensus::crypto::RecoveryError;
use alloy_primitives::{U64, U256, map::HashMap};
use hearth_dev_chain::{BLOCKS_MAX, BranchTransaction, Steps};
use hearth_evm::recover_pooled;
use hearth_home::{BlockNumber, JsonWriter, NodeError, return_unused_memory};
use hearth_primitives::{Height, StateReader as _};
use std::ops::RangeInclusive;

/// Blocks of a request from which on the memory that making them took is returned to the system.
const MANY_BLOCKS: u64 = 512;
/// Most blocks of one answer.
const DETAILED_MAX: u64 = 1_000;
/// Most transactions of one reorganisation.
const REORG_TRANSACTIONS_MAX: usize = 10_000;

/// Makes blocks; their heights.
pub(super) fn mine(
    site: &Site<'_>,
    asked: &MineRequest,
) -> Result<Option<RangeInclusive<Height>>, NodeError> {
    let count = asked.count.map_or(1, |count| count.to::<u64>());
    if count > BLOCKS_MAX {
        let message = format!("{count} blocks are too many: at most {BLOCKS_MAX} are made at once");
        return Err(NodeError::invalid_params(message));
    }
    if let Some(time) = asked.timestamp.filter(|_| count > 0) {
        site.controlled(site.dev.set_clock(|clock, head| clock.set_next(time.to(), head)))?;
    }
    let interval = asked.interval.map(|interval| interval.to::<u64>());
    if let Some(interval) = interval {
        // The last block's time must be one that a block can have.
        let whole = interval.saturating_mul(count);
        site.controlled(site.dev.set_clock(|clock, head| {
            let mut ahead = *clock;
            ahead.increase(whole, head).map(drop)
        }))?;
    }
    let steps = Steps { interval, first: asked.first };
    let mined = site.chained(site.dev.mine_blocks(count, steps, &|| site.stop.is_cancelled()));
    if count >= MANY_BLOCKS {
        return_unused_memory();
    }
    mined
}

/// Makes blocks; the blocks with their transactions.
pub(super) fn mine_detailed(site: &Site<'_>, asked: &MineRequest) -> Answer {
    if asked.count.is_some_and(|count| count > U64::from(DETAILED_MAX)) {
        let message = format!("at most {DETAILED_MAX} blocks are made and returned at once");
        return Err(NodeError::invalid_params(message));
    }
    let heights = mine(site, asked)?;
    let mut writer = JsonWriter::default();
    writer.begin_array();
    for height in heights.into_iter().flatten() {
        let block = blocks::by_number(site.home, BlockNumber::Number(height), true)?;
        writer.raw(&String::from_utf8_lossy(&block));
    }
    writer.end_array();
    Ok(writer.into_bytes())
}

pub(super) fn set_min_gas_price(site: &Site<'_>, price: U256) -> Answer {
    if site.home.head()?.block.header.base_fee_per_gas.is_some() {
        let words = "anvil_setMinGasPrice is not supported when EIP-1559 is active";
        return Err(NodeError::invalid_params(words));
    }
    site.dev.set_next(|next| next.min_gas_price = price);
    null()
}

/// Replaces the last blocks.
pub(super) fn reorg(site: &Site<'_>, depth: u64, given: Vec<ReorgTransaction>) -> Answer {
    if given.len() > REORG_TRANSACTIONS_MAX {
        let message = format!("at most {REORG_TRANSACTIONS_MAX} transactions are put into one branch");
        return Err(NodeError::invalid_params(message));
    }
    let transactions = branch(site, depth, given)?;
    site.controlled(site.dev.reorg(depth, transactions)).and_then(|()| null())
}

/// The transactions with their senders; nonces that are left open follow those of the block at
/// which the branch begins.
fn branch(
    site: &Site<'_>,
    depth: u64,
    given: Vec<ReorgTransaction>,
) -> Result<Vec<BranchTransaction>, NodeError> {
    let chain = site.home.chain();
    let fork = chain.state_at(chain.head().height.saturating_sub(depth).max(chain.base()))?;
    let mut next = HashMap::<_, u64>::default();
    let mut transactions = Vec::with_capacity(given.len());
    for (index, ReorgTransaction { raw, transaction, block }) in given.into_iter().enumerate() {
        let wrong = |why: String| NodeError::invalid_params(format!("transaction {index}: {why}"));
        let (transaction, sender) = match (raw, transaction) {
            (Some(raw), None) => {
                let pooled = send::decode(&raw).map_err(|error| wrong(error.to_string()))?;
                let sender =
                    recover_pooled(&pooled).ok_or_else(|| wrong(RecoveryError::new().to_string()))?;
                (hearth_pool::strip_sidecar(pooled), sender)
            }
            (None, Some(mut request)) => {
                let sender = request.from.unwrap_or_default();
                let nonce = match (request.nonce, next.get(&sender)) {
                    (Some(nonce), _) => nonce.to(),
                    (None, Some(nonce)) => *nonce,
                    (None, None) => fork.account(&sender)?.unwrap_or_default().nonce,
                };
                request.nonce = Some(U64::from(nonce));
                next.insert(sender, nonce.saturating_add(1));
                (wallet::unsigned(site.home, request, site.stop)?, sender)
            }
            _ => return Err(wrong("takes either bytes or fields".to_owned())),
        };
        transactions.push(BranchTransaction { transaction, sender, block: block.to() });
    }
    Ok(transactions)
}
