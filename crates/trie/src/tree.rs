//! One trie in memory: loads the nodes on the requested paths, and knows which changed.

use crate::{
    damaged,
    former::Former,
    node::{BRANCH_BYTES, Link, Loaded, Marks, Node, Reference},
};
use alloy_primitives::{B256, keccak256, map::HashSet};
use alloy_trie::EMPTY_ROOT_HASH;
use hearth_primitives::StateError;
use rayon::prelude::*;

/// What a new branch with two children takes in memory, about, in bytes.
const FORK_BYTES: usize = BRANCH_BYTES + 512;

/// Where nodes come from.
pub trait NodeSource: Send + Sync {
    /// RLP of the node with this hash, at this path of the trie of `owner` (`None`: the accounts'
    /// trie).
    ///
    /// # Errors
    /// [`StateError::MissingNode`] where the source has no node there, or another one; the source's
    /// own.
    fn node(&self, owner: Option<&B256>, path: &[u8], hash: &B256) -> Result<Vec<u8>, StateError>;

    /// Whether the node with this hash, which the source may lack, is known to be a branch: folding
    /// needs no more of a node than its kind, where that is a branch.
    fn is_branch(&self, _hash: &B256) -> bool {
        false
    }

    /// Whether a leaf that a change replaces may be known by its hash alone, without a call of
    /// [`Self::node`]: not where what was called for is the result.
    fn may_skip_leaves(&self) -> bool {
        false
    }

    /// Paths of all nodes stored for an owner.
    fn paths(&self, owner: &B256) -> Result<Vec<Vec<u8>>, StateError>;
}

/// One trie: the accounts', or one account's storage.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) owner: Option<B256>,
    pub(crate) root: Link,
    /// Paths at which the store holds a node and the trie has none any more.
    pub(crate) stale: HashSet<Box<[u8]>>,
    /// Whether the store's nodes were dropped as a whole; they are listed when the changes are
    /// collected.
    pub(crate) dropped: bool,
    /// Bytes of nodes that came into memory since [`Self::collect`] took the count, about.
    pub(crate) loaded: usize,
    /// Keys that were set or removed since the nodes were collected.
    pub(crate) changes: usize,
}

impl Tree {
    /// The trie with this root.
    pub(crate) fn new(owner: Option<B256>, root: B256) -> Self {
        let root = if root == EMPTY_ROOT_HASH { Link::Empty } else { Link::Hash(root) };
        Self { owner, root, stale: HashSet::default(), dropped: false, loaded: 0, changes: 0 }
    }

    /// Empties the trie without looking at its nodes.
    pub(crate) fn clear(&mut self) {
        self.dropped |= !self.root.is_empty() || !self.stale.is_empty();
        self.root = Link::Empty;
        self.stale.clear();
    }

    /// The value at a key of 64 nibbles.
    pub(crate) fn get(
        &mut self,
        source: &dyn NodeSource,
        key: &[u8; 64],
    ) -> Result<Option<&[u8]>, StateError> {
        self.walk(source, key, |_, _| {})
    }

    /// The value at a key; `visit` gets each node on the way, from the root on, and how many
    /// nibbles are above it.
    pub(crate) fn walk(
        &mut self,
        source: &dyn NodeSource,
        key: &[u8; 64],
        mut visit: impl FnMut(&Loaded, usize),
    ) -> Result<Option<&[u8]>, StateError> {
        let owner = self.owner.as_ref();
        let mut link = &mut self.root;
        let mut depth = 0;
        loop {
            resolve(source, owner, link, &key[..depth], &mut self.loaded)?;
            let Link::Node(loaded) = link else { return Ok(None) };
            visit(loaded, depth);
            match &mut loaded.body.node {
                Node::Leaf { path, value } => {
                    return Ok((path.as_slice() == &key[depth..]).then_some(value.as_slice()));
                }
                Node::Extension { path, child } => {
                    if !key[depth..].starts_with(path) {
                        return Ok(None);
                    }
                    depth += path.len();
                    link = child;
                }
                Node::Branch { children, .. } => {
                    let nibble = *key.get(depth).ok_or_else(damaged)?;
                    depth += 1;
                    link = &mut children[usize::from(nibble)];
                }
            }
        }
    }

