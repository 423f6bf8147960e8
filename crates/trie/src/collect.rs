//! What a store has to write and to delete so that it holds a trie.

use crate::{
    NodeWrite,
    node::{Link, Loaded, Node, marked},
    tree::{NodeSource, Tree, node_prefix},
};
use alloy_primitives::map::HashSet;
use hearth_primitives::StateError;
use rayon::prelude::*;

/// Changed keys from which on the children of the root are collected in parallel; few in tests, so
/// that small models get there.
const PARALLEL_CHANGES: usize = if cfg!(test) { 3 } else { 256 };

impl Tree {
    /// Appends what has to be written and deleted so that the store holds this trie, and takes it
    /// as done. Call [`Self::root`] first. Returns the bytes of nodes that came into memory since
    /// the last time.
    pub(crate) fn collect(
        &mut self,
        source: &dyn NodeSource,
        out: &mut Vec<NodeWrite>,
    ) -> Result<usize, StateError> {
        if std::mem::take(&mut self.dropped)
            && let Some(owner) = &self.owner
        {
            self.stale.extend(source.paths(owner)?.into_iter().map(Vec::into_boxed_slice));
        }
        let prefix = node_prefix(self.owner.as_ref());
        let mut written = Written { prefix: &prefix, stale: &self.stale, nodes: out, back: Vec::new() };
        let back = match std::mem::take(&mut self.changes) >= PARALLEL_CHANGES {
            true => written.root(&mut self.root),
            false => {
                written.below(&mut self.root, &mut Vec::with_capacity(64));
                written.back
            }
        };
        for path in back {
            self.stale.remove(path.as_slice());
        }
        out.extend(self.stale.drain().map(|path| ([prefix.as_slice(), &path].concat(), None)));
        Ok(std::mem::take(&mut self.loaded))
    }
}

/// The nodes of a tree that the store lacks.
struct Written<'a> {
    /// First bytes of their keys.
    prefix: &'a [u8],
    /// Paths at which the store has a node, and the tree had none.
    stale: &'a HashSet<Box<[u8]>>,
    nodes: &'a mut Vec<NodeWrite>,
    /// Those of `stale` at which the tree has a node again.
    back: Vec<Vec<u8>>,
}

impl Written<'_> {
    /// Adds the nodes of a whole tree, whose children of the root are worked on in parallel; gives
    /// the paths at which there is a node again.
    fn root(mut self, link: &mut Link) -> Vec<Vec<u8>> {
        let Link::Node(loaded) = link else { return self.back };
        if !self.node(loaded, &[]) {
            return self.back;
        }
        let Node::Branch { children, marks } = &mut loaded.body.node else {
            self.children(loaded, &mut Vec::with_capacity(64));
            return self.back;
        };
        let Self { prefix, stale, nodes, mut back } = self;
        let children: Vec<_> = marked(children, marks.take_unstored()).collect();
        let parts = children.into_par_iter().map(|(nibble, child)| {
            let mut nodes = Vec::new();
            let mut part = Written { prefix, stale, nodes: &mut nodes, back: Vec::new() };
            let mut path = Vec::with_capacity(64);
            path.push(nibble);
            part.below(child, &mut path);
            let back = part.back;
            (nodes, back)
        });
        for (part, back_there) in parts.collect::<Vec<_>>() {
            nodes.extend(part);
            back.extend(back_there);
        }
        back
    }

    /// Adds the nodes below a link, whose path is restored at the end.
    fn below(&mut self, link: &mut Link, path: &mut Vec<u8>) {
        if let Link::Node(loaded) = link
            && self.node(loaded, path)
        {
            self.children(loaded, path);
        }
    }

    /// Adds a node; returns whether it changed, so that nodes below it may have.
    fn node(&mut self, loaded: &mut Loaded, path: &[u8]) -> bool {
        if loaded.stored {
            return false;
        }
        let rlp = match std::mem::take(&mut loaded.body.rlp) {
            rlp if rlp.is_empty() => loaded.body.node.encode(),
            rlp => rlp,
        };
        let key = || [self.prefix, path].concat();
        if path.is_empty() || Node::has_own_node(&rlp) {
            if self.stale.contains(path) {
                self.back.push(path.to_vec());
            }
            (loaded.stored, loaded.has_row) = (true, true);
            loaded.uses = loaded.uses.saturating_add(1);
            self.nodes.push((key(), Some(rlp)));
        } else if std::mem::take(&mut loaded.has_row) {
            self.nodes.push((key(), None));
        }
        true
    }

    fn children(&mut self, loaded: &mut Loaded, path: &mut Vec<u8>) {
        let depth = path.len();
        match &mut loaded.body.node {
            Node::Leaf { .. } => {}
            Node::Extension { path: shared, child } => {
                path.extend_from_slice(shared);
                self.below(child, path);
            }
            Node::Branch { children, marks } => {
                for (nibble, child) in marked(children, marks.take_unstored()) {
                    path.push(nibble);
                    self.below(child, path);
                    path.truncate(depth);
                }
            }
        }
        path.truncate(depth);
    }
}
