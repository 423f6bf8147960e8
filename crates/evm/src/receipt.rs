//! Receipts in their typed form.

use alloy_consensus::{Eip658Value, Receipt as Inner, ReceiptWithBloom, TxType};
use alloy_primitives::{B256, Log};
use hearth_primitives::Receipt;

/// What a receipt says about its transaction's end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReceiptStatus {
    /// Success or failure (EIP-658, from Byzantium on).
    Success(bool),
    /// State root after the transaction (before Byzantium).
    Root(B256),
}

/// Builds the receipt of a transaction of type `ty` with its bloom.
pub(crate) fn build_receipt(
    ty: u8,
    status: ReceiptStatus,
    cumulative_gas_used: u64,
    logs: Vec<Log>,
) -> Receipt {
    let status = match status {
        ReceiptStatus::Success(success) => Eip658Value::Eip658(success),
        ReceiptStatus::Root(root) => Eip658Value::PostState(root),
    };
    let receipt: ReceiptWithBloom<Inner<Log>> = Inner { status, cumulative_gas_used, logs }.with_bloom();
    match TxType::try_from(ty).unwrap_or(TxType::Legacy) {
        TxType::Legacy => Receipt::Legacy(receipt),
        TxType::Eip2930 => Receipt::Eip2930(receipt),
        TxType::Eip1559 => Receipt::Eip1559(receipt),
        TxType::Eip4844 => Receipt::Eip4844(receipt),
        TxType::Eip7702 => Receipt::Eip7702(receipt),
    }
}
