//! Repair of the ledger's records: in batches, and of receipts that have state roots.

use crate::support::options;
use alloy_consensus::{SignableTransaction as _, TxLegacy, proofs::calculate_transaction_root};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use hearth_chain::Chain;
use hearth_dev_chain::{DevChain, DevSigner, MiningOptions, Steps, dev_genesis_json};
use hearth_evm::{BlockEnvironment, BlockExecutor, next_difficulty, recover_senders};
use hearth_ledger::StoredReceipts;
use hearth_pool::{PoolLimits, TransactionPool};
use hearth_primitives::{Block, Header, Height, RootTracker as _};
use std::{fs, os::unix::fs::FileExt as _, path::Path, sync::Arc};

/// Bytes of a segment's head, which are not damaged here.
const HEAD_BYTES: usize = 72;

/// Flips a bit of every `step`th byte of the receipts, in place: the home may be open.
fn damage_receipts(home: &Path, step: usize) {
    let path = home.join("data/ledger/receipts/00-0000000000.seg");
    let bytes = fs::read(&path).unwrap();
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    for at in (HEAD_BYTES + step / 2..bytes.len()).step_by(step) {
        file.write_all_at(&[bytes[at] ^ 1], at as u64).unwrap();
    }
}

fn receipts(chain: &Chain, heights: std::ops::RangeInclusive<Height>) -> Vec<Option<Arc<StoredReceipts>>> {
    let hash = |height| chain.ledger().canonical_hash(height).unwrap().unwrap();
    heights.map(|height| chain.ledger().receipts(&hash(height)).ok().flatten()).collect()
}

/// A new home with a development chain.
fn dev_chain(home: &Path) -> (Arc<Chain>, DevChain) {
    let chain = Arc::new(Chain::create(home, &dev_genesis_json(30_000_000), &options()).unwrap());
    let limits = PoolLimits {
        max_transactions: 10,
        max_per_account: 10,
        max_bytes: 1 << 20,
        max_transaction_bytes: 128 << 10,
        price_bump_percent: 10,
        min_tip_wei: 0,
    };
    let pool = Arc::new(TransactionPool::new(chain.spec().clone(), chain.next_chain_id().clone(), limits));
    let dev = DevChain::new(chain.clone(), pool, &MiningOptions::default());
    (chain, dev)
}

#[test]
fn every_damaged_record_is_repaired_for_any_batch_size() {
    const BLOCKS: Height = 120;
    const BATCH: usize = 7;
    let home = tempfile::tempdir().unwrap();
    let (chain, dev) = dev_chain(home.path());
    let step = Steps { interval: Some(1), first: true };
    dev.mine_blocks(BLOCKS, step, &|| false).unwrap();
    let before = receipts(&chain, 0..=BLOCKS);
    assert!(before.iter().all(Option::is_some));
    chain.close().unwrap();
    drop((dev, chain));

    let chain = Chain::open(home.path(), &options()).unwrap();
    // Records of empty blocks consist mostly of keys, which are not read again. Every byte is
    // damaged, so that every checksum fails.
    damage_receipts(home.path(), 1);
    let damaged = receipts(&chain, 0..=BLOCKS).iter().filter(|of| of.is_none()).count();
    assert!(damaged > 3 * BATCH, "{damaged} records are damaged");
    let report = chain.repair_ledger_in(BATCH, &[], &mut |_| true).unwrap();
    assert_eq!((report.restored.len(), report.broken.len()), (damaged, 0));
    assert_eq!((report.more_restored, report.more_broken), (0, 0));
    assert_eq!(receipts(&chain, 0..=BLOCKS), before);
    let again = chain.repair_ledger_in(BATCH, &[], &mut |_| true).unwrap();
    assert_eq!(again, Default::default());
    chain.close().unwrap();
}

/// Rules before Byzantium: receipts have the state root after their transaction.
fn old_genesis(rich: &Address) -> String {
    format!(
        r#"{{
            "config": {{"chainId": 5, "homesteadBlock": 0, "eip150Block": 0, "eip155Block": 0, "eip158Block": 0}},
            "difficulty": "0x100000", "gasLimit": "0x1000000",
            "alloc": {{"{rich}": {{"balance": "1000000000000000000"}}}}
        }}"#
    )
}

/// A block with two transfers on the head of a chain before Byzantium.
fn transfers(chain: &Chain, signer: &DevSigner, from: &Address) -> Block {
    let parent = chain.head_block().unwrap().unwrap().block.header.clone();
    let spec = chain.spec();
    let signed = |nonce| {
        let unsigned = TxLegacy {
            chain_id: Some(5),
            nonce,
            gas_price: 1,
            gas_limit: 21_000,
            to: TxKind::Call(Address::repeat_byte(0xbb)),
            value: U256::from(7),
            input: Bytes::new(),
        };
        let signature = signer.sign(from, &unsigned.signature_hash()).unwrap();
        unsigned.into_signed(signature).into()
    };
    let first = 2 * parent.number;
    let transactions: Vec<_> = [first, first + 1].map(signed).into();
    let timestamp = parent.timestamp + 15;
    let mut header = Header {
        parent_hash: parent.hash_slow(),
        number: parent.number + 1,
        gas_limit: parent.gas_limit,
        timestamp,
        difficulty: next_difficulty(spec, timestamp, &parent),
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
    header.receipts_root = alloy_consensus::proofs::calculate_receipt_root(&output.receipts);
    header.logs_bloom = output.logs_bloom;
    header.gas_used = output.gas_used;
    Block { header, body: block.body }
}

#[test]
fn receipts_with_state_roots_are_made_again() {
    const BLOCKS: Height = 12;
    let signer = DevSigner::new();
    let from = *signer.accounts().next().unwrap();
    let home = tempfile::tempdir().unwrap();
    let chain = Chain::create(home.path(), &old_genesis(&from), &options()).unwrap();
    for _ in 0..BLOCKS {
        chain.insert_block(transfers(&chain, &signer, &from)).unwrap();
    }
    let before = receipts(&chain, 1..=BLOCKS);
    let roots: Vec<B256> = before
        .iter()
        .flat_map(|of| of.as_ref().unwrap().receipts.iter())
        .filter_map(|receipt| receipt.as_receipt().unwrap().status.as_post_state())
        .collect();
    assert_eq!(roots.len() as u64, 2 * BLOCKS);
    chain.close().unwrap();
    drop(chain);

    let chain = Chain::open(home.path(), &options()).unwrap();
    damage_receipts(home.path(), 150);
    let damaged = receipts(&chain, 1..=BLOCKS).iter().filter(|of| of.is_none()).count();
    assert!(damaged > 3, "{damaged} records are damaged");
    let report = chain.repair_ledger(&[], &mut |_| true).unwrap();
    assert_eq!((report.broken, report.restored.len()), (Vec::new(), damaged));
    assert_eq!(receipts(&chain, 1..=BLOCKS), before);
    chain.close().unwrap();
}
