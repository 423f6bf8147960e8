//! Validity of a transaction before it runs, in go-ethereum's order and words
//! (core/state_transition.go: preCheck).

use crate::{env::BlockEnvironment, spec::Fork, tx_error::TxError};
use alloy_consensus::{Transaction as _, Typed2718 as _};
use alloy_primitives::{Address, B256, U256, uint};
use hearth_primitives::{Account, Transaction};

/// Highest gas limit of one transaction from Osaka on (EIP-7825).
pub const MAX_TX_GAS: u64 = 1 << 24;
/// Most blobs of one transaction from Osaka on (EIP-7594).
pub const MAX_TX_BLOBS: usize = 6;
/// Longest init code in bytes (EIP-3860).
pub const MAX_INIT_CODE: usize = 49_152;
/// Longest init code in bytes if contracts may have `limit` bytes: EIP-3860 allows twice the size
/// of a contract.
pub(crate) fn max_init_code(limit: Option<usize>) -> usize {
    limit.map_or(MAX_INIT_CODE, |limit| limit.saturating_mul(2))
}

/// First byte of a blob's versioned hash (EIP-4844).
pub const BLOB_HASH_VERSION: u8 = 1;

/// The `s` of a placeholder signature: that of a development chain's transaction from an account
/// whose key is unknown. It gives no power over an account with code, because the sender that is
/// recovered from a signature with a given `s` cannot be chosen.
pub const UNSIGNED_S: U256 = uint!(0x00000000000000000000000000000000756e7369676e6564207472616e736163_U256);

/// What the block still has to give.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remaining {
    pub gas: u64,
    pub blob_gas: u64,
}

/// Facts about the sender at this point of the block.
pub(crate) struct Sender<'a> {
    pub address: Address,
    pub account: &'a Account,
    /// Length of its code where that is not a delegation (EIP-7702).
    pub foreign_code: Option<usize>,
}

/// Checks a transaction of a block. The signature was checked when the sender was recovered.
pub(crate) fn check_transaction(
    tx: &Transaction,
    sender: &Sender<'_>,
    env: &BlockEnvironment,
    remaining: Remaining,
) -> Result<(), TxError> {
    check_nonce(sender.address, tx.nonce(), sender.account.nonce)?;
    if env.fork >= Fork::Osaka && tx.gas_limit() > MAX_TX_GAS {
        return Err(TxError::GasLimitTooHigh { cap: MAX_TX_GAS, limit: tx.gas_limit() });
    }
    if let Some(code_len) = sender.foreign_code.filter(|_| tx.signature().s() != UNSIGNED_S) {
        return Err(TxError::SenderNotEoa { address: sender.address, code_len });
    }
    check_fees(tx, sender, env)?;
    check_blobs(tx, sender, env)?;
    if tx.is_eip7702() {
        if tx.is_create() {
            return Err(TxError::SetCodeCreate { address: sender.address });
        }
        if tx.authorization_list().is_none_or(<[_]>::is_empty) {
            return Err(TxError::EmptyAuthorizations { address: sender.address });
        }
    }
    check_funds(tx, sender)?;
    if tx.gas_limit() > remaining.gas {
        return Err(TxError::GasLimitReached);
    }
    if tx.blob_gas_used().unwrap_or(0) > remaining.blob_gas {
        return Err(TxError::BlobGasLimitReached);
    }
    if env.fork >= Fork::Shanghai && tx.is_create() && tx.input().len() > env.max_init_code() {
        return Err(TxError::InitCodeTooLong { size: tx.input().len(), limit: env.max_init_code() });
    }
    Ok(())
}

/// A transaction's nonce must be that of its sender, which must not be at its end (EIP-2681).
pub(crate) fn check_nonce(address: Address, tx: u64, state: u64) -> Result<(), TxError> {
    if state < tx {
        return Err(TxError::NonceTooHigh { address, tx, state });
    }
    if state > tx {
        return Err(TxError::NonceTooLow { address, tx, state });
    }
    if state == u64::MAX {
        return Err(TxError::NonceMax { address, nonce: state });
    }
    Ok(())
}

fn check_fees(tx: &Transaction, sender: &Sender<'_>, env: &BlockEnvironment) -> Result<(), TxError> {
    let Some(base_fee) = env.base_fee else { return Ok(()) };
    let cap = tx.max_fee_per_gas();
    let tip = tx.max_priority_fee_per_gas().unwrap_or(cap);
    if cap < tip {
        return Err(TxError::TipAboveFeeCap {
            address: sender.address,
            tip: U256::from(tip),
            cap: U256::from(cap),
        });
    }
    if cap < u128::from(base_fee) {
        return Err(TxError::FeeCapTooLow {
            address: sender.address,
            cap: U256::from(cap),
            base_fee: U256::from(base_fee),
        });
    }
    Ok(())
}

/// Checks the versioned hashes of blobs: EIP-4844, and the limit for one transaction of EIP-7594.
pub(crate) fn check_blob_hashes(hashes: &[B256], fork: Fork) -> Result<(), TxError> {
    if hashes.is_empty() {
        return Err(TxError::MissingBlobHashes);
    }
    if fork >= Fork::Osaka && hashes.len() > MAX_TX_BLOBS {
        return Err(TxError::TooManyBlobs);
    }
    match hashes.iter().position(|hash| hash[0] != BLOB_HASH_VERSION) {
        Some(index) => Err(TxError::BlobHashVersion { index }),
        None => Ok(()),
    }
}

fn check_blobs(tx: &Transaction, sender: &Sender<'_>, env: &BlockEnvironment) -> Result<(), TxError> {
    let Some(hashes) = tx.blob_versioned_hashes() else { return Ok(()) };
    check_blob_hashes(hashes, env.fork)?;
    let cap = tx.max_fee_per_blob_gas().unwrap_or(0);
    let base_fee = env.blob_base_fee.unwrap_or(0);
    if cap < base_fee {
        return Err(TxError::BlobFeeCapTooLow {
            address: sender.address,
            cap: U256::from(cap),
            base_fee: U256::from(base_fee),
        });
    }
    Ok(())
}

fn check_funds(tx: &Transaction, sender: &Sender<'_>) -> Result<(), TxError> {
    let gas = U256::from(tx.gas_limit()).checked_mul(U256::from(tx.max_fee_per_gas()));
    let blob = U256::from(tx.blob_gas_used().unwrap_or(0))
        .checked_mul(U256::from(tx.max_fee_per_blob_gas().unwrap_or(0)));
    let want = gas.and_then(|gas| gas.checked_add(blob?)).and_then(|sum| sum.checked_add(tx.value()));
    let Some(want) = want else { return Err(TxError::FundsOverflow { address: sender.address }) };
    let have = sender.account.balance;
    if have < want {
        return Err(TxError::InsufficientFunds { address: sender.address, have, want });
    }
    Ok(())
}

/// Whether a fork knows a transaction type.
pub(crate) fn type_supported(tx: &Transaction, fork: Fork) -> bool {
    match tx.ty() {
        0 => true,
        1 => fork >= Fork::Berlin,
        2 => fork >= Fork::London,
        3 => fork >= Fork::Cancun,
        4 => fork >= Fork::Prague,
        _ => false,
    }
}
