//! The conditions under which the pool keeps a transaction: first by itself, then against its
//! sender's account.

use super::{BumpedCost, PoolError, PoolLimits, Queue, contiguous, entry::highest_cost, expenditure};
use crate::PoolEntry;
use alloy_consensus::{Transaction as _, TxEip4844Variant, Typed2718};
use alloy_eips::{
    eip2718::Encodable2718,
    eip4844::{env_settings::EnvKzgSettings, kzg_to_versioned_hash},
    eip7594::{BlobTransactionSidecarVariant, CELLS_PER_EXT_BLOB},
};
use alloy_primitives::{Address, B256, U256};
use hearth_evm::{ChainSpec, Fork, MAX_TX_BLOBS, MAX_TX_GAS, recover_pooled, signature_fault};
use hearth_primitives::{Account, Header, PooledTransaction};
use std::sync::Arc;

/// Largest blob transaction with its sidecar, in bytes.
pub const MAX_BLOB_TX_BYTES: usize = 1024 * 1024;

/// Lowest blob fee there is, in wei per blob gas (EIP-4844).
const MIN_BLOB_FEE: u128 = 1;

/// The minimum price bump, in percent, of the replacement of a transaction with blobs, since
/// checking blobs costs much (core/txpool/blobpool/config.go of go-ethereum: DefaultConfig).
const BLOB_PRICE_BUMP_PERCENT: u64 = 100;

/// Checks everything that needs no account, and recovers the sender where it is not known.
pub(super) fn stateless(
    transaction: PooledTransaction,
    known_sender: Option<Address>,
    head: &Header,
    (spec, chain_id): (&ChainSpec, u64),
    limits: &PoolLimits,
) -> Result<PoolEntry, PoolError> {
    let fork = spec.fork_of(head);
    // The order is that of go-ethereum (core/txpool/validation.go: ValidateTransaction).
    let blobs = transaction.blob_versioned_hashes().unwrap_or_default().len();
    if blobs > MAX_TX_BLOBS {
        return Err(PoolError::TooManyBlobs { have: blobs, permitted: MAX_TX_BLOBS });
    }
    let bytes = transaction.encode_2718_len();
    size(&transaction, bytes, limits)?;
    known_type(transaction.ty(), fork)?;
    init_code(&transaction, fork, spec.max_init_code())?;
    caps(&transaction, head, fork)?;
    if let Some(have) = transaction.chain_id().filter(|id| *id != chain_id) {
        return Err(PoolError::WrongChainId { have, want: chain_id });
    }
    let sender = known_sender.or_else(|| recover_pooled(&transaction));
    let sender = sender.ok_or_else(|| PoolError::InvalidSender { reason: signature_fault(&transaction) })?;
    gas_and_tip(&transaction, fork, limits)?;
    let transaction = match transaction {
        PooledTransaction::Eip4844(signed) => {
            let (variant, signature, hash) = signed.into_parts();
            let variant = checked_blobs(variant, fork)?;
            PooledTransaction::Eip4844(alloy_consensus::Signed::new_unchecked(variant, signature, hash))
        }
        other => other,
    };
    if spec.is_bft() {
        pays_base_fee(&transaction, head, spec)?;
    }
    Ok(PoolEntry {
        hash: *transaction.tx_hash(),
        sender,
        nonce: transaction.nonce(),
        gas_limit: transaction.gas_limit(),
        max_fee: transaction.max_fee_per_gas(),
        cost: highest_cost(&transaction),
        bytes,
        arrival: 0,
        authorities: authorities(&transaction),
        with_sidecar: transaction.is_eip4844().then(|| transaction.clone()),
        transaction: super::strip_sidecar(transaction),
    })
}

/// Accounts whose authorizations a transaction carries.
fn authorities(transaction: &PooledTransaction) -> Vec<Address> {
    let signed = transaction.authorization_list().unwrap_or_default();
    let mut authorities: Vec<_> = signed.iter().filter_map(|one| one.recover_authority().ok()).collect();
    authorities.sort_unstable();
    authorities.dedup();
    authorities
}

