//! Many keys of one trie at once: the children of its root are worked on side by side.

use crate::{
    former::Former,
    node::{Link, Node},
    tree::{NodeSource, Tree, Walk, resolve},
};
use alloy_primitives::{B256, map::HashSet};
use hearth_primitives::StateError;
use rayon::prelude::*;

/// Keys from which on a tree is worked on in parallel; few in tests, so that small models get
/// there.
const PARALLEL_KEYS: usize = if cfg!(test) { 3 } else { 64 };

/// A key of a trie, what its leaf holds, and something for it.
pub(crate) struct Entry<'a, T> {
    pub(crate) key: [u8; 64],
    pub(crate) former: Former<'a>,
    pub(crate) value: T,
}

/// What one child's task left behind.
#[derive(Default)]
struct Done {
    stale: HashSet<Box<[u8]>>,
    loaded: usize,
    changed: bool,
}

/// A task for the child of the root behind one nibble.
struct Task<'a> {
    source: &'a dyn NodeSource,
    owner: Option<&'a B256>,
    link: &'a mut Link,
}

impl Task<'_> {
    fn insert<V: AsRef<[u8]>>(self, entries: Vec<Entry<'_, V>>) -> Result<Done, StateError> {
        let Self { source, owner, link } = self;
        let mut done = Done::default();
        for Entry { key, former, value } in entries {
            let (stale, loaded) = (&mut done.stale, &mut done.loaded);
            let mut walk = Walk { source, owner, key: &key, former, stale, loaded };
            done.changed |= walk.insert(link, 1, value.as_ref())?;
        }
        Ok(done)
    }

    fn load(self, keys: Vec<Entry<'_, ()>>) -> Result<Done, StateError> {
        let mut done = Done::default();
        for entry in keys {
            follow(self.source, self.owner, self.link, &entry, &mut done.loaded)?;
        }
        Ok(done)
    }
}

/// Brings the nodes on the way to a key into memory, from the child of the root on.
fn follow(
    source: &dyn NodeSource,
    owner: Option<&B256>,
    mut link: &mut Link,
    Entry { key, former, .. }: &Entry<'_, ()>,
    loaded: &mut usize,
) -> Result<(), StateError> {
    let mut depth = 1;
    loop {
        former.resolve(source, owner, link, (key, depth), loaded)?;
        let Link::Node(found) = link else { return Ok(()) };
        match &mut found.body.node {
            Node::Leaf { .. } => return Ok(()),
            Node::Extension { path, child } => {
                if !key[depth..].starts_with(path) {
                    return Ok(());
                }
                depth += path.len();
                link = child;
            }
            Node::Branch { children, .. } => {
                let Some(nibble) = key.get(depth) else { return Ok(()) };
                link = &mut children[usize::from(*nibble)];
                depth += 1;
            }
        }
    }
}

/// Entries by the first nibble of their keys.
fn by_nibble<T>(entries: Vec<Entry<'_, T>>) -> [Vec<Entry<'_, T>>; 16] {
    let mut parts: [Vec<Entry<'_, T>>; 16] = Default::default();
    for entry in entries {
        parts[usize::from(entry.key[0] & 15)].push(entry);
    }
    parts
}

impl Tree {
    /// Sets the values of many keys; a key's last value counts.
    pub(crate) fn insert_many<V: AsRef<[u8]> + Send>(
        &mut self,
        source: &dyn NodeSource,
        entries: Vec<Entry<'_, V>>,
    ) -> Result<(), StateError> {
        if entries.len() < PARALLEL_KEYS || !self.branches(source)? {
            let mut entries = entries.iter();
            return entries.try_for_each(|Entry { key, former, value }| {
                self.insert(source, key, *former, value.as_ref())
            });
        }
        self.changes += entries.len();
        let parts = by_nibble(entries);
        let changed = self.for_children(source, parts, |task, part| task.insert(part))?;
        if changed {
            self.touch_root();
        }
        Ok(())
    }

    /// Brings the nodes on the ways to many keys into memory, so that looking these up waits for
    /// nothing.
    pub(crate) fn load(
        &mut self,
        source: &dyn NodeSource,
        keys: Vec<Entry<'_, ()>>,
    ) -> Result<(), StateError> {
        if keys.len() < PARALLEL_KEYS || !self.branches(source)? {
            return Ok(());
        }
        let parts = by_nibble(keys);
        self.for_children(source, parts, |task, part| task.load(part)).map(drop)
    }

    /// Whether the root, which is brought into memory, is a branch.
    fn branches(&mut self, source: &dyn NodeSource) -> Result<bool, StateError> {
        resolve(source, self.owner.as_ref(), &mut self.root, &[], &mut self.loaded)?;
        Ok(matches!(&self.root, Link::Node(root) if matches!(root.body.node, Node::Branch { .. })))
    }

    /// Runs a task for each child of a root that is a branch. Returns whether one of them changed
    /// something.
    fn for_children<T: Send>(
        &mut self,
        source: &dyn NodeSource,
        parts: [Vec<T>; 16],
        run: impl Fn(Task<'_>, Vec<T>) -> Result<Done, StateError> + Sync,
    ) -> Result<bool, StateError> {
        let owner = self.owner.as_ref();
        let Link::Node(root) = &mut self.root else { return Ok(false) };
        let Node::Branch { children, .. } = &mut root.body.node else { return Ok(false) };
        let tasks = children.par_iter_mut().zip(parts);
        let done: Result<Vec<_>, _> =
            tasks.map(|(link, part)| run(Task { source, owner, link }, part)).collect();
        let mut changed = false;
        for done in done? {
            self.stale.extend(done.stale);
            self.loaded += done.loaded;
            changed |= done.changed;
        }
        Ok(changed)
    }
}
