//! State tests of execution-spec-tests: one transaction, then state root and hash of the logs.

use crate::{fixtures, memory::MemoryState};
use alloy_consensus::Header;
use alloy_eips::eip2718::Decodable2718 as _;
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_rlp::Encodable as _;
use hearth_evm::{BlockEnvironment, BlockExecutor, ChainSpec, GenesisAccount, recover_sender};
use hearth_primitives::{BlockHashes, Height, StateError, Transaction};
use rayon::prelude::*;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    env: Env,
    pre: BTreeMap<Address, PreAccount>,
    post: BTreeMap<String, Vec<Post>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Env {
    current_coinbase: Address,
    current_gas_limit: U256,
    current_number: U256,
    current_timestamp: U256,
    current_difficulty: Option<U256>,
    current_random: Option<B256>,
    current_base_fee: Option<U256>,
    current_excess_blob_gas: Option<U256>,
}

#[derive(Deserialize)]
pub struct PreAccount {
    balance: U256,
    nonce: U256,
    code: Bytes,
    storage: BTreeMap<U256, U256>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Post {
    hash: B256,
    logs: B256,
    txbytes: Bytes,
    expect_exception: Option<String>,
}

pub fn alloc(pre: BTreeMap<Address, PreAccount>) -> BTreeMap<Address, GenesisAccount> {
    let convert = |account: PreAccount| GenesisAccount {
        balance: account.balance,
        nonce: account.nonce.to(),
        code: account.code,
        storage: account.storage,
    };
    pre.into_iter().map(|(address, account)| (address, convert(account))).collect()
}

/// The suite's block hashes: the hash of the number in decimal.
struct NumberHashes;

impl BlockHashes for NumberHashes {
    fn block_hash(&self, number: Height) -> Result<B256, StateError> {
        Ok(keccak256(number.to_string()))
    }
}

fn header(env: &Env, spec: &ChainSpec) -> Header {
    let merged = spec.terminal_total_difficulty().is_some();
    Header {
        number: env.current_number.to(),
        timestamp: env.current_timestamp.to(),
        beneficiary: env.current_coinbase,
        gas_limit: env.current_gas_limit.to(),
        difficulty: if merged { U256::ZERO } else { env.current_difficulty.unwrap_or_default() },
        mix_hash: env.current_random.unwrap_or_default(),
        base_fee_per_gas: env.current_base_fee.map(|fee| fee.to()),
        excess_blob_gas: env.current_excess_blob_gas.map(|gas| gas.to()),
        ..Header::default()
    }
}

fn run(case: &Case, state: &MemoryState, fork: &str, post: &Post) -> Result<(), String> {
    let spec = ChainSpec::network(fork).ok_or_else(|| format!("unknown fork {fork}"))?;
    let header = header(&case.env, &spec);
    let env = BlockEnvironment::from_header(&spec, &header);
    let mut executor = BlockExecutor::new(&spec, env.clone(), state, &NumberHashes);
    let done = Transaction::decode_2718(&mut post.txbytes.as_ref())
        .map_err(|error| error.to_string())
        .and_then(|tx| {
            let sender = recover_sender(&spec, &env, &tx).map_err(|error| error.to_string())?;
            executor.transact(&tx, sender).map_err(|error| error.to_string())
        });
    match (&done, &post.expect_exception) {
        (Ok(_), Some(exception)) => return Err(format!("ran, but {exception} was expected")),
        (Err(error), None) => return Err(format!("refused: {error}")),
        _ => {}
    }
    let mut after = state.clone();
    for changes in executor.writes() {
        after.apply_checked(changes)?;
    }
    let logs: Vec<_> = executor.receipts().iter().flat_map(|receipt| receipt.logs().to_vec()).collect();
    let mut encoded = Vec::new();
    logs.encode(&mut encoded);
    let root = after.root_of();
    if root != post.hash {
        return Err(format!("state root: expected {}, got {root} ({done:?})", post.hash));
    }
    if keccak256(&encoded) != post.logs {
        return Err(format!("logs hash: expected {}, got {}", post.logs, keccak256(&encoded)));
    }
    Ok(())
}

#[test]
fn state_tests() {
    let Some(folder) = fixtures::folder("eest/state_tests") else { return };
    let only = std::env::var("ONLY").unwrap_or_default();
    let paths: Vec<_> =
        fixtures::files(&folder).into_iter().filter(|path| path.to_string_lossy().contains(&only)).collect();
    let run_file = |path: &std::path::PathBuf| {
        let mut table = fixtures::Table::default();
        let relative = path.strip_prefix(&folder).expect("below the folder");
        let group = relative.iter().take(2).map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
        let cases: BTreeMap<String, serde_json::Value> =
            serde_json::from_str(&fixtures::read(path)).expect("the file is a JSON object");
        for (name, value) in cases {
            let case: Case = match serde_json::from_value(value) {
                Ok(case) => case,
                Err(error) => {
                    table.add(&group, &name, Err(format!("case does not parse: {error}")));
                    continue;
                }
            };
            let mut case = case;
            let state = MemoryState::from_alloc(&alloc(std::mem::take(&mut case.pre)));
            for (fork, posts) in &case.post {
                for (index, post) in posts.iter().enumerate() {
                    table.add(&group, &format!("{name} {fork} {index}"), run(&case, &state, fork, post));
                }
            }
        }
        table
    };
    let table = paths.par_iter().map(run_file).reduce(fixtures::Table::default, fixtures::Table::merge);
    let (passed, failed) = table.print("eest state tests");
    assert!(failed == 0, "{failed} state tests failed");
    assert!(!only.is_empty() || passed > 5_000, "only {passed} state tests were found");
}
