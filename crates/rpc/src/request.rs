//! The requests to a node: one typed request per operation, parsed from `{"op":…,"args":{…}}`.

mod cosmos;
mod dev;
mod family;
mod names;

pub use cosmos::CosmosRequest;
pub use dev::{DevRequest, MineRequest, ReorgTransaction};

use crate::{
    reading::Reading,
    tagged::{self, Tagged, Variant},
};
use alloy_eips::BlockId;
use alloy_primitives::{Address, B256, Bytes, U64, U256};
use family::Family;
use hearth_consensus::ConsensusRequest;
use hearth_engine::{Attributes, EngineRequest};
use hearth_evm::{BlockOverrides, CallRequest, SimulateRequest, StateOverrides};
use hearth_home::{BlockNumber, BlockRef, NodeError};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// One operation with its arguments, read by [`Request::from_json`]. Quantities are `0x` strings or
/// JSON numbers; hashes, addresses and bytes are hex.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Request {
    /// Height of the head.
    BlockNumber,
    /// The chain's id.
    ChainId,
    /// The network's id, in decimal.
    NetVersion,
    /// `false`: this node never downloads from peers.
    Syncing,
    /// Suggested price for legacy transactions: base fee plus suggested tip, in wei.
    GasPrice,
    /// Suggested tip, in wei.
    MaxPriorityFeePerGas,
    /// Base fee of the next block, in wei.
    BaseFee,
    /// Blob base fee of the head's child, in wei.
    BlobBaseFee,
    /// Fees of past blocks.
    FeeHistory {
        /// Number of blocks wanted.
        block_count: U64,
        /// The newest of them.
        newest_block: BlockNumber,
        /// Percentiles of tips, ascending, 0 to 100.
        #[serde(default)]
        reward_percentiles: Option<Vec<f64>>,
    },
    /// Balance in wei.
    GetBalance {
        /// Account.
        address: Address,
        /// State after this block; the head where absent.
        #[serde(default)]
        block: Option<BlockRef>,
    },
    /// Code of an account.
    GetCode {
        /// Account.
        address: Address,
        /// State after this block; the head where absent.
        #[serde(default)]
        block: Option<BlockRef>,
    },
    /// Code by its hash, or `null`.
    GetCodeByHash {
        /// Which.
        hash: B256,
    },
    /// A storage slot, as 32 bytes.
    GetStorageAt {
        /// Account.
        address: Address,
        /// Slot.
        slot: U256,
        /// State after this block; the head where absent.
        #[serde(default)]
        block: Option<BlockRef>,
    },
    /// Slots of several accounts.
    GetStorageValues {
        /// Slots by account.
        requests: BTreeMap<Address, Vec<B256>>,
        /// State after this block; the head where absent.
        #[serde(default)]
        block: Option<BlockRef>,
    },
    /// An account and some of its slots with the nodes that prove them.
    GetProof {
        /// Account.
        address: Address,
        /// Slots, in the order of the answer.
        slots: Vec<ProofSlot>,
        /// State after this block.
        block: BlockRef,
    },
    /// An account's nonce; `pending` counts what waits in the pool.
    GetTransactionCount {
        /// Account.
        address: Address,
        /// State after this block; the head where absent.
        #[serde(default)]
        block: Option<BlockRef>,
    },
    /// A block by number or tag, or `null`.
    GetBlockByNumber {
        /// Which block.
        block: BlockNumber,
        /// Whole transactions instead of hashes.
        #[serde(default)]
        full: bool,
    },
    /// A block by hash, or `null`.
    GetBlockByHash {
        /// Which block.
        hash: B256,
        /// Whole transactions instead of hashes.
        #[serde(default)]
        full: bool,
    },
    /// Number and hash of a canonical block, or `null`.
    GetBlockId {
        /// Which block.
        block: BlockNumber,
    },
    /// What a block before the merge paid for itself and for its ommers, in wei: `{block, ommers}`,
    /// or `null`.
    BlockRewards {
        /// Which block, of any branch.
        hash: B256,
    },
    /// Number of transactions in a block, or `null`.
    GetBlockTransactionCountByNumber {
        /// Which block.
        block: BlockNumber,
    },
    /// Number of transactions in a block, or `null`.
    GetBlockTransactionCountByHash {
        /// Which block.
        hash: B256,
    },
    /// All receipts of a block, or `null`.
    GetBlockReceipts {
        /// Which block.
        block: BlockRef,
    },
    /// A transaction on the chain or in the pool, or `null`.
    GetTransactionByHash {
        /// Which transaction.
        hash: B256,
    },
    /// A transaction by its place, or `null`.
    GetTransactionByBlockNumberAndIndex {
        /// Which block.
        block: BlockNumber,
        /// Which of its transactions.
        index: U64,
    },
    /// A transaction by its place, or `null`.
    GetTransactionByBlockHashAndIndex {
        /// Which block.
        hash: B256,
        /// Which of its transactions.
        index: U64,
    },
    /// A receipt, or `null`.
    GetTransactionReceipt {
        /// Which transaction.
        hash: B256,
    },
    /// Logs that match a filter.
    GetLogs {
        /// The filter.
        filter: LogFilter,
    },
    /// Result of a call.
    Call {
        /// What to call.
        transaction: CallRequest,
        /// Block whose state and environment are used. Default: the head.
        #[serde(default)]
        block: Option<BlockRef>,
        /// State to pretend.
        #[serde(default)]
        state_overrides: Option<StateOverrides>,
        /// Block fields to pretend.
        #[serde(default)]
        block_overrides: Option<BlockOverrides>,
    },
    /// Gas that a transaction needs.
    EstimateGas {
        /// What to send.
        transaction: CallRequest,
        /// Block whose state and environment are used. Default: the head.
        #[serde(default)]
        block: Option<BlockRef>,
        /// State to pretend.
        #[serde(default)]
        state_overrides: Option<StateOverrides>,
        /// Block fields to pretend.
        #[serde(default)]
        block_overrides: Option<BlockOverrides>,
    },
    /// Accounts and slots that a transaction touches.
    CreateAccessList {
        /// What to send.
        transaction: CallRequest,
        /// State and environment of this block; the head where absent.
        #[serde(default)]
        block: Option<BlockRef>,
        /// State to pretend.
        #[serde(default)]
        state_overrides: Option<StateOverrides>,
    },
    /// Rules in force and scheduled.
    Config,
    /// How far back this node reaches.
    Capabilities,
    /// Blocks of calls on top of a block.
    SimulateV1 {
        /// The blocks, and how they are built.
        options: SimulateRequest,
        /// Their base; the head where absent.
        #[serde(default)]
        block: Option<BlockRef>,
    },
    /// Accepts a signed transaction; its hash.
    SendRawTransaction {
        /// The transaction's bytes (EIP-2718; type 3 with its sidecar).
        transaction: Bytes,
    },
    /// A header by number or tag, or `null`.
    GetHeaderByNumber {
        /// Which block.
        block: BlockNumber,
    },
    /// A header by hash, or `null`.
    GetHeaderByHash {
        /// Which block.
        hash: B256,
    },
    /// Number of ommers of a block, or `null`.
    GetUncleCount {
        /// Which block.
        block: BlockRef,
    },
    /// An ommer by its place, or `null`.
    GetUncle {
        /// Which block.
        block: BlockRef,
        /// Which of its ommers.
        index: U64,
    },
    /// A transaction's bytes by its place; none where there is none.
    GetRawTransactionByIndex {
        /// Which block.
        block: BlockRef,
        /// Which of its transactions.
        index: U64,
    },
    /// The notification of a block of any branch that became the head.
    HeadNotice {
        /// Which block.
        hash: B256,
    },
    /// Logs of one block of any branch, one a line.
    BlockLogs {
        /// Which block.
        hash: B256,
        /// Which of its logs.
        filter: LogFilter,
        /// The block left the chain: the last log first, each marked so.
        removed: bool,
    },
    /// A transaction as it was while it waited, or `null`.
    PendingTransaction {
        /// Which transaction.
        hash: B256,
    },
    /// Who signed a raw transaction, or `null` where that cannot be read or recovered.
    SenderOf {
        /// The transaction's bytes (EIP-2718, or a legacy one).
        raw: Bytes,
    },
    /// Keccak-256 of bytes.
    Keccak {
        /// The bytes.
        data: Bytes,
    },
    /// Accounts whose keys are here.
    Accounts,
    /// An account's signature of a digest, as 65 bytes.
    SignDigest {
        /// The account.
        account: Address,
        /// What to sign.
        digest: B256,
    },
    /// A transaction with what it leaves open filled in: `{raw, tx}`.
    FillTransaction {
        /// What is known of it.
        transaction: CallRequest,
    },
    /// As `FillTransaction`, signed.
    SignTransaction {
        /// What is known of it.
        transaction: CallRequest,
    },
    /// As `SignTransaction`, and sent; its hash.
    SendTransaction {
        /// What is known of it.
        transaction: CallRequest,
    },
    /// A block made on the head, which is not kept.
    BuildBlock {
        /// The head's hash.
        parent: B256,
        /// What its maker decides.
        attributes: Attributes,
        /// Exactly these transactions (EIP-2718); what waits in the pool where absent.
        #[serde(default)]
        transactions: Option<Vec<Bytes>>,
        /// Extra data, at most 32 bytes.
        #[serde(default)]
        extra_data: Option<Bytes>,
    },
    /// How many transactions wait in the pool.
    TxpoolStatus,
    /// All transactions that wait, by account and nonce.
    TxpoolContent,
    /// As `TxpoolContent`, in words.
    TxpoolInspect,
    /// Transactions of one account that wait, by nonce.
    TxpoolContentFrom {
        /// The account.
        address: Address,
    },
    /// RLP of a block.
    GetRawBlock {
        /// Which block.
        block: BlockRef,
    },
    /// RLP of a header.
    GetRawHeader {
        /// Which block.
        block: BlockRef,
    },
    /// Receipts of a block in their consensus encoding.
    GetRawReceipts {
        /// Which block.
        block: BlockRef,
    },
    /// A transaction in its EIP-2718 encoding.
    GetRawTransaction {
        /// Which transaction.
        hash: B256,
    },
    /// The last blocks that this home refused.
    GetBadBlocks,
    /// What a client without the state needs to execute a block.
    ExecutionWitness {
        /// Which block.
        block: BlockRef,
        /// go-ethereum's form instead of the canonical one: headers as objects.
        #[serde(default)]
        legacy: bool,
    },
    /// State roots after each transaction of a block.
    IntermediateRoots {
        /// Which block.
        hash: B256,
    },
    /// Transactions that an account has part in, a page of them, by the address index.
    AccountTransactions(AccountSearch),
    /// The transaction that created a contract, and the account that created it: `{hash, creator}`,
    /// or `null`.
    ContractCreation {
        /// The contract.
        address: Address,
        /// The block to look at; all that the address index names where absent, from the first on.
        #[serde(default)]
        block: Option<BlockNumber>,
        /// Most blocks that may be traced.
        max_blocks: u64,
    },
    /// Hash of the mined transaction of a sender with a nonce, or `null`, by the address index.
    SenderTransaction {
        /// The sender.
        address: Address,
        /// Its nonce.
        nonce: U64,
        /// Most blocks that may be read in one place of the search.
        max_blocks: u64,
    },
    /// Many values at once, as packed bytes.
    Read(#[serde(deserialize_with = "tagged::from_part")] Reading),
    /// What only a development chain does. It has the form of the others.
    #[serde(skip)]
    Dev(DevRequest),
    /// Queries of clients of the Cosmos SDK. It has the form of the others.
    #[serde(skip)]
    Cosmos(CosmosRequest),
    /// A request of a consensus client. It has the form of the others.
    #[serde(skip)]
    Engine(EngineRequest),
    /// A query about CometBFT. It has the form of the others.
    #[serde(skip)]
    Consensus(ConsensusRequest),
    /// An account's storage before a transaction, in the order of the hashed slots.
    StorageRangeAt {
        /// Which block.
        block: BlockRef,
        /// Which of its transactions.
        tx_index: U64,
        /// Account.
        address: Address,
        /// First hashed slot, at most 32 bytes, zeros on the right left out.
        key_start: Bytes,
        /// Most slots wanted.
        max_result: U64,
    },
}

