//! Small chains made by hand: accounts with code, and transactions without real signatures.

use crate::cases::MemoryState;
use alloy_consensus::{Signed, TxLegacy};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, Signature, TxKind, U256, keccak256};
use hearth_evm::{BlockEnvironment, BlockExecutor, ChainSpec};
use hearth_primitives::{Header, Transaction};
use hearth_tracers::{BlockReplay, BlockStats, Limits, TraceConfig, TraceError, TracePlan, trace_block};
use serde_json::Value;
use std::borrow::Cow;

/// Who sends every transaction.
pub const SENDER: Address = Address::with_last_byte(0xaa);

/// A block on a state, at a fork given as configuration.
pub struct World {
    spec: ChainSpec,
    environment: BlockEnvironment,
    state: MemoryState,
    transactions: Vec<Transaction>,
}

impl World {
    /// A world under a geth-format configuration.
    pub fn new(config: &str) -> Self {
        let spec = ChainSpec::from_config_json(config).unwrap();
        let merged = config.contains("terminalTotalDifficulty");
        let header = Header {
            number: 1,
            timestamp: 1,
            gas_limit: 10_000_000_000_000,
            difficulty: U256::from(u8::from(!merged)),
            base_fee_per_gas: spec.is_london(1).then_some(0),
            excess_blob_gas: config.contains("cancunTime").then_some(0),
            ..Header::default()
        };
        let environment = BlockEnvironment::from_header(&spec, &header);
        let mut state = MemoryState::default();
        state.put(SENDER, &U256::ZERO, U256::MAX >> 1, KECCAK256_EMPTY, Bytes::new());
        Self { spec, environment, state, transactions: Vec::new() }
    }

    /// The newest rules that a chain without blobs needs.
    pub fn london() -> Self {
        Self::new(
            r#"{"chainId":1,"homesteadBlock":0,"eip150Block":0,"eip155Block":0,"eip158Block":0,"byzantiumBlock":0,
                "constantinopleBlock":0,"petersburgBlock":0,"istanbulBlock":0,"berlinBlock":0,"londonBlock":0}"#,
        )
    }

    /// Puts a contract.
    pub fn contract(mut self, last_byte: u8, nonce: u64, balance: u64, code: &[u8]) -> Self {
        let address = Address::with_last_byte(last_byte);
        self.state.put(
            address,
            &U256::from(nonce),
            U256::from(balance),
            keccak256(code),
            Bytes::copy_from_slice(code),
        );
        self
    }

    /// Adds a transaction that calls a contract with the sender's next nonce.
    pub fn call(self, last_byte: u8, gas: u64, input: &[u8]) -> Self {
        let nonce = self.transactions.len() as u64;
        self.call_with_nonce(last_byte, gas, input, nonce)
    }

    /// Adds a transaction that calls a contract.
    pub fn call_with_nonce(mut self, last_byte: u8, gas: u64, input: &[u8], nonce: u64) -> Self {
        let to = TxKind::Call(Address::with_last_byte(last_byte));
        let tx = TxLegacy {
            nonce,
            gas_limit: gas,
            to,
            input: Bytes::copy_from_slice(input),
            ..TxLegacy::default()
        };
        let signature = Signature::new(U256::from(1), U256::from(1), false);
        let hash = B256::with_last_byte(self.transactions.len() as u8);
        self.transactions.push(Transaction::Legacy(Signed::new_unchecked(tx, signature, hash)));
        self
    }

    /// A replay of its transactions.
    pub fn replay(&self) -> BlockReplay<'_> {
        let executor = BlockExecutor::new(&self.spec, self.environment.clone(), &self.state, &self.state);
        BlockReplay::over(executor, &self.transactions, Cow::Owned(vec![SENDER; self.transactions.len()]))
    }

    /// The text of the block's trace.
    pub fn trace_text(&self, config: &str, limits: &Limits) -> Result<(String, BlockStats), TraceError> {
        let plan = TracePlan::new(&TraceConfig::parse(config).unwrap()).unwrap();
        let mut out = Vec::new();
        let stats = trace_block(&mut self.replay(), &plan, limits, &mut out)?;
        Ok((String::from_utf8(out).unwrap(), stats))
    }

    /// The block's trace with logs.
    pub fn trace(&self) -> Vec<Value> {
        let config = r#"{"tracer":"callTracer","tracerConfig":{"withLog":true}}"#;
        serde_json::from_str(&self.trace_text(config, &Limits::default()).unwrap().0).unwrap()
    }

    /// The result of the only transaction.
    pub fn only(&self) -> Value {
        let mut all = self.trace();
        assert_eq!(all.len(), 1);
        all.remove(0)["result"].take()
    }
}