fn known_type(ty: u8, fork: Fork) -> Result<(), PoolError> {
    let first = match ty {
        0 => return Ok(()),
        // Every type but the first needs Berlin before its own fork (EIP-2718).
        _ if fork < Fork::Berlin => Fork::Berlin,
        2 => Fork::London,
        3 => Fork::Cancun,
        4 => Fork::Prague,
        _ => Fork::Frontier,
    };
    if fork < first { Err(PoolError::TypeNotSupported { ty, fork: first.name() }) } else { Ok(()) }
}

fn size(transaction: &PooledTransaction, bytes: usize, limits: &PoolLimits) -> Result<(), PoolError> {
    let limit = if transaction.is_eip4844() { MAX_BLOB_TX_BYTES } else { limits.max_transaction_bytes };
    if bytes > limit { Err(PoolError::Oversized { size: bytes, limit }) } else { Ok(()) }
}

fn init_code(tx: &PooledTransaction, fork: Fork, limit: usize) -> Result<(), PoolError> {
    let size = tx.input().len();
    if fork >= Fork::Shanghai && tx.to().is_none() && size > limit {
        return Err(PoolError::InitCodeTooLarge { size, limit });
    }
    Ok(())
}

/// The highest values that gas limit and tip may have.
fn caps(tx: &PooledTransaction, head: &Header, fork: Fork) -> Result<(), PoolError> {
    let gas = tx.gas_limit();
    if fork >= Fork::Osaka && gas > MAX_TX_GAS {
        return Err(PoolError::GasLimitTooHigh { cap: MAX_TX_GAS, gas });
    }
    if gas > head.gas_limit {
        return Err(PoolError::ExceedsBlockGasLimit);
    }
    if tip_cap(tx) > tx.max_fee_per_gas() { Err(PoolError::TipAboveFeeCap) } else { Ok(()) }
}

fn tip_cap(tx: &PooledTransaction) -> u128 {
    tx.max_priority_fee_per_gas().unwrap_or_else(|| tx.max_fee_per_gas())
}

/// The lowest values that gas limit and tip may have.
fn gas_and_tip(tx: &PooledTransaction, fork: Fork, limits: &PoolLimits) -> Result<(), PoolError> {
    if tx.nonce() == u64::MAX {
        return Err(PoolError::NonceMax);
    }
    let (gas, tip) = (tx.gas_limit(), tip_cap(tx));
    let needed = intrinsic_gas(tx, fork);
    if gas < needed {
        return Err(PoolError::IntrinsicGas { gas, needed });
    }
    if fork >= Fork::Prague {
        let needed = floor_gas(tx.input());
        if gas < needed {
            return Err(PoolError::FloorGas { gas, needed });
        }
    }
    if tip < limits.min_tip_wei {
        return Err(PoolError::TipTooLow { have: tip, needed: limits.min_tip_wei });
    }
    if tx.authorization_list().is_some_and(|list| list.is_empty()) {
        return Err(PoolError::Malformed("set code tx must have at least one authorization tuple"));
    }
    Ok(())
}

/// Under a consensus of validators, blocks come at a steady pace, and every validator keeps a copy
/// of pending transactions. A transaction that the next block cannot have is thus refused, as on
/// other chains of CometBFT.
fn pays_base_fee(tx: &PooledTransaction, head: &Header, spec: &ChainSpec) -> Result<(), PoolError> {
    let base_fee = hearth_evm::next_base_fee(spec, head).unwrap_or_default();
    if tx.max_fee_per_gas() < u128::from(base_fee) { Err(PoolError::FeeCapTooLow) } else { Ok(()) }
}

/// Gas of a transaction before its first instruction (yellow paper; EIP-2028, 2930, 3860, 7702).
pub fn intrinsic_gas(tx: &PooledTransaction, fork: Fork) -> u64 {
    let zeros = tx.input().iter().filter(|byte| **byte == 0).count() as u64;
    let others = tx.input().len() as u64 - zeros;
    let nonzero_price = if fork >= Fork::Istanbul { 16 } else { 68 };
    let mut gas = 21_000 + zeros * 4 + others * nonzero_price;
    if tx.to().is_none() {
        if fork >= Fork::Homestead {
            gas += 32_000;
        }
        if fork >= Fork::Shanghai {
            gas += 2 * (tx.input().len() as u64).div_ceil(32);
        }
    }
    if let Some(list) = tx.access_list() {
        let keys: u64 = list.0.iter().map(|item| item.storage_keys.len() as u64).sum();
        gas += list.0.len() as u64 * 2_400 + keys * 1_900;
    }
    gas + tx.authorization_list().map_or(0, |list| list.len() as u64 * 25_000)
}

