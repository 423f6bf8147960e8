//! Native transactions: in blocks, in answers, and nowhere in Ethereum's.

use crate::{
    comet::{Comet, Decided},
    consensus::{genesis, transfer},
    dev_chain::{key, sender_of},
};
use alloy_primitives::{Address, B256, U256, hex, keccak256};
use hearth_abci::{Timestamp, pb};
use hearth_cosmos::{bech32, proto, sha256};
use hearth_evm::{BlockEnvironment, BlockExecutor, recover_senders};
use hearth_primitives::RootTracker as _;
use prost::Message as _;
use serde_json::{Value, json};

const CHAIN: &str = "hearth-31337";
/// More than the base fee of the first blocks.
pub const PRICE: u64 = 3_000_000_000;

/// A message with its type.
pub fn any(kind: &str, message: &impl prost::Message) -> proto::Any {
    proto::Any { type_url: kind.to_owned(), value: message.encode_to_vec() }
}

pub fn coin(amount: impl ToString) -> proto::Coin {
    proto::Coin { denom: "wei".to_owned(), amount: amount.to_string() }
}

/// A transaction that a development account signs as a wallet does.
pub fn sign_native(sender: usize, sequence: u64, gas_limit: u64, message: proto::Any) -> Vec<u8> {
    let key = key(sender);
    let point = key.verifying_key().to_encoded_point(true);
    let public_key =
        any("/cosmos.evm.crypto.v1.ethsecp256k1.PubKey", &proto::PubKey { key: point.as_bytes().to_vec() });
    let mode_info = Some(proto::ModeInfo { single: Some(proto::SingleMode { mode: 1 }) });
    let signer = proto::SignerInfo { public_key: Some(public_key), mode_info, sequence };
    let amount = vec![coin(u128::from(gas_limit) * u128::from(PRICE))];
    let fee = proto::Fee { amount, gas_limit, ..Default::default() };
    let body = proto::TxBody { messages: vec![message], ..Default::default() };
    let document = proto::SignDoc {
        body_bytes: body.encode_to_vec(),
        auth_info_bytes: proto::AuthInfo { signer_infos: vec![signer], fee: Some(fee) }.encode_to_vec(),
        chain_id: CHAIN.to_owned(),
        account_number: 0,
    };
    let digest = keccak256(document.encode_to_vec());
    let (signature, _) = key.sign_prehash_recoverable(digest.as_slice()).expect("signs");
    let signatures = vec![signature.to_bytes().to_vec()];
    let proto::SignDoc { body_bytes, auth_info_bytes, .. } = document;
    proto::TxRaw { body_bytes, auth_info_bytes, signatures }.encode_to_vec()
}

/// Wei for an account.
pub fn send(sender: usize, sequence: u64, to: Address, amount: u64) -> Vec<u8> {
    let message = proto::MsgSend {
        from_address: bech32::account(&sender_of(sender)),
        to_address: bech32::account(&to),
        amount: vec![coin(amount)],
    };
    sign_native(sender, sequence, 21_000, any("/cosmos.bank.v1beta1.MsgSend", &message))
}

pub fn time(height: i64) -> Timestamp {
    Timestamp { seconds: 1_700_000_000 + height, nanos: 0 }
}

/// Decides on a block with these transactions.
pub fn decide(comet: &mut Comet, txs: Vec<Vec<u8>>) -> pb::ResponseFinalizeBlock {
    let height = comet.node.chain().expect("open").head().height as i64 + 1;
    let block = Decided { height, time: time(height), proposer: comet.address.clone(), txs };
    let answer = comet.finalize(&block).expect("executes");
    comet.commit().expect("commits");
    answer
}

pub fn receipt(comet: &Comet, hash: B256) -> Value {
    comet.ask("nativeReceipt", &json!({ "hash": hash }))
}

fn balance(comet: &Comet, address: Address) -> U256 {
    let told = comet.ask("getBalance", &json!({ "address": address, "block": "latest" }));
    told.as_str().expect("a quantity").parse().expect("a number")
}

fn nonce(comet: &Comet, address: Address) -> Value {
    comet.ask("getTransactionCount", &json!({ "address": address, "block": "latest" }))
}

const TO: Address = Address::repeat_byte(0x77);

