//! Write sets of creation, destruction and the deletions of EIP-161, on transactions made for the
//! purpose.

use crate::memory::MemoryState;
use alloy_consensus::{Signed, TxLegacy};
use alloy_primitives::{Address, Bytes, Signature, TxKind, U256, address, bytes};
use hearth_evm::{
    BlockEnvironment, BlockExecutor, ChainSpec, ExecuteError, GenesisAccount, TxError, TxStatus,
};
use hearth_primitives::{Account, BlockHashes, BlockOutput, Height, SlotChange, StateError, Transaction};
use std::collections::BTreeMap;

const SENDER: Address = address!("0x1000000000000000000000000000000000000001");
const CONTRACT: Address = address!("0x2000000000000000000000000000000000000002");
const MINER: Address = address!("0x3000000000000000000000000000000000000003");
const NOBODY: Address = address!("0x4000000000000000000000000000000000000004");

struct NoHashes;

impl BlockHashes for NoHashes {
    fn block_hash(&self, _number: Height) -> Result<alloy_primitives::B256, StateError> {
        Ok(alloy_primitives::B256::ZERO)
    }
}

fn state(code: Bytes, storage: &[(u64, u64)]) -> MemoryState {
    let slots = storage.iter().map(|(key, value)| (U256::from(*key), U256::from(*value))).collect();
    MemoryState::from_alloc(&BTreeMap::from([
        (SENDER, GenesisAccount { balance: U256::from(10u64.pow(18)), ..Default::default() }),
        (CONTRACT, GenesisAccount { nonce: 1, code, storage: slots, ..Default::default() }),
    ]))
}

fn call(nonce: u64, to: Address, value: u64) -> Transaction {
    let tx = TxLegacy {
        nonce,
        gas_price: 10,
        gas_limit: 100_000,
        to: TxKind::Call(to),
        value: U256::from(value),
        ..TxLegacy::default()
    };
    // The sender is given to the executor, so the signature is never looked at.
    Transaction::Legacy(Signed::new_unhashed(tx, Signature::test_signature()))
}

fn environment(network: &str) -> (ChainSpec, BlockEnvironment) {
    let spec = ChainSpec::network(network).expect("a known network");
    let header = alloy_consensus::Header {
        number: 1,
        gas_limit: 1_000_000,
        beneficiary: MINER,
        difficulty: U256::from(131_072),
        ..Default::default()
    };
    let env = BlockEnvironment::from_header(&spec, &header);
    (spec, env)
}

fn run(network: &str, state: &MemoryState, txs: &[Transaction]) -> BlockOutput {
    let (spec, env) = environment(network);
    let mut executor = BlockExecutor::new(&spec, env, state, &NoHashes);
    executor.begin().expect("begins");
    for tx in txs {
        let outcome = executor.transact(tx, SENDER).expect("valid");
        assert_eq!(outcome.status, TxStatus::Success);
    }
    let output = executor.finish(&[], None).expect("finishes");
    let mut after = state.clone();
    for changes in &output.writes {
        after.apply_checked(changes).expect("old values are right");
    }
    let mut whole = state.clone();
    whole.apply_checked(&output.changes).expect("old values are right");
    assert_eq!(after.root_of(), whole.root_of());
    output
}

