//! Calls with overrides, limits and errors, on a development chain in memory.

use crate::memory::MemoryState;
use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, U256, address};
use hearth_evm::{
    BlockOverrides, CallError, CallLimits, CallRequest, CallSite, CallStatus, ChainSpec, CreatedAccessList,
    GenesisAccount, StateOverrides, call, create_access_list, estimate_gas, unnamed,
};
use hearth_primitives::{BlockHashes, Height, StateError};
use std::{collections::BTreeMap, num::NonZeroU64, sync::atomic::AtomicBool, time::Duration};

const RICH: Address = address!("0x1000000000000000000000000000000000000001");
const CONTRACT: Address = address!("0x2000000000000000000000000000000000000002");

struct NoHashes;

impl BlockHashes for NoHashes {
    fn block_hash(&self, _number: Height) -> Result<B256, StateError> {
        Ok(B256::ZERO)
    }
}

struct Bench {
    spec: ChainSpec,
    header: Header,
    state: MemoryState,
}

impl Bench {
    fn new(code: &str) -> Self {
        let code: Bytes = code.parse().expect("hex");
        let state = MemoryState::from_alloc(&BTreeMap::from([
            (RICH, GenesisAccount { balance: U256::from(10u64.pow(18)), ..Default::default() }),
            (
                CONTRACT,
                GenesisAccount {
                    nonce: 1,
                    code,
                    storage: BTreeMap::from([(U256::from(1), U256::from(7)), (U256::from(2), U256::from(8))]),
                    ..Default::default()
                },
            ),
        ]));
        let header = Header {
            number: 5,
            timestamp: 1_000,
            gas_limit: 30_000_000,
            base_fee_per_gas: Some(1_000_000_000),
            excess_blob_gas: Some(0),
            ..Header::default()
        };
        Self { spec: ChainSpec::dev(31_337), header, state }
    }

    fn site(&self) -> CallSite<'_> {
        CallSite {
            spec: &self.spec,
            chain_id: self.spec.chain_id(),
            header: &self.header,
            state: &self.state,
            hashes: &NoHashes,
            observe: unnamed,
        }
    }

    fn call(&self, request: &str, state: &str, block: &str) -> Result<Bytes, CallError> {
        let request: CallRequest = serde_json::from_str(request).expect("a call object");
        let state: StateOverrides = serde_json::from_str(state).expect("state overrides");
        let block: BlockOverrides = serde_json::from_str(block).expect("block overrides");
        call(self.site(), &request, Some(&state), Some(&block), &CallLimits::default())
            .and_then(|outcome| outcome.into_output())
    }

    fn word(&self, request: &str, state: &str, block: &str) -> u64 {
        U256::from_be_slice(&self.call(request, state, block).expect("succeeds")).to()
    }

    fn access_list(&self, request: &str) -> Result<CreatedAccessList, CallError> {
        let request: CallRequest = serde_json::from_str(request).expect("a call object");
        create_access_list(self.site(), &request, None, &CallLimits::default())
    }

    fn estimate(&self, request: &str) -> Result<u64, CallError> {
        let request: CallRequest = serde_json::from_str(request).expect("a call object");
        estimate_gas(self.site(), &request, None, None, &CallLimits::default())
    }
}

const TO: &str = r#"{"to":"0x2000000000000000000000000000000000000002"}"#;
/// Returns the word on top of the stack: PUSH0 MSTORE PUSH1 32 PUSH0 RETURN.
const RETURN_TOP: &str = "5f5260205ff3";

