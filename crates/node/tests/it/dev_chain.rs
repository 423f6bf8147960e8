//! The development chain end to end: every transaction type, receipts, pool, a second home that
//! verifies its blocks.

use crate::support::{GENESIS_TIME, ask, config, trace};
use alloy_consensus::{
    SignableTransaction, TxEip1559, TxEip2930, TxEip4844, TxEip4844Variant, TxEip4844WithSidecar, TxEip7702,
    TxLegacy,
};
use alloy_eips::{
    eip2718::Encodable2718,
    eip4844::builder::{SidecarBuilder, SimpleCoder},
    eip7702::Authorization,
};
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256, hex};
use hearth_chain::{Chain, ChainOptions};
use hearth_dev_chain::{GenesisOptions, dev_genesis};
use hearth_node::{Mode, Node, dev_accounts};
use hearth_primitives::PooledTransaction;
use k256::ecdsa::SigningKey;
use serde_json::{Value, json};
use std::sync::Arc;

const CHAIN_ID: u64 = 31_337;
const GWEI: u128 = 1_000_000_000;

pub fn open() -> (tempfile::TempDir, Arc<Node>) {
    let home = tempfile::tempdir().expect("a folder");
    let node = Node::open(config(home.path(), Mode::Dev)).expect("opens");
    (home, node)
}

pub fn key(who: usize) -> SigningKey {
    SigningKey::from_slice(dev_accounts()[who].private_key.as_slice()).expect("a key")
}

/// The address of an account that signs.
pub fn sender_of(who: usize) -> Address {
    dev_accounts()[who].address
}

fn sign_hash(who: usize, hash: B256) -> Signature {
    key(who).sign_prehash_recoverable(hash.as_slice()).expect("signs").into()
}

pub fn sign<T: SignableTransaction<Signature>>(tx: T, who: usize) -> alloy_consensus::Signed<T> {
    let signature = sign_hash(who, tx.signature_hash());
    tx.into_signed(signature)
}

pub fn send(node: &Arc<Node>, tx: impl Into<PooledTransaction>) -> Result<String, String> {
    let raw = Bytes::from(tx.into().encoded_2718());
    let hash = ask(node, "sendRawTransaction", json!({ "transaction": raw })).map_err(|e| e.to_string())?;
    Ok(hash.as_str().expect("a hash").to_owned())
}

fn receipt(node: &Arc<Node>, hash: &str) -> Value {
    ask(node, "getTransactionReceipt", json!({ "hash": hash })).expect("answers")
}

pub fn transfer(nonce: u64) -> TxEip1559 {
    TxEip1559 {
        chain_id: CHAIN_ID,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: 3 * GWEI,
        max_priority_fee_per_gas: GWEI,
        to: TxKind::Call(Address::repeat_byte(7)),
        value: U256::from(5),
        ..Default::default()
    }
}

/// Sends one transaction of each type; gives their hashes.
fn one_of_each(node: &Arc<Node>) -> Vec<String> {
    let to = Address::repeat_byte(9);
    let legacy = TxLegacy {
        chain_id: Some(CHAIN_ID),
        nonce: 0,
        gas_price: 3 * GWEI,
        gas_limit: 21_000,
        to: to.into(),
        value: U256::from(1),
        ..Default::default()
    };
    let list = TxEip2930 {
        chain_id: CHAIN_ID,
        nonce: 1,
        gas_price: 3 * GWEI,
        gas_limit: 30_000,
        to: to.into(),
        access_list: serde_json::from_value(json!([{ "address": to, "storageKeys": [B256::ZERO] }]))
            .expect("a list"),
        ..Default::default()
    };
    let sidecar =
        SidecarBuilder::<SimpleCoder>::from_slice(b"data for a blob").build_7594().expect("commits");
    let blob = TxEip4844 {
        chain_id: CHAIN_ID,
        nonce: 3,
        gas_limit: 21_000,
        max_fee_per_gas: 3 * GWEI,
        max_priority_fee_per_gas: GWEI,
        max_fee_per_blob_gas: 100,
        to,
        blob_versioned_hashes: sidecar.versioned_hashes().collect(),
        ..Default::default()
    };
    let blob = TxEip4844Variant::TxEip4844WithSidecar(TxEip4844WithSidecar {
        tx: blob,
        sidecar: alloy_eips::eip7594::BlobTransactionSidecarVariant::Eip7594(sidecar),
    });
    let authorization = Authorization { chain_id: U256::from(CHAIN_ID), address: to, nonce: 0 };
    let signature = sign_hash(1, authorization.signature_hash());
    let set_code = TxEip7702 {
        chain_id: CHAIN_ID,
        nonce: 4,
        gas_limit: 100_000,
        max_fee_per_gas: 3 * GWEI,
        max_priority_fee_per_gas: GWEI,
        to,
        authorization_list: vec![authorization.into_signed(signature)],
        ..Default::default()
    };
    let sent = [
        send(node, sign(legacy, 0)),
        send(node, sign(list, 0)),
        send(node, sign(transfer(2), 0)),
        send(node, sign(blob, 0)),
        send(node, sign(set_code, 0)),
    ];
    sent.into_iter().map(|hash| hash.expect("accepted")).collect()
}

