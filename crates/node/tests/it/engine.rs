//! The Engine API against a model: random trees of payloads, some of them invalid, in any order
//! with fork choices between.

use crate::{
    dev_chain::sign,
    support::{ask, config},
};
use alloy_consensus::{TxEip1559, TxEip4844};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, TxKind, U256, hex};
use hearth_chain::{AllOf, BlockAttributes, Chain, ChainOptions};
use hearth_flatkv::Fsync;
use hearth_node::{Mode, Node, NodeError, dev_accounts};
use hearth_primitives::{Block, RootTracker as _, Transaction};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, HashSet},
    num::NonZeroU64,
    sync::Arc,
    time::Duration,
};

const CHAIN_ID: u64 = 31_337;
const GENESIS_TIME: u64 = 1_700_000_000;

/// Adds one to its slot 0 and logs nothing.
const COUNTER: Address = Address::with_last_byte(0xc0);
const COUNTER_CODE: [u8; 10] = hex!("60005460010160005500");
/// Logs without data.
const LOGGER: Address = Address::with_last_byte(0x10);
const LOGGER_CODE: [u8; 6] = hex!("60006000a000");

/// Payloads of a tree.
const PAYLOADS: usize = 30;
/// Requests that a tree is driven with.
const STEPS: usize = 110;

/// Numbers that look random and are the same in every run (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).expect("fits")
    }
}

fn genesis() -> String {
    let zero = [
        "homesteadBlock",
        "eip150Block",
        "eip155Block",
        "eip158Block",
        "byzantiumBlock",
        "constantinopleBlock",
        "petersburgBlock",
        "istanbulBlock",
        "berlinBlock",
        "londonBlock",
        "shanghaiTime",
        "cancunTime",
    ];
    let mut settings = json!({ "chainId": CHAIN_ID, "terminalTotalDifficulty": 0 });
    for name in zero {
        settings[name] = json!(0);
    }
    let mut alloc = json!({
        COUNTER.to_string(): { "balance": "0x0", "code": Bytes::from(COUNTER_CODE) },
        LOGGER.to_string(): { "balance": "0x0", "code": Bytes::from(LOGGER_CODE) },
    });
    alloc[dev_accounts()[0].address.to_string()] = json!({ "balance": "0xd3c21bcecceda1000000" });
    json!({
        "config": settings, "timestamp": format!("{GENESIS_TIME:#x}"), "gasLimit": "0x1c9c380", "difficulty": "0x0",
        "baseFeePerGas": "0x7", "alloc": alloc,
    })
    .to_string()
}

/// A block of the tree, and what the model knows of it.
struct TreeNode {
    block: Block,
    parent: B256,
    valid: bool,
    counted: u64,
    logged: u64,
    sent: u64,
}

/// A tree of blocks, made on a home of its own.
struct Tree {
    genesis: B256,
    blocks: HashMap<B256, TreeNode>,
    hashes: Vec<B256>,
}

impl Tree {
    fn new(random: &mut Random) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let options = ChainOptions { fsync: Fsync::Never, ..ChainOptions::default() };
        let chain = Chain::create(home.path(), &genesis(), &options).expect("a chain");
        let genesis = chain.head().hash;
        let mut tree = Self { genesis, blocks: HashMap::new(), hashes: Vec::new() };
        while tree.hashes.len() < PAYLOADS {
            // Most blocks follow a late one, so that branches become long.
            let at = random.below(tree.hashes.len() + 1).max(random.below(tree.hashes.len() + 1));
            let parent = at.checked_sub(1).map_or(genesis, |at| tree.hashes[at]);
            let node = match tree.blocks.get(&parent) {
                Some(above) if !above.valid => child_of_invalid(above, tree.hashes.len()),
                _ => tree.grow(&chain, parent, random),
            };
            let hash = node.block.header.hash_slow();
            tree.hashes.push(hash);
            tree.blocks.insert(hash, node);
        }
        chain.close().expect("closes");
        tree
    }

    fn grow(&self, chain: &Chain, parent: B256, random: &mut Random) -> TreeNode {
        let (counted, logged, sent) =
            self.blocks.get(&parent).map_or((0, 0, 0), |above| (above.counted, above.logged, above.sent));
        let (counts, logs) = (random.below(3) as u64, random.below(2) as u64);
        let calls = (0..counts).map(|_| COUNTER).chain((0..logs).map(|_| LOGGER));
        let transactions: Vec<(Transaction, Address)> =
            calls.zip(sent..).map(|(to, nonce)| (call(to, nonce), dev_accounts()[0].address)).collect();
        let mut block = next_block(chain, parent, self.hashes.len() as u8, &transactions);
        let valid = random.below(6) != 0;
        if valid {
            chain.insert_block(block.clone()).expect("is valid");
        } else {
            block.header.state_root.0[0] ^= 1;
        }
        let sent = sent + transactions.len() as u64;
        TreeNode { block, parent, valid, counted: counted + counts, logged: logged + logs, sent }
    }

    /// The hashes from a block to the first one after the genesis.
    fn path(&self, hash: B256) -> impl Iterator<Item = B256> + '_ {
        std::iter::successors(Some(hash), |at| self.blocks.get(at).map(|node| node.parent))
            .take_while(|at| *at != self.genesis)
    }

    /// The newest valid block at or below a hash.
    fn latest_valid(&self, hash: B256) -> B256 {
        // A block on an invalid one is invalid whatever it says.
        let path: Vec<B256> = self.path(hash).collect();
        let invalid = path.iter().rposition(|at| !self.blocks[at].valid);
        match invalid {
            None => hash,
            Some(at) => path.get(at + 1).copied().unwrap_or(self.genesis),
        }
    }
}