#[test]
fn a_send_goes_from_the_mempool_into_a_block_and_has_a_receipt() {
    let mut comet = Comet::begin(1, &genesis());
    let mut peer = Comet::begin(2, &genesis());
    let (native, second) = (send(0, 0, TO, 5), send(0, 1, TO, 6));
    let checked = comet.check(&native);
    assert_eq!((checked.code, checked.gas_wanted), (0, 21_000), "{}", checked.log);
    assert_eq!(comet.check(&native).code, 0, "one that waits is fine");
    assert_eq!(comet.check(&second).code, 0);
    assert_eq!(comet.check(&transfer(1, 0, 0)).code, 0);
    // Peers get each once.
    let mut given = comet.reap();
    given.sort();
    let mut wanted = vec![native.clone(), second.clone(), transfer(1, 0, 0)];
    wanted.sort();
    assert_eq!(given, wanted);
    assert_eq!(peer.insert(&native), 0);
    let block = comet.prepare(1, &time(1), 4 << 20);
    assert_eq!(block.txs, [native.clone(), second.clone(), transfer(1, 0, 0)]);
    assert!(peer.process(&block));
    let answer = comet.finalize(&block).expect("executes");
    assert_eq!(peer.finalize(&block).expect("executes"), answer);
    comet.commit().expect("commits");
    peer.commit().expect("commits");

    let told: Vec<_> = answer.tx_results.iter().map(|it| (it.code, it.gas_wanted, it.gas_used)).collect();
    assert_eq!(told, [(0, 21_000, 21_000); 3]);
    let data = proto::TxMsgData::decode(&answer.tx_results[0].data[..]).expect("decodes");
    assert_eq!(data.msg_responses[0].type_url, "/cosmos.bank.v1beta1.MsgSendResponse");
    assert!(answer.tx_results[2].data.is_empty());
    let attribute = |kind: &str, key: &str| {
        let events = &answer.tx_results[0].events;
        let of_kind = events.iter().filter(|event| event.r#type == kind);
        let found = of_kind.flat_map(|event| &event.attributes).find(|it| it.key == key);
        found.expect("is told").value.clone()
    };
    assert_eq!(attribute("transfer", "amount"), "5wei");
    assert_eq!(attribute("transfer", "recipient"), bech32::account(&TO));
    assert_eq!(attribute("tx", "acc_seq"), format!("{}/0", bech32::account(&sender_of(0))));
    assert_eq!(attribute("message", "action"), "/cosmos.bank.v1beta1.MsgSend");

    assert_eq!((balance(&comet, TO), nonce(&comet, sender_of(0))), (U256::from(11), json!("0x2")));
    let hash = sha256(&second);
    let told = receipt(&comet, hash);
    let block = comet.ask("getBlockByNumber", &json!({ "block": "0x1", "full": false }));
    let zero = "0x0";
    assert_eq!(told["blockHash"], block["hash"]);
    assert_eq!((&told["transactionHash"], &told["transactionIndex"]), (&json!(hash), &json!("0x1")));
    assert_eq!((&told["gasUsed"], &told["cumulativeGasUsed"]), (&json!("0x5208"), &json!("0xa410")));
    assert_eq!((&told["status"], &told["type"]), (&json!("0x1"), &json!("0xffffffff")));
    assert_eq!((&told["to"], &told["contractAddress"]), (&Value::Null, &Value::Null));
    assert_eq!(told["from"], json!(sender_of(0)));
    assert_eq!(told["effectiveGasPrice"], json!(format!("{PRICE:#x}")));
    let log = &told["logs"][0];
    assert_eq!((&log["logIndex"], &log["synthetic"]), (&json!("0x1"), &json!(true)));
    assert_eq!((&log["removed"], &log["transactionIndex"]), (&json!(false), &json!("0x1")));
    assert_eq!(log["topics"][2], json!(TO.into_word()));
    assert_eq!(log["data"], json!(B256::with_last_byte(6)));
    assert_ne!(told["logsBloom"], block["logsBloom"]);

    // Ethereum's side knows one transaction, the first of its block.
    assert_eq!(block["transactions"], json!([keccak256(transfer(1, 0, 0))]));
    assert_eq!(block["gasUsed"], json!("0x5208"));
    for op in ["getTransactionReceipt", "getTransactionByHash"] {
        assert_eq!(comet.ask(op, &json!({ "hash": hash })), Value::Null);
    }
    let of_evm = keccak256(transfer(1, 0, 0));
    let plain = comet.ask("getTransactionReceipt", &json!({ "hash": of_evm }));
    let whole = receipt(&comet, of_evm);
    assert_eq!((&plain["transactionIndex"], &whole["transactionIndex"]), (&json!(zero), &json!("0x2")));
    assert_eq!((&whole["gasUsed"], &whole["to"]), (&plain["gasUsed"], &plain["to"]));
    assert_eq!(comet.ask("isNative", &json!({ "hash": hash })), json!(true));
    assert_eq!(comet.ask("isNative", &json!({ "hash": of_evm })), json!(false));
    assert_eq!(receipt(&comet, B256::ZERO), Value::Null);
    let sha = json!({ "sha256": hex::encode_upper(sha256(&transfer(1, 0, 0))) });
    assert_eq!(comet.ask("cosmosTxOf", &json!({ "hash": of_evm })), sha);
    for raw in [&native, &transfer(0, 9, 0)] {
        let raw = hex::encode_prefixed(raw);
        assert_eq!(comet.ask("senderOf", &json!({ "raw": raw })), json!(sender_of(0)));
    }

    // What is in a block waits no more, here and at the peer; and all of it outlives a restart.
    assert_eq!(comet.check(&send(0, 3, TO, 5)).code, 32);
    assert_eq!(peer.check(&native).code, 32);
    let before = told;
    comet.store.push(Decided { height: 1, time: time(1), proposer: comet.address.clone(), txs: Vec::new() });
    comet.state = 1;
    comet.app_hashes.push(answer.app_hash.to_vec());
    comet.restart();
    assert_eq!(receipt(&comet, hash), before);
}

#[test]
fn what_cannot_be_taken_has_the_code_that_wallets_know() {
    let mut comet = Comet::begin(1, &genesis());
    let told = |answer: pb::ResponseCheckTx| (answer.code, answer.codespace, answer.log);
    let sdk = |code: u32, log: &str| (code, "sdk".to_owned(), log.to_owned());
    let text = "account sequence mismatch, expected 0, got 3: incorrect account sequence";
    assert_eq!(told(comet.check(&send(0, 3, TO, 1))), sdk(32, text));
    let poor = send(9, 0, TO, u64::MAX);
    assert_eq!(told(comet.check(&poor)).0, 0);
    let mut damaged = send(0, 0, TO, 1);
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    assert_eq!(told(comet.check(&damaged)).0, 4);
    let message = |gas: u64, amount: &str| {
        let message = proto::MsgSend {
            from_address: bech32::account(&sender_of(0)),
            to_address: bech32::account(&TO),
            amount: vec![coin(amount)],
        };
        sign_native(0, 0, gas, any("/cosmos.bank.v1beta1.MsgSend", &message))
    };
    let text = "gas limit 20999 is below the intrinsic gas 21000: out of gas";
    assert_eq!(told(comet.check(&message(20_999, "1"))), sdk(11, text));
    let rich = U256::from(10u64).pow(U256::from(30)).to_string();
    let (code, _, log) = told(comet.check(&message(21_000, &rich)));
    assert!(code == 5 && log.ends_with("insufficient funds"), "{log}");
    assert_eq!(told(comet.check(&message(3_000_001, "1"))).0, 18);
    assert_eq!(told(comet.check(&message(21_000, "0"))).0, 18);
    // Bytes that no gas pays for.
    let zeros = format!("{:0>4000}", 1);
    assert_eq!(told(comet.check(&message(21_000, &zeros))).0, 21);
}

#[test]
fn one_with_more_gas_than_osaka_allows_is_not_taken() {
    let mut genesis: Value = serde_json::from_str(&genesis()).expect("JSON");
    genesis["gasLimit"] = json!("0xbebc200");
    let mut comet = Comet::begin_empty(1, &genesis.to_string());
    let message = proto::MsgSend {
        from_address: bech32::account(&sender_of(0)),
        to_address: bech32::account(&TO),
        amount: vec![coin(1)],
    };
    let mut code =
        |gas: u64| comet.check(&sign_native(0, 0, gas, any("/cosmos.bank.v1beta1.MsgSend", &message))).code;
    assert_eq!((code((1 << 24) + 1), code(1 << 24)), (18, 0));
}

#[test]
fn one_that_fails_pays_and_has_no_receipt() {
    let mut comet = Comet::begin(1, &genesis());
    // Code that reverts is at no address of a development chain: the beacon roots contract refuses
    // a call that carries wei.
    let refusing = hearth_evm::BEACON_ROOTS_ADDRESS;
    let before = balance(&comet, sender_of(0));
    let message = proto::MsgSend {
        from_address: bech32::account(&sender_of(0)),
        to_address: bech32::account(&refusing),
        amount: vec![coin(1)],
    };
    let native = sign_native(0, 0, 60_000, any("/cosmos.bank.v1beta1.MsgSend", &message));
    let answer = decide(&mut comet, vec![native.clone()]);
    let result = &answer.tx_results[0];
    assert_eq!((result.code, result.codespace.as_str()), (3, "evm"), "{}", result.log);
    assert!(result.data.is_empty() && result.gas_used > 21_000);
    assert!(result.events.iter().all(|event| event.r#type == "tx"));
    let paid = U256::from(result.gas_used) * U256::from(PRICE);
    assert_eq!(balance(&comet, sender_of(0)), before - paid);
    assert_eq!(nonce(&comet, sender_of(0)), json!("0x1"));
    assert_eq!(receipt(&comet, sha256(&native)), Value::Null);
    assert_eq!(comet.ask("isNative", &json!({ "hash": sha256(&native) })), json!(true));
}

#[test]
fn natives_come_first_or_the_proposal_is_rejected() {
    let mut comet = Comet::begin(1, &genesis());
    let (native, evm) = (send(0, 0, TO, 5), transfer(1, 0, 0));
    let block = |txs: Vec<Vec<u8>>| Decided { height: 1, time: time(1), proposer: vec![1; 20], txs };
    assert!(!comet.process(&block(vec![evm.clone(), native.clone()])));
    assert!(!comet.process(&block(vec![native.clone(), native.clone()])));
    assert!(!comet.process(&block(vec![send(0, 1, TO, 5)])));
    assert!(comet.process(&block(vec![native.clone(), evm.clone()])));
    // Decided on all the same, they run first, and the results stand where the transactions stood.
    let bad = send(0, 7, TO, 5);
    let answer = decide(&mut comet, vec![evm.clone(), bad, native.clone(), evm]);
    let codes: Vec<_> = answer.tx_results.iter().map(|it| (it.code, it.codespace.as_str())).collect();
    assert_eq!(codes, [(0, ""), (32, "sdk"), (0, ""), (1, "evm")]);
    assert_eq!(receipt(&comet, sha256(&native))["transactionIndex"], json!("0x0"));
}

#[test]
fn gas_of_natives_has_a_bound_of_its_own() {
    let mut comet = Comet::begin(1, &genesis());
    let message = |sequence| {
        let message = proto::MsgSend {
            from_address: bech32::account(&sender_of(0)),
            to_address: bech32::account(&TO),
            amount: vec![coin(1)],
        };
        sign_native(0, sequence, 1_500_000, any("/cosmos.bank.v1beta1.MsgSend", &message))
    };
    // What is not used is given back, to the account and to the block: 3,000,000 are enough for
    // many.
    let answer = decide(&mut comet, (0..80).map(message).collect());
    let taken = answer.tx_results.iter().take_while(|it| it.code == 0).count();
    // After n of them 3,000,000 - 21,000 n must cover the next limit.
    assert_eq!(taken, 72);
    let text = "gas limit reached: invalid request";
    assert_eq!((answer.tx_results[72].code, answer.tx_results[72].log.as_str()), (18, text));
}

/// A block with natives, executed again from what the ledger keeps, has the state root of its
/// header.
#[test]
fn a_block_is_executed_again_from_the_ledger() {
    let mut comet = Comet::begin(1, &genesis());
    decide(&mut comet, vec![send(0, 0, TO, 5), transfer(0, 1, 0), transfer(1, 0, 0)]);
    decide(&mut comet, vec![send(0, 2, sender_of(1), 7), send(1, 1, TO, 9), transfer(1, 2, 0)]);
    let chain = comet.node.chain().expect("open");
    for height in 1..=2 {
        let block = chain.reader().canonical_block(height).expect("reads").expect("is there");
        let env = BlockEnvironment::from_header(chain.spec(), &block.block.header);
        let senders = recover_senders(chain.spec(), &env, &block.block.body.transactions).expect("signed");
        let state = chain.state_at(height - 1).expect("a state");
        let sidecar = chain.sidecar(&block.hash).expect("reads");
        assert_eq!(sidecar.natives.len(), if height == 1 { 1 } else { 2 });
        let mut trie = chain.roots_after(height - 1).expect("a trie");
        let executor =
            BlockExecutor::new(chain.spec(), env, &state, chain.reader().hashes()).with_sidecar(sidecar);
        let output = executor.run(&block.block, &senders, Some(&mut trie)).expect("executes");
        assert_eq!(trie.root().expect("a root"), block.block.header.state_root);
        let capsule = chain.reader().capsule(&block.hash).expect("reads").expect("is there");
        assert_eq!(capsule.logs.len(), senders.len());
        assert_eq!(output.receipts.len(), senders.len());
    }
    // RLP has no place for them.
    let mut out = Vec::new();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let range = hearth_chain::ExportRange::default();
    let refused = chain.export(&range, std::path::Path::new("out"), &mut out, &mut |_, _| (), &stop);
    let text = refused.expect_err("is refused").to_string();
    assert!(text.starts_with("block 1 has native transactions"), "{text}");
}

/// All that Ethereum's methods say of a block, without what names it and its ancestors.
fn eth_answers(comet: &Comet, number: &str) -> Vec<Value> {
    let block = json!({ "block": number, "full": true });
    let mut answers = vec![
        comet.ask("getBlockByNumber", &block),
        comet.ask("getHeaderByNumber", &json!({ "block": number })),
        comet.ask("getBlockReceipts", &json!({ "block": number })),
        comet.ask("getBlockTransactionCountByNumber", &json!({ "block": number })),
        comet.ask("getLogs", &json!({ "filter": { "fromBlock": "0x0", "toBlock": "latest" } })),
        comet.ask("feeHistory", &json!({ "blockCount": "0x1", "newestBlock": number })),
        comet.ask("getTransactionByBlockNumberAndIndex", &json!({ "block": number, "index": "0x0" })),
        comet.ask("txpoolStatus", &Value::Null),
    ];
    answers.iter_mut().for_each(without_names);
    answers
}

/// Hashes of blocks and of states, and what follows from them, differ between two chains.
fn without_names(value: &mut Value) {
    const NAMES: [&str; 8] = [
        "hash",
        "blockHash",
        "parentHash",
        "stateRoot",
        "mixHash",
        "extraData",
        "size",
        "parentBeaconBlockRoot",
    ];
    match value {
        Value::Object(members) => {
            let of_block = members.contains_key("parentHash");
            members.retain(|name, _| !NAMES.contains(&name.as_str()) || (name == "hash" && !of_block));
            members.values_mut().for_each(without_names);
        }
        Value::Array(items) => items.iter_mut().for_each(without_names),
        _ => {}
    }
}

/// A chain with natives answers Ethereum's methods as one whose accounts had their effects from the
/// beginning.
#[test]
fn ethereums_answers_are_those_of_a_chain_without_natives() {
    for seed in 1..6u64 {
        let natives: Vec<(usize, u64, u64)> =
            (0..seed).map(|n| ((n as usize * 3 + seed as usize) % 4, n, 1 + n * seed)).collect();
        let mut sequences = [0u64; 8];
        let mut signed = Vec::new();
        for (sender, _, amount) in &natives {
            signed.push(send(*sender, sequences[*sender], TO, *amount));
            sequences[*sender] += 1;
        }
        let evm = |first: [u64; 8]| {
            (0..5usize)
                .map(|sender| transfer(sender, first[sender], sender as u64 as u128))
                .collect::<Vec<_>>()
        };
        let mut with = Comet::begin(1, &genesis());
        let txs = signed.iter().cloned().chain(evm(sequences)).collect();
        let answer = decide(&mut with, txs);
        assert!(answer.tx_results.iter().all(|it| it.code == 0), "{:?}", answer.tx_results);

        // The same accounts as after the natives.
        let mut other: Value = serde_json::from_str(&genesis()).expect("JSON");
        for (sender, &count) in sequences.iter().enumerate() {
            if count == 0 {
                continue;
            }
            let spent: u64 = natives.iter().filter(|it| it.0 == sender).map(|it| it.2).sum();
            let fees = U256::from(21_000 * count) * U256::from(PRICE);
            let key = alloc_key(&other, sender_of(sender));
            let entry = &mut other["alloc"][key.as_str()];
            let before: U256 = entry["balance"].as_str().expect("text").parse().expect("a number");
            entry["balance"] = json!(format!("{:#x}", before - fees - U256::from(spent)));
            entry["nonce"] = json!(format!("{count:#x}"));
        }
        let mut without = Comet::begin(1, &other.to_string());
        decide(&mut without, evm(sequences));
        assert_eq!(eth_answers(&with, "0x1"), eth_answers(&without, "0x1"), "seed {seed}");
        for sender in 0..5 {
            let account = sender_of(sender);
            assert_eq!(balance(&with, account), balance(&without, account), "seed {seed}, sender {sender}");
            assert_eq!(nonce(&with, account), nonce(&without, account));
        }
    }
}

/// The name of an account in a genesis' allocation.
fn alloc_key(genesis: &Value, address: Address) -> String {
    let accounts = genesis["alloc"].as_object().expect("accounts");
    let is = |name: &&String| name.parse::<Address>().ok() == Some(address);
    accounts.keys().find(is).expect("is funded").clone()
}
