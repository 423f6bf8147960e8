//! Another chain whose state at one block is the start of a home. Only the values that are read are
//! fetched.

use crate::{BlockHashes, StateReader};
use std::fmt;

/// The state of a remote chain after one block, and the hashes of the blocks up to it. Answers
/// never change; a value that cannot be read is an error, never zero. [`StateReader::storage_of`]
/// is never called: a remote node cannot list a storage.
pub trait RemoteState: StateReader + BlockHashes + fmt::Debug {}
