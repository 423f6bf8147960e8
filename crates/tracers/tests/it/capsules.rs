//! Traces from a capsule equal those from the history, byte by byte, and read nothing outside of
//! the capsule.

use crate::answers::{fixtures, full, quick, read_json};
use crate::cases::{MainnetCase, MemoryState};
use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_rlp::Decodable as _;
use hearth_evm::{BlockEnvironment, BlockExecutor, ChainSpec, recover_senders};
use hearth_primitives::{
    Account, Block, BlockHashes, BlockOutput, CapsuleState, Height, StateError, StateReader, TraceCapsule,
};
use hearth_tracers::{
    BlockReplay, Limits, TraceConfig, TracePlan, trace_block, trace_block_in_parallel, trace_transaction,
};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Every native tracer, with the options that make it look at more or at less.
const CONFIGS: [&str; 13] = [
    r#"{"tracer":"callTracer"}"#,
    r#"{"tracer":"callTracer","tracerConfig":{"withLog":true}}"#,
    r#"{"tracer":"flatCallTracer"}"#,
    r#"{"tracer":"flatCallTracer","tracerConfig":{"convertParityErrors":true,"includePrecompiles":true}}"#,
    r#"{"tracer":"prestateTracer"}"#,
    r#"{"tracer":"prestateTracer","tracerConfig":{"diffMode":true}}"#,
    r#"{"tracer":"prestateTracer","tracerConfig":{"includeEmpty":true}}"#,
    r#"{"tracer":"4byteTracer"}"#,
    r#"{"tracer":"muxTracer","tracerConfig":{"callTracer":{"onlyTopCall":true},"prestateTracer":{"diffMode":true}}}"#,
    r#"{"tracer":"erc7562Tracer","tracerConfig":{"withLog":true}}"#,
    r#"{"tracer":"keccak256PreimageTracer"}"#,
    r#"{"tracer":"opcodeTracer"}"#,
    r#"{"enableReturnData":true}"#,
];

/// One file in so many is tested in the everyday and in the quick test; the full test takes all
/// files.
const ONE_IN: [usize; 2] = [8, 32];

/// Blocks above this gas have no struct logs compared: they are gigabytes.
const STEPS_MAX_GAS: u64 = 1_000_000;

/// A state that has nothing, for what a capsule does not have.
struct Nothing;

impl Nothing {
    fn refuse<T>(&self, what: String) -> Result<T, StateError> {
        Err(StateError::Store(format!("{what} is not in the capsule")))
    }
}

impl StateReader for Nothing {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        self.refuse(format!("account {address}"))
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        self.refuse(format!("slot {slot} of {address}"))
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        self.refuse(format!("code {hash}"))
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        self.refuse(format!("the storage of {address}"))
    }
}

impl BlockHashes for Nothing {
    fn block_hash(&self, number: Height) -> Result<B256, StateError> {
        self.refuse(format!("the hash of block {number}"))
    }
}

/// Code of the state and of the block itself, and nothing else.
struct Codes<'a>(&'a dyn StateReader, &'a BlockOutput);

impl StateReader for Codes<'_> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        Nothing.account(address)
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        Nothing.storage(address, slot)
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        let new = self.1.writes.iter().flat_map(|writes| &writes.codes).find(|(known, _)| known == hash);
        new.map_or_else(|| self.0.code(hash), |(_, code)| Ok(code.clone()))
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        Nothing.storage_of(address)
    }
}

fn plan(json: &str) -> TracePlan {
    let timeout = std::time::Duration::from_secs(300);
    TracePlan { timeout, ..TracePlan::new(&TraceConfig::parse(json).unwrap()).unwrap() }
}

