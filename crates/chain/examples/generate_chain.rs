//! Writes the chain that the benches run on:
//! `generate_chain DIR BLOCKS LEAST MOST [ACCOUNTS [equal]]`. The number of transactions per block
//! grows from `LEAST` in the first block to `MOST` in the last. With `ACCOUNTS` the genesis has so
//! many accounts, and these receive ether and the token.
//!
//! `DIR` gets `genesis.json`, `chain.rlp` and `facts.json`
//! (`{"blocks":…,"transactions":…,"gas":…,"root":…}`). The same numbers give the same chain: it
//! uses no clock, and only seeded randomness. Of twenty transactions eight move ether to one of
//! 50,000 accounts, eight move a token (two storage slots and a log), two call through a contract
//! that calls the token and two others, one hashes in a loop, one deploys a contract.

use alloy_consensus::{
    EMPTY_OMMER_ROOT_HASH, EMPTY_ROOT_HASH, SignableTransaction as _, TxEip1559,
    proofs::{calculate_receipt_root, calculate_transaction_root},
};
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256, address, hex, keccak256};
use hearth_chain::{Chain, ChainOptions, ExportRange, fees};
use hearth_dev_chain::dev_genesis_json;
use hearth_evm::{BlockEnvironment, BlockExecutor, next_excess_blob_gas};
use hearth_flatkv::Fsync;
use hearth_primitives::{Block, Header, RootTracker as _, Transaction};
use k256::ecdsa::SigningKey;
use rayon::prelude::*;
use std::{error::Error, fs, path::Path, sync::atomic::AtomicBool};

/// Gas limit of a block: far above what the transactions use.
const GAS_LIMIT: u64 = 150_000_000;
/// Seconds between blocks.
const BLOCK_SECONDS: u64 = 12;
/// Accounts that send.
const SENDERS: u64 = 500;
/// Accounts that receive ether.
const RECEIVERS: u64 = 50_000;
/// Holders of the token.
const HOLDERS: u64 = 20_000;
/// Blocks between two lines of progress.
const TELL_EVERY: u64 = 1_000;

const TOKEN: Address = address!("00000000000000000000000000000000000aaaaa");
/// `balance[caller] -= amount; balance[to] += amount; log(caller, to, amount)` with the calldata
/// `to ‖ amount`.
const TOKEN_CODE: &[u8] = &hex!(
    "336000526020600020805460203590039055600035600052602060002080546020350190556020356000526000353360206000a200"
);
const HASHER: Address = address!("00000000000000000000000000000000000bbbbb");
/// Hashes its own result 200 times.
const HASHER_CODE: &[u8] = &hex!("60c85b6020600020600052600190038060025700");

const ROUTER: Address = address!("00000000000000000000000000000000000ccccc");
/// Calls the token with its own calldata, then the hasher by STATICCALL and by DELEGATECALL.
const ROUTER_CODE: &[u8] = &hex!(
    "3660006000376000600036600060007300000000000000000000000000000000000aaaaa5af150600060006000600073"
    "00000000000000000000000000000000000bbbbb5afa50600060006000600073"
    "00000000000000000000000000000000000bbbbb5af45000"
);
const SPINNER: Address = address!("00000000000000000000000000000000000ddddd");
/// Counts down from 343: 8,934 gas, with the transaction's own 29,934.
const SPINNER_CODE: &[u8] = &hex!("6101575b600190038060035700");
/// Gas limit of a call of it.
const SPINNER_GAS: u64 = 31_000;

/// Init code that leaves ten bytes of code.
const INIT_CODE: &[u8] = &hex!("600a600c600039600a6000f360016000550000000000");

struct Sender {
    key: SigningKey,
    address: Address,
    nonce: u64,
}

/// Who receives.
#[derive(Clone, Copy)]
struct Pools {
    receivers: u64,
    holders: u64,
    /// Whether the genesis has the receivers.
    in_genesis: bool,
    /// Every transaction is the same call of about 30,000 gas.
    equal: bool,
}

impl Pools {
    /// Those of a genesis with so many accounts; 0: it has none of them.
    fn of(accounts: u64) -> Self {
        match accounts {
            0 => Self { receivers: RECEIVERS, holders: HOLDERS, in_genesis: false, equal: false },
            _ => Self { receivers: accounts, holders: accounts, in_genesis: true, equal: false },
        }
    }
}

/// A small deterministic generator (SplitMix64): the chain must be the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

