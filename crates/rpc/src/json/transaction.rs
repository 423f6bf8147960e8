//! Transactions, on the chain and in the pool.

use alloy_consensus::{
    SignableTransaction, Signed, Transaction as _, Typed2718, transaction::to_eip155_value,
};
use alloy_eips::{eip2930::AccessList, eip7702::SignedAuthorization};
use alloy_primitives::{Address, B256, Signature, U256};
use hearth_home::JsonWriter;
use hearth_primitives::Transaction;

/// The chain id that go-ethereum computes for a legacy transaction without a signature:
/// `(v - 35) / 2` in 64 bits for a `v` of zero.
const UNSIGNED_CHAIN_ID: u64 = 0u64.wrapping_sub(35) / 2;

/// Where a transaction stands on the chain.
#[derive(Clone, Copy, Debug)]
pub struct Inclusion<'a> {
    /// Hash of its block.
    pub block_hash: &'a B256,
    /// Height of its block.
    pub number: u64,
    /// Time of its block, in seconds.
    pub timestamp: u64,
    /// Its place in the block.
    pub index: u64,
    /// Base fee of its block, in wei; `None` before London.
    pub base_fee: Option<u64>,
}

/// The price of one unit of gas: the tip on top of the base fee, at most the cap. Without a base
/// fee, the gas price.
pub fn effective_gas_price(tx: &Transaction, base_fee: Option<u64>) -> u128 {
    tx.effective_gas_price(base_fee)
}

/// Writes a transaction; without `inclusion` it is pending and its block members are `null`.
pub fn write_transaction(
    w: &mut JsonWriter,
    tx: &Transaction,
    hash: &B256,
    sender: &Address,
    inclusion: Option<&Inclusion<'_>>,
) {
    w.begin_object();
    write_place(w, inclusion);
    w.key("from").address(sender);
    w.key("gas").quantity(tx.gas_limit());
    // A pending transaction has no base fee yet: what it offers at most stands for its price.
    let price = match inclusion {
        Some(inclusion) => effective_gas_price(tx, inclusion.base_fee),
        None => tx.max_fee_per_gas(),
    };
    w.key("gasPrice").quantity_u128(price);
    if let Some(tip) = tx.max_priority_fee_per_gas() {
        w.key("maxFeePerGas").quantity_u128(tx.max_fee_per_gas());
        w.key("maxPriorityFeePerGas").quantity_u128(tip);
    }
    if let Some(fee) = tx.max_fee_per_blob_gas() {
        w.key("maxFeePerBlobGas").quantity_u128(fee);
    }
    w.key("hash").hash(hash);
    w.key("input").bytes(tx.input());
    w.key("nonce").quantity(tx.nonce());
    w.key("to").optional_address(tx.to().as_ref());
    w.key("transactionIndex");
    match inclusion {
        Some(inclusion) => w.quantity(inclusion.index),
        None => w.null(),
    };
    w.key("value").quantity_u256(&tx.value());
    w.key("type").quantity(tx.ty().into());
    if let Some(id) = shown_chain_id(tx) {
        w.key("chainId").quantity(id);
    }
    write_lists(w, tx);
    write_signature(w, tx);
    w.end_object();
}

/// Writes a transaction as go-ethereum shows one that it filled in or signed: without a sender or a
/// position. `hash` is that of its encoding, which may have no signature.
pub fn write_bare_transaction(w: &mut JsonWriter, tx: &Transaction, hash: &B256) {
    w.begin_object().key("type").quantity(tx.ty().into());
    if let Some(id) = tx.chain_id().filter(|_| !tx.is_legacy() || !is_unsigned(tx)) {
        w.key("chainId").quantity(id);
    }
    w.key("nonce").quantity(tx.nonce());
    w.key("to").optional_address(tx.to().as_ref());
    w.key("gas").quantity(tx.gas_limit());
    match tx.gas_price() {
        Some(price) => w.key("gasPrice").quantity_u128(price),
        None => w.key("gasPrice").null(),
    };
    match tx.max_priority_fee_per_gas() {
        Some(tip) => {
            w.key("maxPriorityFeePerGas").quantity_u128(tip);
            w.key("maxFeePerGas").quantity_u128(tx.max_fee_per_gas());
        }
        None => {
            w.key("maxPriorityFeePerGas").null().key("maxFeePerGas").null();
        }
    }
    if let Some(fee) = tx.max_fee_per_blob_gas() {
        w.key("maxFeePerBlobGas").quantity_u128(fee);
    }
    w.key("value").quantity_u256(&tx.value());
    w.key("input").bytes(tx.input());
    write_lists(w, tx);
    write_signature(w, tx);
    w.key("hash").hash(hash).end_object();
}

