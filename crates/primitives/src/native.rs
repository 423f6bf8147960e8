//! Transactions that come from outside of the EVM: another envelope for a message of the same
//! account.

use alloy_primitives::{Address, B256, Bytes, Log, U256};

/// A native transaction as the EVM executes it: a call that pays for its gas as a legacy
/// transaction does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeTransaction {
    /// The transaction as consensus gave it.
    pub bytes: Bytes,
    /// SHA-256 of [`Self::bytes`].
    pub hash: B256,
    /// Who signed it.
    pub sender: Address,
    /// The signer's nonce.
    pub nonce: u64,
    /// Most gas.
    pub gas_limit: u64,
    /// Price of a unit of gas, in wei.
    pub gas_price: u128,
    /// What is called.
    pub to: Address,
    /// Wei that the call carries.
    pub value: U256,
    /// Input of the call.
    pub input: Bytes,
    /// A log of the message itself, which stands before those of its call.
    pub log: Option<Log>,
    /// Last height of a block that may have it; 0 for no limit.
    pub timeout_height: u64,
}

/// What a native transaction did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NativeOutcome {
    /// 0 for success, else why it failed: consensus receives it.
    pub code: u32,
    /// Gas used, refunds deducted.
    pub gas_used: u64,
    /// Its logs; none where it failed.
    pub logs: Vec<Log>,
    /// What its call returned, or the reason of a revert.
    pub output: Bytes,
}

impl NativeOutcome {
    /// Whether it succeeded.
    pub fn is_success(&self) -> bool {
        self.code == 0
    }
}

/// The native part of a block under CometBFT: native transactions and evidence. No header and no
/// body of Ethereum has it, so it is stored separately.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NativeSidecar {
    /// Native transactions, in the order of their execution: all before the first Ethereum
    /// transaction.
    pub natives: Vec<NativeTransaction>,
    /// Validators that misbehaved, as the staking contract takes them: for each the kind (1 byte),
    /// the consensus address (20), and the height of the infraction (8, big-endian).
    pub misbehavior: Bytes,
}

impl NativeSidecar {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.natives.is_empty() && self.misbehavior.is_empty()
    }

    /// Hashes of the native transactions, in order.
    pub fn hashes(&self) -> impl Iterator<Item = B256> {
        self.natives.iter().map(|native| native.hash)
    }
}

/// Code of a native transaction whose call was reverted or halted.
pub const NATIVE_FAILED: u32 = 3;

/// Code of a native transaction that ran out of gas (the Cosmos SDK's `ErrOutOfGas`).
pub const NATIVE_OUT_OF_GAS: u32 = 11;