impl Request {
    /// Reads a request from JSON, once: a payload is long. The error names the argument.
    pub fn from_json(text: &[u8]) -> Result<Self, NodeError> {
        let text = str::from_utf8(text).map_err(|error| NodeError::invalid_params(error.to_string()))?;
        tagged::from_json(text).map_err(|error| NodeError::invalid_params(error.to_string()))
    }

    /// Whether the request may take long: it then runs where it cannot hold up short reads.
    pub fn is_heavy(&self) -> bool {
        matches!(
            self,
            Self::Call { .. }
                | Self::EstimateGas { .. }
                | Self::CreateAccessList { .. }
                | Self::SimulateV1 { .. }
                | Self::GetStorageValues { .. }
                | Self::TxpoolContent
                | Self::TxpoolInspect
                | Self::TxpoolContentFrom { .. }
                | Self::GetLogs { .. }
                | Self::FeeHistory { .. }
                | Self::GetProof { .. }
                | Self::SendRawTransaction { .. }
                | Self::FillTransaction { .. }
                | Self::SignTransaction { .. }
                | Self::SendTransaction { .. }
                | Self::BuildBlock { .. }
                | Self::ExecutionWitness { .. }
                | Self::IntermediateRoots { .. }
                | Self::StorageRangeAt { .. }
                | Self::AccountTransactions(_)
                | Self::ContractCreation { .. }
                | Self::SenderTransaction { .. }
                | Self::Dev(_)
                | Self::Cosmos(CosmosRequest::CosmosQuery { .. } | CosmosRequest::CosmosRest { .. })
        ) || self.asks_for_pending()
            || matches!(self, Self::Read(reading) if reading.is_heavy())
    }

