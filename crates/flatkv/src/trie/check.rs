//! Every stored node against the hash under which its parent, or the head, names it.

use super::{
    node::{Link, Node},
    tree::key_prefix,
};
use crate::{
    db::{Db, Family},
    error::corrupt,
};
use alloy_primitives::{B256, Bytes, keccak256};
use alloy_rlp::Decodable;
use alloy_trie::{EMPTY_ROOT_HASH, TrieAccount};
use hearth_primitives::StateError;
use std::sync::Arc;

/// A node that is missing or has another hash.
#[derive(Clone, Debug)]
pub(crate) struct NodeFault {
    /// Hash of the account's address; `None` in the accounts' trie.
    pub(crate) owner: Option<B256>,
    /// Nibbles from the root.
    pub(crate) path: Bytes,
    /// Hash that it should have.
    pub(crate) hash: B256,
}

/// Looks at every node below a root, told one by one with its fault if it has one; `false` stops. Returns how many sound
/// ones there are.
pub(crate) fn check_nodes(
    db: &Arc<Db>,
    root: B256,
    each: &mut dyn FnMut(Option<NodeFault>) -> bool,
) -> Result<u64, StateError> {
    let mut check = Check { db, each, sound: 0, stopped: false };
    check.trie(None, root)?;
    Ok(check.sound)
}

struct Check<'a> {
    db: &'a Db,
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
        let key = [key_prefix(owner.as_ref()).as_slice(), path].concat();
        let rlp = self.db.get(Family::Trie, &key)?.filter(|rlp| keccak256(&**rlp) == hash);
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
            Node::Branch { children } => {
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
            Link::Node(loaded) => self.below(owner, path, &loaded.node),
        }
    }
}

/// Hash of the address and storage root of an account's leaf.
fn account(path: &[u8], mut value: &[u8]) -> Result<(B256, B256), StateError> {
    let (pairs, rest) = path.as_chunks::<2>();
    let hash: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
    let leaf = TrieAccount::decode(&mut value).map_err(|_| corrupt("trie"))?;
    match B256::try_from(hash.as_slice()) {
        Ok(hash) if rest.is_empty() => Ok((hash, leaf.storage_root)),
        _ => Err(corrupt("trie")),
    }
}
