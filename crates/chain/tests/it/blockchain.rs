//! Blockchain tests: every block of every case through a chain on a home of its own.

use crate::support::{Table, files, fixtures, import, in_parallel, is_full, light_home, options, text};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_rlp::Decodable;
use hearth_chain::{Chain, ChainOptions, ExecutedBlock};
use hearth_flatkv::Fsync;
use hearth_primitives::{Block, StateReader};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

/// Failures that are tolerated, named one by one in the printed table.
const TOLERATED: usize = 5;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    network: String,
    genesis_block_header: Map<String, Value>,
    pre: Value,
    blocks: Vec<CaseBlock>,
    lastblockhash: B256,
    post_state: Option<BTreeMap<Address, Account>>,
    post_state_hash: Option<B256>,
    config: Option<Value>,
}

#[derive(Deserialize)]
struct CaseBlock {
    rlp: Bytes,
    #[serde(flatten)]
    other: Map<String, Value>,
}

impl CaseBlock {
    fn exception(&self) -> Option<&str> {
        self.other.iter().find(|(key, _)| key.starts_with("expectException")).and_then(|(_, v)| v.as_str())
    }
}

#[derive(Deserialize)]
struct Account {
    nonce: U256,
    balance: U256,
    code: Bytes,
    storage: BTreeMap<U256, U256>,
}

/// Forks by block number, each with the name of a network that begins with it.
const BLOCK_FORKS: [(&str, &[&str]); 12] = [
    ("Frontier", &[]),
    ("Homestead", &["homesteadBlock"]),
    ("EIP150", &["eip150Block"]),
    ("EIP158", &["eip155Block", "eip158Block"]),
    ("Byzantium", &["byzantiumBlock"]),
    ("Constantinople", &["constantinopleBlock"]),
    ("ConstantinopleFix", &["petersburgBlock"]),
    ("Istanbul", &["istanbulBlock"]),
    ("MuirGlacier", &["muirGlacierBlock"]),
    ("Berlin", &["berlinBlock"]),
    ("London", &["londonBlock"]),
    ("ArrowGlacier", &["arrowGlacierBlock"]),
];

/// Forks by time.
const TIME_FORKS: [(&str, &str); 8] = [
    ("Shanghai", "shanghaiTime"),
    ("Cancun", "cancunTime"),
    ("Prague", "pragueTime"),
    ("Osaka", "osakaTime"),
    ("BPO1", "bpo1Time"),
    ("BPO2", "bpo2Time"),
    ("BPO3", "bpo3Time"),
    ("BPO4", "bpo4Time"),
];

/// Schedules everything up to and with a fork.
fn schedule(config: &mut Map<String, Value>, fork: &str, at: u64, terminal: u64) {
    let block = |config: &mut Map<String, Value>, upto: usize, at: u64| {
        for key in BLOCK_FORKS[..=upto].iter().flat_map(|(_, keys)| *keys) {
            config.entry(*key).or_insert(at.into());
        }
    };
    if let Some(index) = BLOCK_FORKS.iter().position(|(name, _)| *name == fork) {
        return block(config, index, at);
    }
    block(config, BLOCK_FORKS.len() - 1, 0);
    config.entry("terminalTotalDifficulty").or_insert(terminal.into());
    let Some(index) = TIME_FORKS.iter().position(|(name, _)| *name == fork) else {
        assert_eq!(fork, "Paris", "unknown fork");
        return;
    };
    for (_, key) in &TIME_FORKS[..=index] {
        config.entry(*key).or_insert(at.into());
    }
}

/// The genesis configuration of a network's name.
fn config(case: &Case) -> Value {
    let mut config = Map::new();
    config.insert("chainId".into(), 1.into());
    config.insert("depositContractAddress".into(), "0x00000000219ab540356cbb839cbe05303d7705fa".into());
    match case.network.split_once("To").filter(|(_, to)| to.contains("At")) {
        None => schedule(&mut config, &case.network, 0, 0),
        Some((from, to)) => {
            let (to, at) = to.split_once("At").unwrap();
            schedule(&mut config, from, 0, 0);
            if to == "Dao" {
                config.insert("daoForkBlock".into(), at.parse::<u64>().unwrap().into());
                config.insert("daoForkSupport".into(), true.into());
            } else if let Some(time) = at.strip_prefix("Time") {
                let time = time.strip_suffix('k').map_or_else(
                    || time.parse::<u64>().unwrap(),
                    |thousands| thousands.parse::<u64>().unwrap() * 1000,
                );
                schedule(&mut config, to, time, 0);
            } else if let Some(difficulty) = at.strip_prefix("Diff") {
                schedule(&mut config, to, 0, u64::from_str_radix(difficulty, 16).unwrap());
            } else {
                schedule(&mut config, to, at.parse().unwrap(), 0);
            }
        }
    }
    let given = case.config.as_ref().and_then(|config| config.get("blobSchedule"));
    let mut blobs = Map::new();
    for (fork, target, max, fraction) in
        [("cancun", 3, 6, 3_338_477), ("prague", 6, 9, 5_007_716), ("osaka", 6, 9, 5_007_716)]
    {
        blobs.insert(fork.into(), json!({ "target": target, "max": max, "baseFeeUpdateFraction": fraction }));
    }
    for (fork, entry) in given.and_then(Value::as_object).into_iter().flatten() {
        let number = |key: &str| {
            let text = entry[key].as_str().unwrap();
            u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
        };
        let entry = json!({
            "target": number("target"), "max": number("max"),
            "baseFeeUpdateFraction": number("baseFeeUpdateFraction"),
        });
        blobs.insert(fork.to_lowercase(), entry);
    }
    config.insert("blobSchedule".into(), blobs.into());
    config.into()
}