/// Executes a block with and without its capsule, and compares the answers of every tracer. Returns
/// the block's output.
fn compare(
    spec: &ChainSpec,
    block: &Block,
    state: &dyn StateReader,
    hashes: &dyn BlockHashes,
    traced: &AtomicUsize,
) -> Result<BlockOutput, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let env = BlockEnvironment::from_header(spec, &block.header);
    let senders = recover_senders(spec, &env, &block.body.transactions).map_err(|error| text(&error))?;
    let run = |capturing: bool| {
        let executor = BlockExecutor::new(spec, env.clone(), state, hashes).on_partial_state();
        let executor = if capturing { executor.capturing() } else { executor };
        executor.run(block, &senders, None).map_err(|error| text(&error))
    };
    let (plain, output) = (run(false)?, run(true)?);
    let same = plain.writes == output.writes && plain.changes == output.changes;
    if !same || plain.receipts != output.receipts {
        panic!("block {}: capturing changes what a block does", block.header.number);
    }
    let capsule = TraceCapsule::of(&output).expect("the output holds together");
    let (outside, codes) = (AtomicU64::new(0), Codes(state, &output));
    let start = CapsuleState::new(&capsule, &codes, &Nothing, &Nothing, &outside);
    let hash = block.header.hash_slow();
    let from_capsule =
        || BlockReplay::from_capsule(spec, (block, hash), Some(&senders), &capsule, &start, &start);
    let from_history = || BlockReplay::new(spec, block, Some(&senders), state, hashes);
    let (limits, count) = (Limits::default(), senders.len());
    for config in CONFIGS {
        let steps = config.contains("code") || config.contains("enable");
        if steps && block.header.gas_used > STEPS_MAX_GAS {
            continue;
        }
        let plan = plan(config);
        let mut want = Vec::new();
        trace_block(&mut from_history().unwrap(), &plan, &limits, &mut want).unwrap();
        let mut have = Vec::new();
        trace_block(&mut from_capsule().unwrap(), &plan, &limits, &mut have).unwrap();
        differ(config, "one after the other", &want, &have)?;
        have.clear();
        trace_block_in_parallel(from_capsule, count, 2, &plan, &limits, &mut have).unwrap();
        differ(config, "at the same time", &want, &have)?;
        let elements: Vec<Box<serde_json::value::RawValue>> = serde_json::from_slice(&want).unwrap();
        for index in [0, count / 2, count.saturating_sub(1)].into_iter().filter(|index| *index < count) {
            have.clear();
            let one = trace_transaction(&mut from_capsule().unwrap(), index, &plan, &limits, &mut have);
            let element = elements[index].get();
            let Ok(_) = one else { return Err(format!("{config}: transaction {index}: {one:?}")) };
            let result = element.split_once(",\"result\":").map(|(_, rest)| &rest[..rest.len() - 1]);
            differ(config, &format!("transaction {index}"), result.unwrap_or_default().as_bytes(), &have)?;
            have.clear();
            let before = start.before_transaction(index);
            let replay = BlockReplay::before_transaction(spec, (block, hash), Some(&senders), index, &before);
            trace_transaction(&mut replay.unwrap(), index, &plan, &limits, &mut have).unwrap();
            differ(
                config,
                &format!("only transaction {index}"),
                result.unwrap_or_default().as_bytes(),
                &have,
            )?;
        }
        let outside = outside.load(Ordering::Relaxed);
        if outside > 0 {
            return Err(format!("{config}: {outside} reads outside of the capsule"));
        }
    }
    traced.fetch_add(count, Ordering::Relaxed);
    Ok(output)
}

fn differ(config: &str, what: &str, want: &[u8], have: &[u8]) -> Result<(), String> {
    if want == have {
        return Ok(());
    }
    let at = want.iter().zip(have).take_while(|(a, b)| a == b).count();
    let around = |bytes: &[u8]| {
        let part = &bytes[at.saturating_sub(200).min(bytes.len())..(at + 200).min(bytes.len())];
        String::from_utf8_lossy(part).into_owned()
    };
    Err(format!("{config} {what}: differs at {at}\n  history {}\n  capsule {}", around(want), around(have)))
}

