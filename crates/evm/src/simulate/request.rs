//! The call object of JSON-RPC and what it means.

use super::CallError;
use crate::tx_env::recover_authorization;
use alloy_eips::{eip2930::AccessList, eip7702::SignedAuthorization};
use alloy_primitives::{Address, B256, Bytes, TxKind, U64, U256};
use revm::{context::TxEnv, context_interface::either::Either};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// Gas of a message where neither the request nor the node names any; of `eth_call` it is more.
const UNLIMITED_GAS: u64 = u64::MAX / 2;

/// A call as clients send it. Quantities are wei and gas; every field may be absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CallRequest {
    /// Sender; the zero address where absent.
    pub from: Option<Address>,
    /// Recipient; absent to create a contract.
    pub to: Option<Address>,
    /// Gas limit.
    pub gas: Option<U64>,
    /// Price of a transaction without EIP-1559.
    pub gas_price: Option<U256>,
    /// Fee cap (EIP-1559).
    pub max_fee_per_gas: Option<U256>,
    /// Priority fee (EIP-1559).
    pub max_priority_fee_per_gas: Option<U256>,
    /// Value sent.
    pub value: Option<U256>,
    /// Nonce; not checked in a call.
    pub nonce: Option<U64>,
    /// Call data under its old name.
    pub data: Option<Bytes>,
    /// Call data; counts where both are there.
    pub input: Option<Bytes>,
    /// Access list (EIP-2930).
    pub access_list: Option<AccessList>,
    /// Chain id, which must be this chain's.
    pub chain_id: Option<U256>,
    /// Blob fee cap (EIP-4844).
    pub max_fee_per_blob_gas: Option<U256>,
    /// Hashes of blobs (EIP-4844).
    pub blob_versioned_hashes: Option<Vec<B256>>,
    /// Authorizations (EIP-7702).
    pub authorization_list: Option<Vec<SignedAuthorization>>,
}

/// A call with its defaults filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Sender.
    pub from: Address,
    /// Recipient; `None` to create a contract.
    pub to: Option<Address>,
    /// Gas limit.
    pub gas: u64,
    /// Price that the call pays: what `GASPRICE` gives.
    pub gas_price: U256,
    /// Fee cap.
    pub fee_cap: U256,
    /// Priority fee.
    pub tip: U256,
    /// Value sent.
    pub value: U256,
    /// Nonce; not checked.
    pub nonce: u64,
    /// Call data.
    pub data: Bytes,
    /// Access list.
    pub access_list: AccessList,
    /// Blob fee cap, where blobs are there.
    pub blob_fee_cap: Option<U256>,
    /// Hashes of blobs.
    pub blob_hashes: Option<Vec<B256>>,
    /// Authorizations.
    pub authorizations: Option<Vec<SignedAuthorization>>,
}

impl CallRequest {
    /// Fills in defaults. `base_fee` is that of the block, `None` before London. `gas_cap` is the
    /// node's limit, `None` without one.
    ///
    /// # Errors
    /// [`CallError`] if fields contradict each other.
    pub fn message(
        &self,
        base_fee: Option<u64>,
        chain_id: u64,
        gas_cap: Option<NonZeroU64>,
    ) -> Result<Message, CallError> {
        if self.gas_price.is_some()
            && (self.max_fee_per_gas.is_some() || self.max_priority_fee_per_gas.is_some())
        {
            return Err(CallError::BothFeeStyles);
        }
        if let Some(have) = self.chain_id.filter(|have| *have != U256::from(chain_id)) {
            return Err(CallError::ChainId { have, want: chain_id });
        }
        let gas = self.gas.map(|gas| gas.to::<u64>());
        let gas = match gas_cap.map(NonZeroU64::get) {
            None => gas.unwrap_or(UNLIMITED_GAS),
            Some(cap) => gas.map_or(cap, |gas| gas.min(cap)),
        };
        let (gas_price, fee_cap, tip) = self.prices(base_fee);
        let blob_fee_cap =
            self.max_fee_per_blob_gas.or(self.blob_versioned_hashes.as_ref().map(|_| U256::ZERO));
        Ok(Message {
            from: self.from.unwrap_or_default(),
            to: self.to,
            gas,
            gas_price,
            fee_cap,
            tip,
            value: self.value.unwrap_or_default(),
            nonce: self.nonce.map_or(0, |nonce| nonce.to::<u64>()),
            data: self.input.as_ref().or(self.data.as_ref()).cloned().unwrap_or_default(),
            access_list: self.access_list.clone().unwrap_or_default(),
            blob_fee_cap,
            blob_hashes: self.blob_versioned_hashes.clone(),
            authorizations: self.authorization_list.clone(),
        })
    }

    /// Price paid, fee cap and priority fee.
    fn prices(&self, base_fee: Option<u64>) -> (U256, U256, U256) {
        let Some(base_fee) = base_fee else {
            let price = self.gas_price.unwrap_or_default();
            return (price, price, price);
        };
        if let Some(price) = self.gas_price {
            return (price, price, price);
        }
        let cap = self.max_fee_per_gas.unwrap_or_default();
        let tip = self.max_priority_fee_per_gas.unwrap_or_default();
        if cap.is_zero() && tip.is_zero() {
            return (U256::ZERO, cap, tip);
        }
        (tip.saturating_add(U256::from(base_fee)).min(cap), cap, tip)
    }
}

impl Message {
    /// The interpreter's transaction. Prices above 128 bits saturate: no balance pays them.
    pub(crate) fn tx_env(&self, chain_id: u64, merged_fees: bool) -> TxEnv {
        let narrow = |value: U256| u128::try_from(value).unwrap_or(u128::MAX);
        let authorizations = self.authorizations.as_deref().unwrap_or_default();
        let tx_type = match self {
            Self { authorizations: Some(_), .. } => 4,
            Self { blob_hashes: Some(_), .. } => 3,
            _ if merged_fees => 2,
            Self { access_list, .. } if !access_list.is_empty() => 1,
            _ => 0,
        };
        TxEnv {
            tx_type,
            caller: self.from,
            gas_limit: self.gas,
            gas_price: narrow(self.fee_cap),
            kind: self.to.map_or(TxKind::Create, TxKind::Call),
            value: self.value,
            data: self.data.clone(),
            // The check is off; the interpreter refuses the highest nonce alone.
            nonce: 0,
            chain_id: Some(chain_id),
            access_list: self.access_list.clone(),
            gas_priority_fee: (tx_type >= 2).then(|| narrow(self.tip)),
            blob_hashes: self.blob_hashes.clone().unwrap_or_default(),
            max_fee_per_blob_gas: narrow(self.blob_fee_cap.unwrap_or_default()),
            authorization_list: authorizations
                .iter()
                .map(|auth| Either::Right(recover_authorization(auth)))
                .collect(),
        }
    }
}
