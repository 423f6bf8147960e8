//! Searches by account on a generated development chain: pages against a look at every call of
//! every transaction, also while blocks are replaced.

use crate::support::{GENESIS_TIME, ask, config, trace};
use alloy_primitives::{Address, address};
use hearth_node::{Mode, Node, NodeError, dev_accounts};
use serde_json::{Value, json};
use std::num::NonZeroU64;
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

/// Blocks before the reorganisations: two pages of the index and a good part of a third.
const BLOCKS: u64 = 700;
/// Reorganisations.
const REORGS: u64 = 1_000;
/// Blocks that a search may trace where no test is about that.
const MANY: u64 = 1_000_000;

/// Calls the account in its first word of call data with the value that it got.
const ROUTER: Address = address!("00000000000000000000000000000000000c0001");
/// The same, then reverts.
const REVERTER: Address = address!("00000000000000000000000000000000000c0002");
/// Runs the code of that account.
const DELEGATE: Address = address!("00000000000000000000000000000000000c0003");
/// Creates an account without code.
const MAKER: Address = address!("00000000000000000000000000000000000c0004");
/// Calls that account with more than it has.
const POOR: Address = address!("00000000000000000000000000000000000c0005");

/// The contracts with their code.
const CONTRACTS: [(Address, &str); 5] = [
    // CALL(gas, word, callvalue, 0, 0, 0, 0) POP STOP
    (ROUTER, "0x6000600060006000346000355af15000"),
    // ... POP REVERT(0, 0)
    (REVERTER, "0x6000600060006000346000355af15060006000fd"),
    // DELEGATECALL(gas, word, 0, 0, 0, 0) POP STOP
    (DELEGATE, "0x60006000600060006000355af45000"),
    // CREATE(0, 0, 0) POP STOP
    (MAKER, "0x600060006000f05000"),
    // CALL(gas, word, 2^72 - 1, 0, 0, 0, 0) POP STOP
    (POOR, "0x600060006000600068ffffffffffffffffff6000355af15000"),
];

/// Numbers without a pattern.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut n = self.0;
        n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (n ^ (n >> 31)) % end
    }
}

struct Chain {
    node: Arc<Node>,
    _home: tempfile::TempDir,
    /// Hashes from height 0 on.
    hashes: Vec<String>,
    /// By block: each transaction's hash and the accounts that a call of it is from or to.
    known: HashMap<String, Vec<Transaction>>,
    numbers: Numbers,
}

#[derive(Clone, Debug)]
struct Transaction {
    hash: String,
    from: String,
    nonce: String,
    accounts: BTreeSet<String>,
    /// Contracts that it created, each with its creator.
    created: Vec<(String, String)>,
}

