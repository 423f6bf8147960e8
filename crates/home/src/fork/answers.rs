//! Requests to the remote node, and how its answers are parsed. An answer that does not match its
//! request is refused: an unknown value is never replaced by zero.

use super::{Key, proof::StateProof};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use hearth_primitives::{Account, Height};
use serde_json::{Value as Json, json};

/// The JSON-RPC requests that read one key of the remote state.
pub(super) struct KeyQuery {
    kind: AnswerKind,
    requests: Json,
}

enum AnswerKind {
    Account,
    Slot,
    Code,
    BlockHash(Height),
    /// As the first two, proven by the state root.
    ProvenAccount(B256, Address),
    ProvenSlot(B256, Address, U256),
}

/// An answer that reads.
pub(super) enum Read {
    Account(Option<Account>, Bytes),
    Word(U256),
    Code(Bytes),
    /// The remote node gives no proof, so the key has to be read without.
    NoProof,
}

impl KeyQuery {
    /// The requests for a key of the state after `block`; code is requested through `account`,
    /// which has it. With the state root of that block, accounts and slots have to be proven.
    pub fn of(key: &Key, account: Address, block: Height, root: Option<B256>) -> Self {
        let at = format!("{block:#x}");
        let (kind, requests) = match (key, root) {
            (Key::Account(address), Some(root)) => {
                let requests = json!([["eth_getProof", [address, [], at]], ["eth_getCode", [address, at]]]);
                (AnswerKind::ProvenAccount(root, *address), requests)
            }
            (Key::Slot(address, slot), Some(root)) => {
                let slots = [B256::from(*slot)];
                let requests = json!([["eth_getProof", [address, slots, at]]]);
                (AnswerKind::ProvenSlot(root, *address, *slot), requests)
            }
            (key, _) => Self::unproven(key, account, &at),
        };
        Self { kind, requests }
    }

    fn unproven(key: &Key, account: Address, at: &str) -> (AnswerKind, Json) {
        match key {
            Key::Account(address) => {
                let of = |method: &str| json!([method, [address, at]]);
                let asks = ["eth_getBalance", "eth_getTransactionCount", "eth_getCode"].map(of);
                (AnswerKind::Account, Json::from(asks.to_vec()))
            }
            Key::Slot(address, slot) => {
                let slot = B256::from(*slot);
                (AnswerKind::Slot, json!([["eth_getStorageAt", [address, slot, at]]]))
            }
            Key::Code(_) => (AnswerKind::Code, json!([["eth_getCode", [account, at]]])),
            Key::BlockHash(number) => {
                let number_text = format!("{number:#x}");
                (AnswerKind::BlockHash(*number), json!([["eth_getBlockByNumber", [number_text, false]]]))
            }
        }
    }

    /// `[[METHOD,PARAMS],…]`.
    pub fn requests(&self) -> String {
        self.requests.to_string()
    }

    /// Parses the results, `[RESULT,…]`.
    ///
    /// # Errors
    /// Which result does not match its request.
    pub fn read(&self, answer: &str) -> Result<Read, String> {
        let results: Vec<Json> = serde_json::from_str(answer).map_err(|_| bad("an answer", "no list"))?;
        match (&self.kind, results.as_slice()) {
            (AnswerKind::Account, [balance, nonce, code]) => {
                let balance = quantity(balance).ok_or_else(|| bad("a balance", balance))?;
                let count = quantity(nonce).and_then(|nonce| u64::try_from(nonce).ok());
                let nonce = count.ok_or_else(|| bad("a number of transactions", nonce))?;
                let code = bytes(code).ok_or_else(|| bad("code", code))?;
                let code_hash = if code.is_empty() { KECCAK256_EMPTY } else { keccak256(&code) };
                let account = Account { nonce, balance, code_hash };
                Ok(Read::Account((!account.is_empty()).then_some(account), code))
            }
            (AnswerKind::ProvenAccount(..), [Json::Null, _]) | (AnswerKind::ProvenSlot(..), [Json::Null]) => {
                Ok(Read::NoProof)
            }
            (AnswerKind::ProvenAccount(root, address), [proof, code]) => {
                let mut state = StateProof::read(*root, proof).ok_or_else(|| bad("a proof", proof))?;
                let account = state.account(address)?;
                let code = bytes(code).ok_or_else(|| bad("code", code))?;
                let code_hash = account.map_or(KECCAK256_EMPTY, |account| account.code_hash);
                if keccak256(&code) != code_hash {
                    return Err(format!(
                        "its code of {address} does not have the hash that the state root proves"
                    ));
                }
                Ok(Read::Account(account.filter(|account| !account.is_empty()), code))
            }
            (AnswerKind::ProvenSlot(root, address, slot), [proof]) => {
                let mut state = StateProof::read(*root, proof).ok_or_else(|| bad("a proof", proof))?;
                state.slot(address, slot).map(Read::Word)
            }
            (AnswerKind::Slot, [value]) => {
                quantity(value).map(Read::Word).ok_or_else(|| bad("a slot", value))
            }
            (AnswerKind::Code, [code]) => bytes(code).map(Read::Code).ok_or_else(|| bad("code", code)),
            (AnswerKind::BlockHash(number), [block]) => {
                let there = block.get("number").and_then(quantity);
                let hash = block.get("hash").and_then(Json::as_str).and_then(|hash| hash.parse().ok());
                match (there, hash) {
                    (Some(there), Some(hash)) if there == U256::from(*number) => {
                        Ok(Read::Word(B256::into(hash)))
                    }
                    _ => Err(format!("it has no block {number}")),
                }
            }
            _ => Err(format!("it gave {} results", results.len())),
        }
    }
}

