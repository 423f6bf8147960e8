//! A chain of blocks that are stored and committed without being executed.

use crate::{Ledger, LedgerOptions, LedgerSettings, RunBlock};
use alloy_consensus::{Eip658Value, Receipt as Inner, SignableTransaction, TxLegacy, TxType};
use alloy_primitives::{Address, B256, Log, Signature, U256};
use hearth_flatkv::{Commit, CommitmentKind, FlatKv, Fsync, IndexWrite, Options};
use hearth_metrics::Registry;
use hearth_primitives::{
    Block, BlockOutput, CapsuleAccount, Changeset, Header, Height, Receipt, TraceCapsule,
};
use std::num::NonZeroU64;
use std::{path::Path, sync::Arc};
use tempfile::TempDir;

/// Height of the first block: the first page is not whole.
pub const FIRST: Height = 200;

pub struct Chain {
    pub ledger: Ledger,
    pub kv: Arc<FlatKv>,
    pub blocks: Vec<Entry>,
    salt: u64,
    dir: TempDir,
}

/// A chain whose stores are closed.
pub struct Closed {
    blocks: Vec<Entry>,
    salt: u64,
    dir: TempDir,
}

impl Closed {
    /// Folder of the stores.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Opens the stores of another folder, or says why they do not open.
    pub fn try_open(&self, dir: &Path) -> Result<(Ledger, Arc<FlatKv>), String> {
        open(dir, 5, 0)
    }

    pub fn open(self, lag: u64, window: u64) -> Chain {
        let Self { blocks, salt, dir } = self;
        let (ledger, kv) = open(dir.path(), lag, window).unwrap();
        Chain { ledger, kv, blocks, salt, dir }
    }
}

/// Opens the stores of a chain, whose pages are merged by hand.
pub fn open(dir: &Path, lag: u64, window: u64) -> Result<(Ledger, Arc<FlatKv>), String> {
    let address_index_window_blocks = NonZeroU64::new(window);
    let options =
        LedgerOptions::new(LedgerSettings { address_index_window_blocks, ..LedgerSettings::default() });
    let tables = Ledger::open(&dir.join("ledger"), &options, &Registry::new()).map_err(|e| e.to_string())?;
    let options = Options::new(dir.join("state"), dir.join("wal"), CommitmentKind::None, Fsync::None);
    let kv = FlatKv::open(options, tables.clone()).map_err(|e| e.to_string())?;
    let ledger = Ledger::with_lag(tables, kv.clone(), lag);
    ledger.account_merger().unwrap().by_hand();
    Ok((ledger, kv))
}

/// A block as it was added.
pub struct Entry {
    pub hash: B256,
    pub logs: Vec<Log>,
    /// Accounts that it looked at.
    pub accounts: Vec<Address>,
    /// Whether it has a capsule.
    pub capsule: bool,
}

fn receipts(logs: &[Log]) -> Vec<Receipt> {
    let inner = Inner { status: Eip658Value::Eip658(true), cumulative_gas_used: 1, logs: logs.to_vec() };
    vec![Receipt::from_typed(TxType::Legacy, inner.with_bloom())]
}

/// A block in the tables, before its commit.
struct Appended {
    block: Block,
    hash: B256,
    output: BlockOutput,
    capsule: Option<TraceCapsule>,
    positions: Vec<u64>,
}

impl Appended {
    fn of_run(&self) -> RunBlock<'_> {
        let Self { block, hash, output, capsule, .. } = self;
        let (hash, capsule) = (*hash, capsule.as_ref());
        RunBlock { block, hash, total_difficulty: U256::ZERO, output: Some(output), capsule }
    }

    fn commit<'a>(&self, index: Vec<IndexWrite>, changes: &'a Changeset) -> Commit<'a> {
        let Header { number, parent_hash, .. } = self.block.header;
        Commit {
            height: number,
            hash: self.hash,
            parent: parent_hash,
            changes,
            trie: None,
            state_root: None,
            index,
            positions: self.positions.clone(),
        }
    }
}

impl Chain {
    /// An empty one, whose pages are merged `lag` blocks below the head, and whose accounts are
    /// kept for `window` blocks.
    pub fn new(lag: u64, window: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (ledger, kv) = open(dir.path(), lag, window).unwrap();
        Self { ledger, kv, blocks: Vec::new(), salt: 0, dir }
    }

