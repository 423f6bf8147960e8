//! CheckTx and InsertTx of native transactions.

use crate::{application::App, exception::ConsensusError};
use alloy_primitives::U256;
use hearth_chain::fees;
use hearth_cosmos::{TxError, chain_id, decode};
use hearth_evm::{Fork, MAX_TX_GAS, NATIVE_GAS_SHARE};
use hearth_ledger::StoredBlock;
use hearth_pool::call_gas;
use hearth_primitives::{Account, NativeTransaction, StateReader as _};

/// Longest native transaction here beside the data of its call, in bytes; those of wallets have
/// less than half. Gas pays for the data alone: without a bound, zeros in front of an amount would
/// fill blocks for the price of a transfer.
const BESIDE_DATA_BYTES_MAX: usize = 2 << 10;

impl App {
    /// Gives a native transaction to those that wait; its gas limit where it waits now.
    pub(crate) fn add_native(&self, tx: &[u8]) -> Result<Result<u64, TxError>, ConsensusError> {
        let spec = self.home.chain().spec();
        let transaction = match decode(tx, &chain_id(spec.chain_id())) {
            Ok(decoded) => decoded.transaction,
            Err(error) => return Ok(Err(error)),
        };
        let (state, head) = self.home.state_at(None)?;
        let account = state.account(&transaction.sender)?.unwrap_or_default();
        if let Err(error) = self.check_native(&transaction, &account, &head) {
            return Ok(Err(error));
        }
        let gas_limit = transaction.gas_limit;
        Ok(self.natives.add(transaction, account.nonce, head.number()).map(|()| gas_limit))
    }

    /// Whether the next block could have a transaction, as far as its account says; its nonce is
    /// looked at where it waits.
    fn check_native(
        &self,
        transaction: &NativeTransaction,
        account: &Account,
        head: &StoredBlock,
    ) -> Result<(), TxError> {
        let spec = self.home.chain().spec();
        let (header, next) = (&head.block.header, head.number() + 1);
        let (gas_limit, timeout) = (transaction.gas_limit, transaction.timeout_height);
        let (have, most) = (transaction.bytes.len(), BESIDE_DATA_BYTES_MAX + transaction.input.len());
        if have > most {
            return Err(TxError::TooLarge { most, have });
        }
        if timeout != 0 && timeout < next {
            return Err(TxError::Timeout { height: next, timeout });
        }
        let want = call_gas(&transaction.input);
        if gas_limit < want {
            return Err(TxError::OutOfGas { have: gas_limit, want });
        }
        let cap = if spec.fork_of(header) >= Fork::Osaka { MAX_TX_GAS } else { u64::MAX };
        let most = (header.gas_limit / NATIVE_GAS_SHARE).min(cap);
        if gas_limit > most {
            let text = format!("a native transaction has at most {most} gas here, and not {gas_limit}");
            return Err(TxError::Invalid(text));
        }
        let base_fee = fees::next_base_fee(spec, header).unwrap_or(0);
        let cost = |price: u128| U256::from(gas_limit).saturating_mul(U256::from(price));
        if transaction.gas_price < u128::from(base_fee) {
            let (have, want) = (cost(transaction.gas_price), cost(base_fee.into()));
            return Err(TxError::Fee { have, want });
        }
        let want = cost(transaction.gas_price).saturating_add(transaction.value);
        if account.balance < want {
            let (address, have) = (transaction.sender, account.balance);
            return Err(TxError::Funds { address, have, want });
        }
        Ok(())
    }
}
