//! What a block read and wrote is enough to run any of its transactions again.

use crate::{fixtures, memory::MemoryState};
use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_evm::{BlockEnvironment, BlockExecutor, ChainSpec, RecordedCase, execute_block};
use hearth_primitives::{Account, BlockHashes, BlockOutput, Height, StateError, StateReader};
use std::collections::HashMap;

/// Blocks of different ages and sizes.
const BLOCKS: [&str; 5] = ["116525", "2674998", "4864590", "12459406", "19932148"];
/// Every so many transactions one is run again.
const STRIDE: usize = 7;

/// The values that a block read, and nothing else: a read outside of them is an error.
struct Capsule {
    accounts: HashMap<Address, Option<Account>>,
    slots: HashMap<(Address, U256), U256>,
    codes: HashMap<B256, Bytes>,
    hashes: HashMap<Height, B256>,
}

impl Capsule {
    fn new(output: &BlockOutput, state: &MemoryState) -> Self {
        let code = |hash: &B256| (*hash, state.codes[hash].clone());
        Self {
            accounts: output.reads.accounts.iter().copied().collect(),
            slots: output
                .reads
                .slots
                .iter()
                .map(|(address, slot, value)| ((*address, *slot), *value))
                .collect(),
            codes: output.reads.codes.iter().map(code).collect(),
            hashes: output.reads.block_hashes.iter().copied().collect(),
        }
    }
}

impl StateReader for Capsule {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        self.accounts
            .get(address)
            .copied()
            .ok_or_else(|| StateError::Store(format!("account {address} was not read")))
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        let value = self.slots.get(&(*address, *slot)).copied();
        value.ok_or_else(|| StateError::Store(format!("slot {slot} of {address} was not read")))
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        self.codes.get(hash).cloned().ok_or(StateError::MissingCode(*hash))
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        let own = self.slots.iter().filter(|((owner, _), value)| owner == address && !value.is_zero());
        Ok(own.map(|((_, slot), value)| (*slot, *value)).collect())
    }
}

impl BlockHashes for Capsule {
    fn block_hash(&self, number: Height) -> Result<B256, StateError> {
        self.hashes
            .get(&number)
            .copied()
            .ok_or_else(|| StateError::Store(format!("hash {number} was not read")))
    }
}

#[test]
fn a_capsule_replays_a_block() {
    let Some(folder) = fixtures::folder("mainnet-blocks") else { return };
    let spec = ChainSpec::mainnet();
    for name in BLOCKS {
        let case = RecordedCase::parse_json(&fixtures::read(&folder.join(format!("{name}.json.gz"))));
        let case = case.expect("the case is right");
        let state = MemoryState::from_alloc(&case.pre_state);
        let block = case.block();
        let output = execute_block(&spec, &block, &state, &case, None).expect("the block is valid");
        let capsule = Capsule::new(&output, &state);
        let again =
            execute_block(&spec, &block, &capsule, &capsule, None).expect("the capsule has all reads");
        assert_eq!(again.writes, output.writes, "block {name}");
        assert_eq!(again.changes, output.changes, "block {name}");
        assert_eq!(again.receipts, output.receipts, "block {name}");
        let env = BlockEnvironment::from_header(&spec, &block.header);
        for (index, tx) in block.body.transactions.iter().enumerate().step_by(STRIDE) {
            let mut executor = BlockExecutor::new(&spec, env.clone(), &capsule, &capsule);
            executor.apply_writes(&output.writes[..=index]).expect("write sets apply");
            executor.transact(tx, output.senders[index]).expect("the transaction is valid");
            assert_eq!(
                executor.writes().last(),
                Some(&output.writes[index + 1]),
                "block {name}, transaction {index}"
            );
        }
    }
}
