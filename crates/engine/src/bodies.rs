//! `engine_getPayloadBodies…`: transactions and withdrawals of blocks (execution-apis,
//! src/engine/shanghai.md).

use crate::{engine::Engine, envelope::write_transactions, request::EngineRequest};
use alloy_primitives::B256;
use hearth_home::{JsonWriter, NodeError, write_withdrawals};
use hearth_primitives::Block;

/// Most bodies of one request (go-ethereum's limit).
const BODIES_MAX: u64 = 1024;

impl Engine {
    /// Of the ledger's blocks, of any branch; `null` for those that are not known, in order.
    pub(crate) fn bodies_by_hash(&self, hashes: &[B256]) -> Result<Vec<u8>, NodeError> {
        if hashes.len() as u64 > BODIES_MAX {
            return Err(EngineRequest::too_large("hashes", hashes.len(), BODIES_MAX as usize));
        }
        let mut w = JsonWriter::with_capacity(1024);
        w.begin_array();
        for hash in hashes {
            let block = self.home().block_by_hash(hash)?;
            write_body(&mut w, block.as_deref().map(|block| &block.block));
        }
        w.end_array();
        Ok(w.into_bytes())
    }

    /// Of canonical blocks, `null` for those that were pruned; nothing follows the head's.
    pub(crate) fn bodies_by_range(&self, start: u64, count: u64) -> Result<Vec<u8>, NodeError> {
        if start < 1 || count < 1 {
            return Err(NodeError::invalid_params(format!(
                "start {start} and count {count} must be at least 1"
            )));
        }
        if count > BODIES_MAX {
            let have = usize::try_from(count).unwrap_or(usize::MAX);
            return Err(EngineRequest::too_large("bodies", have, BODIES_MAX as usize));
        }
        let head = self.home().chain().head().height;
        let mut w = JsonWriter::with_capacity(1024);
        w.begin_array();
        for height in start..=head.min(start.saturating_add(count - 1)) {
            let block = available(self.home().canonical(height))?;
            write_body(&mut w, block.as_deref().map(|block| &block.block));
        }
        w.end_array();
        Ok(w.into_bytes())
    }
}

/// A block that was pruned is unavailable like one that never was there.
fn available<T>(read: Result<Option<T>, NodeError>) -> Result<Option<T>, NodeError> {
    match read {
        Err(NodeError::Pruned { .. }) => Ok(None),
        read => read,
    }
}

fn write_body(w: &mut JsonWriter, block: Option<&Block>) {
    let Some(block) = block else {
        w.null();
        return;
    };
    w.begin_object();
    write_transactions(w, block);
    match &block.body.withdrawals {
        Some(withdrawals) => write_withdrawals(w, withdrawals),
        None => drop(w.key("withdrawals").null()),
    }
    w.end_object();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pruned_blocks_are_unavailable() {
        let pruned = NodeError::Pruned { height: 1, what: "blocks", floor: 2 };
        assert!(matches!(available::<()>(Err(pruned)), Ok(None)));
        assert!(matches!(available(Ok(Some(3))), Ok(Some(3))));
        assert!(matches!(available::<()>(Err(NodeError::Closed)), Err(NodeError::Closed)));
    }
}
