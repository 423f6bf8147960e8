//! Simulated blocks on a development chain in memory: limits, validation, transfers, precompiles,
//! state that blocks share.

use crate::memory::MemoryState;
use alloy_consensus::{Header, Transaction as _};
use alloy_primitives::{Address, B256, Bytes, U256, address, b256};
use hearth_evm::{
    CONSOLIDATION_REQUESTS_ADDRESS, CallFailure, CallLimits, CallSite, ChainSpec, GenesisAccount,
    SimulateError, SimulateRequest, SimulatedBlock, SimulatedCall, WITHDRAWAL_REQUESTS_ADDRESS,
    simulate_blocks, unnamed,
};
use hearth_primitives::{BlockHashes, Changeset, Height, RootTracker, StateError};
use serde_json::{Value, json};
use std::{collections::BTreeMap, num::NonZeroU64, sync::atomic::AtomicBool, time::Duration};

const RICH: Address = address!("0x1000000000000000000000000000000000000001");
const CONTRACT: Address = address!("0x2000000000000000000000000000000000000002");
const POOR: Address = address!("0x3000000000000000000000000000000000000003");
const ETHER: Address = address!("0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee");
const TRANSFER: B256 = b256!("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
const GAS_CAP: Option<NonZeroU64> = NonZeroU64::new(50_000_000);

struct Hashes;

impl BlockHashes for Hashes {
    fn block_hash(&self, number: Height) -> Result<B256, StateError> {
        Ok(B256::repeat_byte(number as u8))
    }
}

/// A trie whose accounts may change without their old values being right.
struct Roots(MemoryState);

impl RootTracker for Roots {
    fn apply(&mut self, changes: &Changeset) -> Result<(), StateError> {
        for change in &changes.accounts {
            match change.new {
                Some(account) => self.0.accounts.insert(change.address, account),
                None => self.0.accounts.remove(&change.address),
            };
            if change.wiped || change.new.is_none() {
                self.0.storage.remove(&change.address);
            }
            let slots = self.0.storage.entry(change.address).or_default();
            for slot in &change.storage {
                slots.insert(slot.slot, slot.new);
            }
            slots.retain(|_, value| !value.is_zero());
        }
        Ok(())
    }

    fn root(&mut self) -> Result<B256, StateError> {
        Ok(self.0.root_of())
    }
}

struct Bench {
    spec: ChainSpec,
    header: Header,
    state: MemoryState,
    gas_cap: Option<NonZeroU64>,
}

impl Bench {
    /// A chain with `code` at [`CONTRACT`], which holds 1,000 wei.
    fn new(code: &str) -> Self {
        let account = |balance: u64, code: &str| GenesisAccount {
            balance: U256::from(balance),
            code: code.parse::<Bytes>().expect("hex"),
            ..GenesisAccount::default()
        };
        let state = MemoryState::from_alloc(&BTreeMap::from([
            (RICH, account(10u64.pow(18), "0x")),
            (CONTRACT, account(1_000, code)),
            (WITHDRAWAL_REQUESTS_ADDRESS, account(0, "0x00")),
            (CONSOLIDATION_REQUESTS_ADDRESS, account(0, "0x00")),
        ]));
        let header = Header {
            number: 5,
            timestamp: 1_000,
            gas_limit: 30_000_000,
            gas_used: 15_000_000,
            base_fee_per_gas: Some(1_000_000_000),
            excess_blob_gas: Some(0),
            blob_gas_used: Some(0),
            beneficiary: address!("0x4000000000000000000000000000000000000004"),
            ..Header::default()
        };
        Self { spec: ChainSpec::dev(31_337), header, state, gas_cap: GAS_CAP }
    }

    fn with_limits(
        &self,
        request: Value,
        limits: &CallLimits<'_>,
    ) -> Result<Vec<SimulatedBlock>, SimulateError> {
        let request: SimulateRequest = serde_json::from_value(request).expect("a request");
        let site = CallSite {
            spec: &self.spec,
            chain_id: self.spec.chain_id(),
            header: &self.header,
            state: &self.state,
            hashes: &Hashes,
            observe: unnamed,
        };
        simulate_blocks(site, &mut Roots(self.state.clone()), &request, limits)
    }

    fn run(&self, request: Value) -> Result<Vec<SimulatedBlock>, SimulateError> {
        self.with_limits(request, &CallLimits { gas_cap: self.gas_cap, ..CallLimits::default() })
    }

    /// One block of calls.
    fn calls(&self, calls: Value, transfers: bool) -> Vec<SimulatedCall> {
        let request = json!({ "blockStateCalls": [{ "calls": calls }], "traceTransfers": transfers });
        self.run(request).expect("builds").remove(0).calls
    }

    /// Kind and text of the error that one block ends with.
    fn refusal(&self, block: Value, validation: bool) -> (&'static str, String) {
        let request = json!({ "blockStateCalls": [block], "validation": validation });
        let error = self.run(request).expect_err("refused");
        (error.kind(), error.to_string())
    }
}

fn call(from: Address, to: Address) -> Value {
    json!({ "from": from, "to": to, "gas": "0x30000" })
}

#[test]
fn as_many_blocks_and_calls_as_the_limits_say() {
    let bench = Bench::new("0x00");
    let empty = bench.run(json!({ "blockStateCalls": [] })).expect_err("nothing asked for");
    assert_eq!((empty.kind(), empty.to_string().as_str()), ("invalid_params", "empty input"));
    let blocks = |count: usize| json!({ "blockStateCalls": vec![json!({}); count] });
    assert_eq!(bench.run(blocks(256)).expect("as many as allowed").len(), 256);
    let many = bench.run(blocks(257)).expect_err("one too many");
    assert_eq!((many.kind(), many.to_string().as_str()), ("client_limit", "too many blocks"));
    let calls = json!({ "blockStateCalls": [{ "calls": vec![json!({}); 10_001] }] });
    let calls = bench.run(calls).expect_err("too many calls");
    assert_eq!(calls.to_string(), "too many calls: 10001, at most 10000 are allowed");
}

#[test]
fn the_gas_of_all_blocks_is_capped() {
    // An endless loop uses all the gas that it gets.
    let mut bench = Bench::new("0x5b5f56");
    bench.gas_cap = NonZeroU64::new(100_000);
    let first = json!({ "calls": [{ "to": CONTRACT, "gas": "0xea60" }] });
    let request = json!({ "blockStateCalls": [first, { "calls": [{ "to": CONTRACT }] }] });
    let blocks = bench.run(request).expect("builds");
    let used: Vec<u64> = blocks.iter().map(|block| block.calls[0].gas_used).collect();
    assert_eq!(used, [60_000, 40_000]);
    assert_eq!(blocks[1].calls[0].failure, Some(CallFailure::Halted("out of gas".to_owned())));
    let request = json!({ "blockStateCalls": [{ "calls": [{ "to": CONTRACT }, { "to": CONTRACT }] }] });
    let error = bench.run(request).expect_err("nothing is left");
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        ("call_invalid", "err: gas limit reached (supplied gas 29900000)")
    );
}

