//! Merkle proofs: the nodes on the way from the root to a key.

use crate::{
    damaged,
    node::{Node, nibbles},
    state::StateTrie,
    tree::{NodeSource, Tree},
};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_rlp::Decodable;
use hearth_primitives::{Account, RootTracker, StateError};

/// What a state root proves of an account (EIP-1186).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountProof {
    /// The state root that the first of `nodes` hashes to.
    pub state_root: B256,
    /// The account; `None` where the nodes prove that there is none.
    pub account: Option<Account>,
    /// Root of its storage; the empty trie's where there is no account.
    pub storage_root: B256,
    /// RLP of the nodes from the root on. Nodes shorter than 32 bytes are part of their parent.
    pub nodes: Vec<Bytes>,
    /// The slots that were requested, in that order.
    pub slots: Vec<SlotProof>,
}

/// What a storage root proves of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotProof {
    /// The slot.
    pub slot: U256,
    /// Its value; zero where the nodes prove that there is none.
    pub value: U256,
    /// RLP of the nodes from the storage root on.
    pub nodes: Vec<Bytes>,
}

impl StateTrie<'_> {
    /// The account with the nodes that prove it and its slots.
    ///
    /// # Errors
    /// [`StateError::MissingNode`]; the node source's own.
    pub fn prove(&mut self, address: &Address, slots: &[U256]) -> Result<AccountProof, StateError> {
        let state_root = self.root()?;
        self.guard(|trie| {
            let source = &*trie.source;
            let nodes = trie.accounts.prove(source, &nibbles(&keccak256(address)))?;
            let mut open = match trie.open.remove(address) {
                Some(open) => open,
                None => trie.open_account(keccak256(address))?,
            };
            let source = &*trie.source;
            let storage_root = open.storage.root(false);
            let slots: Result<_, _> =
                slots.iter().map(|slot| prove_slot(source, &mut open.storage, slot)).collect();
            let account = open.account;
            trie.open.insert(*address, open);
            Ok(AccountProof { state_root, account, storage_root, nodes, slots: slots? })
        })
    }
}

fn prove_slot(source: &dyn NodeSource, storage: &mut Tree, slot: &U256) -> Result<SlotProof, StateError> {
    let key = nibbles(&keccak256(slot.to_be_bytes::<32>()));
    let nodes = storage.prove(source, &key)?;
    let value = match storage.get(source, &key)? {
        Some(mut leaf) => U256::decode(&mut leaf).map_err(|_| damaged())?,
        None => U256::ZERO,
    };
    Ok(SlotProof { slot: *slot, value, nodes })
}

impl Tree {
    /// RLP of the nodes from the root towards a key, as far as they go. Call [`Self::root`] first.
    fn prove(&mut self, source: &dyn NodeSource, key: &[u8; 64]) -> Result<Vec<Bytes>, StateError> {
        let mut nodes = Vec::new();
        self.walk(source, key, |found, depth| {
            let rlp = found.body.node.encode();
            if depth == 0 || Node::has_own_node(&rlp) {
                nodes.push(rlp.into());
            }
        })?;
        Ok(nodes)
    }
}
