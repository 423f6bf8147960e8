//! Transactions of a block.

use super::packed::Packed;
use crate::json::{effective_gas_price, shown_chain_id, shown_signature};
use alloy_consensus::{Transaction as _, Typed2718};
use alloy_primitives::Address;
use hearth_ledger::StoredBlock;
use hearth_primitives::Transaction;

/// All transactions of a block, preceded by their number. The caller has checked that each has its
/// sender.
pub(super) fn write_all(packed: &mut Packed, block: &StoredBlock, senders: &[Address]) {
    let base_fee = block.block.header.base_fee_per_gas;
    let transactions = &block.block.body.transactions;
    packed.u32(transactions.len());
    for ((tx, hash), sender) in transactions.iter().zip(&block.tx_hashes).zip(senders) {
        packed.byte(tx.ty()).hash(hash).address(sender);
        packed.optional(tx.to().as_ref(), |packed, to| {
            packed.address(to);
        });
        packed.u64(tx.nonce()).u64(tx.gas_limit()).word(&tx.value()).bytes(tx.input());
        write_fees(packed, tx, base_fee);
        packed.optional(shown_chain_id(tx), |packed, id| {
            packed.u64(id);
        });
        write_lists(packed, tx);
        let (v, signature) = shown_signature(tx);
        packed.u128(v).flag(signature.v()).word(&signature.r()).word(&signature.s());
    }
}

fn write_fees(packed: &mut Packed, tx: &Transaction, base_fee: Option<u64>) {
    let wei = |packed: &mut Packed, value: u128| {
        packed.u128(value);
    };
    packed.u128(effective_gas_price(tx, base_fee));
    let tip = tx.max_priority_fee_per_gas();
    packed.optional(tip.map(|_| tx.max_fee_per_gas()), wei).optional(tip, wei);
    packed.optional(tx.max_fee_per_blob_gas(), wei);
}

fn write_lists(packed: &mut Packed, tx: &Transaction) {
    packed.optional(tx.access_list(), |packed, list| {
        packed.list(&list.0, |packed, item| {
            packed.address(&item.address).list(&item.storage_keys, |packed, key| {
                packed.hash(key);
            });
        });
    });
    packed.optional(tx.blob_versioned_hashes(), |packed, hashes| {
        packed.list(hashes, |packed, hash| {
            packed.hash(hash);
        });
    });
    packed.optional(tx.authorization_list(), |packed, list| {
        packed.list(list, |packed, signed| {
            let authorization = signed.inner();
            packed.word(&authorization.chain_id).address(&authorization.address).u64(authorization.nonce);
            packed.byte(signed.y_parity()).word(&signed.r()).word(&signed.s());
        });
    });
}
