//! A source of nodes that keeps what was read of it: the witness of whatever used it.

use crate::tree::NodeSource;
use alloy_primitives::{B256, Bytes};
use hearth_primitives::StateError;
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// Nodes of another source, with a record of those that were read. Several tries may share it: a
/// node is recorded once.
pub struct RecordingNodes<S> {
    nodes: S,
    /// By the hash: tries of the same content share nodes.
    read: Mutex<BTreeMap<B256, Bytes>>,
}

impl<S: NodeSource> RecordingNodes<S> {
    /// A record of what is read of `nodes` from now on.
    pub fn new(nodes: S) -> Self {
        Self { nodes, read: Mutex::default() }
    }

    /// RLP of every node that was read so far, without duplicates.
    pub fn take(&self) -> Vec<Bytes> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *read).into_values().collect()
    }
}

impl<S: NodeSource> NodeSource for RecordingNodes<S> {
    fn node(&self, owner: Option<&B256>, path: &[u8], hash: &B256) -> Result<Vec<u8>, StateError> {
        let rlp = self.nodes.node(owner, path, hash)?;
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.entry(*hash).or_insert_with(|| rlp.clone().into());
        Ok(rlp)
    }

    fn paths(&self, _: &B256) -> Result<Vec<Vec<u8>>, StateError> {
        // A record is not stored anywhere, so nothing has to be deleted.
        Ok(Vec::new())
    }
}
