//! Frames that real blocks seldom have, with the values that go-ethereum gives them.

use crate::world::World;
use serde_json::json;

/// Rules of Cancun.
const CANCUN: &str = r#"{"chainId":1,"homesteadBlock":0,"eip150Block":0,"eip155Block":0,"eip158Block":0,"byzantiumBlock":0,
    "constantinopleBlock":0,"petersburgBlock":0,"istanbulBlock":0,"berlinBlock":0,"londonBlock":0,
    "terminalTotalDifficulty":0,"shanghaiTime":0,"cancunTime":0,
    "blobSchedule":{"cancun":{"target":3,"max":6,"baseFeeUpdateFraction":3338477}}}"#;

/// PUSH1 0, four times, for a call without data.
const NO_DATA: [u8; 8] = [0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0];

#[test]
fn a_second_creation_at_one_address_collides() {
    // CREATE2 with empty init code and salt 0, twice.
    let create2 = [0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0xf5, 0x50];
    let code = [&create2[..], &create2[..]].concat();
    let result = World::london().contract(0x71, 1, 0, &code).call(0x71, 1_000_000, &[]).only();
    let [first, second] = &result["calls"].as_array().unwrap()[..] else { panic!("{result}") };
    assert_eq!(first["type"], "CREATE2");
    assert!(first["to"].is_string() && first["error"].is_null());
    assert_eq!(second["error"], "contract address collision");
    assert_eq!(second["gasUsed"], second["gas"]);
    assert!(second["to"].is_null() && second["output"].is_null());
}

#[test]
fn a_creator_whose_nonce_is_at_its_end_fails_for_free() {
    let code = [0x60, 0, 0x60, 0, 0x60, 0, 0xf0, 0];
    let result = World::london().contract(0x71, u64::MAX, 0, &code).call(0x71, 100_000, &[]).only();
    let create = &result["calls"][0];
    assert_eq!((&create["type"], &create["error"]), (&json!("CREATE"), &json!("nonce uint64 overflow")));
    assert_eq!(create["gasUsed"], "0x0");
    assert!(create["to"].is_null());
}

#[test]
fn selfdestruct_is_a_frame_whoever_is_paid() {
    for config in [CANCUN, r#"{"chainId":1,"homesteadBlock":0}"#] {
        // ADDRESS SELFDESTRUCT.
        let result = World::new(config).contract(0x71, 1, 7, &[0x30, 0xff]).call(0x71, 100_000, &[]).only();
        let own = "0x0000000000000000000000000000000000000071";
        assert_eq!(
            result["calls"][0],
            json!({"type": "SELFDESTRUCT", "from": own, "to": own, "gas": "0x0", "gasUsed": "0x0", "input": "0x", "value": "0x7"})
        );
        // To an account that does not exist.
        let result =
            World::new(config).contract(0x71, 1, 7, &[0x60, 0x99, 0xff]).call(0x71, 100_000, &[]).only();
        assert_eq!(result["calls"][0]["to"], "0x0000000000000000000000000000000000000099");
        assert_eq!(result["calls"][0]["value"], "0x7");
    }
}

#[test]
fn calls_nest_to_the_limit_and_no_deeper() {
    // CALL itself with all gas, before EIP-150 kept any back.
    let code = [&NO_DATA[..], &[0x60, 0, 0x30, 0x61, 1, 0, 0x5a, 0x03, 0xf1]].concat();
    let world = World::new(r#"{"chainId":1,"homesteadBlock":0}"#).contract(0x71, 1, 0, &code).call(
        0x71,
        500_000_000,
        &[],
    );
    let (text, _) = world.trace_text(r#"{"tracer":"callTracer"}"#, &Default::default()).unwrap();
    assert_eq!(text.matches("\"type\":\"CALL\"").count(), 1026);
    assert_eq!(text.matches("\"error\":\"max call depth exceeded\"").count(), 1);
    assert_eq!(text.matches('{').count(), text.matches('}').count());
}

#[test]
fn a_delegate_call_carries_the_value_of_its_parent() {
    // 0x71 sends 5 wei to 0x72, which calls 0x73 by DELEGATECALL; 0x73 emits a log.
    let caller = [&NO_DATA[..], &[0x60, 5, 0x60, 0x72, 0x5a, 0xf1]].concat();
    let middle = [&NO_DATA[..], &[0x60, 0x73, 0x5a, 0xf4]].concat();
    let world = World::london().contract(0x71, 1, 9, &caller).contract(0x72, 1, 0, &middle).contract(
        0x73,
        1,
        0,
        &[0x60, 0, 0x60, 0, 0xa0],
    );
    let result = world.call(0x71, 500_000, &[]).only();
    let delegate = &result["calls"][0]["calls"][0];
    assert_eq!(delegate["type"], "DELEGATECALL");
    assert_eq!(delegate["from"], "0x0000000000000000000000000000000000000072");
    assert_eq!(delegate["to"], "0x0000000000000000000000000000000000000073");
    assert_eq!(delegate["value"], "0x5");
    assert_eq!(delegate["logs"][0]["address"], "0x0000000000000000000000000000000000000072");
}

#[test]
fn logs_are_numbered_per_block_and_vanish_with_their_frame() {
    // LOG0; call 0x72, which logs and reverts; LOG0.
    let log = [0x60, 0, 0x60, 0, 0xa0];
    let call = [&NO_DATA[..], &[0x60, 0, 0x60, 0x72, 0x5a, 0xf1, 0x50]].concat();
    let outer = [&log[..], &call, &log].concat();
    let inner = [&log[..], &[0x60, 0, 0x60, 0, 0xfd]].concat();
    let world = World::london().contract(0x71, 1, 0, &outer).contract(0x72, 1, 0, &inner);
    let traces = world.call(0x71, 500_000, &[]).call(0x71, 500_000, &[]).trace();
    for (tx, first) in [(0, "0x0"), (1, "0x2")] {
        let result = &traces[tx]["result"];
        let logs = result["logs"].as_array().unwrap();
        assert_eq!(logs.len(), 2);
        assert_eq!((&logs[0]["index"], &logs[0]["position"]), (&json!(first), &json!("0x0")));
        assert_eq!(logs[1]["position"], "0x1");
        // The reverted log gave its number back.
        assert_eq!(logs[1]["index"], if tx == 0 { "0x1" } else { "0x3" });
        assert_eq!(result["calls"][0]["error"], "execution reverted");
        assert!(result["calls"][0]["logs"].is_null());
    }
}
