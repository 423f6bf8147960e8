//! What was fetched because a witness lacked it.

use crate::{
    WitnessError,
    hex_list::{self, ListOrMap},
    witness::decode_header,
};
use alloy_primitives::{Address, Bytes, KECCAK256_EMPTY, U256, keccak256};
use hearth_primitives::{Account, Header};
use serde::{Deserialize, Deserializer};
use std::collections::HashMap;

/// Longest text of a supplement that is read, in bytes of JSON.
const MAX_SUPPLEMENT_BYTES: usize = 1 << 30;

const WHAT: &str = "supplement";

/// Proofs, codes and headers that complete a witness, and the state that an upstream claims.
#[derive(Clone, Debug, Default)]
pub struct Supplement {
    /// Nodes of proofs in the parent's state.
    pub nodes: Vec<Bytes>,
    /// The last node of each proof of a key in the state after the block.
    pub folded: Vec<Bytes>,
    /// Code of contracts.
    pub codes: Vec<Bytes>,
    /// Headers of ancestors.
    pub headers: Vec<Header>,
    /// The accounts of the state before the block with their known slots, in no way proven.
    pub prestate: Option<HashMap<Address, ClaimedAccount>>,
}

/// An account of a state that is not proven.
#[derive(Clone, Debug)]
pub struct ClaimedAccount {
    /// `None` where there is none.
    pub account: Option<Account>,
    /// The slots that are known.
    pub slots: HashMap<U256, U256>,
}

#[derive(Default, Deserialize)]
struct SupplementForm<'a> {
    #[serde(borrow, default)]
    proofs: ListOrMap<Proof<'a>>,
    #[serde(borrow, default)]
    after: ListOrMap<Proof<'a>>,
    #[serde(borrow, default)]
    codes: ListOrMap<&'a str>,
    #[serde(borrow, default)]
    headers: ListOrMap<&'a str>,
    #[serde(borrow, default)]
    prestate: Option<HashMap<Address, Claimed<'a>>>,
}

/// The answer of `eth_getProof`. Its values are not looked at: the nodes prove them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Proof<'a> {
    #[serde(borrow, default)]
    account_proof: ListOrMap<&'a str>,
    #[serde(borrow, default)]
    storage_proof: ListOrMap<Slot<'a>>,
}

#[derive(Deserialize)]
struct Slot<'a> {
    #[serde(borrow, default)]
    proof: ListOrMap<&'a str>,
}

/// An account of go-ethereum's `prestateTracer`.
#[derive(Deserialize)]
struct Claimed<'a> {
    #[serde(default)]
    balance: U256,
    #[serde(default, deserialize_with = "nonce")]
    nonce: u64,
    #[serde(borrow, default)]
    code: Option<&'a str>,
    #[serde(default)]
    storage: HashMap<U256, U256>,
}

/// A nonce as a number, or as hexadecimal text.
fn nonce<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Nonce {
        Number(u64),
        Text(U256),
    }
    match Nonce::deserialize(from)? {
        Nonce::Number(nonce) => Ok(nonce),
        Nonce::Text(nonce) => u64::try_from(nonce).map_err(serde::de::Error::custom),
    }
}

impl Supplement {
    /// Reads `{proofs, after, codes, headers, prestate}`, each member optional.
    ///
    /// # Errors
    /// [`WitnessError`].
    pub fn parse(json: &[u8]) -> Result<Self, WitnessError> {
        if json.len() > MAX_SUPPLEMENT_BYTES {
            return Err(WitnessError::TooLarge {
                what: WHAT,
                bytes: json.len(),
                limit: MAX_SUPPLEMENT_BYTES,
            });
        }
        let form: SupplementForm<'_> = hex_list::object(WHAT, json)?;
        let (mut nodes, mut folded) = (Vec::new(), Vec::new());
        for proof in form.proofs.0.iter().flat_map(Proof::lists) {
            nodes.extend_from_slice(proof);
        }
        for proof in form.after.0.iter().flat_map(Proof::lists) {
            folded.extend(proof.last());
        }
        let mut codes = hex_list::decode(WHAT, &form.codes.0)?;
        let prestate = form.prestate.map(|accounts| claimed(accounts, &mut codes)).transpose()?;
        let mut headers = Vec::new();
        for text in &form.headers.0 {
            headers.extend(decode_header(&hex_list::bytes(WHAT, text)?));
        }
        Ok(Self {
            nodes: hex_list::decode(WHAT, &nodes)?,
            folded: hex_list::decode(WHAT, &folded)?,
            codes,
            headers,
            prestate,
        })
    }
}

impl<'a> Proof<'a> {
    /// The proofs of the account and of its slots.
    fn lists(&self) -> impl Iterator<Item = &[&'a str]> {
        let slots = self.storage_proof.0.iter().map(|slot| slot.proof.0.as_slice());
        std::iter::once(self.account_proof.0.as_slice()).chain(slots)
    }
}

fn claimed(
    accounts: HashMap<Address, Claimed<'_>>,
    codes: &mut Vec<Bytes>,
) -> Result<HashMap<Address, ClaimedAccount>, WitnessError> {
    let mut all = HashMap::with_capacity(accounts.len());
    for (address, given) in accounts {
        let code = hex_list::bytes(WHAT, given.code.unwrap_or_default())?;
        let code_hash = if code.is_empty() { KECCAK256_EMPTY } else { keccak256(&code) };
        if !code.is_empty() {
            codes.push(code);
        }
        let account = Account { nonce: given.nonce, balance: given.balance, code_hash };
        let account = (!account.is_empty()).then_some(account);
        all.insert(address, ClaimedAccount { account, slots: given.storage });
    }
    Ok(all)
}