    /// Whether the request changes what the node has, its pool included.
    pub(crate) fn writes(&self) -> bool {
        match self {
            Self::SendRawTransaction { .. } | Self::SendTransaction { .. } | Self::Engine(_) => true,
            Self::Dev(request) => !request.only_looks(),
            _ => false,
        }
    }

    /// Whether the pending block is looked at, which may have to be executed first.
    fn asks_for_pending(&self) -> bool {
        match self {
            Self::GetBalance { block, .. }
            | Self::GetCode { block, .. }
            | Self::GetStorageAt { block, .. } => *block == Some(BlockId::Number(BlockNumber::Pending)),
            Self::GetBlockByNumber { block, .. }
            | Self::GetHeaderByNumber { block }
            | Self::GetBlockTransactionCountByNumber { block }
            | Self::GetTransactionByBlockNumberAndIndex { block, .. } => *block == BlockNumber::Pending,
            Self::GetBlockReceipts { block } | Self::GetRawTransactionByIndex { block, .. } => {
                *block == BlockId::Number(BlockNumber::Pending)
            }
            _ => false,
        }
    }
}

impl<'de> Tagged<'de> for Request {
    const NAME: &'static str = "op";
    const CONTENT: &'static str = "args";

    fn of<D: Deserializer<'de>>(variant: Variant<'_, D>) -> Result<Self, D::Error> {
        match Family::of(variant.name) {
            None => Self::deserialize(variant),
            Some(Family::Dev) => DevRequest::deserialize(variant).map(Self::Dev),
            Some(Family::Cosmos) => CosmosRequest::deserialize(variant).map(Self::Cosmos),
            Some(Family::Engine) => EngineRequest::deserialize(variant).map(Self::Engine),
            Some(Family::Consensus) => ConsensusRequest::deserialize(variant).map(Self::Consensus),
        }
    }
}