fn account(kind: &str, index: u64) -> Address {
    Address::from_slice(&keccak256(format!("{kind} {index}"))[12..])
}

fn senders() -> Result<Vec<Sender>, Box<dyn Error>> {
    let sender = |index: u64| {
        let key = SigningKey::from_slice(keccak256(format!("bench sender {index}")).as_slice())?;
        Ok(Sender { address: Address::from_private_key(&key), key, nonce: 0 })
    };
    (0..SENDERS).map(sender).collect()
}

fn genesis(senders: &[Sender], pools: Pools) -> Result<String, Box<dyn Error>> {
    let mut genesis: serde_json::Value = serde_json::from_str(&dev_genesis_json(GAS_LIMIT))?;
    let limits = |target: u64, max: u64, fraction: u64| serde_json::json!({"target": target, "max": max, "baseFeeUpdateFraction": fraction});
    genesis["config"]["blobSchedule"] = serde_json::json!({
        "cancun": limits(3, 6, 3_338_477), "prague": limits(6, 9, 5_007_716), "osaka": limits(6, 9, 5_007_716)
    });
    for sender in senders {
        genesis["alloc"][sender.address.to_string()] =
            serde_json::json!({"balance": "0xd3c21bcecceda1000000"});
    }
    for (address, code) in [(TOKEN, TOKEN_CODE), (HASHER, HASHER_CODE), (ROUTER, ROUTER_CODE)] {
        let code = Bytes::from_static(code).to_string();
        genesis["alloc"][address.to_string()] = serde_json::json!({ "balance": "0x0", "code": code });
    }
    if pools.equal {
        let code = Bytes::from_static(SPINNER_CODE).to_string();
        genesis["alloc"][SPINNER.to_string()] = serde_json::json!({ "balance": "0x0", "code": code });
    }
    for index in (0..pools.receivers).filter(|_| pools.in_genesis) {
        genesis["alloc"][account("receiver", index).to_string()] = serde_json::json!({ "balance": "0x1" });
    }
    Ok(serde_json::to_string_pretty(&genesis)?)
}

/// Calldata of the token: to whom and how much.
fn transfer(random: &mut Random, pools: Pools) -> Bytes {
    let to = account("holder", random.below(pools.holders)).into_word();
    let amount = B256::from(U256::from(random.below(1_000)));
    [to.as_slice(), amount.as_slice()].concat().into()
}

fn transaction(sender: &mut Sender, chain_id: u64, random: &mut Random, pools: Pools) -> TxEip1559 {
    let call = |to: Address, input: Bytes, gas_limit: u64| (TxKind::Call(to), U256::ZERO, input, gas_limit);
    let (to, value, input, gas_limit) = match random.below(20) {
        _ if pools.equal => call(SPINNER, Bytes::new(), SPINNER_GAS),
        0..=7 => {
            let to = account("receiver", random.below(pools.receivers));
            (TxKind::Call(to), U256::from(1 + random.below(1_000_000)), Bytes::new(), 21_000)
        }
        8..=15 => call(TOKEN, transfer(random, pools), 100_000),
        16..=17 => call(ROUTER, transfer(random, pools), 200_000),
        18 => call(HASHER, Bytes::new(), 100_000),
        _ => (TxKind::Create, U256::ZERO, Bytes::from_static(INIT_CODE), 100_000),
    };
    let tx = TxEip1559 {
        chain_id,
        nonce: sender.nonce,
        gas_limit,
        max_fee_per_gas: 100_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        to,
        value,
        access_list: Default::default(),
        input,
    };
    sender.nonce += 1;
    tx
}

/// Signs transactions on all threads; gives each with who sent it.
fn signed(
    senders: &[Sender],
    unsigned: Vec<(usize, TxEip1559)>,
) -> Result<Vec<(Transaction, Address)>, k256::ecdsa::Error> {
    let sign = |(sender, tx): (usize, TxEip1559)| {
        let Sender { key, address, .. } = &senders[sender];
        let (signature, recovery) = key.sign_prehash_recoverable(tx.signature_hash().as_slice())?;
        Ok((tx.into_signed(Signature::from((signature, recovery))).into(), *address))
    };
    unsigned.into_par_iter().map(sign).collect()
}

