//! Native sidecars of stored blocks, as a repeated execution takes them.

use crate::{Chain, ChainError};
use alloy_primitives::B256;
use hearth_primitives::NativeSidecar;

impl Chain {
    /// The native sidecar of a block of any branch; empty for an unknown block.
    ///
    /// # Errors
    /// Those of the ledger; [`ChainError::NativeUnreadable`] if a stored native transaction is
    /// damaged.
    pub fn sidecar(&self, hash: &B256) -> Result<NativeSidecar, ChainError> {
        let stored = self.ledger.sidecar(hash)?;
        let read = |(index, native): (usize, &hearth_ledger::StoredNative)| {
            hearth_cosmos::decode_included(&native.bytes, native.sender)
                .map(|decoded| decoded.transaction)
                .map_err(|source| ChainError::NativeUnreadable {
                    hash: *hash,
                    index,
                    source: Box::new(source),
                })
        };
        let natives = stored.natives.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        Ok(NativeSidecar { natives, misbehavior: stored.misbehavior })
    }
}
