//! The block as another node gives it.

use crate::{WitnessError, hex_list};
use alloy_primitives::B256;
use alloy_rlp::Decodable as _;
use hearth_evm::RpcBlock;
use hearth_primitives::Block;
use serde::Deserialize;

/// Longest text of a block that is read, in bytes of JSON. EIP-7934 bounds the RLP of a block to 10
/// MiB, and JSON takes several times that.
pub const MAX_BLOCK_BYTES: usize = 256 << 20;

const WHAT: &str = "block";

/// How a block is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockForm {
    /// RLP as hexadecimal text in a JSON string, the answer of `debug_getRawBlock`.
    Raw,
    /// The answer of `eth_getBlockByHash` with full transactions.
    Json,
}

/// A block that another node gave.
#[derive(Clone, Debug)]
pub struct Received {
    /// The block. In the form of JSON it has no ommers.
    pub block: Block,
    /// Its hash, computed from the header.
    pub hash: B256,
}

/// Reads a block. Only its form is checked: that the body is the header's is up to the caller.
///
/// # Errors
/// [`WitnessError`].
pub fn received_block(form: BlockForm, json: &[u8]) -> Result<Received, WitnessError> {
    if json.len() > MAX_BLOCK_BYTES {
        return Err(WitnessError::TooLarge { what: WHAT, bytes: json.len(), limit: MAX_BLOCK_BYTES });
    }
    let wrong = |source| WitnessError::Json { what: WHAT, source };
    match form {
        BlockForm::Raw => {
            let text: &str = serde_json::from_slice(json).map_err(wrong)?;
            let rlp = hex_list::bytes(WHAT, text)?;
            let mut rest = &rlp[..];
            let block = Block::decode(&mut rest)?;
            if !rest.is_empty() {
                return Err(alloy_rlp::Error::UnexpectedLength.into());
            }
            let hash = block.header.hash_slow();
            Ok(Received { block, hash })
        }
        BlockForm::Json => {
            let text: &serde_json::value::RawValue = serde_json::from_slice(json).map_err(wrong)?;
            let block = RpcBlock::parse_json(text.get())?;
            let hash = block.hash;
            Ok(Received { block: block.into_block(), hash })
        }
    }
}