#[test]
fn a_block_has_no_more_gas_than_its_limit() {
    let bench = Bench::new("0x5b5f56");
    let block = json!({
        "blockOverrides": { "gasLimit": "0x186a0" },
        "calls": [{ "to": CONTRACT, "gas": "0xea60" }, { "to": CONTRACT, "gas": "0x9c41" }],
    });
    assert_eq!(
        bench.refusal(block, false),
        ("block_gas_limit", "block gas limit reached: 60000 >= 100000".to_owned())
    );
}

#[test]
fn validation_is_that_of_a_block() {
    let bench = Bench::new("0x00");
    let priced = |more: Value| {
        let mut call = json!({ "from": RICH, "to": POOR, "gas": "0x5208", "maxFeePerGas": "0x77359400" });
        call.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        json!({ "calls": [call] })
    };
    for (block, kind, text) in [
        (priced(json!({ "nonce": "0x1" })), "nonce_too_high", "nonce too high: address RICH, tx: 1 state: 0"),
        (
            json!({ "stateOverrides": { (RICH.to_string()): { "nonce": "0x5" } },
                "calls": [{ "from": RICH, "gas": "0x5208", "nonce": "0x4" }] }),
            "nonce_too_low",
            "nonce too low: address RICH, tx: 4 state: 5",
        ),
        (
            priced(json!({ "maxFeePerGas": "0x3b9ac9ff" })),
            "fee_cap_too_low",
            "max fee per gas less than block base fee: address RICH, maxFeePerGas: 999999999, baseFee: 1000000000",
        ),
        (
            json!({ "calls": [{ "from": RICH, "gas": "0x5208" }] }),
            "fee_cap_too_low",
            "max fee per gas less than block base fee: address RICH, maxFeePerGas: 0, baseFee: 1000000000",
        ),
        (
            priced(json!({ "maxPriorityFeePerGas": "0x77359401" })),
            "invalid_params",
            "max priority fee per gas higher than max fee per gas: address RICH, maxPriorityFeePerGas: 2000000001, maxFeePerGas: 2000000000",
        ),
        (
            priced(json!({ "value": "0xde0b6b3a7640000" })),
            "insufficient_funds",
            "insufficient funds for gas * price + value: address RICH have 1000000000000000000 want 1000042000000000000",
        ),
    ] {
        let text = text.replace("RICH", &RICH.to_string());
        assert_eq!(bench.refusal(block, true), (kind, format!("err: {text} (supplied gas 21000)")));
    }
    let code = format!("0x{}", "00".repeat(49_153));
    let block = json!({ "calls": [{ "from": RICH, "input": code, "gas": "0x1000000" }] });
    assert_eq!(
        bench.refusal(block, false),
        (
            "init_code_too_long",
            "err: max initcode size exceeded: code size 49153 limit 49152 (supplied gas 16777216)".to_owned()
        )
    );
    let block = json!({ "calls": [{ "from": RICH, "input": code, "gas": "0x5208" }] });
    assert_eq!(
        bench.refusal(block, false),
        (
            "intrinsic_gas_too_low",
            "err: intrinsic gas too low: have 21000, want 252686 (supplied gas 21000)".to_owned()
        )
    );
    // The base fee stays, since half of the parent's gas was used; the tip is the recipient's.
    let block = priced(json!({ "maxPriorityFeePerGas": "0x7" }));
    let mut blocks = bench.run(json!({ "blockStateCalls": [block, {}], "validation": true })).expect("valid");
    let (second, first) = (blocks.pop().expect("two"), blocks.pop().expect("two"));
    assert_eq!(first.block.header.base_fee_per_gas, Some(1_000_000_000));
    assert_eq!(second.block.header.base_fee_per_gas, Some(875_175_000));
    assert_eq!(second.block.header.parent_hash, first.hash);
}

