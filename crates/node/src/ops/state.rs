//! Reads of accounts and storage.

use super::{Answer, quantity, short};
use crate::{BlockRef, OpenHome, json::JsonWriter};
use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::{Address, U256};
use hearth_primitives::StateReader;

pub(super) fn balance(home: &OpenHome, address: &Address, block: Option<BlockRef>) -> Answer {
    let (state, _) = home.state_at(block)?;
    let account = state.account(address)?.unwrap_or_default();
    short(|w| w.quantity_u256(&account.balance))
}

pub(super) fn code(home: &OpenHome, address: &Address, block: Option<BlockRef>) -> Answer {
    let (state, _) = home.state_at(block)?;
    let code = match state.account(address)?.filter(|account| account.has_code()) {
        Some(account) => state.code(&account.code_hash)?,
        None => Default::default(),
    };
    let mut writer = JsonWriter::with_capacity(code.len() * 2 + 4);
    writer.bytes(&code);
    Ok(writer.into_bytes())
}

pub(super) fn storage_at(home: &OpenHome, address: &Address, slot: &U256, block: Option<BlockRef>) -> Answer {
    let (state, _) = home.state_at(block)?;
    let value = state.storage(address, slot)?;
    short(|w| w.bytes(&value.to_be_bytes::<32>()))
}

pub(super) fn transaction_count(home: &OpenHome, address: &Address, block: Option<BlockRef>) -> Answer {
    let (state, _) = home.state_at(block)?;
    let nonce = state.account(address)?.unwrap_or_default().nonce;
    let pending = block == Some(BlockId::Number(BlockNumberOrTag::Pending));
    quantity(if pending { home.pool().next_nonce(address, nonce) } else { nonce })
}