/// The genesis file of a case.
fn genesis(case: &Case) -> String {
    let header = &case.genesis_block_header;
    let mut genesis = Map::new();
    for key in [
        "nonce",
        "timestamp",
        "extraData",
        "gasLimit",
        "difficulty",
        "coinbase",
        "mixHash",
        "parentHash",
        "gasUsed",
        "baseFeePerGas",
        "excessBlobGas",
        "blobGasUsed",
    ] {
        if let Some(value) = header.get(key) {
            genesis.insert(key.into(), value.clone());
        }
    }
    genesis.insert("config".into(), config(case));
    genesis.insert("alloc".into(), case.pre.clone());
    Value::from(genesis).to_string()
}

/// Whether all blocks of a case are of proof of stake, as a consensus client hands them over.
fn is_post_merge(case: &Case) -> bool {
    let network = case.network.split("To").next().unwrap_or_default();
    network == "Paris" || TIME_FORKS.iter().any(|(name, _)| *name == network)
}

fn decode(given: &CaseBlock) -> Result<Block, String> {
    let mut rest = &given.rlp[..];
    let block = Block::decode(&mut rest).map_err(|e| e.to_string())?;
    rest.is_empty().then_some(block).ok_or("bytes behind it".to_owned())
}

/// Executes all blocks of a case without moving the head, each on the results of those before it,
/// and adopts the last one at once.
fn run_beside(case: &Case, fsync: Fsync) -> Result<(), String> {
    let home = light_home();
    let chain = create(home.path(), case, fsync)?;
    let mut executed: HashMap<B256, Arc<ExecutedBlock>> = HashMap::new();
    let genesis = chain.head().hash;
    for (index, given) in case.blocks.iter().enumerate() {
        let done = decode(given).and_then(|block| {
            let (hash, parent) = (block.header.hash_slow(), block.header.parent_hash);
            let branch = chain.branch_to(parent, &|hash| executed.get(hash).cloned());
            let branch = branch.map_err(|e| e.to_string())?.ok_or("its parent is not known")?;
            let block = chain.execute_on(block.into(), &branch).map_err(|e| e.to_string())?;
            executed.insert(hash, Arc::new(block));
            Ok(())
        });
        match (given.exception(), done) {
            (None, Ok(())) | (Some(_), Err(_)) => {}
            (None, Err(error)) => return Err(format!("block {index} refused beside the chain: {error}")),
            (Some(exception), Ok(())) => {
                return Err(format!("block {index} taken beside the chain in spite of {exception}"));
            }
        }
        if chain.head().hash != genesis {
            return Err(format!("block {index} moved the head"));
        }
    }
    let branch = chain.branch_to(case.lastblockhash, &|hash| executed.get(hash).cloned());
    let branch = branch.map_err(|e| e.to_string())?.ok_or("the last block is not known")?;
    chain.adopt_branch(&branch).map_err(|e| format!("adopting: {e}"))?;
    check_end(case, &chain)
}

/// Imports the valid blocks of a case from one file, each executed before the one below it is
/// committed.
fn run_imported(case: &Case, fsync: Fsync) -> Result<(), String> {
    let home = light_home();
    let chain = create(home.path(), case, fsync)?;
    let valid = case.blocks.iter().filter(|block| block.exception().is_none());
    let file = home.path().join("blocks");
    std::fs::write(&file, valid.flat_map(|block| &block.rlp[..]).copied().collect::<Vec<u8>>())
        .map_err(|error| error.to_string())?;
    import(&chain, &[&file]).map_err(|error| format!("import: {error}"))?;
    check_end(case, &chain)
}

fn run(case: &Case, fsync: Fsync, is_beside: bool) -> Result<(), String> {
    run_inserted(case, fsync)?;
    if !is_beside {
        return Ok(());
    }
    run_beside(case, fsync)?;
    if case.blocks.len() > 1 { run_imported(case, fsync) } else { Ok(()) }
}