    /// Sets the value at a key.
    pub(crate) fn insert(
        &mut self,
        source: &dyn NodeSource,
        key: &[u8; 64],
        former: Former<'_>,
        value: &[u8],
    ) -> Result<(), StateError> {
        let mut walk = Walk {
            source,
            owner: self.owner.as_ref(),
            key,
            former,
            stale: &mut self.stale,
            loaded: &mut self.loaded,
        };
        self.changes += 1;
        walk.insert(&mut self.root, 0, value).map(drop)
    }

    /// Removes a key; nothing happens where it is not set.
    pub(crate) fn remove(
        &mut self,
        source: &dyn NodeSource,
        key: &[u8; 64],
        former: Former<'_>,
    ) -> Result<(), StateError> {
        let mut walk = Walk {
            source,
            owner: self.owner.as_ref(),
            key,
            former,
            stale: &mut self.stale,
            loaded: &mut self.loaded,
        };
        self.changes += 1;
        walk.remove(&mut self.root, 0).map(drop)
    }

    /// Notes that something below the root changed.
    pub(crate) fn touch_root(&mut self) {
        if let Link::Node(root) = &mut self.root {
            touch(root);
            if let Node::Branch { marks, .. } = &mut root.body.node {
                *marks = Marks::ALL;
            }
        }
    }

    /// The root hash; hashes what changed. `parallel`: one task for each child of the root.
    pub(crate) fn root(&mut self, parallel: bool) -> B256 {
        if parallel
            && let Link::Node(loaded) = &mut self.root
            && let Node::Branch { children, .. } = &mut loaded.body.node
        {
            children.par_iter_mut().for_each(Link::hash);
        }
        self.root.hash();
        match &self.root {
            Link::Empty => EMPTY_ROOT_HASH,
            Link::Hash(hash) => *hash,
            Link::Node(loaded) => match &loaded.reference {
                Some(Reference::Hash(hash)) => *hash,
                Some(Reference::Embedded(rlp)) => keccak256(rlp.as_slice()),
                None => unreachable!("hashed above"),
            },
        }
    }

    /// What the nodes in memory take, about, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        fn bytes(link: &Link) -> usize {
            let Link::Node(Loaded { body, .. }) = link else { return 0 };
            let below = match &body.node {
                Node::Leaf { .. } => 0,
                Node::Extension { child, .. } => bytes(child),
                Node::Branch { children, .. } => children.iter().map(bytes).sum(),
            };
            body.node.memory_bytes() + below
        }
        bytes(&self.root)
    }

    /// Whether the nodes in memory take more than so many bytes; stops at the node that exceeds
    /// them.
    pub(crate) fn is_larger_than(&self, bytes: usize) -> bool {
        fn left(link: &Link, bytes: usize) -> Option<usize> {
            let Link::Node(Loaded { body, .. }) = link else { return Some(bytes) };
            let bytes = bytes.checked_sub(body.node.memory_bytes())?;
            match &body.node {
                Node::Leaf { .. } => Some(bytes),
                Node::Extension { child, .. } => left(child, bytes),
                Node::Branch { children, .. } => {
                    children.iter().try_fold(bytes, |bytes, child| left(child, bytes))
                }
            }
        }
        left(&self.root, bytes).is_none()
    }

    /// Forgets the stored nodes below so many levels, but for hot ones where `spares_hot` says so.
    /// Gives what the nodes in memory take then, as [`Self::memory_bytes`].
    pub(crate) fn trim(&mut self, levels: usize, spares_hot: bool) -> usize {
        fn trim(link: &mut Link, levels: usize, spares_hot: bool) -> usize {
            let Link::Node(loaded) = link else { return 0 };
            let may_go = levels == 0 && loaded.stored && !(spares_hot && loaded.is_hot());
            if may_go && let Some(Reference::Hash(hash)) = &loaded.reference {
                *link = Link::Hash(*hash);
                return 0;
            }
            // A node that is part of its parent is as deep as that.
            let left = levels.saturating_sub(usize::from(loaded.stored));
            let below = match &mut loaded.body.node {
                Node::Leaf { .. } => 0,
                Node::Extension { child, .. } => trim(child, left, spares_hot),
                Node::Branch { children, .. } => {
                    children.iter_mut().map(|child| trim(child, left, spares_hot)).sum()
                }
            };
            loaded.body.node.memory_bytes() + below
        }
        trim(&mut self.root, levels, spares_hot)
    }

    /// Counts half of the updates that nodes changed in.
    pub(crate) fn cool(&mut self) {
        fn cool(link: &mut Link) {
            // What changes below a node changes the node too, but for one that is new above it.
            let Link::Node(loaded) = link else { return };
            if loaded.uses == 0 {
                return;
            }
            loaded.uses /= 2;
            match &mut loaded.body.node {
                Node::Leaf { .. } => {}
                Node::Extension { child, .. } => cool(child),
                Node::Branch { children, .. } => children.iter_mut().for_each(cool),
            }
        }
        cool(&mut self.root);
    }
}

