//! State as of one height, read beside commits and unwinds.
//!
//! A read looks at the latest row first. Its stamp is at or below the view's height: that is the
//! answer. It is newer: history has the answer. There is none: if no commit above the view's height
//! had begun when the row was looked for ([`Core::upcoming`], checked afterwards), there is none at
//! the view's height either; else history has the answer. At the end the view looks whether its
//! block was unwound meanwhile, in which case nothing it saw counts.
//!
//! An execution far below the head reads mostly what was written since: where several reads found
//! their answers in history near the height, the next ones look there first. A row that is there is
//! the answer, whatever the latest one is.

mod in_memory;

use crate::{shared::Core, views::Cell};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use hearth_flatkv_storage::{
    db::Family,
    error::corrupt,
    history::HistoryCursor,
    rows::{
        account_history, at_height, history_height, history_slot, legacy_history, read_account, read_slot,
        slot_history, slot_history_of, slot_key, split_stamp, storage_history,
    },
};
use hearth_primitives::{Account, Height, StateError, StateReader};
use std::sync::{Arc, atomic::Ordering::SeqCst};

/// State as of one height; answers beside commits, and beside unwinds that do not reach below it.
#[derive(Clone)]
pub struct StateView {
    core: Arc<Core>,
    cell: Arc<Cell>,
}

impl StateView {
    pub(crate) fn new(core: Arc<Core>, cell: Arc<Cell>) -> Self {
        Self { core, cell }
    }

    /// Height whose state this is.
    pub fn height(&self) -> Height {
        self.cell.height
    }

    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    /// Passes an answer on unless the view's block was unwound or pruned before it was complete.
    pub(crate) fn checked<T>(&self, answer: T) -> Result<T, StateError> {
        if self.is_unwound() {
            return Err(StateError::Unwound { height: self.height() });
        }
        let (height, oldest) = (self.height(), self.core.oldest.load(SeqCst));
        if height < oldest {
            // What was read may have been pruned before.
            let newest = self.core.head().map_or(oldest, |head| head.height);
            return Err(StateError::NotRetained { height, oldest, newest });
        }
        Ok(answer)
    }

    /// Whether the view's block is gone.
    pub(crate) fn is_unwound(&self) -> bool {
        self.cell.unwound.load(SeqCst)
    }

    /// An account; history is read through `cursor` where there is one.
    pub(crate) fn account_through(
        &self,
        address: &Address,
        cursor: Option<&HistoryCursor<'_>>,
    ) -> Result<Option<Account>, StateError> {
        if let Some(origin) = &self.core.origin {
            return self.account_over(&**origin, address, cursor);
        }
        let history = || account_history(address);
        self.read(Family::Account, address.as_slice(), history, cursor, read_account)
    }

    /// A slot; history is read through `cursor` where there is one.
    pub(crate) fn slot_through(
        &self,
        address: &Address,
        slot: &U256,
        cursor: Option<&HistoryCursor<'_>>,
    ) -> Result<U256, StateError> {
        if let Some(origin) = &self.core.origin {
            return self.slot_over(&**origin, address, slot, cursor);
        }
        let (key, history) = (slot_key(address, slot), || slot_history(address, slot));
        let value = self.read(Family::Storage, &key, history, cursor, read_slot)?;
        Ok(value.unwrap_or_default())
    }

    /// The accounts of many addresses, in the order of these, in one batch of reads where the
    /// latest rows show.
    pub fn accounts(&self, addresses: &[Address]) -> Result<Vec<Option<Account>>, StateError> {
        if self.core.origin.is_some() {
            return addresses.iter().map(|address| self.account_through(address, None)).collect();
        }
        self.read_many(Family::Account, addresses, account_history, read_account)
    }

