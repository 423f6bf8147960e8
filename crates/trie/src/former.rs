//! Leaves that need not be read: a change says what it replaces, and the hash in the parent proves
//! it. That takes one Keccak-256 of a short node; reading a node takes ten times as long.

use crate::{
    node::{Link, Loaded, Node, leaf_hash},
    tree::{NodeSource, resolve},
};
use alloy_primitives::{B256, U256};
use alloy_rlp::Encodable;
use alloy_trie::{EMPTY_ROOT_HASH, TrieAccount};
use hearth_primitives::{Account, AccountChange, SlotChange, StateError};

/// What the leaf of a key holds before a change, as far as the change says. It may say less or what
/// is no longer so: then the leaf is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Former<'a> {
    /// Not known, or the key is not set.
    Unknown,
    /// The value of a slot.
    Slot(&'a U256),
    /// An account without code or storage.
    Account(&'a Account),
}

impl<'a> Former<'a> {
    /// What a change of a slot replaces.
    pub(crate) fn of_slot(source: &dyn NodeSource, change: &'a SlotChange) -> Self {
        match source.may_skip_leaves() && !change.old.is_zero() {
            true => Self::Slot(&change.old),
            false => Self::Unknown,
        }
    }

    /// What a change of an account replaces. Of one with code it does not say the storage root.
    pub(crate) fn of_account(source: &dyn NodeSource, change: &'a AccountChange) -> Self {
        match &change.old {
            Some(old) if source.may_skip_leaves() && !old.has_code() && change.storage.is_empty() => {
                Self::Account(old)
            }
            _ => Self::Unknown,
        }
    }

    /// Loads the node behind a link where only its hash is known: it is `depth` nibbles down the
    /// key.
    pub(crate) fn resolve(
        self,
        source: &dyn NodeSource,
        owner: Option<&B256>,
        link: &mut Link,
        (key, depth): (&[u8; 64], usize),
        loaded: &mut usize,
    ) -> Result<(), StateError> {
        let (here, rest) = key.split_at(depth);
        if let Link::Hash(hash) = link
            && let Some(leaf) = self.leaf(hash, rest)
        {
            *loaded += leaf.body.node.memory_bytes();
            *link = Link::Node(leaf);
            return Ok(());
        }
        resolve(source, owner, link, here, loaded)
    }

    /// The leaf with the rest of a key, if this is its hash.
    fn leaf(self, hash: &B256, rest: &[u8]) -> Option<Loaded> {
        let leaf = |value: &dyn Encodable| {
            let leaf = || Node::Leaf { path: rest.to_vec(), value: alloy_rlp::encode(value) };
            (leaf_hash(rest, value)? == *hash).then(|| Loaded::stored(leaf(), *hash))
        };
        match self {
            Self::Unknown => None,
            Self::Slot(value) => leaf(value),
            Self::Account(account) => {
                let Account { nonce, balance, code_hash } = *account;
                leaf(&TrieAccount { nonce, balance, storage_root: EMPTY_ROOT_HASH, code_hash })
            }
        }
    }
}
