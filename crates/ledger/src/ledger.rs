//! The ledger: reading and writing blocks and receipts, and the canonical look-ups.

use crate::cache::Cache;
use crate::index::{TxPlace, decode_hash, decode_place, encode_place, number_key, transaction_key};
use crate::posting_index::{IndexKind, MERGE_LAG, Merger, account_row, log_row};
use crate::{LedgerError, LedgerOptions, LedgerTables, receipts};
use alloy_consensus::EMPTY_OMMER_ROOT_HASH;
use alloy_primitives::{Address, B256, U256};
use alloy_rlp::{Decodable, Encodable};
use hearth_flatkv::{FlatKv, IndexWrite, JoinedTables};
use hearth_littable::{Direction, Group, LittError, Table};
use hearth_metrics::Registry;
use hearth_primitives::{Block, BlockHashes, Header, Height, Receipt, StateError, TraceCapsule};
use std::path::Path;
use std::sync::Arc;

/// Most blocks kept decoded.
const CACHED_BLOCKS: usize = 512;
/// Most bytes of block RLP kept decoded.
const CACHED_BLOCK_BYTES: usize = 64 << 20;
/// Most blocks whose receipts are kept decoded.
const CACHED_RECEIPTS: usize = 512;
/// Most bytes of receipt rows kept decoded.
const CACHED_RECEIPT_BYTES: usize = 64 << 20;

/// Most blocks whose senders are kept.
const CACHED_SENDERS: usize = 512;
/// Most bytes of senders that are kept.
const CACHED_SENDER_BYTES: usize = 16 << 20;

/// About what a receipt takes in its row with its sender, in bytes, without its logs.
const RECEIPT_BYTES: usize = 32;
/// About what a log takes there, in bytes, without its data.
const LOG_BYTES: usize = 128;

/// Blocks between two looks for a page of an index to merge.
const NUDGE_EVERY: u64 = 32;

/// Bytes of a block's row before the block.
pub(crate) const TOTAL_DIFFICULTY_BYTES: usize = 32;

/// A block as the ledger holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBlock {
    /// Its hash.
    pub hash: B256,
    /// Header, transactions, ommers, withdrawals.
    pub block: Block,
    /// Sum of the difficulties from genesis up to this block.
    pub total_difficulty: U256,
    /// Length of its RLP in bytes.
    pub size: usize,
    /// Hash of each transaction, in order.
    pub tx_hashes: Vec<B256>,
    /// Hash of each ommer, in order; known also where a recorded block came without the ommers
    /// themselves.
    pub ommer_hashes: Vec<B256>,
}

impl StoredBlock {
    /// The block's number.
    pub fn number(&self) -> Height {
        self.block.header.number
    }

    /// Whether the body has the ommers that the header commits to. A recorded block may lack them.
    pub fn has_ommers(&self) -> bool {
        !self.block.body.ommers.is_empty() || self.block.header.ommers_hash == EMPTY_OMMER_ROOT_HASH
    }
}

/// A block's receipts and the senders of its transactions, both in the order of the transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredReceipts {
    /// Receipts with their blooms.
    pub receipts: Vec<Receipt>,
    /// Senders.
    pub senders: Vec<Address>,
}

/// Blocks and receipts of all branches, and the canonical chain's indexes.
pub struct Ledger {
    tables: Arc<LedgerTables>,
    kv: Arc<FlatKv>,
    blocks: Cache<StoredBlock>,
    receipts: Cache<StoredReceipts>,
    senders: Cache<Vec<Address>>,
    log_index: Merger,
    /// `None` where blocks are not indexed by account.
    address_index: Option<Merger>,
}

/// A block's rows as they lie in the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRows {
    /// Of the block.
    pub block: Vec<u8>,
    /// Of its receipts and senders.
    pub receipts: Vec<u8>,
    /// Of its native sidecar, if it has one.
    pub sidecar: Option<Vec<u8>>,
}

