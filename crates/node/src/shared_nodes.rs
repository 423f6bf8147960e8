//! One node shared within a process: opening a home that this process has open with the same
//! configuration returns the existing node. The worker threads of a script share a home so; the
//! last one to release it closes it.

use crate::Node;
use hearth_home::{NodeConfig, NodeError};
use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
};

/// The node of a home and how many have it.
#[derive(Default)]
struct SharedNode {
    node: Option<Arc<Node>>,
    holders: usize,
}

type Slot = Arc<Mutex<SharedNode>>;

/// Homes are locked by process, so this map is per process too. A slot exists as long as its home
/// is open or being opened.
static SLOTS: LazyLock<Mutex<HashMap<PathBuf, Slot>>> = LazyLock::new(Mutex::default);

/// A lease of a node. Dropping it releases the node, so that a thread that ends does not affect the
/// others.
pub struct NodeLease {
    node: Arc<Node>,
    /// The home by which it is shared; none of a node that is not.
    shared: Option<PathBuf>,
    closed: AtomicBool,
}

impl NodeLease {
    /// Opens a home, or joins the leases of a home that is open in this process with an equal
    /// configuration.
    ///
    /// # Errors
    /// Those of [`Node::open`]; [`NodeError::HomeInUse`] if this process has it open with another
    /// configuration.
    pub fn open(config: NodeConfig) -> Result<Self, NodeError> {
        config.check()?;
        let home = place(&config.home);
        let slot = SLOTS.lock().entry(home.clone()).or_default().clone();
        // Held while the data directory is opened: concurrent callers share the result.
        let joined = join(&mut slot.lock(), config);
        forget_unused(&home, slot);
        let (node, is_shared) = joined?;
        Ok(Self { node, shared: is_shared.then_some(home), closed: AtomicBool::default() })
    }

    /// The node.
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Releases the node; the last lease closes it. A second call has no effect.
    ///
    /// # Errors
    /// Those of [`Node::close`].
    pub fn close(&self) -> Result<(), NodeError> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let Some(home) = &self.shared else { return self.node.close() };
        let Some(slot) = SLOTS.lock().get(home).cloned() else { return self.node.close() };
        let closed = leave(&mut slot.lock(), &self.node);
        forget_unused(home, slot);
        closed
    }
}

impl Drop for NodeLease {
    fn drop(&mut self) {
        // A drop cannot report the error.
        let _ = self.close();
    }
}

/// The slots of this process at this moment.
fn slots() -> Vec<Slot> {
    SLOTS.lock().values().cloned().collect()
}

/// Calls back with each node that is open. Homes that are being opened or closed are left out.
pub(crate) fn each_open(mut with: impl FnMut(&Node)) {
    for slot in slots() {
        if let Some(node) = slot.try_lock().and_then(|slot| slot.node.clone()) {
            with(&node);
        }
    }
}

/// Closes every node of this process, including leased ones, and waits for those that are being
/// closed. Existing leases find their node closed.
///
/// # Errors
/// Those of [`Node::close`], the first of them; the others are closed all the same.
pub(crate) fn close_all() -> Result<(), NodeError> {
    let close = |slot: Slot| {
        let mut slot = slot.lock();
        slot.holders = 0;
        slot.node.take().map_or(Ok(()), |node| node.close())
    };
    slots().into_iter().map(close).fold(Ok(()), Result::and)
}

/// The node of a slot, opened if the slot has none; and whether it is shared.
fn join(slot: &mut MutexGuard<'_, SharedNode>, config: NodeConfig) -> Result<(Arc<Node>, bool), NodeError> {
    let node = match &slot.node {
        Some(node) if *node.config() == config => node.clone(),
        // Refused as in use by this process, or read from a snapshot.
        Some(_) => return Ok((Node::open(config)?, false)),
        None => Node::open(config)?,
    };
    slot.node = Some(node.clone());
    slot.holders += 1;
    Ok((node, true))
}

/// Removes a lease. The last one closes the node under the lock of the slot, so that the next
/// opening finds the home free.
fn leave(slot: &mut MutexGuard<'_, SharedNode>, node: &Node) -> Result<(), NodeError> {
    slot.holders = slot.holders.saturating_sub(1);
    if slot.holders > 0 {
        return Ok(());
    }
    slot.node = None;
    node.close()
}

/// Removes a slot without leases or waiting openers. Slots are handed out only under the lock of
/// the map, so two references are those of the map and of the caller.
fn forget_unused(home: &Path, slot: Slot) {
    let mut slots = SLOTS.lock();
    if Arc::strong_count(&slot) == 2 && slot.lock().node.is_none() {
        slots.remove(home);
    }
}

/// The same for every way to write the path of a home that is there.
fn place(home: &Path) -> PathBuf {
    home.canonicalize().unwrap_or_else(|_| home.to_owned())
}
