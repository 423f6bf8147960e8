//! Incremental Merkle Patricia trie over the state.

use alloy_primitives::{B256, Bytes};
use hearth_primitives::{Changeset, RootTracker, StateError};

/// The nodes that a [`TrieSession`] changed, for [`Commit::trie`](crate::Commit::trie).
#[derive(Clone, Debug)]
pub struct TrieUpdate {
    pub(crate) base: B256,
    pub(crate) root: B256,
    pub(crate) nodes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl TrieUpdate {
    /// State root after the changes.
    pub fn root(&self) -> B256 {
        self.root
    }
}

/// The state trie of the head, and changes on top of it that are not committed.
pub struct TrieSession {
    base: B256,
}

impl TrieSession {
    /// The dirty nodes, for the commit.
    pub fn into_update(self) -> Result<TrieUpdate, StateError> {
        Err(StateError::MissingNode { hash: self.base })
    }
}

impl RootTracker for TrieSession {
    fn apply(&mut self, _changes: &Changeset) -> Result<(), StateError> {
        Err(StateError::MissingNode { hash: self.base })
    }

    fn root(&mut self) -> Result<B256, StateError> {
        Err(StateError::MissingNode { hash: self.base })
    }
}

/// A partial state trie whose nodes come from a recorded witness.
pub struct WitnessTrie {
    root: B256,
}

impl WitnessTrie {
    /// The trie with this root over the nodes of a witness, in any order.
    pub fn new(root: B256, nodes: impl Iterator<Item = Bytes>) -> Self {
        drop(nodes);
        Self { root }
    }
}

impl RootTracker for WitnessTrie {
    fn apply(&mut self, _changes: &Changeset) -> Result<(), StateError> {
        Err(StateError::MissingNode { hash: self.root })
    }

    fn root(&mut self) -> Result<B256, StateError> {
        Err(StateError::MissingNode { hash: self.root })
    }
}