/// A search for the transactions that involve an account: they have a call, creation or
/// self-destruct from or to it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountSearch {
    /// The account.
    pub address: Address,
    /// Blocks beyond this one are searched; 0: from the end on.
    pub block: U64,
    /// Transactions wanted; those of the last block are all given.
    pub page_size: u64,
    /// From the head down where true, from the first block up where not.
    pub before: bool,
    /// Most blocks that may be traced.
    pub max_blocks: u64,
}

/// A slot to prove.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProofSlot {
    /// The slot.
    pub slot: U256,
    /// Whether the answer names the slot by 32 bytes, as the request did, and not by a quantity.
    pub whole: bool,
}

/// Most topic positions in a filter: the EVM has `LOG4`.
pub const MAX_TOPIC_POSITIONS: usize = 4;

/// Most addresses, or alternatives of one topic position, in a filter (go-ethereum's limit).
pub const MAX_FILTER_ALTERNATIVES: usize = 1000;

/// What `eth_getLogs` looks for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogFilter {
    /// Exactly this block; excludes a range.
    #[serde(default)]
    pub block_hash: Option<B256>,
    /// First block; the head where absent.
    #[serde(default)]
    pub from_block: Option<BlockNumber>,
    /// Last block; the head where absent.
    #[serde(default)]
    pub to_block: Option<BlockNumber>,
    /// Emitters; any where empty. A single address or a list.
    #[serde(default, deserialize_with = "one_or_many")]
    pub address: Vec<Address>,
    /// Alternatives by position; an empty list accepts anything. Each a topic, a list or `null`.
    #[serde(default, deserialize_with = "topics")]
    pub topics: Vec<Vec<B256>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Address>, D::Error> {
    let addresses = match Option::<OneOrMany<Address>>::deserialize(from)? {
        None => Vec::new(),
        Some(OneOrMany::One(address)) => vec![address],
        Some(OneOrMany::Many(addresses)) => addresses,
    };
    within(addresses.len(), MAX_FILTER_ALTERNATIVES, "exceed max addresses or topics per search position")?;
    Ok(addresses)
}

