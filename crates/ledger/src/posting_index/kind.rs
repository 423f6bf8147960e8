//! The indexes that there are, and where the ids of a block come from when its row is missing.

use super::id::{BlockIds, IdCollector};
use crate::{LedgerTables, capsules, ledger, receipts};
use alloy_primitives::{Address, B256};
use hearth_primitives::{Block, TraceCapsule};

/// An index of canonical blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexKind {
    /// By the addresses and topics of their logs.
    Logs,
    /// By the accounts that their execution looked at.
    Accounts,
}

/// Key prefixes of an index, and the name of its rows in error messages.
pub(super) struct KeyPrefixes {
    pub block: u8,
    pub postings: u8,
    pub merged: u8,
    pub floor: u8,
    pub block_row: &'static str,
    pub postings_row: &'static str,
}

const LOGS: KeyPrefixes = KeyPrefixes {
    block: b'p',
    postings: b'l',
    merged: b'm',
    floor: b'f',
    block_row: "log ids of a block",
    postings_row: "log postings",
};

const ACCOUNTS: KeyPrefixes = KeyPrefixes {
    block: b'P',
    postings: b'L',
    merged: b'M',
    floor: b'F',
    block_row: "accounts of a block",
    postings_row: "account postings",
};

impl IndexKind {
    pub(super) fn letters(self) -> &'static KeyPrefixes {
        match self {
            Self::Logs => &LOGS,
            Self::Accounts => &ACCOUNTS,
        }
    }

    /// Name of the thread that merges.
    pub(super) fn thread_name(self) -> &'static str {
        match self {
            Self::Logs => "hearth-log-index",
            Self::Accounts => "hearth-addr-index",
        }
    }

    /// The ids of a block by what the tables hold of it. A block whose record cannot be read may
    /// hold anything: a search looks at it, and reports the damage.
    pub(super) fn ids_of(self, tables: &LedgerTables, hash: &B256) -> BlockIds {
        let ids = match self {
            Self::Logs => log_ids(tables, hash),
            Self::Accounts => account_ids(tables, hash),
        };
        match ids {
            Some(ids) => ids,
            // Hashes are known of blocks before the first one, without the blocks.
            None if !tables.blocks.exists(hash.as_slice()).unwrap_or(true) => BlockIds::default(),
            None => BlockIds::any(),
        }
    }
}

/// The ids of a block's logs by its receipts; `None` where they cannot be read.
fn log_ids(tables: &LedgerTables, hash: &B256) -> Option<BlockIds> {
    let row = tables.receipts.get(hash.as_slice()).ok()??;
    let mut ids = IdCollector::default();
    receipts::visit_logs(&row, |_, address, topics, _| ids.add(address, topics)).ok()?;
    Some(ids.finish())
}

/// The ids of a block's accounts by its trace capsule; `None` where it has none that reads.
fn account_ids(tables: &LedgerTables, hash: &B256) -> Option<BlockIds> {
    let row = tables.blocks.get(hash.as_slice()).ok()??;
    let block = ledger::decode_block(*hash, &row).ok()?.block;
    if block.body.transactions.is_empty() {
        return Some(BlockIds::of_accounts(rewarded(&block)));
    }
    let capsule = tables.capsules.get(hash.as_slice()).ok()??;
    let accounts = capsules::decode_addresses(&capsule).ok()?;
    Some(BlockIds::of_accounts(accounts.into_iter().chain(rewarded(&block))))
}

/// The ids of the accounts of a block that is committed; `None` where no capsule says which they
/// are.
pub(super) fn committed_account_ids(block: &Block, capsule: Option<&TraceCapsule>) -> Option<BlockIds> {
    committed_accounts(block, capsule).map(BlockIds::of_accounts)
}

/// The accounts of a block that is committed, in any order and with repetitions; `None` where no
/// capsule says which they are.
pub(super) fn committed_accounts<'a>(
    block: &'a Block,
    capsule: Option<&'a TraceCapsule>,
) -> Option<impl Iterator<Item = Address> + 'a> {
    if capsule.is_none() && !block.body.transactions.is_empty() {
        return None;
    }
    let looked_at = capsule.into_iter().flat_map(|capsule| &capsule.accounts);
    Some(looked_at.map(|account| account.address).chain(rewarded(block)))
}

/// The accounts that the block's reward traces go to. A reward of zero leaves no account behind in
/// the capsule.
fn rewarded(block: &Block) -> impl Iterator<Item = Address> + '_ {
    let ommers = block.body.ommers.iter().map(|ommer| ommer.beneficiary);
    std::iter::once(block.header.beneficiary).chain(ommers)
}
