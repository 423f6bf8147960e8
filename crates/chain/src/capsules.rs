//! Makes the trace capsules of blocks, and rebuilds them from history.

use crate::{Chain, ChainError};
use alloy_primitives::B256;
use hearth_evm::{BlockEnvironment, BlockExecutor, ChainSpec, has_no_transactions};
use hearth_primitives::{BlockOutput, Header, TraceCapsule};
use std::sync::Arc;

/// The trace capsule of a block that was executed; `None` where nothing was captured, and of a
/// block without transactions.
pub(crate) fn capsule_of(
    spec: &ChainSpec,
    header: &Header,
    output: &BlockOutput,
) -> Option<Arc<TraceCapsule>> {
    if has_no_transactions(spec, header) { None } else { TraceCapsule::of(output).map(Arc::new) }
}

impl Chain {
    /// Executes a canonical block again on the state of its parent and writes its capsule,
    /// replacing a damaged one. Returns `false` if nothing was written: the block is no longer
    /// canonical, or its capsule is sound.
    ///
    /// The record does not belong to a commit until the next one: if the process dies before, the
    /// capsule has to be made again.
    ///
    /// # Errors
    /// Those of the stores; [`ChainError::Refused`] if the block does not execute.
    pub fn make_capsule(&self, hash: &B256) -> Result<bool, ChainError> {
        let Some(block) = self.ledger.block(hash)? else { return Ok(false) };
        let number = block.number();
        if number <= self.base() || self.ledger.canonical_hash(number)? != Some(*hash) {
            return Ok(false);
        }
        let Some(receipts) = self.ledger.receipts(hash)? else { return Ok(false) };
        let refused = |source| ChainError::Refused { number, hash: *hash, source };
        let state = self.state_at(number - 1)?;
        let env = BlockEnvironment::from_header(&self.spec, &block.block.header);
        let executor = BlockExecutor::new(&self.spec, env, &state, &*self.ledger);
        let executor = executor.with_sidecar(self.sidecar(hash)?).on_partial_state().capturing();
        let output = executor.run(&block.block, &receipts.senders, None).map_err(refused)?;
        let Some(capsule) = TraceCapsule::of(&output) else { return Ok(false) };
        // Nothing may be appended while a commit counts on the ends of the tables.
        let _one_at_a_time = self.working.lock();
        if matches!(self.ledger.capsule(hash), Ok(Some(_))) {
            return Ok(false);
        }
        self.ledger.append_capsule(number, *hash, &capsule)?;
        Ok(true)
    }
}
