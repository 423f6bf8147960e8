//! State in memory, from the allocations that fixtures carry.

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use hearth_evm::{BlockEnvironment, BlockExecutor, ChainSpec, Fork, recover_sender};
use hearth_primitives::{
    Account, Block, BlockHashes, Changeset, Header, Height, StateError, StateReader, Transaction,
};
use hearth_tracers::BlockReplay;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// A whole state in memory.
#[derive(Clone, Default)]
pub struct MemoryState {
    accounts: HashMap<Address, Account>,
    storage: HashMap<Address, BTreeMap<U256, U256>>,
    codes: HashMap<B256, Bytes>,
    hashes: HashMap<Height, B256>,
}

/// A quantity as text in base 16 or 10, or as a number.
pub fn quantity(value: &Value) -> U256 {
    match value {
        Value::String(text) => text.parse().unwrap_or_else(|e| panic!("{text}: {e}")),
        Value::Number(number) => U256::from(number.as_u64().unwrap()),
        Value::Null => U256::ZERO,
        other => panic!("no quantity: {other}"),
    }
}

impl MemoryState {
    /// The state of a geth-format allocation.
    pub fn from_alloc(alloc: &Value) -> Self {
        let mut state = Self::default();
        for (address, fields) in alloc.as_object().unwrap() {
            let address: Address = address.parse().unwrap();
            let code: Bytes = fields.get("code").and_then(Value::as_str).unwrap_or("0x").parse().unwrap();
            let code_hash = if code.is_empty() { KECCAK256_EMPTY } else { keccak256(&code) };
            state.put(address, &quantity(&fields["nonce"]), quantity(&fields["balance"]), code_hash, code);
            for (slot, value) in fields.get("storage").and_then(Value::as_object).into_iter().flatten() {
                let value = quantity(value);
                if !value.is_zero() {
                    state.storage.entry(address).or_default().insert(slot.parse().unwrap(), value);
                }
            }
        }
        state
    }

    /// Applies what a block changed.
    pub fn apply(&mut self, changes: &Changeset) {
        for change in &changes.accounts {
            let slots = self.storage.entry(change.address).or_default();
            for slot in &change.storage {
                match slot.new.is_zero() {
                    true => slots.remove(&slot.slot),
                    false => slots.insert(slot.slot, slot.new),
                };
            }
            match change.new {
                Some(account) => self.accounts.insert(change.address, account),
                None => self.accounts.remove(&change.address),
            };
        }
        self.codes.extend(changes.codes.iter().cloned());
    }

    /// Puts an account.
    pub fn put(&mut self, address: Address, nonce: &U256, balance: U256, code_hash: B256, code: Bytes) {
        self.accounts.insert(address, Account { nonce: nonce.to(), balance, code_hash });
        self.codes.insert(code_hash, code);
    }
}

impl StateReader for MemoryState {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        Ok(self.accounts.get(address).copied())
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        Ok(self.storage.get(address).and_then(|s| s.get(slot)).copied().unwrap_or_default())
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        self.codes.get(hash).cloned().ok_or(StateError::MissingCode(*hash))
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        Ok(self.storage.get(address).into_iter().flatten().map(|(k, v)| (*k, *v)).collect())
    }
}

impl BlockHashes for MemoryState {
    fn block_hash(&self, number: Height) -> Result<B256, StateError> {
        Ok(self.hashes.get(&number).copied().unwrap_or_default())
    }
}

/// A recorded mainnet block with the state that it touches.
pub struct MainnetCase {
    pub block: Block,
    pub state: MemoryState,
}

impl MainnetCase {
    pub fn parse(case: &Value) -> Self {
        let json = &case["block"];
        let header: Header = serde_json::from_value(json.clone()).unwrap();
        let transactions: Vec<Transaction> = serde_json::from_value(json["transactions"].clone()).unwrap();
        let mut state = MemoryState::from_alloc(&case["preState"]);
        state.hashes.insert(header.number - 1, header.parent_hash);
        for (number, hash) in case["blockHashes"].as_object().unwrap() {
            state.hashes.insert(number.parse().unwrap(), hash.as_str().unwrap().parse().unwrap());
        }
        let withdrawals = json.get("withdrawals").map(|w| serde_json::from_value(w.clone()).unwrap());
        let body = alloy_consensus::BlockBody { transactions, ommers: Vec::new(), withdrawals };
        Self { block: Block { header, body }, state }
    }
}

/// One of go-ethereum's tracer tests.
pub struct TraceTest {
    spec: ChainSpec,
    environment: BlockEnvironment,
    transaction: Transaction,
    state: MemoryState,
}

impl TraceTest {
    pub fn parse(case: &Value) -> Self {
        let (genesis, context) = (&case["genesis"], &case["context"]);
        let spec = ChainSpec::from_config_json(&genesis["config"].to_string()).unwrap();
        let number: u64 = quantity(&context["number"]).to();
        let timestamp: u64 = quantity(&context["timestamp"]).to();
        let merged = spec.terminal_total_difficulty().is_some_and(|d| d.is_zero());
        let fork = spec.fork_with_merge(number, timestamp, merged);
        // go-ethereum gives these blocks no excess blob gas, which makes the blob base fee one wei.
        let blobs = fork >= Fork::Cancun;
        let environment = BlockEnvironment {
            chain_id: spec.chain_id(),
            number,
            timestamp,
            beneficiary: context["miner"].as_str().unwrap().parse().unwrap(),
            gas_limit: quantity(&context["gasLimit"]).to(),
            base_fee: spec.is_london(number).then(|| quantity(&context["baseFeePerGas"]).to()),
            difficulty: quantity(&context["difficulty"]),
            prev_randao: merged.then(|| genesis["mixHash"].as_str().unwrap().parse().unwrap()),
            excess_blob_gas: blobs.then_some(0),
            blob_base_fee: blobs.then_some(1),
            parent_hash: B256::ZERO,
            parent_beacon_root: None,
            fork,
            max_blob_gas: spec.blob_params(timestamp).map_or(0, |p| p.max_blob_gas()),
            code_size_limit: spec.code_size_limit(),
        };
        let bytes: Bytes = case["input"].as_str().unwrap().parse().unwrap();
        let transaction = alloy_eips::eip2718::Decodable2718::decode_2718(&mut &bytes[..]).unwrap();
        Self { spec, environment, transaction, state: MemoryState::from_alloc(&genesis["alloc"]) }
    }

    /// A replay that stands before the transaction.
    pub fn replay(&self) -> BlockReplay<'_> {
        let sender = recover_sender(&self.spec, &self.environment, &self.transaction).unwrap();
        let executor = BlockExecutor::new(&self.spec, self.environment.clone(), &self.state, &self.state);
        BlockReplay::over(executor, std::slice::from_ref(&self.transaction), Cow::Owned(vec![sender]))
    }
}
