//! The pool's rule for EIP-7702: an account whose code or balance a transaction of another one can
//! change at any time has one transaction in flight, so that one call cannot invalidate many
//! pending transactions.

use super::{PoolEntry, PoolError, contiguous, inner::Inner};
use alloy_primitives::Address;
use hearth_primitives::Account;

/// Most pending transactions of an account for which an authorization is sent.
const MAX_OF_AUTHORITY: usize = 1;

/// Checks a transaction that is not in the pool yet against those that are.
pub(super) fn check(inner: &Inner, entry: &PoolEntry, account: &Account) -> Result<(), PoolError> {
    one_in_flight(inner, entry, account)?;
    // Blobs cost much to check: a single transaction with them reserves its account.
    let is_reserved = |authority: &Address| {
        let waiting = inner.by_account.get(authority).map(|waiting| &waiting.queue);
        waiting.is_some_and(|queue| {
            queue.len() > MAX_OF_AUTHORITY || queue.values().any(|there| there.has_blobs())
        })
    };
    if entry.authorities.iter().any(is_reserved) { Err(PoolError::AuthorityReserved) } else { Ok(()) }
}

/// Only transactions that can be executed are in flight: those behind a nonce gap do not count, as
/// in go-ethereum (core/txpool/legacypool/legacypool.go: checkDelegationLimit).
fn one_in_flight(inner: &Inner, entry: &PoolEntry, account: &Account) -> Result<(), PoolError> {
    if !account.has_code() && !inner.authorities.contains_key(&entry.sender) {
        return Ok(());
    }
    match inner.by_account.get(&entry.sender) {
        Some(waiting) if waiting.queue.contains_key(&account.nonce) => {
            let mut in_flight = contiguous(&waiting.queue, account.nonce);
            if in_flight.any(|there| there.nonce == entry.nonce) {
                return Ok(());
            }
            Err(PoolError::DelegatedLimit)
        }
        _ if entry.nonce == account.nonce => Ok(()),
        _ => Err(PoolError::DelegatedGap),
    }
}
