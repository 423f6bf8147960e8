//! The one error type of the node. It carries data; the JSON-RPC code of each kind belongs to the
//! layer above.

use alloy_primitives::{B256, Bytes};
use hearth_evm::{CallError, SimulateError, simulate::revert_reason};
use hearth_flatkv::Holder;
use hearth_pool::PoolError;
use hearth_primitives::{Failure, Height, STORE_FAILED_PUBLIC, SharedError, StateError, is_elsewhere};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Everything that can go wrong between a request and its answer, or while a home is opened.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NodeError {
    /// A setting has a value that no node can run with.
    #[error("configuration: {reason}")]
    Config {
        /// Which field and why.
        reason: String,
    },
    /// Another process has the home open.
    #[error("{} is in use by {}", home.display(), who(holder))]
    HomeInUse {
        /// The home.
        home: PathBuf,
        /// That process, where it is known.
        holder: Option<Holder>,
    },
    /// `start` on a home with nothing in it.
    #[error(
        "{} holds no chain yet: run `hearth import` to import one, `hearth init --genesis FILE` to begin one, or `hearth dev` for a development chain",
        home.display()
    )]
    HomeEmpty {
        /// The home.
        home: PathBuf,
    },
    /// `init` on a home that holds a chain already.
    #[error("{} holds a chain already", home.display())]
    HomeNotEmpty {
        /// The home.
        home: PathBuf,
    },
    /// The home is opened for reading beside a node that has taken no snapshot yet.
    #[error("{} is in use, and there is no snapshot of it to read yet: {reason}", home.display())]
    NoSnapshot {
        /// The home.
        home: PathBuf,
        /// What the store says.
        reason: String,
    },
    /// A change where the home is opened for reading.
    #[error("the data directory is open for reading only: nothing can be changed or sent")]
    ReadOnly,
    /// The chain left a block while those after it were read.
    #[error(
        "the chain has changed: block {height} is not the one that was read before; begin again below it"
    )]
    Reorganised {
        /// Height of the block.
        height: Height,
    },
    /// The home belongs to another chain or to another format.
    #[error("{} cannot be used: {reason}", home.display())]
    HomeIncompatible {
        /// The home.
        home: PathBuf,
        /// What differs.
        reason: String,
    },
    /// A file given to a replay cannot be used.
    #[error("{}: {reason}", file.display())]
    Input {
        /// The file.
        file: PathBuf,
        /// Which field and why.
        reason: String,
    },
    /// The client left; the answer written so far is no complete JSON value.
    #[error("cancelled: no client waits for the answer")]
    Cancelled,
    /// The genesis file does not read as one.
    #[error("genesis: {reason}")]
    Genesis {
        /// Which field and why.
        reason: String,
    },
    /// No such block where the method answers with an error (state methods, by number).
    #[error("header not found")]
    HeaderNotFound,
    /// No header with this hash where the method answers with an error (state methods, by hash).
    #[error("header for hash not found")]
    HeaderForHashNotFound,
    /// `safe` or `finalized` before a consensus client has named such a block (go-ethereum's text).
    #[error("{tag} block not found")]
    TagNotSet {
        /// `safe` or `finalized`.
        tag: &'static str,
    },
    /// What the Engine API refuses.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// `requireCanonical` was set and the block is not on the canonical chain.
    #[error("hash is not currently canonical")]
    NotCanonical,
    /// `eth_getLogs` of a block hash that is not known.
    #[error("unknown block")]
    UnknownBlock,
    /// Tracing or raw reads of a block that is not known.
    #[error("{}", match number { Some(n) => format!("block #{n} not found"), None => "block not found".into() })]
    BlockNotFound {
        /// The height, where one was given.
        number: Option<Height>,
    },
    /// A block that is not known, where the method of go-ethereum has a text of its own.
    #[error("{text}")]
    BlockUnknown {
        /// The text.
        text: String,
    },
    /// A height below the first block of a home that began in the middle of a chain.
    #[error("block {height} is before the first block of this node, which is block {first}")]
    BeforeFirstBlock {
        /// The requested height.
        height: Height,
        /// The first height there is.
        first: Height,
    },
    /// Tracing a transaction that is not on the canonical chain.
    #[error("transaction not found")]
    TransactionNotFound,
    /// Tracing a native transaction of the canonical chain, which the EVM did not execute as a
    /// transaction of its own.
    #[error("cannot trace a native transaction: {hash} came from outside the EVM")]
    NativeTransaction {
        /// Its hash.
        hash: B256,
    },
    /// A block given in full does not decode.
    #[error("could not decode block: {message}")]
    BlockDecode {
        /// What is wrong with the bytes.
        message: String,
    },
    /// No block with this hash.
    #[error("block {hash} not found")]
    BlockHashNotFound {
        /// The requested hash.
        hash: B256,
    },
    /// The parent of a block that was given in full, or of a refused one, is not known.
    #[error("block {hash} not found")]
    ParentNotFound {
        /// Hash of the parent.
        hash: B256,
    },
    /// A block that is not among the refused ones.
    #[error("bad block {hash} not found")]
    BadBlockNotFound {
        /// The requested hash.
        hash: B256,
    },
    /// A place in a block that it does not have.
    #[error("{message}")]
    InvalidIndex {
        /// go-ethereum's words for it.
        message: String,
    },
    /// Block 0 has no parent to execute on.
    #[error("genesis is not traceable")]
    GenesisNotTraceable,
    /// A simulated call reverted.
    #[error("execution reverted{}", match reason { Some(r) => format!(": {r}"), None => String::new() })]
    ExecutionReverted {
        /// Solidity's `Error(string)` or `Panic(uint256)`, in words.
        reason: Option<String>,
        /// The bytes that the call returned.
        output: Bytes,
    },
    /// A simulated call failed without reverting, or could not begin.
    #[error("{source}")]
    ExecutionFailed {
        /// go-ethereum's words for it.
        source: Failure,
    },
    /// Blocks that cannot be simulated.
    #[error(transparent)]
    Simulation(Box<SimulateError>),
    /// Arguments that do not fit the method.
    #[error("{message}")]
    InvalidParams {
        /// What is wrong, the parameter named.
        message: String,
    },
    /// A request outside the limits of this node.
    #[error("{message}")]
    LimitExceeded {
        /// The limit, named with its value.
        message: String,
    },
    /// A request outside a limit that execution-apis has a code for.
    #[error("{message}")]
    ClientLimit {
        /// The limit, named with its value.
        message: String,
    },
    /// A well-formed request that cannot be served: a tracer that does not exist, a percentile out
    /// of order.
    #[error("{message}")]
    Unsupported {
        /// What is not served.
        message: String,
    },
    /// The transaction was not accepted.
    #[error(transparent)]
    Pool(PoolError),
    /// More gas than EIP-7825 lets a transaction have, on a development chain.
    #[error(
        "transaction gas limit too high (cap: {cap}, tx: {gas}): EIP-7825 caps it from Osaka on, and `hearth dev --hardfork prague` has no cap"
    )]
    GasAboveForkCap {
        /// The cap.
        cap: u64,
        /// The transaction's gas limit.
        gas: u64,
    },
    /// A transaction was mined and failed, where sending such a one is an error.
    #[error("{message}")]
    TransactionReverted {
        /// Hardhat's words for it.
        message: String,
        /// Its hash.
        hash: B256,
        /// The reason, as bytes.
        output: Bytes,
    },
    /// A transaction was mined and ran out of gas, where sending such a one is an error.
    #[error("Transaction ran out of gas")]
    TransactionOutOfGas {
        /// Its hash.
        hash: B256,
    },
    /// The chain that this home is a fork of did not say what was needed of it.
    #[error("{message}")]
    Origin {
        /// Why.
        message: String,
    },
    /// This node does not have the account's key.
    #[error("unknown account")]
    UnknownAccount,
    /// A transaction that is to be signed does not say for which account.
    #[error("unknown account: the transaction has no `from`; eth_accounts lists the accounts of this node")]
    MissingSender,
    /// A block is to be built on another block than the head.
    #[error("parentHash is not current head")]
    NotTheHead,
    /// The raw transaction does not decode.
    #[error("{message}")]
    TransactionDecode {
        /// What is wrong with the bytes.
        message: String,
    },
    /// State of a height that is not kept.
    #[error("state at height {height} is not available: this node has heights {oldest} to {newest}")]
    NotRetained {
        /// The requested height.
        height: Height,
        /// Oldest height with state.
        oldest: Height,
        /// Newest height with state.
        newest: Height,
    },
    /// Blocks or receipts below the floor that an operator has set.
    #[error("block {height} was pruned: {what} are kept from block {floor} on")]
    Pruned {
        /// The requested height.
        height: Height,
        /// `blocks`, `receipts`, or `blocks of the address index`.
        what: &'static str,
        /// Lowest height that is kept.
        floor: Height,
    },
    /// State is kept along the canonical chain alone, and this block is not on it.
    #[error("state at height {height} is not available: block {hash} is not on the canonical chain")]
    StateNotCanonical {
        /// Height of the block.
        height: Height,
        /// Hash of the block.
        hash: B256,
    },
    /// A trace that would have to read the state of a height that is too far below the head.
    #[error("block number {height} is beyond max lookback of {lookback}")]
    BeyondLookback {
        /// Height of the block.
        height: Height,
        /// Blocks below the head whose state traces may read.
        lookback: u64,
    },
    /// The state trie of a block is too far below the head to be computed.
    #[error("{reason}")]
    BeyondTrieLookback {
        /// How far, and which limit that is beyond.
        reason: String,
    },
    /// `evm.trace_source` is `capsule`, and this block has none.
    #[error(
        "block {height} ({hash}) has no trace capsule, and evm.trace_source = capsule rules out its history"
    )]
    NoCapsule {
        /// Height of the block.
        height: Height,
        /// Hash of the block.
        hash: B256,
    },
    /// A block stored here does not execute again to what was stored.
    #[error("block {height} does not execute: {source}")]
    Execution {
        /// Height of the block.
        height: Height,
        /// Which check failed.
        source: Failure,
    },
    /// A trace ended early; some bytes may have been sent already.
    #[error("{source}")]
    Trace {
        /// Why.
        source: Failure,
    },
    /// The queue of a thread pool is full.
    #[error("node is busy: the {pool} queue is full ({queue} waiting)")]
    Busy {
        /// Name of the pool.
        pool: &'static str,
        /// Its limit of waiting jobs.
        queue: usize,
    },
    /// No thread of a pool was free in time.
    #[error("node is busy: no thread of the {pool} pool was free for {waited_ms} ms")]
    WaitedTooLong {
        /// Name of the pool.
        pool: &'static str,
        /// How long the request waited, in milliseconds.
        waited_ms: u64,
    },
    /// The process takes more memory than it may, though its caches were given up.
    #[error("node is busy: it takes {used} bytes of memory, and its budget is {budget}")]
    ShortOfMemory {
        /// Bytes that the process takes.
        used: u64,
        /// Bytes that it may take.
        budget: u64,
    },
    /// The node is closed.
    #[error("node is closed")]
    Closed,
    /// A home whose stores cannot be opened, because something in them is damaged.
    #[error("{} is damaged: {reason}{}", home.display(), repair_advice(home, *repairable))]
    HomeDamaged {
        /// The home.
        home: PathBuf,
        /// What is damaged.
        reason: String,
        /// Whether `hearth db repair` may help; otherwise the reason says what does.
        repairable: bool,
    },
    /// The stored record of a block fails its checksum.
    #[error("the {what} of block {hash}: {source}")]
    RecordDamaged {
        /// `record`, `receipts` or `capsule`.
        what: &'static str,
        /// Hash of the block.
        hash: B256,
        /// Where the damage is.
        source: SharedError,
    },
    /// The stores are inconsistent or not open. The message contains no path.
    #[error("store: {message}")]
    Store {
        /// Which store and why.
        message: String,
    },
    /// The state store failed.
    #[error("store: {0}")]
    State(#[source] StateError),
    /// A store failed, in words that may name files of this machine: clients do not get them.
    #[error("store: {source}")]
    StoreFailed {
        /// The store's error.
        source: SharedError,
    },
    /// A defect of this program: a job panicked.
    #[error("internal error: {message}")]
    Internal {
        /// The panic's message.
        message: String,
    },
}