#[test]
fn storage_overrides() {
    // SLOAD 1 and SLOAD 2, added.
    let bench = Bench::new(&format!("0x60015460025401{RETURN_TOP}"));
    let key = |n: u8| format!("0x{n:064x}");
    let overrides = |field: &str| format!(r#"{{"{CONTRACT}":{{"{field}":{{"{}":"{}"}}}}}}"#, key(1), key(40));
    assert_eq!(bench.word(TO, "{}", "{}"), 15);
    assert_eq!(bench.word(TO, &overrides("stateDiff"), "{}"), 48);
    assert_eq!(bench.word(TO, &overrides("state"), "{}"), 40);
    let both = format!(r#"{{"{CONTRACT}":{{"state":{{}},"stateDiff":{{}}}}}}"#);
    let error = bench.call(TO, &both, "{}").expect_err("both at once");
    assert_eq!(error.to_string(), format!("account {CONTRACT} has both 'state' and 'stateDiff'"));
}

#[test]
fn code_balance_and_precompile_overrides() {
    let bench = Bench::new("0x00");
    let code = format!(r#"{{"{CONTRACT}":{{"code":"0x47{RETURN_TOP}","balance":"0x63"}}}}"#);
    assert_eq!(bench.word(TO, &code, "{}"), 99, "SELFBALANCE");
    // The identity contract answers at another address, and no longer at its own.
    let target = "0x00000000000000000000000000000000000ffffe";
    let moved = format!(
        r#"{{"0x0000000000000000000000000000000000000004":{{"movePrecompileToAddress":"{target}"}}}}"#
    );
    let at = |address: &str| format!(r#"{{"to":"{address}","input":"0x1234"}}"#);
    assert_eq!(bench.call(&at(target), &moved, "{}").expect("runs").to_string(), "0x1234");
    let own = at("0x0000000000000000000000000000000000000004");
    assert_eq!(bench.call(&own, &moved, "{}").expect("runs").to_string(), "0x");
    assert_eq!(bench.call(&own, "{}", "{}").expect("runs").to_string(), "0x1234");
    let wrong = format!(r#"{{"{CONTRACT}":{{"movePrecompileToAddress":"{target}"}}}}"#);
    let error = bench.call(TO, &wrong, "{}").expect_err("no precompile");
    assert_eq!(error.to_string(), format!("account {CONTRACT} is not a precompile"));
}

#[test]
fn moved_precompiles_are_for_calls_alone() {
    let bench = Bench::new("0x00");
    let target = "0x00000000000000000000000000000000000ffffe";
    let identity = "0x0000000000000000000000000000000000000004";
    let overrides =
        |text: String| -> StateOverrides { serde_json::from_str(&text).expect("state overrides") };
    let moved = overrides(format!(r#"{{"{identity}":{{"movePrecompileToAddress":"{target}"}}}}"#));
    // Code at the address of a precompiled contract, which reverts.
    let replaced = overrides(format!(r#"{{"{identity}":{{"code":"0x5f5ffd"}}}}"#));
    let foreign = overrides(format!(r#"{{"{CONTRACT}":{{"movePrecompileToAddress":"{target}"}}}}"#));
    let request: CallRequest =
        serde_json::from_str(&format!(r#"{{"to":"{identity}","input":"0x1234"}}"#)).expect("a call object");
    let limits = CallLimits::default();
    let estimate = |state| estimate_gas(bench.site(), &request, state, None, &limits);
    let list = |state| create_access_list(bench.site(), &request, state, &limits);
    let gas = estimate(None).expect("runs");
    assert_eq!(estimate(Some(&moved)).expect("runs"), gas);
    assert_eq!(estimate(Some(&replaced)).expect("runs"), gas);
    let text = format!("account {CONTRACT} is not a precompile");
    assert_eq!(estimate(Some(&foreign)).expect_err("no precompile").to_string(), text);
    let plain = list(None).expect("a list");
    assert_eq!(list(Some(&replaced)).expect("a list"), plain);
    let error = list(Some(&moved)).expect_err("unknown there");
    assert_eq!(error.to_string(), format!("account {identity} is not a precompile"));
}

#[test]
fn block_overrides() {
    for (opcode, field, value) in [
        ("43", "number", 77),
        ("42", "time", 5_000),
        ("45", "gasLimit", 9_000_000),
        ("4a", "blobBaseFee", 12),
    ] {
        let bench = Bench::new(&format!("0x{opcode}{RETURN_TOP}"));
        let overrides = format!(r#"{{"{field}":"{value:#x}"}}"#);
        assert_eq!(bench.word(TO, "{}", &overrides), value, "{field}");
        assert_ne!(bench.word(TO, "{}", "{}"), value, "{field}");
    }
    // Without a gas price the base fee is zero, so that the call does not pay one.
    let bench = Bench::new(&format!("0x48{RETURN_TOP}"));
    assert_eq!(bench.word(TO, "{}", r#"{"baseFeePerGas":"0x9"}"#), 0);
    let error = bench.call(
        TO,
        "{}",
        r#"{"beaconRoot":"0x0000000000000000000000000000000000000000000000000000000000000001"}"#,
    );
    assert_eq!(
        error.expect_err("refused").to_string(),
        r#"block override "beaconRoot" is not supported for this RPC method"#
    );
}

#[test]
fn failures_in_the_words_of_go_ethereum() {
    for (code, text) in [
        ("0xfe", "invalid opcode: INVALID"),
        ("0x5f56", "invalid jump destination"),
        ("0x5b5f56", "out of gas"),
        ("0x5f5f5f3e60205f5f3e", "return data out of bounds"),
    ] {
        let error = Bench::new(code).call(TO, "{}", "{}").expect_err(code);
        assert_eq!((error.to_string().as_str(), error.code()), (text, -32_000), "{code}");
    }
    let error = Bench::new("0x60205ffd").call(TO, "{}", "{}").expect_err("reverts");
    assert_eq!((error.to_string().as_str(), error.code()), ("execution reverted", 3));
    assert_eq!(error.data().map(|data| data.len()), Some(32));
}

#[test]
fn requests_that_contradict_themselves() {
    let bench = Bench::new("0x00");
    let text = |request: &str| bench.call(request, "{}", "{}").expect_err(request).to_string();
    assert_eq!(
        text(r#"{"gasPrice":"0x1","maxFeePerGas":"0x1"}"#),
        "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified"
    );
    assert_eq!(text(r#"{"chainId":"0x5"}"#), "chainId does not match node's (have=5, want=31337)");
    let poor = text(r#"{"to":"0x2000000000000000000000000000000000000002","value":"0x1","gas":"0x5208"}"#);
    assert_eq!(
        poor,
        "err: insufficient funds for gas * price + value: address 0x0000000000000000000000000000000000000000 have 0 want 1 (supplied gas 21000)"
    );
    let cheap = text(
        r#"{"from":"0x1000000000000000000000000000000000000001","to":"0x2000000000000000000000000000000000000002","maxFeePerGas":"0x5","gas":"0x5208"}"#,
    );
    assert!(cheap.contains("max fee per gas less than block base fee"), "{cheap}");
    let low = text(r#"{"to":"0x2000000000000000000000000000000000000002","gas":"0x5207"}"#);
    assert_eq!(low, "err: intrinsic gas too low: have 20999, want 21000 (supplied gas 20999)");
}

#[test]
fn gas_is_checked_before_the_length_of_init_code() {
    let bench = Bench::new("0x00");
    let code = "00".repeat(49_153);
    let request = |gas: u64| format!(r#"{{"input":"0x{code}","gas":"{gas:#x}"}}"#);
    for (gas, text) in [
        (21_000, "intrinsic gas too low: have 21000, want 252686"),
        (256_000, "insufficient gas for floor data gas cost: have 256000, want 512530"),
        (1_000_000, "max initcode size exceeded: code size 49153 limit 49152"),
    ] {
        let error = bench.call(&request(gas), "{}", "{}").expect_err(text);
        assert_eq!(error.to_string(), format!("err: {text} (supplied gas {gas})"));
    }
    let error = bench.estimate(&request(21_000)).expect_err("too little gas");
    assert_eq!(error.to_string(), "gas required exceeds allowance (21000)");
}

#[test]
fn estimates() {
    let bench = Bench::new("0x00");
    assert_eq!(
        bench.estimate(&format!(r#"{{"from":"{RICH}","to":"{RICH}","value":"0x1"}}"#)).expect("runs"),
        21_000
    );
    // A loop that needs most of the gas it is given fails with the allowance.
    let error = Bench::new("0x5b5f56").estimate(TO).expect_err("endless");
    assert_eq!(error.to_string(), "gas required exceeds allowance (16777216)");
    let error = Bench::new("0x5f5ffd").estimate(TO).expect_err("reverts");
    assert_eq!((error.to_string().as_str(), error.code()), ("execution reverted", 3));
    // An offset beyond 64 bits has a text of its own.
    let overflow = format!("0x5f7f{}52", "ff".repeat(32));
    let error = Bench::new(&overflow).estimate(TO).expect_err("beyond 64 bits");
    assert_eq!(error.to_string(), "gas uint64 overflow");
    // SSTORE of a new slot: the estimate succeeds when it is used as the limit, and is close.
    let bench = Bench::new("0x600160095500");
    let gas = bench.estimate(TO).expect("runs");
    let used = 21_000 + 3 + 3 + 22_100;
    assert!((used..used + used / 50).contains(&gas), "{gas}");
}

#[test]
fn a_call_ends_in_time() {
    // An endless loop with more gas than any time allows.
    let bench = Bench::new("0x5b5f56");
    let request = CallRequest { to: Some(CONTRACT), ..CallRequest::default() };
    let limits = CallLimits { gas_cap: None, timeout: Some(Duration::from_millis(50)), cancel: None };
    let bare = "0x5b600056";
    let endless = Bench::new(bare);
    let error = call(endless.site(), &request, None, None, &limits).expect_err("aborted");
    assert_eq!(error.to_string(), "execution aborted (timeout = 50ms)");
    let cancelled = AtomicBool::new(true);
    let limits = CallLimits { cancel: Some(&cancelled), ..CallLimits::default() };
    assert!(matches!(call(bench.site(), &request, None, None, &limits), Err(CallError::Aborted(_))));
    let outcome = call(bench.site(), &request, None, None, &CallLimits::default()).expect("an outcome");
    assert!(matches!(outcome.status, CallStatus::Halt(_)) && outcome.out_of_gas);
}

#[test]
fn a_call_without_any_limit_has_all_gas_of_64_bits() {
    // GAS.
    let bench = Bench::new(&format!("0x5a{RETURN_TOP}"));
    let request: CallRequest = serde_json::from_str(TO).expect("a call object");
    let gas = |gas_cap| {
        let limits = CallLimits { gas_cap, ..CallLimits::default() };
        let outcome = call(bench.site(), &request, None, None, &limits).expect("runs");
        U256::from_be_slice(&outcome.output).to::<u64>()
    };
    assert_eq!(gas(None), u64::MAX - 21_002);
    assert_eq!(gas(NonZeroU64::new(1_000_000)), 1_000_000 - 21_002);
}

#[test]
fn access_lists() {
    // SLOAD 1; BALANCE of an account, of the sender and of a precompiled contract; REVERT.
    let far = "5000000000000000000000000000000000000005";
    let code = format!("0x60015450{}5f5ffd", format_args!("73{far}3150323150600131"));
    let created = Bench::new(&code).access_list(TO).expect("a list");
    let item = |address: &str, slots: &[u64]| {
        let slots = slots.iter().map(|slot| format!("0x{slot:064x}")).collect::<Vec<_>>();
        serde_json::json!({ "address": address, "storageKeys": slots })
    };
    let want =
        serde_json::json!([item(&CONTRACT.to_string().to_lowercase(), &[1]), item(&format!("0x{far}"), &[])]);
    assert_eq!(serde_json::to_value(&created.list).expect("a list is JSON"), want);
    // 21000, two addresses (2400) and a slot (1900); warm: SLOAD 100, three times BALANCE 100, 21
    // for the rest.
    assert_eq!((created.gas_used, created.failure.as_deref()), (28_121, Some("execution reverted")));
    // Given entries stay; an entry that is warm in any case is dropped unless it has slots.
    let given = format!(
        r#"{{"from":"{RICH}","to":"{RICH}","accessList":[{},{},{}]}}"#,
        item(&format!("0x{far}"), &[]),
        item(&RICH.to_string(), &[]),
        item(&CONTRACT.to_string(), &[9])
    );
    let created = Bench::new("0x00").access_list(&given).expect("a list");
    let want =
        serde_json::json!([item(&CONTRACT.to_string().to_lowercase(), &[9]), item(&format!("0x{far}"), &[])]);
    assert_eq!(serde_json::to_value(&created.list).expect("a list is JSON"), want);
    assert_eq!((created.gas_used, created.failure), (21_000 + 2 * 2_400 + 1_900, None));
    let poor = r#"{"to":"0x2000000000000000000000000000000000000002","value":"0x1","gas":"0x5208"}"#;
    let error = Bench::new("0x00").access_list(poor).expect_err("nothing to send");
    let text = error.to_string();
    assert!(text.starts_with("failed to apply transaction: 0x"), "{text}");
    assert!(text.ends_with("err: insufficient funds for gas * price + value: address 0x0000000000000000000000000000000000000000 have 0 want 1"), "{text}");
}