impl Ledger {
    /// Opens the tables in `dir`, which record in `metrics`. They are passed to the state store
    /// before [`Ledger::new`].
    ///
    /// # Errors
    /// [`LedgerError::Table`].
    pub fn open(
        dir: &Path,
        options: &LedgerOptions,
        metrics: &Registry,
    ) -> Result<Arc<LedgerTables>, LedgerError> {
        LedgerTables::open(dir, options, metrics).map(Arc::new)
    }

    /// Opens the tables in `dir` for reading, beside a node that may have them.
    ///
    /// # Errors
    /// [`LedgerError::Table`].
    pub fn open_read_only(dir: &Path, options: &LedgerOptions) -> Result<Arc<LedgerTables>, LedgerError> {
        LedgerTables::open_read_only(dir, options).map(Arc::new)
    }

    /// The ledger over its tables and the state store that keeps its indexes.
    pub fn new(tables: Arc<LedgerTables>, kv: Arc<FlatKv>) -> Self {
        Self::with_lag(tables, kv, MERGE_LAG)
    }

    /// As [`Ledger::new`], where pages of the indexes are merged so many blocks below the head.
    pub(crate) fn with_lag(tables: Arc<LedgerTables>, kv: Arc<FlatKv>, lag: u64) -> Self {
        let blocks = Cache::new(CACHED_BLOCKS, CACHED_BLOCK_BYTES);
        let receipts = Cache::new(CACHED_RECEIPTS, CACHED_RECEIPT_BYTES);
        let senders = Cache::new(CACHED_SENDERS, CACHED_SENDER_BYTES);
        let merger = |kind, window| Merger::new(kind, kv.clone(), tables.clone(), lag, window);
        let log_index = merger(IndexKind::Logs, None);
        let address_index =
            tables.has_address_index.then(|| merger(IndexKind::Accounts, tables.address_index_window));
        let ledger = Self { tables, kv, blocks, receipts, senders, log_index, address_index };
        ledger.nudge();
        ledger
    }

    /// Bytes of blocks, receipts and senders that are kept decoded, and of key indexes.
    pub fn kept_bytes(&self) -> [usize; 4] {
        [self.blocks.bytes(), self.receipts.bytes(), self.senders.bytes(), self.tables.index_bytes()]
    }

    /// Bounds what is kept in memory, decoded and as it lies in the tables, to `part` of `whole` of
    /// its bounds, from now on.
    pub fn set_cache_fraction(&self, part: usize, whole: usize) {
        self.blocks.set_capacity_fraction(part, whole);
        self.receipts.set_capacity_fraction(part, whole);
        self.senders.set_capacity_fraction(part, whole);
        self.tables.set_cache_fraction(part, whole);
    }

    pub(crate) fn log_merger(&self) -> &Merger {
        &self.log_index
    }

    pub(crate) fn account_merger(&self) -> Option<&Merger> {
        self.address_index.as_ref()
    }

    /// Merges pages of the indexes that are due, in the background.
    pub(crate) fn nudge(&self) {
        self.log_index.nudge();
        if let Some(index) = &self.address_index {
            index.nudge();
        }
    }

    /// Ends the work in the background. Idempotent.
    pub fn close(&self) {
        self.log_index.stop();
        if let Some(index) = &self.address_index {
            index.stop();
        }
    }

    pub(crate) fn kv(&self) -> &FlatKv {
        &self.kv
    }

    /// The tables, as the state store joins them to its commits.
    pub fn tables(&self) -> &Arc<LedgerTables> {
        &self.tables
    }

    /// Appends a block of any branch with its receipts. The same again is fine.
    ///
    /// # Errors
    /// [`LedgerError::Table`]: a conflict where the block is there with other receipts.
    pub fn append(
        &self,
        block: &Block,
        hash: B256,
        total_difficulty: U256,
        receipts: &[Receipt],
        senders: &[Address],
    ) -> Result<(), LedgerError> {
        self.append_recorded(block, hash, total_difficulty, receipts, senders, &[])
    }

