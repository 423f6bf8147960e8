//! `debug_executionWitness`: what a client without the state needs to execute a block.
//!
//! The canonical form is that of execution-apis (headers as RLP, ascending; nodes and codes
//! sorted). The other one is go-ethereum's (core/stateless/encoding.go: ExtWitness): headers as
//! objects, and `keys` is null.

use super::{Answer, roots};
use crate::json::write_header_fields;
use alloy_primitives::{Bytes, hex};
use alloy_rlp::Encodable as _;
use hearth_chain::ChainError;
use hearth_evm::BlockError;
use hearth_home::{BlockNumber, BlockRef, Home, JsonWriter, NodeError, chain_error};
use hearth_primitives::{Header, StateReader as _};
use hearth_traces::check_traceable;

pub(super) fn of_block(home: &Home, block: BlockRef, legacy: bool) -> Answer {
    if block == BlockRef::Number(BlockNumber::Pending) {
        return Err(NodeError::Unsupported { message: "the pending block has no witness".into() });
    }
    let found = home.block_by_ref(block)?.ok_or_else(|| unknown(block))?;
    check_traceable(&found.block)?;
    let (chain, number) = (home.chain(), found.number());
    chain.reader().require_trie()?;
    roots::check_depth(home, number)?;
    let view = home.parent_state(&found.block.header)?;
    // Consecutive reads of one view share its place in the history.
    let fast = view.for_execution();
    let state = fast.as_deref().unwrap_or(&view);
    let witness = chain.execution_witness(&found.block, found.hash, state);
    let witness = witness.map_err(|error| match error {
        ChainError::EditedState { .. } => NodeError::Unsupported { message: error.to_string() },
        ChainError::Refused { number, source: source @ BlockError::State(_), .. } => {
            NodeError::Execution { height: number, source: source.into() }
        }
        error => chain_error(&home.config().home, error),
    })?;
    let hex = |list: &[Bytes]| list.iter().map(|item| item.len() * 2 + 6).sum::<usize>();
    let mut w = JsonWriter::with_capacity(hex(&witness.state) + hex(&witness.codes) + HEADERS_BYTES);
    w.begin_object();
    data(w.key("state"), &witness.state);
    data(w.key("codes"), &witness.codes);
    w.key("headers").begin_array();
    witness.headers.iter().for_each(|header| write_header(&mut w, header, legacy));
    w.end_array();
    if legacy {
        w.key("keys").null();
    }
    w.end_object();
    Ok(w.into_bytes())
}

/// go-ethereum's text for a hash that is not known (eth/api_debug.go: ExecutionWitnessByHash); an
/// unknown number makes it crash.
fn unknown(block: BlockRef) -> NodeError {
    match block {
        BlockRef::Number(_) => NodeError::BlockNotFound { number: None },
        BlockRef::Hash(hash) => {
            let text = format!("block hash {} not found", hex::encode(hash.block_hash));
            NodeError::BlockUnknown { text }
        }
    }
}

/// Room for the headers, in bytes: most blocks need their parent alone.
const HEADERS_BYTES: usize = 4096;

fn data(w: &mut JsonWriter, list: &[Bytes]) {
    w.begin_array();
    list.iter().for_each(|item| {
        w.bytes(item);
    });
    w.end_array();
}

fn write_header(w: &mut JsonWriter, header: &Header, legacy: bool) {
    if !legacy {
        let mut rlp = Vec::with_capacity(header.length());
        header.encode(&mut rlp);
        w.bytes(&rlp);
        return;
    }
    w.begin_object();
    write_header_fields(w, header, Some(&header.hash_slow()));
    w.end_object();
}
