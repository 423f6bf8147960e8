//! The state that a committed block was executed on, for executing it again.
//!
//! Such an execution reads above all what the block changed, and the block's row in the changes
//! family holds the old values of exactly that. Everything else is the same before and after the
//! block, so it is read at the block's own height: near the head the latest rows say it without a
//! look into history.

use crate::{StateView, shared::Core};
use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_flatkv_storage::{db::Family, history::HistoryCursor, rows::read_changed_accounts};
use hearth_primitives::{Account, AccountChange, Height, StateError, StateReader};
use std::sync::{
    OnceLock,
    atomic::{AtomicU32, Ordering::Relaxed},
};

/// Reads that are answered row by row before the block's changes are loaded: loading a large
/// block's takes about as long as so many reads, and a caller that needs only the first transaction
/// makes fewer.
const READS_BEFORE_LOADING: u32 = 64;

/// State right before a committed block. If the block is unwound meanwhile, the value continues as
/// a view at the height below.
pub struct ParentView<'a> {
    core: &'a Core,
    before: StateView,
    after: StateView,
    reads: AtomicU32,
    /// The block's changes; `None` inside where the block is not in the store any more.
    changes: OnceLock<Option<Vec<AccountChange>>>,
    history: HistoryCursor<'a>,
}

impl<'a> ParentView<'a> {
    /// `before` is the state below the block, `after` the one with it.
    pub(crate) fn new(core: &'a Core, before: StateView, after: StateView) -> Self {
        let history = HistoryCursor::new(&core.db);
        Self { core, before, after, reads: AtomicU32::new(0), changes: OnceLock::new(), history }
    }

    /// Height whose state this is: the one below the block.
    pub fn height(&self) -> Height {
        self.before.height()
    }

    /// What the block changed, in ascending order; `None` while that is not loaded, or not there.
    fn changes(&self) -> Result<Option<&[AccountChange]>, StateError> {
        if let Some(changes) = self.changes.get() {
            return Ok(changes.as_deref());
        }
        if self.reads.fetch_add(1, Relaxed) < READS_BEFORE_LOADING {
            return Ok(None);
        }
        let row = self.core.db.get(Family::Changes, &self.after.height().to_be_bytes())?;
        let changes = row.map(|row| read_changed_accounts(&row)).transpose()?;
        // The row is this block's only if the block was there until it was read.
        let changes = changes.filter(|_| !self.after.is_unwound());
        Ok(self.changes.get_or_init(|| changes).as_deref())
    }

    /// A value that the block did not change.
    fn unchanged<T>(&self, read: impl Fn(&StateView) -> Result<T, StateError>) -> Result<T, StateError> {
        match read(&self.after) {
            Err(StateError::Unwound { .. }) => read(&self.before),
            answer => answer,
        }
    }
}

/// The change of an account.
fn find<'c>(changes: &'c [AccountChange], address: &Address) -> Option<&'c AccountChange> {
    changes.binary_search_by(|change| change.address.cmp(address)).ok().map(|index| &changes[index])
}

impl StateReader for ParentView<'_> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        let Some(changes) = self.changes()? else {
            return self.before.account_through(address, Some(&self.history));
        };
        match find(changes, address) {
            Some(change) => Ok(change.old),
            None => self.unchanged(|view| view.account_through(address, Some(&self.history))),
        }
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        let Some(changes) = self.changes()? else {
            return self.before.slot_through(address, slot, Some(&self.history));
        };
        let change = find(changes, address);
        let storage = change.map_or(&[][..], |change| &change.storage);
        match storage.binary_search_by(|change| change.slot.cmp(slot)) {
            Ok(index) => Ok(storage[index].old),
            // Of a storage that was destroyed, slots that only an origin knows are no changes.
            Err(_) if change.is_some_and(|change| change.wiped) => {
                self.before.slot_through(address, slot, Some(&self.history))
            }
            Err(_) => self.unchanged(|view| view.slot_through(address, slot, Some(&self.history))),
        }
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        self.before.code(hash)
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        self.before.storage_of(address)
    }
}
