//! Another chain whose state at one block is the start of a home. Only the values that are read are
//! fetched.

use crate::{BlockHashes, StateReader};
use std::fmt;

/// The state of another chain after one block, and the hashes of the blocks up to it. Its answers
/// do not change; a value that it cannot find is an error, never zero. [`StateReader::storage_of`]
/// is never called: a remote node cannot list a storage.
pub trait Origin: StateReader + BlockHashes + fmt::Debug {}
