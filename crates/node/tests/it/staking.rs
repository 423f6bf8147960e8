//! The staking contract in blocks under CometBFT: voting power, withdrawals, evidence, and traces
//! and proofs of its state.

use crate::{
    capsules,
    comet::{Comet, Decided},
    consensus::{genesis, transfer},
    dev_chain::sender_of,
    natives::{any, coin, decide, receipt, sign_native, time},
    support::trace,
};
use alloy_primitives::{Address, B256, U256, hex, keccak256};
use hearth_abci::{crypto::public_key::Sum, pb};
use hearth_cosmos::{
    bech32,
    genesis::{consensus_address, staking_account_json},
    proto, sha256,
};
use hearth_evm::STAKING_ADDRESS;
use prost::Message as _;
use serde_json::{Value, json};

/// Wei of a unit of power.
const UNIT: u64 = 1_000_000_000_000_000_000;
/// Seconds from an undelegation to its withdrawal.
const UNBONDING: i64 = 60;
/// Gas of a message of staking.
const GAS: u64 = 600_000;

/// The ed25519 key of a validator, and the account of its operator.
fn validator(number: u8) -> (B256, Address) {
    (B256::repeat_byte(0x40 + number), Address::repeat_byte(0x50 + number))
}

/// A network of three validators of the power 10.
fn network() -> (String, Vec<(B256, u64)>) {
    let keys = (0..3).map(validator).collect::<Vec<_>>();
    let given: Vec<Value> = keys
        .iter()
        .map(|(key, operator)| json!({ "operator": operator, "key": key, "power": 10, "moniker": "one" }))
        .collect();
    let account = staking_account_json(
        &json!({ "validators": given, "unbondingSeconds": UNBONDING, "time": 1_700_000_000 }).to_string(),
    );
    let mut genesis: Value = serde_json::from_str(&genesis()).expect("JSON");
    let account: Value = serde_json::from_str(&account.expect("validators")).expect("JSON");
    genesis["alloc"][STAKING_ADDRESS.to_string()] = account;
    (genesis.to_string(), keys.into_iter().map(|(key, _)| (key, 10)).collect())
}

fn begin(number: u8) -> Comet {
    let (genesis, validators) = network();
    Comet::begin_network(number, &genesis, &validators)
}

fn delegation(sender: usize, sequence: u64, kind: &str, operator: Address, units: u64) -> Vec<u8> {
    let message = proto::MsgDelegate {
        delegator_address: bech32::account(&sender_of(sender)),
        validator_address: bech32::encode(bech32::OPERATOR, &operator),
        amount: Some(coin(u128::from(units) * u128::from(UNIT))),
    };
    sign_native(sender, sequence, GAS, any(&format!("/cosmos.staking.v1beta1.{kind}"), &message))
}

/// Keys and powers of the validators that a block changed.
fn updates(answer: &pb::ResponseFinalizeBlock) -> Vec<(B256, i64)> {
    let one = |update: &pb::ValidatorUpdate| {
        let key = update.pub_key.as_ref().and_then(|key| key.sum.as_ref());
        let Some(Sum::Ed25519(key)) = key else { panic!("another kind of key: {key:?}") };
        (B256::from_slice(key), update.power)
    };
    answer.validator_updates.iter().map(one).collect()
}

/// Decides on a block at a time of its own, and keeps it for replays.
fn decide_at(comet: &mut Comet, seconds: i64, txs: Vec<Vec<u8>>) -> pb::ResponseFinalizeBlock {
    let height = comet.node.chain().expect("open").head().height as i64 + 1;
    let time = hearth_abci::Timestamp { seconds, nanos: 0 };
    let block = Decided { height, time, proposer: comet.address.clone(), txs };
    let answer = comet.finalize(&block).expect("executes");
    comet.commit().expect("commits");
    comet.store.push(block);
    comet.told(comet.store.len() - 1, &answer.app_hash);
    comet.state = comet.store.len();
    answer
}

fn balance(comet: &Comet, address: Address) -> U256 {
    let told = comet.ask("getBalance", &json!({ "address": address, "block": "latest" }));
    told.as_str().expect("a quantity").parse().expect("a number")
}

fn block(comet: &Comet, height: i64) -> Value {
    comet.ask("getBlockByNumber", &json!({ "block": format!("{height:#x}"), "full": false }))
}

/// Output of a view of the contract without arguments behind the selector.
fn view(comet: &Comet, signature: &str, argument: Address) -> Vec<u8> {
    let data = [&keccak256(signature)[..4], argument.into_word().as_slice()].concat();
    let transaction = json!({ "to": STAKING_ADDRESS, "data": hex::encode_prefixed(data) });
    let args = json!({ "transaction": transaction, "block": "latest" });
    hex::decode(comet.ask("call", &args).as_str().expect("bytes")).expect("hex")
}