/// Every recorded file in a folder of the fixtures and below.
fn folder(name: &str) -> Option<Vec<PathBuf>> {
    let (mut folders, mut found) = (vec![fixtures()?.join(name)], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.to_string_lossy().ends_with(".json.gz") => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    let one_in = if full() { 1 } else { ONE_IN[usize::from(quick())] };
    Some(found.into_iter().step_by(one_in).collect())
}

/// Runs something over every file, on all processors; what failed.
fn each_file(files: Vec<PathBuf>, run: impl Fn(&Path) -> Vec<String> + Sync) -> Vec<String> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, Into::into) {
            let work = || {
                while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = run(path);
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    failed.lock().unwrap().extend(found.iter().map(|why| format!("{name}: {why}")));
                }
            };
            std::thread::Builder::new().stack_size(16 << 20).spawn_scoped(scope, work).unwrap();
        }
    });
    failed.into_inner().unwrap()
}

#[test]
fn recorded_mainnet_blocks() {
    let Some(files) = folder("mainnet-blocks") else { return };
    let (spec, traced) = (ChainSpec::mainnet(), AtomicUsize::new(0));
    let failed = each_file(files, |path| {
        let case = MainnetCase::parse(&read_json(path));
        compare(&spec, &case.block, &case.state, &case.state, &traced).err().into_iter().collect()
    });
    assert_eq!(failed, Vec::<String>::new());
    let traced = traced.into_inner();
    println!("{traced} transactions");
    let least = if full() { 10_000 } else { [300, 200][usize::from(quick())] };
    assert!(traced > least, "{traced}");
}

/// Hashes of a branch.
struct Branch<'a> {
    blocks: &'a HashMap<B256, (u64, B256, Arc<MemoryState>)>,
    parent: B256,
}

impl BlockHashes for Branch<'_> {
    fn block_hash(&self, number: Height) -> Result<B256, StateError> {
        let mut hash = self.parent;
        while let Some((known, parent, _)) = self.blocks.get(&hash) {
            if *known == number {
                return Ok(hash);
            }
            hash = *parent;
        }
        Ok(B256::ZERO)
    }
}

/// Executes the blocks of one case that execute, each on its parent.
fn run_case(case: &Value, traced: &AtomicUsize) -> Result<(), String> {
    let Some(spec) = ChainSpec::network(case["network"].as_str().unwrap()) else { return Ok(()) };
    let rlp = |value: &Value| value.as_str().unwrap_or_default().parse::<Bytes>().unwrap_or_default();
    let genesis = Block::decode(&mut &rlp(&case["genesisRLP"])[..]).map_err(|error| error.to_string())?;
    let state = Arc::new(MemoryState::from_alloc(&case["pre"]));
    let mut blocks =
        HashMap::from([(genesis.header.hash_slow(), (genesis.header.number, B256::ZERO, state))]);
    for given in case["blocks"].as_array().unwrap() {
        if given.get("expectException").is_some() {
            continue;
        }
        let block = Block::decode(&mut &rlp(&given["rlp"])[..]).map_err(|error| error.to_string())?;
        let parent = block.header.parent_hash;
        let Some((_, _, state)) = blocks.get(&parent).cloned() else { continue };
        let output = compare(&spec, &block, &*state, &Branch { blocks: &blocks, parent }, traced)?;
        let mut after = (*state).clone();
        after.apply(&output.changes);
        blocks.insert(block.header.hash_slow(), (block.header.number, parent, Arc::new(after)));
    }
    Ok(())
}

fn run_folder(name: &str, fewest: usize) {
    let Some(files) = folder(name) else { return };
    let traced = AtomicUsize::new(0);
    let failed = each_file(files, |path| {
        let cases = read_json(path);
        let cases = cases.as_object().unwrap().iter();
        cases
            .filter_map(|(name, case)| run_case(case, &traced).err().map(|why| format!("{name}: {why}")))
            .collect()
    });
    let traced = traced.into_inner();
    println!("{name}: {traced} transactions, {} failures", failed.len());
    assert!(failed.is_empty(), "{} failures:\n{}", failed.len(), failed[..failed.len().min(20)].join("\n"));
    assert!(traced >= if full() { fewest } else { 1 }, "{traced}");
}

#[test]
fn ethereum_blockchain_tests() {
    run_folder("blockchain-tests", 300);
}

#[test]
fn eest_blockchain_tests() {
    run_folder("eest/blockchain_tests", 2_300);
}