fn hex(n: u64) -> String {
    format!("{n:#x}")
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

impl Chain {
    fn new(index: bool, window: u64) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let mut config = config(home.path(), Mode::Dev);
        config.littable.address_index = index;
        config.littable.address_index_window_blocks = NonZeroU64::new(window);
        let node = Node::open(config).expect("opens");
        let (hashes, known, numbers) = (Vec::new(), HashMap::new(), Numbers(GENESIS_TIME));
        let mut chain = Self { node, _home: home, hashes, known, numbers };
        chain.ask("setAutomine", json!({ "enabled": false }));
        for (contract, code) in CONTRACTS {
            chain.ask("setCode", json!({ "address": contract, "code": code }));
        }
        chain.read();
        chain
    }

    fn try_ask(&self, op: &str, args: Value) -> Result<Value, NodeError> {
        ask(&self.node, op, args)
    }

    fn ask(&self, op: &str, args: Value) -> Value {
        self.try_ask(op, args).unwrap_or_else(|error| panic!("{op}: {error}"))
    }

    fn head(&self) -> u64 {
        self.hashes.len() as u64 - 1
    }

    /// Accounts to send to and to search for.
    fn accounts(&self) -> Vec<Address> {
        let dev = dev_accounts().into_iter().take(3).map(|account| account.address);
        let plain = (0xa0..0xa6).map(Address::repeat_byte);
        let precompiled = [Address::with_last_byte(4)];
        dev.chain(plain).chain(precompiled).chain(CONTRACTS.map(|(contract, _)| contract)).collect()
    }

    /// A transaction of some kind between some accounts.
    fn transaction(&mut self) -> Value {
        let accounts = self.accounts();
        let from = accounts[self.numbers.below(3) as usize];
        let target = accounts[self.numbers.below(10) as usize];
        let word = format!("0x{:0>64}", alloy_primitives::hex::encode(target));
        let (to, input, gas) = match self.numbers.below(9) {
            0..=2 => (Some(target), "0x".to_owned(), 21_000),
            3 => (Some(ROUTER), word, 200_000),
            4 => (Some(REVERTER), word, 200_000),
            5 => (Some(DELEGATE), word, 200_000),
            6 => (Some(MAKER), "0x".to_owned(), 200_000),
            7 => (Some(POOR), word, 200_000),
            // CALLER SELFDESTRUCT, in init code
            _ => (None, "0x33ff".to_owned(), 200_000),
        };
        let fee = hex(1_000_000_000_000);
        json!({ "from": from, "to": to, "input": input, "value": "0x1", "gas": hex(gas),
            "maxFeePerGas": fee, "maxPriorityFeePerGas": "0x1" })
    }

    /// Replaces the last blocks by as many others with some transactions.
    fn reorganise(&mut self, depth: u64, transactions: u64) {
        // Nonces follow the order of the list, so the blocks of the list ascend.
        let mut blocks: Vec<u64> = (0..transactions).map(|_| self.numbers.below(depth)).collect();
        blocks.sort_unstable();
        let list: Vec<Value> = blocks
            .into_iter()
            .map(|block| json!({ "transaction": self.transaction(), "block": hex(block) }))
            .collect();
        self.ask("reorg", json!({ "depth": hex(depth), "transactions": list }));
        self.hashes.truncate(self.hashes.len() - depth as usize);
        self.read();
    }

    fn mine(&mut self, count: u64) {
        self.ask("mine", json!({ "count": hex(count), "interval": null, "first": false, "timestamp": null }));
        self.read();
    }

    /// Reads the blocks that are new.
    fn read(&mut self) {
        loop {
            let number = hex(self.hashes.len() as u64);
            let block = self.ask("getBlockByNumber", json!({ "block": number, "full": true }));
            if block.is_null() {
                return;
            }
            let hash = text(&block["hash"]);
            let mut transactions = Vec::new();
            let list = block["transactions"].as_array().expect("a list");
            if !list.is_empty() {
                let args = json!({ "hash": hash, "config": { "tracer": "callTracer" } });
                let traces = trace(&self.node, "traceBlockByHash", args).expect("traces");
                for (tx, traced) in list.iter().zip(traces.as_array().expect("a list")) {
                    let (mut accounts, mut created) = (BTreeSet::new(), Vec::new());
                    collect(&traced["result"], true, &mut accounts, &mut created);
                    let (hash, from, nonce) = (text(&tx["hash"]), text(&tx["from"]), text(&tx["nonce"]));
                    transactions.push(Transaction { hash, from, nonce, accounts, created });
                }
            }
            self.known.insert(hash.clone(), transactions);
            self.hashes.push(hash);
        }
    }

    /// Transactions from the oldest on, each with its height.
    fn transactions(&self) -> impl DoubleEndedIterator<Item = (u64, &Transaction)> {
        let heights = (0..).zip(&self.hashes);
        let known = heights.map(|(height, hash)| (height, self.known[hash].as_slice()));
        let all: Vec<_> = known.flat_map(|(height, list)| list.iter().map(move |tx| (height, tx))).collect();
        all.into_iter()
    }

    /// Hashes of the transactions of an account from the newest on.
    fn expected(&self, account: &str) -> Vec<String> {
        let own = self.transactions().rev().filter(|(_, tx)| tx.accounts.contains(account));
        own.map(|(_, tx)| tx.hash.clone()).collect()
    }

    fn page(
        &self,
        account: &str,
        block: u64,
        size: usize,
        before: bool,
        most: u64,
    ) -> Result<Value, NodeError> {
        let args = json!({ "address": account, "block": hex(block), "pageSize": size, "before": before,
            "maxBlocks": most });
        self.try_ask("accountTransactions", args)
    }

    /// All pages of an account from one end on: the hashes, newest first.
    fn tiled(&self, account: &str, size: usize, before: bool, most: u64) -> Vec<String> {
        let (mut block, mut all) = (0, Vec::new());
        let (begin, end) = if before { ("firstPage", "lastPage") } else { ("lastPage", "firstPage") };
        loop {
            let page = self.page(account, block, size, before, most).expect("a page");
            let txs = page["txs"].as_array().expect("a list");
            assert_eq!(page[begin], json!(block == 0), "{account} {block}");
            for (tx, receipt) in txs.iter().zip(page["receipts"].as_array().expect("a list")) {
                assert_eq!(tx["hash"], receipt["transactionHash"]);
                assert!(receipt["timestamp"].as_u64().expect("a number") >= GENESIS_TIME);
            }
            let hashes: Vec<_> = txs.iter().map(|tx| text(&tx["hash"])).collect();
            let height =
                |tx: &Value| u64::from_str_radix(&text(&tx["blockNumber"])[2..], 16).expect("a number");
            let next = if before { txs.last().map(height) } else { txs.first().map(height) };
            match before {
                true => all.extend(hashes),
                false => all = hashes.into_iter().chain(all).collect(),
            }
            if page[end] == json!(true) {
                return all;
            }
            assert!(most < MANY || txs.len() >= size, "a page before the last is full");
            block = next.expect("a page that is not the last has transactions");
        }
    }
}

