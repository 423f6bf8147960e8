//! The output of empty blocks that is computed without the interpreter, against the interpreter's.

use crate::memory::MemoryState;
use alloy_eips::{eip2935, eip4788, eip7002, eip7251};
use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_evm::{
    BlockEnvironment, BlockExecutor, ChainSpec, GenesisAccount, HISTORY_ADDRESS, SystemAccounts,
    WITHDRAWAL_REQUESTS_ADDRESS, empty_block_output, next_empty_block,
};
use hearth_primitives::{BlockHashes, BlockOutput, Header, Height, StateError};
use std::collections::BTreeMap;

/// Entries of the ring buffers of EIP-2935 and EIP-4788.
const RING: u64 = 8191;

struct NoHashes;

impl BlockHashes for NoHashes {
    fn block_hash(&self, _number: Height) -> Result<B256, StateError> {
        Ok(B256::ZERO)
    }
}

fn alloc() -> BTreeMap<Address, GenesisAccount> {
    let contracts: [(Address, &Bytes); 4] = [
        (eip4788::BEACON_ROOTS_ADDRESS, &eip4788::BEACON_ROOTS_CODE),
        (eip2935::HISTORY_STORAGE_ADDRESS, &eip2935::HISTORY_STORAGE_CODE),
        (eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, &eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_CODE),
        (eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, &eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_CODE),
    ];
    let account = |code: &Bytes| GenesisAccount { nonce: 1, code: code.clone(), ..Default::default() };
    contracts.into_iter().map(|(address, code)| (address, account(code))).collect()
}

fn header(number: u64, timestamp: u64, beacon_root: B256) -> Header {
    Header {
        number,
        timestamp,
        gas_limit: 30_000_000,
        base_fee_per_gas: Some(7),
        parent_hash: B256::left_padding_from(&number.to_be_bytes()),
        excess_blob_gas: Some(0),
        blob_gas_used: Some(0),
        parent_beacon_block_root: Some(beacon_root),
        ..Header::default()
    }
}

fn executed(spec: &ChainSpec, header: &Header, state: &MemoryState) -> BlockOutput {
    let env = BlockEnvironment::from_header(spec, header);
    let mut executor = BlockExecutor::new(spec, env, state, &NoHashes).capturing();
    executor.begin().expect("executes");
    executor.finish(&[], Some(&[])).expect("executes")
}

fn computed(spec: &ChainSpec, header: &Header, state: &MemoryState) -> Option<BlockOutput> {
    empty_block_output(spec, &BlockEnvironment::from_header(spec, header), state).expect("executes")
}

/// An output as text, with what was read in order.
fn facts(mut output: BlockOutput) -> String {
    output.reads.accounts.sort_by_key(|(address, _)| *address);
    output.reads.slots.sort();
    output.reads.codes.sort();
    format!("{output:?}")
}

#[test]
fn computed_and_executed_blocks_are_equal() {
    for network in ["Prague", "Osaka"] {
        let spec = ChainSpec::network(network).expect("a known network");
        let mut state = MemoryState::from_alloc(&alloc());
        let mut known = SystemAccounts::default();
        // Past the end of both rings, with time steps whose ring position returns in another order
        // than that of the heights.
        for number in 1..RING + 300 {
            let beacon_root = B256::from(U256::from(number / 100));
            let header = header(number, 1_000 + number * 3, beacon_root);
            let output = computed(&spec, &header, &state).expect("the contracts are canonical");
            assert_eq!(facts(output.clone()), facts(executed(&spec, &header, &state)), "{network} {number}");
            let env = BlockEnvironment::from_header(&spec, &header);
            let next = next_empty_block(&spec, &env, &state, &mut known).unwrap().unwrap();
            assert_eq!(
                format!("{:?}", next.output()),
                format!("{output:?}"),
                "{network} {number}, on others"
            );
            state.apply_checked(&output.changes).unwrap();
        }
    }
}

#[test]
fn what_must_be_executed_is_not_computed() {
    let (osaka, cancun) = (ChainSpec::network("Osaka").unwrap(), ChainSpec::network("Cancun").unwrap());
    let plain = MemoryState::from_alloc(&alloc());
    assert!(computed(&osaka, &header(1, 12, B256::ZERO), &plain).is_some());
    assert!(computed(&cancun, &header(1, 12, B256::ZERO), &plain).is_none(), "another fork");
    assert!(computed(&osaka, &header(0, 12, B256::ZERO), &plain).is_none(), "the first block");
    let edited = |edit: &dyn Fn(&mut GenesisAccount), address| {
        let mut alloc = alloc();
        edit(alloc.get_mut(&address).unwrap());
        computed(&osaka, &header(1, 12, B256::ZERO), &MemoryState::from_alloc(&alloc))
    };
    let other_code = |account: &mut GenesisAccount| account.code = Bytes::from_static(&[0]);
    assert!(edited(&other_code, HISTORY_ADDRESS).is_none(), "another contract");
    for slot in 0..4 {
        let request = |account: &mut GenesisAccount| {
            account.storage.insert(U256::from(slot), U256::from(1));
        };
        assert!(edited(&request, WITHDRAWAL_REQUESTS_ADDRESS).is_none(), "a queue with slot {slot}");
    }
    let mut without = alloc();
    without.remove(&HISTORY_ADDRESS);
    let without = MemoryState::from_alloc(&without);
    assert!(computed(&osaka, &header(1, 12, B256::ZERO), &without).is_none(), "no contract");
}
