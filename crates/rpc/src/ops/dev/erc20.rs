//! Balances and allowances of tokens: the slot that holds one is found by trying.

use super::{Site, slot_edit};
use crate::ops::{Answer, access_list, null, simulate};
use alloy_primitives::{Address, B256, Bytes, U256, hex, keccak256};
use hearth_evm::{CallRequest, StateOverrides};
use hearth_home::NodeError;
use serde::Deserialize;

/// What is set of a token.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entry {
    /// An account's balance.
    BalanceOf(Address),
    /// What the second may spend of the first one's.
    Allowance(Address, Address),
}

impl Entry {
    fn name(self) -> &'static str {
        match self {
            Self::BalanceOf(_) => "balance",
            Self::Allowance(..) => "allowance",
        }
    }

    /// The call that reads it.
    fn call(self) -> Bytes {
        let (signature, accounts) = match self {
            Self::BalanceOf(account) => ("balanceOf(address)", vec![account]),
            Self::Allowance(owner, spender) => ("allowance(address,address)", vec![owner, spender]),
        };
        let mut data = keccak256(signature)[..4].to_vec();
        accounts.iter().for_each(|account| data.extend(account.into_word()));
        data.into()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    access_list: Vec<Touched>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Touched {
    address: Address,
    storage_keys: Vec<B256>,
}

/// Sets an entry: of the slots that reading it touches, the one whose value is what is read.
pub(super) fn set(site: &Site<'_>, token: Address, entry: Entry, value: U256) -> Answer {
    let request = CallRequest { to: Some(token), input: Some(entry.call()), ..CallRequest::default() };
    let bad = |error: &dyn std::fmt::Display| NodeError::Internal { message: error.to_string() };
    let list = access_list::create(site.home, &request, None, None, site.stop)?;
    let Listed { access_list } = serde_json::from_slice(&list).map_err(|error| bad(&error))?;
    // A value that nothing else has, so that a slot is not taken for the right one by chance.
    let probe: U256 = U256::from_be_bytes(keccak256(entry.call()).0) >> 129_usize;
    for Touched { address, storage_keys } in access_list {
        for slot in storage_keys {
            let overrides = serde_json::json!({ address.to_string(): { "stateDiff": { slot.to_string(): B256::from(probe) } } });
            let overrides: StateOverrides = serde_json::from_value(overrides).map_err(|error| bad(&error))?;
            let asked = simulate::Simulated {
                transaction: request.clone(),
                block: None,
                state_overrides: Some(overrides),
                block_overrides: None,
            };
            // A call that fails with this value in this slot says that it is another one.
            let Ok(read) = simulate::call(site.home, &asked, site.stop) else { continue };
            let text = String::from_utf8_lossy(&read);
            let read = hex::decode(text.trim_matches('"')).unwrap_or_default();
            if read.get(..32) == Some(probe.to_be_bytes::<32>().as_slice()) {
                let edit = slot_edit(slot.into(), value);
                return site.chained(site.dev.edit(&[(address, edit)])).and_then(|()| null());
            }
        }
    }
    let message = format!("Unable to set ERC20 {}, no slot found", entry.name());
    Err(NodeError::ExecutionFailed { source: message.into() })
}
