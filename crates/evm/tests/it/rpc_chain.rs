//! The execution-apis chain: 54 blocks through every fork from Frontier to the second blob
//! schedule, with a check of every root, and the recorded calls on it.

use crate::{
    blockchain::{Branch, Chain, Stored},
    fixtures,
    memory::MemoryState,
};
use alloy_consensus::BlockBody;
use alloy_primitives::{Bytes, U64};
use alloy_rlp::{Decodable as _, Header as RlpHeader};
use hearth_evm::{
    CallError, CallLimits, CallRequest, CallSite, ChainSpec, Fork, call, estimate_gas, unnamed,
};
use hearth_primitives::Block;
use serde_json::Value;
use std::{collections::HashMap, path::Path};

/// The chain after its last block; `None` without fixtures.
fn import() -> Option<Chain> {
    let folder = fixtures::folder("rpc-compat")?;
    let genesis = std::fs::read_to_string(folder.join("genesis.json")).expect("genesis.json is there");
    let (spec, genesis) = ChainSpec::from_genesis_json(&genesis).expect("the genesis file is right");
    let rlp = std::fs::read(folder.join("chain.rlp")).expect("chain.rlp is there");
    let state = MemoryState::from_alloc(genesis.alloc());
    let header = genesis.header(state.root_of());
    let (head, total) = (header.hash_slow(), header.difficulty);
    let block = Block { header, body: BlockBody { withdrawals: None, ..Default::default() } };
    let mut chain = Chain { spec, blocks: HashMap::from([(head, Stored { block, state, total })]), head };
    let mut rest = rlp.as_slice();
    while !rest.is_empty() {
        let mut body = rest;
        let header = RlpHeader::decode(&mut body).expect("a block is an RLP list");
        let length = rest.len() - body.len() + header.payload_length;
        let (block, behind) = rest.split_at(length);
        let decoded = Block::decode(&mut &block[..]).expect("a block decodes");
        if decoded.header.number == 0 {
            assert_eq!(decoded.header.hash_slow(), chain.head, "block 0 is the genesis");
        } else {
            chain.import(block).unwrap_or_else(|error| panic!("block {}: {error}", decoded.header.number));
        }
        rest = behind;
    }
    Some(chain)
}

#[test]
fn every_block_verifies() {
    let Some(chain) = import() else { return };
    let head = &chain.blocks[&chain.head].block.header;
    assert_eq!(head.number, 54);
    let mut forks: Vec<Fork> =
        chain.blocks.values().map(|stored| chain.spec.fork_of(&stored.block.header)).collect();
    forks.sort_unstable();
    forks.dedup();
    assert_eq!(forks.first(), Some(&Fork::Homestead));
    assert_eq!(forks.last(), Some(&Fork::Osaka));
    // All but Frontier: Homestead begins at 0 there.
    assert_eq!(forks.len(), 17, "{forks:?}");
}

/// Requests and responses of one file; none where an answer is free in form.
fn exchanges(path: &Path) -> Vec<(Value, Value)> {
    let text = std::fs::read_to_string(path).expect("the case is readable");
    let lines = |mark: &str| -> Vec<Value> {
        let found = text.lines().filter_map(|line| line.strip_prefix(mark));
        found.map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
    };
    lines(">> ").into_iter().zip(lines("<< ")).collect()
}

fn answer(chain: &Chain, method: &str, params: &Value) -> Value {
    let stored = &chain.blocks[&chain.head];
    let branch = Branch { chain, parent: stored.block.header.parent_hash };
    let site = CallSite {
        spec: &chain.spec,
        chain_id: chain.spec.chain_id(),
        header: &stored.block.header,
        state: &stored.state,
        hashes: &branch,
        observe: unnamed,
    };
    let request: CallRequest = serde_json::from_value(params[0].clone()).expect("a call object");
    let limits = CallLimits::default();
    let result: Result<Value, CallError> = if method == "eth_call" {
        call(site, &request, None, None, &limits)
            .and_then(|outcome| outcome.into_output())
            .map(|data: Bytes| Value::from(data.to_string()))
    } else {
        estimate_gas(site, &request, None, None, &limits)
            .map(|gas| serde_json::to_value(U64::from(gas)).expect("a quantity"))
    };
    match result {
        Ok(result) => serde_json::json!({ "result": result }),
        Err(error) => {
            let mut body = serde_json::json!({ "code": error.code(), "message": error.to_string() });
            if let Some(data) = error.data() {
                body["data"] = Value::from(data.to_string());
            }
            serde_json::json!({ "error": body })
        }
    }
}

#[test]
fn recorded_calls() {
    let Some(chain) = import() else { return };
    let Some(folder) = fixtures::folder("rpc-compat") else { return };
    let mut count = 0;
    for method in ["eth_call", "eth_estimateGas"] {
        for entry in std::fs::read_dir(folder.join(method)).expect("the folder of the method").flatten() {
            for (request, mut expected) in exchanges(&entry.path()) {
                for field in ["jsonrpc", "id"] {
                    expected.as_object_mut().expect("an object").remove(field);
                }
                assert_eq!(
                    answer(&chain, method, &request["params"]),
                    expected,
                    "{}",
                    entry.path().display()
                );
                count += 1;
            }
        }
    }
    assert_eq!(count, 10);
}
