//! Answers of `eth_getProof` (EIP-1186), verified against a state root. Their values are not looked
//! at: the nodes prove them.

use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_primitives::{Account, StateError};
use hearth_trie::{StateTrie, WitnessNodes};
use serde_json::Value as Json;
use std::sync::Arc;

/// Most nodes of one proof: a path has 64 nibbles, and a leaf may follow the last one.
const PROOF_NODES_MAX: usize = 65;

/// The part of a state that an answer proves.
pub(super) struct StateProof {
    root: B256,
    trie: StateTrie<'static>,
}

impl StateProof {
    /// The nodes of an answer, as a state with this root; `None` where the answer is none.
    pub fn read(root: B256, answer: &Json) -> Option<Self> {
        let mut nodes = WitnessNodes::default();
        nodes.extend(list(answer.get("accountProof")?)?);
        if let Some(proof) = answer.pointer("/storageProof/0/proof") {
            nodes.extend(list(proof)?);
        }
        Some(Self { root, trie: StateTrie::new(Arc::new(nodes), root) })
    }

    /// The account; `None` where the nodes prove that there is none.
    ///
    /// # Errors
    /// The nodes prove nothing of it under this root.
    pub fn account(&mut self, address: &Address) -> Result<Option<Account>, String> {
        let read = self.trie.account(address);
        self.proven(address, read)
    }

    /// The value of a slot; zero where the nodes prove that none is set.
    ///
    /// # Errors
    /// As [`Self::account`].
    pub fn slot(&mut self, address: &Address, slot: &U256) -> Result<U256, String> {
        let read = self.trie.slot(address, slot);
        self.proven(address, read)
    }

    fn proven<T>(&self, address: &Address, read: Result<T, StateError>) -> Result<T, String> {
        read.map_err(|_| format!("its proof of {address} does not fit the state root {}", self.root))
    }
}

/// Whether an answer proves what an account is, or that there is none, in the state with this root.
/// All are text as JSON-RPC has it.
#[must_use]
pub fn proves_account(root: &str, address: &str, answer: &str) -> bool {
    let parsed = (root.parse::<B256>(), address.parse::<Address>(), serde_json::from_str::<Json>(answer));
    let (Ok(root), Ok(address), Ok(answer)) = parsed else { return false };
    StateProof::read(root, &answer).is_some_and(|mut proof| proof.account(&address).is_ok())
}

/// The nodes of one proof, if they are bytes and not too many.
fn list(json: &Json) -> Option<Vec<Bytes>> {
    let nodes = json.as_array().filter(|nodes| nodes.len() <= PROOF_NODES_MAX)?;
    nodes.iter().map(super::answers::bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_consensus::EMPTY_ROOT_HASH;
    use alloy_primitives::KECCAK256_EMPTY;
    use hearth_primitives::{AccountChange, Changeset, RootTracker, SlotChange};
    use serde_json::json;

    const SLOT: U256 = U256::ZERO;

    fn account(byte: u8) -> (Address, Account) {
        let account = Account { nonce: 1, balance: U256::from(byte), code_hash: KECCAK256_EMPTY };
        (Address::repeat_byte(byte), account)
    }

    /// A state of 20 accounts, each with a slot of its own number.
    fn state() -> StateTrie<'static> {
        let accounts = (1..=20).map(|byte| {
            let (address, account) = account(byte);
            let storage = vec![SlotChange { slot: SLOT, old: U256::ZERO, new: U256::from(byte) }];
            AccountChange { address, old: None, new: Some(account), wiped: false, storage }
        });
        let changes = Changeset { accounts: accounts.collect(), codes: Vec::new() };
        let mut trie = StateTrie::new(Arc::new(WitnessNodes::default()), EMPTY_ROOT_HASH);
        trie.apply(&changes).expect("changes apply");
        trie
    }

    fn answer(trie: &mut StateTrie<'_>, address: &Address) -> Json {
        let proof = trie.prove(address, &[SLOT]).expect("a proof");
        let slots: Vec<_> = proof.slots.iter().map(|slot| json!({ "proof": slot.nodes })).collect();
        // What the answer itself says of the account is not looked at.
        json!({ "balance": "0xffff", "accountProof": proof.nodes, "storageProof": slots })
    }

    #[test]
    fn accounts_and_slots_are_read_from_the_nodes() {
        let mut trie = state();
        let root = trie.root().expect("a root");
        for byte in 1..=20 {
            let (address, account) = account(byte);
            let mut proof = StateProof::read(root, &answer(&mut trie, &address)).expect("a proof");
            assert_eq!(proof.account(&address), Ok(Some(account)));
            assert_eq!(proof.slot(&address, &SLOT), Ok(U256::from(byte)));
        }
        let nobody = Address::repeat_byte(77);
        let mut proof = StateProof::read(root, &answer(&mut trie, &nobody)).expect("a proof");
        assert_eq!((proof.account(&nobody), proof.slot(&nobody, &SLOT)), (Ok(None), Ok(U256::ZERO)));
    }

    #[test]
    fn what_the_root_does_not_prove_is_refused() {
        let mut trie = state();
        let root = trie.root().expect("a root");
        let (address, _) = account(7);
        let whole = answer(&mut trie, &address);
        let with = |change: &dyn Fn(&mut Json)| {
            let mut changed = whole.clone();
            change(&mut changed);
            StateProof::read(root, &changed)
                .map(|mut proof| (proof.account(&address), proof.slot(&address, &SLOT)))
        };
        let refused = format!("its proof of {address} does not fit the state root {root}");
        let last = whole["accountProof"].as_array().expect("nodes").len() - 1;
        let (account, slot) = with(&|answer| answer["accountProof"][last] = json!("0xc0")).expect("nodes");
        assert_eq!((account, slot), (Err(refused.clone()), Err(refused.clone())));
        let (account, slot) = with(&|answer| answer["storageProof"] = json!([])).expect("nodes");
        assert!(account.is_ok());
        assert_eq!(slot, Err(refused));
        for bad in [json!(null), json!("0x"), json!([1]), json!(vec!["0x00"; PROOF_NODES_MAX + 1])] {
            assert!(with(&|answer| answer["accountProof"] = bad.clone()).is_none(), "{bad}");
        }
        let (root, address, whole) = (root.to_string(), address.to_string(), whole.to_string());
        assert!(proves_account(&root, &address, &whole));
        assert!(!proves_account(&B256::ZERO.to_string(), &address, &whole));
        assert!(!proves_account(&root, "0x", &whole) && !proves_account(&root, &address, "null"));
    }
}
