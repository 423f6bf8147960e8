//! The JSON of whole blocks against 51 recorded answers of Ethereum mainnet nodes.

use crate::support::fixtures;
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256};
use alloy_rlp::Encodable;
use hearth_evm::RecordedCase;
use hearth_home::JsonWriter;
use hearth_rpc::json::{BlockParts, write_block};
use serde_json::Value;
use std::{io::Read, path::Path, time::Instant};

/// Members that the recorded answers have or lack, depending on the node that recorded them.
const BLOCK_HABITS: [&str; 3] = ["totalDifficulty", "size", "transactions"];
const TRANSACTION_HABITS: [&str; 2] = ["blockTimestamp", "chainId"];

#[test]
fn recorded_mainnet_blocks_render_as_they_were_recorded() {
    let Some(dir) = fixtures("mainnet-blocks") else { return };
    let (mut blocks, mut transactions, mut slowest) = (0, 0, (0, 0.0));
    for entry in std::fs::read_dir(dir).expect("readable") {
        let path = entry.expect("readable").path();
        if path.to_string_lossy().ends_with(".json.gz") {
            let (count, milliseconds) = check(&path);
            blocks += 1;
            transactions += count;
            if milliseconds > slowest.1 {
                slowest = (count, milliseconds);
            }
        }
    }
    println!("{blocks} blocks, {transactions} transactions; slowest: {} in {:.2} ms", slowest.0, slowest.1);
    assert_eq!((blocks, transactions), (51, 13_885));
}

/// Compares one block; returns the number of its transactions and the time of the rendering in
/// milliseconds.
fn check(path: &Path) -> (usize, f64) {
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).expect("there"))
        .read_to_string(&mut text)
        .expect("gzip");
    let case = RecordedCase::parse_json(&text).expect("a recorded block");
    let want: Value = serde_json::from_str::<Value>(&text).expect("JSON")["block"].take();
    let senders: Vec<Address> = want["transactions"]
        .as_array()
        .expect("transactions")
        .iter()
        .map(|tx| tx["from"].as_str().expect("a sender").parse().expect("an address"))
        .collect();
    let block = case.block();
    let tx_hashes: Vec<B256> = case.transactions.iter().map(|tx| tx.trie_hash()).collect();
    let parts = BlockParts {
        block: &block,
        hash: &case.hash,
        size: block.length(),
        tx_hashes: &tx_hashes,
        ommer_hashes: &case.ommer_hashes,
    };
    let started = Instant::now();
    let mut writer = JsonWriter::with_capacity(parts.json_capacity(true));
    write_block(&mut writer, &parts, Some(&senders));
    let milliseconds = started.elapsed().as_secs_f64() * 1e3;
    let have: Value = serde_json::from_slice(&writer.into_bytes()).expect("JSON");
    same(&have, &want, &BLOCK_HABITS, &format!("{}", path.display()));
    let rows = |value: &Value| value["transactions"].as_array().cloned().expect("transactions");
    let (have, want) = (rows(&have), rows(&want));
    assert_eq!(have.len(), want.len());
    for (have, want) in have.iter().zip(&want) {
        same(have, want, &TRANSACTION_HABITS, &format!("{} {}", path.display(), want["hash"]));
    }
    (have.len(), milliseconds)
}

/// Every member of either must be in both and equal, but for the habits.
fn same(have: &Value, want: &Value, habits: &[&str], place: &str) {
    let (have, want) = (have.as_object().expect("an object"), want.as_object().expect("an object"));
    for key in have.keys().chain(want.keys()).filter(|key| !habits.contains(&key.as_str())) {
        assert_eq!(have.get(key), want.get(key), "{place}: {key}");
    }
}
