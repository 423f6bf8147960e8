//! Validators under a model of CometBFT: random rounds, proposals of byzantine validators, deaths
//! at every step. All applications must return the same app hashes and results, and none may raise
//! an exception.
//!
//! A death is a copy of the data directory as the process leaves it, on which the next one
//! starts.

use crate::{
    comet::{Comet, Decided},
    consensus::{SENDERS, genesis, over_gas, sink, transfer},
    killed,
    lthash::lthash_genesis,
};
use alloy_primitives::{Address, B256};
use hearth_abci::Timestamp;
use hearth_primitives::StateReader as _;
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Instant};

const VALIDATORS: usize = 4;
/// Heights of all networks in every run of the tests; HEARTH_CONSENSUS_HEIGHTS sets more.
const HEIGHTS: usize = 400;
/// A validator dies, or loses its CometBFT, at one of so many steps of a block.
const DEATHS_ONE_IN: usize = 200;
/// Heights between two looks through JSON-RPC.
const ASK_EVERY: usize = 16;
/// Blocks that a data directory may lack that is put back.
const LOST_MAX: usize = 100;

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

/// What happens to a validator at a height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Lives,
    DiesBeforeFinalize,
    LosesCometBftBeforeFinalize,
    AnswersTwice,
    DiesBeforeCommit,
    LosesCometBftBeforeCommit,
    DiesInCommitBeforeTheRecord,
    DiesAfterCommit,
    StopsAfterCommit,
    LosesCometBftAfterCommit,
    LosesItsLastBlocks,
}

const FATES: [(Fate, &str); 10] = [
    (Fate::DiesBeforeFinalize, "died before FinalizeBlock"),
    (Fate::LosesCometBftBeforeFinalize, "lost CometBFT before FinalizeBlock"),
    (Fate::AnswersTwice, "answered twice"),
    (Fate::DiesBeforeCommit, "died before Commit"),
    (Fate::LosesCometBftBeforeCommit, "lost CometBFT before Commit"),
    (Fate::DiesInCommitBeforeTheRecord, "died in Commit before the record"),
    (Fate::DiesAfterCommit, "died after Commit"),
    (Fate::StopsAfterCommit, "stopped after Commit"),
    (Fate::LosesCometBftAfterCommit, "lost CometBFT after Commit"),
    (Fate::LosesItsLastBlocks, "lost its last blocks"),
];

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
    /// Data directories as they were, with their validator and their number of blocks.
    kept: Option<(usize, usize, tempfile::TempDir)>,
}