    /// Closes the chain and opens it again with another window.
    pub fn reopened(self, lag: u64, window: u64) -> Self {
        self.closed().open(lag, window)
    }

    /// Closes the stores.
    pub fn closed(self) -> Closed {
        let Self { ledger, kv, blocks, salt, dir } = self;
        ledger.close();
        kv.close().unwrap();
        Closed { blocks, salt, dir }
    }

    pub fn head(&self) -> Height {
        FIRST + self.blocks.len() as u64 - 1
    }

    /// Appends a block to the tables. One without a capsule has none in the table either.
    fn append(&mut self, logs: Vec<Log>, accounts: Vec<Address>, with_capsule: bool) -> Appended {
        self.salt += 1;
        let mut block = Block::default();
        block.header.number = FIRST + self.blocks.len() as u64;
        block.header.timestamp = self.salt;
        block.header.parent_hash = self.blocks.last().map_or(B256::ZERO, |entry| entry.hash);
        if !accounts.is_empty() {
            let tx = TxLegacy { nonce: self.salt, ..TxLegacy::default() };
            let signed = tx.into_signed(Signature::new(U256::from(1), U256::from(1), false));
            block.body.transactions.push(signed.into());
        }
        let (hash, receipts) = (block.header.hash_slow(), receipts(&logs));
        self.ledger.append(&block, hash, U256::ZERO, &receipts, &[Address::ZERO]).unwrap();
        let mut known: Vec<_> = accounts
            .iter()
            .map(|address| CapsuleAccount { address: *address, ..Default::default() })
            .collect();
        known.sort_by_key(|account| account.address);
        known.dedup_by_key(|account| account.address);
        let (writes, logs_of) = (vec![Vec::new(); 3], vec![0]);
        let capsule = TraceCapsule { accounts: known, writes, logs: logs_of, ..TraceCapsule::default() };
        let capsule = with_capsule.then_some(capsule);
        if let Some(capsule) = &capsule {
            self.ledger.append_capsule(block.header.number, hash, capsule).unwrap();
        }
        self.blocks.push(Entry { hash, logs, accounts, capsule: with_capsule });
        let output = BlockOutput { receipts, ..BlockOutput::default() };
        Appended { block, hash, output, capsule, positions: self.ledger.positions() }
    }

    /// Adds a block. One from before the indexes has no rows of theirs; one without a capsule has
    /// none in the table either.
    pub fn add(&mut self, logs: Vec<Log>, accounts: Vec<Address>, from_before: bool, with_capsule: bool) {
        let appended = self.append(logs, accounts, with_capsule);
        let Appended { block, hash, output, capsule, .. } = &appended;
        let mut index = self.ledger.index_rows(block, *hash, &output.receipts, capsule.as_ref());
        index.retain(|row| !from_before || !row.key[0].eq_ignore_ascii_case(&b'p'));
        let nothing = Changeset::default();
        let commit = appended.commit(index, &nothing);
        match self.blocks.len() == 1 {
            true => self.kv.init(commit).unwrap(),
            false => self.kv.commit(commit).unwrap(),
        }
    }

    /// Adds blocks that are committed in one step: logs of each, accounts, whether it has a
    /// capsule. There must be a block below them.
    pub fn add_together(&mut self, blocks: Vec<(Vec<Log>, Vec<Address>, bool)>) {
        let appended: Vec<_> = blocks
            .into_iter()
            .map(|(logs, accounts, capsule)| self.append(logs, accounts, capsule))
            .collect();
        let run: Vec<_> = appended.iter().map(Appended::of_run).collect();
        let (indexes, nothing) = (self.ledger.index_rows_of_run(&run), Changeset::default());
        let commits = appended.iter().zip(indexes).map(|(appended, index)| appended.commit(index, &nothing));
        self.kv.commit_run(commits.collect(), None).unwrap();
    }

    pub fn unwind(&mut self, blocks: usize) {
        let keep = self.blocks.len().saturating_sub(blocks).max(1);
        self.blocks.truncate(keep);
        self.kv.unwind(self.head()).unwrap();
    }
}
