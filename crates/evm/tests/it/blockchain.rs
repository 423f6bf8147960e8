//! Blockchain tests: blocks imported in memory with every check, forks, rejected blocks and the
//! final state.

use crate::{
    fixtures,
    memory::MemoryState,
    state::{PreAccount, alloc},
};
use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_rlp::Decodable as _;
use hearth_evm::{
    Ancestors, ChainSpec, check_output, execute_block, validate_body, validate_header, validate_merge,
};
use hearth_primitives::{Block, BlockHashes, Height, RootTracker as _, StateError};
use rayon::prelude::*;
use serde::Deserialize;
use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    network: String,
    #[serde(rename = "genesisRLP")]
    genesis_rlp: Bytes,
    pre: BTreeMap<Address, PreAccount>,
    blocks: Vec<TestBlock>,
    lastblockhash: B256,
    post_state: Option<BTreeMap<Address, PreAccount>>,
    post_state_hash: Option<B256>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TestBlock {
    rlp: Bytes,
    expect_exception: Option<String>,
}

pub struct Stored {
    pub block: Block,
    pub state: MemoryState,
    pub total: U256,
}

pub struct Chain {
    pub spec: ChainSpec,
    pub blocks: HashMap<B256, Stored>,
    pub head: B256,
}

/// The chain as one block's ancestors see it.
pub struct Branch<'a> {
    pub chain: &'a Chain,
    pub parent: B256,
}

impl BlockHashes for Branch<'_> {
    fn block_hash(&self, number: Height) -> Result<B256, StateError> {
        let mut hash = self.parent;
        while let Some(stored) = self.chain.blocks.get(&hash) {
            if stored.block.header.number == number {
                return Ok(hash);
            }
            hash = stored.block.header.parent_hash;
        }
        Ok(B256::ZERO)
    }
}

impl Ancestors for Branch<'_> {
    fn header(&self, hash: &B256, _number: Height) -> Result<Option<Header>, StateError> {
        Ok(self.chain.blocks.get(hash).map(|stored| stored.block.header.clone()))
    }

    fn ommers(&self, hash: &B256, _number: Height) -> Result<Vec<Header>, StateError> {
        Ok(self.chain.blocks.get(hash).map(|stored| stored.block.body.ommers.clone()).unwrap_or_default())
    }
}

impl Chain {
    pub fn import(&mut self, rlp: &[u8]) -> Result<(), String> {
        let mut rest = rlp;
        let block = Block::decode(&mut rest).map_err(|error| format!("RLP: {error}"))?;
        if !rest.is_empty() {
            return Err("RLP: bytes behind the block".to_string());
        }
        let hash = block.header.hash_slow();
        let parent_hash = block.header.parent_hash;
        let parent = self.blocks.get(&parent_hash).ok_or("unknown parent")?;
        let total = parent.total + block.header.difficulty;
        let mut state = parent.state.clone();
        let (spec, branch) = (&self.spec, Branch { chain: self, parent: parent_hash });
        let text = |error: hearth_evm::BlockError| error.to_string();
        validate_header(spec, &block.header, &parent.block.header).map_err(text)?;
        validate_merge(spec, &block.header, parent.total).map_err(text)?;
        validate_body(spec, &block, &branch).map_err(text)?;
        let output = execute_block(spec, &block, &parent.state, &branch, Some(&mut state)).map_err(text)?;
        check_output(spec, &block.header, &output).map_err(text)?;
        let root = state.root().map_err(|error| error.to_string())?;
        if root != block.header.state_root {
            return Err(format!("state root: expected {root}, got {}", block.header.state_root));
        }
        let wins = spec.is_post_merge(&block.header) || total > self.blocks[&self.head].total;
        self.blocks.insert(hash, Stored { block, state, total });
        if wins {
            self.head = hash;
        }
        Ok(())
    }
}

fn run(case: Case) -> Result<(), String> {
    let spec =
        ChainSpec::network(&case.network).ok_or_else(|| format!("unknown network {}", case.network))?;
    let genesis =
        Block::decode(&mut case.genesis_rlp.as_ref()).map_err(|error| format!("genesis: {error}"))?;
    let state = MemoryState::from_alloc(&alloc(case.pre));
    if state.root_of() != genesis.header.state_root {
        return Err("genesis state root differs".to_string());
    }
    let head = genesis.header.hash_slow();
    let total = genesis.header.difficulty;
    let mut chain =
        Chain { spec, blocks: HashMap::from([(head, Stored { block: genesis, state, total })]), head };
    for (index, block) in case.blocks.iter().enumerate() {
        match (chain.import(&block.rlp), &block.expect_exception) {
            (Ok(()), Some(exception)) => {
                return Err(format!("block {index} was taken, but {exception} was expected"));
            }
            (Err(error), Some(exception)) if std::env::var_os("SHOW_REFUSALS").is_some() => {
                println!("REFUSED {exception} <- {error}")
            }
            (Err(error), None) => return Err(format!("block {index} was refused: {error}")),
            _ => {}
        }
    }
    if chain.head != case.lastblockhash {
        return Err(format!("head: expected {}, got {}", case.lastblockhash, chain.head));
    }
    let state = &chain.blocks[&chain.head].state;
    if let Some(post) = case.post_state {
        let expected = MemoryState::from_alloc(&alloc(post));
        if expected.root_of() != state.root_of() {
            return Err("final state differs".to_string());
        }
    }
    if let Some(root) = case.post_state_hash.filter(|root| *root != state.root_of()) {
        return Err(format!("final state root: expected {root}, got {}", state.root_of()));
    }
    Ok(())
}

fn run_file(path: &Path, folder: &Path) -> fixtures::Table {
    let mut table = fixtures::Table::default();
    let relative = path.strip_prefix(folder).expect("below the folder");
    let group = relative.iter().take(2).map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
    let cases: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(&fixtures::read(path)).expect("the file is a JSON object");
    for (name, value) in cases {
        let result = serde_json::from_value(value)
            .map_err(|error| format!("case does not parse: {error}"))
            .and_then(run);
        table.add(&group, &name, result);
    }
    table
}

fn run_folder(name: &str, fewest: usize) {
    let Some(folder) = fixtures::folder(name) else { return };
    let only = std::env::var("ONLY").unwrap_or_default();
    let paths: Vec<_> =
        fixtures::files(&folder).into_iter().filter(|path| path.to_string_lossy().contains(&only)).collect();
    let table = paths
        .par_iter()
        .map(|path| run_file(path, &folder))
        .reduce(fixtures::Table::default, fixtures::Table::merge);
    let (passed, failed) = table.print(name);
    assert!(failed == 0, "{failed} blockchain tests failed");
    assert!(!only.is_empty() || passed >= fewest, "only {passed} blockchain tests were found");
}

#[test]
fn ethereum_blockchain_tests() {
    run_folder("blockchain-tests", 300);
}

#[test]
fn eest_blockchain_tests() {
    run_folder("eest/blockchain_tests", 2_300);
}