#[test]
fn every_type_is_mined_in_a_block_of_its_own() {
    let (_home, node) = open();
    let hashes = one_of_each(&node);
    for (ty, hash) in hashes.iter().enumerate() {
        let receipt = receipt(&node, hash);
        assert_eq!(receipt["status"], "0x1", "type {ty}: {receipt}");
        assert_eq!(receipt["type"], json!(format!("{ty:#x}")));
        assert_eq!(receipt["blockNumber"], json!(format!("{:#x}", ty + 1)));
        let tx = ask(&node, "getTransactionByHash", json!({ "hash": hash })).expect("answers");
        assert_eq!(tx["hash"], json!(hash));
        assert_eq!(tx["transactionIndex"], "0x0");
        assert_eq!(tx["type"], receipt["type"]);
    }
    assert_eq!(receipt(&node, &hashes[3])["blobGasUsed"], "0x20000");
    assert_eq!(receipt(&node, &hashes[3])["blobGasPrice"], "0x1");
    // The set-code transaction left a delegation (EIP-7702).
    let delegated = dev_accounts()[1].address;
    let code = ask(&node, "getCode", json!({ "address": delegated })).expect("answers");
    assert_eq!(code, json!(format!("0xef0100{}", hex::encode(Address::repeat_byte(9)))));
    for (tag, number) in [("latest", "0x5"), ("safe", "0x5"), ("finalized", "0x5"), ("pending", "0x6")] {
        let block = ask(&node, "getBlockByNumber", json!({ "block": tag, "full": false })).expect("answers");
        assert_eq!(block["number"], number, "{tag}");
    }
}

#[test]
fn times_ascend_and_the_base_fee_falls_with_small_blocks() {
    let (_home, node) = open();
    for nonce in 0..4 {
        send(&node, sign(transfer(nonce), 0)).expect("accepted");
    }
    let number =
        |value: &Value| u64::from_str_radix(&value.as_str().expect("hex")[2..], 16).expect("a number");
    let block = |n: u64| {
        ask(&node, "getBlockByNumber", json!({ "block": format!("{n:#x}"), "full": false })).expect("answers")
    };
    for n in 1..=4 {
        let (parent, block) = (block(n - 1), block(n));
        assert!(number(&block["timestamp"]) > number(&parent["timestamp"]));
        assert_eq!(block["parentHash"], parent["hash"]);
        assert!(number(&block["baseFeePerGas"]) < number(&parent["baseFeePerGas"]));
    }
    let next = number(&ask(&node, "baseFee", Value::Null).expect("answers"));
    assert!(next < number(&block(4)["baseFeePerGas"]));
    let history = ask(
        &node,
        "feeHistory",
        json!({ "blockCount": "0x2", "newestBlock": "latest", "rewardPercentiles": [50] }),
    );
    let history = history.expect("answers");
    assert_eq!(history["oldestBlock"], "0x3");
    assert_eq!(history["reward"], json!([["0x3b9aca00"], ["0x3b9aca00"]]));
    assert_eq!(history["baseFeePerGas"][2], json!(format!("{next:#x}")));
}

