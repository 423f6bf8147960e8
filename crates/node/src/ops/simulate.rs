//! `eth_call` and `eth_estimateGas`.

use super::Answer;
use crate::{BlockRef, Node, NodeError};
use serde_json::Value;

pub(super) fn call(
    node: &Node,
    _transaction: Value,
    block: Option<BlockRef>,
    _state_overrides: Option<Value>,
    _block_overrides: Option<Value>,
) -> Answer {
    node.state_at(block)?;
    Err(NodeError::Unsupported { message: "the simulator is not wired yet".into() })
}

pub(super) fn estimate_gas(
    node: &Node,
    _transaction: Value,
    block: Option<BlockRef>,
    _state_overrides: Option<Value>,
    _block_overrides: Option<Value>,
) -> Answer {
    node.state_at(block)?;
    Err(NodeError::Unsupported { message: "the simulator is not wired yet".into() })
}
