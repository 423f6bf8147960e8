//! Senders of transactions, recovered in parallel with libsecp256k1.

use crate::{
    env::BlockEnvironment,
    error::BlockError,
    spec::{ChainSpec, Fork},
    tx_check::type_supported,
    tx_error::TxError,
};
use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, B512, Signature, U256, uint};
use hearth_primitives::{PooledTransaction, Transaction};
use rayon::prelude::*;

/// Half of the order of secp256k1: the highest `s` from Homestead on (EIP-2).
pub(crate) const HALF_ORDER: U256 =
    uint!(0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0_U256);

/// Fewest transactions for which a second thread pays.
const PARALLEL_FROM: usize = 8;

/// Recovers the sender of a transaction under the rules of a block: transaction type, replay
/// protection (EIP-155) and the range of `s` (EIP-2).
///
/// # Errors
/// [`TxError`] in go-ethereum's words.
pub fn recover_sender(
    spec: &ChainSpec,
    env: &BlockEnvironment,
    tx: &Transaction,
) -> Result<Address, TxError> {
    if !type_supported(tx, env.fork) {
        return Err(TxError::TypeNotSupported);
    }
    match tx.chain_id() {
        Some(_) if tx.is_legacy() && !spec.is_eip155(env.number) => return Err(TxError::Signature),
        Some(id) if id != env.chain_id => {
            return Err(TxError::ChainId { have: id, want: env.chain_id });
        }
        _ => {}
    }
    let signature = tx.signature();
    if env.fork >= Fork::Homestead && signature.s() > HALF_ORDER {
        return Err(TxError::Signature);
    }
    signer(signature, &tx.signature_hash()).ok_or(TxError::Signature)
}

/// Recovers the signer of a transaction that a client sent, under the rules of EIP-2 for `s`;
/// `None` if the signature is invalid. Uses libsecp256k1, as blocks do; alloy's `recover_signer`
/// uses k256, which is several times slower.
pub fn recover_pooled(tx: &PooledTransaction) -> Option<Address> {
    let signature = tx.signature();
    if signature.s() > HALF_ORDER {
        return None;
    }
    signer(signature, &tx.signature_hash())
}

/// Why [`recover_pooled`] finds no signer, in go-ethereum's words (core/types: recoverPlain).
pub fn signature_fault(tx: &PooledTransaction) -> &'static str {
    let (r, s) = (tx.signature().r(), tx.signature().s());
    // The order is odd: `r` is below it where it is at most twice its half.
    let in_range = !r.is_zero() && !s.is_zero() && s <= HALF_ORDER && r <= HALF_ORDER + HALF_ORDER;
    if in_range { "recovery failed" } else { "invalid transaction v, r, s values" }
}

/// The address whose key made a signature of this hash.
fn signer(signature: &Signature, hash: &B256) -> Option<Address> {
    let mut bytes = [0u8; 64];
    bytes[..32].copy_from_slice(&signature.r().to_be_bytes::<32>());
    bytes[32..].copy_from_slice(&signature.s().to_be_bytes::<32>());
    recover_word(&B512::from(bytes), u8::from(signature.v()), hash).map(Address::from_word)
}

pub(crate) fn recover_word(signature: &B512, parity: u8, hash: &B256) -> Option<B256> {
    revm::precompile::secp256k1::bitcoin_secp256k1::ecrecover(signature, parity, hash).ok()
}

/// Recovers the senders of a block's transactions in order, on all threads of the pool.
///
/// # Errors
/// The first transaction whose sender cannot be recovered.
pub fn recover_senders(
    spec: &ChainSpec,
    env: &BlockEnvironment,
    txs: &[Transaction],
) -> Result<Vec<Address>, BlockError> {
    let recover = |(index, tx): (usize, &Transaction)| {
        recover_sender(spec, env, tx).map_err(|source| BlockError::InvalidTransaction {
            index,
            hash: *tx.tx_hash(),
            source: Box::new(source),
        })
    };
    if txs.len() < PARALLEL_FROM {
        return txs.iter().enumerate().map(recover).collect();
    }
    txs.par_iter().enumerate().map(recover).collect()
}
