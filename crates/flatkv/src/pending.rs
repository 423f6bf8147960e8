//! The state as it will be: what is applied, over the latest rows.

use crate::{
    FlatKv, StateView,
    iterate::{RowIter, RowRange},
    shared::Core,
};
use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_flatkv_storage::{
    db::Family,
    error::corrupt,
    rows::{read_account, read_slot, split_stamp},
};
use hearth_metrics::DataDb;
use hearth_primitives::{Account, StateError, StateReader};

/// The latest state with everything that was applied and not committed. Each read sees the moment
/// it is made in.
pub struct PendingView<'a> {
    core: &'a Core,
}

impl FlatKv {
    /// The state with what is applied and not committed yet.
    pub fn pending(&self) -> PendingView<'_> {
        PendingView { core: &self.core }
    }
}

impl PendingView<'_> {
    /// A row of the data DB `legacy`.
    pub fn legacy(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        if let Some((_, new)) = self.core.staged.read().legacy.get(key) {
            return Ok(new.clone());
        }
        self.latest(Family::Legacy, key, |value| Ok(value.to_vec()))
    }

    fn latest<T>(
        &self,
        family: Family,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> Result<T, StateError>,
    ) -> Result<Option<T>, StateError> {
        let Some(row) = self.core.db.get(family, key)? else { return Ok(None) };
        read(split_stamp(&row)?.1).map(Some)
    }
}

impl StateReader for PendingView<'_> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        if let Some(staged) = self.core.staged.read().accounts.get(address) {
            return Ok(staged.new);
        }
        self.latest(Family::Account, address.as_slice(), read_account)
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        let staged = self.core.staged.read();
        if let Some((_, new)) = staged.accounts.get(address).and_then(|account| account.slots.get(slot)) {
            return Ok(*new);
        }
        drop(staged);
        let key = hearth_flatkv_storage::rows::slot_key(address, slot);
        Ok(self.latest(Family::Storage, &key, read_slot)?.unwrap_or_default())
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        if let Some(code) = self.core.staged.read().codes.get(hash) {
            return Ok(code.clone());
        }
        self.core.code(hash)
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        let range = RowRange::prefix(address.as_slice());
        let rows = RowIter::new(self.core, DataDb::Storage, &range)?;
        let slot = |row: Result<crate::Row, _>| {
            let row = row.map_err(crate::FlatKvError::into_state)?;
            let slot = row.key.get(20..52).ok_or_else(|| corrupt("storage"))?;
            Ok((U256::from_be_slice(slot), read_slot(&row.value)?))
        };
        rows.map(slot).collect()
    }
}

impl StateView {
    /// A row of the data DB `legacy` at the view's height.
    pub fn legacy(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        let history = || hearth_flatkv_storage::rows::legacy_history(key);
        self.read(Family::Legacy, key, history, None, |value| Ok(value.to_vec()))
    }
}
