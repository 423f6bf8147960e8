//! The state of a home that follows: not here.

use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_primitives::{Account, BlockHashes, Height, RemoteState, StateError, StateReader};

/// Answers every read of a state with an error. The state store reads it wherever it has no row of
/// its own, and a home that follows never has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elsewhere;

/// The answer.
fn not_here<T>() -> Result<T, StateError> {
    Err(StateError::NotHere(hearth_primitives::Elsewhere))
}

impl StateReader for Elsewhere {
    fn account(&self, _: &Address) -> Result<Option<Account>, StateError> {
        not_here()
    }

    fn storage(&self, _: &Address, _: &U256) -> Result<U256, StateError> {
        not_here()
    }

    fn code(&self, _: &B256) -> Result<Bytes, StateError> {
        not_here()
    }

    fn storage_of(&self, _: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        not_here()
    }
}

impl BlockHashes for Elsewhere {
    fn block_hash(&self, _: Height) -> Result<B256, StateError> {
        not_here()
    }
}

impl RemoteState for Elsewhere {
    fn check_listing(&self) -> Result<(), StateError> {
        not_here()
    }
}
