//! A recorded block: the block in JSON-RPC form with the state that it reads, and optionally trie
//! nodes.
//!
//! The document is `{block, preState, blockHashes?, trieNodes?, parentStateRoot?}`: the block with
//! full transactions, the state before it as a genesis allocation, hashes of ancestors by number,
//! and the nodes of the parent's state trie.

mod state;
mod tracer_test;
mod transaction;

pub use state::AllocState;
pub use tracer_test::TracerTest;

use crate::{
    error::{BlockError, Field, SpecError, expect_eq},
    genesis::{GenesisAccount, alloc_changes, parse_alloc},
    json::{Fields, parse_object},
};
use alloy_consensus::{BlockBody, Header};
use alloy_eips::eip4895::{Withdrawal, Withdrawals};
use alloy_primitives::{Address, B64, B256, Bloom, Bytes};
use hearth_primitives::{Block, BlockHashes, Changeset, Height, StateError, Transaction};
use std::collections::BTreeMap;

/// Longest document that is read, in bytes.
pub const MAX_CASE_BYTES: u64 = 1 << 30;

/// A recorded block that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// A field is missing or wrong.
    #[error(transparent)]
    Json(#[from] SpecError),
    /// A hash does not follow from its fields.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// A transaction's hash does not follow from its fields.
    #[error("block.transactions[{index}].hash: expected {expected}, got {got}")]
    TransactionHash {
        /// Position in the block, from 0.
        index: usize,
        /// Computed from the fields.
        expected: B256,
        /// What the document says.
        got: B256,
    },
}

/// One recorded block with what is needed to execute it.
#[derive(Clone, Debug)]
pub struct RecordedCase {
    /// Header of the block.
    pub header: Header,
    /// Hash of the block, which follows from the header.
    pub hash: B256,
    /// Its transactions.
    pub transactions: Vec<Transaction>,
    /// Its withdrawals, from Shanghai on.
    pub withdrawals: Option<Vec<Withdrawal>>,
    /// Hashes of its ommers, whose headers are not recorded.
    pub ommer_hashes: Vec<B256>,
    /// State before the block: accounts that are not here are empty.
    pub pre_state: BTreeMap<Address, GenesisAccount>,
    /// Hashes of ancestors by number.
    pub block_hashes: BTreeMap<Height, B256>,
    /// Nodes of the parent's state and storage tries.
    pub trie_nodes: Option<Vec<Bytes>>,
    /// Root of the parent's state, where recorded.
    pub parent_state_root: Option<B256>,
}

impl RecordedCase {
    /// Reads a recorded block from JSON text.
    ///
    /// # Errors
    /// [`RecordedError`] names the JSON field.
    pub fn parse_json(text: &str) -> Result<Self, RecordedError> {
        // The path of the root is left out of error messages, as in a genesis file.
        let root = parse_object("genesis", text)?;
        let RpcBlock { header, hash, transactions, withdrawals, ommer_hashes } =
            RpcBlock::parse(&need_object(&root, "block")?)?;
        Ok(Self {
            header,
            hash,
            transactions,
            withdrawals,
            ommer_hashes,
            pre_state: parse_alloc(&need_object(&root, "preState")?)?,
            block_hashes: block_hashes(&root)?,
            trie_nodes: trie_nodes(&root)?,
            parent_state_root: root.b256("parentStateRoot")?,
        })
    }

    /// The block without its ommers.
    pub fn block(&self) -> Block {
        Block {
            header: self.header.clone(),
            body: BlockBody {
                transactions: self.transactions.clone(),
                ommers: Vec::new(),
                withdrawals: self.withdrawals.clone().map(Withdrawals::new),
            },
        }
    }

    /// The state before the block as a changeset against nothing.
    pub fn pre_changes(&self) -> Changeset {
        alloc_changes(&self.pre_state)
    }
}

/// A block as `eth_getBlockByHash` returns it, with full transactions.
#[derive(Clone, Debug)]
pub struct RpcBlock {
    /// Its header.
    pub header: Header,
    /// Its hash, which follows from the header.
    pub hash: B256,
    /// Its transactions.
    pub transactions: Vec<Transaction>,
    /// Its withdrawals, from Shanghai on.
    pub withdrawals: Option<Vec<Withdrawal>>,
    /// Hashes of its ommers, whose headers are not part of the form.
    pub ommer_hashes: Vec<B256>,
}

impl RpcBlock {
    /// Reads a block from JSON text.
    ///
    /// # Errors
    /// [`RecordedError`] names the JSON field.
    pub fn parse_json(text: &str) -> Result<Self, RecordedError> {
        Self::parse(&parse_object("block", text)?)
    }

    fn parse(block: &Fields) -> Result<Self, RecordedError> {
        let header = header(block)?;
        let hash = header.hash_slow();
        expect_eq(Field::Hash, hash, need(block.b256("hash"), block, "hash", "32 bytes")?)?;
        let mut transactions = Vec::new();
        for (index, fields) in block.objects("transactions")?.unwrap_or_default().iter().enumerate() {
            let tx = transaction::transaction(fields)?;
            if let Some(got) = fields.b256("hash")?.filter(|got| got != tx.tx_hash()) {
                return Err(RecordedError::TransactionHash { index, expected: *tx.tx_hash(), got });
            }
            transactions.push(tx);
        }
        let withdrawals =
            block.objects("withdrawals")?.map(|list| list.iter().map(withdrawal).collect()).transpose()?;
        let ommer_hashes = block.words("uncles")?.unwrap_or_default();
        Ok(Self { header, hash, transactions, withdrawals, ommer_hashes })
    }

