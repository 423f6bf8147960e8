//! `eth_getProof` (EIP-1186): an account and some of its slots with the trie nodes that prove them.

use super::Answer;
use crate::request::ProofSlot;
use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_flatkv::AccountProof;
use hearth_home::{BlockRef, Home, JsonWriter, NodeError};

pub(super) fn of_account(home: &Home, address: &Address, slots: &[ProofSlot], block: BlockRef) -> Answer {
    let (_, block) = home.state_at(Some(block))?;
    home.chain().reader().require_trie()?;
    let height = block.block.header.number;
    let asked: Vec<U256> = slots.iter().map(|slot| slot.slot).collect();
    let (proof, edited) = home.chain().prove_after(height, address, &asked)?;
    // Edits after the block are proven too, by the root of the state on which the next block is
    // executed.
    if !edited && proof.state_root != block.block.header.state_root {
        // The block left the chain since it was looked up.
        return Err(NodeError::StateNotCanonical { height, hash: block.hash });
    }
    Ok(render(address, slots, &proof))
}

/// go-ethereum's shape (internal/ethapi/api.go: GetProof): an account that does not exist has zero
/// hashes, and its slots have no proof.
fn render(address: &Address, slots: &[ProofSlot], proof: &AccountProof) -> Vec<u8> {
    let mut writer = JsonWriter::default();
    let account = proof.account.unwrap_or_default();
    let hash = |hash: B256| if proof.account.is_some() { hash } else { B256::ZERO };
    writer.begin_object().key("address").address(address);
    nodes(writer.key("accountProof"), &proof.nodes);
    writer.key("balance").quantity_u256(&account.balance);
    writer.key("codeHash").hash(&hash(account.code_hash));
    writer.key("nonce").quantity(account.nonce);
    writer.key("storageHash").hash(&hash(proof.storage_root));
    writer.key("storageProof").begin_array();
    for (asked, proof) in slots.iter().zip(&proof.slots) {
        writer.begin_object().key("key");
        if asked.whole {
            writer.bytes(&asked.slot.to_be_bytes::<32>());
        } else {
            writer.quantity_u256(&asked.slot);
        }
        writer.key("value").quantity_u256(&proof.value);
        nodes(writer.key("proof"), &proof.nodes);
        writer.end_object();
    }
    writer.end_array().end_object();
    writer.into_bytes()
}

fn nodes(writer: &mut JsonWriter, nodes: &[Bytes]) {
    writer.begin_array();
    for node in nodes {
        writer.bytes(node);
    }
    writer.end_array();
}
