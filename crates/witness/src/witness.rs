//! The answer of `debug_executionWitness`.

use crate::{
    WitnessError,
    hex_list::{self, ListOrMap},
};
use alloy_primitives::Bytes;
use alloy_rlp::Decodable as _;
use hearth_evm::rpc_header;
use hearth_primitives::Header;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Longest answer that is read, in bytes of JSON.
pub const MAX_WITNESS_BYTES: usize = 1 << 30;

/// What a client without the state needs to execute a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witness {
    /// RLP of nodes of the parent's state trie and of storage tries.
    pub state: Vec<Bytes>,
    /// Code of contracts.
    pub codes: Vec<Bytes>,
    /// Headers of ancestors.
    pub headers: Vec<Header>,
}

/// Every member may be absent, `null`, an array, or an object of hash to value. `keys` says nothing
/// that the nodes do not prove.
#[derive(Deserialize)]
struct WitnessForm<'a> {
    #[serde(borrow, default)]
    state: ListOrMap<&'a str>,
    #[serde(borrow, default)]
    codes: ListOrMap<&'a str>,
    #[serde(borrow, default)]
    headers: ListOrMap<&'a RawValue>,
}

impl Witness {
    /// Reads a witness as any client writes it (execution-apis, go-ethereum's objects, reth's
    /// objects of hash to bytes). Keys, order and names of hashes are not looked at: an item counts
    /// by its own Keccak-256 hash. A header that does not decode is left out, and is missing where
    /// it is needed.
    ///
    /// # Errors
    /// [`WitnessError`].
    pub fn parse(json: &[u8]) -> Result<Self, WitnessError> {
        const WHAT: &str = "witness";
        if json.len() > MAX_WITNESS_BYTES {
            return Err(WitnessError::TooLarge { what: WHAT, bytes: json.len(), limit: MAX_WITNESS_BYTES });
        }
        let form: WitnessForm<'_> = hex_list::object(WHAT, json)?;
        let headers = form.headers.0.iter().filter_map(|header| parse_header(header.get())).collect();
        Ok(Self {
            state: hex_list::decode(WHAT, &form.state.0)?,
            codes: hex_list::decode(WHAT, &form.codes.0)?,
            headers,
        })
    }
}

/// A header as RLP in a string, or as an object.
fn parse_header(text: &str) -> Option<Header> {
    if text.starts_with('{') {
        return rpc_header(text).ok();
    }
    let text: &str = serde_json::from_str(text).ok()?;
    let rlp = hex_list::bytes("witness", text).ok()?;
    decode_header(&rlp)
}

/// A header from its RLP, of which nothing may be left.
pub(crate) fn decode_header(mut rlp: &[u8]) -> Option<Header> {
    let header = Header::decode(&mut rlp).ok()?;
    rlp.is_empty().then_some(header)
}