/// Longest part of a bad answer that a message repeats, in characters.
const SHOWN_CHARS: usize = 100;

fn bad(what: &str, got: impl ToString) -> String {
    let got: String = got.to_string().chars().take(SHOWN_CHARS).collect();
    format!("as {what} it gave {got}")
}

/// A quantity, or 32 bytes.
fn quantity(json: &Json) -> Option<U256> {
    let digits = json.as_str()?.strip_prefix("0x")?;
    let fits = !digits.is_empty() && digits.len() <= 64;
    fits.then(|| U256::from_str_radix(digits, 16).ok()).flatten()
}

/// Bytes of any length.
pub(super) fn bytes(json: &Json) -> Option<Bytes> {
    let text = json.as_str()?;
    text.starts_with("0x").then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(answer: &str) -> Result<Option<Account>, String> {
        match KeyQuery::of(&Key::Account(Address::ZERO), Address::ZERO, 5, None).read(answer)? {
            Read::Account(account, _) => Ok(account),
            _ => Err("another kind".to_owned()),
        }
    }

    #[test]
    fn an_account_reads_or_is_refused_and_nothing_reads_as_zero() {
        assert_eq!(account(r#"["0x0","0x0","0x"]"#), Ok(None));
        let contract = account(r#"["0x10","0x1","0x6001"]"#).expect("reads").expect("exists");
        assert_eq!((contract.nonce, contract.balance), (1, U256::from(16)));
        assert_eq!(contract.code_hash, keccak256([0x60, 1]));
        let bad = [
            r#"[null,"0x0","0x"]"#,
            r#"["0x","0x0","0x"]"#,
            r#"["0x0","0x0"]"#,
            r#"["0x0","0x10000000000000000","0x"]"#,
            r#"["0x0","0x0",""]"#,
            r#"["0x0","0x0","0x1"]"#,
            r#"[0,"0x0","0x"]"#,
            "{}",
            "",
        ];
        for answer in bad {
            account(answer).expect_err(answer);
        }
    }

    #[test]
    fn proofs_are_requested_and_may_be_missing() {
        let (who, root) = (Address::repeat_byte(1), Some(B256::repeat_byte(2)));
        let account = KeyQuery::of(&Key::Account(who), Address::ZERO, 5, root);
        let requests =
            format!(r#"[["eth_getProof",["{who:?}",[],"0x5"]],["eth_getCode",["{who:?}","0x5"]]]"#);
        assert_eq!(account.requests(), requests);
        assert!(matches!(account.read(r#"[null,"0x"]"#), Ok(Read::NoProof)));
        account.read(r#"[{"accountProof":[]},"0x"]"#).map(|_| ()).expect_err("no proof");
        let slot = KeyQuery::of(&Key::Slot(who, U256::from(3)), Address::ZERO, 5, root);
        let key = B256::with_last_byte(3);
        assert_eq!(slot.requests(), format!(r#"[["eth_getProof",["{who:?}",["{key}"],"0x5"]]]"#));
        assert!(matches!(slot.read("[null]"), Ok(Read::NoProof)));
        slot.read(r#"["0x0"]"#).map(|_| ()).expect_err("no proof");
    }

    #[test]
    fn a_block_hash_is_that_of_the_block_asked_for() {
        let query = KeyQuery::of(&Key::BlockHash(9), Address::ZERO, 10, None);
        assert_eq!(query.requests(), r#"[["eth_getBlockByNumber",["0x9",false]]]"#);
        let hash = B256::repeat_byte(3);
        let block = |number: &str| format!(r#"[{{"number":"{number}","hash":"{hash}"}}]"#);
        assert!(matches!(query.read(&block("0x9")), Ok(Read::Word(word)) if B256::from(word) == hash));
        assert!(query.read(&block("0x8")).is_err());
        assert!(query.read("[null]").is_err());
    }
}
