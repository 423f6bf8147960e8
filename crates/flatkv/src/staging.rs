//! What was applied and not committed yet: a changeset that grows.

use crate::{FlatKvError, RowWrite};
use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_flatkv_storage::{
    codec::RowChange, measure::Pairs, rows::BlockRows, wal::record::MAX_PAYLOAD_BYTES,
};
use hearth_metrics::{DataDb, FlatkvMetrics};
use hearth_primitives::{Account, AccountChange, Changeset, SlotChange};
use std::collections::{BTreeMap, btree_map::Entry};

/// Bytes that are reckoned for an account or a slot.
const CHANGE_BYTES: u64 = 128;

/// Everything applied since the last commit, merged: each row with its committed value and its
/// newest one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Staged {
    pub(crate) accounts: BTreeMap<Address, StagedAccount>,
    pub(crate) codes: BTreeMap<B256, Bytes>,
    /// Committed and newest value by key.
    pub(crate) legacy: BTreeMap<Vec<u8>, LegacyValues>,
    /// Upper bound of what it takes in a WAL record, in bytes.
    bytes: u64,
}

/// Committed and newest value of a row of the data DB `legacy`; `None` where there is no row.
type LegacyValues = (Option<Vec<u8>>, Option<Vec<u8>>);

/// An account with its slots: committed and newest values.
#[derive(Clone, Debug)]
pub(crate) struct StagedAccount {
    old: Option<Account>,
    pub(crate) new: Option<Account>,
    wiped: bool,
    pub(crate) slots: BTreeMap<U256, (U256, U256)>,
}

/// A staged set in the form of one block's rows.
pub(crate) struct Merged {
    pub(crate) changes: Changeset,
    pub(crate) legacy: Vec<RowChange>,
}

impl Staged {
    pub(crate) fn is_empty(&self) -> bool {
        self.accounts.is_empty() && self.codes.is_empty() && self.legacy.is_empty()
    }

    /// Takes changes in, all or none. `legacy` has the values before.
    pub(crate) fn merge(&mut self, changes: &Changeset, legacy: Vec<RowChange>) -> Result<(), FlatKvError> {
        self.check(changes)?;
        let bytes = self.bytes + bytes_of(changes, &legacy);
        if bytes > MAX_PAYLOAD_BYTES {
            return Err(FlatKvError::TooMuchApplied { bytes, limit: MAX_PAYLOAD_BYTES });
        }
        self.bytes = bytes;
        for change in &changes.accounts {
            self.take(change);
        }
        self.codes.extend(changes.codes.iter().cloned());
        for RowChange { write, old } in legacy {
            self.legacy.entry(write.key).or_insert((old, None)).1 = write.value;
        }
        Ok(())
    }

    /// Changes must begin at the values that are staged.
    fn check(&self, changes: &Changeset) -> Result<(), FlatKvError> {
        for change in &changes.accounts {
            let Some(staged) = self.accounts.get(&change.address) else { continue };
            let stale = |slot| Err(FlatKvError::Stale { address: change.address, slot });
            if change.old != staged.new {
                return stale(None);
            }
            for slot in &change.storage {
                if staged.slots.get(&slot.slot).is_some_and(|(_, new)| *new != slot.old) {
                    return stale(Some(slot.slot));
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, change: &AccountChange) {
        let staged = match self.accounts.entry(change.address) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(StagedAccount {
                old: change.old,
                new: None,
                wiped: false,
                slots: BTreeMap::new(),
            }),
        };
        staged.new = change.new;
        staged.wiped |= change.wiped;
        for slot in &change.storage {
            staged.slots.entry(slot.slot).or_insert((slot.old, U256::ZERO)).1 = slot.new;
        }
    }

    /// Everything is committed or given up.
    pub(crate) fn clear(&mut self, metrics: &FlatkvMetrics) {
        self.pairs().move_pending(metrics, -1);
        *self = Self::default();
    }

    /// The rows of each data DB.
    pub(crate) fn pairs(&self) -> Pairs {
        let mut pairs = Pairs::default();
        pairs.set(
            DataDb::Account,
            self.accounts.values().filter(|account| account.old != account.new).count(),
        );
        pairs.set(DataDb::Storage, self.accounts.values().map(|account| account.slots.len()).sum());
        pairs.set(DataDb::Code, self.codes.len());
        pairs.set(DataDb::Legacy, self.legacy.len());
        pairs
    }

    /// The rows as those of one block; what ended where it began is not among them.
    pub(crate) fn merged(self) -> Merged {
        let accounts = self.accounts.into_iter().filter_map(|(address, account)| account.merged(address));
        let changes = Changeset { accounts: accounts.collect(), codes: self.codes.into_iter().collect() };
        let legacy = self.legacy.into_iter().filter(|(_, (old, new))| old != new);
        let legacy =
            legacy.map(|(key, (old, value))| RowChange { write: RowWrite { key, value }, old }).collect();
        Merged { changes, legacy }
    }
}

impl StagedAccount {
    fn merged(self, address: Address) -> Option<AccountChange> {
        let Self { old, new, wiped, slots } = self;
        let slots = slots.into_iter().map(|(slot, (old, new))| SlotChange { slot, old, new });
        // A slot of a wiped account that has its old value again was written again.
        let stays = |slot: &SlotChange| slot.old == slot.new && (!wiped || slot.new.is_zero());
        let storage: Vec<_> = slots.filter(|slot| !stays(slot)).collect();
        (old != new || !storage.is_empty()).then_some(AccountChange { address, old, new, wiped, storage })
    }
}

impl Merged {
    pub(crate) fn rows(&self) -> BlockRows<'_> {
        BlockRows { changes: &self.changes, legacy: &self.legacy }
    }
}

fn bytes_of(changes: &Changeset, legacy: &[RowChange]) -> u64 {
    let rows: usize = changes.accounts.iter().map(|change| 1 + change.storage.len()).sum();
    let codes: usize = changes.codes.iter().map(|(_, code)| 64 + code.len()).sum();
    let row = |row: &RowChange| {
        let values = [&row.write.value, &row.old].into_iter().flatten().map(Vec::len).sum::<usize>();
        row.write.key.len() + values + 32
    };
    rows as u64 * CHANGE_BYTES + (codes + legacy.iter().map(row).sum::<usize>()) as u64
}

/// Accounts and slots must come in ascending order, each once, and code by ascending hash.
pub(crate) fn check_order(changes: &Changeset) -> Result<(), FlatKvError> {
    let ascending = changes.accounts.is_sorted_by(|a, b| a.address < b.address)
        && changes.codes.is_sorted_by(|a, b| a.0 <= b.0)
        && changes.accounts.iter().all(|account| account.storage.is_sorted_by(|a, b| a.slot < b.slot));
    if ascending { Ok(()) } else { Err(FlatKvError::Unordered) }
}
