//! Transactions that clients send.

use super::{Answer, failed, short};
use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, U256};
use hearth_chain::ChainError;
use hearth_dev_chain::{DevChain, Submitted};
use hearth_evm::recover_pooled;
use hearth_home::{Home, NodeError, chain_error};
use hearth_pool::{PoolError, decode_transaction};
use hearth_primitives::PooledTransaction;
use std::num::NonZeroU128;

/// Accepts a signed transaction; its sender is recovered where it is not known yet.
pub(crate) fn raw_transaction(home: &Home, bytes: &[u8], sender: Option<Address>) -> Answer {
    let transaction = decode(bytes)?;
    check_limits(home, &transaction)?;
    let hash = match home.dev() {
        Some(dev) => submitted(home, dev.submit(transaction, sender))?,
        None => {
            let (state, head) = home.state_at(None)?;
            home.pool().add_of(transaction, sender, &head.block.header, &state)?.hash
        }
    };
    short(|w| w.hash(&hash))
}

/// The hash of a transaction that a development chain accepted, or the error of one that failed in
/// its block if such errors are enabled.
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
    if let Some(cap) = limits.tx_fee_cap_wei.map(NonZeroU128::get)
        && fee > U256::from(cap)
    {
        return Err(PoolError::FeeCapExceeded { fee_wei: fee, cap_wei: cap });
    }
    if home.config().consensus.is_some() && transaction.is_eip4844() {
        return Err(PoolError::BlobsNotKept);
    }
    if !limits.allow_unprotected_txs && transaction.chain_id().is_none() {
        return Err(PoolError::Unprotected);
    }
    Ok(())
}

/// Who signed a transaction, or `null`: the request itself says what is wrong with it.
pub(super) fn sender_of(bytes: &[u8], chain_id: u64) -> Answer {
    let sender = if hearth_cosmos::is_native(bytes) {
        let decoded = hearth_cosmos::decode(bytes, &hearth_cosmos::chain_id(chain_id));
        decoded.ok().map(|decoded| decoded.transaction.sender)
    } else {
        decode_transaction(bytes).ok().and_then(|transaction| recover_pooled(&transaction))
    };
    short(|w| match &sender {
        Some(address) => w.address(address),
        None => w.null(),
    })
}

/// Decodes a transaction's EIP-2718 bytes; nothing may follow them.
pub(super) fn decode(bytes: &[u8]) -> Result<PooledTransaction, NodeError> {
    decode_transaction(bytes).map_err(|error| NodeError::TransactionDecode { message: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::sender_of;
    use alloy_primitives::hex;

    fn sender(raw: &[u8]) -> String {
        String::from_utf8(sender_of(raw, 1).expect("an answer")).expect("JSON")
    }

    #[test]
    fn the_sender_is_the_one_that_viem_signed_for() {
        let dynamic = hex!(
            "02f869821cbd80018504a817c80082520894eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee0180c080a0c48dab3899ba
             91d27ce763eaaa8e796fbc079627c7044bcd32f9a7a591f74eb8a01e13aefb116b5855920f51b1d97c71e2b18363e7cc96
             ef47bd478a8a3632558e"
        );
        let legacy = hex!(
            "f866808504a817c80082520894eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee018082399da0b832247c59e1b4f0d9b4
             7739ef674529b0ae3c92696a84b245a28ff1432436d9a056baa50508d737bee4892530bd331e41f17c29d4d68a273c0d57
             3c7ea476a52d"
        );
        for raw in [&dynamic[..], &legacy] {
            assert_eq!(sender(raw), "\"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266\"");
        }
        // A list that ends early, an unknown type, and nothing.
        for raw in [&legacy[..50], &[0x0a, 1, 2], &[]] {
            assert_eq!(sender(raw), "null");
        }
    }
}
