//! From an execution payload to a block (execution-apis: ExecutionPayloadV1 to V3).

use alloy_consensus::{
    EMPTY_OMMER_ROOT_HASH, Transaction as _,
    proofs::{calculate_transaction_root, calculate_withdrawals_root},
};
use alloy_eips::{eip2718::Decodable2718, eip4895::Withdrawal, eip7685::Requests};
use alloy_primitives::{Address, B256, Bloom, Bytes, U64, U256};
use hearth_evm::MAX_EXTRA_DATA;
use hearth_primitives::{Block, Header, Transaction};
use serde::Deserialize;

/// An execution payload as consensus clients send it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionPayload {
    /// Hash of the parent.
    pub parent_hash: B256,
    /// Fee recipient.
    pub fee_recipient: Address,
    /// State root after the block.
    pub state_root: B256,
    /// Receipts root.
    pub receipts_root: B256,
    /// Logs bloom.
    pub logs_bloom: Bloom,
    /// `prevRandao`.
    pub prev_randao: B256,
    /// Block number.
    pub block_number: U64,
    /// Gas limit.
    pub gas_limit: U64,
    /// Gas used.
    pub gas_used: U64,
    /// In seconds.
    pub timestamp: U64,
    /// At most 32 bytes.
    pub extra_data: Bytes,
    /// In wei.
    pub base_fee_per_gas: U256,
    /// Its hash.
    pub block_hash: B256,
    /// Transactions in their EIP-2718 encoding, without blobs.
    pub transactions: Vec<Bytes>,
    /// Withdrawals; from Shanghai on.
    #[serde(default)]
    pub withdrawals: Option<Vec<Withdrawal>>,
    /// Blob gas that it uses; from Cancun on.
    #[serde(default)]
    pub blob_gas_used: Option<U64>,
    /// Blob gas beyond the target, summed up; from Cancun on.
    #[serde(default)]
    pub excess_blob_gas: Option<U64>,
}

/// The fields of `engine_newPayload` outside of the payload: they are part of the block hash, or
/// must agree with the transactions.
#[derive(Clone, Debug, Default)]
pub(crate) struct PayloadSidecar {
    /// Blobs that the transactions name; none where absent.
    pub versioned_hashes: Option<Vec<B256>>,
    /// See EIP-4788.
    pub parent_beacon_block_root: Option<B256>,
    /// See EIP-7685.
    pub requests: Option<Vec<Bytes>>,
}

impl ExecutionPayload {
    /// The block, or why there is none with this hash: the reasons for which a payload is invalid
    /// regardless of its parent.
    pub(crate) fn into_block(self, beside: PayloadSidecar) -> Result<Block, String> {
        if self.extra_data.len() > MAX_EXTRA_DATA {
            return Err(format!("extraData has {} bytes, at most {MAX_EXTRA_DATA}", self.extra_data.len()));
        }
        let base_fee = u64::try_from(self.base_fee_per_gas)
            .map_err(|_| format!("baseFeePerGas {} is more than 64 bits", self.base_fee_per_gas))?;
        let transactions = decode(&self.transactions)?;
        check_blobs(&transactions, beside.versioned_hashes.as_deref().unwrap_or_default())?;
        let requests_hash = beside.requests.map(|requests| Requests::new(requests).requests_hash());
        let header = Header {
            parent_hash: self.parent_hash,
            ommers_hash: EMPTY_OMMER_ROOT_HASH,
            beneficiary: self.fee_recipient,
            state_root: self.state_root,
            transactions_root: calculate_transaction_root(&transactions),
            receipts_root: self.receipts_root,
            logs_bloom: self.logs_bloom,
            number: self.block_number.to(),
            gas_limit: self.gas_limit.to(),
            gas_used: self.gas_used.to(),
            timestamp: self.timestamp.to(),
            extra_data: self.extra_data,
            mix_hash: self.prev_randao,
            base_fee_per_gas: Some(base_fee),
            withdrawals_root: self.withdrawals.as_deref().map(calculate_withdrawals_root),
            blob_gas_used: self.blob_gas_used.map(|gas| gas.to()),
            excess_blob_gas: self.excess_blob_gas.map(|gas| gas.to()),
            parent_beacon_block_root: beside.parent_beacon_block_root,
            requests_hash,
            ..Header::default()
        };
        let hash = header.hash_slow();
        if hash != self.block_hash {
            return Err(format!("blockHash is {}, the fields give {hash}", self.block_hash));
        }
        let withdrawals = self.withdrawals.map(Into::into);
        Ok(Block::new(header, alloy_consensus::BlockBody { transactions, ommers: Vec::new(), withdrawals }))
    }
}

fn decode(encoded: &[Bytes]) -> Result<Vec<Transaction>, String> {
    let decoded = encoded.iter().enumerate().map(|(index, bytes)| {
        Transaction::decode_2718_exact(bytes).map_err(|error| format!("transaction {index}: {error}"))
    });
    decoded.collect()
}

/// The blobs that transactions name must be those that the consensus client has, in the same order.
fn check_blobs(transactions: &[Transaction], wanted: &[B256]) -> Result<(), String> {
    let named = transactions.iter().filter_map(|transaction| transaction.blob_versioned_hashes()).flatten();
    if named.eq(wanted) {
        return Ok(());
    }
    let named = transactions.iter().filter_map(|transaction| transaction.blob_versioned_hashes());
    let named: usize = named.map(<[B256]>::len).sum();
    Err(format!("the transactions name {named} blobs, which are not the {} expected ones", wanted.len()))
}

/// Checks the list of execution requests: each of at least two bytes, types ascending without
/// repetition (execution-apis, src/engine/prague.md).
pub(crate) fn check_requests(requests: &[Bytes]) -> Result<(), String> {
    let mut last = None;
    for (index, request) in requests.iter().enumerate() {
        let kind = request.first().filter(|_| request.len() > 1);
        let kind = *kind.ok_or_else(|| format!("executionRequests[{index}] has no data"))?;
        if last.is_some_and(|last| kind <= last) {
            return Err(format!("executionRequests[{index}]: types must ascend, each once"));
        }
        last = Some(kind);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_need_data_and_ascending_types() {
        let request = |bytes: &[u8]| Bytes::copy_from_slice(bytes);
        assert_eq!(check_requests(&[]), Ok(()));
        assert_eq!(check_requests(&[request(&[0, 1]), request(&[2, 1])]), Ok(()));
        assert_eq!(check_requests(&[request(&[0])]), Err("executionRequests[0] has no data".into()));
        assert_eq!(check_requests(&[request(&[])]), Err("executionRequests[0] has no data".into()));
        let twice = Err("executionRequests[1]: types must ascend, each once".to_owned());
        assert_eq!(check_requests(&[request(&[1, 1]), request(&[1, 2])]), twice);
        assert_eq!(check_requests(&[request(&[1, 1]), request(&[0, 2])]), twice);
    }
}
