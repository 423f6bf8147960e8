//! Repairs damaged records of the ledger: blocks from files, receipts by executing their blocks.
//!
//! A record is appended once more under the keys that it had. The state store records the new ends
//! of the tables once all are durable: if the process dies before, the next opening drops the new
//! records, and the damage is as it was.

use crate::chain::build_genesis;
use crate::home::parse_genesis;
use crate::import::{block_hash, each_block};
use crate::{Chain, ChainError};
use alloy_primitives::{B256, U256};
use alloy_rlp::Decodable;
use hearth_evm::{BlockEnvironment, BlockExecutor, Fork, check_output, recover_senders, validate_roots};
use hearth_flatkv::{ProgressFn, VerifyProgress};
use hearth_primitives::{Block, Height, RootTracker};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Most damaged records that are collected before they are repaired; the search continues after
/// them.
const BATCH_RECORDS: usize = 10_000;
/// Most records that a report lists of each kind; it counts the others.
const LISTED_MAX: usize = 10_000;
/// Most bytes of blocks that wait for their parents.
const MAX_WAITING_BYTES: usize = 256 << 20;

/// A record of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRecord {
    /// Height of the block.
    pub number: Height,
    /// Its hash.
    pub hash: B256,
    /// `block` or `receipts`.
    pub what: &'static str,
}

/// What a repair of the ledger found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerRepair {
    /// Records that were written again.
    pub restored: Vec<BlockRecord>,
    /// Records that stay damaged, each with the reason.
    pub broken: Vec<(BlockRecord, String)>,
    /// How many more were written again than are listed.
    pub more_restored: u64,
    /// How many more stay damaged than are listed.
    pub more_broken: u64,
}

impl LedgerRepair {
    fn add(&mut self, record: BlockRecord, broken: Option<String>) {
        match broken {
            Some(why) if self.broken.len() < LISTED_MAX => self.broken.push((record, why)),
            Some(_) => self.more_broken += 1,
            None if self.restored.len() < LISTED_MAX => self.restored.push(record),
            None => self.more_restored += 1,
        }
    }
}

/// Damaged blocks by hash.
type DamagedBlocks = BTreeMap<B256, Height>;

impl Chain {
    /// The damaged records of canonical blocks from `from` on, lowest first: about `count` of them,
    /// but always all those of the last block.
    fn damaged_records(
        &self,
        from: Height,
        count: usize,
        watch: ProgressFn<'_>,
    ) -> Result<Vec<BlockRecord>, ChainError> {
        let (blocks, receipts) = self.ledger().floors();
        let base = if self.base() == 0 { 0 } else { self.base() + 1 };
        let (lowest, last) = (base.max(blocks), self.head().height);
        let (total, mut found) = ((last + 1).saturating_sub(lowest), Vec::new());
        for number in lowest.max(from)..=last {
            if !watch(VerifyProgress { phase: "ledger", done: number - lowest, total }) {
                return Err(ChainError::Cancelled);
            }
            let Some(hash) = self.ledger().canonical_hash(number)? else { continue };
            let transactions = match self.ledger().block(&hash) {
                Ok(Some(block)) => Some(block.tx_hashes.len()),
                _ => {
                    found.push(BlockRecord { number, hash, what: "block" });
                    None
                }
            };
            let of_block = self.ledger().receipts(&hash).ok().flatten().map(|of| of.receipts.len());
            let reads = of_block.is_some() && transactions.is_none_or(|count| of_block == Some(count));
            if number >= receipts && !reads {
                found.push(BlockRecord { number, hash, what: "receipts" });
            }
            if found.len() >= count {
                break;
            }
        }
        Ok(found)
    }

    /// Writes damaged records of canonical blocks again: blocks from files of RLP blocks, by their
    /// hash; receipts by executing the block.
    ///
    /// # Errors
    /// Those of the stores; those of an unreadable file; [`ChainError::Cancelled`]. Records written
    /// until then stay.
    pub fn repair_ledger(&self, from: &[PathBuf], watch: ProgressFn<'_>) -> Result<LedgerRepair, ChainError> {
        self.repair_ledger_in(BATCH_RECORDS, from, watch)
    }

