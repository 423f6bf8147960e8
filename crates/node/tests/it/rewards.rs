//! What blocks of proof of work paid, by hash and of any branch.

use crate::{
    engine::next_block,
    support::{ask, config},
};
use alloy_primitives::B256;
use hearth_chain::{Chain, ChainOptions};
use hearth_flatkv::Fsync;
use hearth_node::{Mode, Node};
use serde_json::{Value, json};

const GENESIS: &str = r#"{
    "config": {"chainId": 5, "homesteadBlock": 0, "eip150Block": 0, "eip155Block": 0, "eip158Block": 0},
    "difficulty": "0x100000", "gasLimit": "0x1000000",
    "alloc": {"0x00000000000000000000000000000000000000aa": {"balance": "1000"}}
}"#;

#[test]
fn rewards_are_those_of_the_block_of_the_hash() {
    let home = tempfile::tempdir().expect("a folder");
    let options = ChainOptions { fsync: Fsync::Never, ..ChainOptions::default() };
    let chain = Chain::create(home.path(), GENESIS, &options).expect("a chain");
    let genesis = chain.head().hash;
    // Two blocks of one height: one of them is outside of the chain.
    let blocks = [1, 2].map(|mark| next_block(&chain, genesis, mark, &[]));
    for block in &blocks {
        chain.insert_block(block.clone()).expect("is valid");
    }
    chain.close().expect("closes");
    drop(chain);
    let node = Node::open(config(home.path(), Mode::Start)).expect("opens");
    let of = |hash: B256| ask(&node, "blockRewards", json!({ "hash": hash })).expect("answers");
    for block in &blocks {
        // 5 ether before Byzantium.
        assert_eq!(of(block.header.hash_slow()), json!({ "block": "0x4563918244f40000", "ommers": "0x0" }));
    }
    assert_eq!(of(genesis), json!({ "block": "0x0", "ommers": "0x0" }));
    assert_eq!(of(B256::repeat_byte(1)), Value::Null);
    node.close().expect("closes");
}
