//! Checks the canonical index against the ledger: every height names an existing block, and every
//! transaction its position.

use super::Reading;
use crate::ChainError;
use crate::follow::is_hole;
use alloy_primitives::B256;
use hearth_ledger::LedgerError;
use hearth_ledger::posting_index::{IndexFinding, IndexProblem, IndexProgress};
use hearth_primitives::Height;
use std::fmt;

/// Findings that are kept; all are counted.
const MAX_FINDINGS: usize = 1_000;

/// Something that is wrong between index and ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerFinding {
    /// A height without a canonical block.
    NoHash {
        /// The height.
        number: Height,
    },
    /// A canonical block that is not in the ledger.
    NoBlock {
        /// Its height.
        number: Height,
        /// Its hash.
        hash: B256,
    },
    /// A block of another height or with another parent than the index says.
    OtherBlock {
        /// The height.
        number: Height,
        /// The hash in the index.
        hash: B256,
    },
    /// A transaction whose index row is missing or leads elsewhere.
    Transaction {
        /// Height of its block.
        number: Height,
        /// Its hash.
        hash: B256,
    },
    /// Receipts that are missing, do not read, or are not as many as the transactions.
    Receipts {
        /// Height of their block.
        number: Height,
        /// Hash of the block.
        hash: B256,
    },
    /// A trace capsule that does not read: the block is traced from history, which makes it again.
    Capsule {
        /// Height of its block.
        number: Height,
        /// Hash of the block.
        hash: B256,
    },
    /// Blocks that the address index leaves out.
    AddressIndex {
        /// Lowest height that is concerned.
        from: Height,
        /// Highest height that is concerned.
        to: Height,
        /// How many blocks are not found by all of their accounts.
        blocks: u64,
    },
    /// The native sidecar of a block does not read.
    Natives {
        /// Height of the block.
        number: Height,
        /// Its hash.
        hash: B256,
    },
    /// Rows of the address index that do not read.
    AddressIndexUnreadable {
        /// Lowest height that is concerned.
        from: Height,
        /// Highest height that is concerned.
        to: Height,
        /// What was said.
        error: String,
        /// Whether the state store is damaged: the index cannot be written again before that is
        /// repaired.
        in_store: bool,
    },
    /// A row that does not read.
    Unreadable {
        /// Height of the block.
        number: Height,
        /// What was said.
        error: String,
    },
}

impl LedgerFinding {
    /// Its name, for machines.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NoHash { .. } => "no_hash",
            Self::NoBlock { .. } => "no_block",
            Self::OtherBlock { .. } => "other_block",
            Self::Transaction { .. } => "transaction",
            Self::Receipts { .. } => "receipts",
            Self::Capsule { .. } => "capsule",
            Self::Natives { .. } => "natives",
            Self::AddressIndex { .. } | Self::AddressIndexUnreadable { .. } => "address_index",
            Self::Unreadable { .. } => "unreadable_block",
        }
    }

    /// The command that repairs it, as far as it goes; `None` where none does.
    pub fn repair(&self) -> Option<&'static str> {
        match self {
            Self::NoBlock { .. } | Self::Unreadable { .. } => Some("hearth db repair --from FILE|URL"),
            Self::Receipts { .. }
            | Self::Capsule { .. }
            | Self::AddressIndexUnreadable { in_store: true, .. } => Some("hearth db repair"),
            Self::AddressIndex { .. } | Self::AddressIndexUnreadable { in_store: false, .. } => {
                Some("hearth db reindex")
            }
            // The bytes of native transactions are in CometBFT's blocks alone.
            Self::Natives { .. } => Some("hearth db rollback --to HEIGHT"),
            Self::NoHash { .. } | Self::OtherBlock { .. } | Self::Transaction { .. } => None,
        }
    }
}

impl fmt::Display for LedgerFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHash { number } => write!(f, "height {number} has no canonical block"),
            Self::NoBlock { number, hash } => write!(f, "block {number} ({hash}) is not in the ledger"),
            Self::OtherBlock { number, hash } => {
                write!(f, "block {number} ({hash}) has another number or parent")
            }
            Self::Transaction { number, hash } => {
                write!(f, "transaction {hash} of block {number} is not in the index, or elsewhere")
            }
            Self::Receipts { number, hash } => {
                write!(
                    f,
                    "the receipts of block {number} ({hash}) are missing, do not read, or are not as many as its transactions"
                )
            }
            Self::Capsule { number, hash } => {
                write!(f, "the trace capsule of block {number} ({hash}) does not read")
            }
            Self::Natives { number, hash } => {
                write!(f, "the native transactions of block {number} ({hash}) do not read")
            }
            Self::AddressIndex { from, to, blocks } => {
                write!(f, "the address index leaves out {blocks} of blocks {from} to {to}")
            }
            Self::AddressIndexUnreadable { from, to, error, .. } => {
                write!(f, "the address index of blocks {from} to {to} does not read: {error}")
            }
            Self::Unreadable { number, error } => write!(f, "block {number}: {error}"),
        }
    }
}

impl From<IndexFinding> for LedgerFinding {
    fn from(IndexFinding { from, to, problem }: IndexFinding) -> Self {
        match problem {
            IndexProblem::LeftOut(blocks) => Self::AddressIndex { from, to, blocks },
            IndexProblem::Unreadable(error) => {
                let in_store = matches!(error, LedgerError::Index(_));
                Self::AddressIndexUnreadable { from, to, error: error.to_string(), in_store }
            }
        }
    }
}

