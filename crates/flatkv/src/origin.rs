//! Reads of a forked chain: a row that was never written locally is read from the remote state.
//!
//! History shows what was written: it has a row for every change, an empty one where the account or
//! slot went. So a row that went stays gone, at every height, and the origin is read only where
//! there is no row of any kind. A storage that was destroyed as a whole leaves a row in the data DB
//! `legacy`, since the slots of the origin are not known here.

use crate::{RowWrite, StateView, shared::Core};
use alloy_primitives::{Address, U256};
use hearth_flatkv_storage::{
    codec::RowChange,
    db::Family,
    history::HistoryCursor,
    rows::{
        account_history, at_height, legacy_history, read_account, read_slot, slot_history, slot_key,
        split_stamp,
    },
};
use hearth_primitives::{Account, Changeset, RemoteState, StateError};

/// Prefix of the keys in `legacy` that mark a destroyed storage.
const DESTROYED: &[u8] = b"destroyed storage ";
/// Their value.
const SINCE_THEN: &[u8] = &[1];

fn destroyed_key(address: &Address) -> Vec<u8> {
    [DESTROYED, address.as_slice()].concat()
}

/// The local value of a row at a height.
enum Known<T> {
    /// The local value; `None` if the row was deleted.
    Here(Option<T>),
    /// The row was never written locally.
    Unwritten,
}

impl StateView {
    /// An account, where there is an origin.
    pub(crate) fn account_over(
        &self,
        origin: &dyn RemoteState,
        address: &Address,
        cursor: Option<&HistoryCursor<'_>>,
    ) -> Result<Option<Account>, StateError> {
        let history = account_history(address);
        match self.known(Family::Account, address.as_slice(), history, cursor, read_account)? {
            Known::Here(account) => Ok(account),
            Known::Unwritten => origin.account(address),
        }
    }

    /// A slot, where there is an origin.
    pub(crate) fn slot_over(
        &self,
        origin: &dyn RemoteState,
        address: &Address,
        slot: &U256,
        cursor: Option<&HistoryCursor<'_>>,
    ) -> Result<U256, StateError> {
        let (key, history) = (slot_key(address, slot), slot_history(address, slot));
        if let Known::Here(value) = self.known(Family::Storage, &key, history, cursor, read_slot)? {
            return Ok(value.unwrap_or_default());
        }
        let key = destroyed_key(address);
        let read = |_: &[u8]| Ok(());
        match self.known(Family::Legacy, &key, legacy_history(&key), cursor, read)? {
            Known::Here(Some(())) => Ok(U256::ZERO),
            Known::Here(None) | Known::Unwritten => origin.storage(address, slot),
        }
    }

    /// Looks a row up at the view's height.
    fn known<T>(
        &self,
        family: Family,
        key: &[u8],
        history: Vec<u8>,
        cursor: Option<&HistoryCursor<'_>>,
        read: impl Fn(&[u8]) -> Result<T, StateError>,
    ) -> Result<Known<T>, StateError> {
        let core = self.core();
        let latest = core.db.get(family, key)?;
        if let Some(row) = &latest {
            let (stamp, value) = split_stamp(row)?;
            if stamp <= self.height() {
                let value = read(value)?;
                return self.checked(Known::Here(Some(value)));
            }
        }
        let key = at_height(history, self.height());
        let read = |value: &[u8]| if value.is_empty() { Ok(None) } else { read(value).map(Some) };
        let found = match cursor {
            Some(cursor) => cursor.find(&key, latest.is_some(), read)?,
            None => HistoryCursor::new(&core.db).find(&key, latest.is_some(), read)?,
        };
        self.checked(found.map_or(Known::Unwritten, Known::Here))
    }
}

impl Core {
    /// Rows that say which storages a block destroys; none where nothing lies beneath.
    pub(crate) fn destroyed_rows(&self, changes: &Changeset) -> Result<Vec<RowChange>, StateError> {
        if self.origin.is_none() {
            return Ok(Vec::new());
        }
        let destroyed = changes.accounts.iter().filter(|change| change.wiped);
        let write = |address| RowWrite { key: destroyed_key(address), value: Some(SINCE_THEN.to_vec()) };
        let writes: Vec<_> = destroyed.map(|change| write(&change.address)).collect();
        if writes.is_empty() {
            return Ok(Vec::new());
        }
        let read = |row: &[u8]| Ok(split_stamp(row)?.1.to_vec());
        let mut rows = self.old_rows(Family::Legacy, writes, read)?;
        rows.retain(|row| row.old.is_none());
        Ok(rows)
    }
}
