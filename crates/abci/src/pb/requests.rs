//! Requests of CometBFT: what is inside the outer message.

use super::{CommitInfo, ExtendedCommitInfo, Misbehavior, Snapshot, ValidatorUpdate};
use crate::Timestamp;
use bytes::Bytes;

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct RequestEcho {
    #[prost(string, tag = "1")]
    pub message: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct RequestFlush {}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct RequestInfo {
    #[prost(string, tag = "1")]
    pub version: String,
    #[prost(uint64, tag = "2")]
    pub block_version: u64,
    #[prost(uint64, tag = "3")]
    pub p2p_version: u64,
    #[prost(string, tag = "4")]
    pub abci_version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RequestInitChain {
    #[prost(message, optional, tag = "1")]
    pub time: Option<Timestamp>,
    #[prost(string, tag = "2")]
    pub chain_id: String,
    #[prost(message, optional, tag = "3")]
    pub consensus_params: Option<crate::types::ConsensusParams>,
    #[prost(message, repeated, tag = "4")]
    pub validators: Vec<ValidatorUpdate>,
    #[prost(bytes = "bytes", tag = "5")]
    pub app_state_bytes: Bytes,
    #[prost(int64, tag = "6")]
    pub initial_height: i64,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct RequestQuery {
    #[prost(bytes = "bytes", tag = "1")]
    pub data: Bytes,
    #[prost(string, tag = "2")]
    pub path: String,
    #[prost(int64, tag = "3")]
    pub height: i64,
    #[prost(bool, tag = "4")]
    pub prove: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct RequestCheckTx {
    #[prost(bytes = "bytes", tag = "1")]
    pub tx: Bytes,
    #[prost(enumeration = "CheckTxType", tag = "2")]
    pub r#type: i32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct RequestCommit {}

#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct RequestListSnapshots {}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct RequestOfferSnapshot {
    #[prost(message, optional, tag = "1")]
    pub snapshot: Option<Snapshot>,
    #[prost(bytes = "bytes", tag = "2")]
    pub app_hash: Bytes,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct RequestLoadSnapshotChunk {
    #[prost(uint64, tag = "1")]
    pub height: u64,
    #[prost(uint32, tag = "2")]
    pub format: u32,
    #[prost(uint32, tag = "3")]
    pub chunk: u32,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct RequestApplySnapshotChunk {
    #[prost(uint32, tag = "1")]
    pub index: u32,
    #[prost(bytes = "bytes", tag = "2")]
    pub chunk: Bytes,
    #[prost(string, tag = "3")]
    pub sender: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RequestPrepareProposal {
    #[prost(int64, tag = "1")]
    pub max_tx_bytes: i64,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub txs: Vec<Bytes>,
    #[prost(message, optional, tag = "3")]
    pub local_last_commit: Option<ExtendedCommitInfo>,
    #[prost(message, repeated, tag = "4")]
    pub misbehavior: Vec<Misbehavior>,
    #[prost(int64, tag = "5")]
    pub height: i64,
    #[prost(message, optional, tag = "6")]
    pub time: Option<Timestamp>,
    #[prost(bytes = "bytes", tag = "7")]
    pub next_validators_hash: Bytes,
    #[prost(bytes = "bytes", tag = "8")]
    pub proposer_address: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RequestProcessProposal {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub txs: Vec<Bytes>,
    #[prost(message, optional, tag = "2")]
    pub proposed_last_commit: Option<CommitInfo>,
    #[prost(message, repeated, tag = "3")]
    pub misbehavior: Vec<Misbehavior>,
    #[prost(bytes = "bytes", tag = "4")]
    pub hash: Bytes,
    #[prost(int64, tag = "5")]
    pub height: i64,
    #[prost(message, optional, tag = "6")]
    pub time: Option<Timestamp>,
    #[prost(bytes = "bytes", tag = "7")]
    pub next_validators_hash: Bytes,
    #[prost(bytes = "bytes", tag = "8")]
    pub proposer_address: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RequestExtendVote {
    #[prost(bytes = "bytes", tag = "1")]
    pub hash: Bytes,
    #[prost(int64, tag = "2")]
    pub height: i64,
    #[prost(message, optional, tag = "3")]
    pub time: Option<Timestamp>,
    #[prost(bytes = "bytes", repeated, tag = "4")]
    pub txs: Vec<Bytes>,
    #[prost(message, optional, tag = "5")]
    pub proposed_last_commit: Option<CommitInfo>,
    #[prost(message, repeated, tag = "6")]
    pub misbehavior: Vec<Misbehavior>,
    #[prost(bytes = "bytes", tag = "7")]
    pub next_validators_hash: Bytes,
    #[prost(bytes = "bytes", tag = "8")]
    pub proposer_address: Bytes,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct RequestVerifyVoteExtension {
    #[prost(bytes = "bytes", tag = "1")]
    pub hash: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub validator_address: Bytes,
    #[prost(int64, tag = "3")]
    pub height: i64,
    #[prost(bytes = "bytes", tag = "4")]
    pub vote_extension: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RequestFinalizeBlock {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub txs: Vec<Bytes>,
    #[prost(message, optional, tag = "2")]
    pub decided_last_commit: Option<CommitInfo>,
    #[prost(message, repeated, tag = "3")]
    pub misbehavior: Vec<Misbehavior>,
    #[prost(bytes = "bytes", tag = "4")]
    pub hash: Bytes,
    #[prost(int64, tag = "5")]
    pub height: i64,
    #[prost(message, optional, tag = "6")]
    pub time: Option<Timestamp>,
    #[prost(bytes = "bytes", tag = "7")]
    pub next_validators_hash: Bytes,
    #[prost(bytes = "bytes", tag = "8")]
    pub proposer_address: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum CheckTxType {
    New = 0,
    Recheck = 1,
}
