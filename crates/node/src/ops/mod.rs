//! One small function an operation: typed arguments in, JSON bytes out.

mod blocks;
mod chain;
mod fees;
mod logs;
mod raw;
mod receipts;
mod send;
mod simulate;
mod state;
mod transactions;

pub(crate) use fees::TipOracle;

use crate::{Node, NodeError, Request, json::JsonWriter};
use simulate::Simulated;

/// What an operation gives: the JSON bytes of its result.
pub(crate) type Answer = Result<Vec<u8>, NodeError>;

/// Runs a request.
pub(crate) fn answer(node: &Node, request: Request) -> Answer {
    match request {
        Request::BlockNumber => chain::block_number(node),
        Request::ChainId => chain::chain_id(node),
        Request::NetVersion => chain::net_version(node),
        Request::Syncing => chain::syncing(),
        Request::GasPrice => fees::gas_price(node),
        Request::MaxPriorityFeePerGas => fees::max_priority_fee_per_gas(node),
        Request::BaseFee => fees::base_fee(node),
        Request::BlobBaseFee => fees::blob_base_fee(node),
        Request::FeeHistory { block_count, newest_block, reward_percentiles } => {
            fees::fee_history(node, block_count.to(), newest_block, &reward_percentiles.unwrap_or_default())
        }
        Request::GetBalance { address, block } => state::balance(node, &address, block),
        Request::GetCode { address, block } => state::code(node, &address, block),
        Request::GetStorageAt { address, slot, block } => state::storage_at(node, &address, &slot, block),
        Request::GetTransactionCount { address, block } => state::transaction_count(node, &address, block),
        Request::GetBlockByNumber { block, full } => blocks::by_number(node, block, full),
        Request::GetBlockByHash { hash, full } => blocks::by_hash(node, &hash, full),
        Request::GetBlockTransactionCountByNumber { block } => {
            blocks::transaction_count_by_number(node, block)
        }
        Request::GetBlockTransactionCountByHash { hash } => blocks::transaction_count_by_hash(node, &hash),
        Request::GetBlockReceipts { block } => receipts::of_block(node, block),
        Request::GetTransactionByHash { hash } => transactions::by_hash(node, &hash),
        Request::GetTransactionByBlockNumberAndIndex { block, index } => {
            transactions::by_number_and_index(node, block, index.to())
        }
        Request::GetTransactionByBlockHashAndIndex { hash, index } => {
            transactions::by_hash_and_index(node, &hash, index.to())
        }
        Request::GetTransactionReceipt { hash } => receipts::of_transaction(node, &hash),
        Request::GetLogs { filter } => logs::get(node, &filter),
        Request::Call { transaction, block, state_overrides, block_overrides } => {
            simulate::call(node, &Simulated { transaction, block, state_overrides, block_overrides })
        }
        Request::EstimateGas { transaction, block, state_overrides, block_overrides } => {
            simulate::estimate_gas(node, &Simulated { transaction, block, state_overrides, block_overrides })
        }
        Request::SendRawTransaction { transaction } => send::raw_transaction(node, &transaction),
        Request::GetRawBlock { block } => raw::block(node, block),
        Request::GetRawHeader { block } => raw::header(node, block),
        Request::GetRawReceipts { block } => raw::receipts(node, block),
        Request::GetRawTransaction { hash } => raw::transaction(node, &hash),
    }
}

/// Room for a short answer, in bytes.
const SHORT_ANSWER_BYTES: usize = 80;

/// A short answer.
fn short(write: impl FnOnce(&mut JsonWriter) -> &mut JsonWriter) -> Answer {
    let mut writer = JsonWriter::with_capacity(SHORT_ANSWER_BYTES);
    write(&mut writer);
    Ok(writer.into_bytes())
}

/// A number.
fn quantity(value: u64) -> Answer {
    short(|w| w.quantity(value))
}

/// `null`.
fn null() -> Answer {
    Ok(b"null".to_vec())
}
