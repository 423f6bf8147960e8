//! Validators under a model of CometBFT: random rounds, proposals of byzantine validators, restarts
//! at every step. All applications must return the same app hashes and results, and none may raise
//! an exception.

use crate::{
    comet::{Comet, Decided},
    dev_chain::sign,
};
use alloy_consensus::{TxEip1559, TxEip2930};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, TxKind, U256};
use hearth_abci::Timestamp;
use hearth_chain::dev::{GenesisOptions, dev_genesis};
use hearth_primitives::Transaction;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const CHAIN_ID: u64 = 31_337;
const VALIDATORS: usize = 4;
/// Development accounts that send.
const SENDERS: usize = 6;
/// Heights of the model in every run of the tests; HEARTH_CONSENSUS_HEIGHTS sets more.
const HEIGHTS: usize = 150;

/// Numbers that look random and are the same in every run (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).expect("fits")
    }

    fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

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
fn over_gas(sender: usize, nonce: u64) -> Vec<u8> {
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

/// The validators, and what the model expects of them.
struct Network {
    validators: Vec<Comet>,
    random: Random,
    /// Nonces of the transactions that were sent.
    sent: [u64; SENDERS],
    /// Transfers that blocks have.
    included: [u64; SENDERS],
    nanos: i128,
    /// How often something happened, by its name.
    seen: BTreeMap<&'static str, usize>,
}

impl Network {
    fn new(seed: u64) -> Self {
        let genesis = genesis();
        let validators = (0..VALIDATORS).map(|number| Comet::begin(number as u8 + 1, &genesis)).collect();
        let random = Random(seed);
        let (sent, included, seen) = Default::default();
        Self { validators, random, sent, included, nanos: 1_700_000_000_000_000_000, seen }
    }

    fn saw(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    fn time(&mut self) -> Timestamp {
        // Several blocks a second: many have their parent's time in seconds.
        self.nanos += 1_000_000 * (1 + self.random.below(900) as i128);
        let seconds = i64::try_from(self.nanos / 1_000_000_000).expect("fits");
        Timestamp { seconds, nanos: i32::try_from(self.nanos % 1_000_000_000).expect("fits") }
    }

    /// New transactions reach one validator, and from there the others.
    fn send(&mut self) {
        for _ in 0..self.random.below(6) {
            let sender = self.random.below(SENDERS);
            // The pool of a test takes 16 of an account.
            if self.sent[sender] >= self.included[sender] + 10 {
                continue;
            }
            let tx = transfer(sender, self.sent[sender], self.random.below(1000) as u128);
            let to = self.random.below(VALIDATORS);
            let answer = self.validators[to].check(&tx);
            assert_eq!((answer.code, answer.gas_wanted), (0, 21_000), "{}", answer.log);
            self.sent[sender] += 1;
        }
        for from in 0..VALIDATORS {
            let reaped = self.validators[from].reap();
            for tx in reaped {
                for to in (0..VALIDATORS).filter(|to| *to != from) {
                    // What came the other way is known; what a block has meanwhile is refused.
                    let code = self.validators[to].insert(&tx);
                    assert!(code <= 1, "code {code}");
                }
            }
        }
    }

    /// A proposal that honest validators must reject, made of an honest one.
    fn spoil(&mut self, mut block: Decided) -> Decided {
        let sender = self.random.below(SENDERS);
        let nonce = self.included[sender];
        match self.random.below(7) {
            0 => block.txs.push(b"garbage".to_vec()),
            1 => block.txs.insert(0, vec![0x0a, 0x00]),
            // A gap in the nonces.
            2 => block.txs.push(transfer(sender, nonce + 100, 5)),
            3 => block.txs.push(over_gas(sender, nonce)),
            // The same transaction twice.
            4 => {
                let tx = transfer(sender, nonce, 7);
                block.txs = vec![tx.clone(), tx];
            }
            // Bytes behind a transaction.
            5 => {
                let mut tx = transfer(sender, nonce, 9);
                tx.push(0);
                block.txs = vec![tx];
            }
            _ => block.time.seconds = 1_600_000_000,
        }
        block
    }

    /// Decides on the next block after some rounds, and gives it.
    fn decide(&mut self) -> Decided {
        let height = self.validators[0].store.len() as i64 + 1;
        loop {
            let proposer = self.random.below(VALIDATORS);
            let time = self.time();
            let max_bytes = if self.random.one_in(9) { 250 } else { 4 << 20 };
            let honest = self.validators[proposer].prepare(height, &time, max_bytes);
            let bytes: usize = honest.txs.iter().map(|tx| tx.len() + 3).sum();
            assert!(bytes as i64 <= max_bytes, "{bytes} of {max_bytes}");
            if self.random.one_in(4) {
                let spoilt = self.spoil(honest);
                for validator in &mut self.validators {
                    assert!(!validator.process(&spoilt), "{spoilt:?} is rejected");
                }
                self.saw("rejected");
                // Two thirds are byzantine: their block is decided, but without the transactions
                // that cannot be part of it.
                if spoilt.time == time && self.random.one_in(6) {
                    self.saw("decided against the rules");
                    return spoilt;
                }
                continue;
            }
            for number in 0..VALIDATORS {
                // One that did not see the proposal executes it when it is decided.
                if !self.random.one_in(5) {
                    assert!(self.validators[number].process(&honest));
                }
            }
            if self.random.one_in(5) {
                self.saw("rounds without a decision");
                continue;
            }
            return honest;
        }
    }

    fn height(&mut self) {
        self.send();
        let block = self.decide();
        let index = self.validators[0].store.len();
        let mut answers = Vec::new();
        for number in 0..VALIDATORS {
            let step = self.random.below(40);
            let validator = &mut self.validators[number];
            validator.store.push(block.clone());
            match step {
                0 => validator.restart(),
                1 => validator.reconnect(),
                _ => {
                    let answer = validator.finalize(&block).expect("executes");
                    match step {
                        2 => validator.restart(),
                        3 => validator.reconnect(),
                        4 => {
                            let again = validator.finalize(&block).expect("executes");
                            assert_eq!(again, answer, "the answer to a second request is the same");
                            validator.commit().expect("commits");
                        }
                        _ => drop(validator.commit().expect("commits")),
                    }
                    validator.told(index, &answer.app_hash);
                    answers.push(answer);
                    match step {
                        5 => validator.restart(),
                        6 => validator.reconnect(),
                        _ => {}
                    }
                }
            }
            validator.state = index + 1;
            let head = validator.node.chain().expect("open").head();
            assert_eq!(head.hash.as_slice(), validator.app_hashes[index], "the app hash is the block's");
            if step < 7 {
                self.saw("restarts");
            }
        }
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
        let hashes: Vec<_> = self.validators.iter().map(|validator| &validator.app_hashes[index]).collect();
        assert!(hashes.windows(2).all(|pair| pair[0] == pair[1]), "height {}", index + 1);
        self.count(&block);
    }

    /// What the block must have done, by its header and by the sinks' balances.
    fn count(&mut self, block: &Decided) {
        let tag = json!({ "block": format!("{:#x}", block.height), "full": false });
        let told = self.validators[self.random.below(VALIDATORS)].ask("getBlockByNumber", &tag);
        assert_eq!(told["extraData"], json!(block.hash()));
        let before =
            usize::try_from(block.height - 2).ok().map(|index| self.validators[0].store[index].hash());
        assert_eq!(told["parentBeaconBlockRoot"], json!(before.unwrap_or(B256::ZERO)));
        assert_eq!(told["timestamp"], json!(format!("{:#x}", block.time.seconds)));
        assert_eq!(told["miner"], json!(Address::from_slice(&block.proposer)));
        assert_eq!(told["gasLimit"], json!("0x1c9c380"));
        for sender in 0..SENDERS {
            let args = json!({ "address": sink(sender), "block": "latest" });
            let validator = &self.validators[self.random.below(VALIDATORS)];
            let balance = validator.ask("getBalance", &args);
            let balance = u64::from_str_radix(&balance.as_str().expect("hex")[2..], 16).expect("hex");
            assert!(balance >= self.included[sender], "no transfer is lost");
            self.included[sender] = balance;
            self.sent[sender] = self.sent[sender].max(balance);
        }
    }
}

#[test]
fn all_validators_give_the_same_blocks_whatever_happens() {
    let heights = std::env::var("HEARTH_CONSENSUS_HEIGHTS").ok().and_then(|text| text.parse().ok());
    let mut network = Network::new(0x5eed_cafe);
    for _ in 0..heights.unwrap_or(HEIGHTS) {
        network.height();
    }
    let included: u64 = network.included.iter().sum();
    assert!(included > 100, "{included} transfers");
    for what in ["rejected", "decided against the rules", "rounds without a decision", "restarts"] {
        assert!(network.seen.get(what).is_some_and(|times| *times > 2), "{what}: {:?}", network.seen);
    }
    let status = network.validators[0].ask("consensusStatus", &Value::Null);
    assert_eq!((&status["connections"], &status["failure"]), (&json!(4), &Value::Null));
    assert_eq!(status["height"], json!(format!("{:#x}", network.validators[0].store.len())));
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