/// What was looked at and found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerReport {
    /// Blocks.
    pub blocks: u64,
    /// Transactions.
    pub transactions: u64,
    /// Blocks whose rows in the address index were compared with their capsules.
    pub indexed: u64,
    /// What is wrong: the first thousand.
    pub findings: Vec<LedgerFinding>,
    /// How many there are in all.
    pub found: u64,
}

impl Reading {
    /// Compares the index with the ledger, from the first block that the ledger keeps to the head.
    /// `watch` gets the blocks done and the blocks in all; `false` stops.
    ///
    /// # Errors
    /// [`ChainError::Cancelled`]. Problems are findings.
    pub fn verify_ledger(&self, watch: &mut dyn FnMut(u64, u64) -> bool) -> Result<LedgerReport, ChainError> {
        let mut report = LedgerReport::default();
        let Some(head) = self.kv().head() else { return Ok(report) };
        let base = if self.base() == 0 { 0 } else { self.base() + 1 };
        let (blocks, receipts) = self.ledger().floors();
        let first = base.max(blocks).max(receipts);
        let mut parent = None;
        for number in first..=head.height {
            if !watch(number - first, head.height - first + 1) {
                return Err(ChainError::Cancelled);
            }
            let found = self.verify_block(number, &mut parent, &mut report);
            let found = found
                .unwrap_or_else(|error| vec![LedgerFinding::Unreadable { number, error: error.to_string() }]);
            report.blocks += 1;
            report.found += found.len() as u64;
            let room = MAX_FINDINGS - report.findings.len();
            report.findings.extend(found.into_iter().take(room));
        }
        self.verify_address_index(watch, &mut report)?;
        Ok(report)
    }

    /// Compares the address index with the capsules.
    fn verify_address_index(
        &self,
        watch: &mut dyn FnMut(u64, u64) -> bool,
        report: &mut LedgerReport,
    ) -> Result<(), ChainError> {
        let mut watch = |progress: IndexProgress| watch(progress.done, progress.total);
        let index = self.ledger().verify_address_index(&mut watch)?.ok_or(ChainError::Cancelled)?;
        report.indexed = index.blocks;
        report.found += index.found;
        let room = MAX_FINDINGS - report.findings.len();
        report.findings.extend(index.findings.into_iter().take(room).map(LedgerFinding::from));
        Ok(())
    }

    fn verify_block(
        &self,
        number: Height,
        parent: &mut Option<B256>,
        report: &mut LedgerReport,
    ) -> Result<Vec<LedgerFinding>, LedgerError> {
        let ledger = self.ledger();
        let before = parent.take();
        let Some(hash) = ledger.canonical_hash(number)? else {
            return Ok(vec![LedgerFinding::NoHash { number }]);
        };
        *parent = Some(hash);
        let Some(block) = ledger.block(&hash)? else {
            return Ok(vec![LedgerFinding::NoBlock { number, hash }]);
        };
        let mut found = Vec::new();
        let header = &block.block.header;
        let follows = before.is_none_or(|before| before == header.parent_hash);
        if header.number != number || header.hash_slow() != hash || !follows {
            found.push(LedgerFinding::OtherBlock { number, hash });
        }
        for (index, tx) in block.tx_hashes.iter().enumerate() {
            report.transactions += 1;
            let place = ledger.transaction_place(tx)?;
            let right = place.is_some_and(|place| {
                (place.number, place.hash, place.index as usize) == (number, hash, index)
            });
            if !right {
                found.push(LedgerFinding::Transaction { number, hash: *tx });
            }
        }
        let receipts = ledger.receipts(&hash).ok().flatten().map(|receipts| receipts.receipts.len());
        // A home that follows another node may hold a block that it could not execute.
        let is_hole = || self.file.is_follower() && is_hole(self.kv(), number).unwrap_or(false);
        if receipts != Some(block.tx_hashes.len()) && !is_hole() {
            found.push(LedgerFinding::Receipts { number, hash });
        }
        if ledger.capsule(&hash).is_err() {
            found.push(LedgerFinding::Capsule { number, hash });
        }
        let Ok(sidecar) = ledger.sidecar(&hash) else {
            found.push(LedgerFinding::Natives { number, hash });
            return Ok(found);
        };
        for (index, native) in sidecar.natives.iter().enumerate() {
            report.transactions += 1;
            let transaction = hearth_cosmos::sha256(&native.bytes);
            let right = ledger.native_place(&transaction)?.is_some_and(|place| {
                (place.number, place.hash, place.index as usize) == (number, hash, index)
            });
            if !right {
                found.push(LedgerFinding::Transaction { number, hash: transaction });
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_primitives::StateError;

    #[test]
    fn a_finding_of_the_index_names_the_command_that_rebuilds_it() {
        let of = |problem| LedgerFinding::from(IndexFinding { from: 256, to: 511, problem });
        let left_out = of(IndexProblem::LeftOut(3));
        assert_eq!(left_out.to_string(), "the address index leaves out 3 of blocks 256 to 511");
        assert_eq!((left_out.name(), left_out.repair()), ("address_index", Some("hearth db reindex")));
        let row = of(IndexProblem::Unreadable(LedgerError::BadIndexRow("account postings")));
        assert_eq!((row.name(), row.repair()), ("address_index", Some("hearth db reindex")));
        // The rows cannot be written again before the store is repaired.
        let store = of(IndexProblem::Unreadable(LedgerError::Index(StateError::Store("bad block".into()))));
        assert_eq!(store.repair(), Some("hearth db repair"));
    }
}
