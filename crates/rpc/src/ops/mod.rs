//! One small function an operation: typed arguments in, JSON bytes out.

mod access_list;
mod account_search;
mod at_once;
mod bad_blocks;
mod block_logs;
mod blocks;
mod build_block;
mod chain;
mod config;
mod cosmos;
mod dev;
mod failed;
mod fee_defaults;
mod fees;
mod headers;
mod log_ahead;
mod logs;
mod native;
mod proof;
mod raw;
mod receipts;
mod roots;
pub(crate) mod send;
mod simulate;
mod simulate_blocks;
mod state;
mod storage_range;
mod transactions;
mod txpool;
mod wallet;
mod witness;

pub(crate) use at_once::at_once;
pub(crate) use blocks::check_length;
pub(crate) use log_ahead::{Ahead, Candidate};

use crate::{Request, Rpc};
use hearth_home::{JsonWriter, NodeError};
use hearth_tracers::Cancel;
use simulate::Simulated;

/// What an operation gives: the JSON bytes of its result.
pub(crate) type Answer = Result<Vec<u8>, NodeError>;

/// Runs a request; long work ends early where `stop` is set.
pub(crate) fn answer(rpc: &Rpc, request: Request, stop: &Cancel) -> Answer {
    let home = &*rpc.home;
    if home.config().read_only && request.writes() {
        return Err(NodeError::ReadOnly);
    }
    match request {
        Request::Read(reading) => reading.answer(home),
        Request::Engine(request) => rpc.engine()?.answer(request),
        Request::Consensus(request) => Ok(rpc.consensus()?.answer(request)),
        Request::Cosmos(request) => cosmos::answer(home, request),
        Request::Dev(request) => dev::answer(home, request, stop),
        Request::BlockNumber => chain::block_number(home),
        Request::ChainId => chain::chain_id(home),
        Request::NetVersion => chain::net_version(home),
        Request::Syncing => chain::syncing(),
        Request::GasPrice => fees::gas_price(home),
        Request::MaxPriorityFeePerGas => fees::max_priority_fee_per_gas(home),
        Request::BaseFee => fees::base_fee(home),
        Request::BlobBaseFee => fees::blob_base_fee(home),
        Request::FeeHistory { block_count, newest_block, reward_percentiles } => {
            let percentiles = reward_percentiles.unwrap_or_default();
            fees::fee_history(home, block_count.to(), newest_block, &percentiles, stop)
        }
        Request::GetBalance { address, block } => state::balance(home, &address, block),
        Request::GetCode { address, block } => state::code(home, &address, block),
        Request::GetCodeByHash { hash } => state::code_by_hash(home, &hash),
        Request::GetStorageAt { address, slot, block } => state::storage_at(home, &address, &slot, block),
        Request::GetStorageValues { requests, block } => state::storage_values(home, &requests, block),
        Request::GetProof { address, slots, block } => proof::of_account(home, &address, &slots, block),
        Request::GetTransactionCount { address, block } => state::transaction_count(home, &address, block),
        Request::GetBlockByNumber { block, full } => blocks::by_number(home, block, full),
        Request::GetBlockByHash { hash, full } => blocks::by_hash(home, &hash, full),
        Request::GetBlockId { block } => blocks::id(home, block),
        Request::BlockRewards { hash } => blocks::rewards(home, &hash),
        Request::GetBlockTransactionCountByNumber { block } => {
            blocks::transaction_count_by_number(home, block)
        }
        Request::GetBlockTransactionCountByHash { hash } => blocks::transaction_count_by_hash(home, &hash),
        Request::GetBlockReceipts { block } => receipts::of_block(home, block),
        Request::GetTransactionByHash { hash } => transactions::by_hash(home, &hash),
        Request::GetTransactionByBlockNumberAndIndex { block, index } => {
            transactions::by_number_and_index(home, block, index.to())
        }
        Request::GetTransactionByBlockHashAndIndex { hash, index } => {
            transactions::by_hash_and_index(home, &hash, index.to())
        }
        Request::GetTransactionReceipt { hash } => receipts::of_transaction(home, &hash),
        Request::GetLogs { filter } => logs::get(home, &filter, stop),
        Request::Call { transaction, block, state_overrides, block_overrides } => {
            simulate::call(home, &Simulated { transaction, block, state_overrides, block_overrides }, stop)
        }
        Request::EstimateGas { transaction, block, state_overrides, block_overrides } => {
            let asked = Simulated { transaction, block, state_overrides, block_overrides };
            simulate::estimate_gas(home, &asked, stop)
        }
        Request::CreateAccessList { transaction, block, state_overrides } => {
            access_list::create(home, &transaction, block, state_overrides.as_ref(), stop)
        }
        Request::AccountTransactions(asked) => account_search::transactions(&rpc.traces, &asked, stop),
        Request::ContractCreation { address, block, max_blocks } => {
            let asked = account_search::Creation { address: &address, block, max_blocks };
            account_search::creation(&rpc.traces, &asked, stop)
        }
        Request::SenderTransaction { address, nonce, max_blocks } => {
            account_search::by_sender(&rpc.traces, &address, nonce.to(), max_blocks, stop)
        }
        Request::Config => config::of_forks(home),
        Request::Capabilities => config::capabilities(home),
        Request::SimulateV1 { options, block } => simulate_blocks::v1(home, &options, block, stop),
        Request::SendRawTransaction { transaction } => send::raw_transaction(home, &transaction, None),
        Request::GetHeaderByNumber { block } => headers::by_number(home, block),
        Request::GetHeaderByHash { hash } => headers::by_hash(home, &hash),
        Request::GetUncleCount { block } => headers::uncle_count(home, block),
        Request::GetUncle { block, index } => headers::uncle(home, block, index.to()),
        Request::GetRawTransactionByIndex { block, index } => transactions::raw_at(home, block, index.to()),
        Request::HeadNotice { hash } => headers::notice(home, &hash),
        Request::BlockLogs { hash, filter, removed } => block_logs::of_block(home, &hash, &filter, removed),
        Request::PendingTransaction { hash } => transactions::as_pending(home, &hash),
        Request::SenderOf { raw } => send::sender_of(&raw, home.chain().next_chain_id().get()),
        Request::Keccak { data } => short(|w| w.hash(&alloy_primitives::keccak256(&data))),
        Request::Accounts => wallet::accounts(home),
        Request::SignDigest { account, digest } => wallet::sign_digest(home, &account, &digest),
        Request::FillTransaction { transaction } => wallet::fill(home, transaction, stop),
        Request::SignTransaction { transaction } => wallet::sign(home, transaction, stop),
        Request::SendTransaction { transaction } => wallet::send(home, transaction, stop),
        Request::BuildBlock { parent, attributes, transactions, extra_data } => {
            build_block::build(home, build_block::Asked { parent, attributes, transactions, extra_data })
        }
        Request::TxpoolStatus => txpool::status(home),
        Request::TxpoolContent => txpool::content(home),
        Request::TxpoolInspect => txpool::inspect(home),
        Request::TxpoolContentFrom { address } => txpool::content_from(home, &address),
        Request::GetRawBlock { block } => raw::block(home, block),
        Request::GetRawHeader { block } => raw::header(home, block),
        Request::GetRawReceipts { block } => raw::receipts(home, block),
        Request::GetRawTransaction { hash } => raw::transaction(home, &hash),
        Request::GetBadBlocks => bad_blocks::list(home),
        Request::IntermediateRoots { hash } => roots::intermediate(home, &hash, stop),
        Request::ExecutionWitness { block, legacy } => witness::of_block(home, block, legacy),
        Request::StorageRangeAt { block, tx_index, address, key_start, max_result } => {
            let max_slots = usize::try_from(max_result.to::<u64>()).unwrap_or(usize::MAX);
            let tx_index = tx_index.to();
            let range = storage_range::StoragePage { block, tx_index, address, start: &key_start, max_slots };
            storage_range::at(&rpc.traces, &range, stop)
        }
    }
}

/// Room for a short answer, in bytes.
const SHORT_ANSWER_BYTES: usize = 112;

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
