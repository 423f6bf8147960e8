//! State as scripts read it.

use alloy_primitives::{Address, Bytes, KECCAK256_EMPTY, U256};
use hearth_evm::BlockState;
use hearth_primitives::{Account, Failure, StateError};

/// Reads the state that a transaction runs on, or that it left.
pub trait StateReads {
    /// An account; `None` where there is none.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn account(&mut self, address: Address) -> Result<Option<Account>, String>;

    /// A storage slot.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn slot(&mut self, address: Address, key: U256) -> Result<U256, String>;

    /// An account's code.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn code(&mut self, address: Address) -> Result<Bytes, String>;
}

/// What a script reads of an error, which it may pass on to its client.
fn public(error: StateError) -> String {
    Failure::from(error).to_public()
}

impl StateReads for BlockState<'_> {
    fn account(&mut self, address: Address) -> Result<Option<Account>, String> {
        BlockState::account(self, address).map_err(public)
    }

    fn slot(&mut self, address: Address, key: U256) -> Result<U256, String> {
        BlockState::slot(self, address, key).map_err(public)
    }

    fn code(&mut self, address: Address) -> Result<Bytes, String> {
        let hash = StateReads::account(self, address)?.map_or(KECCAK256_EMPTY, |account| account.code_hash);
        if hash == KECCAK256_EMPTY {
            return Ok(Bytes::new());
        }
        BlockState::code(self, hash).map(|code| code.original_bytes()).map_err(public)
    }
}
