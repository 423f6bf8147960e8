//! Writes a home whose blocks contain planted logs, for the bench of the log index: headers,
//! transactions and receipts go through the ledger as those of executed blocks do, but nothing is
//! executed.
//!
//! `generate_logs HOME BLOCKS SEED SEGMENT_BYTES` prints the planted addresses and topics as JSON.

use alloy_consensus::{Eip658Value, Receipt as Inner, Signed, TxLegacy, TxType};
use alloy_primitives::{Address, B256, Bloom, Bytes, Log, Signature, TxKind, U256, keccak256};
use hearth_chain::{Chain, ChainOptions};
use hearth_flatkv::Fsync;
use hearth_ledger::{LedgerOptions, LedgerSettings};
use hearth_primitives::{Block, BlockOutput, Height, Receipt, Transaction};
use std::error::Error;
use std::path::Path;

/// Planted sets of each kind: each query of the bench runs once for each set, so that no cache has
/// the answer.
const SETS: u64 = 24;
/// Blocks that hold a planted log of a set.
const HITS: u64 = 100;
/// Of a hundred blocks, those with the common topic.
const COMMON_PERCENT: u64 = 90;
/// Most logs of a block that are neither planted nor common.
const NOISE_MAX: u64 = 5;
/// Sizes of the pools that noise comes from.
const NOISE_ADDRESSES: u64 = 50_000;
const NOISE_EVENTS: u64 = 2000;
const NOISE_ARGUMENTS: u64 = 200_000;
/// Blocks between two lines of progress.
const TELL_EVERY: u64 = 100_000;

const GENESIS: &str = r#"{"config":{"chainId":1337,"terminalTotalDifficulty":0,"terminalTotalDifficultyPassed":true},
"alloc":{},"difficulty":"0x0","gasLimit":"0x1c9c380"}"#;

/// splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

fn word(kind: &str, number: u64) -> B256 {
    keccak256([kind.as_bytes(), &number.to_be_bytes()].concat())
}

fn address(kind: &str, number: u64) -> Address {
    Address::from_word(word(kind, number))
}

/// A kind of planted logs.
#[derive(Clone, Copy)]
enum Planted {
    /// An address that emits nothing else.
    Address,
    /// A topic that is in no other log.
    Topic,
    /// An address whose logs have the common topic.
    Pair,
}

fn planted(kind: Planted, set: u64, random: &mut Random) -> Log {
    let noise = |random: &mut Random| word("event", random.below(NOISE_EVENTS));
    let (address, topics) = match kind {
        Planted::Address => (address("rare", set), vec![noise(random)]),
        Planted::Topic => (address("noise", random.below(NOISE_ADDRESSES)), vec![word("topic", set)]),
        Planted::Pair => (address("pair", set), vec![word("common", 0)]),
    };
    Log::new_unchecked(address, topics, Bytes::from_static(&[7; 32]))
}

/// The planted logs by height, ascending: each set is spread over all blocks, with one log in each
/// hundredth of them.
fn plan(blocks: u64, random: &mut Random) -> Vec<(Height, Planted, u64)> {
    let mut plan = Vec::new();
    for kind in [Planted::Address, Planted::Topic, Planted::Pair] {
        for set in 0..SETS {
            for hit in 0..HITS {
                let (from, to) = (hit * blocks / HITS, (hit + 1) * blocks / HITS);
                plan.push((1 + from + random.below(to - from), kind, set));
            }
        }
    }
    plan.sort_by_key(|(height, ..)| *height);
    plan
}

fn noise(random: &mut Random) -> Log {
    let topics = (0..1 + random.below(3)).map(|position| match position {
        0 => word("event", random.below(NOISE_EVENTS)),
        _ => word("argument", random.below(NOISE_ARGUMENTS)),
    });
    let topics = topics.collect();
    let mut data = vec![0; 64];
    data[24..32].copy_from_slice(&random.next().to_be_bytes());
    Log::new_unchecked(address("noise", random.below(NOISE_ADDRESSES)), topics, data.into())
}

