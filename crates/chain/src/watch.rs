//! Notifies watchers of every block that is committed or unwound, and of every move of the head.

use crate::{Built, Chain, ChainError, working::Working};
use alloy_primitives::B256;
use hearth_flatkv::Head;
use hearth_ledger::StoredBlock;
use hearth_primitives::{Height, TraceCapsule};
use parking_lot::RwLock;
use std::sync::{Arc, Weak};

/// Height and hash of a block.
pub type BlockNumHash = (Height, B256);

/// A block that joined the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddedBlock {
    /// Its height.
    pub height: Height,
    /// Its hash.
    pub hash: B256,
    /// How many transactions it has.
    pub transactions: usize,
}

/// Receives changes of the chain. Called on the thread that changes it, right after each change; an
/// import commits runs of blocks on a thread of its own, and reports the head that a run leaves
/// before it commits the next one. It must not wait, and must not change the chain.
pub trait ChainWatcher: Send + Sync {
    /// A block was committed at this height; with its capsule, where it has one.
    fn committed(&self, _height: Height, _hash: B256, _capsule: Option<&Arc<TraceCapsule>>) {}

    /// The blocks above a height were unwound.
    fn unwound(&self, _to: Height) {}

    /// The chosen head moved: `removed` left the chain, the last block first; `added` joined it,
    /// the first one first. Work on a branch that is not chosen is not reported.
    fn head_moved(&self, _removed: &[BlockNumHash], _added: &[AddedBlock]) {}

    /// The canonical head moved, but the removed and added blocks could not be read.
    fn head_lost(&self) {}
}

/// The watchers of a chain.
#[derive(Default)]
pub(crate) struct Watchers(RwLock<Vec<Weak<dyn ChainWatcher>>>);

impl Watchers {
    fn notify(&self, call: impl Fn(&dyn ChainWatcher)) {
        let watchers: Vec<_> = self.0.read().iter().filter_map(Weak::upgrade).collect();
        watchers.iter().for_each(|watcher| call(&**watcher));
    }

    fn is_empty(&self) -> bool {
        self.0.read().is_empty()
    }

    pub(crate) fn committed(&self, height: Height, hash: B256, capsule: Option<&Arc<TraceCapsule>>) {
        self.committed_run(std::iter::once((height, hash, capsule)));
    }

    /// Notifies each watcher of blocks that follow each other.
    pub(crate) fn committed_run<'a>(
        &self,
        run: impl Iterator<Item = (Height, B256, Option<&'a Arc<TraceCapsule>>)> + Clone,
    ) {
        self.notify(|watcher| {
            run.clone().for_each(|(height, hash, capsule)| watcher.committed(height, hash, capsule));
        });
    }

    pub(crate) fn unwound(&self, to: Height) {
        self.notify(|watcher| watcher.unwound(to));
    }
}

impl Chain {
    /// Adds a watcher of every change from now on. The chain does not keep it alive.
    pub fn watch(&self, watcher: &Arc<dyn ChainWatcher>) {
        let mut watchers = self.watchers.0.write();
        watchers.retain(|there| there.strong_count() > 0);
        watchers.push(Arc::downgrade(watcher));
    }

    /// To be called before the chain is changed: remembers the head that the watchers know.
    pub(crate) fn note_head(&self, working: &mut Working) {
        working.announced.get_or_insert_with(|| self.head());
    }

    /// To be called when a change is complete: notifies the watchers of the head's moves since the
    /// last call.
    pub(crate) fn announce(&self, working: &mut Working) {
        let new = self.head();
        let Some(old) = working.announced.replace(new).filter(|old| old.hash != new.hash) else { return };
        if self.watchers.is_empty() {
            return;
        }
        match self.between(&old, &new) {
            Ok((removed, added)) => self.watchers.notify(|watcher| watcher.head_moved(&removed, &added)),
            Err(_) => self.watchers.notify(|watcher| watcher.head_lost()),
        }
    }

    /// As [`Self::announce`], after blocks that were committed on the head in one step: where the
    /// watchers know the block below them, no block is read again.
    pub(crate) fn announce_run(&self, working: &mut Working, run: &[Built]) {
        let (known, first) = (working.announced.map(|head| head.hash), run.first());
        if known.is_none() || known != first.map(|built| built.block.header.parent_hash) {
            return self.announce(working);
        }
        working.announced = Some(self.head());
        if self.watchers.is_empty() {
            return;
        }
        let added = |built: &Built| AddedBlock {
            height: built.block.header.number,
            hash: built.hash,
            transactions: built.block.body.transactions.len(),
        };
        let added: Vec<_> = run.iter().map(added).collect();
        self.watchers.notify(|watcher| watcher.head_moved(&[], &added));
    }

    /// What left the chain between two heads, from above, and what joined it, from below.
    fn between(&self, old: &Head, new: &Head) -> Result<(Vec<BlockNumHash>, Vec<AddedBlock>), ChainError> {
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        let (mut left, mut right) = ((old.height, old.hash), (new.height, new.hash));
        while left.1 != right.1 {
            if left.0 >= right.0 {
                removed.push(left);
                left = parent_of(left.0, &*self.branch_block(&left.1)?);
            } else {
                let (height, hash) = right;
                let block = self.branch_block(&hash)?;
                added.push(AddedBlock { height, hash, transactions: block.tx_hashes.len() });
                right = parent_of(height, &block);
            }
        }
        added.reverse();
        Ok((removed, added))
    }

    fn branch_block(&self, hash: &B256) -> Result<Arc<StoredBlock>, ChainError> {
        self.ledger.block(hash)?.ok_or(ChainError::UnknownBlock(*hash))
    }
}

fn parent_of(height: Height, block: &StoredBlock) -> BlockNumHash {
    (height.saturating_sub(1), block.block.header.parent_hash)
}