    /// As [`Chain::repair_ledger`], where so many damaged records are looked for at a time.
    ///
    /// # Errors
    /// As [`Chain::repair_ledger`].
    pub fn repair_ledger_in(
        &self,
        batch: usize,
        from: &[PathBuf],
        watch: ProgressFn<'_>,
    ) -> Result<LedgerRepair, ChainError> {
        let (mut report, mut next) = (LedgerRepair::default(), 0);
        loop {
            let damaged = self.damaged_records(next, batch, watch)?;
            let Some(last) = damaged.last() else { return Ok(report) };
            next = last.number + 1;
            self.repair_records(damaged, from, &mut report)?;
        }
    }

    fn repair_records(
        &self,
        damaged: Vec<BlockRecord>,
        from: &[PathBuf],
        report: &mut LedgerRepair,
    ) -> Result<(), ChainError> {
        let of = |what| damaged.iter().filter(move |record| record.what == what);
        let mut wanted: DamagedBlocks = of("block").map(|record| (record.hash, record.number)).collect();
        let mut why = BTreeMap::new();
        let restored = self.restore_blocks(from, &mut wanted, &mut why);
        // Before an error of a file is returned: what was written until then stays.
        self.kv().keep_tables()?;
        restored?;
        for record in of("receipts") {
            if let Err(error) = self.make_receipts(&record.hash) {
                why.insert((record.hash, record.what), error.to_string());
            }
        }
        self.kv().keep_tables()?;
        for record in damaged {
            let reads = match record.what {
                "block" => matches!(self.ledger().block(&record.hash), Ok(Some(_))),
                _ => matches!(self.ledger().receipts(&record.hash), Ok(Some(_))),
            };
            let none = || match from {
                [] => "no file was given that has it".to_owned(),
                _ => "it is not in what was given".to_owned(),
            };
            let reason = why.remove(&(record.hash, record.what));
            report.add(record, (!reads).then(|| reason.unwrap_or_else(none)));
        }
        Ok(())
    }

