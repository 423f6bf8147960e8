//! Short reads on the caller's thread: all their data is in memory. They never wait for a disk or
//! wake another thread, which takes many times as long as the read itself.

use super::{Answer, chain, cosmos, quantity, send, state};
use crate::Request;
use hearth_chain::StateAt;
use hearth_home::{BlockNumber, BlockRef, Home};
use hearth_ledger::StoredBlock;
use std::sync::Arc;

/// Longest transaction whose sender is recovered on the caller's thread, in bytes.
const SENDER_BYTES_MAX: usize = 4096;

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
