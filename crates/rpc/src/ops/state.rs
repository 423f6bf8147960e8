//! Reads of accounts and storage.

use super::{Answer, null, quantity, short};
use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::{Address, B256, U256};
use hearth_home::{BlockRef, Home, JsonWriter, NodeError};
use hearth_primitives::{Account, StateError, StateReader as _};
use std::collections::BTreeMap;

/// Most slots of one `eth_getStorageValues` (go-ethereum's limit).
const MAX_STORAGE_VALUES: usize = 1_024;
/// Bytes of a word in JSON.
const WORD_BYTES: usize = 70;

pub(super) fn balance(home: &Home, address: &Address, block: Option<BlockRef>) -> Answer {
    balance_of(&home.reader(block)?.account(address)?.unwrap_or_default())
}

/// An account's balance.
pub(super) fn balance_of(account: &Account) -> Answer {
    short(|w| w.quantity_u256(&account.balance))
}

pub(super) fn code(home: &Home, address: &Address, block: Option<BlockRef>) -> Answer {
    let state = home.reader(block)?;
    let code = match state.account(address)?.filter(|account| account.has_code()) {
        Some(account) => state.code(&account.code_hash)?,
        None => Default::default(),
    };
    code_text(&code)
}

pub(super) fn code_by_hash(home: &Home, hash: &B256) -> Answer {
    match home.state_at(None)?.0.code(hash) {
        Ok(code) => code_text(&code),
        Err(StateError::MissingCode(_)) => null(),
        Err(error) => Err(error.into()),
    }
}

/// Code in hex.
pub(super) fn code_text(code: &[u8]) -> Answer {
    let mut writer = JsonWriter::with_capacity(code.len() * 2 + 4);
    writer.bytes(code);
    Ok(writer.into_bytes())
}

pub(super) fn storage_at(home: &Home, address: &Address, slot: &U256, block: Option<BlockRef>) -> Answer {
    word(&home.reader(block)?.storage(address, slot)?)
}

/// A slot's value, as 32 bytes.
pub(super) fn word(value: &U256) -> Answer {
    short(|w| w.bytes(&value.to_be_bytes::<32>()))
}

/// Slots of several accounts, by account.
pub(super) fn storage_values(
    home: &Home,
    requests: &BTreeMap<Address, Vec<B256>>,
    block: Option<BlockRef>,
) -> Answer {
    let count: usize = requests.values().map(Vec::len).sum();
    if count == 0 {
        return Err(NodeError::invalid_params("empty request"));
    }
    if count > MAX_STORAGE_VALUES {
        return Err(NodeError::ClientLimit { message: format!("too many slots (max {MAX_STORAGE_VALUES})") });
    }
    let state = home.reader(block)?;
    let mut writer = JsonWriter::with_capacity(count * WORD_BYTES + requests.len() * WORD_BYTES);
    writer.begin_object();
    for (address, slots) in requests {
        writer.address_key(address).begin_array();
        for slot in slots {
            let value = state.storage(address, &(*slot).into())?;
            writer.bytes(&value.to_be_bytes::<32>());
        }
        writer.end_array();
    }
    writer.end_object();
    Ok(writer.into_bytes())
}

pub(super) fn transaction_count(home: &Home, address: &Address, block: Option<BlockRef>) -> Answer {
    if block == Some(BlockId::Number(BlockNumberOrTag::Pending)) {
        return quantity(home.next_nonce(address)?);
    }
    let (state, _) = home.state_at(block)?;
    quantity(state.account(address)?.unwrap_or_default().nonce)
}
