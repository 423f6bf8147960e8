//! Why simulated calls fail, in go-ethereum's words: eth_call, eth_createAccessList, eth_simulateV1
//! and eth_estimateGas agree.

use crate::{dev_chain::open, support::ask};
use serde_json::{Value, json};

/// Calls that fail, and go-ethereum's text.
fn failing() -> Vec<(Value, &'static str)> {
    let creation = |code: &str| json!({ "data": code });
    vec![
        // The pairing check of bn254 takes whole pairs.
        (
            json!({ "to": "0x0000000000000000000000000000000000000008", "data": format!("0x{}", "00".repeat(64)) }),
            "bad elliptic curve pairing size",
        ),
        (creation("0xfe"), "invalid opcode: INVALID"),
        (creation("0x0c"), "invalid opcode: opcode 0xc not defined"),
        (creation("0x4b"), "invalid opcode: opcode 0x4b not defined"),
        (creation("0xe0"), "invalid opcode: RJUMP"),
        (creation("0x5f01"), "stack underflow (1 <=> 2)"),
        (creation("0x5f56"), "invalid jump destination"),
        // MSTORE beyond 64 bits.
        (creation(&format!("0x5f7f{}52", "ff".repeat(32))), "gas uint64 overflow"),
        // A creation that returns 32 bytes with gas for the copy but not for 200 gas a byte (6400).
        (json!({ "data": "0x60205ff3", "gas": "0xd6d8" }), "contract creation code storage out of gas"),
    ]
}

/// Calls that fail for what go-ethereum counts as want of gas, and its text.
fn out_of_gas() -> Vec<(Value, &'static str)> {
    vec![
        (json!({ "data": "0x5b5f56", "gas": "0x20000" }), "out of gas"),
        // MSTORE at 2^40.
        (json!({ "data": "0x5f6501000000000052" }), "out of gas: gas uint64 overflow"),
        // CREATE with 49153 bytes of init code.
        (json!({ "data": "0x61c0015f5ff0" }), "out of gas: max initcode size exceeded: size 49153"),
    ]
}

#[test]
fn a_failure_has_the_same_name_everywhere() {
    let (_home, node) = open();
    for (call, text) in failing().into_iter().chain(out_of_gas()) {
        let error = ask(&node, "call", json!({ "transaction": call })).expect_err(text);
        assert_eq!((error.kind(), error.to_string().as_str()), ("execution_failed", text), "{call}");
        let list = ask(&node, "createAccessList", json!({ "transaction": call })).expect(text);
        assert_eq!(list["error"], text, "{call}");
        let options = json!({ "blockStateCalls": [{ "calls": [call] }] });
        let blocks = ask(&node, "simulateV1", json!({ "options": options })).expect(text);
        let failure = &blocks[0]["calls"][0]["error"];
        assert_eq!((&failure["message"], &failure["code"]), (&json!(text), &json!(-32_015)), "{call}");
    }
}

#[test]
fn only_want_of_gas_exceeds_the_allowance() {
    let (_home, node) = open();
    let refusal = |call: &Value| {
        ask(&node, "estimateGas", json!({ "transaction": call })).expect_err("fails").to_string()
    };
    for (call, text) in failing() {
        assert_eq!(refusal(&call), text, "{call}");
    }
    for (call, text) in out_of_gas() {
        assert!(refusal(&call).starts_with("gas required exceeds allowance ("), "{text}");
    }
}