/// Makes the parent the head, and a valid block after that. `mark` makes siblings differ.
pub fn next_block(chain: &Chain, parent: B256, mark: u8, transactions: &[(Transaction, Address)]) -> Block {
    chain.set_head(&parent).expect("a valid parent");
    let above = chain.head_block().expect("reads").expect("is there").block.header.clone();
    let attributes = BlockAttributes {
        timestamp: above.timestamp + 12,
        prev_randao: B256::with_last_byte(mark),
        gas_limit: above.gas_limit,
        ..BlockAttributes::default()
    };
    let header = chain.header_after(&above, &attributes);
    let state = chain.state_at(above.number).expect("a state");
    let draft = chain.draft(header, &[], &state, &mut AllOf::new(transactions)).expect("executes");
    let draft = draft.expect("every transaction can be in the block");
    let mut trie = chain.roots_after(above.number).expect("a trie");
    trie.apply(&draft.output.changes).expect("applies");
    draft.complete(trie.root().expect("a root"))
}

fn child_of_invalid(above: &TreeNode, number: usize) -> TreeNode {
    let mut block = above.block.clone();
    let header = &mut block.header;
    header.parent_hash = above.block.header.hash_slow();
    header.number += 1;
    header.timestamp += 12;
    header.mix_hash = B256::with_last_byte(number as u8);
    let parent = header.parent_hash;
    TreeNode { block, parent, valid: false, counted: 0, logged: 0, sent: 0 }
}

fn call(to: Address, nonce: u64) -> Transaction {
    let transaction = TxEip1559 {
        chain_id: CHAIN_ID,
        nonce,
        gas_limit: 100_000,
        max_fee_per_gas: 3_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        to: TxKind::Call(to),
        ..TxEip1559::default()
    };
    Transaction::Eip1559(sign(transaction, 0))
}

/// The block as a consensus client sends it.
fn payload(block: &Block) -> Value {
    let header = &block.header;
    let number = |value: u64| format!("{value:#x}");
    let transactions: Vec<Bytes> =
        block.body.transactions.iter().map(|tx| tx.encoded_2718().into()).collect();
    json!({
        "parentHash": header.parent_hash, "feeRecipient": header.beneficiary, "stateRoot": header.state_root,
        "receiptsRoot": header.receipts_root, "logsBloom": header.logs_bloom, "prevRandao": header.mix_hash,
        "blockNumber": number(header.number), "gasLimit": number(header.gas_limit),
        "gasUsed": number(header.gas_used), "timestamp": number(header.timestamp), "extraData": header.extra_data,
        "baseFeePerGas": number(header.base_fee_per_gas.expect("London")), "blockHash": header.hash_slow(),
        "transactions": transactions, "withdrawals": [], "blobGasUsed": "0x0", "excessBlobGas": "0x0",
    })
}

/// Gives a block to a node; the answer.
fn give(node: &Arc<Node>, block: &Block) -> Value {
    let args = json!({
        "version": 3, "payload": payload(block), "versionedHashes": [], "parentBeaconBlockRoot": B256::ZERO,
    });
    ask(node, "engineNewPayload", args).expect("answers")
}