/// Accounts of a frame and those below it; contracts whose creation stayed.
fn collect(frame: &Value, stays: bool, accounts: &mut BTreeSet<String>, created: &mut Vec<(String, String)>) {
    let is_creation = text(&frame["type"]).starts_with("CREATE");
    let failed = frame.get("error").is_some();
    accounts.insert(text(&frame["from"]));
    if let Some(to) = frame["to"].as_str()
        && !(is_creation && failed)
    {
        accounts.insert(to.to_owned());
        if is_creation && stays && !failed {
            created.push((to.to_owned(), text(&frame["from"])));
        }
    }
    for call in frame["calls"].as_array().into_iter().flatten() {
        collect(call, stays && !failed, accounts, created);
    }
}

/// A chain with pages that are merged, blocks with and without transactions.
fn generated() -> Chain {
    let mut chain = Chain::new(true, 0);
    chain.mine(BLOCKS);
    for depth in [BLOCKS - 2, 600, 420, 300, 150, 80, 20] {
        chain.reorganise(depth, 60);
        chain.mine(3);
    }
    chain
}

#[test]
fn pages_tile_the_list_of_an_account_across_reorganisations() {
    let mut chain = generated();
    let accounts: Vec<String> = chain.accounts().iter().map(|account| format!("{account:#x}")).collect();
    for account in &accounts {
        let expected = chain.expected(account);
        for size in [1, 7, 1_000] {
            assert_eq!(chain.tiled(account, size, true, MANY), expected, "{account} by {size}, down");
            assert_eq!(chain.tiled(account, size, false, MANY), expected, "{account} by {size}, up");
        }
    }
    assert!(accounts.iter().all(|account| !chain.expected(account).is_empty()), "every account has some");
    for n in 0..REORGS {
        let depth = if n % 100 == 50 { 90 } else { 1 + chain.numbers.below(3) };
        let transactions = chain.numbers.below(4);
        chain.reorganise(depth, transactions);
        if n % 10 == 0 {
            chain.mine(1);
        }
        let account = &accounts[chain.numbers.below(accounts.len() as u64) as usize];
        let expected = chain.expected(account);
        let size = (1 + chain.numbers.below(5) as usize).max(expected.len() / 4);
        assert_eq!(chain.tiled(account, size, true, MANY), expected, "{account} by {size}, down, after {n}");
        assert_eq!(chain.tiled(account, size, false, MANY), expected, "{account} by {size}, up, after {n}");
    }
    let (address, none) = (format!("{:#x}", Address::repeat_byte(0x77)), json!([]));
    let page = chain.page(&address, 0, 5, true, MANY).expect("a page");
    assert_eq!(page, json!({ "txs": none, "receipts": none, "firstPage": true, "lastPage": true }));
    chain.node.close().expect("closes");
}

