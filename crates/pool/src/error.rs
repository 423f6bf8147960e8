//! Why a transaction is not accepted, in go-ethereum's words where it has them
//! (core/txpool/errors.go).

use alloy_primitives::U256;
use hearth_primitives::StateError;

/// The most that two transactions of one nonce can cost.
#[derive(Clone, Copy, Debug)]
pub struct BumpedCost {
    /// The new one, in wei.
    pub cost: U256,
    /// The one that it replaces, in wei.
    pub old: U256,
}

/// A transaction that the pool does not take.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PoolError {
    /// The pool holds it already.
    #[error("already known")]
    AlreadyKnown,
    /// The type is not valid at this height.
    #[error("transaction type not supported: type {ty} rejected, pool not yet in {fork}")]
    TypeNotSupported {
        /// EIP-2718 type.
        ty: u8,
        /// The fork that brings it.
        fork: &'static str,
    },
    /// A transaction with blobs on a chain that keeps none.
    #[error("transaction type not supported: type 3 rejected, no layer keeps its blobs")]
    BlobsNotKept,
    /// More bytes than the pool takes.
    #[error("oversized data: transaction size {size}, limit {limit}")]
    Oversized {
        /// Its length in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// Init code longer than EIP-3860 allows.
    #[error("max initcode size exceeded: code size {size}, limit {limit}")]
    InitCodeTooLarge {
        /// Its length in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// A gas limit above EIP-7825's cap.
    #[error("transaction gas limit too high (cap: {cap}, tx: {gas})")]
    GasLimitTooHigh {
        /// The cap.
        cap: u64,
        /// Its gas limit.
        gas: u64,
    },
    /// A gas limit above the block's.
    #[error("exceeds block gas limit")]
    ExceedsBlockGasLimit,
    /// A tip above the fee cap.
    #[error("max priority fee per gas higher than max fee per gas")]
    TipAboveFeeCap,
    /// The signature does not give a sender.
    #[error("invalid sender: {reason}")]
    InvalidSender {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Signed for another chain.
    #[error("invalid sender: invalid chain id for signer: have {have} want {want}")]
    WrongChainId {
        /// The transaction's chain id.
        have: u64,
        /// This chain's id.
        want: u64,
    },
    /// A required chain id (EIP-155) is missing.
    #[error("only replay-protected (EIP-155) transactions allowed over RPC")]
    Unprotected,
    /// The nonce 2^64 - 1 (EIP-2681).
    #[error("nonce has max value")]
    NonceMax,
    /// Less gas than the transaction costs before its first instruction.
    #[error("intrinsic gas too low: gas {gas}, minimum needed {needed}")]
    IntrinsicGas {
        /// Its gas limit.
        gas: u64,
        /// The minimum.
        needed: u64,
    },
    /// Less gas than EIP-7623's floor.
    #[error("insufficient gas for floor data gas cost: gas {gas}, minimum needed {needed}")]
    FloorGas {
        /// Its gas limit.
        gas: u64,
        /// The minimum.
        needed: u64,
    },
    /// A tip below the pool's minimum.
    #[error("transaction gas price below minimum: gas tip cap {have}, minimum needed {needed}")]
    TipTooLow {
        /// Its tip cap in wei.
        have: u128,
        /// The minimum in wei.
        needed: u128,
    },
    /// A fee cap below the base fee of the next block, on a chain that makes a block for each
    /// transaction and under CometBFT.
    #[error("max fee per gas less than block base fee")]
    FeeCapTooLow,
    /// A blob fee cap below the lowest price there is.
    #[error("transaction gas price below minimum: blob fee cap {have}, minimum needed {needed}")]
    BlobFeeTooLow {
        /// Its blob fee cap in wei.
        have: u128,
        /// The minimum in wei.
        needed: u128,
    },
    /// A total fee above the cap of this node.
    #[error("tx fee ({:.2} ether) exceeds the configured cap ({:.2} ether)", ether(*fee_wei), ether(U256::from(*cap_wei)))]
    FeeCapExceeded {
        /// Gas limit times price, in wei.
        fee_wei: U256,
        /// The cap in wei.
        cap_wei: u128,
    },
    /// Blob or set-code transactions cannot create contracts.
    #[error("{0}")]
    Malformed(&'static str),
    /// More blobs than a transaction may carry.
    #[error("transaction blob limit exceeded: blob count {have}, limit {permitted}")]
    TooManyBlobs {
        /// Its blobs.
        have: usize,
        /// The limit.
        permitted: usize,
    },
    /// A sidecar whose parts do not fit the hashes.
    #[error("{reason}")]
    Sidecar {
        /// Which part.
        reason: String,
    },
    /// The proofs of a sidecar do not verify.
    #[error("KZG verification error: {reason}")]
    Kzg {
        /// What does not verify.
        reason: String,
    },
    /// A sidecar of the newer form before its fork.
    #[error("unexpected sidecar version, want: {want}, got: {got}")]
    SidecarVersion {
        /// The version of this fork.
        want: u8,
        /// The version sent.
        got: u8,
    },
    /// The nonce was used.
    #[error("nonce too low: next nonce {next}, tx nonce {nonce}")]
    NonceTooLow {
        /// The account's nonce.
        next: u64,
        /// The transaction's.
        nonce: u64,
    },
    /// The sender cannot pay for it.
    #[error("insufficient funds for gas * price + value: balance {balance}, tx cost {cost}, overshot {}", cost.saturating_sub(*balance))]
    InsufficientFunds {
        /// The sender's balance in wei.
        balance: U256,
        /// The most it can cost in wei.
        cost: U256,
    },
    /// The sender cannot pay for it beside those that can be executed already.
    #[error("insufficient funds for gas * price + value: balance {balance}, queued cost {queued}, tx cost {cost}, overshot {}", queued.saturating_add(*cost).saturating_sub(*balance))]
    Overdraft {
        /// The sender's balance in wei.
        balance: U256,
        /// The most the waiting ones can cost in wei.
        queued: U256,
        /// The most it can cost in wei.
        cost: U256,
    },
    /// As [`Self::Overdraft`], of a transaction that takes the nonce of another one.
    #[error("insufficient funds for gas * price + value: balance {balance}, queued cost {queued}, tx bumped {}, overshot {}", bump(bumped.old, bumped.cost), queued.saturating_sub(bumped.old).saturating_add(bumped.cost).saturating_sub(*balance))]
    BumpOverdraft {
        /// The sender's balance in wei.
        balance: U256,
        /// The most the waiting ones can cost in wei, the replaced one included.
        queued: U256,
        /// The two transactions of the nonce.
        bumped: Box<BumpedCost>,
    },
    /// A replacement that does not offer enough more.
    #[error("replacement transaction underpriced")]
    ReplacementUnderpriced,
    /// The same of a transaction with blobs, for which go-ethereum names the price.
    #[error("replacement transaction underpriced: {reason}")]
    BlobReplacementUnderpriced {
        /// Which price, and by how much.
        reason: String,
    },
    /// The account has reached its limit of transactions in the pool.
    #[error("account limit exceeded: pooled {pooled} txs")]
    AccountLimit {
        /// How many wait.
        pooled: usize,
    },
    /// The pool is full and this one does not offer more than the cheapest.
    #[error("transaction underpriced: the pool is full ({limit} transactions)")]
    Full {
        /// The limit.
        limit: usize,
    },
    /// The pool is full, and one behind a gap does not take the place of one that can be executed.
    #[error("future transaction tries to replace pending")]
    FutureReplacesPending,
    /// An account whose code is delegated, or about to be, has a pending transaction already
    /// (EIP-7702).
    #[error("in-flight transaction limit reached for delegated accounts")]
    DelegatedLimit,
    /// A transaction behind a gap, of an account whose code is delegated or about to be (EIP-7702).
    #[error("gapped-nonce tx from delegated accounts")]
    DelegatedGap,
    /// It carries an authorization of an account that has several transactions waiting (EIP-7702).
    #[error("authority already reserved")]
    AuthorityReserved,
    /// An account has transactions with blobs waiting, or transactions without, and not both.
    #[error("address already reserved")]
    OtherKindWaits,
    /// Execution found what validation does not look at.
    #[error("{reason}")]
    Invalid {
        /// Why, in the executor's words.
        reason: String,
    },
    /// The state could not be read.
    #[error(transparent)]
    State(#[from] StateError),
}

/// How much more a replacement can cost, in wei; with a sign where it is less.
fn bump(old: U256, new: U256) -> String {
    if new < old { format!("-{}", old - new) } else { (new - old).to_string() }
}

/// Wei as ether, for reading only.
fn ether(wei: U256) -> f64 {
    f64::from(wei) / 1e18
}
