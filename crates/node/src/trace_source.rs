//! Where a block that is executed again comes from: which state its transactions run on, and how one gets to them.

use crate::{NodeError, OpenHome, trace::trace_error};
use alloy_primitives::Address;
use hearth_ledger::StoredBlock;
use hearth_primitives::Block;
use hearth_tracers::{BlockReplay, TraceError};

/// What a trace was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceOrigin {
    /// It was made before anyone asked.
    Baked,
    /// The block's capsule: values at its start and write sets.
    Capsule,
    /// The state of the parent, the transactions before it executed.
    History,
}

impl TraceOrigin {
    /// Its name, as answers carry it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baked => "baked",
            Self::Capsule => "capsule",
            Self::History => "history",
        }
    }
}

impl OpenHome {
    /// Runs something over the transactions of a block of the ledger; it is told where the state comes from before
    /// anything is executed.
    ///
    /// # Errors
    /// Where there is no state to execute on, and what the run gives: [`TraceError::Replay`] as
    /// [`NodeError::Execution`], all else as [`trace_error`] has it.
    pub(crate) fn replay_stored<T>(
        &self,
        block: &StoredBlock,
        run: impl FnOnce(&mut BlockReplay<'_>, TraceOrigin) -> Result<T, TraceError>,
    ) -> Result<T, NodeError> {
        let senders = self.senders_of(block)?;
        self.replay_block(&block.block, Some(&senders), run)
    }

    /// As [`Self::replay_stored`], for a block that need not be known.
    ///
    /// # Errors
    /// As [`Self::replay_stored`].
    pub(crate) fn replay_block<T>(
        &self,
        block: &Block,
        senders: Option<&[Address]>,
        run: impl FnOnce(&mut BlockReplay<'_>, TraceOrigin) -> Result<T, TraceError>,
    ) -> Result<T, NodeError> {
        let failed = |reason| NodeError::Execution { height: block.header.number, reason };
        let told = |error| match error {
            TraceError::Replay(reason) => failed(reason),
            other => trace_error(other),
        };
        let state = self.replay_state(&block.header)?;
        let chain = self.chain();
        let mut replay = BlockReplay::new(chain.spec(), block, senders, &*state, chain.ledger().as_ref())
            .map_err(|error| failed(error.to_string()))?;
        run(&mut replay, TraceOrigin::History).map_err(told)
    }
}
