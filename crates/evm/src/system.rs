//! System calls around a block's transactions (EIP-2935, EIP-4788, EIP-7002, EIP-7251).

use crate::{env::BlockEnvironment, spec::Fork};
use alloy_primitives::{Address, Bytes, TxKind, address};
use revm::context::TxEnv;

/// Caller of system calls.
pub const SYSTEM_ADDRESS: Address = address!("0xfffffffffffffffffffffffffffffffffffffffe");
/// Gas that a system call may use.
pub const SYSTEM_CALL_GAS: u64 = 30_000_000;
/// Contract that keeps the beacon roots (EIP-4788).
pub const BEACON_ROOTS_ADDRESS: Address = address!("0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02");
/// Contract that keeps block hashes (EIP-2935).
pub const HISTORY_ADDRESS: Address = address!("0x0000F90827F1C53a10cb7A02335B175320002935");
/// Contract that collects withdrawal requests (EIP-7002).
pub const WITHDRAWAL_REQUESTS_ADDRESS: Address = address!("0x00000961Ef480Eb55e80D19ad83579A64c007002");
/// Contract that collects consolidation requests (EIP-7251).
pub const CONSOLIDATION_REQUESTS_ADDRESS: Address = address!("0x0000BBdDc7CE488642fb579F8B00f3a590007251");

/// A contract whose requests are read after the last transaction (EIP-7685).
pub(crate) struct RequestContract {
    pub address: Address,
    /// First byte of its requests.
    pub kind: u8,
    pub eip: &'static str,
}

/// In the order of their requests.
pub(crate) const REQUEST_CONTRACTS: [RequestContract; 2] = [
    RequestContract { address: WITHDRAWAL_REQUESTS_ADDRESS, kind: 1, eip: "EIP-7002" },
    RequestContract { address: CONSOLIDATION_REQUESTS_ADDRESS, kind: 2, eip: "EIP-7251" },
];

/// The calls before the first transaction, in order.
pub(crate) fn calls_at_start(env: &BlockEnvironment) -> impl Iterator<Item = (Address, Bytes)> + use<> {
    // The genesis block has no parent to speak of.
    let begun = env.number > 0;
    let beacon = env.parent_beacon_root.filter(|_| begun && env.fork >= Fork::Cancun);
    let parent = (begun && env.fork >= Fork::Prague).then_some(env.parent_hash);
    let beacon = beacon.map(|root| (BEACON_ROOTS_ADDRESS, Bytes::from(root.0)));
    let parent = parent.map(|hash| (HISTORY_ADDRESS, Bytes::from(hash.0)));
    beacon.into_iter().chain(parent)
}

/// A system call in the interpreter's form (EIP-4788: 30 million gas, no fee).
pub(crate) fn call_env(address: Address, input: Bytes) -> TxEnv {
    TxEnv { caller: SYSTEM_ADDRESS, gas_limit: SYSTEM_CALL_GAS, data: input, ..plain_env(address) }
}

/// A legacy transaction without chain id to an account, without value, data or fee.
pub(crate) fn plain_env(to: Address) -> TxEnv {
    TxEnv {
        tx_type: 0,
        caller: Address::ZERO,
        gas_limit: 0,
        gas_price: 0,
        kind: TxKind::Call(to),
        value: alloy_primitives::U256::ZERO,
        data: Bytes::new(),
        nonce: 0,
        chain_id: None,
        access_list: Default::default(),
        gas_priority_fee: None,
        blob_hashes: Vec::new(),
        max_fee_per_blob_gas: 0,
        authorization_list: Vec::new(),
    }
}