/// First bytes of the keys of an owner's nodes in the trie family; the nibbles follow, one a byte.
pub fn node_prefix(owner: Option<&B256>) -> Vec<u8> {
    match owner {
        None => vec![0],
        Some(owner) => [&[1], owner.as_slice()].concat(),
    }
}

/// The key of the node at a path of an owner's trie.
pub fn node_key(owner: Option<&B256>, path: &[u8]) -> Vec<u8> {
    [node_prefix(owner).as_slice(), path].concat()
}

/// Loads the node behind a link where only its hash is known.
pub(crate) fn resolve(
    source: &dyn NodeSource,
    owner: Option<&B256>,
    link: &mut Link,
    path: &[u8],
    loaded: &mut usize,
) -> Result<(), StateError> {
    if let Link::Hash(hash) = link {
        let node = Node::decode(&source.node(owner, path, hash)?)?;
        *loaded += node.memory_bytes();
        *link = Link::Node(Loaded::stored(node, *hash));
    }
    Ok(())
}

/// Notes that a node changes.
fn touch(loaded: &mut Loaded) {
    (loaded.reference, loaded.stored) = (None, false);
}

/// One change of a trie. Where it fails, the trie is not fit for use any more.
pub(crate) struct Walk<'a> {
    pub(crate) source: &'a dyn NodeSource,
    pub(crate) owner: Option<&'a B256>,
    pub(crate) key: &'a [u8; 64],
    pub(crate) former: Former<'a>,
    pub(crate) stale: &'a mut HashSet<Box<[u8]>>,
    pub(crate) loaded: &'a mut usize,
}

