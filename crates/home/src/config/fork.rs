//! What a fork of another chain needs.

use crate::{NodeError, fork::Fetch};
use hearth_chain::ForkBlock;
use hearth_evm::RecordedCase;
use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};

/// Settings of a development chain that continues from a block of another chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForkConfig {
    /// Chain id of the origin, by which its cache is found; blocks may be made under another.
    pub chain_id: u64,
    /// The block that the fork begins after, as the remote node's `eth_getBlockByNumber` returns
    /// it; its transactions are not used.
    pub block: OriginBlock,
    /// Longest wait for an answer of the origin, all attempts together, in milliseconds.
    pub timeout_ms: u64,
    /// Bytes that are kept of the origin's answers, on the disk and in memory each.
    pub cache_bytes: u64,
    /// Whether accounts and slots are verified against the state root of the block.
    pub verify: Verification,
    /// Fetches from the remote node. Not part of the text.
    #[serde(skip)]
    pub fetch: Option<OriginFetcher>,
}

/// Whether what a remote node says of a state is verified by Merkle proofs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verification {
    /// Never: the node is trusted.
    Off,
    /// Where the node gives proofs.
    Auto,
    /// Always: without a proof a read fails.
    On,
}

/// The component that fetches from a remote node; equal only to itself.
#[derive(Clone, Debug)]
pub struct OriginFetcher(pub Arc<dyn Fetch>);

impl PartialEq for OriginFetcher {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for OriginFetcher {}

/// A block as JSON-RPC gives it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OriginBlock(serde_json::Value);

impl OriginBlock {
    /// The header and its hash.
    ///
    /// # Errors
    /// [`NodeError::Config`], which names the missing or invalid field, or reports that the hash is
    /// not that of the header.
    pub fn read(&self) -> Result<ForkBlock, NodeError> {
        let bad = |reason: String| NodeError::Config { reason: format!("fork.block: {reason}") };
        let mut block = self.0.clone();
        let Some(fields) = block.as_object_mut() else { return Err(bad("takes an object".into())) };
        for apart in ["transactions", "uncles", "withdrawals"] {
            fields.remove(apart);
        }
        // Some origins leave out what proof of stake does not need.
        for (name, zero) in [("nonce", "0x0000000000000000"), ("mixHash", ZERO_WORD), ("difficulty", "0x0")] {
            fields.entry(name).or_insert(zero.into());
        }
        let text = serde_json::json!({ "block": block, "preState": {} }).to_string();
        let case = RecordedCase::parse_json(&text)
            .map_err(|error| bad(format!("{error}; only chains with Ethereum's headers can be forked")))?;
        Ok(ForkBlock { header: case.header, hash: case.hash })
    }
}

const ZERO_WORD: &str = "0x0000000000000000000000000000000000000000000000000000000000000000";

impl PartialEq for OriginBlock {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for OriginBlock {}

impl fmt::Debug for OriginBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OriginBlock({})", self.0.get("hash").and_then(|hash| hash.as_str()).unwrap_or("?"))
    }
}