/// A fork choice of a head alone, without attributes.
fn choose(node: &Arc<Node>, head: B256) -> Result<Value, NodeError> {
    let zero = B256::ZERO;
    let state = json!({ "headBlockHash": head, "safeBlockHash": zero, "finalizedBlockHash": zero });
    ask(node, "engineForkchoiceUpdated", json!({ "version": 3, "state": state }))
}

/// Chooses a head that is valid.
fn choose_valid(node: &Arc<Node>, head: B256) {
    let answer = choose(node, head).expect("answers");
    assert_eq!(answer["payloadStatus"]["status"], "VALID");
}

/// The node that is driven, and what the model expects of it.
struct Driven<'a> {
    node: &'a Arc<Node>,
    tree: &'a Tree,
    given: HashSet<B256>,
    head: B256,
}

impl Driven<'_> {
    /// Whether every ancestor was given.
    fn is_connected(&self, hash: B256) -> bool {
        self.tree.path(hash).all(|at| self.given.contains(&at))
    }

    fn expected(&self, hash: B256) -> Value {
        if !self.is_connected(hash) {
            return json!({ "status": "SYNCING", "latestValidHash": null });
        }
        let latest = self.tree.latest_valid(hash);
        let status = if latest == hash { "VALID" } else { "INVALID" };
        json!({ "status": status, "latestValidHash": latest })
    }

    fn give(&mut self, hash: B256) {
        self.given.insert(hash);
        let status = give(self.node, &self.tree.blocks[&hash].block);
        let said = json!({ "status": status["status"], "latestValidHash": status["latestValidHash"] });
        assert_eq!(said, self.expected(hash), "payload {hash}: {status}");
    }

    fn choose(&mut self, hash: B256, random: &mut Random) {
        let path: Vec<B256> = self.tree.path(hash).collect();
        let zero_or = |at: usize| path.get(at).copied().unwrap_or_default();
        let (safe, finalized) = (zero_or(random.below(6)), zero_or(random.below(12)));
        let state = json!({ "headBlockHash": hash, "safeBlockHash": safe, "finalizedBlockHash": finalized });
        let args = json!({ "version": 3, "state": state });
        let answer = ask(self.node, "engineForkchoiceUpdated", args).expect("answers");
        let status = &answer["payloadStatus"];
        let said = json!({ "status": status["status"], "latestValidHash": status["latestValidHash"] });
        assert_eq!(said, self.expected(hash), "fork choice {hash}: {answer}");
        let is_ancestor = self.tree.path(self.head).any(|at| at == hash);
        if status["status"] == "VALID" && !is_ancestor {
            self.head = hash;
            for (tag, named) in [("safe", safe), ("finalized", finalized)] {
                if !named.is_zero() {
                    let block = ask(self.node, "getBlockByNumber", json!({ "block": tag })).expect("answers");
                    assert_eq!(block["hash"], json!(named), "{tag}");
                }
            }
        }
    }

    /// Everything that a client can see is what an import of the path from the genesis gives.
    fn check(&self) {
        let chain = self.node.chain().expect("open");
        let head = chain.head();
        assert_eq!(head.hash, self.head);
        let Some(top) = self.tree.blocks.get(&self.head) else { return };
        assert_eq!(head.commitment, top.block.header.state_root);
        let slot =
            ask(self.node, "getStorageAt", json!({ "address": COUNTER, "slot": "0x0" })).expect("answers");
        assert_eq!(slot, json!(B256::from(U256::from(top.counted))));
        let address = dev_accounts()[0].address;
        let nonce = ask(self.node, "getTransactionCount", json!({ "address": address })).expect("answers");
        assert_eq!(nonce, json!(format!("{:#x}", top.sent)));
        let filter = json!({ "filter": { "fromBlock": "0x0", "toBlock": "latest", "address": LOGGER } });
        let logs = ask(self.node, "getLogs", filter).expect("answers");
        assert_eq!(logs.as_array().map(Vec::len), usize::try_from(top.logged).ok());
        for at in self.tree.path(self.head) {
            let block = &self.tree.blocks[&at].block;
            let number = format!("{:#x}", block.header.number);
            let found = ask(self.node, "getBlockByNumber", json!({ "block": number })).expect("answers");
            assert_eq!(found["hash"], json!(at));
            for transaction in &block.body.transactions {
                let hash = transaction.tx_hash();
                let receipt =
                    ask(self.node, "getTransactionReceipt", json!({ "hash": hash })).expect("answers");
                assert_eq!((&receipt["blockHash"], &receipt["status"]), (&json!(at), &json!("0x1")));
            }
        }
    }
}

