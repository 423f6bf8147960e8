//! The whole state in anvil's form: gzip of JSON with accounts, and the number and time of the
//! head.

use super::Site;
use crate::ops::Answer;
use alloy_primitives::{Address, B256, Bytes, U64, U256, hex};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use hearth_chain::{AccountEdit, Chain};
use hearth_dev_chain::{BLOCKS_MAX, Steps};
use hearth_flatkv::RowRange;
use hearth_home::NodeError;
use hearth_metrics::DataDb;
use hearth_primitives::{Account, StateReader as _};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read as _, Write as _},
};

/// Most bytes of a state as JSON.
const STATE_BYTES_MAX: u64 = 1 << 30;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

#[derive(Serialize, Deserialize)]
struct AccountText {
    #[serde(with = "number")]
    nonce: u64,
    balance: U256,
    #[serde(default)]
    code: Bytes,
    #[serde(default)]
    storage: BTreeMap<B256, B256>,
}

/// Numbers are JSON numbers here; hex is understood too.
mod number {
    use super::U64;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(*value)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        U64::deserialize(from).map(|value| value.to())
    }
}

#[derive(Deserialize)]
struct StateText {
    accounts: BTreeMap<Address, AccountText>,
    #[serde(default)]
    best_block_number: Option<U64>,
    #[serde(default)]
    block: Option<BlockText>,
}

#[derive(Deserialize)]
struct BlockText {
    #[serde(default)]
    timestamp: Option<U256>,
}

fn failed(error: &dyn std::fmt::Display) -> NodeError {
    NodeError::Store { message: format!("dump of the state: {error}") }
}

/// The state after the head.
pub(super) fn dump(site: &Site<'_>) -> Answer {
    let head = site.home.head()?;
    let header = &head.block.header;
    let chain = site.home.chain();
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    let block = serde_json::json!({
        "number": U256::from(header.number),
        "beneficiary": header.beneficiary,
        "timestamp": U256::from(header.timestamp),
        "gas_limit": header.gas_limit,
        "basefee": header.base_fee_per_gas.unwrap_or(0),
        "difficulty": header.difficulty,
        "prevrandao": header.mix_hash,
        "blob_excess_gas_and_price": { "excess_blob_gas": header.excess_blob_gas.unwrap_or(0), "blob_gasprice": 1 },
        "slot_num": 0,
    });
    write!(out, "{{\"block\":{block},\"accounts\":{{").map_err(|error| failed(&error))?;
    let state = chain.state_at(header.number)?;
    let (mut bytes, mut comma) = (0, "");
    for address in addresses(chain)? {
        if site.stop.is_cancelled() {
            return Err(NodeError::Cancelled);
        }
        // One that an edit removed is named, but not there.
        let Some(account) = state.account(&address)? else { continue };
        let code = if account.has_code() { state.code(&account.code_hash)? } else { Bytes::new() };
        let slots = state.storage_of(&address)?;
        let storage = slots.into_iter().map(|(slot, value)| (B256::from(slot), B256::from(value))).collect();
        let Account { nonce, balance, .. } = account;
        let text =
            serde_json::to_string(&AccountText { nonce, balance, code, storage }).map_err(|e| failed(&e))?;
        bytes += text.len() as u64;
        if bytes > STATE_BYTES_MAX {
            let message = format!("the state takes more than {STATE_BYTES_MAX} bytes of JSON");
            return Err(NodeError::LimitExceeded { message });
        }
        let address = hex::encode_prefixed(address);
        write!(out, "{comma}\"{address}\":{text}").map_err(|error| failed(&error))?;
        comma = ",";
    }
    // Anvil looks for the block of the number that it is to continue from.
    let best = serde_json::json!({ "header": header, "transactions": [], "ommers": [], "withdrawals": null });
    let end = format!(
        "}},\"best_block_number\":{},\"blocks\":[{best}],\"transactions\":[],\"historical_states\":null}}",
        header.number
    );
    let done = out.write_all(end.as_bytes()).and_then(|()| out.finish()).map_err(|error| failed(&error))?;
    Ok(format!("\"{}\"", hex::encode_prefixed(done)).into_bytes())
}

/// Every account that the store or an edit has.
fn addresses(chain: &Chain) -> Result<BTreeSet<Address>, NodeError> {
    let edits = chain.pending_edits();
    let mut all: BTreeSet<Address> = edits.changes().accounts.iter().map(|change| change.address).collect();
    for row in chain.reader().rows(DataDb::Account, &RowRange::default())? {
        let row = row.map_err(|error| failed(&error))?;
        if row.key.len() == Address::len_bytes() {
            all.insert(Address::from_slice(&row.key));
        }
    }
    Ok(all)
}

/// Loads a state: adds its accounts over the existing ones, then makes empty blocks up to the
/// height of the state's head.
pub(super) fn load(site: &Site<'_>, bytes: &[u8]) -> Answer {
    let wrong = |why: &dyn std::fmt::Display| {
        NodeError::invalid_params(format!("Failed to decode state dump: {why}"))
    };
    let text = match bytes.starts_with(&GZIP_MAGIC) {
        true => unpacked(bytes).map_err(|error| wrong(&error))?,
        false => bytes.to_vec(),
    };
    let state: StateText = serde_json::from_slice(&text).map_err(|error| wrong(&error))?;
    drop(text);
    let head = site.home.head()?;
    let (height, time) = (head.number(), head.block.header.timestamp);
    let missing = state.best_block_number.map_or(0, |best| best.to::<u64>().saturating_sub(height));
    if missing > BLOCKS_MAX {
        return Err(wrong(&format!("its block number is more than {BLOCKS_MAX} above the head, {height}")));
    }
    let mut edits = Vec::with_capacity(state.accounts.len());
    let here = site.home.chain().state_at(height)?;
    for (address, account) in state.accounts {
        let AccountText { nonce, balance, code, storage } = account;
        let nonce = nonce.max(here.account(&address)?.unwrap_or_default().nonce);
        let slots = storage.into_iter().map(|(slot, value)| (slot.into(), value.into())).collect();
        let edit = AccountEdit { balance: Some(balance), nonce: Some(nonce), code: Some(code), slots };
        edits.push((address, edit));
    }
    drop(here);
    site.chained(site.dev.edit(&edits))?;
    let ahead = state.block.and_then(|block| block.timestamp).and_then(|time| u64::try_from(time).ok());
    if let Some(ahead) = ahead.filter(|ahead| *ahead > time) {
        // A time that no clock reaches is not taken over.
        let _ = site
            .dev
            .set_clock(|clock, head| if ahead > clock.now() { clock.reset(ahead, head) } else { Ok(0) });
    }
    if missing > 0 {
        site.chained(site.dev.mine_blocks(missing, Steps::default(), &|| site.stop.is_cancelled()))?;
    }
    super::boolean(true)
}

fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, std::io::Error> {
    let mut text = Vec::new();
    let read = GzDecoder::new(bytes).take(STATE_BYTES_MAX + 1).read_to_end(&mut text)?;
    if read as u64 > STATE_BYTES_MAX {
        return Err(std::io::Error::other(format!("it takes more than {STATE_BYTES_MAX} bytes of JSON")));
    }
    Ok(text)
}
