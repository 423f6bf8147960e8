//! Every stored node against the hash under which its parent, or the head, names it.

use crate::{
    NodeSource, damaged,
    node::{Link, Node},
};
use alloy_primitives::{B256, Bytes};
use alloy_rlp::Decodable;
use alloy_trie::{EMPTY_ROOT_HASH, TrieAccount};
use hearth_primitives::StateError;

/// A node that is missing or has another hash.
#[derive(Clone, Debug)]
pub struct NodeFault {
    /// Hash of the account's address; `None` in the accounts' trie.
    pub owner: Option<B256>,
    /// Nibbles from the root.
    pub path: Bytes,
    /// Hash that it should have.
    pub hash: B256,
}

/// Visits every node below a root. Calls `each` with the fault of a bad node and with `None` for a
/// valid one; `false` stops the check. Returns the number of valid nodes.
///
/// # Errors
/// Those of the source but [`StateError::MissingNode`], which is a fault of the node.
pub fn check_nodes(
    source: &dyn NodeSource,
    root: B256,
    each: &mut dyn FnMut(Option<NodeFault>) -> bool,
) -> Result<u64, StateError> {
    let mut check = Check { source, each, sound: 0, stopped: false };
    check.trie(None, root)?;
    Ok(check.sound)
}

struct Check<'a> {
    source: &'a dyn NodeSource,
    each: &'a mut dyn FnMut(Option<NodeFault>) -> bool,
    sound: u64,
    stopped: bool,
}

impl Check<'_> {
    fn trie(&mut self, owner: Option<B256>, root: B256) -> Result<(), StateError> {
        if root == EMPTY_ROOT_HASH {
            return Ok(());
        }
        self.stored(owner, &mut Vec::with_capacity(64), root)
    }

    /// A node with a row of its own.
    fn stored(&mut self, owner: Option<B256>, path: &mut Vec<u8>, hash: B256) -> Result<(), StateError> {
        if self.stopped {
            return Ok(());
        }
        let rlp = match self.source.node(owner.as_ref(), path, &hash) {
            Err(StateError::MissingNode { .. }) => None,
            found => Some(found?),
        };
        let node = rlp.and_then(|rlp| Node::decode(&rlp).ok());
        let fault = node.is_none().then(|| NodeFault { owner, path: Bytes::copy_from_slice(path), hash });
        self.stopped = !(self.each)(fault);
        let Some(node) = node else { return Ok(()) };
        self.sound += 1;
        self.below(owner, path, &node)
    }

    fn below(&mut self, owner: Option<B256>, path: &mut Vec<u8>, node: &Node) -> Result<(), StateError> {
        let depth = path.len();
        match node {
            Node::Leaf { path: rest, value } => {
                path.extend_from_slice(rest);
                if owner.is_none() {
                    let account = account(path, value)?;
                    path.truncate(depth);
                    return self.trie(Some(account.0), account.1);
                }
            }
            Node::Extension { path: shared, child } => {
                path.extend_from_slice(shared);
                self.link(owner, path, child)?;
            }
            Node::Branch { children, .. } => {
                for (nibble, child) in (0..).zip(children.iter()) {
                    path.push(nibble);
                    self.link(owner, path, child)?;
                    path.truncate(depth);
                }
            }
        }
        path.truncate(depth);
        Ok(())
    }

    fn link(&mut self, owner: Option<B256>, path: &mut Vec<u8>, link: &Link) -> Result<(), StateError> {
        match link {
            Link::Empty => Ok(()),
            Link::Hash(hash) => self.stored(owner, path, *hash),
            Link::Node(loaded) => self.below(owner, path, &loaded.body.node),
        }
    }
}

/// Hash of the address and storage root of an account's leaf.
fn account(path: &[u8], mut value: &[u8]) -> Result<(B256, B256), StateError> {
    let (pairs, rest) = path.as_chunks::<2>();
    let hash: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
    let leaf = TrieAccount::decode(&mut value).map_err(|_| damaged())?;
    match B256::try_from(hash.as_slice()) {
        Ok(hash) if rest.is_empty() => Ok((hash, leaf.storage_root)),
        _ => Err(damaged()),
    }
}
