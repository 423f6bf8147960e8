//! Another chain whose state at one block is the start of a home. Only the values that are read are
//! fetched.

use crate::{BlockHashes, StateError, StateReader};
use std::fmt;

/// The state of a remote chain after one block, and the hashes of the blocks up to it. Answers
/// never change; a value that cannot be read is an error, never zero. [`StateReader::storage_of`]
/// is never called: a remote node cannot list a storage.
pub trait RemoteState: StateReader + BlockHashes + fmt::Debug {
    /// Whether rows that are listed here may be taken for all rows there are.
    ///
    /// # Errors
    /// [`StateError::NotHere`] if no row of the state is ever written here.
    fn check_listing(&self) -> Result<(), StateError> {
        Ok(())
    }
}
