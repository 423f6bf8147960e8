//! What can be traced: one typed request an operation, read from `{"op":…,"args":{…}}`.

use alloy_primitives::{B256, Bytes, U64};
use hearth_evm::{BlockOverrides, CallRequest, StateOverrides};
use hearth_home::{BlockNumber, BlockRef, NodeError};
use serde::Deserialize;

/// What to trace.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "op", content = "args", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum TraceRequest {
    /// One transaction of the canonical chain.
    TraceTransaction {
        /// Which transaction.
        hash: B256,
        /// The tracer's configuration, as the second parameter of `debug_traceTransaction`.
        #[serde(default)]
        config: Option<serde_json::Value>,
    },
    /// All transactions of a block.
    TraceBlockByNumber {
        /// Which block.
        block: BlockNumber,
        /// The tracer's configuration.
        #[serde(default)]
        config: Option<serde_json::Value>,
    },
    /// All transactions of a block, canonical or not.
    TraceBlockByHash {
        /// Which block.
        hash: B256,
        /// The tracer's configuration.
        #[serde(default)]
        config: Option<serde_json::Value>,
    },
    /// All transactions of a block that is given in full; its parent must be known.
    TraceBlock {
        /// The block in RLP.
        rlp: Bytes,
        /// The tracer's configuration.
        #[serde(default)]
        config: Option<serde_json::Value>,
    },
    /// One transaction of the canonical chain, with where the time of tracing it went.
    TraceTransactionProfile {
        /// Which transaction.
        hash: B256,
        /// The tracer's configuration.
        #[serde(default)]
        config: Option<serde_json::Value>,
    },
    /// All transactions of a block that this home refused.
    TraceBadBlock {
        /// Which block.
        hash: B256,
        /// The tracer's configuration.
        #[serde(default)]
        config: Option<serde_json::Value>,
    },
    /// What one transaction read and wrote.
    TraceStateAccess {
        /// Which transaction.
        hash: B256,
    },
    /// A call.
    TraceCall(Box<TraceCall>),
    /// Bundles of calls.
    TraceCallMany(Box<TraceCallMany>),
}

/// A call to trace.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceCall {
    /// What to call.
    pub transaction: CallRequest,
    /// In the environment of this block, on the state after it.
    pub block: BlockRef,
    /// On the state before this transaction of the block instead.
    #[serde(default)]
    pub tx_index: Option<U64>,
    /// State to pretend.
    #[serde(default)]
    pub state_overrides: Option<StateOverrides>,
    /// Block fields to pretend.
    #[serde(default)]
    pub block_overrides: Option<BlockOverrides>,
    /// The tracer's configuration.
    #[serde(default)]
    pub config: Option<serde_json::Value>,
}

/// Bundles of calls to trace one after the other. The answer is an array for each bundle with the result of each call.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceCallMany {
    /// The bundles.
    pub bundles: Vec<CallBundle>,
    /// In the environment of this block, on the state after it; the head where absent.
    #[serde(default)]
    pub block: Option<BlockRef>,
    /// On the state before this transaction of the block instead.
    #[serde(default)]
    pub transaction_index: Option<U64>,
    /// State to pretend from the first bundle on.
    #[serde(default)]
    pub state_overrides: Option<StateOverrides>,
    /// Block fields to pretend in bundles that name none.
    #[serde(default)]
    pub block_overrides: Option<BlockOverrides>,
    /// The tracer's configuration.
    #[serde(default)]
    pub config: Option<serde_json::Value>,
}

/// Calls of one simulated block.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CallBundle {
    /// The calls, in order.
    pub transactions: Vec<CallRequest>,
    /// Block fields to pretend.
    pub block_overrides: Option<BlockOverrides>,
    /// Hashes of blocks to pretend, by number.
    pub block_hashes: Vec<(U64, B256)>,
    /// State to pretend from this bundle on.
    pub state_overrides: Option<StateOverrides>,
}

impl TraceRequest {
    /// The tracer's configuration.
    pub fn config(&self) -> Option<&serde_json::Value> {
        match self {
            Self::TraceTransaction { config, .. }
            | Self::TraceBlockByNumber { config, .. }
            | Self::TraceBlockByHash { config, .. }
            | Self::TraceBlock { config, .. }
            | Self::TraceTransactionProfile { config, .. }
            | Self::TraceBadBlock { config, .. } => config.as_ref(),
            Self::TraceStateAccess { .. } => None,
            Self::TraceCall(call) => call.config.as_ref(),
            Self::TraceCallMany(calls) => calls.config.as_ref(),
        }
    }

    /// Reads a request from JSON; the error names the argument.
    pub fn from_json(text: &[u8]) -> Result<Self, NodeError> {
        serde_json::from_slice(text).map_err(|e| NodeError::invalid_params(e.to_string()))
    }
}
