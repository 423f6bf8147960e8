//! What a view knows without reading the disk: for threads that must never wait.
//!
//! Only a latest row that is there and holds at the view's height is an answer. One that is
//! missing may lie on the disk, in history, or beneath the store.

use super::StateView;
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use hearth_flatkv_storage::{
    db::Family,
    rows::{read_account, read_slot, slot_key, split_stamp},
};
use hearth_primitives::{Account, StateError};

impl StateView {
    /// An account, where its latest row lies in memory and holds. `None` leaves the answer open.
    pub fn account_in_memory(&self, address: &Address) -> Option<Account> {
        self.in_memory(Family::Account, address.as_slice(), read_account)
    }

    /// A slot, as [`Self::account_in_memory`].
    pub fn slot_in_memory(&self, address: &Address, slot: &U256) -> Option<U256> {
        self.in_memory(Family::Storage, &slot_key(address, slot), read_slot)
    }

    /// Code by its hash, where it is kept in memory. `None` leaves the answer open.
    pub fn code_in_memory(&self, hash: &B256) -> Option<Bytes> {
        if *hash == KECCAK256_EMPTY { Some(Bytes::new()) } else { self.core.codes.get(hash) }
    }

    fn in_memory<T>(
        &self,
        family: Family,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> Result<T, StateError>,
    ) -> Option<T> {
        let row = self.core.db.get_in_memory(family, key)?;
        let (stamp, value) = split_stamp(&row).ok()?;
        if stamp > self.height() {
            return None;
        }
        read(value).and_then(|answer| self.checked(answer)).ok()
    }
}