#[test]
fn creators_and_senders_are_found_without_history() {
    let chain = generated();
    let mut firsts: HashMap<String, Value> = HashMap::new();
    for (height, tx) in chain.transactions() {
        let args = json!({ "address": tx.from, "nonce": tx.nonce, "maxBlocks": MANY });
        assert_eq!(chain.ask("senderTransaction", args), json!(tx.hash));
        for (contract, creator) in &tx.created {
            let answer = json!({ "hash": tx.hash, "creator": creator });
            let args = json!({ "address": contract, "block": hex(height), "maxBlocks": MANY });
            assert_eq!(chain.ask("contractCreation", args), answer);
            firsts.entry(contract.clone()).or_insert(answer);
        }
    }
    assert!(firsts.len() > 20, "{} contracts", firsts.len());
    for (contract, answer) in firsts {
        assert_eq!(chain.ask("contractCreation", json!({ "address": contract, "maxBlocks": MANY })), answer);
    }
    let from = format!("{:#x}", dev_accounts()[0].address);
    let args = json!({ "address": from, "nonce": "0xffff", "maxBlocks": MANY });
    assert_eq!(chain.ask("senderTransaction", args), Value::Null);
    let args = json!({ "address": Address::repeat_byte(0x77), "maxBlocks": MANY });
    assert_eq!(chain.ask("contractCreation", args), Value::Null);
    chain.node.close().expect("closes");
}

#[test]
fn a_search_traces_no_more_blocks_than_it_may() {
    let chain = generated();
    let account = format!("{:#x}", Address::repeat_byte(0xa0));
    let expected = chain.expected(&account);
    // Pages are cut where the limit is reached, and still tile the list.
    assert!(expected.len() > 10);
    assert_eq!(chain.tiled(&account, 1_000, true, 500), expected);
    assert_eq!(chain.tiled(&account, 1_000, false, 500), expected);
    // No transaction is from or to the fee recipient, which every block accesses.
    let coinbase = text(&chain.ask("getBlockByNumber", json!({ "block": "latest", "full": false }))["miner"]);
    match chain.page(&coinbase, 0, 5, true, 2) {
        Err(NodeError::LimitExceeded { message }) => {
            assert!(message.contains("ots_searchTransactionsBefore of block "), "{message}");
        }
        other => panic!("{other:?}"),
    }
    chain.node.close().expect("closes");
}

fn filter(chain: &Chain, more: Value) -> Result<Value, NodeError> {
    let mut args = json!({ "fromBlock": "0x1", "toBlock": "latest", "maxBlocks": 50,
        "config": { "tracer": "parityTracer" } });
    for (key, value) in more.as_object().expect("an object") {
        args[key] = value.clone();
    }
    trace(&chain.node, "traceFilter", args)
}