impl Network {
    fn new(genesis: &str, seed: u64) -> Self {
        let validators = (0..VALIDATORS).map(|number| Comet::begin(number as u8 + 1, genesis)).collect();
        let random = Random(seed);
        let (sent, included, seen) = Default::default();
        Self { validators, random, sent, included, nanos: 1_700_000_000_000_000_000, seen, kept: None }
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
            if self.random.one_in(DEATHS_ONE_IN) {
                // What it executed goes with the process.
                self.die(proposer);
                self.saw("died in a round");
            }
            if self.random.one_in(5) {
                self.saw("rounds without a decision");
                continue;
            }
            return honest;
        }
    }

    /// The process of a validator dies, and CometBFT with it; both start again.
    fn die(&mut self, number: usize) {
        let validator = &mut self.validators[number];
        let dead = killed::temp_dir();
        killed::copy(validator.home(), dead.path(), &["config", "data"]);
        validator.revive(dead);
    }

    /// Takes a data directory aside, to be put back later.
    fn keep(&mut self, number: usize) {
        let (validator, aside) = (&self.validators[number], killed::temp_dir());
        killed::copy(validator.home(), aside.path(), &["config", "data"]);
        let blocks = validator.node.chain().expect("open").head().height;
        self.kept = Some((number, usize::try_from(blocks).expect("fits"), aside));
    }

    fn fate(&mut self, number: usize, index: usize) -> Fate {
        if self.kept.as_ref().is_some_and(|(_, blocks, _)| blocks + LOST_MAX < index) {
            self.kept = None;
        }
        if !self.random.one_in(DEATHS_ONE_IN) {
            return Fate::Lives;
        }
        match FATES[self.random.below(FATES.len())].0 {
            Fate::LosesItsLastBlocks if self.kept.as_ref().is_none_or(|kept| kept.0 != number) => Fate::Lives,
            fate => fate,
        }
    }

    /// Gives the decided block to a validator.
    fn apply(
        &mut self,
        number: usize,
        block: &Decided,
        fate: Fate,
    ) -> Option<hearth_abci::pb::ResponseFinalizeBlock> {
        let validator = &mut self.validators[number];
        let index = validator.store.len();
        validator.store.push(block.clone());
        match fate {
            Fate::DiesBeforeFinalize => self.die(number),
            Fate::LosesCometBftBeforeFinalize => validator.reconnect(),
            Fate::LosesItsLastBlocks => {
                let (_, _, aside) = self.kept.take().expect("kept");
                // CometBFT has what it has; it gives the lost blocks again.
                validator.state = 0;
                validator.revive(aside);
            }
            _ => {
                let answer = validator.finalize(block).expect("executes");
                validator.told(index, &answer.app_hash);
                self.commit(number, block, &answer, fate);
                return Some(answer);
            }
        }
        None
    }

    fn commit(
        &mut self,
        number: usize,
        block: &Decided,
        answer: &hearth_abci::pb::ResponseFinalizeBlock,
        fate: Fate,
    ) {
        let validator = &mut self.validators[number];
        match fate {
            Fate::DiesBeforeCommit => return self.die(number),
            Fate::LosesCometBftBeforeCommit => return validator.reconnect(),
            Fate::DiesInCommitBeforeTheRecord => {
                // The tables have the block, the log has not: they are written first.
                let dead = killed::temp_dir();
                killed::copy(validator.home(), dead.path(), &["config", "data"]);
                validator.commit().expect("commits");
                std::fs::remove_dir_all(dead.path().join("data/ledger")).expect("removes");
                killed::copy(validator.home(), dead.path(), &["data/ledger"]);
                return validator.revive(dead);
            }
            Fate::AnswersTwice => {
                let again = validator.finalize(block).expect("executes");
                assert_eq!(again, *answer, "the answer to a second request is the same");
            }
            _ => {}
        }
        validator.commit().expect("commits");
        match fate {
            Fate::DiesAfterCommit => self.die(number),
            Fate::StopsAfterCommit => validator.restart(),
            Fate::LosesCometBftAfterCommit => validator.reconnect(),
            _ => {}
        }
        if fate != Fate::Lives && self.kept.is_none() {
            self.keep(number);
        }
    }

    fn height(&mut self) {
        self.send();
        let block = self.decide();
        let index = self.validators[0].store.len();
        let mut answers = Vec::new();
        for number in 0..VALIDATORS {
            let fate = self.fate(number, index);
            answers.extend(self.apply(number, &block, fate));
            let validator = &mut self.validators[number];
            validator.state = index + 1;
            let head = validator.node.chain().expect("open").head();
            assert_eq!(head.hash.as_slice(), validator.app_hashes[index], "the app hash is the block's");
            if let Some((_, name)) = FATES.iter().find(|(other, _)| *other == fate) {
                self.saw(name);
            }
        }
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
        let hashes: Vec<_> = self.validators.iter().map(|validator| &validator.app_hashes[index]).collect();
        assert!(hashes.windows(2).all(|pair| pair[0] == pair[1]), "height {}", index + 1);
        if index.is_multiple_of(ASK_EVERY) {
            self.ask(&block);
        }
        self.count();
    }

    /// What the block must have, by JSON-RPC of one of the nodes.
    fn ask(&mut self, block: &Decided) {
        let tag = json!({ "block": format!("{:#x}", block.height), "full": false });
        let told = self.validators[self.random.below(VALIDATORS)].ask("getBlockByNumber", &tag);
        assert_eq!(told["extraData"], json!(block.hash()));
        let before =
            usize::try_from(block.height - 2).ok().map(|index| self.validators[0].store[index].hash());
        assert_eq!(told["parentBeaconBlockRoot"], json!(before.unwrap_or(B256::ZERO)));
        assert_eq!(told["timestamp"], json!(format!("{:#x}", block.time.seconds)));
        assert_eq!(told["miner"], json!(Address::from_slice(&block.proposer)));
        assert_eq!(told["gasLimit"], json!("0x1c9c380"));
        let args = json!({ "address": sink(0), "block": "latest" });
        let balance = self.validators[self.random.below(VALIDATORS)].ask("getBalance", &args);
        let balance = u64::from_str_radix(&balance.as_str().expect("hex")[2..], 16).expect("hex");
        assert!(balance >= self.included[0], "no transfer is lost");
    }

    /// What the block must have done, by the balances of the sinks.
    fn count(&mut self) {
        let node = &self.validators[self.random.below(VALIDATORS)].node;
        let state = node.chain().expect("open").kv().latest().expect("a state");
        for sender in 0..SENDERS {
            let account = state.account(&sink(sender)).expect("reads").unwrap_or_default();
            let balance = u64::try_from(account.balance).expect("fits");
            assert!(balance >= self.included[sender], "no transfer is lost");
            self.included[sender] = balance;
            self.sent[sender] = self.sent[sender].max(balance);
        }
    }
}

