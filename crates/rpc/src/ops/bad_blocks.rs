//! `debug_getBadBlocks`: the last blocks that this home rejected, from any source. They are kept in
//! a file of the home, so that those of an import are available afterwards.

use super::Answer;
use crate::json::{BlockParts, write_block};
use alloy_primitives::{Address, B256};
use alloy_rlp::Encodable as _;
use hearth_evm::{BlockEnvironment, recover_sender};
use hearth_home::{Home, JsonWriter};
use hearth_primitives::Block;
use std::cmp::Reverse;

pub(super) fn list(home: &Home) -> Answer {
    let mut writer = JsonWriter::default();
    writer.begin_array();
    for block in by_height(home.bad_blocks()?) {
        let hash = block.header.hash_slow();
        let rlp = alloy_rlp::encode(&block);
        writer.begin_object();
        writer.key("hash").hash(&hash);
        writer.key("block");
        write(&mut writer, home, &block, &hash);
        writer.key("rlp").bytes(&rlp);
        writer.end_object();
    }
    writer.end_array();
    Ok(writer.into_bytes())
}

/// The highest one first, as in go-ethereum (core/rawdb/accessors_chain.go: WriteBadBlock); among
/// those of one height the oldest. They are given newest first.
fn by_height(mut blocks: Vec<Block>) -> Vec<Block> {
    blocks.reverse();
    blocks.sort_by_key(|block| Reverse(block.header.number));
    blocks
}

fn write(writer: &mut JsonWriter, home: &Home, block: &Block, hash: &B256) {
    let spec = home.chain().spec();
    let environment = BlockEnvironment::from_header(spec, &block.header);
    let transactions = &block.body.transactions;
    let tx_hashes: Vec<B256> = transactions.iter().map(|tx| *tx.tx_hash()).collect();
    let ommer_hashes: Vec<B256> = block.body.ommers.iter().map(|ommer| ommer.hash_slow()).collect();
    // A signature may be what was wrong with the block: its sender is zero then, as in go-ethereum
    // (eth/api_debug.go: GetBadBlocks).
    let sender = |tx| recover_sender(spec, &environment, tx).unwrap_or_default();
    let senders: Vec<Address> = transactions.iter().map(sender).collect();
    let parts =
        BlockParts { block, hash, size: block.length(), tx_hashes: &tx_hashes, ommer_hashes: &ommer_hashes };
    write_block(writer, &parts, Some(&senders));
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_primitives::Header;

    #[test]
    fn refused_blocks_come_by_height() {
        let block = |(number, gas_limit)| Block::uncle(Header { number, gas_limit, ..Header::default() });
        let sorted = by_height([(1, 1), (3, 1), (2, 1), (3, 2)].map(block).to_vec());
        let order: Vec<_> =
            sorted.iter().map(|block| (block.header.number, block.header.gas_limit)).collect();
        assert_eq!(order, [(3, 2), (3, 1), (2, 1), (1, 1)]);
    }
}
