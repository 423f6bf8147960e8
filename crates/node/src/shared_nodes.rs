//! One node for all of a process: whoever opens a home that this process has open with the same configuration gets the
//! node that is there. The worker threads of a script share a home like this; the last one to leave closes it.

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
struct Shared {
    node: Option<Arc<Node>>,
    holders: usize,
}

type Slot = Arc<Mutex<Shared>>;

/// Homes are locked by process, so this is of the process too. A slot is there as long as anybody opens or has its home.
static SLOTS: LazyLock<Mutex<HashMap<PathBuf, Slot>>> = LazyLock::new(Mutex::default);

/// A hold on a node. Dropping it lets go, so that a thread which ends harms nobody.
pub struct NodeLease {
    node: Arc<Node>,
    /// The home by which it is shared; none of a node that is not.
    shared: Option<PathBuf>,
    closed: AtomicBool,
}

impl NodeLease {
    /// Opens a home, or joins those who have it open in this process under an equal configuration.
    ///
    /// # Errors
    /// Those of [`Node::open`]; [`NodeError::HomeInUse`] where this process has it under another configuration.
    pub fn open(config: NodeConfig) -> Result<Self, NodeError> {
        config.check()?;
        let home = place(&config.home);
        let slot = SLOTS.lock().entry(home.clone()).or_default().clone();
        // Held while the home is opened: who comes meanwhile shares what comes of it.
        let joined = join(&mut slot.lock(), config);
        forget_unused(&home, slot);
        let (node, is_shared) = joined?;
        Ok(Self { node, shared: is_shared.then_some(home), closed: AtomicBool::default() })
    }

    /// The node.
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Lets go of the node; whoever has it last closes it. A second call does nothing.
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
        // Nobody is left to tell.
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

/// Closes every node of this process, whoever has it, and waits for those that are being closed. Whoever has one finds it
/// closed.
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

/// The node of a slot, opened where nobody has it; and whether it is shared.
fn join(slot: &mut MutexGuard<'_, Shared>, config: NodeConfig) -> Result<(Arc<Node>, bool), NodeError> {
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

/// One holder less; the last one closes the node, under the slot's lock, so that who opens the home next finds it free.
fn leave(slot: &mut MutexGuard<'_, Shared>, node: &Node) -> Result<(), NodeError> {
    slot.holders = slot.holders.saturating_sub(1);
    if slot.holders > 0 {
        return Ok(());
    }
    slot.node = None;
    node.close()
}

/// Removes a slot that nobody has or waits for. Slots are handed out under the lock of the map alone, so two are the
/// map's and the caller's.
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