fn drive(seed: u64) {
    let random = &mut Random(seed);
    let tree = Tree::new(random);
    let home = tempfile::tempdir().expect("a folder");
    let options = ChainOptions { fsync: Fsync::Never, ..ChainOptions::default() };
    Chain::create(home.path(), &genesis(), &options).expect("a chain").close().expect("closes");
    let mut node_config = config(home.path(), Mode::Start);
    node_config.engine = true;
    let node = Node::open(node_config.clone()).expect("opens");
    let mut driven = Driven { node: &node, tree: &tree, given: HashSet::new(), head: tree.genesis };
    for step in 0..STEPS {
        let hash = tree.hashes[random.below(PAYLOADS)];
        match random.below(3) {
            0 => driven.choose(hash, random),
            _ => driven.give(hash),
        }
        driven.check();
        // The end of the tree is reached in every run.
        if step == STEPS - PAYLOADS {
            tree.hashes.iter().rev().for_each(|hash| driven.give(*hash));
        }
    }
    let head = driven.head;
    drop(driven);
    node.close().expect("closes");
    drop(node);
    // What was chosen is there after a restart, and the store is sound.
    let node = Node::open(node_config).expect("opens again");
    let driven = Driven { node: &node, tree: &tree, given: HashSet::new(), head };
    driven.check();
}

#[test]
fn random_payload_trees_end_as_an_import_of_the_chain() {
    for seed in 1..=8 {
        drive(0x9e37_79b9_7f4a_7c15 ^ seed);
    }
}

#[test]
fn a_payload_on_a_state_that_is_not_kept_is_accepted() {
    let options = ChainOptions { fsync: Fsync::Never, ..ChainOptions::default() };
    let (maker_home, home) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let maker = Chain::create(maker_home.path(), &genesis(), &options).expect("a chain");
    let node = driven_with(home.path(), &genesis(), NonZeroU64::new(2));
    let mut hashes = vec![maker.head().hash];
    for mark in 1..=6 {
        let block = next_block(&maker, hashes[hashes.len() - 1], mark, &[]);
        let hash = block.header.hash_slow();
        maker.insert_block(block.clone()).expect("is valid");
        assert_eq!(give(&node, &block)["status"], "VALID");
        choose_valid(&node, hash);
        hashes.push(hash);
    }
    let sibling = next_block(&maker, hashes[1], 99, &[]);
    maker.insert_block(sibling.clone()).expect("is valid");
    let child = next_block(&maker, sibling.header.hash_slow(), 98, &[]);
    for block in [sibling, child] {
        let status = give(&node, &block);
        assert_eq!((&status["status"], &status["latestValidHash"]), (&json!("ACCEPTED"), &Value::Null));
    }
    maker.close().expect("closes");
    node.close().expect("closes");
}

/// More than are kept in memory. Of those that go, the first one is in the ledger in any case: its
/// commit is made ready.
#[test]
fn payloads_that_memory_has_no_room_for_stay_known() {
    let options = ChainOptions { fsync: Fsync::Never, ..ChainOptions::default() };
    let (maker_home, home) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let maker = Chain::create(maker_home.path(), &genesis(), &options).expect("a chain");
    let node = driven(home.path(), &genesis());
    let mut head = maker.head().hash;
    for mark in 1..=68 {
        let block = next_block(&maker, head, mark, &[]);
        head = block.header.hash_slow();
        maker.insert_block(block.clone()).expect("is valid");
        assert_eq!(give(&node, &block)["status"], "VALID", "payload {mark}");
    }
    choose_valid(&node, head);
    let there = node.chain().expect("open").head();
    assert_eq!((there.height, there.hash, there.commitment), (68, head, maker.head().commitment));
    maker.close().expect("closes");
    node.close().expect("closes");
}