impl Walk<'_> {
    /// Loads the node behind a link on the way to the key.
    fn resolve(&mut self, link: &mut Link, depth: usize) -> Result<(), StateError> {
        self.former.resolve(self.source, self.owner, link, (self.key, depth), self.loaded)
    }

    /// Notes that there is no node at this path any more.
    fn leave(&mut self, loaded: &Loaded, path: &[u8]) {
        if loaded.has_row {
            self.stale.insert(path.into());
        }
    }

    /// Returns whether anything changed.
    pub(crate) fn insert(&mut self, link: &mut Link, depth: usize, value: &[u8]) -> Result<bool, StateError> {
        let rest = &self.key[depth..];
        self.resolve(link, depth)?;
        let Link::Node(loaded) = link else {
            let leaf = Node::Leaf { path: rest.to_vec(), value: value.to_vec() };
            *self.loaded += leaf.memory_bytes();
            *link = Link::new(leaf);
            return Ok(true);
        };
        let changed = match &mut loaded.body.node {
            Node::Leaf { path, value: old } if path == rest => {
                let changed = old.as_slice() != value;
                if changed {
                    // In the memory of the old value, which is mostly as long.
                    old.clear();
                    old.extend_from_slice(value);
                }
                changed
            }
            Node::Leaf { path, value: old } => {
                let leaf = |tail: &[u8], value| Link::new(Node::Leaf { path: tail.to_vec(), value });
                let shared = shared_len(path, rest);
                let (Some(&ours), Some(&theirs)) = (rest.get(shared), path.get(shared)) else {
                    return Err(damaged());
                };
                let there = (theirs, leaf(&path[shared + 1..], std::mem::take(old)));
                let here = (ours, leaf(&rest[shared + 1..], value.to_vec()));
                *self.loaded += FORK_BYTES;
                loaded.body.node = fork(&rest[..shared], here, there);
                true
            }
            Node::Extension { path, child } => {
                let shared = shared_len(path, rest);
                if shared == path.len() {
                    self.insert(child, depth + shared, value)?
                } else {
                    let ours = *rest.get(shared).ok_or_else(damaged)?;
                    let (path_left, value) = (rest[shared + 1..].to_vec(), value.to_vec());
                    let leaf = Link::new(Node::Leaf { path: path_left, value });
                    // The child stays where it is; only what leads to it gets shorter.
                    let below = match &path[shared + 1..] {
                        [] => std::mem::take(child),
                        tail => {
                            Link::new(Node::Extension { path: tail.to_vec(), child: std::mem::take(child) })
                        }
                    };
                    *self.loaded += FORK_BYTES;
                    loaded.body.node = fork(&rest[..shared], (ours, leaf), (path[shared], below));
                    true
                }
            }
            Node::Branch { children, marks } => {
                let nibble = *rest.first().ok_or_else(damaged)?;
                let changed = self.insert(&mut children[usize::from(nibble)], depth + 1, value)?;
                if changed {
                    marks.set(nibble);
                }
                changed
            }
        };
        if changed {
            touch(loaded);
        }
        Ok(changed)
    }

    /// Returns whether anything changed.
    fn remove(&mut self, link: &mut Link, depth: usize) -> Result<bool, StateError> {
        let (here, rest) = self.key.split_at(depth);
        self.resolve(link, depth)?;
        let Link::Node(loaded) = link else { return Ok(false) };
        match &mut loaded.body.node {
            Node::Leaf { path, .. } => {
                if path != rest {
                    return Ok(false);
                }
                self.leave(loaded, here);
                *link = Link::Empty;
            }
            Node::Extension { path, child } => {
                if !rest.starts_with(path) || !self.remove(child, depth + path.len())? {
                    return Ok(false);
                }
                let at = &self.key[..depth + path.len()];
                let (path, child) = (std::mem::take(path), std::mem::take(child));
                touch(loaded);
                loaded.body.node = self.join(path, child, at)?;
            }
            Node::Branch { children, marks } => {
                let nibble = *rest.first().ok_or_else(damaged)?;
                if !self.remove(&mut children[usize::from(nibble)], depth + 1)? {
                    return Ok(false);
                }
                marks.set(nibble);
                let mut left = (0u8..).zip(children.iter_mut()).filter(|(_, child)| !child.is_empty());
                let last = left.next();
                if left.next().is_some() {
                    touch(loaded);
                    return Ok(true);
                }
                let (nibble, child) = last.ok_or_else(damaged)?;
                let child = std::mem::take(child);
                touch(loaded);
                loaded.body.node = self.join(vec![nibble], child, &[here, &[nibble]].concat())?;
            }
        }
        Ok(true)
    }

    /// The node that leads over `path` to `child`, which stood at `at`: leaves and extensions take
    /// the path in.
    fn join(&mut self, mut path: Vec<u8>, mut child: Link, at: &[u8]) -> Result<Node, StateError> {
        if matches!(&child, Link::Hash(hash) if self.source.is_branch(hash)) {
            return Ok(Node::Extension { path, child });
        }
        resolve(self.source, self.owner, &mut child, at, self.loaded)?;
        let Link::Node(loaded) = child else { return Err(damaged()) };
        if matches!(loaded.body.node, Node::Branch { .. }) {
            return Ok(Node::Extension { path, child: Link::Node(loaded) });
        }
        self.leave(&loaded, at);
        Ok(match loaded.body.node {
            Node::Leaf { path: tail, value } => {
                path.extend_from_slice(&tail);
                Node::Leaf { path, value }
            }
            Node::Extension { path: tail, child } => {
                path.extend_from_slice(&tail);
                Node::Extension { path, child }
            }
            Node::Branch { .. } => unreachable!("returned above"),
        })
    }
}

fn shared_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// A branch of two children, behind an extension where there are shared nibbles.
fn fork(shared: &[u8], a: (u8, Link), b: (u8, Link)) -> Node {
    let mut children: Box<[Link; 16]> = Box::default();
    children[usize::from(a.0)] = a.1;
    children[usize::from(b.0)] = b.1;
    let branch = Node::Branch { children, marks: Marks::ALL };
    match shared {
        [] => branch,
        shared => Node::Extension { path: shared.to_vec(), child: Link::new(branch) },
    }
}
