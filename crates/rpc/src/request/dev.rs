//! The requests that only a development chain has.

use alloy_primitives::{Address, B256, Bytes, U64, U256};
use hearth_evm::CallRequest;
use serde::Deserialize;

/// One operation with its arguments, in the form of [`super::Request`]. The answer is `null` unless
/// the variant states another.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum DevRequest {
    /// Makes blocks of what waits.
    Mine(MineRequest),
    /// As `Mine`; the new blocks with their transactions.
    MineDetailed(MineRequest),
    /// Moves the clock forward; the seconds by which it goes before the machine's, as a number.
    IncreaseTime {
        /// Seconds.
        seconds: U64,
    },
    /// Sets the time of the next block, in seconds.
    SetNextBlockTimestamp {
        /// The time.
        timestamp: U64,
    },
    /// Sets the clock; the seconds by which it was moved, as a number.
    SetTime {
        /// The time, in seconds.
        timestamp: U64,
    },
    /// Whether every transaction gets a block at once.
    SetAutomine {
        /// Whether it does.
        enabled: bool,
    },
    /// Whether every transaction gets a block at once: `true` or `false`.
    GetAutomine,
    /// Makes a block this often, and none for transactions; 0: never by itself.
    SetIntervalMining {
        /// Milliseconds.
        milliseconds: U64,
    },
    /// Whole seconds between blocks, or `null`.
    GetIntervalMining,
    /// Seconds between the times of two blocks, whatever the clock says.
    SetBlockTimestampInterval {
        /// Seconds.
        seconds: U64,
    },
    /// The clock decides again; whether it did not before.
    RemoveBlockTimestampInterval,
    /// Keeps the chain as it is; the snapshot's number.
    Snapshot,
    /// Goes back to a snapshot: `true`, or `false` where there is none.
    Revert {
        /// Its number.
        id: U256,
    },
    /// Base fee of the next block alone, in wei.
    SetNextBlockBaseFee {
        /// The fee.
        fee: U256,
    },
    /// Chain id of the blocks from the next one on, and of the transactions in them.
    SetChainId {
        /// The id.
        id: U64,
    },
    /// Lowest price of gas, in wei; refused where there are base fees.
    SetMinGasPrice {
        /// The price.
        price: U256,
    },
    /// Gas limit of the blocks from the next one on.
    SetBlockGasLimit {
        /// The limit.
        limit: U64,
    },
    /// Who gets the tips of the blocks from the next one on.
    SetCoinbase {
        /// The account.
        address: Address,
    },
    /// Randomness of the next block alone.
    SetPrevRandao {
        /// The value.
        value: B256,
    },
    /// Takes the last blocks back.
    Rollback {
        /// How many.
        depth: U64,
    },
    /// Replaces the last blocks by as many others.
    Reorg {
        /// How many.
        depth: U64,
        /// What the new ones hold.
        transactions: Vec<ReorgTransaction>,
    },
    /// Sets an account's balance.
    SetBalance {
        /// The account.
        address: Address,
        /// Wei.
        balance: U256,
    },
    /// Adds to an account's balance; it stops at the highest one.
    AddBalance {
        /// The account.
        address: Address,
        /// Wei.
        balance: U256,
    },
    /// Sets an account's code.
    SetCode {
        /// The account.
        address: Address,
        /// The code; empty: none.
        code: Bytes,
    },
    /// Sets an account's nonce.
    SetNonce {
        /// The account.
        address: Address,
        /// The nonce.
        nonce: U64,
    },
    /// Sets a slot; `true`.
    SetStorageAt {
        /// The account.
        address: Address,
        /// The slot.
        slot: U256,
        /// Its value.
        value: U256,
    },
    /// Lets everyone send in the name of an account.
    Impersonate {
        /// The account.
        address: Address,
    },
    /// Ends that.
    StopImpersonating {
        /// The account.
        address: Address,
    },
    /// Lets everyone send in any name, or only in those that are impersonated.
    AutoImpersonate {
        /// Whether in any.
        enabled: bool,
    },
    /// Drops a waiting transaction; its hash, or `null` where it does not wait.
    DropTransaction {
        /// Which.
        hash: B256,
    },
    /// Drops all waiting transactions.
    DropAllTransactions,
    /// Drops the waiting transactions of an account.
    RemovePoolTransactions {
        /// The account.
        address: Address,
    },
    /// Goes back to the first block.
    Reset,
    /// The state after the head as gzip of JSON, in hex.
    DumpState,
    /// Takes a state over; `true`.
    LoadState {
        /// What `DumpState` or anvil gave.
        state: Bytes,
    },
    /// The node's settings and its head, as anvil has it.
    NodeInfo,
    /// The node itself, as anvil has it.
    Metadata {
        /// What it calls itself.
        client_version: String,
        /// Whether Hardhat's name of the method was used.
        #[serde(default)]
        hardhat: bool,
    },
    /// The blobs of a transaction, as a list, or `null` where they are not kept.
    BlobsOfTransaction {
        /// Which.
        hash: B256,
    },
    /// A blob by its versioned hash, or `null` where it is not kept.
    BlobByHash {
        /// Which.
        hash: B256,
    },
    /// Sets an account's balance of a token, whose slot is found by trying.
    DealErc20 {
        /// The account.
        address: Address,
        /// The token.
        token: Address,
        /// The balance.
        balance: U256,
    },
    /// Sets what an account may spend of another one's tokens, as `DealErc20`.
    SetErc20Allowance {
        /// Whose tokens.
        owner: Address,
        /// Who may spend them.
        spender: Address,
        /// The token.
        token: Address,
        /// How many.
        amount: U256,
    },
    /// Sends a transaction in the name of its sender without a signature; its hash.
    SendUnsignedTransaction {
        /// What is known of it.
        transaction: Box<CallRequest>,
    },
    /// Whether the console reports transactions; the console itself is no part of this component.
    SetLoggingEnabled {
        /// Whether they are.
        enabled: bool,
    },
}

/// How blocks are made.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MineRequest {
    /// How many; one where absent.
    pub count: Option<U64>,
    /// Seconds from block to block; the clock decides where absent.
    pub interval: Option<U64>,
    /// Whether the first one is so far from the head too.
    pub first: bool,
    /// Timestamp of the first block, in seconds.
    pub timestamp: Option<U64>,
}

/// A transaction for a block of a new branch: exactly one of `raw` and `transaction`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReorgTransaction {
    /// Its bytes.
    #[serde(default)]
    pub raw: Option<Bytes>,
    /// What is known of it; sent in the name of its sender.
    #[serde(default)]
    pub transaction: Option<CallRequest>,
    /// Which of the new blocks it belongs into, from 0.
    pub block: U64,
}

impl DevRequest {
    /// Whether it only looks.
    pub(crate) fn only_looks(&self) -> bool {
        matches!(
            self,
            Self::GetAutomine
                | Self::GetIntervalMining
                | Self::DumpState
                | Self::NodeInfo
                | Self::Metadata { .. }
                | Self::SetLoggingEnabled { .. }
        )
    }
}