#[test]
fn a_branch_from_below_the_kept_history_is_too_deep() {
    let options = ChainOptions { fsync: Fsync::Never, ..ChainOptions::default() };
    let (maker_home, home) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let maker = Chain::create(maker_home.path(), &genesis(), &options).expect("a chain");
    let node = driven_with(home.path(), &genesis(), NonZeroU64::new(2));
    // It is executed while the state of the genesis is kept, and stays in memory.
    let sibling = next_block(&maker, maker.head().hash, 99, &[]);
    assert_eq!(give(&node, &sibling)["status"], "VALID");
    let mut tip = maker.head().hash;
    for mark in 1..=6 {
        let block = next_block(&maker, tip, mark, &[]);
        tip = block.header.hash_slow();
        maker.insert_block(block.clone()).expect("is valid");
        assert_eq!(give(&node, &block)["status"], "VALID");
        choose_valid(&node, tip);
    }
    let refused = choose(&node, sibling.header.hash_slow()).expect_err("its parent's state is not kept");
    assert_eq!(refused.kind(), "engine_too_deep_reorg");
    assert_eq!(node.chain().expect("open").head().hash, tip);
    maker.close().expect("closes");
    node.close().expect("closes");
}

#[test]
fn a_payload_that_the_wrong_version_requests_is_built_further() {
    let home = tempfile::tempdir().expect("a folder");
    let node = driven(home.path(), &genesis());
    let head = node.chain().expect("open").head().hash;
    let state =
        json!({ "headBlockHash": head, "safeBlockHash": B256::ZERO, "finalizedBlockHash": B256::ZERO });
    // A payload is built again after two seconds; on a busy machine the next turn waits longer.
    let has_it = (1..=4).any(|turn: u8| {
        let attributes = json!({
            "timestamp": format!("{:#x}", GENESIS_TIME + 12), "prevRandao": B256::with_last_byte(turn),
            "suggestedFeeRecipient": Address::ZERO, "withdrawals": [], "parentBeaconBlockRoot": B256::ZERO,
        });
        let args = json!({ "version": 3, "state": state, "attributes": attributes });
        let answer = ask(&node, "engineForkchoiceUpdated", args).expect("answers");
        let id = &answer["payloadId"];
        let refused = ask(&node, "engineGetPayload", json!({ "version": 4, "id": id }));
        assert_eq!(refused.expect_err("is of Cancun").kind(), "engine_unsupported_fork");
        let raw = Bytes::from(call(COUNTER, u64::from(turn) - 1).encoded_2718());
        ask(&node, "sendRawTransaction", json!({ "transaction": raw })).expect("is taken");
        std::thread::sleep(Duration::from_millis(2_500) * u32::from(turn));
        let given = ask(&node, "engineGetPayload", json!({ "version": 3, "id": id })).expect("answers");
        given["executionPayload"]["transactions"].as_array().expect("a list").contains(&json!(raw))
    });
    assert!(has_it);
    node.close().expect("closes");
}

/// A node under a consensus client on a chain of this genesis.
fn driven(home: &std::path::Path, genesis: &str) -> Arc<Node> {
    driven_with(home, genesis, None)
}

/// As [`driven`], with the state of so many blocks.
fn driven_with(home: &std::path::Path, genesis: &str, history: Option<NonZeroU64>) -> Arc<Node> {
    let options = ChainOptions { fsync: Fsync::Never, ..ChainOptions::default() };
    Chain::create(home, genesis, &options).expect("a chain").close().expect("closes");
    let mut node_config = config(home, Mode::Start);
    node_config.engine = true;
    node_config.flatkv.state_history_blocks = history.or(node_config.flatkv.state_history_blocks);
    Node::open(node_config).expect("opens")
}

