//! One pending transaction, with the values that the pool reads repeatedly.

use alloy_consensus::{Transaction as _, TxEip4844Variant};
use alloy_eips::{eip2718::Encodable2718, eip4844::Blob, eip7594::BlobTransactionSidecarVariant};
use alloy_primitives::{Address, B256, U256};
use hearth_primitives::{PooledTransaction, Transaction};

/// A validated transaction.
#[derive(Clone, Debug)]
pub struct PoolEntry {
    /// The transaction as blocks carry it.
    pub transaction: Transaction,
    /// The transaction as it was sent, with its blob sidecar; absent where there is none.
    pub with_sidecar: Option<PooledTransaction>,
    /// Its hash.
    pub hash: B256,
    /// Its sender.
    pub sender: Address,
    /// Its nonce.
    pub nonce: u64,
    /// Its gas limit.
    pub gas_limit: u64,
    /// The most it pays for a unit of gas, in wei.
    pub max_fee: u128,
    /// The most it can cost, in wei: gas, blob gas and value.
    pub cost: U256,
    /// Length of the encoded transaction as it was received, in bytes.
    pub bytes: usize,
    /// Its place among all that the pool took, from 0.
    pub arrival: u64,
    /// Accounts whose authorizations it carries (EIP-7702), without those whose signature does not
    /// verify.
    pub authorities: Vec<Address>,
}

impl PoolEntry {
    /// Whether the fee caps cover these fees of a block (wei per gas, wei per blob gas).
    pub fn pays(&self, base_fee: u64, blob_fee: u128) -> bool {
        self.max_fee >= u128::from(base_fee)
            && self.transaction.max_fee_per_blob_gas().is_none_or(|max| max >= blob_fee)
    }

    /// Whether it carries blobs (EIP-4844).
    pub fn has_blobs(&self) -> bool {
        self.with_sidecar.is_some()
    }

    /// Whether its blobs have one proof each, which no block takes from Osaka on (EIP-7594).
    pub(super) fn has_blob_proofs(&self) -> bool {
        let Some(PooledTransaction::Eip4844(signed)) = &self.with_sidecar else { return false };
        signed.tx().sidecar().is_some_and(|sidecar| !sidecar.is_eip7594())
    }

    /// The blobs that came with it, in the order of their versioned hashes.
    pub fn blobs(&self) -> &[Blob] {
        let Some(PooledTransaction::Eip4844(signed)) = &self.with_sidecar else { return &[] };
        let TxEip4844Variant::TxEip4844WithSidecar(with) = signed.tx() else { return &[] };
        match &with.sidecar {
            BlobTransactionSidecarVariant::Eip4844(sidecar) => &sidecar.blobs,
            BlobTransactionSidecarVariant::Eip7594(sidecar) => &sidecar.blobs,
        }
    }

    /// The bytes that were sent (EIP-2718; with the blob sidecar where there is one).
    pub fn encoded(&self) -> Vec<u8> {
        match &self.with_sidecar {
            Some(transaction) => transaction.encoded_2718(),
            None => self.transaction.encoded_2718(),
        }
    }

    /// What it leaves to the block's producer for a unit of gas, in wei.
    pub fn tip(&self, base_fee: u64) -> u128 {
        self.transaction.effective_tip_per_gas(base_fee).unwrap_or_default()
    }
}

/// The transaction as blocks carry it: without its blob sidecar.
pub fn strip_sidecar(transaction: PooledTransaction) -> Transaction {
    transaction.into()
}

/// The maximum cost of a transaction, in wei; saturates at 2^256 - 1, which no balance reaches.
pub(super) fn highest_cost(transaction: &PooledTransaction) -> U256 {
    let gas = U256::from(transaction.gas_limit()).saturating_mul(U256::from(transaction.max_fee_per_gas()));
    let blob_price = U256::from(transaction.max_fee_per_blob_gas().unwrap_or_default());
    let blobs = U256::from(transaction.blob_gas_used().unwrap_or_default()).saturating_mul(blob_price);
    gas.saturating_add(blobs).saturating_add(transaction.value())
}
