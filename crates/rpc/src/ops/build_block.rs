//! `testing_buildBlockV1`: a block made on the head of given transactions, or of those that wait; it is not kept.

use super::{Answer, send::decode};
use alloy_eips::{eip2718::Encodable2718, eip4895::Withdrawal, eip7594::BlobTransactionSidecarVariant};
use alloy_primitives::{Address, B256, Bytes, U64, U256};
use hearth_chain::{AllOf, BlockAttributes, Draft, TransactionSource, fees, pool::strip_sidecar};
use hearth_evm::{BlockEnvironment, MAX_EXTRA_DATA, recover_sender};
use hearth_home::{Home, JsonWriter, NodeError, chain_error};
use hearth_primitives::{Block, Header, PooledTransaction, RootTracker as _, Transaction};
use serde::Deserialize;
use std::collections::HashMap;

/// Bytes to reserve for a payload without its transactions.
const PAYLOAD_BYTES: usize = 2_500;

/// What the caller decides about the block (execution-apis: `PayloadAttributesV3`).
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PayloadAttributes {
    /// In seconds.
    pub timestamp: U64,
    /// Its randomness.
    pub prev_randao: B256,
    /// Who gets the tips.
    pub suggested_fee_recipient: Address,
    /// Its withdrawals; none where absent.
    #[serde(default)]
    pub withdrawals: Option<Vec<Withdrawal>>,
    /// Root of the beacon block before it; zero where absent.
    #[serde(default)]
    pub parent_beacon_block_root: Option<B256>,
}

/// What is asked for.
pub(super) struct Asked {
    pub parent: B256,
    pub attributes: PayloadAttributes,
    /// Exactly these; what waits in the pool where absent.
    pub transactions: Option<Vec<Bytes>>,
    pub extra_data: Option<Bytes>,
}

type Sidecars = HashMap<B256, BlobTransactionSidecarVariant>;

pub(super) fn build(home: &Home, asked: Asked) -> Answer {
    let parent = home.head()?;
    if parent.hash != asked.parent {
        return Err(NodeError::NotTheHead);
    }
    let chain = home.chain();
    let attributes = attributes(home, &asked, &parent.block.header)?;
    let header = chain.header_after(&parent.block.header, &attributes);
    let state = home.state_after(parent.number(), &parent.hash)?;
    let mut sidecars = Sidecars::new();
    let given = match &asked.transactions {
        Some(list) => Some(read(home, list, &header, &mut sidecars)?),
        None => None,
    };
    let mut source: Box<dyn TransactionSource> = match &given {
        Some(list) => Box::new(AllOf::new(list)),
        None => {
            let blob_fee = fees::blob_base_fee(chain.spec(), &header).unwrap_or(0);
            let base_fee = header.base_fee_per_gas.unwrap_or(0);
            Box::new(home.pool().best_first(&state, base_fee, blob_fee)?)
        }
    };
    let draft = chain.draft(header, &attributes.withdrawals, &state, &mut *source);
    let draft = draft.map_err(|error| chain_error(&home.config().home, error))?;
    let draft = draft.map_err(|(_, error)| NodeError::ExecutionFailed { message: error.to_string() })?;
    let mut trie = chain.trie_after(parent.number())?;
    trie.apply(&draft.output.changes)?;
    let block = draft.complete(trie.root()?);
    for transaction in block.body.transactions.iter().filter(|tx| tx.is_eip4844()) {
        let entry = home.pool().get(transaction.tx_hash());
        let waiting = entry.as_ref().and_then(|entry| entry.with_sidecar.as_ref());
        if let Some(sidecar) = waiting.and_then(sidecar_of) {
            sidecars.entry(*transaction.tx_hash()).or_insert_with(|| sidecar.clone());
        }
    }
    Ok(render(&block, &draft, &sidecars))
}

fn attributes(home: &Home, asked: &Asked, parent: &Header) -> Result<BlockAttributes, NodeError> {
    let extra_data = asked.extra_data.clone().unwrap_or_default();
    if extra_data.len() > MAX_EXTRA_DATA {
        let message = format!("extra data too long: {} bytes, at most {MAX_EXTRA_DATA}", extra_data.len());
        return Err(NodeError::invalid_params(message));
    }
    let extra_data =
        if extra_data.is_empty() { home.chain().spec().mark_chain_id(extra_data) } else { extra_data };
    let given = &asked.attributes;
    let timestamp = given.timestamp.to::<u64>();
    if timestamp <= parent.timestamp {
        let message = format!("invalid timestamp, parent {} given {timestamp}", parent.timestamp);
        return Err(NodeError::ExecutionFailed { message });
    }
    Ok(BlockAttributes {
        timestamp,
        beneficiary: given.suggested_fee_recipient,
        prev_randao: given.prev_randao,
        parent_beacon_block_root: given.parent_beacon_block_root.unwrap_or_default(),
        withdrawals: given.withdrawals.clone().unwrap_or_default(),
        extra_data,
        gas_limit: home.next_gas_limit(parent),
    })
}

/// Decodes transactions and recovers their senders; puts their blobs aside.
fn read(
    home: &Home,
    list: &[Bytes],
    header: &Header,
    sidecars: &mut Sidecars,
) -> Result<Vec<(Transaction, Address)>, NodeError> {
    let spec = home.chain().spec();
    let environment = BlockEnvironment::from_header(spec, header);
    let read = list.iter().map(|bytes| {
        let pooled = decode(bytes)?;
        if let Some(sidecar) = sidecar_of(&pooled) {
            sidecars.insert(*pooled.tx_hash(), sidecar.clone());
        }
        let transaction = strip_sidecar(pooled);
        let sender = recover_sender(spec, &environment, &transaction)
            .map_err(|error| NodeError::ExecutionFailed { message: error.to_string() })?;
        Ok((transaction, sender))
    });
    read.collect()
}

fn sidecar_of(transaction: &PooledTransaction) -> Option<&BlobTransactionSidecarVariant> {
    match transaction {
        PooledTransaction::Eip4844(signed) => signed.tx().sidecar(),
        _ => None,
    }
}

fn render(block: &Block, draft: &Draft, sidecars: &Sidecars) -> Vec<u8> {
    let mut w = JsonWriter::with_capacity(PAYLOAD_BYTES);
    w.begin_object().key("executionPayload");
    write_payload(&mut w, block);
    w.key("blockValue").quantity_u256(&draft.tips);
    w.key("blobsBundle");
    write_bundle(&mut w, block, sidecars);
    w.key("executionRequests").begin_array();
    draft.output.requests.iter().flat_map(|requests| requests.iter()).for_each(|request| {
        w.bytes(request);
    });
    w.end_array().key("shouldOverrideBuilder").bool(false).end_object();
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
    w.key("transactions").begin_array();
    block.body.transactions.iter().for_each(|transaction| {
        w.bytes(&transaction.encoded_2718());
    });
    w.end_array();
    if let Some(withdrawals) = &block.body.withdrawals {
        crate::json::write_withdrawals(w, withdrawals);
    }
    if let Some(used) = header.blob_gas_used {
        w.key("blobGasUsed").quantity(used);
    }
    if let Some(excess) = header.excess_blob_gas {
        w.key("excessBlobGas").quantity(excess);
    }
    w.end_object();
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
        proofs.iter().for_each(|proof| {
            w.bytes(proof.as_slice());
        });
    }
    w.end_array().key("blobs").begin_array();
    for blob in bundled().flat_map(|sidecar| sidecar.blobs()) {
        w.bytes(blob.as_slice());
    }
    w.end_array().end_object();
}
