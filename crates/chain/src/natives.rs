//! What blocks executed beside their Ethereum transactions, to execute them again.

use crate::{Chain, ChainError};
use alloy_primitives::B256;
use hearth_primitives::Outside;

impl Chain {
    /// What a block of any branch executed beside its transactions; empty for a block that is not
    /// known.
    ///
    /// # Errors
    /// The ledger's; [`ChainError::NativeUnreadable`] where a native transaction does not read,
    /// which is damage.
    pub fn outside(&self, hash: &B256) -> Result<Outside, ChainError> {
        let stored = self.ledger.outside(hash)?;
        let read = |(index, native): (usize, &hearth_ledger::StoredNative)| {
            hearth_cosmos::decode_included(&native.bytes)
                .map(|decoded| decoded.transaction)
                .map_err(|source| ChainError::NativeUnreadable { hash: *hash, index, source })
        };
        let natives = stored.natives.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        Ok(Outside { natives, misbehavior: stored.misbehavior })
    }
}