    /// The values of many slots, each by its account, as [`Self::accounts`].
    pub fn slots(&self, slots: &[(Address, U256)]) -> Result<Vec<U256>, StateError> {
        if self.core.origin.is_some() {
            return slots.iter().map(|(address, slot)| self.slot_through(address, slot, None)).collect();
        }
        let keys: Vec<_> = slots.iter().map(|(address, slot)| slot_key(address, slot)).collect();
        let history = |key: &[u8; 52]| slot_history_of(key);
        let values = self.read_many(Family::Storage, &keys, history, read_slot)?;
        Ok(values.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Rows of the data DB `legacy`, as [`Self::accounts`].
    pub fn legacy_rows(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, StateError> {
        self.read_many(Family::Legacy, keys, |key| legacy_history(key), |value| Ok(value.to_vec()))
    }

    /// The values of many rows at the view's height, as [`Self::read`].
    fn read_many<K: AsRef<[u8]>, T>(
        &self,
        family: Family,
        keys: &[K],
        history: impl Fn(&K) -> Vec<u8>,
        read: impl Fn(&[u8]) -> Result<T, StateError>,
    ) -> Result<Vec<Option<T>>, StateError> {
        let unwinds = self.core.unwinds.load(SeqCst);
        let latest = self.core.db.get_many(family, keys)?;
        let absent_is_absent = self.is_head(unwinds);
        let cursor = HistoryCursor::new(&self.core.db);
        let mut values = Vec::with_capacity(keys.len());
        for (key, row) in keys.iter().zip(latest) {
            let known = match &row {
                Some(row) => {
                    let (stamp, value) = split_stamp(row)?;
                    (stamp <= self.height()).then(|| read(value).map(Some)).transpose()?
                }
                None => absent_is_absent.then_some(None),
            };
            values.push(match known {
                Some(value) => value,
                None => self.past_value(history(key), row.is_some(), Some(&cursor), &read)?,
            });
        }
        self.checked(values)
    }

    /// The value of a row at the view's height; `read` gets it without its stamp.
    pub(crate) fn read<T>(
        &self,
        family: Family,
        key: &[u8],
        history: impl Fn() -> Vec<u8>,
        cursor: Option<&HistoryCursor<'_>>,
        read: impl Fn(&[u8]) -> Result<T, StateError>,
    ) -> Result<Option<T>, StateError> {
        let expecting = cursor.filter(|cursor| cursor.expects_near());
        if let Some(cursor) = expecting {
            let key = at_height(history(), self.height());
            if let Some(value) = cursor.find_near(&key, |value| present(value, &read))? {
                return self.checked(value);
            }
            cursor.note_other();
        }
        let unwinds = self.core.unwinds.load(SeqCst);
        let latest = self.core.db.get(family, key)?;
        if let Some(row) = &latest {
            let (stamp, value) = split_stamp(row)?;
            if stamp <= self.height() {
                if let (Some(cursor), None) = (cursor, expecting) {
                    cursor.note_other();
                }
                return read(value).map(Some).and_then(|answer| self.checked(answer));
            }
        } else if self.is_head(unwinds) {
            return self.checked(None);
        }
        let is_near = latest.is_some() && expecting.is_none();
        let value = self.past_value(history(), is_near, cursor, read)?;
        self.checked(value)
    }

    /// Whether rows that were looked for since `unwinds` was read are missing at the view's height
    /// too.
    fn is_head(&self, unwinds: u64) -> bool {
        self.core.upcoming.load(SeqCst) <= self.height() && self.core.unwinds.load(SeqCst) == unwinds
    }

    /// The newest value at or below the view's height. `is_written` as in [`HistoryCursor::find`].
    fn past_value<T>(
        &self,
        prefix: Vec<u8>,
        is_written: bool,
        cursor: Option<&HistoryCursor<'_>>,
        read: impl Fn(&[u8]) -> Result<T, StateError>,
    ) -> Result<Option<T>, StateError> {
        let read = |value: &[u8]| present(value, &read);
        let key = at_height(prefix, self.height());
        match cursor {
            Some(cursor) => cursor.find(&key, is_written, read),
            None => HistoryCursor::new(&self.core.db).find(&key, is_written, read),
        }
        .map(Option::flatten)
    }

    /// The slots of an account out of its latest rows; `None` where those leave it open.
    fn latest_slots(&self, address: &Address) -> Result<Option<Vec<(U256, U256)>>, StateError> {
        let unwinds = self.core.unwinds.load(SeqCst);
        if !self.is_head(unwinds) {
            return Ok(None);
        }
        let mut slots = Vec::new();
        let mut rows = self.core.db.prefix(Family::Storage, address.as_slice())?;
        while let Some((key, row)) = rows.row() {
            let slot = key.get(20..52).ok_or_else(|| corrupt("storage"))?;
            let (_, value) = split_stamp(row)?;
            slots.push((U256::from_be_slice(slot), read_slot(value)?));
            rows.next();
        }
        rows.finish()?;
        Ok(self.is_head(unwinds).then_some(slots))
    }

    /// The slots of an account out of history: of each slot the newest row at or below the view's
    /// height.
    fn past_slots(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        let mut slots = Vec::new();
        let mut done = None;
        let mut rows = self.core.db.prefix(Family::History, &storage_history(address))?;
        while let Some((key, value)) = rows.row() {
            let slot = history_slot(key)?;
            if done != Some(slot) && history_height(key)? <= self.height() {
                done = Some(slot);
                if !value.is_empty() {
                    slots.push((slot, read_slot(value)?));
                }
            }
            rows.next();
        }
        rows.finish()?;
        Ok(slots)
    }
}

impl Core {
    /// Fails where the state is never written here.
    pub(crate) fn check_listing(&self) -> Result<(), StateError> {
        self.origin.as_ref().map_or(Ok(()), |origin| origin.check_listing())
    }

    /// Code by its hash, through the cache.
    pub(crate) fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        if *hash == KECCAK256_EMPTY {
            return Ok(Bytes::new());
        }
        if let Some(code) = self.codes.get(hash) {
            return Ok(code);
        }
        let code = match (self.db.get(Family::Code, hash.as_slice())?, &self.origin) {
            (Some(row), _) => Bytes::copy_from_slice(&row),
            (None, Some(origin)) => origin.code(hash)?,
            (None, None) => return Err(StateError::MissingCode(*hash)),
        };
        self.codes.insert(*hash, code.clone());
        Ok(code)
    }
}

impl StateReader for StateView {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        self.account_through(address, None)
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        self.slot_through(address, slot, None)
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        self.core.code(hash)
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        self.core.check_listing()?;
        let slots = match self.latest_slots(address)? {
            Some(slots) => slots,
            None => self.past_slots(address)?,
        };
        self.checked(slots)
    }

    fn for_execution(&self) -> Option<Box<dyn StateReader + '_>> {
        Some(Box::new(ViewReads { view: self, history: HistoryCursor::new(&self.core.db) }))
    }
}

/// The value of a row of history; `None` where the row says that there is none.
fn present<T>(value: &[u8], read: impl Fn(&[u8]) -> Result<T, StateError>) -> Result<Option<T>, StateError> {
    if value.is_empty() { Ok(None) } else { read(value).map(Some) }
}

/// A view for an execution: one look into history after the other goes through one cursor.
struct ViewReads<'a> {
    view: &'a StateView,
    history: HistoryCursor<'a>,
}

impl StateReader for ViewReads<'_> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        self.view.account_through(address, Some(&self.history))
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        self.view.slot_through(address, slot, Some(&self.history))
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        self.view.code(hash)
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        self.view.storage_of(address)
    }
}
