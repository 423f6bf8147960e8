//! One application under a model of CometBFT: its genesis, heights out of turn, transactions that
//! come and go.

use crate::{
    comet::{Comet, Decided},
    dev_chain::sign,
};
use alloy_consensus::{TxEip1559, TxEip2930};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, TxKind, U256};
use hearth_abci::Timestamp;
use hearth_dev_chain::{GenesisOptions, dev_genesis};
use hearth_primitives::Transaction;
use serde_json::{Value, json};

const CHAIN_ID: u64 = 31_337;
/// Development accounts that send.
pub const SENDERS: usize = 6;
pub fn genesis() -> String {
    let options =
        GenesisOptions { gas_limit: 30_000_000, timestamp: 1_700_000_000, ..GenesisOptions::default() };
    let text = dev_genesis(&options).expect("a genesis");
    let mut genesis: Value = serde_json::from_str(&text).expect("JSON");
    genesis["config"]["bft"] = json!({ "engine": "cometbft" });
    genesis["config"].as_object_mut().expect("an object").remove("chainIdInExtraData");
    genesis.to_string()
}

pub fn sink(sender: usize) -> Address {
    Address::with_last_byte(0xa0 + u8::try_from(sender).expect("small"))
}

pub fn transfer(sender: usize, nonce: u64, tip: u128) -> Vec<u8> {
    let transaction = TxEip1559 {
        chain_id: CHAIN_ID,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: 20_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000 + tip,
        to: TxKind::Call(sink(sender)),
        value: U256::from(1),
        ..TxEip1559::default()
    };
    Transaction::Eip1559(sign(transaction, sender)).encoded_2718()
}

/// A transaction with more gas than a block has.
pub fn over_gas(sender: usize, nonce: u64) -> Vec<u8> {
    let transaction = TxEip2930 {
        chain_id: CHAIN_ID,
        nonce,
        gas_price: 20_000_000_000,
        gas_limit: 30_000_001,
        to: TxKind::Call(sink(sender)),
        ..TxEip2930::default()
    };
    Transaction::Eip2930(sign(transaction, sender)).encoded_2718()
}

#[test]
fn a_genesis_that_differs_is_named_field_by_field() {
    let genesis = genesis();
    let mut comet = Comet::begin(1, &genesis);
    let other = genesis.replace("0x1c9c380", "0x1c9c381");
    let why = |answer: Result<_, String>| answer.map(|_: hearth_abci::pb::ResponseInitChain| ()).unwrap_err();
    let start = "genesis of CometBFT and genesis of this home differ: ";
    assert_eq!(
        why(comet.init_chain(&genesis, "hearth-1", 30_000_000)),
        format!("{start}chain_id: have hearth-1, want hearth-31337")
    );
    assert_eq!(
        why(comet.init_chain(&genesis, "hearth-31337", -1)),
        format!(
            "{start}consensus_params.block.max_gas: have -1, want 30000000, the gas limit of the genesis"
        )
    );
    let differs = why(comet.init_chain(&other, "hearth-31337", 30_000_000));
    assert!(differs.starts_with(&format!("{start}app_state: have 0x")), "{differs}");
    comet.init_chain("", "hearth-31337", 30_000_000).expect("no application state is no difference");
    // A failure is shown until CometBFT is back.
    let failure = comet.ask("consensusStatus", &Value::Null)["failure"].clone();
    assert!(failure.as_str().expect("a text").starts_with("InitChain: genesis of CometBFT"), "{failure}");
    comet.reconnect();
    assert_eq!(comet.ask("consensusStatus", &Value::Null)["failure"], Value::Null);
}

