//! A signed transaction in the interpreter's form.

use alloy_consensus::{Transaction as _, Typed2718 as _};
use alloy_eips::eip7702::{RecoveredAuthority, RecoveredAuthorization, SignedAuthorization};
use alloy_primitives::{Address, B512, U256};
use hearth_primitives::Transaction;
use revm::{context::TxEnv, context_interface::either::Either};

/// The interpreter's transaction for a signed one and its sender.
pub fn tx_env(tx: &Transaction, sender: Address) -> TxEnv {
    let authorizations = tx.authorization_list().unwrap_or_default();
    TxEnv {
        tx_type: tx.ty(),
        caller: sender,
        gas_limit: tx.gas_limit(),
        gas_price: tx.max_fee_per_gas(),
        kind: tx.kind(),
        value: tx.value(),
        data: tx.input().clone(),
        nonce: tx.nonce(),
        chain_id: tx.chain_id(),
        access_list: tx.access_list().cloned().unwrap_or_default(),
        gas_priority_fee: tx.max_priority_fee_per_gas(),
        blob_hashes: tx.blob_versioned_hashes().unwrap_or_default().to_vec(),
        max_fee_per_blob_gas: tx.max_fee_per_blob_gas().unwrap_or(0),
        authorization_list: authorizations
            .iter()
            .map(|auth| Either::Right(recover_authorization(auth)))
            .collect(),
    }
}

/// Recovers the signer of an authorization (EIP-7702). The interpreter skips an authorization that
/// has none.
pub fn recover_authorization(signed: &SignedAuthorization) -> RecoveredAuthorization {
    let authority = authority(signed).map_or(RecoveredAuthority::Invalid, RecoveredAuthority::Valid);
    RecoveredAuthorization::new_unchecked(signed.inner().clone(), authority)
}

fn authority(signed: &SignedAuthorization) -> Option<Address> {
    if signed.y_parity() > 1 || signed.s() > crate::senders::HALF_ORDER {
        return None;
    }
    let word = |value: U256| value.to_be_bytes::<32>();
    let mut bytes = [0u8; 64];
    bytes[..32].copy_from_slice(&word(signed.r()));
    bytes[32..].copy_from_slice(&word(signed.s()));
    crate::senders::recover_word(&B512::from(bytes), signed.y_parity(), &signed.signature_hash())
        .map(Address::from_word)
}