/// Gas that a call with this input costs before its first instruction, or at least altogether, from
/// Prague on.
pub fn call_gas(input: &[u8]) -> u64 {
    let zeros = input.iter().filter(|byte| **byte == 0).count() as u64;
    let others = input.len() as u64 - zeros;
    (21_000 + zeros * 4 + others * 16).max(floor_gas(input))
}

/// The least gas that data costs (EIP-7623).
fn floor_gas(input: &[u8]) -> u64 {
    let zeros = input.iter().filter(|byte| **byte == 0).count() as u64;
    let tokens = zeros + (input.len() as u64 - zeros) * 4;
    21_000 + tokens * 10
}

/// Checks a blob transaction's sidecar; from Osaka on, an older one is converted to cell proofs
/// first.
fn checked_blobs(variant: TxEip4844Variant, fork: Fork) -> Result<TxEip4844Variant, PoolError> {
    let kzg = |e: &dyn std::fmt::Display| PoolError::Kzg { reason: e.to_string() };
    let TxEip4844Variant::TxEip4844WithSidecar(mut with) = variant else {
        return Err(PoolError::Malformed("missing sidecar in blob transaction"));
    };
    let needs_cell_proofs = fork >= Fork::Osaka;
    if with.sidecar.is_eip7594() && !needs_cell_proofs {
        return Err(PoolError::SidecarVersion { want: 0, got: 1 });
    }
    if with.tx.max_fee_per_blob_gas < MIN_BLOB_FEE {
        return Err(PoolError::BlobFeeTooLow { have: with.tx.max_fee_per_blob_gas, needed: MIN_BLOB_FEE });
    }
    if with.tx.blob_versioned_hashes.is_empty() {
        return Err(PoolError::Malformed("blobless blob transaction"));
    }
    parts_fit(&with.sidecar, &with.tx.blob_versioned_hashes)
        .map_err(|reason| PoolError::Sidecar { reason })?;
    match (&with.sidecar, needs_cell_proofs) {
        (BlobTransactionSidecarVariant::Eip4844(old), true) => {
            // Proofs of the older form are checked separately: the new ones are computed from the
            // blobs only.
            old.validate(&with.tx.blob_versioned_hashes, EnvKzgSettings::Default.get())
                .map_err(|e| kzg(&e))?;
            with.sidecar = with.sidecar.try_convert_into_eip7594().map_err(|e| kzg(&format!("{e:?}")))?;
        }
        _ => {
            with.sidecar
                .validate(&with.tx.blob_versioned_hashes, EnvKzgSettings::Default.get())
                .map_err(|e| kzg(&e))?;
        }
    }
    Ok(TxEip4844Variant::TxEip4844WithSidecar(with))
}

/// Checks the numbers of a sidecar's parts and the hashes of its commitments, before anything that
/// costs more.
fn parts_fit(sidecar: &BlobTransactionSidecarVariant, hashes: &[B256]) -> Result<(), String> {
    let (blobs, commitments, wanted) = (sidecar.blobs().len(), sidecar.commitments(), hashes.len());
    if blobs != wanted {
        return Err(format!("invalid number of {blobs} blobs compared to {wanted} blob hashes"));
    }
    if commitments.len() != wanted {
        let have = commitments.len();
        return Err(format!("invalid number of {have} blob commitments compared to {wanted} blob hashes"));
    }
    for (index, (commitment, hash)) in commitments.iter().zip(hashes).enumerate() {
        let computed = kzg_to_versioned_hash(commitment.as_slice());
        if computed != *hash {
            return Err(format!("blob {index}: computed hash {computed} mismatches transaction one {hash}"));
        }
    }
    let (proofs, wanted) = match sidecar {
        BlobTransactionSidecarVariant::Eip4844(sidecar) => (sidecar.proofs.len(), wanted),
        BlobTransactionSidecarVariant::Eip7594(sidecar) => {
            (sidecar.cell_proofs.len(), wanted * CELLS_PER_EXT_BLOB)
        }
    };
    if proofs != wanted {
        return Err(format!("invalid number of {proofs} blob proofs expected {wanted}"));
    }
    Ok(())
}