/// A chain at the genesis of a case. A home that is never synced, as that of a development chain,
/// opens in a fifth of the time: no memtable gets a large Bloom filter.
fn create(home: &Path, case: &Case, fsync: Fsync) -> Result<Chain, String> {
    let options = ChainOptions { fsync, ..options() };
    Chain::create(home, &genesis(case), &options).map_err(|e| format!("genesis: {e}"))
}

fn run_inserted(case: &Case, fsync: Fsync) -> Result<(), String> {
    let home = light_home();
    let chain = create(home.path(), case, fsync)?;
    let want = case.genesis_block_header["hash"].as_str().unwrap();
    if chain.base_hash().to_string() != want {
        return Err(format!("genesis hash is {}, not {want}", chain.base_hash()));
    }
    for (index, given) in case.blocks.iter().enumerate() {
        let inserted = decode(given).and_then(|block| chain.insert_block(block).map_err(|e| e.to_string()));
        match (given.exception(), inserted) {
            (None, Ok(_)) | (Some(_), Err(_)) => {}
            (None, Err(error)) => return Err(format!("block {index} refused: {error}")),
            (Some(exception), Ok(_)) => return Err(format!("block {index} taken in spite of {exception}")),
        }
    }
    check_end(case, &chain)
}

/// The head and its state are what the case says.
fn check_end(case: &Case, chain: &Chain) -> Result<(), String> {
    let head = chain.head();
    if head.hash != case.lastblockhash {
        return Err(format!("head is {} ({}), not {}", head.hash, head.height, case.lastblockhash));
    }
    if case.post_state_hash.is_some_and(|hash| hash != head.commitment) {
        return Err(format!("state root is {}, not {:?}", head.commitment, case.post_state_hash));
    }
    if let Some(want) = &case.post_state {
        check_state(chain, want)?;
    }
    Ok(())
}

fn check_state(chain: &Chain, want: &BTreeMap<Address, Account>) -> Result<(), String> {
    let state = chain.kv().latest().unwrap();
    for (address, account) in want {
        let there = state.account(address).unwrap();
        let there = there.ok_or_else(|| format!("{address} is missing"))?;
        let right = U256::from(there.nonce) == account.nonce
            && there.balance == account.balance
            && there.code_hash == keccak256(&account.code);
        if !right {
            return Err(format!("{address} is {there:?}"));
        }
        if there.has_code() && state.code(&there.code_hash).unwrap() != account.code {
            return Err(format!("{address} has other code"));
        }
        let mut slots = state.storage_of(address).unwrap();
        slots.sort();
        let want: Vec<_> =
            account.storage.iter().filter(|(_, v)| !v.is_zero()).map(|(k, v)| (*k, *v)).collect();
        if slots != want {
            return Err(format!("{address} has storage {slots:?}, not {want:?}"));
        }
        for (slot, value) in want {
            if state.storage(address, &slot).unwrap() != value {
                return Err(format!("{address} slot {slot} differs"));
            }
        }
    }
    Ok(())
}

fn run_all(folder: &str, depth: usize, fsync: Fsync) {
    let Some(dir) = fixtures(folder) else { return };
    let all = files(&dir, ".json.gz").into_iter().chain(files(&dir, ".json")).collect::<Vec<_>>();
    assert!(!all.is_empty(), "{folder} has no files");
    let only = std::env::var("ONLY").ok();
    let table = Table::default();
    in_parallel(&all, |path| {
        let name = path.strip_prefix(&dir).unwrap();
        let row = name.components().take(depth).collect::<std::path::PathBuf>();
        run_file(&table, path, (row.to_str().unwrap(), only.as_deref()), fsync);
    });
    let (cases, failed) = table.print(&format!("{folder}: {} files", all.len()));
    assert!(cases > 0 || only.is_some());
    assert!(failed <= TOLERATED, "{failed} of {cases} cases failed");
}

fn run_file(table: &Table, path: &Path, (row, only): (&str, Option<&str>), fsync: Fsync) {
    let cases: BTreeMap<String, Value> = match serde_json::from_str(&text(path)) {
        Ok(cases) => cases,
        Err(error) => return table.add(row, path.to_str().unwrap(), Err(error.to_string())),
    };
    let mut is_first = true;
    for (name, case) in cases {
        if only.is_some_and(|only| !name.contains(only)) {
            continue;
        }
        let case = serde_json::from_value::<Case>(case).map_err(|error| error.to_string());
        let result = case.and_then(|case| {
            // Each file has one fixture under many parameters.
            let is_beside = is_post_merge(&case) && (is_full() || std::mem::take(&mut is_first));
            let done = std::panic::catch_unwind(|| run(&case, fsync, is_beside));
            done.unwrap_or_else(|_| Err("panicked".to_owned()))
        });
        table.add(row, &format!("{row}/{name}"), result);
    }
}

#[test]
fn blockchain_tests() {
    run_all("blockchain-tests", 2, Fsync::None);
}

#[test]
fn eest_blockchain_tests() {
    run_all("eest/blockchain_tests", 1, if is_full() { Fsync::None } else { Fsync::Never });
}
