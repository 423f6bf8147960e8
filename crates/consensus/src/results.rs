//! The results that CometBFT gets for the transactions of a block. Code, data and gas are hashed
//! into the next header (LastResultsHash), so they must be the same on all nodes; logs are not
//! hashed.

use alloy_consensus::Transaction as _;
use bytes::Bytes;
use hearth_abci::pb::ExecTxResult;
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

/// The results of a block's transactions in CometBFT's order. `left_out` lists those that are not
/// in the Ethereum block, by index, with the reason.
pub(crate) fn results(
    given: usize,
    included: &[Transaction],
    output: &BlockOutput,
    left_out: &BTreeMap<usize, String>,
) -> Vec<ExecTxResult> {
    let mut before = 0;
    let mut executed = included.iter().zip(&output.receipts);
    let place = |place: usize| match left_out.get(&place) {
        Some(reason) => refused(reason.clone()),
        None => executed.next().map_or_else(
            || refused(String::new()),
            |(transaction, receipt)| {
                let gas_used = receipt.cumulative_gas_used() - before;
                before = receipt.cumulative_gas_used();
                let (code, log) = match receipt.status() {
                    true => (0, String::new()),
                    false => (CODE_FAILED, "execution failed".to_owned()),
                };
                ExecTxResult {
                    code,
                    log,
                    gas_wanted: gas(transaction.gas_limit()),
                    gas_used: gas(gas_used),
                    codespace: if code == 0 { String::new() } else { CODESPACE.to_owned() },
                    data: Bytes::new(),
                    ..Default::default()
                }
            },
        ),
    };
    (0..given).map(place).collect()
}

/// The result of a transaction that is not in the block.
fn refused(log: String) -> ExecTxResult {
    ExecTxResult { code: CODE_INVALID, log, codespace: CODESPACE.to_owned(), ..Default::default() }
}

/// Gas as CometBFT counts it.
pub(crate) fn gas(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