#[test]
fn a_tip_is_suggested_from_the_newest_blocks_of_the_chain() {
    let (_home, node) = open();
    let op = |op: &str, args: Value| ask(&node, op, args).expect("answers");
    let mut tips: Vec<u128> = Vec::new();
    let mut snapshot = Value::Null;
    for nonce in 0..70_u64 {
        if nonce == 45 {
            snapshot = op("snapshot", Value::Null);
        }
        if nonce == 60 {
            assert_eq!(op("revert", json!({ "id": snapshot })), json!(true));
            tips.truncate(45);
        }
        let tip = GWEI / 2 + u128::from(nonce * 37 % 64) * 1_000_000;
        let tx = TxEip1559 { max_priority_fee_per_gas: tip, ..transfer(tips.len() as u64) };
        send(&node, sign(tx, 0)).expect("accepted");
        tips.push(tip);
        // Blocks of one transaction: twice twenty of them count, and the 60th percentile is taken.
        let mut newest: Vec<_> = tips.iter().rev().take(40).copied().collect();
        newest.sort_unstable();
        let wanted = newest[(newest.len() - 1) * 60 / 100];
        let suggested = op("maxPriorityFeePerGas", Value::Null);
        assert_eq!(suggested, json!(format!("{wanted:#x}")), "after block {}", tips.len());
    }
}

#[test]
fn the_pending_block_of_an_empty_pool_is_the_next_one() {
    let (_home, node) = open();
    let op = |op: &str, args: Value| ask(&node, op, args).expect("answers");
    send(&node, sign(transfer(0), 0)).expect("accepted");
    op("setNextBlockTimestamp", json!({ "timestamp": format!("{:#x}", GENESIS_TIME + 1_000_000_000) }));
    let get = |tag: &str| op("getBlockByNumber", json!({ "block": tag, "full": false }));
    let pending = get("pending");
    op("mine", json!({ "count": "0x1", "first": true }));
    let mined = get("latest");
    for field in ["number", "parentHash", "timestamp", "mixHash", "stateRoot", "receiptsRoot", "requestsHash"]
    {
        assert_eq!(pending[field], mined[field], "{field}");
    }
}

#[test]
fn another_home_verifies_every_block() {
    let (_home, node) = open();
    one_of_each(&node);
    let other = tempfile::tempdir().expect("a folder");
    let options = GenesisOptions { timestamp: GENESIS_TIME, ..GenesisOptions::default() };
    let genesis = dev_genesis(&options).expect("a valid phrase");
    let chain = Chain::create(other.path(), &genesis, &ChainOptions::default()).expect("a new home");
    for n in 1..=5 {
        let hash = node.chain().expect("open").reader().canonical_hash(n).expect("reads").expect("there");
        let block = node.chain().expect("open").reader().block(&hash).expect("reads").expect("there");
        chain.insert_block(block.block.clone()).expect("every field and root verifies");
    }
    assert_eq!(chain.head(), node.chain().expect("open").head());
}

#[test]
fn a_gap_waits_in_the_pool_and_is_seen() {
    let (_home, node) = open();
    let who = dev_accounts()[0].address;
    let later = send(&node, sign(transfer(1), 0)).expect("accepted");
    let tx = ask(&node, "getTransactionByHash", json!({ "hash": later })).expect("answers");
    for member in ["blockHash", "blockNumber", "transactionIndex"] {
        assert_eq!(tx[member], Value::Null);
    }
    assert_eq!(tx["gasPrice"], tx["maxFeePerGas"]);
    assert_eq!(receipt(&node, &later), Value::Null);
    let count = |block: &str| ask(&node, "getTransactionCount", json!({ "address": who, "block": block }));
    assert_eq!(count("pending").expect("answers"), "0x0");
    send(&node, sign(transfer(0), 0)).expect("accepted");
    assert_eq!(receipt(&node, &later)["blockNumber"], "0x2");
    assert_eq!(count("pending").expect("answers"), "0x2");
    assert_eq!(count("earliest").expect("answers"), "0x0");
    assert!(node.pool().expect("open").is_empty());
}

#[test]
fn a_home_opens_again_where_it_was() {
    let (home, node) = open();
    send(&node, sign(transfer(0), 0)).expect("accepted");
    let status = node.status().expect("open");
    node.close().expect("closes");
    drop(node);
    let node = Node::open(config(home.path(), Mode::Dev)).expect("opens again");
    assert_eq!(node.status().expect("open"), status);
    send(&node, sign(transfer(1), 0)).expect("goes on");
    assert_eq!(node.status().expect("open").head, 2);
}

