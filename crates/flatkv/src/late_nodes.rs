//! Nodes of the trie that come later than the blocks that changed them.
//!
//! Of many blocks that are committed in runs, most nodes are replaced by the next run. A store that
//! goes with its process commits such runs without nodes: they are collected once for many runs.
//! Until then the nodes are those of an earlier block. What needs those of the head brings them up
//! to it first, by the changes of the blocks in between.

use crate::{FlatKv, Head, commit::put_trie, past_trie::Between, shared::Core, trie::TrieSession};
use alloy_primitives::B256;
use hearth_flatkv_storage::{db::Pinned, error::corrupt};
use hearth_primitives::{Height, RootTracker as _, StateError};

/// The block below the head whose nodes the store has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodesOf {
    height: Height,
    root: B256,
}

impl FlatKv {
    /// Whether runs of blocks may be committed without the nodes of the trie, which a later run
    /// brings: only where nothing outlives the process, and where no history is pruned, since the
    /// changes of these blocks must stay until then.
    pub fn takes_late_nodes(&self) -> bool {
        self.core.takes_late_nodes()
    }
}

impl Core {
    pub(crate) fn takes_late_nodes(&self) -> bool {
        self.db.gathers_nodes() && self.history_blocks.is_none()
    }

    /// Notes, before a run is written without its nodes, that the nodes are those of `head`.
    pub(crate) fn note_late_nodes(&self, head: &Head) {
        self.nodes_of.lock().get_or_insert(NodesOf { height: head.height, root: head.commitment });
    }

    /// Notes that the nodes are those of the head. The writer is locked.
    pub(crate) fn note_nodes(&self) {
        *self.nodes_of.lock() = None;
    }

    /// Brings the nodes up to the head. The writer is locked by the caller.
    pub(crate) fn bring_nodes(&self) -> Result<(), StateError> {
        let Some(NodesOf { height, root }) = *self.nodes_of.lock() else { return Ok(()) };
        let head = self.head().ok_or_else(|| corrupt("head"))?;
        // All of it has to be brought; how many blocks it is, the maker of the runs limits.
        let between = Between::read(&self.db.pin()?, height, head.height, usize::MAX)?;
        let changes = between.ok_or_else(|| corrupt("changes"))?.forth();
        let mut trie = TrieSession::new(self.db.clone(), root);
        trie.apply(&changes)?;
        let mut update = trie.into_update()?;
        if update.root() != head.commitment {
            return Err(corrupt("trie"));
        }
        let mut batch = self.db.batch()?;
        put_trie(&mut batch, Some(&mut update));
        batch.write_apart()?;
        self.kept.keep(&mut update);
        self.note_nodes();
        Ok(())
    }

    /// The trie of the head.
    pub(crate) fn head_trie(&self) -> Result<TrieSession, StateError> {
        // Read before it is known whether the nodes are late: a run that is committed then brings
        // none, so that those of this root stay.
        let root = self.trie_root();
        if self.nodes_of.lock().is_none() {
            return Ok(self.kept.session(&self.db, root));
        }
        let _writer = self.lock_writer();
        self.bring_nodes()?;
        Ok(self.kept.session(&self.db, self.trie_root()))
    }

    /// The store as of now, with the nodes of its head.
    pub(crate) fn pin_with_nodes(&self) -> Result<Pinned<'_>, StateError> {
        {
            // A run without nodes takes this lock before its rows are written.
            let nodes_of = self.nodes_of.lock();
            if nodes_of.is_none() {
                return self.db.pin();
            }
        }
        let _writer = self.lock_writer();
        self.bring_nodes()?;
        self.db.pin()
    }
}
