//! The requests of a consensus client, one typed request per method.

use crate::ExecutionPayload;
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B64, B256, Bytes, U64};
use hearth_home::NodeError;
use serde::Deserialize;

/// One operation with its arguments, in the form of `hearth-rpc`'s requests. `version` is that of
/// the method.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum EngineRequest {
    /// `engine_newPayload`: executes a block.
    EngineNewPayload {
        /// 1 to 4.
        version: u8,
        /// The block.
        payload: Box<ExecutionPayload>,
        /// Hashes of the blobs that its transactions must name, in order; from version 3 on. None
        /// where absent.
        #[serde(default)]
        versioned_hashes: Option<Vec<B256>>,
        /// Root of the beacon block before it; from version 3 on.
        #[serde(default)]
        parent_beacon_block_root: Option<B256>,
        /// Requests that its execution must give (EIP-7685); from version 4 on.
        #[serde(default)]
        execution_requests: Option<Vec<Bytes>>,
    },
    /// `engine_forkchoiceUpdated`: moves the head, and with attributes starts to build on it.
    EngineForkchoiceUpdated {
        /// 1 to 3.
        version: u8,
        /// Head, safe and finalized block.
        state: ForkchoiceState,
        /// What the next block is built from.
        #[serde(default)]
        attributes: Option<Attributes>,
    },
    /// `engine_getPayload`: the block that was built under an id.
    EngineGetPayload {
        /// 1 to 5.
        version: u8,
        /// The id that `engine_forkchoiceUpdated` gave.
        id: B64,
    },
    /// `engine_getBlobs`: blobs of waiting transactions.
    EngineGetBlobs {
        /// 1 to 3.
        version: u8,
        /// Their versioned hashes.
        hashes: Vec<B256>,
    },
    /// `engine_getPayloadBodiesByHash`.
    EngineBodiesByHash {
        /// Hashes of blocks.
        hashes: Vec<B256>,
    },
    /// `engine_getPayloadBodiesByRange`.
    EngineBodiesByRange {
        /// The first height, from 1.
        start: U64,
        /// How many, from 1.
        count: U64,
    },
    /// How long ago the last fork choice came, in milliseconds; `null` where none came yet.
    EngineForkchoiceAge,
}

impl EngineRequest {
    /// Whether the request takes its turn among those that execute and choose blocks.
    pub fn is_ordered(&self) -> bool {
        matches!(self, Self::EngineNewPayload { .. } | Self::EngineForkchoiceUpdated { .. })
    }

    /// Checks the number of requested entries against the limit of one answer.
    pub(crate) fn too_large(what: &str, have: usize, limit: usize) -> NodeError {
        let reason = format!("{have} {what}, at most {limit}");
        hearth_home::EngineError::TooLarge { reason }.into()
    }
}

/// Head, safe and finalized block (execution-apis: ForkchoiceStateV1). Zero is "not known yet".
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkchoiceState {
    /// The head.
    pub head_block_hash: B256,
    /// The newest safe block.
    pub safe_block_hash: B256,
    /// The newest finalized block.
    pub finalized_block_hash: B256,
}

/// What the next block is built from (execution-apis: PayloadAttributesV1 to V3).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attributes {
    /// In seconds.
    pub timestamp: U64,
    /// Its randomness.
    pub prev_randao: B256,
    /// Who gets the tips.
    pub suggested_fee_recipient: Address,
    /// Its withdrawals; from Shanghai on.
    #[serde(default)]
    pub withdrawals: Option<Vec<Withdrawal>>,
    /// Root of the beacon block before it; from Cancun on.
    #[serde(default)]
    pub parent_beacon_block_root: Option<B256>,
}