#[test]
fn contracts_send_and_nonces_are_free_without_validation() {
    let bench = Bench::new("0x00");
    let calls =
        bench.calls(json!([{ "from": CONTRACT, "to": POOR, "value": "0x3e8", "nonce": "0x63" }]), false);
    assert_eq!((calls[0].gas_used, calls[0].failure.clone()), (21_000, None));
}

#[test]
fn blobs_count_in_blob_transactions_alone() {
    let bench = Bench::new("0x00");
    let blobs = format!("0x01{}", "00".repeat(31));
    let used = |price: &str| {
        let call = json!({
            "from": RICH, "to": POOR, "gas": "0x5208", "blobVersionedHashes": [blobs],
            "maxFeePerBlobGas": "0x1", (price): "0x3b9aca00",
        });
        let mut made = bench.run(json!({ "blockStateCalls": [{ "calls": [call] }] })).expect("builds");
        made.remove(0).block.header.blob_gas_used
    };
    assert_eq!(used("maxFeePerGas"), Some(131_072));
    // With a gas price it is a legacy transaction.
    assert_eq!(used("gasPrice"), Some(0));
}

/// Sender, recipient and amount of logs that are transfers.
fn transfers(call: &SimulatedCall) -> Vec<(u64, Address, Address, u64)> {
    let parties = |log: &hearth_evm::SimulatedLog| {
        assert_eq!((log.log.address, log.log.topics()[0]), (ETHER, TRANSFER));
        let at = |topic: usize| Address::from_word(log.log.topics()[topic]);
        (log.index, at(1), at(2), U256::from_be_slice(&log.log.data.data).to::<u64>())
    };
    call.logs.iter().map(parties).collect()
}

#[test]
fn transfers_of_frames_that_fail_are_dropped_and_leave_a_gap() {
    // CALL(gas, POOR, 5, ...), then CALL(gas, CONTRACT, 7, one byte of call data); with call data:
    // LOG0 and REVERT.
    let poor = &POOR.to_string()[2..];
    let own = &CONTRACT.to_string()[2..];
    let code = format!("0x366042575f5f5f5f600573{poor}5af1505f5f60015f600773{own}5af150005b5f5fa05f5ffd");
    let bench = Bench::new(&code);
    let value = json!({ "from": RICH, "to": CONTRACT, "value": "0x3", "gas": "0x30000" });
    let calls = bench.calls(json!([value, call(RICH, CONTRACT)]), true);
    assert_eq!(calls[0].failure, None);
    assert_eq!(transfers(&calls[0]), [(0, RICH, CONTRACT, 3), (1, CONTRACT, POOR, 5)]);
    // Two places went to what the inner call did before it reverted: its transfer and its log.
    assert_eq!(transfers(&calls[1]), [(4, CONTRACT, POOR, 5)]);
    // Transfers are off by default, and log indexes then count logs only.
    let calls = bench.calls(json!([call(RICH, CONTRACT)]), false);
    assert_eq!(calls[0].logs, []);
}