/// Accounts that the DAO fork at block 1 makes in an empty state, with these forks beside it.
fn made_by_the_dao_fork(forks: &str) -> usize {
    let config =
        format!(r#"{{"chainId": 1, "homesteadBlock": 0, "daoForkBlock": 1, "daoForkSupport": true{forks}}}"#);
    let spec = ChainSpec::from_config_json(&config).expect("a right config");
    let header = alloy_consensus::Header {
        number: 1,
        gas_limit: 1_000_000,
        difficulty: U256::from(131_072),
        ..Default::default()
    };
    let (env, state) = (BlockEnvironment::from_header(&spec, &header), MemoryState::default());
    let mut executor = BlockExecutor::new(&spec, env, &state, &NoHashes);
    executor.begin().expect("begins");
    let changes = &executor.writes()[0].accounts;
    assert!(changes.iter().all(|change| change.new == Some(Account::default())));
    changes.len()
}

#[test]
fn the_dao_fork_makes_accounts_that_are_not_there() {
    // The 116 that it drains and the contract that it fills, until empty accounts are deleted.
    assert_eq!(made_by_the_dao_fork(""), 117);
    assert_eq!(made_by_the_dao_fork(r#", "eip150Block": 1, "eip155Block": 1, "eip158Block": 1"#), 0);
}

#[test]
fn destruction_lists_the_wiped_slots() {
    // CALLER SELFDESTRUCT
    let state = state(bytes!("33ff"), &[(1, 5), (9, 7)]);
    let output = run("Istanbul", &state, &[call(0, CONTRACT, 3), call(1, CONTRACT, 0)]);
    let change = output.writes[1].accounts.iter().find(|change| change.address == CONTRACT).expect("changed");
    assert!(change.wiped);
    assert_eq!(change.new, None);
    let zeroed =
        |key: u64, old: u64| SlotChange { slot: U256::from(key), old: U256::from(old), new: U256::ZERO };
    assert_eq!(change.storage, vec![zeroed(1, 5), zeroed(9, 7)]);
    // The second call finds no account and leaves none.
    assert!(output.writes[2].accounts.iter().all(|change| change.address != CONTRACT));
    let net = output.changes.accounts.iter().find(|change| change.address == CONTRACT).expect("changed");
    assert_eq!((net.wiped, net.new, net.storage.len()), (true, None, 2));
}

#[test]
fn value_sent_back_to_a_destroyed_account_makes_it_anew() {
    let state = state(bytes!("33ff"), &[(1, 5)]);
    let output = run("Istanbul", &state, &[call(0, CONTRACT, 0), call(1, CONTRACT, 8)]);
    let again = output.writes[2].accounts.iter().find(|change| change.address == CONTRACT).expect("changed");
    assert_eq!((again.old, again.wiped), (None, false));
    assert_eq!(again.new, Some(Account { balance: U256::from(8), ..Default::default() }));
    let net = output.changes.accounts.iter().find(|change| change.address == CONTRACT).expect("changed");
    assert!(net.wiped && net.storage.len() == 1 && net.new == again.new);
}

#[test]
fn touched_empty_accounts_are_rows_before_spurious_dragon_only() {
    let state = state(Bytes::new(), &[]);
    let touch = [call(0, NOBODY, 0)];
    let before = run("EIP150", &state, &touch);
    let row = before.changes.accounts.iter().find(|change| change.address == NOBODY).expect("a row");
    assert_eq!(row.new, Some(Account::default()));
    let after = run("EIP158", &state, &touch);
    assert!(after.changes.accounts.iter().all(|change| change.address != NOBODY));
}

#[test]
fn rewards_and_fees_reach_the_miner() {
    let output = run("Istanbul", &state(Bytes::new(), &[]), &[call(0, NOBODY, 1)]);
    let fees = &output.writes[1].accounts.iter().find(|change| change.address == MINER).expect("fees");
    assert_eq!(fees.new.map(|account| account.balance), Some(U256::from(210_000)));
    let reward = &output.writes[2].accounts;
    assert_eq!(reward.len(), 1);
    assert_eq!(reward[0].new.map(|account| account.balance), Some(U256::from(2 * 10u64.pow(18) + 210_000)));
    assert_eq!(output.gas_used, 21_000);
}

#[test]
fn a_read_set_has_the_values_at_the_start() {
    // SLOAD 1, SSTORE 2 of what was there plus one: PUSH1 1 SLOAD PUSH1 1 ADD PUSH1 2 SSTORE
    let state = state(bytes!("600154600101600255"), &[(1, 5), (2, 1)]);
    let output = run("Istanbul", &state, &[call(0, CONTRACT, 0), call(1, CONTRACT, 0)]);
    let mut slots = output.reads.slots.clone();
    slots.sort_unstable();
    assert_eq!(
        slots,
        vec![(CONTRACT, U256::from(1), U256::from(5)), (CONTRACT, U256::from(2), U256::from(1))]
    );
    assert!(output.reads.accounts.contains(&(MINER, None)));
    assert_eq!(output.reads.codes.len(), 1);
}

#[test]
fn refused_transactions_change_nothing() {
    let state = state(Bytes::new(), &[]);
    let (spec, env) = environment("Istanbul");
    let mut executor = BlockExecutor::new(&spec, env, &state, &NoHashes);
    executor.begin().expect("begins");
    let refused = |executor: &mut BlockExecutor<'_>, tx: &Transaction| match executor.transact(tx, SENDER) {
        Err(ExecuteError::Invalid(error)) => error,
        other => panic!("taken or failed otherwise: {other:?}"),
    };
    assert_eq!(
        refused(&mut executor, &call(1, NOBODY, 0)).to_string(),
        format!("nonce too high: address {SENDER}, tx: 1 state: 0")
    );
    let error = refused(&mut executor, &call(0, NOBODY, u64::MAX));
    assert!(error.to_string().starts_with("insufficient funds for gas * price + value: address"), "{error}");
    executor.transact(&call(0, NOBODY, 1), SENDER).expect("valid");
    assert!(matches!(
        refused(&mut executor, &call(0, NOBODY, 1)),
        TxError::NonceTooLow { tx: 0, state: 1, .. }
    ));
    assert_eq!(executor.writes().len(), 2);
    assert_eq!(executor.gas_used(), 21_000);
}

#[test]
fn the_gas_of_a_block_is_bounded() {
    let state = state(Bytes::new(), &[]);
    let (spec, mut env) = environment("Istanbul");
    env.gas_limit = 120_000;
    let mut executor = BlockExecutor::new(&spec, env, &state, &NoHashes);
    executor.begin().expect("begins");
    executor.transact(&call(0, NOBODY, 1), SENDER).expect("99000 are left");
    let error = executor.transact(&call(1, NOBODY, 1), SENDER).expect_err("100000 are asked for");
    assert_eq!(error.to_string(), "gas limit reached");
}