#[test]
fn cometbft_and_the_genesis_have_the_same_validators() {
    let (genesis, validators) = network();
    let mut comet = Comet::begin_empty(1, &genesis);
    let refused = |comet: &mut Comet, given: &[(B256, u64)]| comet.init_network(&genesis, given).unwrap_err();
    let text = refused(&mut comet, &validators[..2]);
    assert!(text.contains("validators") && text.contains("have 2, want 3"), "{text}");
    let mut other = validators.clone();
    other[1].1 = 11;
    let text = refused(&mut comet, &other);
    assert!(text.contains("power 11") && text.contains("power 10"), "{text}");
    other[1] = (B256::repeat_byte(9), 10);
    assert!(refused(&mut comet, &other).contains("power 0"));
    comet.init_network(&genesis, &validators).expect("the same validators");
}

#[test]
fn a_delegation_changes_power_and_is_withdrawn() {
    let (mut comet, mut peer) = (begin(1), begin(2));
    let (key, operator) = validator(1);
    let start = 1_700_000_001;
    let txs = vec![delegation(0, 0, "MsgDelegate", operator, 3), transfer(1, 0, 0)];
    let answer = decide_at(&mut comet, start, txs.clone());
    peer.address = comet.address.clone();
    assert_eq!(decide_at(&mut peer, start, txs), answer, "every node has the same results");
    assert!(answer.tx_results.iter().all(|result| result.code == 0), "{:?}", answer.tx_results);
    assert_eq!(updates(&answer), [(key, 13)]);
    let events: Vec<_> = answer.tx_results[0].events.iter().map(|event| event.r#type.as_str()).collect();
    assert!(events.contains(&"delegate"), "{events:?}");

    // The header commits to the changed validators: type 0xf0, key type, key, power.
    let first = block(&comet, 1);
    let request = [&[0xf0, 0][..], key.as_slice(), &13u64.to_be_bytes()].concat();
    assert_eq!(first["requestsHash"], json!(sha256(sha256(&request).as_slice())));
    assert_eq!(first["withdrawals"], json!([]));

    let (before, hash) = (balance(&comet, sender_of(0)), txs_hash(0));
    assert_eq!(receipt(&comet, hash)["logs"][0]["address"], json!(STAKING_ADDRESS));
    let answer = decide_at(&mut comet, start + 1, vec![delegation(0, 1, "MsgUndelegate", operator, 3)]);
    assert_eq!((answer.tx_results[0].code, updates(&answer)), (0, vec![(key, 10)]));
    let data = proto::TxMsgData::decode(&answer.tx_results[0].data[..]).expect("decodes");
    let response = proto::MsgUndelegateResponse::decode(&data.msg_responses[0].value[..]).expect("decodes");
    assert_eq!(response.completion_time.expect("a time").seconds, start + 1 + UNBONDING);
    let fee = U256::from(answer.tx_results[0].gas_used) * U256::from(crate::natives::PRICE);
    assert_eq!(balance(&comet, sender_of(0)), before - fee);

    // One second early, then on time.
    let answer = decide_at(&mut comet, start + UNBONDING, Vec::new());
    assert_eq!((updates(&answer), &block(&comet, 3)["withdrawals"]), (Vec::new(), &json!([])));
    decide_at(&mut comet, start + 1 + UNBONDING, vec![transfer(1, 1, 0)]);
    let paid = json!([{ "index": "0x40", "validatorIndex": "0x0", "address": sender_of(0), "amount": "0xb2d05e00" }]);
    assert_eq!(block(&comet, 4)["withdrawals"], paid);
    assert_eq!(balance(&comet, sender_of(0)), before - fee + U256::from(3 * u128::from(UNIT)));

    // Begin and end of blocks are executed again when CometBFT replays everything, and in traces.
    let hashes = comet.app_hashes.clone();
    comet.state = 0;
    comet.restart_after(|home| {
        let options = hearth_chain::ChainOptions::default();
        hearth_chain::operate::roll_back(home, &options, 1, false).expect("rolls back");
    });
    assert_eq!((comet.info().last_block_height, comet.app_hashes.clone()), (4, hashes));
    assert_eq!(block(&comet, 4)["withdrawals"], paid);
    comet.restart_after(|home| assert!(capsules::compare(home) > 40));
}

/// Hash of the first delegation of the test above.
fn txs_hash(sender: usize) -> B256 {
    sha256(&delegation(sender, 0, "MsgDelegate", validator(1).1, 3))
}

#[test]
fn a_validator_joins_by_a_message_and_leaves() {
    let mut comet = begin(1);
    let key = B256::repeat_byte(0x77);
    let operator = sender_of(3);
    let message = proto::MsgCreateValidator {
        description: Some(proto::Description { moniker: "the fifth".to_owned(), ..Default::default() }),
        commission: Some(proto::CommissionRates {
            rate: "50000000000000000".to_owned(),
            ..Default::default()
        }),
        min_self_delegation: "1".to_owned(),
        delegator_address: bech32::account(&operator),
        validator_address: bech32::encode(bech32::OPERATOR, &operator),
        pubkey: Some(any("/cosmos.crypto.ed25519.PubKey", &proto::PubKey { key: key.to_vec() })),
        value: Some(coin(20 * u128::from(UNIT))),
    };
    let message = any("/cosmos.staking.v1beta1.MsgCreateValidator", &message);
    let answer = decide(&mut comet, vec![sign_native(3, 0, 2_000_000, message)]);
    assert_eq!(
        (answer.tx_results[0].code, updates(&answer)),
        (0, vec![(key, 20)]),
        "{:?}",
        answer.tx_results
    );
    // Blocks of this validator pay its operator.
    comet.address = consensus_address(&key).to_vec();
    decide(&mut comet, vec![transfer(1, 0, 0)]);
    assert_eq!(block(&comet, 2)["miner"], json!(operator));
    let answer = decide(&mut comet, vec![delegation(3, 1, "MsgUndelegate", operator, 20)]);
    assert_eq!((answer.tx_results[0].code, updates(&answer)), (0, vec![(key, 0)]), "{:?}", answer.tx_results);
}

#[test]
fn evidence_slashes_and_removes_a_validator() {
    let mut comet = begin(1);
    let (key, operator) = validator(2);
    decide_at(&mut comet, 1_700_000_001, vec![delegation(0, 0, "MsgDelegate", operator, 10)]);
    let before = view(&comet, "pool()", Address::ZERO);
    let of = [(consensus_address(&key).into_array(), 1), ([9; 20], 1)];
    let guilty = Decided { height: 2, time: time(2), proposer: vec![1; 20], txs: vec![transfer(1, 0, 0)] };
    let answer = comet.decide_with_evidence(&guilty, &of);
    assert_eq!(updates(&answer), [(key, 0)], "removed for good; an unknown address is skipped");
    let bonded = |words: &[u8]| U256::from_be_slice(&words[..32]);
    // The pool of 40 ether loses the validator's 20, of which 19 stay as not bonded.
    assert_eq!(bonded(&before), U256::from(40 * u128::from(UNIT)));
    assert_eq!(bonded(&view(&comet, "pool()", Address::ZERO)), U256::from(20 * u128::from(UNIT)));
    let data = [&keccak256("validator(address)")[..4], operator.into_word().as_slice()].concat();
    let transaction = json!({ "to": STAKING_ADDRESS, "data": hex::encode_prefixed(data) });
    let config = json!({ "tracer": "callTracer" });
    let args = json!({ "transaction": transaction, "block": "latest", "config": config });
    let traced = trace(&comet.node, "traceCall", args).expect("a trace");
    let output = hex::decode(traced["output"].as_str().expect("an output")).expect("hex");
    // (operator, key, jailed, status, tokens, …) behind an offset.
    let word = |n: usize| U256::from_be_slice(&output[32 * (n + 1)..32 * (n + 2)]);
    assert_eq!(
        (word(2), word(4)),
        (U256::ONE, U256::from(19 * u128::from(UNIT))),
        "jailed, 5 % fewer tokens"
    );

    // A later block of the same height of evidence changes nothing more.
    let again = Decided { height: 3, time: time(3), proposer: vec![1; 20], txs: vec![transfer(1, 1, 0)] };
    assert_eq!(updates(&comet.decide_with_evidence(&again, &of)), []);
    // The evidence is stored with its block, and read by a repeated execution.
    let chain = comet.node.chain().expect("open");
    let stored = chain.reader().canonical_block(2).expect("reads").expect("is there");
    assert_eq!(chain.sidecar(&stored.hash).expect("reads").misbehavior.len(), 2 * 29);
    let proof = json!({ "address": STAKING_ADDRESS, "slots": [{ "slot": "0x0", "whole": false }], "block": "latest" });
    let proof = comet.ask("getProof", &proof);
    assert!(proof["accountProof"].as_array().expect("nodes").len() > 1);
    // 60 seconds, 100 validators.
    assert_eq!(
        proof["storageProof"][0]["value"],
        json!(format!("{:#x}", (U256::from(100) << 64) | U256::from(60)))
    );
    drop(chain);
    comet.restart_after(|home| assert!(capsules::compare(home) > 40));
}
