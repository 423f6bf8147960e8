//! Why a transaction cannot be executed, in go-ethereum's words (core/error.go).

use alloy_primitives::{Address, U256};

/// A transaction that the rules refuse. Texts are those of go-ethereum, which clients compare.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TxError {
    /// The nonce was used already.
    #[error("nonce too low: address {address}, tx: {tx} state: {state}")]
    NonceTooLow {
        /// Sender.
        address: Address,
        /// Nonce of the transaction.
        tx: u64,
        /// Nonce of the sender's account.
        state: u64,
    },
    /// A nonce before this one is missing.
    #[error("nonce too high: address {address}, tx: {tx} state: {state}")]
    NonceTooHigh {
        /// Sender.
        address: Address,
        /// Nonce of the transaction.
        tx: u64,
        /// Nonce of the sender's account.
        state: u64,
    },
    /// The account's nonce cannot grow (EIP-2681).
    #[error("nonce has max value: address {address}, nonce: {nonce}")]
    NonceMax {
        /// Sender.
        address: Address,
        /// Its nonce.
        nonce: u64,
    },
    /// The block has less gas left than the transaction's limit.
    #[error("gas limit reached")]
    GasLimitReached,
    /// The block has less blob gas left than the transaction's blobs need.
    #[error("blob gas limit reached")]
    BlobGasLimitReached,
    /// Limit above the cap of EIP-7825.
    #[error("transaction gas limit too high (cap: {cap}, tx: {limit})")]
    GasLimitTooHigh {
        /// The cap.
        cap: u64,
        /// The transaction's limit.
        limit: u64,
    },
    /// The sender has code (EIP-3607).
    #[error("sender not an eoa: address {address}, len(code): {code_len}")]
    SenderNotEoa {
        /// Sender.
        address: Address,
        /// Length of its code in bytes.
        code_len: usize,
    },
    /// Priority fee above the fee cap (EIP-1559).
    #[error(
        "max priority fee per gas higher than max fee per gas: address {address}, maxPriorityFeePerGas: {tip}, maxFeePerGas: {cap}"
    )]
    TipAboveFeeCap {
        /// Sender.
        address: Address,
        /// Priority fee in wei.
        tip: U256,
        /// Fee cap in wei.
        cap: U256,
    },
    /// Fee cap below the block's base fee (EIP-1559).
    #[error(
        "max fee per gas less than block base fee: address {address}, maxFeePerGas: {cap}, baseFee: {base_fee}"
    )]
    FeeCapTooLow {
        /// Sender.
        address: Address,
        /// Fee cap in wei.
        cap: U256,
        /// Base fee in wei.
        base_fee: U256,
    },
    /// Blob transaction without a recipient.
    #[error("blob transaction of type create")]
    BlobCreate,
    /// Blob transaction without blobs.
    #[error("blob transaction missing blob hashes")]
    MissingBlobHashes,
    /// More blobs than one transaction may have (EIP-7594).
    #[error("blob transaction has too many blobs")]
    TooManyBlobs,
    /// A blob hash of an unknown version.
    #[error("blob {index} has invalid hash version")]
    BlobHashVersion {
        /// Position of the blob, from 0.
        index: usize,
    },
    /// Blob fee cap below the block's blob base fee.
    #[error(
        "max fee per blob gas less than block blob gas fee: address {address} blobGasFeeCap: {cap}, blobBaseFee: {base_fee}"
    )]
    BlobFeeCapTooLow {
        /// Sender.
        address: Address,
        /// Blob fee cap in wei.
        cap: U256,
        /// Blob base fee in wei.
        base_fee: U256,
    },
    /// Set-code transaction without a recipient.
    #[error("EIP-7702 transaction cannot be used to create contract (sender {address})")]
    SetCodeCreate {
        /// Sender.
        address: Address,
    },
    /// Set-code transaction without authorizations.
    #[error("EIP-7702 transaction with empty auth list (sender {address})")]
    EmptyAuthorizations {
        /// Sender.
        address: Address,
    },
    /// The sender cannot pay for gas and value.
    #[error("insufficient funds for gas * price + value: address {address} have {have} want {want}")]
    InsufficientFunds {
        /// Sender.
        address: Address,
        /// Its balance in wei.
        have: U256,
        /// What is needed in wei.
        want: U256,
    },
    /// What the sender would need does not fit 256 bits.
    #[error(
        "insufficient funds for gas * price + value: address {address} required balance exceeds 256 bits"
    )]
    FundsOverflow {
        /// Sender.
        address: Address,
    },
    /// The sender cannot pay the value (simulation without fees).
    #[error("insufficient funds for transfer: address {address}")]
    InsufficientFundsForTransfer {
        /// Sender.
        address: Address,
    },
    /// A native transaction whose last height has passed.
    #[error("block height {height} is above the timeout height {timeout}")]
    TimeoutHeight {
        /// Height of the block.
        height: u64,
        /// The last height of a block that may have the transaction.
        timeout: u64,
    },
    /// The gas limit is below the intrinsic gas.
    #[error("intrinsic gas too low: have {have}, want {want}")]
    IntrinsicGas {
        /// Gas limit.
        have: u64,
        /// Intrinsic gas.
        want: u64,
    },
    /// The gas limit is below the floor of EIP-7623.
    #[error("insufficient gas for floor data gas cost: have {have}, want {want}")]
    FloorDataGas {
        /// Gas limit.
        have: u64,
        /// Floor.
        want: u64,
    },
    /// Init code too long (EIP-3860).
    #[error("max initcode size exceeded: code size {size} limit {limit}")]
    InitCodeTooLong {
        /// Length in bytes.
        size: usize,
        /// Limit in bytes.
        limit: usize,
    },
    /// A transaction type that the fork does not know.
    #[error("transaction type not supported")]
    TypeNotSupported,
    /// Replay protection for another chain (EIP-155).
    #[error("invalid chain id for signer: have {have} want {want}")]
    ChainId {
        /// The transaction's chain id.
        have: u64,
        /// This chain's.
        want: u64,
    },
    /// A signature whose values are out of range or from which no sender can be recovered.
    #[error("invalid transaction v, r, s values")]
    Signature,
    /// The interpreter refused for a reason that the checks before it do not know.
    #[error("{0}")]
    Other(String),
}
