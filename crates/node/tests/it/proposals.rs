//! Proposals that honest validators must reject, each on nodes that know its transactions and on
//! nodes that do not, and a store that fails in place of a rejection.

use crate::{
    comet::{Comet, Decided},
    consensus::{genesis, over_gas, transfer},
    dev_chain::{sender_of, sign},
    natives,
};
use alloy_consensus::{TxEip1559, TxEip4844};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use hearth_abci::Timestamp;
use hearth_primitives::Transaction;
use serde_json::{Value, json};
use std::path::Path;

fn block(height: i64, txs: Vec<Vec<u8>>) -> Decided {
    let time = Timestamp { seconds: 1_700_000_000 + height, nanos: 0 };
    Decided { height, time, proposer: vec![1; 20], txs }
}

/// A transaction that uses most of the gas of a block: it creates a contract by an endless loop.
fn large(sender: usize) -> Vec<u8> {
    let transaction = TxEip1559 {
        chain_id: 31_337,
        gas_limit: 16_000_000,
        max_fee_per_gas: 20_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        to: TxKind::Create,
        // JUMPDEST PUSH0 JUMP
        input: Bytes::from_static(&[0x5b, 0x5f, 0x56]),
        ..TxEip1559::default()
    };
    Transaction::Eip1559(sign(transaction, sender)).encoded_2718()
}

/// A transaction with a blob, which no layer of such a chain stores.
fn with_blob(sender: usize) -> Vec<u8> {
    let transaction = TxEip4844 {
        chain_id: 31_337,
        gas_limit: 21_000,
        max_fee_per_gas: 20_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        max_fee_per_blob_gas: 1_000_000_000,
        blob_versioned_hashes: vec![B256::with_last_byte(1) | B256::from(U256::from(1) << 248)],
        ..TxEip4844::default()
    };
    Transaction::Eip4844(sign(transaction, sender)).encoded_2718()
}

#[test]
fn bad_proposals_are_rejected_by_every_node_alike() {
    let genesis = genesis();
    let mut nodes = [Comet::begin(1, &genesis), Comet::begin(2, &genesis)];
    // One of them knows the transactions.
    for tx in [transfer(0, 0, 0), transfer(0, 1, 0), large(1)] {
        assert_eq!(nodes[0].check(&tx).code, 0);
    }
    let native = natives::send(2, 0, Address::repeat_byte(7), 5);
    let mut behind = transfer(0, 0, 0);
    behind.push(0);
    let bad = [
        ("garbage", vec![b"garbage".to_vec()]),
        ("garbage behind a good one", vec![transfer(0, 0, 0), vec![0xff; 40]]),
        ("an empty transaction", vec![Vec::new()]),
        ("bytes behind a transaction", vec![behind]),
        ("a native transaction last", vec![transfer(0, 0, 0), native.clone()]),
        ("a native transaction that is none", vec![vec![0x0a, 0x00]]),
        ("more gas than a block has", vec![over_gas(0, 0)]),
        ("two with more gas than a block has", vec![large(0), large(1)]),
        ("nonces out of order", vec![transfer(0, 1, 0), transfer(0, 0, 0)]),
        ("a gap in the nonces", vec![transfer(0, 1, 0)]),
        ("the same twice", vec![transfer(0, 0, 0), transfer(0, 0, 0)]),
        ("a blob transaction", vec![with_blob(0)]),
    ];
    for (name, txs) in bad {
        let decided = block(1, txs);
        for (number, node) in nodes.iter_mut().enumerate() {
            assert!(!node.process(&decided), "{name} is rejected by node {number}");
        }
    }
    let early = Decided { time: Timestamp { seconds: 1_600_000_000, nanos: 0 }, ..block(1, Vec::new()) };
    assert!(nodes.iter_mut().all(|node| !node.process(&early)), "a time before the parent's");
    // No rejection left anything: the good block has one app hash.
    let good = block(1, vec![native, transfer(0, 0, 0), transfer(0, 1, 0)]);
    let hashes = nodes.each_mut().map(|node| {
        assert!(node.process(&good));
        let answer = node.finalize(&good).expect("executes");
        assert!(answer.tx_results.iter().all(|result| result.code == 0), "{:?}", answer.tx_results);
        node.commit().expect("commits");
        answer.app_hash
    });
    assert_eq!(hashes[0], hashes[1]);
}

/// Flips bytes of the rows of an account wherever RocksDB has them; how many files have them.
fn damage(home: &Path, of: &Address) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(home.join("data/state/db")).expect("a folder") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "sst") {
            continue;
        }
        let mut bytes = std::fs::read(&path).expect("reads");
        // Keys that follow each other share their beginning.
        let key = &of[4..];
        let places: Vec<_> = bytes.windows(key.len()).enumerate().filter(|(_, part)| *part == key).collect();
        let places: Vec<usize> = places.into_iter().map(|(place, _)| place).collect();
        files += usize::from(!places.is_empty());
        places.into_iter().for_each(|place| bytes[place] ^= 0xff);
        std::fs::write(&path, bytes).expect("writes");
    }
    files
}

#[test]
fn a_store_that_fails_is_an_exception_and_no_rejection() {
    let mut comet = Comet::begin(1, &genesis());
    comet.restart_after(|home| assert!(damage(home, &sender_of(3)) > 0, "the rows are on the disk"));
    for attempt in 0..2 {
        let answer = comet.try_process(&block(1, vec![transfer(3, 0, 0)]));
        let exception = answer.expect_err("no vote on what cannot be read");
        assert!(exception.contains("checksum mismatch"), "attempt {attempt}: {exception}");
        // The status and `/ready` have it, and JSON-RPC continues.
        let failure = comet.ask("consensusStatus", &Value::Null)["failure"].clone();
        assert_eq!(failure, json!(format!("ProcessProposal: {exception}")));
        let head = comet.ask("getBlockByNumber", &json!({ "block": "latest", "full": false }));
        assert_eq!(head["number"], json!("0x0"));
        comet.reconnect();
    }
    let answer = comet.finalize(&block(1, vec![transfer(3, 0, 0)]));
    assert!(answer.expect_err("is not executed").contains("checksum mismatch"));
}
