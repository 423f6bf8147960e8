//! Trace capsules in the ledger: one record a block beside its block and receipts.

use crate::ledger::put;
use crate::{Ledger, LedgerError, capsules};
use alloy_primitives::B256;
use hearth_littable::LittError;
use hearth_primitives::{Height, TraceCapsule};

/// Largest capsule that is kept, in bytes before compression. A block with a larger one is traced
/// from history.
pub const MAX_CAPSULE_BYTES: usize = 256 << 20;

/// Blocks between two looks for capsules that are too old: forgetting them costs a sync.
const FORGET_EVERY: u64 = 64;

impl Ledger {
    /// Whether capsules are written.
    pub fn keeps_capsules(&self) -> bool {
        self.tables().keeps_capsules
    }

    /// Appends the capsule of a block of any branch, before the commit that records the tables'
    /// ends. Repeating it is harmless.
    ///
    /// # Errors
    /// [`LedgerError::Table`].
    pub fn append_capsule(
        &self,
        number: Height,
        hash: B256,
        capsule: &TraceCapsule,
    ) -> Result<(), LedgerError> {
        let row = capsules::encode(capsule);
        if row.len() > MAX_CAPSULE_BYTES {
            return Ok(());
        }
        let table = &self.tables().capsules;
        match put(table, number, hash, &row) {
            // The existing record was written by a version with another encoding; its content is
            // the same.
            Err(LedgerError::Table(LittError::Conflict { .. })) => Ok(()),
            // It would be forgotten at once.
            Err(LedgerError::Table(LittError::Pruned { .. })) => Ok(()),
            other => other,
        }?;
        self.tables().drain()
    }

    /// The capsule of a block of any branch; `None` where there is none, or none any more.
    ///
    /// # Errors
    /// [`LedgerError::Table`] where its bytes are damaged, [`LedgerError::Undecodable`].
    pub fn capsule(&self, hash: &B256) -> Result<Option<TraceCapsule>, LedgerError> {
        let row = match self.tables().capsules.get(hash.as_slice()) {
            Err(LittError::Pruned { .. }) => None,
            other => other.map_err(LedgerError::of_record("capsule", hash))?,
        };
        let decoded = row.map(|row| capsules::decode(&row)).transpose();
        decoded.map_err(|why| LedgerError::Undecodable { what: "capsule", hash: *hash, why: why.to_owned() })
    }

    /// Lowest height whose block is to have a capsule under a head.
    pub fn first_capsule(&self, head: Height) -> Height {
        let window = self.tables().capsule_window;
        let kept = window.map_or(0, |window| (head + 1).saturating_sub(window.get()));
        kept.max(self.tables().capsules.floor())
    }

    /// Forgets the capsules of blocks further below a new head than are to be kept, now and then.
    ///
    /// # Errors
    /// [`LedgerError::Table`].
    pub fn forget_capsules(&self, head: Height) -> Result<(), LedgerError> {
        let Some(window) = self.tables().capsule_window else { return Ok(()) };
        let capsules = &self.tables().capsules;
        let floor = (head + 1).saturating_sub(window.get());
        // A run of blocks commits its last one alone, and that may never be the one to look at.
        if head.is_multiple_of(FORGET_EVERY) || floor >= capsules.floor().saturating_add(FORGET_EVERY) {
            capsules.set_floor(floor)?;
        }
        Ok(())
    }
}
