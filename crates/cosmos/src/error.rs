//! Why a native transaction is refused, with the code that the Cosmos SDK has for it
//! (`types/errors/errors.go`).

use crate::bech32::Bech32Error;
use alloy_primitives::{Address, U256};
use hearth_evm::TxError as EvmError;

/// Codespace of the codes below.
pub const CODESPACE: &str = "sdk";

/// A native transaction that cannot be in a block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TxError {
    /// Its bytes are no transaction of this chain.
    #[error("{0}: tx parse error")]
    Parse(String),
    /// The signature is not that of the signer over this transaction on this chain.
    #[error(
        "signature verification failed; please verify account number (0), sequence ({sequence}) and chain-id ({chain_id}): unauthorized"
    )]
    Signature {
        /// The sequence that the transaction names.
        sequence: u64,
        /// The chain's id.
        chain_id: String,
    },
    /// The account has less than the transaction may take.
    #[error("account {address} has {have}wei and needs {want}wei: insufficient funds")]
    Funds {
        /// The account.
        address: Address,
        /// Its balance.
        have: U256,
        /// Value, and gas limit times price.
        want: U256,
    },
    /// A message that this chain does not have.
    #[error("unknown message {0}: unknown request")]
    UnknownMessage(String),
    /// A key that no Ethereum account has, or that of another account than the message's.
    #[error("{0}: invalid pubkey")]
    PublicKey(String),
    /// The gas limit is below what the transaction takes before it does anything.
    #[error("gas limit {have} is below the intrinsic gas {want}: out of gas")]
    OutOfGas {
        /// The limit.
        have: u64,
        /// What it takes.
        want: u64,
    },
    /// The memo is too long.
    #[error("maximum number of characters is {most} but received {have} characters: memo too large")]
    Memo {
        /// Longest memo, in bytes.
        most: usize,
        /// Its length, in bytes.
        have: usize,
    },
    /// The price of gas is below the block's base fee.
    #[error("insufficient fees; got: {have}wei required: {want}wei: insufficient fee")]
    Fee {
        /// The fee.
        have: U256,
        /// Gas limit times base fee.
        want: U256,
    },
    /// Something else about it is not right.
    #[error("{0}: invalid request")]
    Invalid(String),
    /// It waits already.
    #[error("tx already exists in cache: tx already in mempool")]
    Known,
    /// No more native transactions can wait.
    #[error("{most} native transactions wait: mempool is full")]
    Full {
        /// Most of them.
        most: usize,
    },
    /// Its bytes are too many.
    #[error("{have} bytes, at most {most}: tx too large")]
    TooLarge {
        /// Most bytes.
        most: usize,
        /// Its bytes.
        have: usize,
    },
    /// The last height of a block that may have it has passed.
    #[error("block height: {height}, timeout height: {timeout}: tx timeout height")]
    Timeout {
        /// The block's height.
        height: u64,
        /// The last height.
        timeout: u64,
    },
    /// It does not have the account's nonce.
    #[error("account sequence mismatch, expected {want}, got {have}: incorrect account sequence")]
    Sequence {
        /// The account's nonce.
        want: u64,
        /// The transaction's sequence.
        have: u64,
    },
}

impl TxError {
    /// The code that clients compare.
    pub fn code(&self) -> u32 {
        match self {
            Self::Parse(_) => 2,
            Self::Signature { .. } => 4,
            Self::Funds { .. } => 5,
            Self::UnknownMessage(_) => 6,
            Self::PublicKey(_) => 8,
            Self::OutOfGas { .. } => 11,
            Self::Memo { .. } => 12,
            Self::Fee { .. } => 13,
            Self::Invalid(_) => 18,
            Self::Known => 19,
            Self::Full { .. } => 20,
            Self::TooLarge { .. } => 21,
            Self::Timeout { .. } => 30,
            Self::Sequence { .. } => 32,
        }
    }

    /// The error for what execution says of a native transaction.
    pub fn of_execution(error: &EvmError) -> Self {
        match error {
            EvmError::NonceTooLow { tx, state, .. } | EvmError::NonceTooHigh { tx, state, .. } => {
                Self::Sequence { want: *state, have: *tx }
            }
            EvmError::InsufficientFunds { address, have, want } => {
                Self::Funds { address: *address, have: *have, want: *want }
            }
            EvmError::FeeCapTooLow { cap, base_fee, .. } => Self::Fee { have: *cap, want: *base_fee },
            EvmError::IntrinsicGas { have, want } | EvmError::FloorDataGas { have, want } => {
                Self::OutOfGas { have: *have, want: *want }
            }
            other => Self::Invalid(other.to_string()),
        }
    }
}

impl From<Bech32Error> for TxError {
    fn from(error: Bech32Error) -> Self {
        Self::Invalid(error.to_string())
    }
}