#[test]
fn blobs_depend_on_the_fork_before_their_number() {
    let (cancun_home, paris_home) =
        (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let cancun = driven(cancun_home.path(), &genesis());
    let blobs = |node: &Arc<Node>, version: u8, count: usize| {
        ask(node, "engineGetBlobs", json!({ "version": version, "hashes": vec![B256::ZERO; count] }))
    };
    assert_eq!(blobs(&cancun, 1, 2).expect("answers"), json!([null, null]));
    assert_eq!(blobs(&cancun, 1, 129).expect_err("too many").kind(), "engine_too_large");
    for version in [2, 3] {
        assert_eq!(blobs(&cancun, version, 129).expect("answers"), Value::Null);
    }
    cancun.close().expect("closes");
    let mut earlier: Value = serde_json::from_str(&genesis()).expect("JSON");
    for name in ["shanghaiTime", "cancunTime"] {
        earlier["config"].as_object_mut().expect("an object").remove(name);
    }
    let paris = driven(paris_home.path(), &earlier.to_string());
    assert_eq!(blobs(&paris, 1, 129).expect_err("is of Paris").kind(), "engine_unsupported_fork");
    paris.close().expect("closes");
}

#[test]
fn versions_of_the_engine_have_go_ethereums_codes() {
    let home = tempfile::tempdir().expect("a folder");
    let node = driven(home.path(), &genesis());
    let head = node.chain().expect("open").head().hash;
    let state =
        json!({ "headBlockHash": head, "safeBlockHash": B256::ZERO, "finalizedBlockHash": B256::ZERO });
    let attributes = json!({
        "timestamp": format!("{:#x}", GENESIS_TIME + 12), "prevRandao": B256::ZERO,
        "suggestedFeeRecipient": Address::ZERO,
    });
    let args = json!({ "version": 1, "state": state, "attributes": attributes });
    let refused = ask(&node, "engineForkchoiceUpdated", args).expect_err("is of Cancun");
    assert_eq!(refused.kind(), "invalid_params");
    let id = "0x0000000000000001";
    for version in 1..=5 {
        let refused = ask(&node, "engineGetPayload", json!({ "version": version, "id": id }));
        assert_eq!(refused.expect_err("an id of no version").kind(), "engine_unsupported_fork");
    }
    node.close().expect("closes");
}

#[test]
fn a_payload_without_expected_blobs_may_name_none() {
    let home = tempfile::tempdir().expect("a folder");
    let node = driven(home.path(), &genesis());
    let blobs = TxEip4844 {
        chain_id: CHAIN_ID,
        blob_versioned_hashes: vec![B256::with_last_byte(1)],
        ..TxEip4844::default()
    };
    let raw = Bytes::from(Transaction::Eip4844(sign(blobs, 0)).encoded_2718());
    let zero = B256::ZERO;
    let payload = json!({
        "parentHash": B256::with_last_byte(2), "feeRecipient": Address::ZERO, "stateRoot": zero,
        "receiptsRoot": zero, "logsBloom": Bytes::from(vec![0; 256]), "prevRandao": zero, "blockNumber": "0x1",
        "gasLimit": "0x1", "gasUsed": "0x0", "timestamp": "0x1", "extraData": "0x", "baseFeePerGas": "0x7",
        "blockHash": zero, "transactions": [raw],
    });
    let status =
        ask(&node, "engineNewPayload", json!({ "version": 1, "payload": payload })).expect("answers");
    let words = "the transactions name 1 blobs, which are not the 0 expected ones";
    assert_eq!(status, json!({ "status": "INVALID", "latestValidHash": null, "validationError": words }));
    node.close().expect("closes");
}

#[test]
fn the_engine_is_off_unless_the_configuration_says_so() {
    let home = tempfile::tempdir().expect("a folder");
    let options = ChainOptions { fsync: Fsync::Never, ..ChainOptions::default() };
    Chain::create(home.path(), &genesis(), &options).expect("a chain").close().expect("closes");
    let node = Node::open(config(home.path(), Mode::Start)).expect("opens");
    let refused = ask(&node, "engineForkchoiceAge", json!(null)).expect_err("is off");
    assert_eq!(refused.to_string(), "the Engine API is off: see engine.enabled");
    // A home that no consensus client drives calls its head safe and final.
    let safe = ask(&node, "getBlockByNumber", json!({ "block": "safe" })).expect("answers");
    assert_eq!(safe["number"], "0x0");
    let mut engine = config(home.path(), Mode::Dev);
    engine.engine = true;
    assert!(engine.check().expect_err("goes with start").to_string().contains("mode start alone"));
}

#[test]
fn unset_tags_are_errors_under_a_consensus_client() {
    let home = tempfile::tempdir().expect("a folder");
    let options = ChainOptions { fsync: Fsync::Never, ..ChainOptions::default() };
    Chain::create(home.path(), &genesis(), &options).expect("a chain").close().expect("closes");
    let mut node_config = config(home.path(), Mode::Start);
    node_config.engine = true;
    let node = Node::open(node_config).expect("opens");
    for tag in ["safe", "finalized"] {
        let error = ask(&node, "getBlockByNumber", json!({ "block": tag })).expect_err("no such block yet");
        assert_eq!((error.kind(), error.to_string()), ("header_not_found", format!("{tag} block not found")));
        let error =
            ask(&node, "getLogs", json!({ "filter": { "fromBlock": tag } })).expect_err("no such block");
        assert_eq!(error.to_string(), format!("{tag} header not found"));
    }
    assert_eq!(ask(&node, "engineForkchoiceAge", json!(null)).expect("answers"), Value::Null);
}
