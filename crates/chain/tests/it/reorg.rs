//! Competing branches: fork choice, unwinding, coming back, dying in between.

use crate::support::{Table, export, import, options};
use alloy_consensus::{
    SignableTransaction as _, TxLegacy,
    proofs::{calculate_receipt_root, calculate_transaction_root},
};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use alloy_rlp::Encodable;
use hearth_chain::{BlockAttributes, Chain, ChainError, ExportRange, Inserted};
use hearth_dev_chain::DevSigner;
use hearth_evm::{
    BlockEnvironment, BlockExecutor, check_output, next_difficulty, recover_senders, validate_header,
    validate_merge,
};
use hearth_primitives::{Block, Header, RootTracker, StateReader, Transaction};
use std::fs;
use tempfile::TempDir;

/// A chain of proof of work from genesis on, without a merge.
const GENESIS: &str = r#"{
    "config": {"chainId": 5, "homesteadBlock": 0, "eip150Block": 0, "eip155Block": 0, "eip158Block": 0},
    "difficulty": "0x100000", "gasLimit": "0x1000000",
    "alloc": {"0x00000000000000000000000000000000000000aa": {"balance": "1000"}}
}"#;

/// A chain of proof of stake from genesis on.
pub const MERGED: &str = r#"{
    "config": {"chainId": 5, "homesteadBlock": 0, "eip150Block": 0, "eip155Block": 0, "eip158Block": 0,
        "byzantiumBlock": 0, "constantinopleBlock": 0, "petersburgBlock": 0, "istanbulBlock": 0,
        "berlinBlock": 0, "londonBlock": 0, "terminalTotalDifficulty": 0},
    "difficulty": "0x0", "gasLimit": "0x1000000", "baseFeePerGas": "0x7",
    "alloc": {"0x00000000000000000000000000000000000000aa": {"balance": "1000"}}
}"#;

