//! Another chain whose state at one block a home begins with, and of which only that is fetched that somebody reads.

use crate::{BlockHashes, StateReader};
use std::fmt;

/// The state of another chain after one block, and the hashes of the blocks up to it. What it answers does not change; what it
/// cannot find out is an error, never zero. [`StateReader::storage_of`] is not asked: nobody can list a storage from afar.
pub trait Origin: StateReader + BlockHashes + fmt::Debug {}