/// Checks nonce and funds against the sender's account and what waits of it already.
pub(super) fn with_account(
    entry: &Arc<PoolEntry>,
    account: &Account,
    queue: Option<&Queue>,
    limits: &PoolLimits,
) -> Result<(), PoolError> {
    if entry.nonce < account.nonce {
        return Err(PoolError::NonceTooLow { next: account.nonce, nonce: entry.nonce });
    }
    if entry.cost > account.balance {
        return Err(PoolError::InsufficientFunds { balance: account.balance, cost: entry.cost });
    }
    let Some(queue) = queue else { return Ok(()) };
    if queue.values().next().is_some_and(|waiting| waiting.has_blobs() != entry.has_blobs()) {
        return Err(PoolError::OtherKindWaits);
    }
    // Those behind a nonce gap may never be executed: they take no funds, as in go-ethereum
    // (core/txpool/legacypool/legacypool.go: validateTx).
    let executable = || contiguous(queue, account.nonce);
    let queued = expenditure(executable());
    let replaced = executable().find(|there| there.nonce == entry.nonce);
    overdraft(account.balance, queued, entry.cost, replaced.map(|old| old.cost))?;
    if !queue.contains_key(&entry.nonce) && queue.len() >= limits.max_per_account {
        return Err(PoolError::AccountLimit { pooled: queue.len() });
    }
    Ok(())
}

/// Checks a transaction against the one whose nonce it takes: fee cap, tip and (for blobs) blob
/// fee cap must all be higher by the required percentage. Fractions of a wei do not count, as in
/// go-ethereum.
pub(super) fn replacement(entry: &PoolEntry, old: &PoolEntry, limits: &PoolLimits) -> Result<(), PoolError> {
    let tip = |entry: &PoolEntry| entry.transaction.max_priority_fee_per_gas().unwrap_or(entry.max_fee);
    let mut prices = vec![("gas fee cap", entry.max_fee, old.max_fee), ("gas tip cap", tip(entry), tip(old))];
    let blob = |entry: &PoolEntry| entry.transaction.max_fee_per_blob_gas();
    // Both or none have blobs: another kind is refused before.
    if let (Some(new), Some(old)) = (blob(entry), blob(old)) {
        prices.push(("blob gas fee cap", new, old));
    }
    let percent = if entry.has_blobs() { BLOB_PRICE_BUMP_PERCENT } else { limits.price_bump_percent };
    let least = |old: u128| U256::from(old) * U256::from(100 + percent) / U256::from(100);
    let not_above = prices.iter().find(|(_, new, old)| new <= old);
    let reason = not_above.map(|(name, new, old)| format!("new tx {name} {new} <= {old} queued"));
    let reason = reason.or_else(|| {
        let (name, new, old) = prices.iter().find(|(_, new, old)| U256::from(*new) < least(*old))?;
        Some(format!("new tx {name} {new} < {old} queued + {percent}% replacement penalty"))
    });
    match reason {
        None => Ok(()),
        Some(reason) if entry.has_blobs() => Err(PoolError::BlobReplacementUnderpriced { reason }),
        Some(_) => Err(PoolError::ReplacementUnderpriced),
    }
}

/// Checks that the balance covers what can be executed already and this one; `replaced` is what
/// the one costs whose nonce it takes.
fn overdraft(balance: U256, queued: U256, cost: U256, replaced: Option<U256>) -> Result<(), PoolError> {
    let others = queued.saturating_sub(replaced.unwrap_or_default());
    if others.saturating_add(cost) <= balance {
        return Ok(());
    }
    Err(match replaced {
        Some(old) => PoolError::BumpOverdraft { balance, queued, bumped: Box::new(BumpedCost { cost, old }) },
        None => PoolError::Overdraft { balance, queued, cost },
    })
}
