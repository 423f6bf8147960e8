//! Transactions that clients send.

use super::{Answer, failed, short};
use alloy_consensus::Transaction as _;
use alloy_primitives::{B256, U256};
use hearth_chain::{
    ChainError,
    dev::{DevChain, Submitted},
    pool::{PoolError, decode_transaction},
};
use hearth_home::{Home, NodeError, chain_error};
use hearth_primitives::PooledTransaction;

pub(super) fn raw_transaction(home: &Home, bytes: &[u8]) -> Answer {
    let transaction = decode(bytes)?;
    check_limits(home, &transaction)?;
    let hash = match home.dev() {
        Some(dev) => submitted(home, dev.submit(transaction, None))?,
        None => {
            let (state, head) = home.state_at(None)?;
            home.pool().add(transaction, &head.block.header, &state)?.hash
        }
    };
    short(|w| w.hash(&hash))
}

/// The hash of a transaction that a development chain accepted, or the error for one that failed in its block where
/// that is asked for.
pub(super) fn submitted<E>(
    home: &Home,
    done: Result<Result<Submitted, E>, ChainError>,
) -> Result<B256, NodeError>
where
    NodeError: From<E>,
{
    let submitted = done.map_err(|error| chain_error(&home.config().home, error))?;
    let Submitted { entry, outcome } = submitted.map_err(|error| match NodeError::from(error) {
        NodeError::Pool(PoolError::GasLimitTooHigh { cap, gas }) => NodeError::GasAboveForkCap { cap, gas },
        other => other,
    })?;
    let throws = home.dev().is_some_and(DevChain::throws_on_revert);
    match outcome.filter(|_| throws).and_then(|outcome| failed::failure(entry.hash, &outcome)) {
        Some(failure) => Err(failure),
        None => Ok(entry.hash),
    }
}

/// Checks a transaction against the limits that the operator sets.
pub(super) fn check_limits(home: &Home, transaction: &PooledTransaction) -> Result<(), PoolError> {
    let limits = &home.config().rpc;
    let fee = U256::from(transaction.max_fee_per_gas()).saturating_mul(U256::from(transaction.gas_limit()));
    if limits.tx_fee_cap_wei != 0 && fee > U256::from(limits.tx_fee_cap_wei) {
        return Err(PoolError::FeeCapExceeded { fee_wei: fee, cap_wei: limits.tx_fee_cap_wei });
    }
    if home.config().consensus.is_some() && transaction.is_eip4844() {
        return Err(PoolError::BlobsNotKept);
    }
    if !limits.allow_unprotected_txs && transaction.chain_id().is_none() {
        return Err(PoolError::Unprotected);
    }
    Ok(())
}

/// Decodes a transaction's EIP-2718 bytes; nothing may follow them.
pub(super) fn decode(bytes: &[u8]) -> Result<PooledTransaction, NodeError> {
    decode_transaction(bytes).map_err(|error| NodeError::TransactionDecode { message: error.to_string() })
}
