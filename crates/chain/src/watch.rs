//! Telling someone of every block that is committed or taken back.

use crate::Chain;
use alloy_primitives::B256;
use hearth_primitives::{Height, TraceCapsule};
use parking_lot::RwLock;
use std::sync::{Arc, Weak};

/// Someone who wants to know how the chain changes. Called on the thread that changes it, right after each change: it
/// must not wait, and must not change the chain.
pub trait ChainWatcher: Send + Sync {
    /// A block was committed at this height; with its capsule, where it has one.
    fn committed(&self, height: Height, hash: B256, capsule: Option<&Arc<TraceCapsule>>);

    /// The blocks above a height were taken back.
    fn unwound(&self, to: Height);
}

/// The watcher of a chain, where there is one.
#[derive(Default)]
pub(crate) struct Watched(RwLock<Option<Weak<dyn ChainWatcher>>>);

impl Watched {
    fn tell(&self, tell: impl FnOnce(&dyn ChainWatcher)) {
        let watcher = self.0.read().as_ref().and_then(Weak::upgrade);
        if let Some(watcher) = watcher {
            tell(&*watcher);
        }
    }

    pub(crate) fn committed(&self, height: Height, hash: B256, capsule: Option<&Arc<TraceCapsule>>) {
        self.tell(|watcher| watcher.committed(height, hash, capsule));
    }

    pub(crate) fn unwound(&self, to: Height) {
        self.tell(|watcher| watcher.unwound(to));
    }
}

impl Chain {
    /// Tells this one of every change from now on, in place of the one before it. The chain does not keep it alive.
    pub fn watch(&self, watcher: &Arc<dyn ChainWatcher>) {
        *self.watched.0.write() = Some(Arc::downgrade(watcher));
    }
}
