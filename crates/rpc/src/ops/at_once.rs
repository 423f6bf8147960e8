//! Short reads on the caller's thread: all their data is in memory. They never wait for a disk or
//! wake another thread, which takes many times as long as the read itself.

use super::{Answer, chain, cosmos, quantity, receipts, send, state, transactions};
use crate::Request;
use alloy_primitives::B256;
use hearth_chain::StateAt;
use hearth_home::{BlockNumber, BlockRef, Home};
use hearth_ledger::{StoredBlock, StoredReceipts};
use std::sync::Arc;

/// Longest transaction whose sender is recovered on the caller's thread, in bytes.
const SENDER_BYTES_MAX: usize = 4096;

/// Most transactions of a head's block among which one is looked up by its hash.
const HEAD_TRANSACTIONS_MAX: usize = 256;

/// The answer if it is available at once; `None` for everything else. Failures are reported on the
/// ordinary path.
pub(crate) fn at_once(home: &Home, request: &Request) -> Option<Vec<u8>> {
    answer(home, request)?.ok()
}

fn answer(home: &Home, request: &Request) -> Option<Answer> {
    match request {
        Request::ChainId => Some(chain::chain_id(home)),
        Request::NetVersion => Some(chain::net_version(home)),
        Request::Syncing => Some(chain::syncing()),
        Request::BlockNumber => Some(quantity(head(home)?.number())),
        Request::GetBalance { address, block } => {
            let account = head_state(home, *block)?.account_in_memory(address)?;
            Some(state::balance_of(&account))
        }
        Request::GetTransactionCount { address, block } => {
            let account = head_state(home, *block)?.account_in_memory(address)?;
            Some(quantity(account.nonce))
        }
        Request::GetStorageAt { address, slot, block } => {
            let value = head_state(home, *block)?.slot_in_memory(address, slot)?;
            Some(state::word(&value))
        }
        Request::GetCode { address, block } => {
            let state = head_state(home, *block)?;
            let account = state.account_in_memory(address)?;
            Some(state::code_text(&state.code_in_memory(&account.code_hash)?))
        }
        // Clients that send a transaction to a chain that mines it at once read it next.
        Request::GetTransactionByHash { hash } => {
            let (block, stored, index) = head_transaction(home, hash)?;
            transactions::short(&block, &stored.senders, index)
        }
        Request::GetTransactionReceipt { hash } => {
            let (block, stored, index) = head_transaction(home, hash)?;
            receipts::short(home, &block, &stored, index)
        }
        // A redirect waits for the sender: no other thread is woken for so short a computation.
        Request::SenderOf { raw } if raw.len() <= SENDER_BYTES_MAX => {
            Some(send::sender_of(raw, home.chain().next_chain_id().get()))
        }
        Request::Cosmos(request) => cosmos::at_once(home, request),
        _ => None,
    }
}

/// The head's block; it is kept decoded from its commit on.
fn head(home: &Home) -> Option<Arc<StoredBlock>> {
    home.chain().reader().block_in_memory(&home.chain().head().hash)
}

/// The head's block with its receipts, and the place of a transaction in it.
fn head_transaction(home: &Home, hash: &B256) -> Option<(Arc<StoredBlock>, Arc<StoredReceipts>, usize)> {
    let block = head(home)?;
    if block.tx_hashes.len() > HEAD_TRANSACTIONS_MAX {
        return None;
    }
    let index = block.tx_hashes.iter().position(|known| known == hash)?;
    let stored = home.chain().reader().receipts_in_memory(&block.hash)?;
    Some((block, stored, index))
}

/// The state of a block that a request means by a tag.
fn head_state(home: &Home, block: Option<BlockRef>) -> Option<StateAt> {
    match block.unwrap_or_default() {
        BlockRef::Number(BlockNumber::Latest) => home.chain().state_at_once(head(home)?.number()),
        BlockRef::Number(BlockNumber::Safe | BlockNumber::Finalized) if home.final_is_head() => {
            home.chain().state_at_once(head(home)?.number())
        }
        _ => None,
    }
}