fn transaction(nonce: u64) -> Transaction {
    let to = TxKind::Call(Address::repeat_byte(0x11));
    let tx = TxLegacy {
        chain_id: Some(1337),
        nonce,
        gas_price: 1,
        gas_limit: 100_000,
        to,
        value: U256::ZERO,
        input: Bytes::new(),
    };
    Signed::new_unhashed(tx, Signature::new(U256::from(nonce + 1), U256::from(7), false)).into()
}

fn receipt(cumulative_gas_used: u64, logs: Vec<Log>) -> Receipt {
    let inner = Inner { status: Eip658Value::Eip658(true), cumulative_gas_used, logs };
    Receipt::from_typed(TxType::Legacy, inner.with_bloom())
}

fn block(parent: &Block, parent_hash: B256, logs: [Vec<Log>; 2]) -> (Block, BlockOutput) {
    let number = parent.header.number + 1;
    let mut gas = 0;
    let receipts: Vec<_> = logs
        .into_iter()
        .map(|logs| {
            gas += 50_000;
            receipt(gas, logs)
        })
        .collect();
    let logs_bloom = receipts.iter().fold(Bloom::ZERO, |bloom, receipt| bloom | *receipt.logs_bloom());
    let mut block = Block { header: parent.header.clone(), ..Block::default() };
    block.header.number = number;
    block.header.parent_hash = parent_hash;
    block.header.timestamp = parent.header.timestamp + 12;
    block.header.gas_used = gas;
    block.header.logs_bloom = logs_bloom;
    block.body.transactions = (0..2).map(|index| transaction(2 * number + index)).collect();
    let output = BlockOutput {
        senders: vec![Address::repeat_byte(0x22); 2],
        gas_used: gas,
        logs_bloom,
        receipts,
        ..BlockOutput::default()
    };
    (block, output)
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [home, blocks, seed, segment_bytes] = args.as_slice() else {
        return Err("usage: generate_logs HOME BLOCKS SEED SEGMENT_BYTES".into());
    };
    let (blocks, mut random) = (blocks.parse::<u64>()?, Random(seed.parse()?));
    if blocks < HITS {
        return Err(format!("at least {HITS} blocks").into());
    }
    let settings = LedgerSettings { segment_bytes: segment_bytes.parse()?, ..LedgerSettings::default() };
    let ledger = LedgerOptions::new(settings);
    let options = ChainOptions { fsync: Fsync::None, ledger, ..ChainOptions::default() };
    let chain = Chain::create(Path::new(home), GENESIS, &options)?;
    let genesis = chain.head_block()?.ok_or("no genesis")?;
    let (mut parent, mut parent_hash) = (genesis.block.clone(), genesis.hash);
    let mut plan = plan(blocks, &mut random).into_iter().peekable();
    for number in 1..=blocks {
        let mut logs = [Vec::new(), Vec::new()];
        logs[0].extend((0..random.below(NOISE_MAX + 1)).map(|_| noise(&mut random)));
        while let Some((_, kind, set)) = plan.next_if(|(height, ..)| *height == number) {
            logs[0].push(planted(kind, set, &mut random));
        }
        if random.below(100) < COMMON_PERCENT {
            let from = address("noise", random.below(NOISE_ADDRESSES));
            let topics = vec![word("common", 0), word("argument", random.below(NOISE_ARGUMENTS))];
            logs[1].push(Log::new_unchecked(from, topics, Bytes::from_static(&[9; 32])));
        }
        let (block, output) = block(&parent, parent_hash, logs);
        parent_hash = chain.commit_built(&block, &output, None)?;
        parent = block;
        if number % TELL_EVERY == 0 {
            eprintln!("{number} blocks");
        }
    }
    chain.close()?;
    let list = |values: &mut dyn Iterator<Item = String>| {
        values.map(|v| format!("\"{v}\"")).collect::<Vec<_>>().join(",")
    };
    println!(
        "{{\"common\":\"{}\",\"addresses\":[{}],\"topics\":[{}],\"pairs\":[{}]}}",
        word("common", 0),
        list(&mut (0..SETS).map(|set| address("rare", set).to_string())),
        list(&mut (0..SETS).map(|set| word("topic", set).to_string())),
        list(&mut (0..SETS).map(|set| address("pair", set).to_string())),
    );
    Ok(())
}
