//! Data that crosses components: block and receipt types, accounts, changesets, the state-reading
//! traits.
//!
//! Thin on purpose: the types of alloy do the rest. Nothing here reads a disk, a clock or the
//! environment.

mod capsule;
mod changes;
mod failure;
mod fair_queue;
mod native;
mod origin;
mod state;
mod waits;
pub mod zero_is_none;

pub use capsule::{CapsuleAccount, CapsuleState, CapsuleWrite, TraceCapsule};
pub use changes::{AccountChange, Changeset, SlotChange};
pub use failure::{Failure, STORE_FAILED_PUBLIC};
pub use fair_queue::FairQueue;
pub use native::{NATIVE_FAILED, NATIVE_OUT_OF_GAS, NativeOutcome, NativeSidecar, NativeTransaction};
pub use origin::RemoteState;
pub use state::{
    BlockHashes, Elsewhere, REPAIR, RootTracker, SharedError, StateError, StateReader, is_elsewhere,
};
pub use waits::OriginWaits;

use alloy_eips::eip7685::Requests;
use alloy_primitives::{Address, B256, Bloom, U256};

/// A block's number.
pub type Height = u64;

/// A signed transaction as blocks carry it (no blob sidecar).
pub type Transaction = alloy_consensus::EthereumTxEnvelope<alloy_consensus::TxEip4844>;

/// A signed transaction as clients send it: type 3 carries its blob sidecar.
pub type PooledTransaction = alloy_consensus::TxEnvelope;

/// A block header, [`alloy_consensus::Header`].
pub type Header = alloy_consensus::Header;

/// A block: header, transactions, ommers, withdrawals.
pub type Block = alloy_consensus::Block<Transaction>;

/// A receipt with its bloom; before Byzantium (EIP-658) it carries the state root after its
/// transaction.
pub type Receipt = alloy_consensus::ReceiptEnvelope;

/// An account that exists. Absence is `Option::None`; an empty account is a value before EIP-161.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Account {
    /// Number of transactions sent, or of contracts created.
    pub nonce: u64,
    /// Balance in wei.
    pub balance: U256,
    /// Keccak-256 of the code; [`alloy_primitives::KECCAK256_EMPTY`] without code.
    pub code_hash: B256,
}

impl Default for Account {
    fn default() -> Self {
        Self { nonce: 0, balance: U256::ZERO, code_hash: alloy_primitives::KECCAK256_EMPTY }
    }
}

impl Account {
    /// Whether EIP-161 calls the account empty: no nonce, no balance, no code.
    pub fn is_empty(&self) -> bool {
        self.nonce == 0 && self.balance.is_zero() && !self.has_code()
    }

    /// Whether the account has code.
    pub fn has_code(&self) -> bool {
        self.code_hash != alloy_primitives::KECCAK256_EMPTY
    }
}

/// The output of the execution of one block: everything that later components check, store or trace
/// from.
#[derive(Clone, Debug, Default)]
pub struct BlockOutput {
    /// One receipt a transaction, in order.
    pub receipts: Vec<Receipt>,
    /// Sender of each transaction, in order.
    pub senders: Vec<Address>,
    /// Gas used by all transactions.
    pub gas_used: u64,
    /// Blob gas used by all transactions (EIP-4844).
    pub blob_gas_used: u64,
    /// Union of the receipts' blooms.
    pub logs_bloom: Bloom,
    /// Execution-layer requests (EIP-7685), from Prague on.
    pub requests: Option<Requests>,
    /// Net change of the whole block, against the state of the parent.
    pub changes: Changeset,
    /// Write sets in order: system calls and fork transitions at the start, each transaction,
    /// rewards and the end. Its length is the number of transactions plus two.
    pub writes: Vec<Changeset>,
    /// Values at the start of the block of everything that execution looked at.
    pub reads: ReadSet,
    /// The native transactions and the evidence that were executed.
    pub sidecar: NativeSidecar,
    /// The outcome of each native transaction, in order.
    pub native_outcomes: Vec<NativeOutcome>,
    /// The withdrawals that the block must have (EIP-4895), on chains whose staking contract
    /// determines them.
    pub withdrawals: Option<Vec<alloy_eips::eip4895::Withdrawal>>,
}

/// The values at the start of a block of everything that its execution read; unsorted, without
/// duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadSet {
    /// Accounts that were read, each with its value at the start; `None` where it did not exist.
    pub accounts: Vec<(Address, Option<Account>)>,
    /// Slots that were read, each with its value at the start.
    pub slots: Vec<(Address, U256, U256)>,
    /// Accounts whose storage was read as a whole: every slot of theirs that was not zero is in
    /// `slots`.
    pub whole_storage: Vec<Address>,
    /// Whether the set also contains everything that a native tracer would read although execution
    /// does not. A capsule needs that.
    pub captured: bool,
    /// Hashes of code that was loaded.
    pub codes: Vec<B256>,
    /// Block hashes that were requested (`BLOCKHASH`).
    pub block_hashes: Vec<(Height, B256)>,
}
