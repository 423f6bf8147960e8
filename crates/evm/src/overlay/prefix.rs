//! The state in the middle of a block as a store of its own, to execute a single step.

use super::BlockState;
use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_primitives::{Account, BlockHashes, Height, StateError, StateReader};
use revm::Database as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a block's state has become, to be read by another execution.
#[derive(Debug)]
pub struct PrefixState<'a>(Mutex<BlockState<'a>>);

impl<'a> PrefixState<'a> {
    /// Freezes a state.
    pub fn new(state: BlockState<'a>) -> Self {
        Self(Mutex::new(state))
    }

    fn state(&self) -> MutexGuard<'_, BlockState<'a>> {
        // Reads leave nothing half done: a panic in one does no harm to the next.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StateReader for PrefixState<'_> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        self.state().account(*address)
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        self.state().slot(*address, *slot)
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        Ok(self.state().code(*hash)?.original_bytes())
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        self.state().storage_of(*address)
    }
}

impl BlockHashes for PrefixState<'_> {
    fn block_hash(&self, number: Height) -> Result<B256, StateError> {
        self.state().block_hash(number).map_err(|error| error.0)
    }
}
