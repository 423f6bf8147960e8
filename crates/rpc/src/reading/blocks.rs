//! Blocks in batches.

use super::{
    packed::Packed,
    range::{Range, whole_blocks},
    transactions,
};
use crate::ops::check_length;
use hearth_home::{Home, NodeError};
use hearth_ledger::StoredBlock;

pub(super) fn batch(home: &Home, range: &Range, full: bool) -> Result<Vec<u8>, NodeError> {
    whole_blocks(home, range, |packed, block| {
        write_header(packed, block);
        packed.flag(full);
        if !full {
            packed.list(&block.tx_hashes, |packed, hash| {
                packed.hash(hash);
            });
            return Ok(());
        }
        let senders = home.senders_of(block)?;
        check_length(block, senders.len())?;
        transactions::write_all(packed, block, &senders);
        Ok(())
    })
}

/// Everything of a block but its transactions.
fn write_header(packed: &mut Packed, stored: &StoredBlock) {
    let StoredBlock { block, hash, size, ommer_hashes, .. } = stored;
    let header = &block.header;
    packed.u64(header.number).hash(hash).hash(&header.parent_hash).raw(header.nonce.as_slice());
    packed.hash(&header.mix_hash).hash(&header.ommers_hash).raw(header.logs_bloom.as_slice());
    packed.hash(&header.state_root).address(&header.beneficiary).word(&header.difficulty);
    packed.bytes(&header.extra_data).u64(header.gas_limit).u64(header.gas_used).u64(header.timestamp);
    packed.hash(&header.transactions_root).hash(&header.receipts_root);
    let number = |packed: &mut Packed, value: u64| {
        packed.u64(value);
    };
    packed.optional(header.base_fee_per_gas, number);
    packed.optional(header.withdrawals_root.as_ref(), |packed, root| {
        packed.hash(root);
    });
    packed.optional(header.blob_gas_used, number).optional(header.excess_blob_gas, number);
    packed.optional(header.parent_beacon_block_root.as_ref(), |packed, root| {
        packed.hash(root);
    });
    packed.optional(header.requests_hash.as_ref(), |packed, hash| {
        packed.hash(hash);
    });
    packed.u64(*size as u64);
    packed.list(ommer_hashes, |packed, hash| {
        packed.hash(hash);
    });
    packed.optional(block.body.withdrawals.as_ref(), |packed, list| {
        packed.list(list, |packed, withdrawal| {
            packed.u64(withdrawal.index).u64(withdrawal.validator_index);
            packed.address(&withdrawal.address).u64(withdrawal.amount);
        });
    });
}