    /// Writes those of the wanted blocks again that are in the files, and the genesis block.
    fn restore_blocks(
        &self,
        from: &[PathBuf],
        wanted: &mut DamagedBlocks,
        why: &mut BTreeMap<(B256, &'static str), String>,
    ) -> Result<(), ChainError> {
        if self.base() == 0 && wanted.remove(&self.base_hash()).is_some() {
            self.restore_genesis()?;
        }
        let (mut waiting, mut bytes) = (Vec::new(), 0);
        each_block(from, &mut |raw| {
            let Some(hash) = block_hash(raw).filter(|hash| wanted.contains_key(hash)) else {
                return Ok(!wanted.is_empty());
            };
            let Ok(block) = Block::decode(&mut &raw[..]) else { return Ok(true) };
            match self.restore_block(&block, hash) {
                Ok(true) => {
                    wanted.remove(&hash);
                }
                Ok(false) if bytes + raw.len() <= MAX_WAITING_BYTES => {
                    bytes += raw.len();
                    waiting.push((block, hash));
                }
                Ok(false) => {
                    why.insert((hash, "block"), "its parent and its child are damaged too".to_owned());
                }
                Err(error) => {
                    why.insert((hash, "block"), error.to_string());
                }
            }
            Ok(!wanted.is_empty())
        })?;
        // Each one that is there again gives the total difficulty of its neighbours.
        loop {
            let before = waiting.len();
            waiting.retain(|(block, hash)| !matches!(self.restore_block(block, *hash), Ok(true)));
            if waiting.len() == before {
                return Ok(());
            }
        }
    }

    /// Writes a canonical block again whose record is damaged; `false` if its total difficulty is
    /// not known.
    ///
    /// # Errors
    /// [`ChainError::Refused`] if the body is not that of the header; those of the ledger.
    pub(crate) fn restore_block(&self, block: &Block, hash: B256) -> Result<bool, ChainError> {
        let _one_at_a_time = self.working.lock();
        self.restore_block_locked(block, hash)
    }

    /// As [`Chain::restore_block`], for a caller that holds the lock of changes to the chain.
    pub(crate) fn restore_block_locked(&self, block: &Block, hash: B256) -> Result<bool, ChainError> {
        let number = block.header.number;
        let refused = |source| ChainError::Refused { number, hash, source };
        validate_roots(&self.spec, block).map_err(refused)?;
        let Some(total_difficulty) = self.total_difficulty(block)? else { return Ok(false) };
        self.ledger().restore_block(block, hash, total_difficulty)?;
        Ok(true)
    }

    /// Whether a block is canonical here and its record does not read.
    pub(crate) fn is_damaged(&self, number: Height, hash: &B256) -> Result<bool, ChainError> {
        let is_canonical =
            number <= self.head().height && self.ledger().canonical_hash(number)? == Some(*hash);
        Ok(is_canonical && !matches!(self.ledger().block(hash), Ok(Some(_))))
    }

    /// The sum of the difficulties up to a block, from what its parent or its child has.
    fn total_difficulty(&self, block: &Block) -> Result<Option<U256>, ChainError> {
        let header = &block.header;
        if let Ok(Some(parent)) = self.ledger().block(&header.parent_hash) {
            return Ok(Some(parent.total_difficulty.saturating_add(header.difficulty)));
        }
        let Some(child) = self.ledger().canonical_hash(header.number + 1)? else { return Ok(None) };
        let child = self.ledger().block(&child).ok().flatten();
        Ok(child.map(|child| child.total_difficulty.saturating_sub(child.block.header.difficulty)))
    }

    fn restore_genesis(&self) -> Result<(), ChainError> {
        let path = self.paths().genesis();
        let text = std::fs::read_to_string(&path).map_err(ChainError::io(&path))?;
        let (spec, genesis) = parse_genesis(&path, &text)?;
        let (block, hash) = build_genesis(&spec, &genesis)?;
        let _one_at_a_time = self.working.lock();
        if hash == self.base_hash() {
            self.ledger().restore_block(&block, hash, block.header.difficulty)?;
        }
        Ok(())
    }

    /// Executes a block on the state of its parent and writes its receipts again.
    fn make_receipts(&self, hash: &B256) -> Result<(), ChainError> {
        let block = self.ledger().block(hash)?.ok_or(ChainError::UnknownBlock(*hash))?;
        let (number, header) = (block.number(), &block.block.header);
        let refused = |source| ChainError::Refused { number, hash: *hash, source };
        let env = BlockEnvironment::from_header(&self.spec, header);
        let senders = recover_senders(&self.spec, &env, &block.block.body.transactions).map_err(refused)?;
        let receipts = if number <= self.base() {
            Vec::new()
        } else {
            let state = self.state_at(number - 1)?;
            // Receipts before Byzantium have the state root after their transaction (EIP-658).
            let with_roots = env.fork < Fork::Byzantium && self.kv().has_trie();
            let mut trie = if with_roots { Some(self.roots_after(number - 1)?) } else { None };
            let executor = BlockExecutor::new(&self.spec, env, &state, &*self.ledger).on_partial_state();
            let executor = executor.with_sidecar(self.sidecar(hash)?);
            let roots = trie.as_mut().map(|trie| trie as &mut dyn RootTracker);
            let output = executor.run(&block.block, &senders, roots).map_err(refused)?;
            check_output(&self.spec, header, &output).map_err(refused)?;
            output.receipts
        };
        let _one_at_a_time = self.working.lock();
        Ok(self.ledger().restore_receipts(number, *hash, &receipts, &senders)?)
    }
}
