//! Errors of frames where more than one thing is wrong at once: the order of the reference decides.

use crate::world::World;

/// Shanghai's rules.
const SHANGHAI: &str = r#"{"chainId":1,"homesteadBlock":0,"eip150Block":0,"eip155Block":0,"eip158Block":0,"byzantiumBlock":0,
    "constantinopleBlock":0,"petersburgBlock":0,"istanbulBlock":0,"berlinBlock":0,"londonBlock":0,
    "terminalTotalDifficulty":0,"shanghaiTime":0}"#;

const CALL: u8 = 0xf1;
const STATICCALL: u8 = 0xfa;

/// The error of a frame that runs `code` with `gas`, entered by `opcode`.
fn error(opcode: u8, gas: u16, code: &[u8]) -> String {
    let [high, low] = gas.to_be_bytes();
    let value: &[u8] = if opcode == CALL { &[0x60, 0] } else { &[] };
    let caller =
        [&[0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0], value, &[0x60, 0x72, 0x61, high, low, opcode]].concat();
    let world = World::new(SHANGHAI).contract(0x71, 1, 0, &caller).contract(0x72, 1, 0, code).call(
        0x71,
        500_000,
        &[],
    );
    world.only()["calls"][0]["error"].as_str().unwrap_or("none").to_owned()
}

/// Pushes a value of 64 bits.
fn push8(value: u64) -> Vec<u8> {
    [&[0x67][..], &value.to_be_bytes()].concat()
}

#[test]
fn stack_comes_before_gas() {
    assert_eq!(error(CALL, 1000, &[0x01]), "stack underflow (0 <=> 2)");
    assert_eq!(error(CALL, 3, &[0x60, 0, 0x01]), "stack underflow (1 <=> 2)");
    assert_eq!(error(STATICCALL, 3, &[0x60, 0, 0x55]), "stack underflow (1 <=> 2)");
    assert_eq!(error(CALL, 50_000, &[0x5b, 0x30, 0x60, 0, 0x56]), "stack limit reached 1024 (1023)");
}

#[test]
fn instructions_that_the_fork_lacks_have_names() {
    assert_eq!(error(CALL, 1, &[0x5c]), "invalid opcode: TLOAD");
    assert_eq!(error(CALL, 100, &[0xfe]), "invalid opcode: INVALID");
    assert_eq!(error(CALL, 100, &[0x0c]), "invalid opcode: opcode 0xc not defined");
    assert_eq!(error(CALL, 100, &[0xe1]), "invalid opcode: RJUMPI");
}

#[test]
fn memory_has_three_ways_to_be_too_large() {
    let mload = |offset: u64| [push8(offset), vec![0x51]].concat();
    assert_eq!(error(CALL, 1000, &mload(u64::MAX)), "gas uint64 overflow");
    assert_eq!(error(CALL, 1000, &mload(1 << 40)), "out of gas: gas uint64 overflow");
    assert_eq!(error(CALL, 1000, &mload(1 << 30)), "out of gas");
    // Without gas for the instruction itself, its operands are not looked at.
    assert_eq!(error(CALL, 5, &mload(u64::MAX)), "out of gas");
}

#[test]
fn writes_are_refused_while_gas_is_computed_or_afterwards() {
    assert_eq!(error(STATICCALL, 1000, &[0x60, 0, 0x60, 0, 0x55]), "out of gas: write protection");
    assert_eq!(
        error(CALL, 1000, &[0x60, 0, 0x60, 0, 0x55]),
        "out of gas: not enough gas for reentrancy sentry"
    );
    assert_eq!(error(STATICCALL, 6000, &[0x60, 0, 0xff]), "out of gas: write protection");
    assert_eq!(error(STATICCALL, 1000, &[0x60, 0, 0x60, 0, 0xa0]), "write protection");
    assert_eq!(error(STATICCALL, 300, &[0x60, 0, 0x60, 0, 0xa0]), "out of gas");
    assert_eq!(error(STATICCALL, 40_000, &[0x60, 0, 0x60, 0, 0x60, 0, 0xf0]), "write protection");
    assert_eq!(error(STATICCALL, 20_000, &[0x60, 0, 0x60, 0, 0x60, 0, 0xf0]), "out of gas");
}

#[test]
fn access_of_a_cold_account_is_paid_first() {
    // SELFDESTRUCT to an account that the transaction has not touched: 5000 gas, then 2600.
    assert_eq!(error(CALL, 7_000, &[0x60, 0x99, 0xff]), "out of gas: out of gas");
    // The caller is warm.
    assert_eq!(error(CALL, 5_003, &[0x60, 0x71, 0xff]), "none");
    // CALL of a cold account.
    let call = [0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0x99, 0x60, 0, 0xf1];
    assert_eq!(error(CALL, 2_000, &call), "out of gas: out of gas");
    assert_eq!(error(CALL, 2_621, &call), "none");
}

#[test]
fn init_code_that_is_too_long_names_its_size() {
    let create = [0x62, 0, 0xc0, 1, 0x60, 0, 0x60, 0, 0xf0];
    assert_eq!(error(CALL, 60_000, &create), "out of gas: max initcode size exceeded: size 49153");
}