#[test]
fn refused_transactions_leave_no_block() {
    let (_home, node) = open();
    let unprotected =
        TxLegacy { gas_price: 3 * GWEI, gas_limit: 21_000, to: Address::ZERO.into(), ..Default::default() };
    let words = send(&node, sign(unprotected, 0)).expect_err("refused");
    assert_eq!(words, "only replay-protected (EIP-155) transactions allowed over RPC");
    let mut dear = transfer(0);
    dear.max_fee_per_gas = 1_000_000 * GWEI;
    let words = send(&node, sign(dear, 0)).expect_err("refused");
    assert_eq!(words, "tx fee (21.00 ether) exceeds the configured cap (1.00 ether)");
    assert_eq!(node.status().expect("open").head, 0);
    send(&node, sign(transfer(0), 0)).expect("accepted");
    assert_eq!(
        send(&node, sign(transfer(0), 0)).expect_err("used"),
        "nonce too low: next nonce 1, tx nonce 0"
    );
}

/// Returns 42, after a log, unless it is called with data: then it reverts with `Error("no")`.
fn contract() -> Bytes {
    let reason = "08c379a0000000000000000000000000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000000026e6f000000000000000000000000000000000000000000000000000000000000";
    // CALLDATASIZE PUSH1 ok JUMPI … revert data is copied from the code's end.
    let mut runtime = hex::decode("36601657").expect("hex");
    runtime.extend(hex::decode("602a5f52602a60205fa160205ff3").expect("hex"));
    runtime.resize(0x16, 0);
    runtime.extend(hex::decode("5b606460").expect("hex"));
    runtime.push(0x22);
    runtime.extend(hex::decode("5f3960645ffd").expect("hex"));
    assert!(runtime.len() <= 0x22);
    runtime.resize(0x22, 0);
    runtime.extend(hex::decode(reason).expect("hex"));
    let mut init =
        vec![0x60, runtime.len() as u8, 0x60, 0x0a, 0x5f, 0x39, 0x60, runtime.len() as u8, 0x5f, 0xf3];
    init.extend(runtime);
    init.into()
}

#[test]
fn a_contract_is_deployed_called_and_traced() {
    let (_home, node) = open();
    let create = TxEip1559 {
        to: TxKind::Create,
        input: contract(),
        value: U256::ZERO,
        gas_limit: 300_000,
        ..transfer(0)
    };
    let deployed = receipt(&node, &send(&node, sign(create, 0)).expect("accepted"));
    assert_eq!(deployed["status"], "0x1");
    let address: Address =
        deployed["contractAddress"].as_str().expect("an address").parse().expect("an address");
    assert_eq!(address, dev_accounts()[0].address.create(0));

    let call = |input: &str| ask(&node, "call", json!({ "transaction": { "to": address, "input": input } }));
    let forty_two = format!("0x{}2a", "0".repeat(62));
    assert_eq!(call("0x").expect("answers"), json!(forty_two));
    let reverted = call("0x01").expect_err("reverts");
    assert_eq!(reverted.to_string(), "execution reverted: no");
    assert!(reverted.data().expect("bytes").starts_with("0x08c379a0"));
    assert_eq!(reverted.kind(), "execution_reverted");

    let poke = TxEip1559 { to: TxKind::Call(address), value: U256::ZERO, gas_limit: 100_000, ..transfer(1) };
    let hash = send(&node, sign(poke, 0)).expect("accepted");
    let logs = ask(&node, "getLogs", json!({ "filter": { "address": address, "fromBlock": "earliest" } }))
        .expect("answers");
    assert_eq!(logs.as_array().map(Vec::len), Some(1));
    assert_eq!(logs[0]["topics"], json!([forty_two]));
    assert_eq!(logs[0]["transactionHash"], json!(hash));

    let config = json!({ "tracer": "callTracer", "tracerConfig": { "withLog": true } });
    let traced = trace(&node, "traceTransaction", json!({ "hash": hash, "config": config })).expect("traces");
    assert_eq!(traced["type"], "CALL");
    assert_eq!(traced["output"], json!(forty_two));
    assert_eq!(traced["logs"].as_array().map(Vec::len), Some(1));
    assert_eq!(traced["gasUsed"], receipt(&node, &hash)["gasUsed"]);

    let estimated = ask(&node, "estimateGas", json!({ "transaction": { "to": address, "input": "0x" } }))
        .expect("answers");
    let used = u64::from_str_radix(&traced["gasUsed"].as_str().expect("hex")[2..], 16).expect("a number");
    let estimated = u64::from_str_radix(&estimated.as_str().expect("hex")[2..], 16).expect("a number");
    assert!(estimated >= used && estimated < used + used / 10, "{estimated} for {used}");
}