/// Writes the lists of a transaction: access list, blob hashes, authorizations.
fn write_lists(w: &mut JsonWriter, tx: &Transaction) {
    if let Some(list) = tx.access_list() {
        write_access_list(w, list);
    }
    if let Some(hashes) = tx.blob_versioned_hashes().filter(|hashes| !hashes.is_empty()) {
        w.key("blobVersionedHashes").begin_array();
        hashes.iter().for_each(|hash| {
            w.hash(hash);
        });
        w.end_array();
    }
    if let Some(list) = tx.authorization_list().filter(|list| !list.is_empty()) {
        write_authorizations(w, list);
    }
}

fn write_place(w: &mut JsonWriter, inclusion: Option<&Inclusion<'_>>) {
    match inclusion {
        Some(inclusion) => {
            w.key("blockHash").hash(inclusion.block_hash);
            w.key("blockNumber").quantity(inclusion.number);
            w.key("blockTimestamp").quantity(inclusion.timestamp);
        }
        None => {
            w.key("blockHash").null().key("blockNumber").null().key("blockTimestamp").null();
        }
    }
}

/// Writes the member `accessList` into an open object.
pub fn write_access_list(w: &mut JsonWriter, list: &AccessList) {
    w.key("accessList").begin_array();
    for item in &list.0 {
        w.begin_object().key("address").address(&item.address);
        w.key("storageKeys").begin_array();
        item.storage_keys.iter().for_each(|key| {
            w.hash(key);
        });
        w.end_array().end_object();
    }
    w.end_array();
}

fn write_authorizations(w: &mut JsonWriter, list: &[SignedAuthorization]) {
    w.key("authorizationList").begin_array();
    for authorization in list {
        w.begin_object().key("chainId").quantity_u256(&authorization.inner().chain_id);
        w.key("address").address(&authorization.inner().address);
        w.key("nonce").quantity(authorization.inner().nonce);
        w.key("yParity").quantity(authorization.y_parity().into());
        w.key("r").quantity_u256(&authorization.r());
        w.key("s").quantity_u256(&authorization.s()).end_object();
    }
    w.end_array();
}

fn signature<T: SignableTransaction<Signature>>(signed: &Signed<T>) -> &Signature {
    signed.signature()
}

fn signature_of(tx: &Transaction) -> &Signature {
    match tx {
        Transaction::Legacy(tx) => signature(tx),
        Transaction::Eip2930(tx) => signature(tx),
        Transaction::Eip1559(tx) => signature(tx),
        Transaction::Eip4844(tx) => signature(tx),
        Transaction::Eip7702(tx) => signature(tx),
    }
}

/// Whether the transaction has no signature, as in simulated blocks. A valid signature is never
/// zero.
fn is_unsigned(tx: &Transaction) -> bool {
    let signature = signature_of(tx);
    signature.r().is_zero() && signature.s().is_zero()
}

/// The chain id as go-ethereum shows it (core/types/transaction_signing.go: deriveChainId): for a
/// legacy transaction it is computed from `v`, with an odd result for a `v` of zero.
pub fn shown_chain_id(tx: &Transaction) -> Option<u64> {
    if tx.is_legacy() && is_unsigned(tx) { Some(UNSIGNED_CHAIN_ID) } else { tx.chain_id() }
}

/// The member `v` of a transaction as go-ethereum shows it, and its signature. Legacy signatures
/// fold the chain id into `v` (EIP-155); typed ones carry the bare parity.
pub fn shown_signature(tx: &Transaction) -> (u128, &Signature) {
    let signature = signature_of(tx);
    let folded = tx.is_legacy() && !is_unsigned(tx);
    let v = if folded { to_eip155_value(signature.v(), tx.chain_id()) } else { signature.v().into() };
    (v, signature)
}

fn write_signature(w: &mut JsonWriter, tx: &Transaction) {
    let (v, signature) = shown_signature(tx);
    let parity = signature.v();
    w.key("v").quantity_u256(&U256::from(v));
    w.key("r").quantity_u256(&signature.r());
    w.key("s").quantity_u256(&signature.s());
    if !tx.is_legacy() {
        w.key("yParity").quantity(parity.into());
    }
}
