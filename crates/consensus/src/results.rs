//! The results that CometBFT gets for the transactions of a block. Code, data and gas are hashed
//! into the next header (LastResultsHash), so they must be the same on all nodes; logs are not
//! hashed.

use crate::natives::{SDK, native_result};
use alloy_consensus::Transaction as _;
use bytes::Bytes;
use hearth_abci::pb::ExecTxResult;
use hearth_cosmos::is_native;
use hearth_primitives::{BlockOutput, Transaction};
use std::collections::BTreeMap;

/// Where the codes of this application are explained.
pub(crate) const CODESPACE: &str = "evm";

/// The transaction cannot be in a block: it was left out, or the pool does not take it.
pub(crate) const CODE_INVALID: u32 = 1;

/// The transaction is in the block and was reverted, or ended with an error.
pub(crate) const CODE_FAILED: u32 = 3;

/// For now the transaction cannot be taken: the pool is full. CometBFT v0.40 tries it again.
pub(crate) const CODE_LATER: u32 = 32_000;

/// Why a transaction of a decided block is not in the Ethereum block.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    code: u32,
    codespace: &'static str,
    log: String,
}

impl Refusal {
    /// Of an Ethereum transaction.
    pub fn of_evm(log: String) -> Self {
        Self { code: CODE_INVALID, codespace: CODESPACE, log }
    }

    fn result(&self) -> ExecTxResult {
        ExecTxResult {
            code: self.code,
            log: self.log.clone(),
            codespace: self.codespace.to_owned(),
            ..Default::default()
        }
    }
}

impl From<hearth_cosmos::TxError> for Refusal {
    fn from(error: hearth_cosmos::TxError) -> Self {
        Self { code: error.code(), codespace: SDK, log: error.to_string() }
    }
}

/// The results of a block's transactions in CometBFT's order. `left_out` lists those that are not
/// in the Ethereum block, by index, with the reason.
pub(crate) fn results(
    given: &[Bytes],
    included: &[Transaction],
    output: &BlockOutput,
    left_out: &BTreeMap<usize, Refusal>,
) -> Vec<ExecTxResult> {
    let mut natives = output.sidecar.natives.iter().zip(&output.native_outcomes);
    let mut executed = included.iter().zip(&output.receipts);
    let mut before = 0;
    let missing = || Refusal::of_evm(String::new()).result();
    let mut result = |(place, tx): (usize, &Bytes)| {
        if let Some(refusal) = left_out.get(&place) {
            return refusal.result();
        }
        if is_native(tx) {
            return natives.next().map_or_else(missing, |(native, outcome)| native_result(native, outcome));
        }
        executed.next().map_or_else(missing, |(transaction, receipt)| {
            let gas_used = receipt.cumulative_gas_used() - before;
            before = receipt.cumulative_gas_used();
            evm_result(transaction, receipt.status(), gas_used)
        })
    };
    given.iter().enumerate().map(&mut result).collect()
}

/// The result of an Ethereum transaction that is in the block.
fn evm_result(transaction: &Transaction, success: bool, gas_used: u64) -> ExecTxResult {
    let (code, log, codespace) = match success {
        true => (0, String::new(), ""),
        false => (CODE_FAILED, "execution failed".to_owned(), CODESPACE),
    };
    ExecTxResult {
        code,
        log,
        gas_wanted: gas(transaction.gas_limit()),
        gas_used: gas(gas_used),
        codespace: codespace.to_owned(),
        // cosmjs reads the data of every transaction as `TxMsgData`.
        data: Bytes::new(),
        ..Default::default()
    }
}

/// Gas as CometBFT counts it.
pub(crate) fn gas(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