/// [`MERGED`] with an account that can pay for [`paying_branch`].
pub fn rich_genesis() -> String {
    let rich = *DevSigner::new().accounts().next().unwrap();
    let alloc = r#""alloc": {"#;
    MERGED.replace(alloc, &format!(r#"{alloc}"{rich}": {{"balance": "1000000000000000000"}}, "#))
}

/// The transfer of a block at a height of [`rich_genesis`], whose blocks have one each.
fn transfer(height: u64) -> Transaction {
    let signer = DevSigner::new();
    let unsigned = TxLegacy {
        chain_id: Some(5),
        nonce: height - 1,
        gas_price: 7,
        gas_limit: 21_000,
        to: TxKind::Call(Address::repeat_byte(0xbb)),
        value: U256::from(height),
        input: Bytes::new(),
    };
    let from = *signer.accounts().next().unwrap();
    let signature = signer.sign(&from, &unsigned.signature_hash()).unwrap();
    unsigned.into_signed(signature).into()
}

/// A block on the head of a chain. `seconds` after its parent decide on its difficulty.
fn next(chain: &Chain, seconds: u64, coinbase: u8, transactions: Vec<Transaction>) -> Block {
    let parent = chain.head_block().unwrap().unwrap().block.header.clone();
    let spec = chain.spec();
    let merged = parent.difficulty.is_zero();
    let timestamp = parent.timestamp + seconds;
    let mut header = Header {
        parent_hash: parent.hash_slow(),
        beneficiary: Address::repeat_byte(coinbase),
        number: parent.number + 1,
        gas_limit: parent.gas_limit,
        timestamp,
        difficulty: if merged { U256::ZERO } else { next_difficulty(spec, timestamp, &parent) },
        base_fee_per_gas: hearth_evm::next_base_fee(spec, &parent),
        extra_data: Bytes::from(vec![coinbase]),
        transactions_root: calculate_transaction_root(&transactions),
        ..Header::default()
    };
    let body = alloy_consensus::BlockBody { transactions, ..Default::default() };
    let block = Block { header: header.clone(), body };
    let state = chain.kv().latest().unwrap();
    let env = BlockEnvironment::from_header(spec, &header);
    let senders = recover_senders(spec, &env, &block.body.transactions).unwrap();
    let mut trie = chain.kv().trie().unwrap();
    let executor = BlockExecutor::new(spec, env, &state, &**chain.ledger());
    let output = executor.run(&block, &senders, Some(&mut trie)).unwrap();
    header.state_root = trie.root().unwrap();
    header.receipts_root = calculate_receipt_root(&output.receipts);
    (header.logs_bloom, header.gas_used) = (output.logs_bloom, output.gas_used);
    check_output(spec, &header, &output).unwrap();
    Block { header, body: block.body }
}

pub fn hash(block: &Block) -> B256 {
    block.header.hash_slow()
}

/// Builds a branch of empty blocks with these seconds between them, on another home with the given
/// base blocks.
pub fn branch(genesis: &str, base: &[Block], seconds: &[u64], coinbase: u8) -> Vec<Block> {
    branch_of(genesis, base, seconds, coinbase, |_| Vec::new())
}

/// As [`branch`] on [`rich_genesis`], of so many blocks with a transfer each.
pub fn paying_branch(base: &[Block], blocks: usize, coinbase: u8) -> Vec<Block> {
    branch_of(&rich_genesis(), base, &vec![12; blocks], coinbase, |height| vec![transfer(height)])
}

fn branch_of(
    genesis: &str,
    base: &[Block],
    seconds: &[u64],
    coinbase: u8,
    transactions: impl Fn(u64) -> Vec<Transaction>,
) -> Vec<Block> {
    let home = TempDir::new().unwrap();
    let chain = Chain::create(home.path(), genesis, &options()).unwrap();
    for block in base {
        chain.insert_block(block.clone()).unwrap();
    }
    let mut blocks = Vec::new();
    for seconds in seconds {
        let block = next(&chain, *seconds, coinbase, transactions(chain.head().height + 1));
        let gas_used = block.header.gas_used;
        assert_eq!(chain.insert_block(block.clone()).unwrap(), Inserted::Added { gas_used });
        blocks.push(block);
    }
    blocks
}

fn balance(chain: &Chain, coinbase: u8) -> U256 {
    let account = chain.kv().latest().unwrap().account(&Address::repeat_byte(coinbase)).unwrap();
    account.map(|a| a.balance).unwrap_or_default()
}

fn rlp(blocks: &[&[Block]]) -> Vec<u8> {
    let mut out = Vec::new();
    blocks.iter().flat_map(|b| b.iter()).for_each(|b| b.encode(&mut out));
    out
}

/// Block rewards before Byzantium, in wei.
const REWARD: u128 = 5_000_000_000_000_000_000;

#[test]
fn the_highest_total_difficulty_wins() {
    let common = branch(GENESIS, &[], &[15, 15], 1);
    // Few fast blocks weigh more than as many slow ones; one more slow block weighs more than that.
    let slow = branch(GENESIS, &common, &[60, 60, 60, 60], 2);
    let fast = branch(GENESIS, &common, &[5, 5, 5], 3);
    let home = TempDir::new().unwrap();
    let chain = Chain::create(home.path(), GENESIS, &options()).unwrap();
    let give = |block: &Block| chain.insert_block(block.clone()).unwrap();
    common.iter().chain(&slow[..3]).for_each(|b| assert!(matches!(give(b), Inserted::Added { .. })));
    assert_eq!(chain.head().hash, hash(&slow[2]));
    assert_eq!(balance(&chain, 2), U256::from(3 * REWARD));
    // Lighter prefixes of the other branch do not move the head.
    let heads: Vec<u64> = fast.iter().map(|block| (give(block), chain.head().height).1).collect();
    assert_eq!(heads, [5, 5, 5]);
    assert_eq!(chain.head().hash, hash(&fast[2]), "three fast blocks weigh more than three slow ones");
    assert_eq!((balance(&chain, 1), balance(&chain, 2)), (U256::from(2 * REWARD), U256::ZERO));
    assert_eq!(chain.ledger().canonical_hash(3).unwrap(), Some(hash(&fast[0])));
    assert_ne!(chain.ledger().canonical_hash(slow[0].header.number).unwrap(), Some(hash(&slow[0])));
    give(&slow[3]);
    assert_eq!(chain.head().hash, hash(&slow[3]), "the fourth slow block turns the scales");
    assert_eq!((balance(&chain, 2), balance(&chain, 3)), (U256::from(4 * REWARD), U256::ZERO));
    assert_eq!(give(&fast[1]), Inserted::Known);
    assert_eq!(chain.head().hash, hash(&slow[3]));
    chain.close().unwrap();
    drop(chain);
    let chain = Chain::open(home.path(), &options()).unwrap();
    assert_eq!(chain.head().hash, hash(&slow[3]));
    assert_eq!(export(&chain, &ExportRange::default()).unwrap(), rlp(&[&common, &slow]));
    chain.set_head(&hash(&fast[2])).unwrap();
    assert_eq!(export(&chain, &ExportRange::default()).unwrap(), rlp(&[&common, &fast]));
    assert_eq!(balance(&chain, 3), U256::from(3 * REWARD));
    chain.set_head(&chain.base_hash()).unwrap();
    assert_eq!((chain.head().height, balance(&chain, 1)), (0, U256::ZERO));
}

#[test]
fn the_first_wins_a_tie() {
    let (one, two) = (branch(GENESIS, &[], &[15, 15], 1), branch(GENESIS, &[], &[15, 15], 2));
    for (first, second) in [(&one, &two), (&two, &one)] {
        let home = TempDir::new().unwrap();
        let chain = Chain::create(home.path(), GENESIS, &options()).unwrap();
        for block in first.iter().chain(second.iter()) {
            chain.insert_block(block.clone()).unwrap();
        }
        assert_eq!(chain.head().hash, hash(&first[1]));
    }
}

#[test]
fn proof_of_stake_follows_a_genesis_with_a_difficulty() {
    let hoodis = MERGED.replace(r#""difficulty": "0x0""#, r#""difficulty": "0x1""#);
    for (genesis, is_merged) in [(hoodis.as_str(), true), (MERGED, true), (GENESIS, false)] {
        let home = TempDir::new().unwrap();
        let chain = Chain::create(home.path(), genesis, &options()).unwrap();
        let parent = chain.head_block().unwrap().unwrap().block.header.clone();
        let attributes =
            BlockAttributes { timestamp: 12, gas_limit: parent.gas_limit, ..BlockAttributes::default() };
        let header = chain.header_after(&parent, &attributes);
        assert_eq!(header.difficulty.is_zero(), is_merged, "{genesis}");
        validate_merge(chain.spec(), &header, parent.difficulty).unwrap();
        validate_header(chain.spec(), &header, &parent).unwrap();
    }
}

#[test]
fn proof_of_stake_follows_the_terminal_block() {
    // The terminal total difficulty is that of the genesis, then that of the block on it.
    let work = branch(GENESIS, &[], &[15], 1);
    let first = U256::from(0x10_0000);
    for (total, blocks) in [(first, &work[..0]), (first + work[0].header.difficulty, &work[..])] {
        let merge = format!(r#""eip158Block": 0, "terminalTotalDifficulty": {total}}}"#);
        let genesis = GENESIS.replace(r#""eip158Block": 0}"#, &merge);
        let home = TempDir::new().unwrap();
        let chain = Chain::create(home.path(), &genesis, &options()).unwrap();
        for block in blocks {
            chain.insert_block(block.clone()).unwrap();
        }
        let parent = chain.head_block().unwrap().unwrap();
        assert_eq!((parent.number(), parent.total_difficulty), (blocks.len() as u64, total));
        let parent = &parent.block.header;
        let attributes = BlockAttributes {
            timestamp: parent.timestamp + 12,
            gas_limit: parent.gas_limit,
            ..BlockAttributes::default()
        };
        let header = chain.header_after(parent, &attributes);
        assert_eq!(header.difficulty, U256::ZERO);
        validate_merge(chain.spec(), &header, total).unwrap();
        validate_header(chain.spec(), &header, parent).unwrap();
    }
}

#[test]
fn after_the_merge_the_last_one_given_wins() {
    let (one, two) = (branch(MERGED, &[], &[12, 12, 12], 1), branch(MERGED, &[], &[12, 12], 2));
    let home = TempDir::new().unwrap();
    let chain = Chain::create(home.path(), MERGED, &options()).unwrap();
    let file = home.path().join("blocks.rlp");
    let give = |blocks: &[&[Block]]| {
        fs::write(&file, rlp(blocks)).unwrap();
        import(&chain, &[&file]).unwrap().head.hash
    };
    assert_eq!(give(&[&one, &two]), hash(&two[1]));
    assert_eq!(give(&[&one]), hash(&one[2]), "known blocks count as given");
    assert_eq!(give(&[&one[..1]]), hash(&one[2]), "but an ancestor of the head does not");
    assert_eq!(give(&[&two, &one[..2]]), hash(&one[1]));
    assert_eq!(chain.ledger().canonical_hash(3).unwrap(), None);
}

/// The file of two branches in any order of blocks with parents first gives the same head; a bad
/// block on the other branch does not lose the chosen one.
#[test]
fn bad_blocks_on_a_side_branch_leave_the_head() {
    let one = branch(GENESIS, &[], &[5, 5, 5, 5], 1);
    let mut two = branch(GENESIS, &[], &[60, 60, 60], 2);
    two[2].header.state_root.0[0] ^= 1;
    let home = TempDir::new().unwrap();
    let chain = Chain::create(home.path(), GENESIS, &options()).unwrap();
    let file = home.path().join("blocks.rlp");
    fs::write(&file, rlp(&[&one, &two])).unwrap();
    let refused = import(&chain, &[&file]).unwrap_err();
    assert!(refused.to_string().contains("state root"), "{refused}");
    assert_eq!(chain.head().hash, hash(&one[3]));
    assert!(chain.ledger().has_block(&hash(&two[1])) && !chain.ledger().has_block(&hash(&two[2])));
    let refused = chain.insert_block(two[2].clone());
    assert!(matches!(refused, Err(ChainError::Refused { number: 3, .. })), "{refused:?}");
    assert_eq!((chain.head().hash, balance(&chain, 1)), (hash(&one[3]), U256::from(4 * REWARD)));
}

/// The process dies while a side branch is worked on: the home opens on the head that was chosen.
#[test]
fn a_crash_on_a_side_branch_comes_back() {
    let one = branch(GENESIS, &[], &[5, 5, 5, 5], 1);
    let two = branch(GENESIS, &[], &[60, 60, 60], 2);
    let table = Table::default();
    for given in 1..=two.len() {
        let home = TempDir::new().unwrap();
        let chain = Chain::create(home.path(), GENESIS, &options()).unwrap();
        for block in &one {
            chain.insert_block(block.clone()).unwrap();
        }
        for block in &two[..given] {
            chain.insert_off_head(block.clone()).unwrap();
        }
        assert_eq!(chain.head().hash, hash(&two[given - 1]), "the working head is on the branch");
        drop(chain);
        let chain = Chain::open(home.path(), &options()).unwrap();
        let right = chain.head().hash == hash(&one[3]) && balance(&chain, 1) == U256::from(4 * REWARD);
        table.add("crashes", &given.to_string(), right.then_some(()).ok_or("wrong head".to_owned()));
        drop(chain);
        let chain = Chain::open(home.path(), &options()).unwrap();
        assert_eq!(chain.head().hash, hash(&one[3]));
        assert!(chain.ledger().has_block(&hash(&two[given - 1])), "what was done is kept");
    }
    assert_eq!(table.print("crashes on a side branch").1, 0);
}