fn next_header(chain: &Chain, parent: &Header) -> Header {
    let timestamp = parent.timestamp + BLOCK_SECONDS;
    Header {
        parent_hash: parent.hash_slow(),
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        number: parent.number + 1,
        timestamp,
        gas_limit: parent.gas_limit,
        base_fee_per_gas: fees::next_base_fee(chain.spec(), parent),
        withdrawals_root: Some(EMPTY_ROOT_HASH),
        blob_gas_used: Some(0),
        excess_blob_gas: next_excess_blob_gas(chain.spec(), timestamp, parent),
        parent_beacon_block_root: Some(B256::ZERO),
        ..Header::default()
    }
}

/// Builds and commits a block of these transactions on the head; gives its header.
fn extend(
    chain: &Chain,
    parent: &Header,
    transactions: Vec<(Transaction, Address)>,
) -> Result<Header, Box<dyn Error>> {
    let header = next_header(chain, parent);
    let state = chain.kv().at(parent.number)?;
    let mut executor = BlockExecutor::new(
        chain.spec(),
        BlockEnvironment::from_header(chain.spec(), &header),
        &state,
        chain.ledger().as_ref(),
    );
    executor.begin()?;
    for (transaction, sender) in &transactions {
        executor.transact(transaction, *sender)?;
    }
    let output = executor.finish(&[], Some(&[]))?;
    let mut trie = chain.kv().trie()?;
    trie.apply(&output.changes)?;
    let state_root = trie.root()?;
    let transactions: Vec<Transaction> =
        transactions.into_iter().map(|(transaction, _)| transaction).collect();
    let header = Header {
        state_root,
        transactions_root: calculate_transaction_root(&transactions),
        receipts_root: calculate_receipt_root(&output.receipts),
        logs_bloom: output.logs_bloom,
        gas_used: output.gas_used,
        requests_hash: output.requests.as_ref().map(|requests| requests.requests_hash()),
        ..header
    };
    let body = alloy_consensus::BlockBody {
        transactions,
        ommers: Vec::new(),
        withdrawals: Some(Default::default()),
    };
    chain.commit_built(&Block::new(header.clone(), body), &output, Some(trie.into_update()?))?;
    Ok(header)
}

fn generate(dir: &Path, blocks: u64, least: u64, most: u64, pools: Pools) -> Result<(), Box<dyn Error>> {
    let mut senders = senders()?;
    let genesis = genesis(&senders, pools)?;
    fs::write(dir.join("genesis.json"), &genesis)?;
    let home = dir.join("home");
    let options = ChainOptions { fsync: Fsync::None, ..ChainOptions::default() };
    let chain = Chain::create(&home, &genesis, &options)?;
    let mut parent = chain.head_block()?.ok_or("no genesis")?.block.header.clone();
    let mut random = Random(1);
    let (mut gas, mut count) = (0, 0);
    for block in 0..blocks {
        let per_block = least + (most - least) * block / blocks.saturating_sub(1).max(1);
        count += per_block;
        let mut unsigned = Vec::new();
        for _ in 0..per_block {
            let sender = random.below(SENDERS) as usize;
            let chain_id = chain.spec().chain_id();
            unsigned.push((sender, transaction(&mut senders[sender], chain_id, &mut random, pools)));
        }
        parent = extend(&chain, &parent, signed(&senders, unsigned)?)?;
        gas += parent.gas_used;
        if (block + 1) % TELL_EVERY == 0 {
            eprintln!("{} blocks", block + 1);
        }
    }
    let file = dir.join("chain.rlp");
    let mut out = std::io::BufWriter::new(fs::File::create(&file)?);
    chain.export(&ExportRange::default(), &file, &mut out, &mut |_, _| {}, &AtomicBool::new(false))?;
    std::io::Write::flush(&mut out)?;
    chain.close()?;
    drop(chain);
    fs::remove_dir_all(home)?;
    // Last: the bench takes a folder with facts for a whole one.
    fs::write(
        dir.join("facts.json"),
        format!(r#"{{"blocks":{blocks},"transactions":{count},"gas":{gas},"root":"{}"}}"#, parent.state_root),
    )?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, blocks, least, most, more @ ..] = arguments.as_slice() else {
        return Err("usage: generate_chain DIR BLOCKS LEAST MOST [ACCOUNTS [equal]]".into());
    };
    let accounts = more.first().map_or(Ok(0), |accounts| accounts.parse())?;
    let equal = more.get(1).is_some_and(|word| word == "equal");
    let pools = Pools { equal, ..Pools::of(accounts) };
    generate(Path::new(dir), blocks.parse()?, least.parse()?, most.parse()?, pools)
}