#[test]
fn creations_and_self_destructs_transfer_and_callcode_does_not() {
    // CALLCODE(gas, POOR, 5, ...), then CREATE(9 wei, no code), then SELFDESTRUCT to POOR.
    let poor = &POOR.to_string()[2..];
    let code = format!("0x5f5f5f5f600573{poor}5af2505f5f6009f05073{poor}ff");
    let bench = Bench::new(&code);
    let created = CONTRACT.create(0);
    let calls = bench.calls(json!([call(RICH, CONTRACT)]), true);
    assert_eq!(calls[0].failure, None);
    assert_eq!(transfers(&calls[0]), [(0, CONTRACT, created, 9), (1, CONTRACT, POOR, 991)]);
    // To itself: nothing moves (EIP-6780), and it is a transfer all the same.
    let own = &CONTRACT.to_string()[2..];
    let calls = Bench::new(&format!("0x73{own}ff")).calls(json!([call(RICH, CONTRACT)]), true);
    assert_eq!(transfers(&calls[0]), [(0, CONTRACT, CONTRACT, 1_000)]);
    // A transaction that reverts has no logs, but its reason.
    let calls = Bench::new("0x60015f5360015ffd").calls(
        json!([{ "from": RICH, "to": CONTRACT, "value": "0x1", "gas": "0x30000" }, call(RICH, POOR)]),
        true,
    );
    assert_eq!(calls[0].logs, []);
    assert_eq!(calls[0].output, Bytes::new());
    assert_eq!(calls[0].failure, Some(CallFailure::Reverted(Bytes::from_static(&[1]))));
}

#[test]
fn a_moved_precompile_is_back_in_the_next_block() {
    let bench = Bench::new("0x00");
    let identity = address!("0x0000000000000000000000000000000000000004");
    let at = |to: Address| json!({ "from": RICH, "to": to, "input": "0x1234", "gas": "0x30000" });
    let calls = json!([at(identity), at(POOR)]);
    let moved = json!({ (identity.to_string()): { "movePrecompileToAddress": POOR } });
    let request = json!({ "blockStateCalls": [
        { "stateOverrides": moved, "calls": calls },
        { "calls": calls },
    ]});
    let blocks = bench.run(request).expect("builds");
    let texts = |calls: &[SimulatedCall]| -> Vec<String> {
        calls.iter().map(|call| call.output.to_string()).collect()
    };
    let outputs: Vec<_> = blocks.iter().map(|block| texts(&block.calls)).collect();
    let (moved, back): (Vec<&str>, Vec<&str>) = (vec!["0x", "0x1234"], vec!["0x1234", "0x"]);
    assert_eq!(outputs, [moved, back]);
    for (overrides, text) in [
        (
            json!({ (identity.to_string()): { "movePrecompileToAddress": identity } }),
            format!("account {identity} is already overridden"),
        ),
        (
            json!({ (CONTRACT.to_string()): { "movePrecompileToAddress": POOR } }),
            format!("account {CONTRACT} is not a precompile"),
        ),
    ] {
        let refusal = bench.refusal(json!({ "stateOverrides": overrides }), false);
        assert_eq!(refusal, ("execution_failed", text));
    }
}

#[test]
fn blocks_see_the_hashes_and_the_state_of_those_before_them() {
    // Returns BLOCKHASH(call data word).
    let bench = Bench::new("0x5f35405f5260205ff3");
    let ask = |number: u64| json!({ "from": RICH, "to": CONTRACT, "input": format!("0x{number:064x}"), "gas": "0x30000" });
    let blocks = bench
        .run(json!({ "blockStateCalls": [
            { "calls": [{ "from": RICH, "to": POOR, "value": "0x7", "gas": "0x30000" }] },
            { "blockOverrides": { "number": "0x8" }, "calls": [ask(4), ask(5), ask(6), ask(7), ask(8)] },
            { "calls": [{ "from": POOR, "to": RICH, "value": "0x7", "gas": "0x30000" }] },
        ]}))
        .expect("builds");
    let numbers: Vec<u64> = blocks.iter().map(|block| block.block.header.number).collect();
    assert_eq!(numbers, [6, 7, 8, 9]);
    let outputs: Vec<B256> = blocks[2].calls.iter().map(|call| B256::from_slice(&call.output)).collect();
    let base = bench.header.hash_slow();
    assert_eq!(outputs, [B256::repeat_byte(4), base, blocks[0].hash, blocks[1].hash, B256::ZERO]);
    assert_eq!(blocks[3].calls[0].failure, None);
    let header = &blocks[3].block.header;
    assert_eq!((header.beneficiary, header.gas_limit), (bench.header.beneficiary, 30_000_000));
}