    /// As [`Ledger::append`], for a recorded block of whose ommers only the hashes are known.
    ///
    /// # Errors
    /// As [`Ledger::append`].
    pub fn append_recorded(
        &self,
        block: &Block,
        hash: B256,
        total_difficulty: U256,
        receipts: &[Receipt],
        senders: &[Address],
        ommer_hashes: &[B256],
    ) -> Result<(), LedgerError> {
        let mut row = Vec::with_capacity(TOTAL_DIFFICULTY_BYTES + block.length() + 32 * ommer_hashes.len());
        row.extend_from_slice(&total_difficulty.to_be_bytes::<TOTAL_DIFFICULTY_BYTES>());
        block.encode(&mut row);
        ommer_hashes.iter().for_each(|hash| row.extend_from_slice(hash.as_slice()));
        put(&self.tables.blocks, block.header.number, hash, &row)?;
        put(&self.tables.receipts, block.header.number, hash, &receipts::encode(receipts, senders))?;
        // The commit that names these rows must not outlive them.
        self.tables.drain()
    }

    /// Hash of the block that was appended last and reads, of any branch; `None` in an empty
    /// ledger.
    ///
    /// # Errors
    /// [`LedgerError::Table`].
    pub fn newest_block(&self) -> Result<Option<B256>, LedgerError> {
        // A damaged record is passed: the one before it is the newest that can be used.
        let mut rows = self.tables.blocks.iter(Direction::Reverse)?.filter_map(Result::ok);
        Ok(rows.find_map(|row| B256::try_from(row.key.get(size_of::<Height>()..)?).ok()))
    }

    /// Writes the record of a block again, in place of one that is damaged. The record belongs to
    /// no commit until the next one, or until the state store keeps the tables as they are.
    ///
    /// # Errors
    /// [`LedgerError::Table`].
    pub fn restore_block(
        &self,
        block: &Block,
        hash: B256,
        total_difficulty: U256,
    ) -> Result<(), LedgerError> {
        let mut row = Vec::with_capacity(TOTAL_DIFFICULTY_BYTES + block.length());
        row.extend_from_slice(&total_difficulty.to_be_bytes::<TOTAL_DIFFICULTY_BYTES>());
        block.encode(&mut row);
        put(&self.tables.blocks, block.header.number, hash, &row)?;
        self.tables.drain()
    }

    /// Writes the receipts of a block again, as [`Ledger::restore_block`] does its record.
    ///
    /// # Errors
    /// [`LedgerError::Table`].
    pub fn restore_receipts(
        &self,
        number: Height,
        hash: B256,
        receipts: &[Receipt],
        senders: &[Address],
    ) -> Result<(), LedgerError> {
        put(&self.tables.receipts, number, hash, &receipts::encode(receipts, senders))?;
        self.tables.drain()
    }

    /// A block's rows as they lie in the tables; [`Ledger::append_rows`] takes them.
    ///
    /// # Errors
    /// [`LedgerError::Table`] where their bytes are damaged.
    pub fn rows(&self, hash: &B256) -> Result<Option<StoredRows>, LedgerError> {
        let (block, receipts) =
            (self.tables.blocks.get(hash.as_slice())?, self.tables.receipts.get(hash.as_slice())?);
        let rows = block.zip(receipts).map(|(block, receipts)| (block.to_vec(), receipts.to_vec()));
        let Some((block, receipts)) = rows else { return Ok(None) };
        Ok(Some(StoredRows { block, receipts, sidecar: self.sidecar_row(hash)? }))
    }

    /// Appends a block that [`Ledger::rows`] gave elsewhere.
    ///
    /// # Errors
    /// [`LedgerError::Undecodable`] where the rows are not those of this block.
    pub fn append_rows(
        &self,
        number: Height,
        hash: B256,
        rows: &StoredRows,
    ) -> Result<(StoredBlock, StoredReceipts), LedgerError> {
        let block = decode_block(hash, &rows.block)?;
        let receipts = receipts::decode(&rows.receipts).map_err(|why| bad_receipts(&hash, why))?;
        if block.block.header.hash_slow() != hash || block.number() != number {
            let why = "it is another block".to_owned();
            return Err(LedgerError::Undecodable { what: "block", hash, why });
        }
        if receipts.receipts.len() != block.tx_hashes.len() {
            return Err(bad_receipts(&hash, "they are not as many as the transactions"));
        }
        put(&self.tables.blocks, number, hash, &rows.block)?;
        put(&self.tables.receipts, number, hash, &rows.receipts)?;
        if let Some(sidecar) = &rows.sidecar {
            self.append_sidecar_row(number, hash, sidecar)?;
        }
        self.tables.drain()?;
        Ok((block, receipts))
    }

