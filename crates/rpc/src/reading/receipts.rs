//! Receipts in batches, a group for each block.
//!
//! ```text
//! group = number u64 | hash | timestamp u64 | receipts u32 | receipt*
//! ```

use super::{
    packed::Packed,
    range::{Range, whole_blocks},
};
use crate::{json::effective_gas_price, ops::check_length};
use alloy_consensus::{Eip658Value, Transaction as _, TxReceipt, Typed2718};
use alloy_primitives::Log;
use hearth_chain::fees;
use hearth_home::{Home, NodeError};

pub(super) fn batch(home: &Home, range: &Range) -> Result<Vec<u8>, NodeError> {
    whole_blocks(home, range, |packed, block| {
        let stored = home.receipts_of(block)?;
        check_length(block, stored.receipts.len())?;
        check_length(block, stored.senders.len())?;
        let header = &block.block.header;
        packed.u64(header.number).hash(&block.hash).u64(header.timestamp).u32(stored.receipts.len());
        let blob_price = fees::blob_base_fee(home.chain().spec(), header);
        let of_block = block.block.body.transactions.iter().zip(&block.tx_hashes).zip(&stored.senders);
        let mut gas_before = 0;
        for (((tx, hash), sender), receipt) in of_block.zip(&stored.receipts) {
            packed.hash(hash).byte(tx.ty()).address(sender);
            packed.optional(tx.to().as_ref(), |packed, to| {
                packed.address(to);
            });
            let created = tx.to().is_none().then(|| sender.create(tx.nonce()));
            packed.optional(created.as_ref(), |packed, at| {
                packed.address(at);
            });
            match receipt.status_or_post_state() {
                Eip658Value::Eip658(success) => packed.flag(success),
                Eip658Value::PostState(root) => packed.byte(POST_STATE).hash(&root),
            };
            let gas = receipt.cumulative_gas_used();
            packed.u64(gas).u64(gas.saturating_sub(gas_before));
            packed.u128(effective_gas_price(tx, header.base_fee_per_gas));
            packed.optional(tx.blob_gas_used(), |packed, used| {
                packed.u64(used).u128(blob_price.unwrap_or_default());
            });
            packed.raw(receipt.bloom().as_slice());
            packed.list(receipt.logs(), write_log);
            gas_before = gas;
        }
        Ok(())
    })
}

/// Stands in the place of a status where a receipt has a state root (before EIP-658).
const POST_STATE: u8 = 2;

/// `address | topics u8 | topic* | data`
pub(super) fn write_log(packed: &mut Packed, log: &Log) {
    let topics = log.topics();
    // The EVM has LOG4: at most four topics.
    packed.address(&log.address).byte(topics.len() as u8);
    for topic in topics {
        packed.hash(topic);
    }
    packed.bytes(&log.data.data);
}
