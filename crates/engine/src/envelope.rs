//! A built block as JSON (execution-apis: ExecutionPayloadV1 to V3 and what is around them).

use crate::{BuiltPayload, Sidecars};
use alloy_eips::{eip2718::Encodable2718, eip7594::BlobTransactionSidecarVariant};
use alloy_primitives::U256;
use hearth_home::{JsonWriter, write_withdrawals};
use hearth_primitives::Block;

/// Bytes to reserve for a payload without its transactions.
const PAYLOAD_BYTES: usize = 2_500;

/// The answer to `engine_getPayload` of a version, from 1 to 5; version 5 is also that of
/// `testing_buildBlockV1`.
pub fn write_envelope(built: &BuiltPayload, version: u8) -> Vec<u8> {
    let mut w = JsonWriter::with_capacity(PAYLOAD_BYTES);
    if version < 2 {
        write_payload(&mut w, &built.block);
        return w.into_bytes();
    }
    w.begin_object().key("executionPayload");
    write_payload(&mut w, &built.block);
    w.key("blockValue").quantity_u256(&built.value);
    if version >= 3 {
        w.key("blobsBundle");
        write_bundle(&mut w, &built.block, &built.sidecars);
        w.key("shouldOverrideBuilder").bool(false);
    }
    if version >= 4 {
        w.key("executionRequests").begin_array();
        for request in built.requests.iter().flatten() {
            w.bytes(request);
        }
        w.end_array();
    }
    w.end_object();
    w.into_bytes()
}

fn write_payload(w: &mut JsonWriter, block: &Block) {
    let header = &block.header;
    w.begin_object().key("parentHash").hash(&header.parent_hash);
    w.key("feeRecipient").address(&header.beneficiary);
    w.key("stateRoot").hash(&header.state_root);
    w.key("receiptsRoot").hash(&header.receipts_root);
    w.key("logsBloom").bytes(header.logs_bloom.as_slice());
    w.key("prevRandao").hash(&header.mix_hash);
    w.key("blockNumber").quantity(header.number);
    w.key("gasLimit").quantity(header.gas_limit);
    w.key("gasUsed").quantity(header.gas_used);
    w.key("timestamp").quantity(header.timestamp);
    w.key("extraData").bytes(&header.extra_data);
    w.key("baseFeePerGas").quantity_u256(&U256::from(header.base_fee_per_gas.unwrap_or(0)));
    w.key("blockHash").hash(&header.hash_slow());
    write_transactions(w, block);
    if let Some(withdrawals) = &block.body.withdrawals {
        write_withdrawals(w, withdrawals);
    }
    if let Some(used) = header.blob_gas_used {
        w.key("blobGasUsed").quantity(used);
    }
    if let Some(excess) = header.excess_blob_gas {
        w.key("excessBlobGas").quantity(excess);
    }
    w.end_object();
}

/// The member `transactions`, each in its EIP-2718 encoding.
pub(crate) fn write_transactions(w: &mut JsonWriter, block: &Block) {
    w.key("transactions").begin_array();
    for transaction in &block.body.transactions {
        w.bytes(&transaction.encoded_2718());
    }
    w.end_array();
}

fn write_bundle(w: &mut JsonWriter, block: &Block, sidecars: &Sidecars) {
    let bundled = || block.body.transactions.iter().filter_map(|tx| sidecars.get(tx.tx_hash()));
    w.begin_object().key("commitments").begin_array();
    for commitment in bundled().flat_map(|sidecar| sidecar.commitments()) {
        w.bytes(commitment.as_slice());
    }
    w.end_array().key("proofs").begin_array();
    for sidecar in bundled() {
        let proofs = match sidecar {
            BlobTransactionSidecarVariant::Eip4844(sidecar) => &sidecar.proofs,
            BlobTransactionSidecarVariant::Eip7594(sidecar) => &sidecar.cell_proofs,
        };
        for proof in proofs {
            w.bytes(proof.as_slice());
        }
    }
    w.end_array().key("blobs").begin_array();
    for blob in bundled().flat_map(|sidecar| sidecar.blobs()) {
        w.bytes(blob.as_slice());
    }
    w.end_array().end_object();
}