#[test]
fn withdrawals_and_the_beacon_root_are_of_the_block() {
    let bench = Bench::new("0x00");
    let root = B256::repeat_byte(0x11);
    let withdrawal = json!({ "index": "0x1", "validatorIndex": "0x2", "address": POOR, "amount": "0x3" });
    let block = json!({ "blockOverrides": { "beaconRoot": root, "withdrawals": [withdrawal] } });
    let spend = json!({ "calls": [{ "from": POOR, "to": RICH, "value": "0xb2d05e00", "gas": "0x5208" }] });
    let blocks = bench.run(json!({ "blockStateCalls": [block, spend] })).expect("builds");
    let header = &blocks[0].block.header;
    assert_eq!(header.parent_beacon_block_root, Some(root));
    assert_ne!(header.withdrawals_root, blocks[1].block.header.withdrawals_root);
    let list = blocks[0].block.body.withdrawals.as_ref().expect("from Shanghai on");
    assert_eq!((list.len(), list[0].amount), (1, 3));
    // Three gwei, all of which the second block spends: the account is gone again.
    assert_eq!(blocks[1].calls[0].failure, None);
}

#[test]
fn system_contracts_that_fail_end_the_simulation() {
    let bench = Bench::new("0x00");
    let broken = json!({ (WITHDRAWAL_REQUESTS_ADDRESS.to_string()): { "code": "0xfe" } });
    let (kind, text) = bench.refusal(json!({ "stateOverrides": broken }), false);
    assert_eq!(kind, "execution_failed");
    assert!(text.contains("EIP-7002"), "{text}");
}

#[test]
fn it_ends_in_time_and_when_it_is_given_up() {
    let bench = Bench::new("0x5b600056");
    let request = json!({ "blockStateCalls": [
        { "blockOverrides": { "gasLimit": "0xffffffffffffff" }, "calls": [{ "to": CONTRACT }] },
    ]});
    let limits = CallLimits { gas_cap: None, timeout: Some(Duration::from_millis(50)), cancel: None };
    let error = bench.with_limits(request.clone(), &limits).expect_err("aborted");
    assert_eq!(error.to_string(), "execution aborted (timeout = 50ms)");
    // go-ethereum takes it for a call that cannot be made (internal/ethapi/errors.go).
    assert_eq!(error.kind(), "call_invalid");
    let given_up = AtomicBool::new(true);
    let limits = CallLimits { cancel: Some(&given_up), ..CallLimits::default() };
    assert!(matches!(bench.with_limits(request, &limits), Err(SimulateError::Aborted(_))));
}

#[test]
fn the_highest_nonce_wraps_and_creates_nothing() {
    let bench = Bench::new("0x");
    let poor = POOR.to_string();
    let nonces = |block: &SimulatedBlock| -> Vec<u64> {
        block.block.body.transactions.iter().map(|tx| tx.nonce()).collect()
    };
    let state = json!({ poor.clone(): { "nonce": "0xffffffffffffffff", "balance": "0x5" } });
    let calls = json!([call(POOR, RICH), call(POOR, RICH)]);
    let request = json!({ "blockStateCalls": [{ "stateOverrides": state, "calls": calls }] });
    let blocks = bench.run(request).expect("builds");
    assert_eq!(nonces(&blocks[0]), [u64::MAX, 0]);
    // The number before is used up as ever.
    let before = json!({ poor: { "nonce": "0xfffffffffffffffe" } });
    let request = json!({ "blockStateCalls": [{ "stateOverrides": before, "calls": calls }] });
    assert_eq!(nonces(&bench.run(request).expect("builds")[0]), [u64::MAX - 1, u64::MAX]);
    // A creation returns its gas, and moves no ether.
    let create = json!([{ "from": POOR, "input": "0x60006000f3", "value": "0x1", "gas": "0x20000" }]);
    let block = json!({ "stateOverrides": state, "calls": create });
    let request = json!({ "blockStateCalls": [block], "traceTransfers": true });
    let created = bench.run(request).expect("builds").remove(0).calls.remove(0);
    assert_eq!(created.failure, Some(CallFailure::Halted("nonce uint64 overflow".to_owned())));
    assert_eq!((created.gas_used, created.logs.len()), (0xcf42, 0));
}