    /// The block without its ommers.
    pub fn into_block(self) -> Block {
        let withdrawals = self.withdrawals.map(Withdrawals::new);
        let body = BlockBody { transactions: self.transactions, ommers: Vec::new(), withdrawals };
        Block { header: self.header, body }
    }
}

/// Reads a header in the form of JSON-RPC. Fields that are not known here are ignored, so that its
/// hash may be another one than it says.
///
/// # Errors
/// [`RecordedError`] names the JSON field.
pub fn rpc_header(text: &str) -> Result<Header, RecordedError> {
    Ok(header(&parse_object("header", text)?)?)
}

/// Recorded hashes first, then the parent's, else zero.
impl BlockHashes for RecordedCase {
    fn block_hash(&self, number: Height) -> Result<B256, StateError> {
        let parent = (number.checked_add(1) == Some(self.header.number)).then_some(self.header.parent_hash);
        Ok(self.block_hashes.get(&number).copied().or(parent).unwrap_or_default())
    }
}

fn need<T>(
    value: Result<Option<T>, SpecError>,
    fields: &Fields,
    name: &str,
    expected: &str,
) -> Result<T, SpecError> {
    value?.ok_or_else(|| SpecError::missing(&fields.path(name), expected))
}

fn need_object(fields: &Fields, name: &str) -> Result<Fields, SpecError> {
    need(fields.object(name), fields, name, "an object")
}

fn need_u64(fields: &Fields, name: &str) -> Result<u64, SpecError> {
    need(fields.u64(name), fields, name, "a number")
}

fn need_word(fields: &Fields, name: &str) -> Result<B256, SpecError> {
    need(fields.b256(name), fields, name, "32 bytes")
}

fn header(block: &Fields) -> Result<Header, SpecError> {
    let bloom = need(block.bytes("logsBloom"), block, "logsBloom", "256 bytes")?;
    if bloom.len() != Bloom::len_bytes() {
        return Err(SpecError::invalid(
            &block.path("logsBloom"),
            &format!("{} bytes", bloom.len()),
            "256 bytes",
        ));
    }
    Ok(Header {
        parent_hash: need_word(block, "parentHash")?,
        ommers_hash: need_word(block, "sha3Uncles")?,
        beneficiary: need(block.address("miner"), block, "miner", "an address")?,
        state_root: need_word(block, "stateRoot")?,
        transactions_root: need_word(block, "transactionsRoot")?,
        receipts_root: need_word(block, "receiptsRoot")?,
        withdrawals_root: block.b256("withdrawalsRoot")?,
        logs_bloom: Bloom::from_slice(&bloom),
        difficulty: need(block.u256("difficulty"), block, "difficulty", "a number")?,
        number: need_u64(block, "number")?,
        gas_limit: need_u64(block, "gasLimit")?,
        gas_used: need_u64(block, "gasUsed")?,
        timestamp: need_u64(block, "timestamp")?,
        mix_hash: need_word(block, "mixHash")?,
        nonce: B64::from(need_u64(block, "nonce")?),
        base_fee_per_gas: block.u64("baseFeePerGas")?,
        blob_gas_used: block.u64("blobGasUsed")?,
        excess_blob_gas: block.u64("excessBlobGas")?,
        parent_beacon_block_root: block.b256("parentBeaconBlockRoot")?,
        requests_hash: block.b256("requestsHash")?,
        extra_data: block.bytes("extraData")?.unwrap_or_default(),
        ..Header::default()
    })
}

fn block_hashes(root: &Fields) -> Result<BTreeMap<Height, B256>, SpecError> {
    let mut hashes = BTreeMap::new();
    let Some(fields) = root.object("blockHashes")? else { return Ok(hashes) };
    for (name, _) in fields.iter() {
        let number = crate::json::parse_u256(name).and_then(|number| u64::try_from(number).ok());
        let number = number
            .ok_or_else(|| SpecError::invalid(&fields.path(name), name, "a key that is a block number"))?;
        hashes.insert(number, need_word(&fields, name)?);
    }
    Ok(hashes)
}

fn trie_nodes(root: &Fields) -> Result<Option<Vec<Bytes>>, SpecError> {
    root.strings("trieNodes")?
        .map(|list| {
            let parse = |(index, text): (usize, String)| {
                crate::json::parse_bytes(&text).ok_or_else(|| {
                    SpecError::invalid(
                        &format!("trieNodes[{index}]"),
                        "no bytes",
                        "hexadecimal bytes with 0x",
                    )
                })
            };
            list.into_iter().enumerate().map(parse).collect()
        })
        .transpose()
}

fn withdrawal(fields: &Fields) -> Result<Withdrawal, SpecError> {
    Ok(Withdrawal {
        index: need_u64(fields, "index")?,
        validator_index: need_u64(fields, "validatorIndex")?,
        address: need(fields.address("address"), fields, "address", "an address")?,
        amount: need_u64(fields, "amount")?,
    })
}
