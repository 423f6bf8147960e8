//! Headers and blocks.

use super::{Inclusion, write_transaction};
use alloy_primitives::{Address, B256};
use hearth_home::{JsonWriter, write_withdrawals};
use hearth_primitives::{Block, Header};

/// A block with what the ledger knows about it.
#[derive(Clone, Copy, Debug)]
pub struct BlockParts<'a> {
    /// The block.
    pub block: &'a Block,
    /// Its hash.
    pub hash: &'a B256,
    /// Length of its RLP, in bytes.
    pub size: usize,
    /// Hash of each transaction, in order.
    pub tx_hashes: &'a [B256],
    /// Hash of each ommer, in order.
    pub ommer_hashes: &'a [B256],
}

/// Bytes to reserve for a transaction that is written whole.
const FULL_TRANSACTION_BYTES: usize = 1000;

/// Bytes to reserve for a transaction hash.
const HASH_BYTES: usize = 70;

/// Bytes to reserve for the header's members.
const HEADER_BYTES: usize = 2048;

impl BlockParts<'_> {
    /// A guess at the length of the block's JSON, in bytes.
    pub fn json_capacity(&self, full: bool) -> usize {
        let each = if full { FULL_TRANSACTION_BYTES } else { HASH_BYTES };
        HEADER_BYTES + self.tx_hashes.len() * each + if full { self.size * 2 } else { 0 }
    }
}

/// Writes a block; `senders` for whole transactions, `None` for their hashes.
pub fn write_block(w: &mut JsonWriter, parts: &BlockParts<'_>, senders: Option<&[Address]>) {
    w.begin_object();
    write_block_fields(w, parts, senders);
    w.end_object();
}

/// Writes the members of a block into an open object; `senders` as in [`write_block`].
pub fn write_block_fields(w: &mut JsonWriter, parts: &BlockParts<'_>, senders: Option<&[Address]>) {
    write_header_fields(w, &parts.block.header, Some(parts.hash));
    write_body_fields(w, parts, senders);
}

/// Writes a block that is on no chain: hash, nonce and producer are `null`, as in go-ethereum.
pub fn write_pending_block(w: &mut JsonWriter, parts: &BlockParts<'_>, senders: Option<&[Address]>) {
    w.begin_object();
    write_header_fields(w, &parts.block.header, None);
    write_body_fields(w, parts, senders);
    w.end_object();
}

fn write_body_fields(w: &mut JsonWriter, parts: &BlockParts<'_>, senders: Option<&[Address]>) {
    let header = &parts.block.header;
    w.key("size").quantity(parts.size as u64);
    w.key("transactions").begin_array();
    match senders {
        None => parts.tx_hashes.iter().for_each(|hash| {
            w.hash(hash);
        }),
        Some(senders) => {
            let transactions = parts.block.body.transactions.iter().zip(parts.tx_hashes).zip(senders);
            for (index, ((tx, hash), sender)) in transactions.enumerate() {
                let inclusion = Inclusion {
                    block_hash: parts.hash,
                    number: header.number,
                    timestamp: header.timestamp,
                    index: index as u64,
                    base_fee: header.base_fee_per_gas,
                };
                write_transaction(w, tx, hash, sender, Some(&inclusion));
            }
        }
    }
    w.end_array();
    w.key("uncles").begin_array();
    parts.ommer_hashes.iter().for_each(|hash| {
        w.hash(hash);
    });
    w.end_array();
    if let Some(withdrawals) = &parts.block.body.withdrawals {
        write_withdrawals(w, withdrawals);
    }
}

/// Writes the members of a header into an open object; without a hash it is the header of a block
/// that is on no chain.
pub fn write_header_fields(w: &mut JsonWriter, header: &Header, hash: Option<&B256>) {
    w.key("number").quantity(header.number);
    match hash {
        Some(hash) => w.key("hash").hash(hash).key("nonce").bytes(header.nonce.as_slice()),
        None => w.key("hash").null().key("nonce").null(),
    };
    w.key("parentHash").hash(&header.parent_hash);
    w.key("mixHash").hash(&header.mix_hash);
    w.key("sha3Uncles").hash(&header.ommers_hash);
    w.key("logsBloom").bytes(header.logs_bloom.as_slice());
    w.key("stateRoot").hash(&header.state_root);
    w.key("miner").optional_address(hash.map(|_| &header.beneficiary));
    w.key("difficulty").quantity_u256(&header.difficulty);
    w.key("extraData").bytes(&header.extra_data);
    w.key("gasLimit").quantity(header.gas_limit);
    w.key("gasUsed").quantity(header.gas_used);
    w.key("timestamp").quantity(header.timestamp);
    w.key("transactionsRoot").hash(&header.transactions_root);
    w.key("receiptsRoot").hash(&header.receipts_root);
    if let Some(fee) = header.base_fee_per_gas {
        w.key("baseFeePerGas").quantity(fee);
    }
    if let Some(root) = &header.withdrawals_root {
        w.key("withdrawalsRoot").hash(root);
    }
    if let Some(used) = header.blob_gas_used {
        w.key("blobGasUsed").quantity(used);
    }
    if let Some(excess) = header.excess_blob_gas {
        w.key("excessBlobGas").quantity(excess);
    }
    if let Some(root) = &header.parent_beacon_block_root {
        w.key("parentBeaconBlockRoot").hash(root);
    }
    if let Some(hash) = &header.requests_hash {
        w.key("requestsHash").hash(hash);
    }
}
