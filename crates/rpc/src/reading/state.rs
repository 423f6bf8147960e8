//! Many keys of one state.

use super::{MAX_KEYS, packed::Packed};
use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256};
use hearth_home::{BlockRef, Home, NodeError};
use hearth_primitives::StateReader as _;

/// Bytes of an account.
const ACCOUNT_BYTES: usize = 1 + 8 + 32 + 32;

fn within(keys: usize) -> Result<(), NodeError> {
    if keys <= MAX_KEYS {
        return Ok(());
    }
    Err(NodeError::LimitExceeded {
        message: format!("{keys} keys in one request, at most {MAX_KEYS} are allowed"),
    })
}

pub(super) fn accounts(home: &Home, block: BlockRef, addresses: &[Address]) -> Result<Vec<u8>, NodeError> {
    within(addresses.len())?;
    let (state, _) = home.state_at(Some(block))?;
    let mut packed = Packed::with_capacity(addresses.len() * ACCOUNT_BYTES);
    for found in state.accounts(addresses)? {
        let account = found.unwrap_or_default();
        packed.flag(found.is_some()).u64(account.nonce).word(&account.balance).hash(&account.code_hash);
    }
    Ok(packed.into_bytes())
}

pub(super) fn slots(
    home: &Home,
    block: BlockRef,
    address: &Address,
    slots: &[U256],
) -> Result<Vec<u8>, NodeError> {
    within(slots.len())?;
    let (state, _) = home.state_at(Some(block))?;
    let keys: Vec<_> = slots.iter().map(|slot| (*address, *slot)).collect();
    let mut packed = Packed::with_capacity(slots.len() * 32);
    for value in state.slots(&keys)? {
        packed.word(&value);
    }
    Ok(packed.into_bytes())
}

pub(super) fn code(home: &Home, hash: &B256) -> Result<Vec<u8>, NodeError> {
    // Accounts without code have this hash, and no row.
    if *hash == KECCAK256_EMPTY {
        return Ok(Vec::new());
    }
    let Some(state) = home.chain().reader().latest() else { return Err(NodeError::HeaderNotFound) };
    Ok(state.code(hash)?.to_vec())
}