/// Names a process that has a home, as far as it is known.
pub fn who(holder: &Option<Holder>) -> String {
    holder.as_ref().map_or_else(|| "another process".to_owned(), Holder::to_string)
}

/// The command that repairs a home, where one does.
fn repair_advice(home: &Path, repairable: bool) -> String {
    if repairable { format!("; run `hearth db repair --home {}`", home.display()) } else { String::new() }
}

impl NodeError {
    /// The failure of a store, whose own words clients do not get.
    pub fn store_failed(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::StoreFailed { source: Arc::new(source) }
    }

    /// A stable machine name of the kind, for the table of JSON-RPC errors.
    pub fn kind(&self) -> &'static str {
        // The cause is a state that this home lacks: the followed node has it.
        if is_elsewhere(self) { "state_elsewhere" } else { self.own_kind() }
    }

    fn own_kind(&self) -> &'static str {
        match self {
            Self::Config { .. } => "config",
            Self::HomeInUse { .. } => "home_in_use",
            Self::HomeEmpty { .. } => "home_empty",
            Self::HomeNotEmpty { .. } => "home_not_empty",
            Self::HomeIncompatible { .. } => "home_incompatible",
            Self::NoSnapshot { .. } => "no_snapshot",
            Self::ReadOnly => "read_only",
            Self::Reorganised { .. } => "not_canonical",
            Self::Input { .. } => "io",
            Self::Genesis { .. } => "genesis",
            Self::HeaderNotFound | Self::HeaderForHashNotFound => "header_not_found",
            Self::TagNotSet { .. } => "header_not_found",
            Self::Engine(error) => error.kind(),
            Self::NotCanonical => "not_canonical",
            Self::UnknownBlock => "unknown_block",
            Self::BlockNotFound { .. } | Self::BlockUnknown { .. } => "block_not_found",
            Self::BeforeFirstBlock { .. } => "evm_not_supported",
            Self::TransactionNotFound => "transaction_not_found",
            Self::NativeTransaction { .. } => "native_transaction",
            Self::BlockDecode { .. } => "transaction_decode",
            Self::BadBlockNotFound { .. } | Self::BlockHashNotFound { .. } | Self::ParentNotFound { .. } => {
                "block_not_found"
            }
            Self::InvalidIndex { .. } => "transaction_not_found",
            Self::GenesisNotTraceable => "genesis_not_traceable",
            Self::ExecutionReverted { .. } => "execution_reverted",
            Self::ExecutionFailed { .. } => "execution_failed",
            Self::Simulation(error) => error.kind(),
            Self::InvalidParams { .. } => "invalid_params",
            Self::LimitExceeded { .. } => "limit_exceeded",
            Self::ClientLimit { .. } => "client_limit",
            Self::Unsupported { .. } => "unsupported",
            Self::Pool(PoolError::FeeCapTooLow) => "fee_below_base_fee",
            Self::Pool(_) | Self::GasAboveForkCap { .. } => "transaction_rejected",
            Self::TransactionReverted { .. } => "transaction_reverted",
            Self::TransactionOutOfGas { .. } => "transaction_out_of_gas",
            Self::TransactionDecode { .. } => "transaction_decode",
            Self::Origin { .. } => "origin",
            Self::UnknownAccount | Self::MissingSender => "unknown_account",
            Self::NotTheHead => "unsupported",
            Self::NotRetained { .. }
            | Self::StateNotCanonical { .. }
            | Self::Pruned { .. }
            | Self::NoCapsule { .. } => "not_retained",
            Self::Execution { .. } => "execution",
            Self::Trace { .. } => "trace",
            Self::Cancelled => "cancelled",
            Self::Busy { .. } | Self::WaitedTooLong { .. } | Self::ShortOfMemory { .. } => "busy",
            Self::BeyondLookback { .. } => "beyond_lookback",
            Self::BeyondTrieLookback { .. } => "beyond_trie_lookback",
            Self::Closed => "closed",
            Self::HomeDamaged { .. } => "home_damaged",
            Self::RecordDamaged { .. } => "record_damaged",
            Self::Store { .. } | Self::State(_) | Self::StoreFailed { .. } => "store",
            Self::Internal { .. } => "internal",
        }
    }

    /// The `data` member of a JSON-RPC error: the bytes of a revert as hex. For a home in use,
    /// which only happens outside of requests: the number of the process that has it open. For a
    /// trace beyond the lookback: the setting that limits it.
    pub fn data(&self) -> Option<String> {
        match self {
            Self::ExecutionReverted { output, .. } => Some(output.to_string()),
            Self::HomeInUse { holder: Some(holder), .. } => Some(holder.pid.to_string()),
            Self::BeyondLookback { .. } => Some("evm.max_trace_lookback_blocks".to_owned()),
            Self::Engine(error) => error.reason().map(str::to_owned),
            _ => None,
        }
    }

    /// `data` as JSON: text, or for a transaction that failed an object as Hardhat's node has it.
    fn wire_data(&self) -> Option<serde_json::Value> {
        let (hash, output) = match self {
            Self::TransactionReverted { hash, output, .. } => (hash, output.clone()),
            Self::TransactionOutOfGas { hash } => (hash, Bytes::new()),
            other => return other.data().map(Into::into),
        };
        Some(serde_json::json!({ "message": self.to_string(), "txHash": hash, "data": output }))
    }

    /// The message for clients on the network, if the plain message may name folders and files of
    /// this machine.
    pub fn public(&self) -> Option<String> {
        let text = match self {
            Self::RecordDamaged { what, hash, .. } => format!("the {what} of block {hash} is damaged"),
            Self::StoreFailed { .. } => STORE_FAILED_PUBLIC.to_owned(),
            Self::State(error) if error.is_private() => STORE_FAILED_PUBLIC.to_owned(),
            Self::HomeInUse { .. } => "the data directory is in use by another process".to_owned(),
            Self::HomeEmpty { .. } => "the home holds no chain yet".to_owned(),
            Self::HomeNotEmpty { .. } => "the home holds a chain already".to_owned(),
            Self::HomeDamaged { .. } => "the data directory is damaged".to_owned(),
            Self::HomeIncompatible { .. } => "the home cannot be used".to_owned(),
            Self::NoSnapshot { .. } => "there is no snapshot of the home to read".to_owned(),
            Self::Input { .. } => "a file cannot be used".to_owned(),
            Self::Config { .. } => "the configuration of this node cannot be used".to_owned(),
            Self::Genesis { .. } => "the genesis cannot be used".to_owned(),
            // The message of a panic may contain anything.
            Self::Internal { .. } => "internal error: the log of this node says more".to_owned(),
            Self::Execution { height, source } => {
                format!("block {height} does not execute: {}", source.public()?)
            }
            Self::Trace { source } | Self::ExecutionFailed { source } => source.public()?,
            Self::Simulation(error) if error.state().is_some_and(StateError::is_private) => {
                STORE_FAILED_PUBLIC.to_owned()
            }
            _ => return None,
        };
        Some(text)
    }

    /// `{"kind":…,"message":…,"public":…,"data":…}`; `public` and `data` only where there is one.
    pub fn to_json(&self) -> Vec<u8> {
        #[derive(serde::Serialize)]
        struct Wire<'a> {
            kind: &'a str,
            message: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            public: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            data: Option<serde_json::Value>,
        }
        let (kind, message) = (self.kind(), self.to_string());
        let wire = Wire { kind, message, public: self.public(), data: self.wire_data() };
        serde_json::to_vec(&wire).expect("strings always serialise")
    }

    /// An error of parameters, in the words given.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::InvalidParams { message: message.into() }
    }
}