#[test]
fn a_filter_over_a_long_range_traces_only_what_may_match() {
    let mut chain = Chain::new(true, 0);
    let rare = Address::repeat_byte(0xbb);
    let mut hashes = Vec::new();
    for _ in 0..3 {
        chain.mine(3_300);
        let from = dev_accounts()[0].address;
        let tx = json!({ "from": from, "to": rare, "value": "0x5", "gas": "0x5208", "input": "0x",
            "maxFeePerGas": hex(1_000_000_000_000), "maxPriorityFeePerGas": "0x1" });
        chain
            .ask("reorg", json!({ "depth": "0x1", "transactions": [{ "transaction": tx, "block": "0x0" }] }));
        chain.hashes.pop();
        chain.read();
        hashes.push(chain.known[chain.hashes.last().expect("a block")][0].hash.clone());
    }
    assert_eq!(chain.head(), 9_900);
    let found = filter(&chain, json!({ "toAddress": [rare] })).expect("three blocks");
    let found: Vec<_> =
        found.as_array().expect("a list").iter().map(|t| text(&t["transactionHash"])).collect();
    assert_eq!(found, hashes);
    let union = json!({ "toAddress": [rare], "fromAddress": [rare], "union": true });
    assert_eq!(filter(&chain, union).expect("three blocks").as_array().map(Vec::len), Some(3));
    let both = json!({ "toAddress": [rare], "fromAddress": [rare] });
    assert_eq!(filter(&chain, both).expect("none"), json!([]));
    // Without an address every block counts, and two blocks are too many where one may be traced.
    let refused = |more: Value| match filter(&chain, more) {
        Err(NodeError::LimitExceeded { message }) => message,
        other => panic!("{other:?}"),
    };
    assert!(refused(json!({})).contains("request 0x1 to 0x32 first"));
    let few = refused(json!({ "toAddress": [rare], "maxBlocks": 1 }));
    assert!(few.contains(&format!("request 0x1 to {} first", hex(6_600 - 1))), "{few}");
    let results = refused(json!({ "toAddress": [rare], "maxResults": 2 }));
    assert!(results.contains(&format!("block range 0x1 to {}", hex(9_900 - 1))), "{results}");
    chain.node.close().expect("closes");
}

#[test]
fn without_the_index_searches_say_so() {
    let mut chain = Chain::new(false, 0);
    chain.mine(60);
    let account = format!("{:#x}", Address::repeat_byte(0xa0));
    for error in [
        chain.page(&account, 0, 5, true, MANY).expect_err("no index"),
        chain
            .try_ask("contractCreation", json!({ "address": account, "maxBlocks": 5 }))
            .expect_err("no index"),
    ] {
        assert!(
            matches!(&error, NodeError::Unsupported { message } if message.contains("evm.address_index")),
            "{error}"
        );
    }
    let error = filter(&chain, json!({ "toAddress": [account] })).expect_err("60 blocks");
    assert!(error.to_string().contains("evm.address_index"), "{error}");
    assert_eq!(
        filter(&chain, json!({ "toAddress": [account], "fromBlock": "0x20" })).expect("29 blocks"),
        json!([])
    );
    chain.node.close().expect("closes");
}

#[test]
fn below_the_window_nothing_is_said_to_be_empty() {
    let mut chain = Chain::new(true, 300);
    chain.mine(1_000);
    chain.reorganise(900, 300);
    chain.mine(40);
    let account = format!("{:#x}", Address::repeat_byte(0xa0));
    // The floor rises in the background.
    let until = Instant::now() + Duration::from_secs(60);
    while chain.page(&account, 0, 5, false, MANY).is_ok() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
        chain.mine(32);
    }
    let error = chain.page(&account, 0, 5, false, MANY).expect_err("the first blocks are gone");
    let NodeError::Pruned { floor, .. } = error else { panic!("{error}") };
    assert!(floor > 0 && floor % 256 == 0);
    let listed =
        chain.transactions().rev().filter(|(height, tx)| *height >= floor && tx.accounts.contains(&account));
    let listed: Vec<_> = listed.map(|(_, tx)| tx.hash.clone()).collect();
    assert!(!listed.is_empty());
    let page = chain.page(&account, 0, 1_000, true, MANY).expect("a page");
    let found: Vec<_> = page["txs"].as_array().expect("a list").iter().map(|tx| text(&tx["hash"])).collect();
    assert_eq!((found, &page["lastPage"]), (listed, &json!(false)));
    assert!(matches!(chain.page(&account, floor, 5, true, MANY), Err(NodeError::Pruned { .. })));
    let low = filter(&chain, json!({ "toAddress": [account] })).expect_err("beyond 50 blocks");
    assert!(low.to_string().contains(&format!("the address index begins at block {}", hex(floor))), "{low}");
    assert!(matches!(chain.page(&account, 99_999, 5, true, MANY), Err(NodeError::InvalidParams { .. })));
    chain.node.close().expect("closes");
}
