//! What a store has to write for a trie whose changes are committed.

use crate::StateTrie;
use alloy_primitives::B256;
use alloy_trie::EMPTY_ROOT_HASH;
use std::fmt;

/// The key of a node ([`node_key`](crate::node_key)) and its RLP; `None` deletes the node.
pub type NodeWrite = (Vec<u8>, Option<Vec<u8>>);

/// The nodes that changed between two roots.
pub struct TrieUpdate {
    /// Root that the changes started from.
    pub(crate) base: B256,
    /// Root after the changes.
    pub(crate) root: B256,
    pub(crate) nodes: Vec<NodeWrite>,
    /// Whether the changed nodes come with a later update.
    pub(crate) without_nodes: bool,
    /// The trie in memory. It is right for any store whose root is `root`, because a trie depends
    /// on its content alone.
    pub(crate) trie: Option<Box<StateTrie<'static>>>,
}

impl TrieUpdate {
    /// The update of an empty store whose nodes are already written.
    pub fn stored(root: B256) -> Self {
        Self { base: EMPTY_ROOT_HASH, root, nodes: Vec::new(), without_nodes: false, trie: None }
    }

    /// Root that the changes started from: that of the store before the update.
    pub fn base(&self) -> B256 {
        self.base
    }

    /// State root after the changes.
    pub fn root(&self) -> B256 {
        self.root
    }

    /// Whether the nodes that changed are not in this update and come with a later one.
    pub fn is_without_nodes(&self) -> bool {
        self.without_nodes
    }

    /// Nodes to write and to delete.
    pub fn nodes(&self) -> &[NodeWrite] {
        &self.nodes
    }

    /// Takes the nodes to write and to delete.
    pub fn take_nodes(&mut self) -> Vec<NodeWrite> {
        std::mem::take(&mut self.nodes)
    }

    /// Takes the trie in memory, so that the next changes on [`Self::root`] need not load its nodes
    /// again.
    pub fn take_trie(&mut self) -> Option<Box<StateTrie<'static>>> {
        self.trie.take()
    }
}

impl fmt::Debug for TrieUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { base, root, nodes, .. } = self;
        f.debug_struct("TrieUpdate")
            .field("base", base)
            .field("root", root)
            .field("nodes", &nodes.len())
            .finish()
    }
}