#[test]
fn of_two_sends_with_one_nonce_one_is_mined_one_refused() {
    let (_home, node) = open();
    for nonce in 0..5 {
        let sends: Vec<_> = [3, 4]
            .map(|value| {
                let (node, tx) = (node.clone(), TxEip1559 { value: U256::from(value), ..transfer(nonce) });
                std::thread::spawn(move || send(&node, sign(tx, 0)))
            })
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect();
        let refused: Vec<_> = sends.iter().filter_map(|sent| sent.as_ref().err()).collect();
        let words = format!("nonce too low: next nonce {}, tx nonce {nonce}", nonce + 1);
        assert_eq!(refused, [&words]);
    }
    assert_eq!(node.status().expect("open").head, 5);
    assert!(node.pool().expect("open").is_empty());
}

#[test]
fn bytes_cut_or_lengthened_anywhere_are_refused() {
    let (_home, node) = open();
    let whole: PooledTransaction = sign(transfer(0), 0).into();
    let whole = whole.encoded_2718();
    let refused = |bytes: Vec<u8>| {
        let sent = ask(&node, "sendRawTransaction", json!({ "transaction": Bytes::from(bytes) }));
        let error = sent.expect_err("no transaction");
        assert_eq!(error.kind(), "transaction_decode", "{error}");
        error.to_string()
    };
    (0..whole.len()).for_each(|cut| drop(refused(whole[..cut].to_vec())));
    let longer = refused([&whole[..], &[0]].concat());
    assert_eq!(longer, "rlp: input contains more than one value");
    assert_eq!(node.status().expect("open").head, 0);
}

#[test]
fn a_dump_whose_first_account_was_removed_is_json() {
    let (_home, node) = open();
    let balance = |balance: &str| {
        ask(&node, "setBalance", json!({ "address": Address::ZERO, "balance": balance })).expect("is set");
    };
    // The store has the lowest account, and an edit that it is gone.
    balance("0x5");
    ask(&node, "mine", json!({ "count": "0x1", "first": true })).expect("is made");
    balance("0x0");
    let dump = ask(&node, "dumpState", Value::Null).expect("answers");
    let packed = hex::decode(dump.as_str().expect("bytes")).expect("hex");
    let state: Value = serde_json::from_reader(flate2::read::GzDecoder::new(&packed[..])).expect("is JSON");
    let accounts = state["accounts"].as_object().expect("an object");
    let name = |address: Address| address.to_string().to_lowercase();
    assert!(!accounts.contains_key(&name(Address::ZERO)));
    assert!(accounts.contains_key(&name(sender_of(0))));
}

#[test]
fn fees_that_no_transaction_has_are_refused() {
    let (_home, node) = open();
    for (fees, text) in [
        (json!({ "gasPrice": "0x0" }), "gasPrice must be non-zero after london fork"),
        (json!({ "maxFeePerGas": "0x0", "maxPriorityFeePerGas": "0x0" }), "maxFeePerGas must be non-zero"),
        (
            json!({ "maxFeePerGas": "0x5", "maxPriorityFeePerGas": "0xa" }),
            "maxFeePerGas (0x5) < maxPriorityFeePerGas (0xa)",
        ),
        (json!({ "maxFeePerBlobGas": "0x0" }), "maxFeePerBlobGas, if specified, must be non-zero"),
    ] {
        let mut transaction = fees;
        transaction["to"] = json!("0x00000000000000000000000000000000000000aa");
        for op in ["createAccessList", "fillTransaction"] {
            let error = ask(&node, op, json!({ "transaction": transaction })).expect_err(text);
            assert_eq!((error.kind(), error.to_string().as_str()), ("execution_failed", text), "{op}");
        }
    }
    let blobs = json!({ "to": Address::ZERO, "blobVersionedHashes": vec![B256::with_last_byte(1); 7] });
    let error = ask(&node, "fillTransaction", json!({ "transaction": blobs })).expect_err("too many blobs");
    assert_eq!(error.to_string(), "too many blobs in transaction (have=7, max=6)");
}