    /// The index rows that make a block canonical; they go into the commit of its state. `capsule`
    /// says which accounts its execution looked at.
    pub fn index_rows(
        &self,
        block: &Block,
        hash: B256,
        receipts: &[Receipt],
        capsule: Option<&TraceCapsule>,
    ) -> Vec<IndexWrite> {
        let number = block.header.number;
        // Pages that the blocks before this one made due are merged in parallel with the next
        // steps.
        if number.is_multiple_of(NUDGE_EVERY) {
            self.nudge();
        }
        let mut rows = Vec::with_capacity(3 + block.body.transactions.len());
        rows.push(log_row(number, hash, receipts));
        if self.address_index.is_some() {
            rows.extend(account_row(block, hash, capsule));
        }
        place_rows(&mut rows, block, hash);
        rows
    }

    /// End of each table's data in bytes, for the commit.
    pub fn positions(&self) -> Vec<u64> {
        self.tables.positions()
    }

    /// Makes all that was appended durable.
    ///
    /// # Errors
    /// [`LedgerError::Index`] with the table's error.
    pub fn sync(&self) -> Result<(), LedgerError> {
        Ok(self.tables.sync()?)
    }

    /// Hash of the canonical block at a height; `None` above the head, and below the base of a home
    /// that does not begin at genesis (where recorded block hashes are given instead, as far as
    /// they are known).
    ///
    /// # Errors
    /// [`LedgerError::Index`], [`LedgerError::BadIndexRow`].
    pub fn canonical_hash(&self, number: Height) -> Result<Option<B256>, LedgerError> {
        let row = self.kv.index_get(&number_key(number)).map_err(index_error)?;
        row.map(|row| decode_hash(&row)).transpose()
    }

    /// Number of a block of any branch.
    ///
    /// # Errors
    /// As [`Ledger::block`].
    pub fn number_of(&self, hash: &B256) -> Result<Option<Height>, LedgerError> {
        Ok(self.block(hash)?.map(|b| b.number()))
    }

    /// Whether a block of any branch is there.
    pub fn has_block(&self, hash: &B256) -> bool {
        // One whose index is damaged counts as missing: writing it again heals it.
        self.tables.blocks.exists(hash.as_slice()).unwrap_or(false)
    }

    /// A block of any branch.
    ///
    /// # Errors
    /// [`LedgerError::Table`] where its bytes are damaged, [`LedgerError::Undecodable`].
    pub fn block(&self, hash: &B256) -> Result<Option<Arc<StoredBlock>>, LedgerError> {
        if let Some(block) = self.blocks.get(hash) {
            return Ok(Some(block));
        }
        let row = self.tables.blocks.get(hash.as_slice()).map_err(LedgerError::of_record("record", hash))?;
        let Some(row) = row else { return Ok(None) };
        let block = Arc::new(decode_block(*hash, &row)?);
        self.blocks.put(*hash, block.clone(), row.len());
        Ok(Some(block))
    }

    /// Caches a block that was appended just now in its decoded form, with its receipts: after
    /// blocks that are made one by one, each is usually read at once.
    pub fn keep_decoded(&self, block: &Block, hash: B256, total_difficulty: U256, receipts: StoredReceipts) {
        let size = block.length();
        let stored = StoredBlock {
            hash,
            block: block.clone(),
            total_difficulty,
            size,
            tx_hashes: block.body.transactions.iter().map(|tx| *tx.tx_hash()).collect(),
            ommer_hashes: block.body.ommers.iter().map(Header::hash_slow).collect(),
        };
        self.blocks.put(hash, Arc::new(stored), TOTAL_DIFFICULTY_BYTES + size);
        let logs = receipts.receipts.iter().flat_map(|receipt| receipt.logs());
        let bytes = logs.map(|log| log.data.data.len() + LOG_BYTES).sum::<usize>();
        let bytes = bytes + receipts.receipts.len() * RECEIPT_BYTES;
        self.receipts.put(hash, Arc::new(receipts), bytes);
    }

