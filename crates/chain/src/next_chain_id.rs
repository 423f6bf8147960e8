//! The chain id of the blocks to come.

use alloy_primitives::Bytes;
use hearth_evm::ChainSpec;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The chain id under which the next blocks are made, and transactions are accepted: the chain's
/// own, unless a development chain was given another one. Each block has its own id in its header
/// (see [`ChainSpec::chain_id_of`]).
#[derive(Debug)]
pub struct NextChainId {
    spec: Arc<ChainSpec>,
    id: AtomicU64,
}

impl NextChainId {
    /// The id that the chain began with.
    pub fn new(spec: Arc<ChainSpec>) -> Self {
        let id = spec.chain_id().into();
        Self { spec, id }
    }

    /// The id.
    pub fn get(&self) -> u64 {
        self.id.load(Relaxed)
    }

    /// Sets the id. Returns `false`, with no change, if the chain's rules do not allow it or the id
    /// is 0.
    pub fn set(&self, id: u64) -> bool {
        let possible = id != 0 && (self.spec.chain_id_moves() || id == self.spec.chain_id());
        if possible {
            self.id.store(id, Relaxed);
        }
        possible
    }

    /// The extra data of the next block that would otherwise have this extra data.
    pub fn mark(&self, extra_data: Bytes) -> Bytes {
        self.spec.mark_chain_id(self.get(), extra_data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(config: &str) -> NextChainId {
        NextChainId::new(Arc::new(ChainSpec::from_config_json(config).unwrap()))
    }

    #[test]
    fn the_next_id_changes_where_the_rules_allow_it() {
        let next_id = next(r#"{"chainId": 7, "chainIdInExtraData": true}"#);
        let given = Bytes::from_static(&[9; 4]);
        assert_eq!((next_id.get(), next_id.mark(given.clone())), (7, given.clone()));
        assert!(next_id.set(0x1234) && !next_id.set(0));
        assert_eq!((next_id.get(), next_id.mark(given.clone()).len()), (0x1234, 20));
        assert!(next_id.set(7));
        assert_eq!(next_id.mark(given.clone()), given);
        let fixed = next(r#"{"chainId": 7}"#);
        assert!(!fixed.set(8) && fixed.set(7));
        assert_eq!(fixed.get(), 7);
    }
}