impl From<NodeError> for Failure {
    fn from(error: NodeError) -> Self {
        match error {
            NodeError::State(error) => error.into(),
            NodeError::Trace { source } | NodeError::ExecutionFailed { source } => source,
            other if other.public().is_some() => Self::private(other),
            other => Self::open(other),
        }
    }
}

impl From<PoolError> for NodeError {
    fn from(error: PoolError) -> Self {
        match error {
            // The transaction is not at fault where the store is.
            PoolError::State(error) => error.into(),
            other => Self::Pool(other),
        }
    }
}

impl From<StateError> for NodeError {
    fn from(error: StateError) -> Self {
        match error {
            StateError::NotRetained { height, oldest, newest } => {
                Self::NotRetained { height, oldest, newest }
            }
            StateError::Origin(_) => Self::Origin { message: error.to_string() },
            StateError::TooFarBack { .. } => Self::BeyondTrieLookback { reason: error.to_string() },
            StateError::NoTrie { .. } => Self::Unsupported { message: error.to_string() },
            other => Self::State(other),
        }
    }
}

impl From<CallError> for NodeError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Reverted { data } => {
                Self::ExecutionReverted { reason: revert_reason(&data).map(Into::into), output: data }
            }
            CallError::State(error) => error.into(),
            other => Self::ExecutionFailed { source: Failure::open(other) },
        }
    }
}

mod engine;
#[cfg(test)]
mod paths;

pub use engine::EngineError;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revert_carries_its_bytes_and_go_ethereums_words() {
        let error =
            NodeError::ExecutionReverted { reason: Some("no".into()), output: Bytes::from_static(&[1, 2]) };
        assert_eq!(
            String::from_utf8(error.to_json()).expect("JSON is UTF-8"),
            r#"{"kind":"execution_reverted","message":"execution reverted: no","data":"0x0102"}"#
        );
    }

    #[test]
    fn a_missing_block_is_named_by_its_number_where_there_is_one() {
        assert_eq!(NodeError::BlockNotFound { number: Some(7) }.to_string(), "block #7 not found");
        assert_eq!(NodeError::BlockNotFound { number: None }.to_string(), "block not found");
    }
}