    /// A block of any branch if its decoded form is cached; never reads the disk. `None` does not
    /// mean that the block is unknown.
    pub fn block_in_memory(&self, hash: &B256) -> Option<Arc<StoredBlock>> {
        self.blocks.get(hash)
    }

    /// Receipts of a block of any branch, as [`Self::block_in_memory`].
    pub fn receipts_in_memory(&self, hash: &B256) -> Option<Arc<StoredReceipts>> {
        self.receipts.get(hash)
    }

    /// Lowest heights whose blocks and whose receipts are kept: 0 where nothing was ever pruned.
    pub fn floors(&self) -> (Height, Height) {
        (self.tables.blocks.floor(), self.tables.receipts.floor())
    }

    /// The header of a block of any branch.
    ///
    /// # Errors
    /// As [`Ledger::block`].
    pub fn header(&self, hash: &B256) -> Result<Option<Header>, LedgerError> {
        Ok(self.block(hash)?.map(|b| b.block.header.clone()))
    }

    /// The canonical block at a height.
    ///
    /// # Errors
    /// As [`Ledger::block`] and [`Ledger::canonical_hash`].
    pub fn canonical_block(&self, number: Height) -> Result<Option<Arc<StoredBlock>>, LedgerError> {
        match self.canonical_hash(number)? {
            Some(hash) => self.block(&hash),
            None => Ok(None),
        }
    }

    /// Receipts and senders of a block of any branch.
    ///
    /// # Errors
    /// [`LedgerError::Table`] where its bytes are damaged, [`LedgerError::Undecodable`].
    pub fn receipts(&self, hash: &B256) -> Result<Option<Arc<StoredReceipts>>, LedgerError> {
        if let Some(receipts) = self.receipts.get(hash) {
            return Ok(Some(receipts));
        }
        let row = self.tables.receipts.get(hash.as_slice());
        let Some(row) = row.map_err(LedgerError::of_record("receipts", hash))? else { return Ok(None) };
        let receipts = receipts::decode(&row).map_err(|why| bad_receipts(hash, why))?;
        let receipts = Arc::new(receipts);
        self.receipts.put(*hash, receipts.clone(), row.len());
        Ok(Some(receipts))
    }

    /// Senders of the transactions of a block of any branch, in their order. Executing a block
    /// again needs no more of the receipts: decoding those, with all their blooms, takes longer
    /// than reading them.
    ///
    /// # Errors
    /// Those of [`Ledger::receipts`].
    pub fn senders(&self, hash: &B256) -> Result<Option<Arc<Vec<Address>>>, LedgerError> {
        if let Some(senders) = self.senders.get(hash) {
            return Ok(Some(senders));
        }
        let row = self.tables.receipts.get(hash.as_slice());
        let Some(row) = row.map_err(LedgerError::of_record("receipts", hash))? else { return Ok(None) };
        let senders = receipts::decode_senders(&row).map_err(|why| bad_receipts(hash, why))?;
        let senders = Arc::new(senders);
        self.senders.put(*hash, senders.clone(), senders.len() * size_of::<Address>());
        Ok(Some(senders))
    }

    /// Where a transaction of the canonical chain lies.
    ///
    /// # Errors
    /// [`LedgerError::Index`], [`LedgerError::BadIndexRow`].
    pub fn transaction_place(&self, tx: &B256) -> Result<Option<TxPlace>, LedgerError> {
        let row = self.kv.index_get(&transaction_key(tx)).map_err(index_error)?;
        row.map(|row| decode_place(&row)).transpose()
    }

