//! State as of one height.

use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_primitives::{Account, Height, StateError, StateReader};

/// State as of one height; answers beside commits and unwinds.
#[derive(Clone)]
pub struct StateView {
    height: Height,
}

impl StateView {
    /// Height whose state this is.
    pub fn height(&self) -> Height {
        self.height
    }
}

impl StateReader for StateView {
    fn account(&self, _: &Address) -> Result<Option<Account>, StateError> {
        Err(StateError::Unwound { height: self.height })
    }
    fn storage(&self, _: &Address, _: &U256) -> Result<U256, StateError> {
        Err(StateError::Unwound { height: self.height })
    }
    fn code(&self, _: &B256) -> Result<Bytes, StateError> {
        Err(StateError::Unwound { height: self.height })
    }
    fn storage_of(&self, _: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        Err(StateError::Unwound { height: self.height })
    }
}
