//! The outcome of a simulation.

use alloy_primitives::{Address, B256, Bytes, Log};
use hearth_primitives::Block;

/// A block that was built.
#[derive(Clone, Debug)]
pub struct SimulatedBlock {
    /// Header, transactions without signatures, withdrawals.
    pub block: Block,
    /// Hash of the header.
    pub hash: B256,
    /// Hash of each transaction, in order.
    pub tx_hashes: Vec<B256>,
    /// Sender of each transaction, in order.
    pub senders: Vec<Address>,
    /// What each call did, in order.
    pub calls: Vec<SimulatedCall>,
}

/// What a call did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedCall {
    /// Return data; empty where it failed.
    pub output: Bytes,
    /// Logs, with transfers if the request enables them; none if the call failed.
    pub logs: Vec<SimulatedLog>,
    /// Gas used, refunds deducted.
    pub gas_used: u64,
    /// Gas used before refunds, at least the floor of EIP-7623.
    pub max_gas_used: u64,
    /// Why it failed.
    pub failure: Option<CallFailure>,
}

/// A log and its place among the block's logs. Logs of failed calls leave gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedLog {
    /// Its place.
    pub index: u64,
    /// The log.
    pub log: Log,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallFailure {
    /// `REVERT`, with the reason.
    Reverted(Bytes),
    /// go-ethereum's text.
    Halted(String),
}