fn topics<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Vec<B256>>, D::Error> {
    let positions = Option::<Vec<Option<OneOrMany<Option<B256>>>>>::deserialize(from)?.unwrap_or_default();
    within(positions.len(), MAX_TOPIC_POSITIONS, "exceed max topics")?;
    let positions = positions.into_iter().map(|position| match position {
        None | Some(OneOrMany::One(None)) => Ok(Vec::new()),
        Some(OneOrMany::One(Some(topic))) => Ok(vec![topic]),
        Some(OneOrMany::Many(topics)) => {
            within(
                topics.len(),
                MAX_FILTER_ALTERNATIVES,
                "exceed max addresses or topics per search position",
            )?;
            // A null among the alternatives accepts anything, so the position does.
            Ok(topics.into_iter().collect::<Option<Vec<B256>>>().unwrap_or_default())
        }
    });
    positions.collect()
}

fn within<E: serde::de::Error>(have: usize, limit: usize, message: &str) -> Result<(), E> {
    if have > limit { Err(E::custom(message)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_executes_a_block_is_a_long_read() {
        let is_heavy = |text: &str| Request::from_json(text.as_bytes()).expect("reads").is_heavy();
        assert!(is_heavy(r#"{"op":"executionWitness","args":{"block":"latest"}}"#));
        let hash = B256::ZERO;
        assert!(is_heavy(&format!(r#"{{"op":"intermediateRoots","args":{{"hash":"{hash}"}}}}"#)));
        assert!(!is_heavy(r#"{"op":"getRawBlock","args":{"block":"latest"}}"#));
    }
}