#[test]
fn heights_out_of_turn_are_exceptions_bad_transactions_not() {
    let mut comet = Comet::begin(1, &genesis());
    let time = Timestamp { seconds: 1_700_000_001, nanos: 0 };
    let block = |height, txs| Decided { height, time, proposer: vec![1; 20], txs };
    assert_eq!(
        comet.finalize(&block(2, Vec::new())).unwrap_err(),
        "FinalizeBlock of height 2, and the next block is 1"
    );
    assert_eq!(comet.commit().unwrap_err(), "Commit comes without FinalizeBlock");
    for (tx, log) in [
        (b"hello".to_vec(), "transaction type not supported"),
        (transfer(0, 0, 0)[..50].to_vec(), "rlp: "),
        (over_gas(0, 0), "transaction gas limit too high (cap: 16777216, tx: 30000001)"),
    ] {
        let answer = comet.check(&tx);
        assert_eq!((answer.code, answer.codespace.as_str()), (1, "evm"));
        assert!(answer.log.starts_with(log), "{}", answer.log);
    }
    let answer = comet.check(&[0x0a, 0x00]);
    assert_eq!((answer.code, answer.codespace.as_str()), (2, "sdk"), "{}", answer.log);
    // Decided all the same, they are left out, and the good one between them is in the block.
    let txs = vec![b"hello".to_vec(), transfer(0, 0, 0), over_gas(0, 1), transfer(1, 5, 0)];
    let answer = comet.finalize(&block(1, txs)).expect("executes");
    let codes: Vec<_> = answer.tx_results.iter().map(|result| (result.code, result.gas_used)).collect();
    assert_eq!(codes, [(1, 0), (0, 21_000), (1, 0), (1, 0)]);
    comet.commit().expect("commits");
    let count = comet.ask("getBlockByNumber", &json!({ "block": "latest", "full": false }));
    assert_eq!(count["transactions"].as_array().map(Vec::len), Some(1));
    assert_eq!(comet.check(&transfer(0, 0, 0)).log, "nonce too low: next nonce 1, tx nonce 0");
}

#[test]
fn what_a_mempool_checked_does_not_go_back_to_it() {
    let mut comet = Comet::begin(1, &genesis());
    let sent = json!(alloy_primitives::hex::encode_prefixed(transfer(1, 0, 0)));
    assert_eq!(comet.check(&transfer(0, 0, 0)).code, 0);
    comet.ask("sendRawTransaction", &json!({ "transaction": sent }));
    assert_eq!(comet.ask("consensusReap", &json!({ "maxBytes": 0 })), json!([sent]));
    // The mempool `app` keeps none: what it checked goes out to peers.
    assert_eq!(comet.check(&transfer(2, 0, 0)).code, 0);
    assert_eq!(comet.reap(), [transfer(2, 0, 0)]);
}

#[test]
fn transactions_come_and_go_out_at_the_same_time() {
    /// Times that all of the pool is given out while transactions come.
    const ROUNDS: usize = 300;
    let comet = Comet::begin(1, &genesis());
    let node = comet.node.clone();
    let (done, finished) = std::sync::mpsc::channel();
    let sending = std::thread::spawn(move || {
        for nonce in 0..16 {
            for sender in 0..SENDERS {
                let tx = alloy_primitives::hex::encode_prefixed(transfer(sender, nonce, 0));
                let request = json!({ "op": "sendRawTransaction", "args": { "transaction": tx } });
                let request =
                    hearth_rpc::Request::from_json(request.to_string().as_bytes()).expect("a request");
                crate::support::answer(&node, request).expect("is taken");
            }
        }
    });
    let reaping = std::thread::spawn(move || {
        let mut taken = 0;
        for round in 0.. {
            taken += comet.ask("consensusReap", &json!({ "maxBytes": 0 })).as_array().map_or(0, Vec::len);
            if round > ROUNDS && taken >= 16 * SENDERS {
                break;
            }
        }
        done.send(taken).expect("the test waits");
    });
    // The pool calls the outbox under its lock, and the outbox reads the pool: neither may wait for
    // the other.
    let taken = finished.recv_timeout(std::time::Duration::from_secs(120)).expect("no deadlock");
    assert_eq!(taken, 16 * SENDERS, "each transaction goes out once");
    sending.join().expect("all are taken");
    reaping.join().expect("all go out");
}