    /// A transaction of the canonical chain: its block and its index there.
    ///
    /// # Errors
    /// [`LedgerError::BlockPruned`]; [`LedgerError::MissingBlock`] where the index names a block
    /// that is not there; as
    /// [`Ledger::block`].
    pub fn transaction(&self, tx: &B256) -> Result<Option<(Arc<StoredBlock>, usize)>, LedgerError> {
        let Some(place) = self.transaction_place(tx)? else { return Ok(None) };
        let block = match self.block(&place.hash) {
            // Its row may be there still: segments are removed as a whole.
            Ok(None) | Err(LedgerError::Table(LittError::Pruned { .. })) => {
                let (floor, _) = self.floors();
                return Err(match place.number < floor {
                    true => LedgerError::BlockPruned { height: place.number, floor },
                    false => LedgerError::MissingBlock(place.hash),
                });
            }
            read => read?.ok_or(LedgerError::MissingBlock(place.hash))?,
        };
        let index = place.index as usize;
        if block.tx_hashes.get(index) != Some(tx) {
            return Err(LedgerError::BadIndexRow("transaction"));
        }
        Ok(Some((block, index)))
    }
}

impl BlockHashes for Ledger {
    fn block_hash(&self, number: Height) -> Result<B256, StateError> {
        let hash = self.canonical_hash(number).map_err(LedgerError::into_state)?;
        match (hash, self.kv.origin()) {
            (Some(hash), _) => Ok(hash),
            (None, Some(origin)) => origin.block_hash(number),
            (None, None) => Ok(B256::ZERO),
        }
    }
}

/// The rows that say which block is at a height, and where its transactions lie.
pub(crate) fn place_rows(rows: &mut Vec<IndexWrite>, block: &Block, hash: B256) {
    let number = block.header.number;
    rows.push(IndexWrite { key: number_key(number), value: Some(hash.to_vec()) });
    for (index, tx) in block.body.transactions.iter().enumerate() {
        let place = TxPlace { number, hash, index: index as u32 };
        rows.push(IndexWrite { key: transaction_key(tx.tx_hash()), value: Some(encode_place(&place)) });
    }
}

fn bad_receipts(hash: &B256, why: &'static str) -> LedgerError {
    LedgerError::Undecodable { what: "receipts", hash: *hash, why: why.to_owned() }
}

pub(crate) fn index_error(error: impl Into<StateError>) -> LedgerError {
    LedgerError::Index(error.into())
}

pub(crate) fn put(table: &Table, number: Height, hash: B256, row: &[u8]) -> Result<(), LedgerError> {
    let key = [&number.to_be_bytes()[..], hash.as_slice()].concat();
    let secondary: [(&[u8], _); 1] = [(hash.as_slice(), 0..row.len() as u32)];
    Ok(table.put_group(&Group { key: &key, value: row, secondary: &secondary, number: Some(number) })?)
}

pub(crate) fn decode_block(hash: B256, row: &[u8]) -> Result<StoredBlock, LedgerError> {
    let bad = |why: String| LedgerError::Undecodable { what: "block", hash, why };
    let (difficulty, mut rest) =
        row.split_first_chunk::<TOTAL_DIFFICULTY_BYTES>().ok_or_else(|| bad("cut short".to_owned()))?;
    let before = rest.len();
    let block = Block::decode(&mut rest).map_err(|error| bad(error.to_string()))?;
    let size = before - rest.len();
    if rest.len() % 32 != 0 {
        return Err(bad("bytes behind the block".to_owned()));
    }
    let mut ommer_hashes: Vec<B256> = block.body.ommers.iter().map(Header::hash_slow).collect();
    ommer_hashes.extend(rest.chunks_exact(32).map(B256::from_slice));
    let tx_hashes = block.body.transactions.iter().map(|tx| *tx.tx_hash()).collect();
    let total_difficulty = U256::from_be_bytes(*difficulty);
    Ok(StoredBlock { hash, block, total_difficulty, size, tx_hashes, ommer_hashes })
}