/// Runs a network of its own for so many heights.
fn run(genesis: &str, seed: u64, heights: usize) -> BTreeMap<&'static str, usize> {
    let mut network = Network::new(genesis, seed);
    let began = Instant::now();
    for height in 1..=heights {
        network.height();
        if height.is_multiple_of(5_000) {
            println!("seed {seed:#x}: {height} heights after {:.0} s", began.elapsed().as_secs_f64());
        }
    }
    let included: u64 = network.included.iter().sum();
    assert!(included > heights as u64 / 2, "{included} transfers");
    for validator in &network.validators {
        let status = validator.ask("consensusStatus", &Value::Null);
        assert_eq!((&status["connections"], &status["failure"]), (&json!(4), &Value::Null));
        assert_eq!(status["height"], json!(format!("{heights:#x}")));
    }
    let report = network.validators[0].node.chain().expect("open").kv().verify(&mut |_| true);
    assert!(report.expect("verifies").is_sound());
    network.saw("networks");
    network.seen.insert("transfers", usize::try_from(included).expect("fits"));
    network.seen
}

#[test]
fn all_validators_give_the_same_blocks_whatever_happens() {
    let asked = std::env::var("HEARTH_CONSENSUS_HEIGHTS").ok().and_then(|text| text.parse().ok());
    let heights = asked.unwrap_or(HEIGHTS);
    let began = Instant::now();
    // One network with each commitment to the state.
    let networks = [(genesis(), 0x5eed_cafe), (lthash_genesis(), 0x5eed_f00d)];
    let mut seen: BTreeMap<&'static str, usize> = BTreeMap::new();
    std::thread::scope(|scope| {
        let part = heights / networks.len();
        let running: Vec<_> =
            networks.iter().map(|(genesis, seed)| scope.spawn(move || run(genesis, *seed, part))).collect();
        for network in running {
            for (name, times) in network.join().expect("no exception, equal hashes") {
                *seen.entry(name).or_default() += times;
            }
        }
    });
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{heights} heights of {VALIDATORS} validators in {seconds:.0} s, {:.0} a second: {seen:?}",
        heights as f64 / seconds
    );
    for what in ["rejected", "decided against the rules", "rounds without a decision"] {
        assert!(seen.get(what).is_some_and(|times| *times > 2), "{what}: {seen:?}");
    }
    let deaths: usize = FATES.iter().filter_map(|(_, name)| seen.get(name)).sum();
    assert!(deaths > heights / DEATHS_ONE_IN, "{seen:?}");
    // In a long run each of them happens.
    if heights >= 20_000 {
        for (_, name) in FATES {
            assert!(seen.get(name).is_some_and(|times| *times > 0), "{name}: {seen:?}");
        }
    }
}
