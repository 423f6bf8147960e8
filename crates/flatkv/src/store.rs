//! The store.

use crate::{Commit, FlatKvError, Head, JoinedTables, Options, StateView, TrieSession};
use hearth_primitives::{Height, StateError};
use std::sync::Arc;

/// A row of the canonical index: key and value.
pub type IndexRow = (Vec<u8>, Vec<u8>);

/// The state store: latest rows, history, canonical index, trie and the changelog WAL.
pub struct FlatKv {}

impl FlatKv {
    /// Opens the store.
    pub fn open(_options: Options, _tables: Arc<dyn JoinedTables>) -> Result<Arc<FlatKv>, FlatKvError> {
        Err(FlatKvError::Closed)
    }
    /// The head; `None` while the store is empty.
    pub fn head(&self) -> Option<Head> {
        None
    }
    /// Oldest height with state; `None` while the store is empty.
    pub fn oldest(&self) -> Option<Height> {
        None
    }
    /// First commit of an empty store.
    pub fn init(&self, _base: Commit<'_>) -> Result<(), FlatKvError> {
        Err(FlatKvError::Closed)
    }
    /// Commits the next block.
    pub fn commit(&self, _commit: Commit<'_>) -> Result<(), FlatKvError> {
        Err(FlatKvError::Closed)
    }
    /// Takes the head back.
    pub fn unwind(&self, _to: Height) -> Result<(), FlatKvError> {
        Err(FlatKvError::Closed)
    }
    /// The state of the head.
    pub fn latest(self: &Arc<Self>) -> Option<StateView> {
        None
    }
    /// The state at a height.
    pub fn at(self: &Arc<Self>, height: Height) -> Result<StateView, StateError> {
        Err(StateError::NotRetained { height, oldest: 0, newest: 0 })
    }
    /// A trie session on the head.
    pub fn trie(self: &Arc<Self>) -> Result<TrieSession, StateError> {
        Err(StateError::Store("closed".into()))
    }
    /// A row of the canonical index.
    pub fn index_get(&self, _key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        Err(StateError::Store("closed".into()))
    }
    /// Rows of the canonical index in `from..to`, in key order, at most `limit`.
    pub fn index_range(&self, _from: &[u8], _to: &[u8], _limit: usize) -> Result<Vec<IndexRow>, StateError> {
        Err(StateError::Store("closed".into()))
    }
    /// Syncs tables and WAL and flushes RocksDB.
    pub fn flush(&self) -> Result<(), FlatKvError> {
        Err(FlatKvError::Closed)
    }
    /// Flushes and closes. Idempotent.
    pub fn close(&self) -> Result<(), FlatKvError> {
        Err(FlatKvError::Closed)
    }
}
