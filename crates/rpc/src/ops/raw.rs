//! Blocks, headers, receipts and transactions in their consensus encodings, with go-ethereum's
//! distinctions (internal/ethapi/api.go: GetRawBlock and those after it): an unknown number gives
//! empty bytes, an unknown hash an error, and `requireCanonical` does not count.

use super::{Answer, null};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::B256;
use alloy_rlp::Encodable;
use hearth_home::{BlockRef, Home, JsonWriter, NodeError};
use hearth_ledger::StoredBlock;
use std::sync::Arc;

pub(super) fn block(home: &Home, block: BlockRef) -> Answer {
    let bytes = find(home, block, "block")?.map(|found| alloy_rlp::encode(&found.block));
    hex(&bytes.unwrap_or_default())
}

pub(super) fn header(home: &Home, block: BlockRef) -> Answer {
    let bytes = find(home, block, "header")?.map(|found| {
        let mut out = Vec::with_capacity(found.block.header.length());
        found.block.header.encode(&mut out);
        out
    });
    hex(&bytes.unwrap_or_default())
}

pub(super) fn receipts(home: &Home, block: BlockRef) -> Answer {
    let found = match find(home, block, "block") {
        // go-ethereum looks receipts up without the block. Where another node has the blocks that
        // are not here, the error lets that one answer.
        Err(NodeError::BlockUnknown { .. }) if !continues_another(home) => return Ok(b"[]".to_vec()),
        found => found?,
    };
    let Some(found) = found else { return null() };
    let stored = home.receipts_of(&found)?;
    let mut writer = JsonWriter::default();
    writer.begin_array();
    stored.receipts.iter().for_each(|receipt| {
        writer.bytes(&receipt.encoded_2718());
    });
    writer.end_array();
    Ok(writer.into_bytes())
}

pub(super) fn transaction(home: &Home, hash: &B256) -> Answer {
    if let Some((block, index)) = home.chain().reader().transaction(hash)? {
        let tx = block.block.body.transactions.get(index);
        return hex(&tx.map(|tx| tx.encoded_2718()).unwrap_or_default());
    }
    let entry = home.pool().get(hash);
    hex(&entry.map(|entry| entry.encoded()).unwrap_or_default())
}

fn find(home: &Home, block: BlockRef, what: &str) -> Result<Option<Arc<StoredBlock>>, NodeError> {
    match block {
        BlockRef::Number(number) => home.block_by_number(number),
        BlockRef::Hash(hash) => {
            let found = home.block_by_hash(&hash.block_hash)?;
            found.map(Some).ok_or_else(|| NodeError::BlockUnknown {
                text: format!("{what} #{} not found", numbers(&hash.block_hash)),
            })
        }
    }
}

/// A hash as go-ethereum prints it where it formats one as a number (common/types.go: Hash.Format):
/// its bytes in decimal.
fn numbers(hash: &B256) -> String {
    format!("{:?}", hash.0).replace(',', "")
}

/// Whether the chain is that of another node: a fork, or a follower.
fn continues_another(home: &Home) -> bool {
    home.config().fork.is_some() || home.chain().is_follower()
}

fn hex(bytes: &[u8]) -> Answer {
    let mut writer = JsonWriter::with_capacity(bytes.len() * 2 + 4);
    writer.bytes(bytes);
    Ok(writer.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::numbers;
    use alloy_primitives::B256;

    #[test]
    fn hashes_are_numbers_in_refusals() {
        assert_eq!(numbers(&B256::with_last_byte(255)), format!("[{}255]", "0 ".repeat(31)));
    }
}
